/* Legality of loop fusion and of horizontal fusion, alone: pages of loops of two kernels and what is asked of the
 * second, which is made, or refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "loops/parse.h"
#include "schedule/schedule.h"
#include "test/unit/lower_fixture.h"
#include "transform/transform.h"

enum { FUSION = PASS_FUSION, HORIZONTAL = PASS_HORIZONTAL };

typedef struct Case {
	const char *a, *b;  /* bodies: of a, which stores t of 48 rows of 80 elements or m of 48; of b */
	const char *asked;  /* of b */
	const char *reason; /* NULL: it is made */
} Case;

static const char head[] = "buffer x : f32 [3840] in of f\n"
			   "buffer t : f32 [3840] temp of f\n"
			   "buffer m : f32 [48] temp of f\n"
			   "buffer y : f32 [3840] out of f\n"
			   "buffer z : f32 [30] out of f\n";
static const char tail[] = "\nroutine f(x : f32 [48, 80]) -> y : f32 [48, 80], z : f32 [30]\n"
			   "  run a\n"
			   "  run b\n";

static Program *read_loops(Small *s, const Case *c)
{
	const LowerOptions options = {.target = small_target(s), .grain = 1000};
	const char *text = arena_printf(s->arena, "%s\nkernel a(x f32 in -> t f32 temp)\n%s\nkernel b(t f32 temp -> y f32 out)\n%s%s",
					head, c->a, c->b, tail);
	uint32_t file = source_add(&s->sources, "loops", text, strlen(text));
	Program *program =
		loops_parse(s->arena, s->symbols, &s->sources, file, &s->diags, &options).program;
	if (!program)
		fail_msg("%s", s->diags.list.at[0].text);
	program->made = ARENA_NEW(s->arena, Schedule);
	program->made->arena = s->arena;
	for (size_t i = 0; i < program->kernels.n; i++)
		PUSH(s->arena, program->made->entries,
		     ((ScheduleEntry){.name = program->kernels.at[i].name}));
	return program;
}

static Schedule *read_asked(Small *s, const char *asked)
{
	const char *text = arena_printf(s->arena, "b: %s\n", asked);
	uint32_t file = source_add(&s->sources, "asked", text, strlen(text));
	return schedule_parse(&s->sources, s->symbols, &s->diags, file, 0, s->arena);
}

static void run_case(uint32_t pass, const Case *c)
{
	Small s;
	small_init(&s);
	Program *program = read_loops(&s, c);
	Schedule *asked = read_asked(&s, c->asked);
	program = transform_run(pass, program, asked, &s.diags);
	loops_verify_grammar(program);
	schedule_compare(asked, program, &s.diags);
	bool refused = s.diags.nerrors > 0;
	assert_int_equal(program->kernels.n, c->reason ? 2 : 1);
	assert_int_equal(refused, c->reason != NULL);
	if (refused && !strstr(s.diags.list.at[0].text, c->reason))
		fail_msg("%s\nand not\n%s", s.diags.list.at[0].text, c->reason);
	schedule_free(asked);
	schedule_free(program->made);
	small_free(&s);
}

#define ROWS(body) "  for i in 0..48\n    for j in 0..80\n      " body "\n"
#define FLAT(body) "  for i in 0..3840\n    " body "\n"

static void rows_are_fused_or_refused(void **state)
{
	static const Case cases[] = {
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[i*80 + j]"),
		 "fuse_rows a", NULL},
		/* another element of the row; a flat loop becomes rows, whichever it is */
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[i*80]"), "fuse_rows",
		 NULL},
		{FLAT("t[i] = x[i]"), ROWS("y[i*80 + j] = t[i*80 + j]"), "fuse_rows", NULL},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), FLAT("y[i] = t[i]"), "fuse_rows", NULL},
		/* what does not pay is made where it is asked for */
		{FLAT("t[i] = exp(x[i])"), FLAT("y[i] = sqrt(t[i])"), "fuse_rows", NULL},
		{FLAT("t[i] = x[i]"), FLAT("y[i] = x[i]"), "fuse_rows", NULL},
		/* illegal */
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[j]"), "fuse_rows a",
		 "a row of a and b would touch another row of t"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), "  for i in 0..30\n    z[i] = t[i*80]\n",
		 "fuse_rows a", "a has 48 rows, and b 30"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), "  z[0] = t[0]\n", "fuse_rows a",
		 "b is not one loop over rows"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 ROWS("if j < 40\n        y[i*80 + j] = t[i*80 + j]"), "fuse_rows a",
		 "b has conditions or checks"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 "  for i in 0..80\n    for j in 0..48\n      y[j + i*48] = t[i + j*80]\n",
		 "fuse_rows a", "b goes in tiles that are transposed"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[i*80 + j]"),
		 "fuse_rows b", "the kernel right before it is a"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		run_case(FUSION, &cases[i]);
}

static void pieces_go_together_or_are_refused(void **state)
{
	static const Case cases[] = {
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[i*80 + j]"),
		 "horizontal a", NULL},
		/* pieces of another step and another beginning */
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 "  for i in 80..3920 step 80\n    for j in 0..80\n      y[i + j - 80] = t[i + j - 80]\n",
		 "horizontal a", NULL},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[j]"), "horizontal a",
		 "a piece of it touches what another stores"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 "  for i in 0..3760 step 80\n    for j in 0..80\n      y[i + j] = t[i + j]\n",
		 "horizontal a", "they are not two loops of as many iterations"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 "  for i in 0..3840 step 80\n    for j in 0..79\n      y[i + j] = t[i + j + 1]\n",
		 "horizontal a", NULL},
		{ROWS("t[i*80 + j] = x[i*80 + j]"),
		 "  for i in 0..3840 step 80\n    for j in 0..79\n      y[i + j] = t[i + j + 2]\n",
		 "horizontal a", "a piece of it touches what another stores"},
		{ROWS("t[i*80 + j] = x[i*80 + j]"), ROWS("y[i*80 + j] = t[i*80 + j]"),
		 "horizontal b", "the kernel right before it is a"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		run_case(HORIZONTAL, &cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_fused_or_refused),
		cmocka_unit_test(pieces_go_together_or_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
