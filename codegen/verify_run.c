/* --verify=run: the interpreter against the compiled code, on every routine, and on PREFIX_init
 * where there are parameters.
 *
 * The shared object and the C back end's text, as cc compiles it, are loaded into this process.
 * Each routine is called once in all three, on copies of one set of random arguments
 * (verify_data.c), the chunks of its parallel loops in the opposite order of the interpreter's.
 * Codes must be equal; numbers too under --fp=strict, else near.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/temporary.h"
#include "codegen/interp.h"
#include "codegen/module.h"
#include "codegen/subprocess.h"
#include "codegen/verify_data.h"
#include "runtime/tsr.h"

static const char no_memory[] = "there is not enough memory";

typedef struct Contestant {
	const char *name;
	void *handle;
	const tsr_module *module;
	const char *missing; /* not NULL: why it does not take part */
} Contestant;

typedef struct Verify {
	const Emit *emit;
	const char *dir;
	FILE *report;
	uint64_t seed;
	Contestant so, c;
} Verify;

static bool open_module(Verify *v, Contestant *to, const char *path)
{
	to->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (to->handle)
		to->module = dlsym(to->handle,
				   arena_printf(v->emit->arena, "%s_module", v->emit->prefix));
	if (!to->module)
		diag(v->emit->diags, E0520, SPAN_NONE, "cannot load what was made: %s", dlerror());
	return to->module != NULL;
}

static bool make_so(Verify *v)
{
	Emit emit = *v->emit;
	emit.output = arena_printf(emit.arena, "%s/so.so", v->dir);
	emit.name = "so.so";
	v->so.name = "so";
	return gccjit_emit_so(&emit) && open_module(v, &v->so, emit.output);
}

static bool make_c(Verify *v)
{
	Emit emit = *v->emit;
	emit.output = arena_printf(emit.arena, "%s/c.c", v->dir);
	v->c.name = "c";
	if (!c_emit(&emit))
		return false;
	const char *path = arena_printf(emit.arena, "%s/c.so", v->dir);
	const char *const argv[] = {"cc",      "-std=c99", "-O1",     "-ffp-contract=off",
				    "-Wall",   "-Wextra",  "-Werror", "-fPIC",
				    "-shared", "-o",	   path,      emit.output,
				    "-lm",     NULL};
	ChildResult result = child_run(emit.arena, argv, v->dir);
	if (!result.ran) {
		v->c.missing = "there is no cc";
		return true;
	}
	if (result.status != 0) {
		diag(emit.diags, E0520, SPAN_NONE, "cc refuses the C that was written: %s",
		     result.text);
		return false;
	}
	return open_module(v, &v->c, path);
}

/* ---- one routine ---- */

static int interpret(VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	if (verify_call_is_init(call)) /* all 64 bits of the seed count */
		return interp_init(call->program, call->dims, call->state.bytes,
				   (uint64_t)call->scalars[0].i);
	Arena *arena = arena_new();
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs);
	void **outputs = ARENA_ARRAY(arena, void *, r->noutputs);
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (uint32_t i = 0; i < r->noutputs; i++)
		outputs[i] = call->outputs[i].bytes;
	const char *message = NULL;
	InterpArgs args = {call->dims, call->scalars, inputs, outputs, call->state.bytes, &message};
	int code = interp_pack(call->program, call->dims, call->state.bytes);
	if (code == 0)
		code = interp_run(call->program, call->index, &args);
	arena_free(arena);
	return code;
}

/* The chunks of a parallel loop, the last one first. */
static void run_backwards(void *pool, int32_t n, void (*task)(void *arg, int32_t i), void *arg)
{
	(void)pool;
	while (n-- > 0)
		task(arg, n);
}

static int invoke(const Contestant *c, VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	if (verify_call_is_init(call))
		return c->module->init(call->dims, call->state.bytes, (uint64_t)call->scalars[0].i);
	Arena *arena = arena_new();
	int64_t *dims = ARENA_ARRAY(arena, int64_t, r->ndims),
		*cells = ARENA_ARRAY(arena, int64_t, r->nscalars);
	const void **scalars = ARENA_ARRAY(arena, const void *, r->nscalars);
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs);
	void **outputs = ARENA_ARRAY(arena, void *, r->noutputs);
	for (uint32_t i = 0; i < r->ndims; i++)
		dims[i] = call->dims[r->dims[i]];
	for (uint32_t i = 0; i < r->nscalars; i++) {
		scalar_write(r->scalars[i].dtype, &cells[i], 0, call->scalars[i]);
		scalars[i] = &cells[i];
	}
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (uint32_t i = 0; i < r->noutputs; i++)
		outputs[i] = call->outputs[i].bytes;
	tsr_call last_first = {.abi = TSR_ABI, .parallel = run_backwards};
	int code = c->module->pack(&last_first, call->dims, call->state.bytes);
	if (code == TSR_OK)
		code = c->module->routines[call->index].invoke(&last_first, dims, scalars, inputs,
							       outputs, call->state.bytes,
							       call->workspace.bytes);
	arena_free(arena);
	return code;
}

