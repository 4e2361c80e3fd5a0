/* The driver of libgccjit: a program to a shared object, an object or assembly.
 *
 *   forks, as many at a time as there are CPUs: entries (baseline) -> entries.s; units of kernels
 *   (the target's features) that the cache does not have -> kernels_0.s kernels_1.s ...
 *   here: asm_text joins them with the constants and the table -> module.s -> as -> ld -shared
 *
 * A fork contains whatever libgccjit may do to its process (it exits, it crashes, it keeps
 * memory); its words come back through a pipe. Running as and ld ourselves leaves no path and no
 * clock in the output.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/temporary.h"
#include "codegen/asm_text.h"
#include "codegen/cache.h"
#include "codegen/cpu.h"
#include "codegen/jit_context.h"
#include "codegen/jit_library.h"
#include "codegen/jit_parts.h"
#include "codegen/jit_uniform.h"
#include "codegen/jit_units.h"
#include "codegen/made_object.h"
#include "codegen/subprocess.h"
#include "codegen/tools.h"

enum { ASM_CONSTANT_LIMIT = 64 << 10, COMPILE_SECONDS = 600, NAMES_MOST = 4 };
#define COMPILE_BYTES ((uint64_t)4 << 30)

typedef struct Build {
	const Emit *emit;
	const Module *module;
	Tools tools;
	const char *dir, *entries;
	const char **kernels; /* files, by unit */
	JitUnits units;
	Cache cache;
	const Target *target;
} Build;

/* What one fork compiles. */
typedef struct Work {
	const Build *build;
	int (*compile)(const struct Work *work);
	uint32_t unit;
	uint64_t weight;
	Digest key;
} Work;
typedef VEC(Work) Works;

/* The heaviest first: begun last, it would keep one CPU busy while the others are idle. Equal ones
 * in the order of units, for the same order everywhere. */
