/* --verify=run: the interpreter and the compiled code against the reference, on every routine, and
 * on PREFIX_init where there are parameters.
 *
 * What back ends write that can be loaded, such as C as cc compiles it, is loaded into this process and
 * called as the interpreter is (case.c), the chunks of their parallel loops in the opposite order; CUDA C,
 * of which cc makes a program that runs one thread after another, with its blocks in three orders.
 * Beside what the reference asks compiled code must be near the interpreter, whose loops it has,
 * and have its bits under --fp=strict.
 */
#include "base/held.h"
#include "verify/verify.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/temporary.h"
#include "codegen/cpu.h"
#include "codegen/module.h"
#include "codegen/subprocess.h"
#include "runtime/tsr.h"
#include "verify/case.h"

enum { NAIVE_STEPS = 1 << 16 }; /* of the reference, for a call */

static const char no_memory[] = "there is not enough memory";

typedef struct Contestant {
	const char *name;
	void *handle;
	const tsr_module *module;
	const char *missing; /* not NULL: why it does not take part */
	bool fuses;	     /* rounds a product and its sum once */
} Contestant;

typedef struct Verify {
	const Emit *emit;
	const char *dir;
	FILE *report;
	double tolerance; /* of numbers of compiled code and interpreter */
	Contestant made[OUTPUT_KINDS]; /* of the back ends whose output can be loaded */
} Verify;

static void unload(void *handle) { dlclose(handle); }

static void close_module(const Contestant *c)
{
	if (!c->handle)
		return;
	held_drop(unload, c->handle);
	dlclose(c->handle);
}

static bool open_module(Verify *v, Contestant *to, const char *path)
{
	to->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (to->handle)
		held_add(unload, to->handle);
	if (to->handle)
		to->module = dlsym(to->handle,
				   arena_printf(v->emit->arena, "%s_module", v->emit->prefix));
	if (!to->module) {
		diag(v->emit->diags, E0520, SPAN_NONE, "cannot load what was made: %s", dlerror());
		return false;
	}
	int (*use_tiles)(void) = (int (*)(void))dlsym(to->handle, "tsr_use_tiles");
	if (use_tiles)
		use_tiles(); /* where it may not, it does without */
	return true;
}

/* The C of a file as a shared object, which is called a few times: to optimise it takes longer than that. False after a
 * diagnostic. */
static bool compile_c(Verify *v, Contestant *to, const char *from, const char *path)
{
	const char *const argv[] = {"cc",      "-std=c99", "-O0",     "-ffp-contract=off",
				    "-Wall",   "-Wextra",  "-Werror", "-fPIC",
				    "-shared", "-o",	   path,      "-x",
				    "c",       from,	   "-lm",     NULL};
	ChildResult result = child_run(v->emit->arena, argv, v->dir);
	if (!result.ran)
		to->missing = "there is no cc";
	else if (result.status != 0)
		diag(v->emit->diags, E0520, SPAN_NONE, "cc refuses the C that was written: %.*s",
		     (int)strcspn(result.text, "\n"), result.text);
	return !result.ran || result.status == 0;
}

static bool fuses(const Emit *emit)
{
	return !emit->options->strict_fp &&
	       (cpu_extras(emit->program->options.target) & CPU_FMA) != 0;
}

static bool make(Verify *v, const Backend *backend, Contestant *to)
{
	Emit emit = *v->emit;
	const char *name = arena_printf(emit.arena, "%s%s", backend->name, backend->suffix);
	const char *path = arena_printf(emit.arena, "%s/%s", v->dir, name);
	to->name = backend->name;
	to->fuses = backend->load != LOAD_C && fuses(v->emit);
	emit.output = path;
	emit.name = name;
	emit.again = true;
	if (!backend->emit(&emit))
		return false;
	if (backend->load == LOAD_C) {
		path = arena_printf(emit.arena, "%s/%s.so", v->dir, backend->name);
		if (!compile_c(v, to, emit.output, path))
			return false;
	}
	return to->missing || open_module(v, to, path);
}

static bool make_all(Verify *v)
{
	for (int i = 0; i < OUTPUT_KINDS; i++)
		if (backends[i].load != LOAD_NONE &&
		    !(backends[i].load == LOAD_SHARED && cross_wanted(v->emit)) &&
		    backends[i].gpu == (v->emit->program->options.gpu != NULL) &&
		    !make(v, &backends[i], &v->made[backends[i].kind]))
			return false;
	return true;
}

/* ---- one call ---- */

typedef void (*Order)(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg);

/* The chunks of a parallel loop, or the blocks of a grid, the last one first. */
static void run_backwards(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg)
{
	(void)pool;
	while (n-- > 0)
		task(arg, n);
}

