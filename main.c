/* tsrc: the pipeline on one screen. Each stage makes one data structure from the one before; each
 * can be verified and printed. Options are in main_options.c, what is written in main_jobs.c. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/completion.h"
#include "base/stack.h"
#include "base/temporary.h"
#include "main.h"
#include "verify/verify.h"

typedef struct Stage {
	const char *name, *phase, *makes;
	void (*run)(Compiler *c);
	void (*verify)(const Compiler *c);
	void (*dump)(FILE *out, Compiler *c);
} Stage;

static void run_ast(Compiler *c) { c->ast = parse_file(&c->parse, c->file); }
static void run_graph(Compiler *c)
{
	c->graph = frontend_build(&c->parse, &c->sources, c->ast, &c->frontend);
}
static void run_infer(Compiler *c)
{
	c->inference = infer_run(c->graph, c->perm, &c->diags, &c->options.infer);
}
static void run_split(Compiler *c) { c->tensors[0] = tensor_run(tensor_program(c->inference, c->perm), 0); }
static void run_gather(Compiler *c) { c->tensors[1] = tensor_run(c->tensors[0], 1); }
static void run_common(Compiler *c) { c->tensors[2] = tensor_run(c->tensors[1], 2); }

static Machine machine_of(const Options *options)
{
	Machine machine = target_machine(options->target.march);
	if (options->grain >= 0)
		machine.grain = options->grain;
	if (options->checked)
		machine.grain = 0;
	machine.prepack = !options->no_prepack;
	machine.pairs &= !options->target.strict_fp;
	if (options->max_workspace >= 0)
		machine.max_workspace = &options->max_workspace;
	return machine;
}

static void run_kernels(Compiler *c)
{
	Machine machine = machine_of(&c->options);
	const char *why = NULL, *path = c->options.schedule;
	uint32_t file = path ? source_read(&c->sources, path, &why) : 0;
	if (path && !file)
		diag(&c->diags, E0601, SPAN_NONE, "cannot read '%s': %s", path, why);
	c->asked = file ? schedule_parse(&c->sources, c->symbols, &c->diags, file, c->file, c->perm) : NULL;
	if (c->diags.nerrors == 0)
		c->program = lower_kernels(c->tensors[TENSOR_PASSES - 1], &c->sources, c->perm, &c->diags, &machine, c->asked);
}

static void transform(Compiler *c, uint32_t pass)
{
	c->changed[pass] = transform_run(pass, c->program, c->asked, &c->diags);
}
static void run_fusion(Compiler *c) { transform(c, 0); }
static void run_transpose(Compiler *c) { transform(c, 1); }
static void run_horizontal(Compiler *c) { transform(c, 2); }
static void run_parallel(Compiler *c)
{
	transform(c, 3);
	lower_finish(c->program, c->asked, &c->diags);
}

static void run_memory(Compiler *c)
{
	transform(c, 4);
	if (c->options.checked && c->diags.nerrors == 0)
		bounds_insert_checks(c->program);
}

static void verify_graph(const Compiler *c) { graph_verify(c->graph); }
static void verify_infer(const Compiler *c)
{
	infer_verify(c->inference, c->options.verify ? stdout : NULL);
}
static void verify_split(const Compiler *c) { tensor_verify(c->tensors[0]); }
static void verify_gather(const Compiler *c) { tensor_verify(c->tensors[1]); }

/* The indices that may be outside, as far as can be shown. */
static void list_unshown(const Compiler *c)
{
	IndexUses uses = bounds_unshown(c->perm, c->program);
	fprintf(stderr, "tsrc: %zu of %zu indices are not shown to stay inside\n", uses.n,
		uses.total);
	for (size_t i = 0; i < uses.n; i++)
		bounds_print(stderr, c->program, &uses.at[i]);
}

/* That indices stay inside is shown once, of the finished loops. */
static void verify_program(const Compiler *c) { loops_verify_grammar(c->program); }

static void verify_loops(const Compiler *c)
{
	loops_verify(c->program);
	if (c->options.verbose)
		list_unshown(c);
}