static int by_weight(const void *a, const void *b)
{
	const Work *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* ---- in the fork ---- */

static void add_options(Jit *jit, const char *const *flags)
{
	for (; *flags; flags++)
		jit_option(jit, *flags);
}

static void set_options(Jit *jit, int opt_level)
{
	/* fused.h says what is rounded once */
	static const char *const always[] = {"-fno-math-errno", "-fno-trapping-math", "-fno-ident",
					     "-ffp-contract=off",
					     /* GCC rewrites an index for each loop around it: without
					      * a bound, work doubles with every second loop */
					     "--param=scev-max-expr-size=30", NULL};
	gcc_jit_context_set_int_option(jit->ctxt, GCC_JIT_INT_OPTION_OPTIMIZATION_LEVEL, opt_level);
	add_options(jit, always);
}

/* libgccjit copies its text and does not look whether the end arrived. */
static bool has_end(const char *path)
{
	static const char last[] = "\t.section\t.note.GNU-stack,\"\",@progbits\n";
	enum { N = sizeof last - 1 };
	char end[N];
	FILE *in = fopen(path, "rb");
	bool whole = in && fseek(in, -(long)N, SEEK_END) == 0 && fread(end, 1, N, in) == N &&
		     memcmp(end, last, N) == 0;
	if (in)
		fclose(in);
	return whole;
}

static int compile(Jit *jit, const char *path)
{
	const char *error = gcc_jit_context_get_first_error(jit->ctxt);
	if (!error) {
		gcc_jit_context_compile_to_file(jit->ctxt, GCC_JIT_OUTPUT_KIND_ASSEMBLER, path);
		error = gcc_jit_context_get_first_error(jit->ctxt);
	}
	if (!error && !has_end(path))
		error = "its text is cut short";
	if (error)
		fprintf(stderr, "%s\n", error);
	return error ? 1 : 0;
}

static int compile_entries(const Work *work)
{
	const Build *b = work->build;
	Jit *jit = jit_new(b->module, b->module->arena);
	const CodeOptions *options = b->emit->options;
	set_options(jit, options->opt_level > 1 ? 1 : options->opt_level);
	/* calls and checks, once a call: more takes time and gains none */
	if (options->opt_level)
		jit_option(jit, "-Og");
	jit_option(jit, "-march=x86-64");
	jit_routines(jit, b->target->features != 0);
	jit_state(jit);
	return compile(jit, b->entries);
}

/* Vectors are explicit where straight lines have them. What is off costs time and gains nothing
 * measurable in these kernels; in units without plain loops the emitted code is the same without
 * it. */
static void set_vector_options(Jit *jit, bool plain)
{
	static const char *const unneeded[] = {"-fno-tree-slp-vectorize",
					       "-fno-tree-pre",
					       "-fno-gcse",
					       "-fno-thread-jumps",
					       "-fno-tree-dominator-opts",
					       "-fno-tree-vrp",
					       "-fno-code-hoisting",
					       "-fno-tree-tail-merge",
					       NULL};
	/* a loop over many operands is worth a check of each pair; scalars of a window that go from
	 * step to step in registers would drive a tile's sums out of these */
	static const char *const loops[] = {"-ftree-loop-vectorize", "-fvect-cost-model=dynamic",
					    "-fno-predictive-commoning",
					    "--param=vect-max-version-for-alias-checks=100", NULL};
	static const char *const straight[] = {"-fpredictive-commoning",
					       "-fno-tree-ch",
					       "-fno-tree-loop-distribute-patterns",
					       "-fno-tree-pta",
					       "-fno-dse",
					       NULL};
	add_options(jit, unneeded);
	add_options(jit, plain ? loops : straight);
}

/* The module with the names of asm_text.h for the kernels of the unit. */
static const Module *unit_module(const Module *m, const JitUnit *unit)
{
	if (m->emit->options->debug)
		return m;
	Module *copy = ARENA_NEW(m->arena, Module);
	*copy = *m;
	copy->prefix = UNIT_PREFIX;
	copy->kernels = ARENA_ARRAY(m->arena, ModuleKernel, m->program->kernels.n + 1);
	for (uint32_t i = 0; i < unit->kernels.n; i++) {
		ModuleKernel *kernel = &copy->kernels[unit->kernels.at[i]];
		*kernel = m->kernels[unit->kernels.at[i]];
		kernel->kernel.name = arena_printf(m->arena, "%u", i);
		kernel->function = arena_printf(m->arena, UNIT_PREFIX "__k_%u", i);
	}
	return copy;
}

static int compile_kernels(const Work *work)
{
	const Build *b = work->build;
	const JitUnit *unit = &b->units.at[work->unit];
	const CodeOptions *options = b->emit->options;
	Jit *jit = jit_new(unit_module(b->module, unit), b->module->arena);
	set_options(jit, options->opt_level);
	const char **flags;
	size_t n = cpu_flags(b->module->arena, b->target, &flags);
	for (size_t i = 0; i < n; i++)
		jit_option(jit, flags[i]);
	jit_option(jit, "-fno-inline-functions-called-once"); /* loops that are outlined stay so */
	if (options->opt_level >= 2)
		set_vector_options(jit, unit->plain);
	if (options->debug)
		gcc_jit_context_set_bool_option(jit->ctxt, GCC_JIT_BOOL_OPTION_DEBUGINFO, 1);
	jit->target = b->target;
	jit->vector_bytes = (int)b->target->vector_bytes;
	jit->simd = cpu_simd(b->target);
	jit->extras = cpu_extras(b->target);
	jit_kernels(jit, unit->kernels.at, unit->kernels.n);
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		if (unit->uniform >> d & 1)
			jit_uniform(jit, d);
	return compile(jit, b->kernels[work->unit]);
}

static int compile_unit(void *arg)
{
	const Work *work = arg;
	setenv("TMPDIR", work->build->dir, 1);
	child_limit(COMPILE_BYTES, COMPILE_SECONDS);
	return work->compile(work);
}

/* ---- here ---- */

/* An assembly text stands alone, so its constants are in it; beyond a limit nobody would read it.
 */
static bool constants_fit(const Emit *emit)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < emit->program->consts.n; i++) {
		const ProgramConst *c = &emit->program->consts.at[i];
		size_t room = 0;
		dtype_room(c->type.dtype, (size_t)c->count, &room);
		bytes += room;
	}
	if (bytes <= ASM_CONSTANT_LIMIT)
		return true;
	diag(emit->diags, E0504, SPAN_NONE,
	     "the constants take %llu bytes: assembly output holds at most %d; write .so or .o "
	     "instead",
	     (unsigned long long)bytes, ASM_CONSTANT_LIMIT);
	return false;
}

/* What a unit's text depends on, but for the program that makes it. */
static Digest unit_key(const Build *b, Digest version, const JitUnit *unit)
{
	Arena *arena = b->module->arena;
	const CodeOptions *options = b->emit->options;
	const char **flags;
	size_t n = cpu_flags(arena, b->target, &flags);
	char *text = arena_printf(arena, "%016llx%016llx O%d strict%d fast%d v%d n%d,%d w%d",
				  (unsigned long long)version.high, (unsigned long long)version.low,
				  options->opt_level, options->strict_fp, options->fast_fp,
				  cpu_vector_bits(b->target), (int)b->target->fast_path_strip,
				  (int)b->target->fast_path_trips, (int)b->target->math_loop_trips);
	for (size_t i = 0; i < n; i++)
		text = arena_printf(arena, "%s %s", text, flags[i]);
	text = arena_printf(arena, "%s u%x", text, unit->uniform);
	for (size_t i = 0; i < unit->kernels.n; i++) {
		Digest id = b->module->kernels[unit->kernels.at[i]].identity;
		text = arena_printf(arena, "%s %016llx%016llx", text, (unsigned long long)id.high,
				    (unsigned long long)id.low);
	}
	return digest_of(text, strlen(text));
}

