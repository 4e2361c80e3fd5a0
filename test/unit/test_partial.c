/* What is known after errors: conflicts as data, and the shapes that were solved all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"
#include "infer/dump.h"
#include "infer/trace.h"

typedef struct Tried {
	Arena *arena;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	Inference *found;
	char *shapes;
} Tried;

static int setup(void **state)
{
	Tried *t = calloc(1, sizeof *t);
	t->arena = arena_new();
	t->symbols = symbols_new();
	sources_init(&t->sources, t->arena);
	diags_init(&t->diags, t->arena, &t->sources);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	Tried *t = *state;
	free(t->shapes);
	symbols_free(t->symbols);
	arena_free(t->arena);
	free(t);
	return 0;
}

static void try_program(Tried *t, const char *text)
{
	Parse parse = {t->arena, t->symbols, &t->sources, &t->diags};
	FrontendOptions options = {.no_files = true};
	uint32_t file = source_add(&t->sources, "program", text, strlen(text));
	AstFile *ast = parse_file(&parse, file);
	Graph *graph = frontend_build(&parse, &t->sources, ast, &options);
	assert_int_equal(t->diags.nerrors, 0);
	size_t n;
	t->found = infer_partial(graph, t->arena, &t->diags, &(InferOptions){.shuffle = 7});
	FILE *out = open_memstream(&t->shapes, &n);
	infer_dump_shapes(out, t->found);
	fclose(out);
	assert_false(!t->found->complete && infer_run(graph, t->arena, &t->diags, NULL));
}

static const Conflict *conflict_of(const Tried *t, size_t i)
{
	const Solver *s = t->found->trace->solver;
	assert_true(i < s->conflicts.n);
	return &s->conflicts.at[i];
}

static void expect_sizes(const Tried *t, const Conflict *c, int64_t x, int64_t y)
{
	int64_t a = 0, b = 0;
	assert_true(size_is_const(t->found->sizes, c->sizes[0], &a));
	assert_true(size_is_const(t->found->sizes, c->sizes[1], &b));
	assert_true((a == x && b == y) || (a == y && b == x));
}

static void without_errors_all_is_known(void **state)
{
	Tried *t = *state;
	try_program(t, "dim n\ninput x : [n | 3]\nparam w : [3 -> 4]\noutput y = w * x\n");
	assert_true(t->found->complete);
	assert_int_equal(t->found->trace->solver->conflicts.n, 0);
	assert_string_equal(t->shapes, "x : f32 [n | 3]\nw : f32 [3 -> 4]\ny : f32 [n | 4]\n");
}

static void sizes_that_differ_leave_the_others_known(void **state)
{
	Tried *t = *state;
	try_program(t, "input x : [5 | 3]\n"
		       "param w : [4 -> 6]\n"
		       "let a = w * x\n"
		       "output y = a + sum(\"n | i => n |\", x)\n"
		       "output z = x .* 2\n");
	assert_false(t->found->complete);
	const Conflict *c = conflict_of(t, 0);
	assert_int_equal(c->kind, CONFLICT_SIZES);
	assert_int_equal(conflict_code(c->kind), E0301);
	expect_sizes(t, c, 3, 4);
	assert_string_equal(t->shapes, "x : f32 [5 | 3]\nw : f32 [4 -> 6]\na : f32 [5 | 6]\n"
				       "y : f32 [5 | 6]\nz : f32 [5 | 3]\n");
}

static void what_is_not_known_is_open(void **state)
{
	Tried *t = *state;
	try_program(t, "input x : [5 | 3]\n"
		       "param w : [... -> 6]\n"
		       "param b : [...]\n"
		       "let a = sum(\"i, j => i\", x)\n"
		       "output y = w * (b + 1)\n");
	assert_false(t->found->complete);
	assert_int_equal(conflict_of(t, 0)->kind, CONFLICT_RANKS);
	assert_string_equal(t->shapes, "x : f32 [5 | 3]\nw : f32 [... -> 6]\nb : f32 [...]\n"
				       "a : f32 [?]\ny : f32 [6]\n");
}

static void a_bad_size_is_what_its_uses_have(void **state)
{
	Tried *t = *state;
	try_program(t, "dim n\ninput x : [5]\ninput z : [n - 1 - n]\noutput y = x + z\n");
	assert_int_equal(conflict_of(t, 0)->kind, CONFLICT_NEGATIVE);
	assert_int_equal(conflict_of(t, 0)->number, -1);
	assert_string_equal(t->shapes, "x : f32 [5]\nz : f32 [5]\ny : f32 [5]\n");
}

/* Both messages tell what was known when the conflict was found, not what was found out later. */
static void each_message_knows_what_was_known(void **state)
{
	Tried *t = *state;
	try_program(t, "input x : [5 | 3]\n"
		       "let a = sum(\"n | i, k => n | i, k\", x)\n"
		       "output y = a + {b : [7, 8]}\n");
	const Solver *s = t->found->trace->solver;
	assert_int_equal(t->diags.list.n, 1 + (t->diags.nerrors > 1));
	assert_non_null(strstr(t->diags.list.at[0].text, "has 1 output axis, [3]"));
	assert_int_equal(s->trail_at, s->trail.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_errors_all_is_known, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_that_differ_leave_the_others_known, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_open, setup, teardown),
		cmocka_unit_test_setup_teardown(a_bad_size_is_what_its_uses_have, setup, teardown),
		cmocka_unit_test_setup_teardown(each_message_knows_what_was_known, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