static void dump_tokens(FILE *out, Compiler *c) { tokens_dump(out, &c->parse, c->file); }
static void dump_ast(FILE *out, Compiler *c) { ast_dump(out, c->ast); }
static void dump_graph(FILE *out, Compiler *c) { graph_dump(out, c->graph); }
static void dump_constraints(FILE *out, Compiler *c) { infer_dump_constraints(out, c->inference); }
static void dump_shapes(FILE *out, Compiler *c) { infer_dump_shapes(out, c->inference); }
static void dump_guards(FILE *out, Compiler *c) { infer_dump_guards(out, c->inference); }
static void dump_proj(FILE *out, Compiler *c) { infer_dump_proj(out, c->inference); }
static void dump_split(FILE *out, Compiler *c) { tensor_dump(out, c->tensors[0]); }
static void dump_gather(FILE *out, Compiler *c) { tensor_dump(out, c->tensors[1]); }
static void dump_common(FILE *out, Compiler *c) { tensor_dump(out, c->tensors[2]); }
static void dump_kernels(FILE *out, Compiler *c) { loops_dump(out, c->program); }
static void dump_pass(FILE *out, Compiler *c, uint32_t pass)
{
	if (c->changed[pass])
		loops_dump(out, c->program);
	else
		fputs("(unchanged)\n", out);
}
static void dump_fusion(FILE *out, Compiler *c) { dump_pass(out, c, 0); }
static void dump_transpose(FILE *out, Compiler *c) { dump_pass(out, c, 1); }
static void dump_horizontal(FILE *out, Compiler *c) { dump_pass(out, c, 2); }
static void dump_parallel(FILE *out, Compiler *c) { dump_pass(out, c, 3); }
static void dump_schedule(FILE *out, Compiler *c) { schedule_dump(out, c->program); }
static void dump_loops(FILE *out, Compiler *c) { loops_dump(out, c->program); }

/* A stage without `run` is another view of what its phase makes. */
static const Stage pipeline[] = {
	{"tokens", "grammar", "tokens", NULL, NULL, dump_tokens},
	{"ast", "grammar", "syntax tree", run_ast, NULL, dump_ast},
	{"graph", "frontend", "tensor graph, names resolved", run_graph, verify_graph, dump_graph},
	{"constraints", "infer", "what the operations say about sizes", run_infer, verify_infer,
	 dump_constraints},
	{"shapes", "infer", "a size for every axis", NULL, NULL, dump_shapes},
	{"guards", "infer", "what is checked when it runs", NULL, NULL, dump_guards},
	{"proj", "infer", "an index map for every operand", NULL, NULL, dump_proj},
	{"split", "tensor", "sums in two stages, products in pairs, operands written out", run_split, verify_split,
	 dump_split},
	{"gather", "tensor", "windows that are written as windows that are read", run_gather, verify_gather, dump_gather},
	{"common", "tensor", "equal tensors as one", run_common, NULL, dump_common},
	{"kernels", "lower", "loops for each operation, or for several", run_kernels, verify_program, dump_kernels},
	{"fusion", "transform", "kernels over the same rows as one", run_fusion, verify_program, dump_fusion},
	{"transpose", "transform", "copies across memory in tiles", run_transpose, verify_program, dump_transpose},
	{"horizontal", "transform", "small kernels as one loop for threads", run_horizontal, verify_program,
	 dump_horizontal},
	{"parallel", "transform", "loops cut for threads", run_parallel, verify_program, dump_parallel},
	{"schedule", "transform", "how each operation is computed", NULL, NULL, dump_schedule},
	{"loops", "transform", "temporaries placed: loop nests, buffers and routines", run_memory, verify_loops,
	 dump_loops},
};
enum { NSTAGES = sizeof pipeline / sizeof pipeline[0] };

double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Ends the process: messages first, then status 1 where there were errors. */
static _Noreturn void finish(Compiler *c)
{
	if (c->options.time_report)
		fprintf(stderr, "%-12s %9.2f ms\n", "total", now_ms() - c->start);
	setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
	diags_print(&c->diags, stderr);
	fflush(stderr);
	int status = c->diags.nerrors > 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && !status) {
		fprintf(stderr, "tsrc: error: cannot write to standard output: %s\n", strerror(errno));
		status = 1;
	}
	symbols_free(c->symbols);
	arena_free(c->perm);
	exit(status);
}

/* The source cannot be read; "net" and "net.so" may be meant for "net.tsr". */
static void unreadable(Compiler *c, const char *why)
{
	const char *path = c->options.input, *dot = strrchr(path, '.');
	int stem = dot && !strchr(dot, '/') ? (int)(dot - path) : (int)strlen(path);
	const char *meant = arena_printf(c->perm, "%.*s.tsr", stem, path);
	diag(&c->diags, E0601, SPAN_NONE, "cannot read '%s': %s", path, why);
	if (strcmp(meant, path) != 0 && access(meant, R_OK) == 0)
		diag_note(&c->diags, SPAN_NONE, "did you mean '%s'?", meant);
}

_Noreturn void usage(const char *what, const char *word)
{
	const char *list = strncmp(what, "stage", 5) == 0 ? "tsrc --dump=help" : "tsrc --help";
	fprintf(stderr, "tsrc: unknown %s '%s'\nTry '%s' for the list.\n", what, word, list);
	exit(2);
}