/* The entries, then the units that the cache does not have, heaviest first. */
static Works plan_works(Build *b)
{
	Arena *arena = b->module->arena;
	Works works = {0};
	PUSH(arena, works, ((Work){.build = b, .compile = compile_entries}));
	Digest version = b->cache.dir ? cache_version() : (Digest){0};
	for (uint32_t i = 0; i < b->units.n; i++) {
		Work work = {.build = b, .compile = compile_kernels, .unit = i};
		work.weight = b->units.at[i].weight;
		if (b->cache.dir) {
			work.key = unit_key(b, version, &b->units.at[i]);
			if (cache_get(&b->cache, work.key, b->kernels[i]))
				continue;
		}
		PUSH(arena, works, work);
	}
	qsort(works.at + 1, works.n - 1, sizeof *works.at, by_weight);
	return works;
}

/* The kernel of a unit that most statements are made of. */
static const Kernel *heaviest(const Build *b, const JitUnit *unit)
{
	const ModuleKernel *kernels = b->module->kernels;
	const Kernel *most = &kernels[unit->kernels.at[0]].kernel;
	for (size_t i = 1; i < unit->kernels.n; i++) {
		const Kernel *kernel = &kernels[unit->kernels.at[i]].kernel;
		if (block_weight(b->module->program, kernel->body) >
		    block_weight(b->module->program, most->body))
			most = kernel;
	}
	return most;
}

/* What a child compiled: "'y' (with 'a', 'b' and 2 more)". */
static const char *work_text(const Build *b, const Work *work, Span *span)
{
	Arena *arena = b->module->arena;
	const JitUnit *unit = &b->units.at[work->unit];
	*span = SPAN_NONE;
	if (work->compile == compile_entries)
		return "the routines' entries";
	if (unit->kernels.n == 0)
		return "random numbers";
	const Kernel *most = heaviest(b, unit);
	const char *others = "";
	size_t n = 0;
	for (size_t i = 0; i < unit->kernels.n && n < NAMES_MOST; i++) {
		const Kernel *kernel = &b->module->kernels[unit->kernels.at[i]].kernel;
		if (kernel != most)
			others = arena_printf(arena, "%s%s'%s'", others, n++ ? ", " : " (with ",
					      kernel->name);
	}
	if (unit->kernels.n > n + 1)
		others = arena_printf(arena, "%s and %zu more", others, unit->kernels.n - n - 1);
	*span = most->span;
	return arena_printf(arena, "'%s'%s%s", most->name, others, n ? ")" : "");
}

/* What a child ran out of, or NULL: its time, or memory, which GCC says in one of three ways. */
static const char *exhausted(const ChildResult *result)
{
	static const char *const words[] = {"memory exhausted", "out of memory", "bad_alloc"};
	if (result->status == 128 + SIGXCPU)
		return "processor time";
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(result->text, words[i]))
			return "memory";
	return NULL;
}

static void report_failure(const Build *b, const Work *work, const ChildResult *result)
{
	Span span;
	const char *text = work_text(b, work, &span), *what = exhausted(result);
	if (what)
		diag(b->emit->diags, E0510, span, "compiling %s takes more %s than it may", text,
		     what);
	else
		diag(b->emit->diags, E0505, span, "libgccjit failed on %s (status %d): %s", text,
		     result->status, child_last_words(result));
}

/* Ends a child; false after the diagnostic of a first failure. */
static bool end_work(Build *b, const Work *work, const Child *child, bool good)
{
	ChildResult result = child_end(b->module->arena, child);
	if (result.ran && result.status == 0) {
		if (work->compile == compile_kernels)
			cache_put(&b->cache, work->key, b->kernels[work->unit]);
		return good;
	}
	if (good) {
		report_failure(b, work, &result);
		tools_note_room(&b->tools);
	}
	return false;
}

