/* Programs to loops, schedules, C and numbers.
 *
 * A text that compiles is lowered for a processor and with options that follow from its hash, and
 * again under a changed dump of its schedule. What comes out is verified, printed, written as C,
 * and run: the interpreter must agree with the reference. Half of the mutations are programs of
 * programs.c. Links all of the compiler but libgccjit and what uses it.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "infer/infer.h"
#include "lower/lower.h"
#include "test/fuzz/programs.h"
#include "verify/verify.h"

enum {
	NODES_MOST = 200,
	STEPS_FIRST = 1 << 15,
	STEPS_MORE = 1 << 12,
	BYTES = 1 << 22,
	CELLS = 1 << 18
};

typedef struct Fuzz {
	Arena *arena;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	uint32_t file;
	const char *text;
	Inference *inference;
	Choices choices;
	Machine machine;
	int64_t workspace;
	Target target;
	FILE *sink; /* what is printed is read by nobody */
} Fuzz;

static uint64_t hash_of(const uint8_t *data, size_t size)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	return hash;
}

/* ---- to shapes ---- */

static bool infer_all(Fuzz *f, size_t size)
{
	static const Define fixed[] = {{"n", 5}, {"m", 16}};
	FrontendOptions options = {.no_files = true, .defines = fixed};
	options.ndefines = choose(&f->choices, 3);
	Parse parse = {f->arena, f->symbols, &f->sources, &f->diags};
	f->file = source_add(&f->sources, "program", f->text, size);
	AstFile *ast = parse_file(&parse, f->file);
	if (f->diags.nerrors)
		return false;
	Graph *graph = frontend_build(&parse, &f->sources, ast, &options);
	if (f->diags.nerrors || graph->nodes.n > NODES_MOST)
		return false;
	f->inference = infer_run(graph, f->arena, &f->diags, NULL);
	return f->inference != NULL;
}

/* ---- options ---- */

static void choose_options(Fuzz *f)
{
	static const char *const processors[] = {"x86-64", "x86-64-v3", "x86-64-v4", "znver4"};
	static const int64_t grains[] = {0, 1, 1, 100, GRAIN_DEFAULT};
	f->target = (Target){.march = processors[choose(&f->choices, 4)],
			     .strict_fp = chance(&f->choices, 4),
			     .fast_fp = chance(&f->choices, 4)};
	f->machine = target_machine(f->target.march);
	f->machine.grain = grains[choose(&f->choices, 5)];
	f->machine.prepack = !chance(&f->choices, 4);
	f->machine.pairs &= !f->target.strict_fp;
	f->workspace = 256 << choose(&f->choices, 12);
	if (chance(&f->choices, 8))
		f->machine.max_workspace = &f->workspace;
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

static Schedule *ask(Fuzz *f, const Program *program)
{
	char *dump = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&dump, &n);
	REQUIRE(out);
	schedule_dump(out, program);
	fclose(out);
	const char *text = changed(f, dump);
	free(dump);
	uint32_t file = source_add(&f->sources, "schedule", text, strlen(text));
	return schedule_parse(&f->sources, f->symbols, &f->diags, file, f->file, f->arena);
}

/* ---- programs ---- */

static void write_c(Fuzz *f, const Program *program)
{
	Emit emit = {.program = program,
		     .arena = f->arena,
		     .diags = &f->diags,
		     .target = &f->target,
		     .prefix = "m",
		     .source = "program",
		     .output = "/dev/null"};
	c_emit(&emit);
	header_emit(&emit);
}

static void check_numbers(Fuzz *f, const Program *program)
{
	char *report = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&report, &n);
	REQUIRE(out);
	VerifyTask task = {.program = program,
			   .inference = f->inference,
			   .arena = f->arena,
			   .report = out,
			   .seed = 1,
			   .fast = f->target.fast_fp,
			   .steps_first = STEPS_FIRST,
			   .steps_more = STEPS_MORE,
			   .bytes = BYTES,
			   .cells = CELLS};
	bool right = verify_interpreter(&task);
	fclose(out);
	if (!right) {
		fprintf(stderr, "%s\n-march=%s --grain=%lld\n%s", f->text, f->target.march,
			(long long)f->machine.grain, report);
		schedule_dump(stderr, program);
		abort();
	}
	free(report);
}

static Program *lower(Fuzz *f, const Schedule *asked)
{
	Program *program =
		lower_program(tensor_run_all(f->inference, f->arena), &f->sources, f->arena,
			      &f->diags, &f->machine, asked);
	REQUIRE((program != NULL) == (f->diags.nerrors == 0));
	if (!program)
		return NULL;
	loops_verify(program);
	loops_dump(f->sink, program);
	write_c(f, program);
	if (f->diags.nerrors == 0)
		check_numbers(f, program);
	return program;
}

static void lower_twice(Fuzz *f)
{
	infer_verify(f->inference, NULL);
	choose_options(f);
	Program *program = lower(f, NULL);
	if (!program || f->diags.nerrors)
		return;
	Schedule *asked = ask(f, program);
	if (f->diags.nerrors == 0)
		lower(f, asked);
	schedule_free(asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *sink;
	if (!sink)
		sink = fopen("/dev/null", "w");
	Fuzz f = {.arena = arena_new(), .sink = sink, .choices = {hash_of(data, size)}};
	f.text = arena_strndup(f.arena, (const char *)data, size);
	f.symbols = symbols_new();
	sources_init(&f.sources, f.arena);
	diags_init(&f.diags, f.arena, &f.sources);
	if (infer_all(&f, size))
		lower_twice(&f);
	symbols_free(f.symbols);
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