static void run_forwards(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg)
{
	(void)pool;
	for (int32_t i = 0; i < n; i++)
		task(arg, i);
}

/* In steps that share no factor with their number: as if at random. */
static void run_mixed(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg)
{
	static const int64_t primes[] = {7919, 6133, 4001};
	int64_t step = primes[0];
	(void)pool;
	for (size_t i = 1; i < sizeof primes / sizeof *primes && n % step == 0; i++)
		step = primes[i];
	step = n % step == 0 ? 1 : step;
	for (int64_t i = 0; i < n; i++)
		task(arg, (int32_t)(i * step % n));
}

static int invoke(const Contestant *c, VerifyCall *call, Order order)
{
	const ProgramRoutine *r = call->routine;
	if (verify_call_is_init(call))
		return c->module->init(call->dims, call->state.bytes, (uint64_t)call->scalars[0].i);
	Arena *arena = arena_new();
	int64_t *dims = ARENA_ARRAY(arena, int64_t, r->ndims),
		*elements = ARENA_ARRAY(arena, int64_t, r->nscalars);
	const void **scalars = ARENA_ARRAY(arena, const void *, r->nscalars);
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs);
	void **outputs = ARENA_ARRAY(arena, void *, r->noutputs);
	for (uint32_t i = 0; i < r->ndims; i++)
		dims[i] = call->dims[r->dims[i]];
	for (uint32_t i = 0; i < r->nscalars; i++) {
		scalar_write(r->scalars[i].dtype, &elements[i], 0, call->scalars[i]);
		scalars[i] = &elements[i];
	}
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (uint32_t i = 0; i < r->noutputs; i++)
		outputs[i] = call->outputs[i].bytes;
	tsr_call how = {.abi = TSR_ABI, .parallel = order};
	int code = c->module->pack(&how, call->dims, call->state.bytes);
	if (code == TSR_OK)
		code = c->module->routines[call->index].invoke(&how, dims, scalars, inputs, outputs,
							       call->state.bytes,
							       call->workspace.bytes);
	arena_free(arena);
	return code;
}

/* A call and who is called. */
typedef struct Call {
	Verify *v;
	const VerifyCase *c;
} Call;

static void disagree(const Call *call, const char *name, const char *with)
{
	diag(call->v->emit->diags, E0521, SPAN_NONE, "%s of %s disagrees with the %s", name,
	     call->c->before->routine->name, with);
}

/* Against the interpreter: near it, or within a small multiple of what rounding has made of it; where
 * the reference knows the bits of both, it alone decides. */
static void compare(const Call *call, const char *name, const VerifyCall *got, int code)
{
	const VerifyCase *c = call->c;
	const Verify *v = call->v;
	VerifyDifference d = verify_compare(c->expected, got, &c->right);
	double rounding = 16 * c->own.largest;
	bool near =
		c->task->sums || d.largest <= (rounding > v->tolerance ? rounding : v->tolerance);
	bool good = v->emit->options->strict_fp ? d.bits : near;
	if (code != c->code)
		fprintf(v->report, "%s: %s: returns %d, the interpreter %d\n", c->head, name, code,
			c->code);
	else
		fprintf(v->report, "%s: %s: %s, %lld values, largest difference %g%s%s\n", c->head,
			name, good ? "agrees" : "DIFFERS", (long long)d.values, d.largest,
			d.where ? " in " : "", d.where ? d.where : "");
	if (code != c->code || !good)
		disagree(call, name, "interpreter");
}

/* The case as machine code has to make it, where a product and its sum are rounded once. */
static VerifyCase fused_case(const VerifyCase *c)
{
	VerifyCase fused = *c;
	if (!c->fused || c->fused->outcome != REF_DONE)
		return fused;
	fused.result = c->fused;
	fused.right.result = c->fused;
	return fused;
}

static void judge_order(const Call *call, const Contestant *who, Order order)
{
	const VerifyCase *c = call->c;
	VerifyCase right = who->fuses ? fused_case(c) : *c;
	VerifyCall *copy = who->missing ? NULL : verify_call_copy(c->before);
	if (!copy) {
		verify_left_out(c, arena_printf(call->v->emit->arena, "%s: ", who->name),
				who->missing ? who->missing : no_memory);
		return;
	}
	int code = invoke(who, copy, order);
	if (code == TSR_BAD_CPU) {
		verify_left_out(c, arena_printf(call->v->emit->arena, "%s: ", who->name),
				"this machine lacks instructions of the target");
		verify_call_free(copy);
		return;
	}
	if (c->expected)
		compare(call, who->name, copy, code);
	if (c->result && !c->wrong && !verify_is_right(&right, who->name, copy, code))
		disagree(call, who->name, "reference");
	else if (!c->expected)
		fprintf(call->v->report, "%s: %s: agrees with the reference\n", c->head, who->name);
	verify_call_free(copy);
}