/* As many forks at a time as there are CPUs. */
static bool compile_all(Build *b)
{
	Arena *arena = b->module->arena;
	Works works = plan_works(b);
	size_t places = child_places(), running = 0, next = 0;
	Child *children = ARENA_ARRAY(arena, Child, places);
	const Work **of = ARENA_ARRAY(arena, const Work *, places);
	bool good = true;
	while (running || (good && next < works.n)) {
		if (good && running < places && next < works.n) {
			of[running] = &works.at[next++];
			children[running] = child_start(arena, compile_unit, (void *)of[running]);
			running++;
			continue;
		}
		size_t i = child_any(children, running);
		good = end_work(b, of[i], &children[i], good);
		running--;
		children[i] = children[running];
		of[i] = of[running];
	}
	if (b->emit->report)
		b->emit->report->cached = b->units.n - (uint32_t)(works.n - 1);
	return good;
}

/* By number: nothing of the program gets into a path. */
static void name_files(Build *b)
{
	Arena *arena = b->module->arena;
	b->entries = arena_printf(arena, "%s/entries.s", b->dir);
	b->kernels = ARENA_ARRAY(arena, const char *, b->units.n + 1);
	for (uint32_t i = 0; i < b->units.n; i++)
		b->kernels[i] = arena_printf(arena, "%s/kernels_%u.s", b->dir, i);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void count_parts(const Build *b, EmitReport *report)
{
	report->kernels = (uint32_t)b->module->program->kernels.n;
	report->units = b->units.n;
	for (uint32_t i = 0; i < b->units.n; i++)
		report->functions += (uint32_t)b->units.at[i].kernels.n;
}

/* Before anything forks, so that it is loaded once. */
static bool load_library(const Emit *emit)
{
	const char *why = jit_library_load();
	if (!why)
		return true;
	diag(emit->diags, E0526, SPAN_NONE, "machine code is made by libgccjit: %s", why);
	diag_note(emit->diags, SPAN_NONE,
		  "-o STEM.c needs none; Debian's package libgccjit0 has it");
	return false;
}

/* The module as assembly in the file at `path`. */
static bool make_text(Build *b, bool inline_constants, const char *path, EmitReport *report)
{
	b->units = jit_units(b->module, b->emit->options);
	name_files(b);
	count_parts(b, report);
	double start = now_ms();
	if (!load_library(b->emit) || !compile_all(b))
		return false;
	report->compile_ms = now_ms() - start;
	AsmParts parts = {b->dir, b->entries, b->kernels, &b->units, inline_constants};
	return asm_text_write(b->module, &parts, path);
}

static bool make_object(Build *b, const char *path, EmitReport *report)
{
	const char *text = arena_printf(b->module->arena, "%s/module.s", b->dir);
	if (!make_text(b, false, text, report))
		return false;
	double start = now_ms();
	if (!tools_assemble(&b->tools, text, path))
		return false;
	report->assemble_ms = now_ms() - start;
	made_object_load(b->module, path, report);
	return true;
}

static bool build_in(Build *b, OutputKind kind)
{
	const Emit *emit = b->emit;
	EmitReport unasked = {0}, *report = emit->report ? emit->report : &unasked;
	if (kind == OUTPUT_ASM)
		return make_text(b, true, emit->output, report);
	const char *object = kind == OUTPUT_OBJ
				     ? emit->output
				     : arena_printf(b->module->arena, "%s/module.o", b->dir);
	if (!made_object_write(b->module, object, report) && !make_object(b, object, report))
		return false;
	double start = now_ms();
	bool good = kind == OUTPUT_OBJ || tools_link(&b->tools, object);
	report->link_ms = now_ms() - start;
	return good;
}

static bool build(const Emit *emit, OutputKind kind)
{
	Build b = {.emit = emit, .target = emit->program->options.target};
	if (kind == OUTPUT_ASM && !constants_fit(emit))
		return false;
	b.module = module_new(emit);
	if (!b.module)
		return false;
	b.dir = temporary_dir();
	if (!b.dir) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot make a temporary directory: %s",
		     strerror(errno));
		return false;
	}
	b.tools = (Tools){emit, b.dir, NULL};
	/* debug information names the source and its lines */
	b.cache = cache_open(emit->arena, emit->options->debug ? NULL : emit->cache);
	if (emit->report)
		emit->report->cache_refused = b.cache.refused;
	bool good = build_in(&b, kind);
	cache_close(&b.cache);
	temporary_remove(b.dir);
	return good;
}

bool gccjit_emit_so(const Emit *emit)
{
	return build(emit, OUTPUT_SO);
}

bool gccjit_emit_obj(const Emit *emit)
{
	return build(emit, OUTPUT_OBJ);
}

bool gccjit_emit_asm(const Emit *emit)
{
	return build(emit, OUTPUT_ASM);
}