static void disagree(Verify *v, const Contestant *c, const VerifyCall *before)
{
	diag(v->emit->diags, E0521, SPAN_NONE, "%s of %s disagrees with the interpreter", c->name,
	     before->routine->name);
}

static void report_skipped(Verify *v, const char *what, const char *why)
{
	fprintf(v->report, "%s: skipped, %s\n", what, why);
}

/* Sums in another order differ by 1e-5; where they are rounded to bf16 or f16, by a few of its
 * last places. */
static double tolerance(const Verify *v)
{
	const Module *m = module_new(v->emit);
	double most = 1e-5;
	for (KernelId k = 0; m && k < m->program->kernels.n; k++) {
		const KernelUse *use = m->kernels[k].use;
		for (Dtype from = 0; from < DTYPE_COUNT; from++) {
			most = use->casts[from][DTYPE_F16] && most < 0x1p-9 ? 0x1p-9 : most;
			most = use->casts[from][DTYPE_BF16] ? 0x1p-6 : most;
		}
	}
	return most;
}

static void compare(Verify *v, const Contestant *c, const VerifyCall *before,
		    const VerifyCall *expected, int code)
{
	const char *dims = verify_call_dims(v->emit->arena, before);
	const char *head =
		arena_printf(v->emit->arena, "%s(%s): %s", before->routine->name, dims, c->name);
	VerifyCall *call = c->missing ? NULL : verify_call_copy(before);
	if (!call) {
		report_skipped(v, head, c->missing ? c->missing : no_memory);
		return;
	}
	int got = invoke(c, call);
	VerifyDifference d = verify_compare(expected, call);
	verify_call_free(call);
	bool good = v->emit->target->strict_fp ? d.bits : d.largest <= tolerance(v);
	if (got != code)
		fprintf(v->report, "%s: returns %d, the interpreter %d\n", head, got, code);
	else
		fprintf(v->report, "%s: %s, %lld values, largest difference %g%s%s\n", head,
			good ? "agrees" : "DIFFERS", (long long)d.values, d.largest,
			d.where ? " in " : "", d.where ? d.where : "");
	if (got != code || !good)
		disagree(v, c, before);
}

/* Inputs that pass the checks of indices, if smaller integers help. */
static int run_oracle(Verify *v, VerifyCall *before, VerifyCall **expected)
{
	int code = -1;
	for (int64_t limit = VERIFY_INTEGERS; limit >= 1; limit /= 2) {
		verify_call_fill(before, v->seed, limit);
		*expected = verify_call_copy(before);
		code = *expected ? interpret(*expected) : -1;
		if (code < TSR_CHECK_FIRST || limit == 1)
			break;
		verify_call_free(*expected);
	}
	return code;
}

static void verify_routine(Verify *v, uint32_t index)
{
	bool init = index > v->emit->program->routines.n;
	const char *why, *name = init ? "init" : v->emit->program->routines.at[index].name;
	VerifyCall *before = verify_call_new(v->emit->program, index, v->seed, &why),
		   *expected = NULL;
	if (!before) {
		report_skipped(v, name, why);
		return;
	}
	int code = run_oracle(v, before, &expected);
	if (expected && code != -1) {
		compare(v, &v->so, before, expected, code);
		compare(v, &v->c, before, expected, code);
	} else {
		report_skipped(v, name, no_memory);
	}
	verify_call_free(expected);
	verify_call_free(before);
}

void verify_run(const Emit *emit, FILE *report, uint64_t seed)
{
	Verify v = {.emit = emit, .report = report, .seed = seed};
	v.dir = temporary_dir();
	if (!v.dir) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot make a temporary directory: %s",
		     strerror(errno));
		return;
	}
	uint32_t n = (uint32_t)emit->program->routines.n;
	if (make_so(&v) && make_c(&v)) {
		for (uint32_t i = 0; i < n; i++)
			verify_routine(&v, i);
		if (emit->program->params.n)
			verify_routine(&v, n + 1);
	}
	if (v.so.handle)
		dlclose(v.so.handle);
	if (v.c.handle)
		dlclose(v.c.handle);
	temporary_remove(v.dir);
}