/* "shapes:3" is the solution after stage 3. */
static int shapes_stage(const char *word)
{
	if (strncmp(word, "shapes:", 7) != 0 || word[7] < '1' || word[7] > '7' || word[8])
		return 0;
	return word[7] - '0';
}

int stage_index(const char *name)
{
	for (int i = 0; i < NSTAGES; i++)
		if (strcmp(pipeline[i].name, name) == 0)
			return i;
	return shapes_stage(name) ? stage_index("shapes") : -1;
}

void stage_dump(FILE *out, Compiler *c, const char *name) { pipeline[stage_index(name)].dump(out, c); }

static bool wants_dump(const Options *o, const char *stage)
{
	for (size_t i = 0; i < o->dump.n; i++)
		if (strcmp(o->dump.at[i], stage) == 0 || strcmp(o->dump.at[i], "all") == 0)
			return true;
	return false;
}

static void dump_after(Compiler *c, const Stage *stage)
{
	const Options *o = &c->options;
	bool all = wants_dump(o, "all");
	if (wants_dump(o, stage->name)) {
		if (all)
			printf("---- %s: %s\n", stage->name, stage->makes);
		stage->dump(stdout, c);
	}
	for (size_t i = 0; i < o->dump.n && strcmp(stage->name, "shapes") == 0; i++)
		if (shapes_stage(o->dump.at[i]))
			infer_dump_stage(stdout, c->inference, shapes_stage(o->dump.at[i]));
}

static void no_tensor(Compiler *c, const char *name)
{
	size_t n = strlen(name);
	diag(&c->diags, E0604, SPAN_NONE, "--explain-shape: there is no tensor or axis '%s'", name);
	for (size_t i = 0; i < c->graph->listing.n; i++) {
		const char *full = c->graph->listing.at[i].name;
		size_t len = strlen(full);
		if (len > n && full[len - n - 1] == '.' && strcmp(full + len - n, name) == 0)
			diag_note(&c->diags, SPAN_NONE, "there is '%s'", full);
	}
}

static void explain(Compiler *c)
{
	const Options *o = &c->options;
	for (size_t i = 0; i < o->explain_shapes.n; i++)
		if (!infer_explain_shape(stdout, c->inference, o->explain_shapes.at[i]))
			no_tensor(c, o->explain_shapes.at[i]);
	if (o->explain_closed)
		infer_explain_closed(stdout, c->inference);
}

/* The time of a phase, and the names of what it makes. */
static void report_phase(const char *phase, double ms)
{
	const char *before = "  ";
	fprintf(stderr, "%-12s %9.2f ms", phase, ms);
	for (int i = 0; i < NSTAGES; i++) {
		if (strcmp(pipeline[i].phase, phase) != 0)
			continue;
		fprintf(stderr, "%s%s", before, pipeline[i].name);
		before = ", ";
	}
	fputc('\n', stderr);
}

/* Runs the stages up to `last`; ends the process after errors. */
static void run_stages(Compiler *c, int last)
{
	double phase_ms = 0;
	for (int i = 0; i <= last; i++) {
		const Stage *stage = &pipeline[i];
		bool ends = i == last || strcmp(pipeline[i + 1].phase, stage->phase) != 0;
		double start = now_ms();
		if (stage->run) {
			stage->run(c);
			diags_to_file(&c->diags, c->file);
			if (c->diags.nerrors && c->ast && !c->inference)
				repairs_offer(c);
			if (c->diags.nerrors)
				finish(c);
			if (stage->verify)
				stage->verify(c);
			phase_ms += now_ms() - start;
		}
		if (ends && c->options.time_report)
			report_phase(stage->phase, phase_ms);
		phase_ms = ends ? 0 : phase_ms;
		dump_after(c, stage);
		if (strcmp(stage->name, "shapes") == 0)
			explain(c);
	}
}

static void verify_backends(Compiler *c)
{
	Emit emit = jobs_emit(c);
	verify_run(&emit, c->inference, stdout, 1);
}

/* ---- lists, from the tables ---- */

static void list_stages(void)
{
	for (int i = 0; i < NSTAGES; i++)
		printf("%-12s %s\n", pipeline[i].name, pipeline[i].makes);
	printf("%-12s %s\n", "shapes:N", "the solution after stage N, 1 to 7");
	printf("%-12s %s\n", "all", "every stage");
}