/* Threads of a GPU may run in any order. */
static void judge(const Call *call, const Contestant *who)
{
	static const Order orders[] = {run_backwards, run_forwards, run_mixed};
	for (int i = 0; i < (call->v->emit->program->options.gpu && !who->missing ? 3 : 1); i++)
		judge_order(call, who, orders[i]);
}

static void judge_all(const VerifyCase *c, void *of)
{
	Call call = {of, c};
	if (c->wrong)
		disagree(&call, "interpreter", "reference");
	for (int i = 0; i < OUTPUT_KINDS; i++)
		if (call.v->made[i].name)
			judge(&call, &call.v->made[i]);
}

/* ---- unscheduled loops ---- */

typedef struct NaiveCalls {
	const Emit *emit;
	uint32_t ncalls; /* compared with the reference */
	bool wrong;
} NaiveCalls;

static void count_naive(const VerifyCase *c, void *of)
{
	NaiveCalls *calls = of;
	calls->ncalls += c->expected && c->result;
	calls->wrong |= c->wrong;
	if (c->wrong)
		diag(calls->emit->diags, E0521, SPAN_NONE,
		     "the unscheduled loops of %s disagree with the reference",
		     c->before->routine->name);
}

/* The calls of few steps, in the interpreter; what is said of them is shown where one is wrong. */
static void verify_naive(const VerifyTask *like, const Program *naive, const Emit *emit)
{
	VerifyTask task = *like;
	NaiveCalls calls = {.emit = emit};
	char *text = NULL;
	size_t n = 0;
	task.program = naive;
	task.steps_first = task.steps_more = NAIVE_STEPS;
	task.report = open_memstream(&text, &n);
	REQUIRE(task.report);
	verify_cases(&task, count_naive, &calls);
	fclose(task.report);
	if (calls.wrong)
		fputs(text, like->report);
	fprintf(like->report, "unscheduled loops: %s the reference in %u calls\n",
		calls.wrong ? "DIFFER from" : "agree with", calls.ncalls);
	free(text);
}

/* ---- the whole ---- */

/* Sums in another order differ by 1e-5; where they are rounded to a small float, by a few of its
 * last places. */
double verify_tolerance(const Emit *emit)
{
	const Module *m = module_new(emit);
	double most = 1e-5;
	for (KernelId k = 0; m && k < m->program->kernels.n; k++) {
		const KernelUse *use = m->kernels[k].use;
		for (Dtype from = 0; from < DTYPE_COUNT; from++) {
			most = use->casts[from][DTYPE_F16] && most < 0x1p-9 ? 0x1p-9 : most;
			most = use->casts[from][DTYPE_BF16] && most < 0x1p-6 ? 0x1p-6 : most;
			most = use->casts[from][DTYPE_F8E4M3] && most < 0x1p-3 ? 0x1p-3 : most;
			most = use->casts[from][DTYPE_F8E5M2] ? 0x1p-2 : most;
		}
	}
	return most;
}

static VerifyTask task_of(const Emit *emit, const Inference *inference, FILE *report, uint64_t seed)
{
	return (VerifyTask){.program = emit->program,
			    .inference = inference,
			    .arena = emit->arena,
			    .report = report,
			    .seed = seed,
			    .fast = emit->options->fast_fp,
			    .steps_first = 1 << 25,
			    .steps_more = 1 << 19,
			    .bytes = 1 << 29,
			    .elements = 1 << 24};
}

static void run(const VerifyTask *task, const Emit *emit)
{
	Verify v = {.emit = emit, .report = task->report, .tolerance = verify_tolerance(emit)};
	v.dir = temporary_dir();
	if (!v.dir) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot make a temporary directory: %s",
		     strerror(errno));
		return;
	}
	if (make_all(&v))
		verify_cases(task, judge_all, &v);
	for (int i = 0; i < OUTPUT_KINDS; i++)
		close_module(&v.made[i]);
	temporary_remove(v.dir);
}

void verify_run(const Emit *emit, const Program *naive, const Inference *inference, FILE *report,
		uint64_t seed)
{
	VerifyTask task = task_of(emit, inference, report, seed);
	if (naive)
		verify_naive(&task, naive, emit);
	run(&task, emit);
}

void verify_sums(const Emit *emit, const Inference *inference, FILE *report, uint64_t seed)
{
	VerifyTask task = task_of(emit, inference, report, seed);
	task.sums = verify_orders(emit->program, inference, emit->arena);
	task.fuses = fuses(emit);
	run(&task, emit);
}
