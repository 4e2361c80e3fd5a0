/* Programs to loops, schedules, C and numbers.
 *
 * A text that compiles is lowered for a processor and with options that follow from its hash, and
 * again under a changed dump of its schedule and under random ones (draw.h). What comes out is verified, printed, written as C,
 * and run: the interpreter must agree with the reference. Half of the mutations are programs of
 * programs.c. Links all of the compiler but libgccjit and what uses it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "test/fuzz/scheduled.h"
#include "verify/verify.h"

enum {
	NODES_MOST = 200,
	STEPS_FIRST = 1 << 15,
	STEPS_MORE = 1 << 12,
	BYTES = 1 << 22,
	ELEMENTS = 1 << 18,
	DRAWN = 3
};

typedef struct Fuzz {
	Arena *arena;
	const char *text;
	size_t size;
	SessionOptions options;
	Choices choices;
	FILE *sink; /* what is printed is read by nobody */
} Fuzz;

static uint64_t hash_of(const uint8_t *data, size_t size)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	return hash;
}

/* ---- options ---- */

static void choose_options(Fuzz *f)
{
	static const char *const processors[] = {"x86-64", "x86-64-v3", "x86-64-v4", "znver4"};
	static const int64_t grains[] = {0, 1, 1, 100, 1 << 17};
	static const Define fixed[] = {{"n", 5}, {"m", 16}};
	SessionOptions *o = &f->options;
	session_options_init(o);
	o->frontend = (FrontendOptions){.no_files = true, .defines = fixed};
	o->frontend.ndefines = choose(&f->choices, 3);
	o->repairs = false;
	o->memory = 0;
	o->march = processors[choose(&f->choices, 4)];
	o->code = (CodeOptions){.strict_fp = chance(&f->choices, 4),
				.fast_fp = chance(&f->choices, 4)};
	o->grain = grains[choose(&f->choices, 5)];
	o->no_prepack = chance(&f->choices, 4);
	int64_t workspace = 256 << choose(&f->choices, 12);
	if (chance(&f->choices, 8))
		o->max_workspace = workspace;
}

/* ---- schedules ---- */

/* Numbers become others, names others of the text, clauses go. */
static const char *changed(Fuzz *f, const char *schedule)
{
	static const char *const numbers[] = {"1", "2", "3", "4", "8", "16", "24", "64", "1000000"};
	size_t room = 2 * strlen(schedule) + 64, n = 0;
	char *text = arena_alloc(f->arena, room);
	for (const char *at = schedule; *at && n + 16 < room; at++) {
		bool digit = *at >= '0' && *at <= '9';
		if (digit && chance(&f->choices, 3))
			n += (size_t)sprintf(text + n, "%s", numbers[choose(&f->choices, 9)]);
		else if (*at == ';' && chance(&f->choices, 8))
			while (at[1] && at[1] != ';' && at[1] != '\n')
				at++;
		else if (*at == ' ' && chance(&f->choices, 40))
			n += (size_t)sprintf(text + n, " no ");
		else
			text[n++] = *at;
	}
	return text;
}

/* Random ones: each is right, or refused. */
static void try_drawn(Fuzz *f, Session *s)
{
	ScheduledProgram program = {.options = f->options,
				    .text = f->text,
				    .size = f->size,
				    .arena = f->arena,
				    .steps = STEPS_MORE,
				    .again = true};
	for (int i = 0; i < DRAWN; i++) {
		DrawnSchedule drawn =
			schedule_draw(f->arena, &f->choices, session_program(s), NULL);
		Session *other;
		if (scheduled_try(&program, &drawn, stderr, &other) == SCHEDULED_WRONG)
			abort();
		session_close(other);
	}
}

/* ---- programs ---- */

static void write_c(Fuzz *f, Session *s)
{
	Emit emit = {.program = session_program(s),
		     .arena = f->arena,
		     .diags = session_diags(s),
		     .options = &f->options.code,
		     .prefix = "m",
		     .source = "program",
		     .output = "/dev/null"};
	c_emit(&emit);
	header_emit(&emit);
}

static void check_numbers(Fuzz *f, Session *s)
{
	Text report = text_new();
	VerifyTask task = {.program = session_program(s),
			   .inference = session_operations(s),
			   .arena = f->arena,
			   .report = report.out,
			   .seed = 1,
			   .fast = f->options.code.fast_fp,
			   .steps_first = STEPS_FIRST,
			   .steps_more = STEPS_MORE,
			   .bytes = BYTES,
			   .elements = ELEMENTS};
	bool right = verify_interpreter(&task);
	const char *text = text_take(report, f->arena, NULL);
	if (right)
		return;
	fprintf(stderr, "%s\n-march=%s --grain=%lld\n%s", f->text, f->options.march,
		(long long)f->options.grain, text);
	session_dump(s, "schedule", stderr);
	abort();
}

/* Compiles it; the schedule, changed, in f->arena, or NULL where there is none. */
static const char *compile(Fuzz *f)
{
	const char *schedule = NULL;
	Session *s = session_open(&f->options);
	REQUIRE(s);
	session_text(s, "program", f->text, f->size);
	SessionStatus status = session_run(s, "graph");
	if (status == SESSION_DONE && session_graph(s)->nodes.n <= NODES_MOST)
		status = session_run_all(s);
	if (status == SESSION_DONE && session_has(s, "loops")) {
		REQUIRE(session_dump(s, "loops", f->sink));
		write_c(f, s);
		if (session_diags(s)->nerrors == 0)
			check_numbers(f, s);
		bool right = session_diags(s)->nerrors == 0;
		if (right && !f->options.no_policy && !f->options.schedule_text)
			try_drawn(f, s);
		if (right)
			schedule = changed(f, session_dump_text(s, "schedule", NULL));
	}
	if (session_failure(s)->kind) {
		failure_print(stderr, session_failure(s));
		abort();
	}
	session_close(s);
	return schedule;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *sink;
	if (!sink)
		sink = fopen("/dev/null", "w");
	Fuzz f = {
		.arena = arena_new(), .sink = sink, .choices = {hash_of(data, size)}, .size = size};
	f.text = arena_strndup(f.arena, (const char *)data, size);
	choose_options(&f);
	/* Unscheduled, as the compiler chooses, and as it is asked to. */
	f.options.no_policy = true;
	compile(&f);
	f.options.no_policy = false;
	f.options.schedule_text = compile(&f);
	if (f.options.schedule_text)
		compile(&f);
	arena_free(f.arena);
	return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	Choices choices = {seed * 0x9E3779B97F4A7C15u};
	if (chance(&choices, 2))
		return LLVMFuzzerMutate(data, size, most);
	return program_write(&choices, (char *)data, most);
}