static void list_completion(const Compiler *c)
{
	const char *stages = "", *kinds = "";
	for (int i = 0; i < NSTAGES; i++)
		stages = arena_printf(c->perm, "%s%s ", stages, pipeline[i].name);
	for (int i = 0; i < OUTPUT_KINDS; i++)
		kinds = arena_printf(c->perm, "%s%s ", kinds, backends[i].name);
	const CompletionChoice choices[] = {{"--dump", arena_printf(c->perm, "%sall", stages)},
					    {"--stop", stages},
					    {"--emit", arena_printf(c->perm, "%sdot %s", kinds, stages)},
					    {"--fp", "strict default fast"},
					    {"--target", "cpu"},
					    {"--verify", "run"},
					    {"--completion", completion_shells},
					    {"-fdiagnostics-color", "auto always never"},
					    {"-fdiagnostics-format", "text json sarif"}};
	const CompletionCommand tsrc = {"", "", &options_argp};
	const Completion whole = {"tsrc", "tsr", &tsrc, 1, choices, sizeof choices / sizeof choices[0]};
	completion_print(stdout, &whole, c->options.completion);
}

/* ---- the whole ---- */

/* The library stands beside the compiler: share/tsr/lib where installed, lib/ of the source tree
 * above a build folder. */
static const char *library_dir(Arena *arena)
{
	static const char *const places[] = {"../share/tsr/lib", "../lib", "../../lib"};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char path[PATH_MAX];
		if (!realpath(arena_printf(arena, "%s/%s", exe, places[i]), path))
			continue;
		if (access(arena_printf(arena, "%s/nn.tsr", path), R_OK) == 0)
			return arena_strndup(arena, path, strlen(path));
	}
	return "/usr/share/tsr/lib";
}

static int last_stage(Compiler *c, const Jobs *jobs)
{
	const Options *o = &c->options;
	int last = stage_index(o->syntax_only || o->explain_shapes.n || o->explain_closed || o->verify ||
					       o->verbose
				       ? "proj"
				       : "ast");
	for (size_t i = 0; i < o->dump.n; i++) {
		int stage = strcmp(o->dump.at[i], "all") == 0 ? NSTAGES - 1 : stage_index(o->dump.at[i]);
		if (stage < 0)
			usage("stage for --dump", o->dump.at[i]);
		last = stage > last ? stage : last;
	}
	for (size_t i = 0; i < jobs->n; i++) {
		int stage = strcmp(jobs->at[i].kind, "dot") == 0 ? stage_index("proj")
								 : stage_index(jobs->at[i].kind);
		stage = stage < 0 ? NSTAGES - 1 : stage;
		last = stage > last ? stage : last;
	}
	if (o->verify_run)
		last = NSTAGES - 1;
	if (o->stop && stage_index(o->stop) < 0)
		usage("stage for --stop", o->stop);
	return o->stop ? stage_index(o->stop) : last;
}

enum { MEMORY_LIMIT_GIB = 4 };

static void compiler_init(Compiler *c, int argc, char **argv)
{
	c->perm = arena_new();
	arena_limit(c->perm, (size_t)MEMORY_LIMIT_GIB << 30);
	options_parse(&c->options, c->perm, argc, argv);
	c->symbols = symbols_new();
	sources_init(&c->sources, c->perm);
	diags_init(&c->diags, c->perm, &c->sources);
	c->diags.options = c->options.diag;
	c->parse = (Parse){c->perm, c->symbols, &c->sources, &c->diags};
	Options *o = &c->options;
	PUSH(c->perm, o->include_dirs, library_dir(c->perm));
	c->frontend = (FrontendOptions){.include_dirs = o->include_dirs.at,
					.ninclude_dirs = (uint32_t)o->include_dirs.n,
					.defines = o->defines.at,
					.ndefines = (uint32_t)o->defines.n};
}

int main(int argc, char **argv)
{
	Compiler compiler = {.start = now_ms()}, *c = &compiler;
	stack_require("tsrc");
	temporary_guard();
	compiler_init(c, argc, argv);
	if (c->options.completion) {
		list_completion(c);
		finish(c);
	}
	if (c->options.list_stages) {
		list_stages();
		finish(c);
	}
	if (c->options.explain) {
		if (!diag_explain(stdout, c->options.explain)) {
			fprintf(stderr, "tsrc: unknown diagnostic '%s'; there are\n",
				c->options.explain);
			diag_list(stderr);
			exit(2);
		}
		finish(c);
	}
	Jobs jobs = jobs_plan(c);
	int last = last_stage(c, &jobs);
	const char *why = NULL;
	c->file = source_read(&c->sources, c->options.input, &why);
	if (!c->file)
		unreadable(c, why);
	if (c->diags.nerrors)
		finish(c);
	run_stages(c, last);
	if (c->options.verify_run && last == NSTAGES - 1)
		verify_backends(c);
	if (!c->diags.nerrors && !c->options.stop)
		jobs_run(c, &jobs);
	finish(c);
}
