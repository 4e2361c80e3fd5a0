/* --verify=run: the interpreter and the compiled code against the reference, on every routine, and
 * on PREFIX_init where there are parameters.
 *
 * The shared object and the C back end's text, as cc compiles it, are loaded into this process.
 * Each routine is called several times, with other dims and other numbers, in all of them, on
 * copies of one set of random arguments (call.c), the chunks of its parallel loops in the opposite
 * order of the interpreter's. Codes must be equal. The reference allows numbers within bounds that
 * follow from the types and the lengths of sums; beside that compiled code must be near the
 * interpreter, whose loops it has, and have its bits under --fp=strict.
 */
#include "verify/verify.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/temporary.h"
#include "codegen/interp.h"
#include "codegen/module.h"
#include "codegen/subprocess.h"
#include "infer/infer.h"
#include "runtime/tsr.h"
#include "verify/compare.h"

/* What a call may take: points of the reference, of the first call of a routine and of the others;
 * statements of the interpreter for each; bytes of arrays; cells of the reference, of 32 bytes. */
enum {
	STEPS_FIRST = 1 << 25,
	STEPS_MORE = 1 << 19,
	LOOPS_MOST = 4,
	BYTES_MOST = 1 << 29,
	CELLS_MOST = 1 << 24
};

static const char no_memory[] = "there is not enough memory";

typedef struct Contestant {
	const char *name;
	void *handle;
	const tsr_module *module;
	const char *missing; /* not NULL: why it does not take part */
} Contestant;

typedef struct Verify {
	const Emit *emit;
	const Inference *inference;
	uint32_t *params; /* of the program: by place in graph->params */
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

/* ---- one call ---- */

/* A call and what came of it. */
typedef struct Case {
	Verify *v;
	const char *head; /* "forward(n = 3)" */
	int64_t most_steps;
	VerifyCall *before;
	VerifyCall *expected; /* what the interpreter made of it; NULL: it was left out */
	int code;	      /* ... and returned */
	RefResult *result;    /* of the reference; NULL: it was left out */
	VerifyRight right;    /* ... where it has numbers */
	bool wrong;	      /* the reference has something against the interpreter's */
	VerifyDifference own; /* of the interpreter and the reference, where both ran */
} Case;

static void left_out(const Case *c, const char *what, const char *why)
{
	fprintf(c->v->report, "%s: %sleft out, %s\n", c->head, what, why);
}

static void interpret(const Case *c, VerifyCall *call, int *code)
{
	const ProgramRoutine *r = call->routine;
	Arena *arena = arena_new();
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs);
	void **outputs = ARENA_ARRAY(arena, void *, r->noutputs);
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (uint32_t i = 0; i < r->noutputs; i++)
		outputs[i] = call->outputs[i].bytes;
	const char *message = NULL;
	InterpArgs args = {call->dims,	      call->scalars, inputs,	    outputs,
			   call->state.bytes, &message,	     LOOPS_MOST * c->most_steps,
			   BYTES_MOST};
	if (verify_call_is_init(call)) { /* all 64 bits of the seed count */
		*code = interp_init(call->program, call->dims, call->state.bytes,
				    (uint64_t)call->scalars[0].i);
	} else {
		*code = interp_pack(call->program, call->dims, call->state.bytes);
		if (*code == 0)
			*code = interp_run(call->program, call->index, &args);
	}
	arena_free(arena);
}

/* Inputs that pass the checks of indices, if smaller integers help. */
static void run_interpreter(Case *c)
{
	for (int64_t limit = VERIFY_INTEGERS; limit >= 1; limit /= 2) {
		verify_call_fill(c->before, limit);
		c->expected = verify_call_copy(c->before);
		c->code = INTERP_NO_MEMORY;
		if (c->expected)
			interpret(c, c->expected, &c->code);
		if (c->code < TSR_CHECK_FIRST || limit == 1)
			break;
		verify_call_free(c->expected);
	}
	if (c->code >= 0)
		return;
	left_out(c, "interpreter: ",
		 c->code == INTERP_TOO_MUCH ? "it takes too many steps, or too much memory"
					    : no_memory);
	verify_call_free(c->expected);
	c->expected = NULL;
}

static RefCall reference_call(const Case *c)
{
	const VerifyCall *call = c->before;
	const Verify *v = c->v;
	Arena *arena = v->emit->arena;
	const ProgramRoutine *r = call->routine;
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs),
		   **params = ARENA_ARRAY(arena, const void *, v->inference->graph->params.n);
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (size_t i = 0; i < call->program->params.n; i++)
		params[v->params[i]] = verify_call_param(call, i).bytes;
	return (RefCall){.inference = v->inference,
			 .dims = call->dims,
			 .scalars = call->scalars,
			 .inputs = inputs,
			 .params = params,
			 .most_cells = CELLS_MOST,
			 .fast = v->emit->target->fast_fp,
			 .pairs = call->program->machine.pairs};
}

static void run_reference(Case *c)
{
	const VerifyCall *call = c->before;
	RefCall ref = reference_call(c);
	c->result = verify_call_is_init(call)
			    ? reference_init(&ref, (uint64_t)call->scalars[0].i)
			    : reference_run(&ref, call->index);
	c->right = (VerifyRight){c->result->outcome == REF_DONE ? c->result : NULL, c->v->params,
				 c->v->emit->arena};
	if (c->result->outcome == REF_DONE || c->result->outcome == REF_OUTSIDE)
		return;
	left_out(c, "reference: ",
		 c->result->outcome == REF_UNDECIDED ? "rounding decides an index"
						     : "it takes too much memory");
	reference_free(c->result);
	c->result = NULL;
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

/* ---- verdicts ---- */

static void disagree(const Case *c, const char *name, const char *with)
{
	diag(c->v->emit->diags, E0521, SPAN_NONE, "%s of %s disagrees with the %s", name,
	     c->before->routine->name, with);
}

/* Sums in another order differ by 1e-5; where they are rounded to bf16 or f16, by a few of its
 * last places; and in all by a small multiple of what rounding has made of the interpreter's. */
static double tolerance(const Case *c)
{
	const Module *m = module_new(c->v->emit);
	double most = 1e-5;
	for (KernelId k = 0; m && k < m->program->kernels.n; k++) {
		const KernelUse *use = m->kernels[k].use;
		for (Dtype from = 0; from < DTYPE_COUNT; from++) {
			most = use->casts[from][DTYPE_F16] && most < 0x1p-9 ? 0x1p-9 : most;
			most = use->casts[from][DTYPE_BF16] ? 0x1p-6 : most;
		}
	}
	double rounding = 16 * c->own.largest;
	return rounding > most ? rounding : most;
}

/* The code that the reference asks for: that of a check at the place of the operation. */
static bool right_code(const Case *c, int code)
{
	const Program *program = c->before->program;
	if (!c->result || c->result->outcome == REF_DONE)
		return !c->result || code == 0;
	if (code < TSR_CHECK_FIRST || (size_t)(code - TSR_CHECK_FIRST) >= program->checks.n)
		return false;
	const Check *check = &program->checks.at[code - TSR_CHECK_FIRST];
	return check->kind == CHECK_INDEX && check->span.start == c->result->span.start &&
	       check->span.end == c->result->span.end;
}

/* false, with a line, where the reference has something against it. */
static bool is_right(const Case *c, const char *name, const VerifyCall *got, int code)
{
	VerifyDifference d = {.wrong = NULL};
	if (!right_code(c, code))
		d.wrong = arena_printf(c->v->emit->arena, "the code %d is not right", code);
	else if (c->right.result)
		d = got == c->expected ? c->own : verify_against(&c->right, got);
	if (!d.wrong)
		return true;
	fprintf(c->v->report, "%s: %s: DIFFERS from the reference, %s\n", c->head, name, d.wrong);
	disagree(c, name, "reference");
	return false;
}

static void judge_interpreter(Case *c)
{
	if (!c->expected || !c->result)
		return;
	c->wrong = !is_right(c, "interpreter", c->expected, c->code);
	if (c->wrong)
		return;
	fprintf(c->v->report, "%s: interpreter: agrees with the reference", c->head);
	if (c->right.result)
		fprintf(c->v->report, ", %lld values", (long long)c->own.values);
	if (c->own.open)
		fprintf(c->v->report, ", %lld of which may be any", (long long)c->own.open);
	fputc('\n', c->v->report);
}

/* Against the interpreter. */
static void compare(const Case *c, const char *name, const VerifyCall *got, int code)
{
	VerifyDifference d = verify_compare(c->expected, got, &c->right);
	bool good = c->v->emit->target->strict_fp ? d.bits : d.largest <= tolerance(c);
	if (code != c->code)
		fprintf(c->v->report, "%s: %s: returns %d, the interpreter %d\n", c->head, name, code,
			c->code);
	else
		fprintf(c->v->report, "%s: %s: %s, %lld values, largest difference %g%s%s\n", c->head,
			name, good ? "agrees" : "DIFFERS", (long long)d.values, d.largest,
			d.where ? " in " : "", d.where ? d.where : "");
	if (code != c->code || !good)
		disagree(c, name, "interpreter");
}

static void judge(const Case *c, const Contestant *who)
{
	VerifyCall *call = who->missing ? NULL : verify_call_copy(c->before);
	if (!call) {
		left_out(c, arena_printf(c->v->emit->arena, "%s: ", who->name),
			 who->missing ? who->missing : no_memory);
		return;
	}
	int code = invoke(who, call);
	if (c->expected)
		compare(c, who->name, call, code);
	if (c->result && !c->wrong && is_right(c, who->name, call, code) && !c->expected)
		fprintf(c->v->report, "%s: %s: agrees with the reference\n", c->head, who->name);
	verify_call_free(call);
}

/* ---- routines ---- */

/* A first call of too many steps is compared with the interpreter alone, whose loops may be less. */
static void verify_call(Case *c)
{
	RefCall ref = reference_call(c);
	int64_t steps = reference_steps(&ref, c->before->index);
	bool first = c->most_steps == STEPS_FIRST, many = steps > c->most_steps;
	if (many)
		left_out(c, first ? "reference: " : "",
			 arena_printf(c->v->emit->arena, "it takes %lld steps, and %lld are run",
				      (long long)steps, (long long)c->most_steps));
	if (many && !first)
		return;
	if (!verify_call_set_up(c->before)) {
		left_out(c, "", no_memory);
		return;
	}
	run_interpreter(c);
	if (!many)
		run_reference(c);
	if (c->expected && c->right.result)
		c->own = verify_against(&c->right, c->expected);
	if (c->expected || c->result) {
		judge_interpreter(c);
		judge(c, &c->v->so);
		judge(c, &c->v->c);
	}
	verify_call_free(c->expected);
	reference_free(c->result);
}

static bool same_dims(const VerifyCall *a, const VerifyCall *b)
{
	bool same = a && a->draw.coarse == b->draw.coarse;
	for (uint32_t i = 0; same && i < b->routine->ndims; i++)
		same = a->dims[b->routine->dims[i]] == b->dims[b->routine->dims[i]];
	return same;
}

static void verify_routine(Verify *v, uint32_t index)
{
	static const struct {
		VerifyDims dims;
		bool coarse;
	} all[] = {{VERIFY_SMALL, false}, {VERIFY_SMALL, true}, {VERIFY_ZERO, true},
		   {VERIFY_ONE, false},	  {VERIFY_WIDE, true},	{VERIFY_MIXED, false}};
	enum { NALL = sizeof all / sizeof all[0] };
	VerifyCall *calls[NALL] = {NULL};
	bool init = index > v->emit->program->routines.n;
	const char *why, *name = init ? "init" : v->emit->program->routines.at[index].name;
	for (int i = 0; i < NALL; i++) {
		VerifyDraw draw = {all[i].dims, all[i].coarse && !init, v->seed + (uint64_t)i,
				   BYTES_MOST};
		Case c = {.v = v, .head = name, .most_steps = i ? STEPS_MORE : STEPS_FIRST};
		c.before = calls[i] = verify_call_new(v->emit->program, index, &draw, &why);
		bool new = calls[i] != NULL;
		for (int k = 0; new && k < i; k++)
			new = !same_dims(calls[k], calls[i]);
		if (new) {
			c.head = arena_printf(v->emit->arena, "%s(%s)", name,
					      verify_call_dims(v->emit->arena, calls[i]));
			verify_call(&c);
		} else if (!calls[i] && why) {
			left_out(&c, "", why);
		}
	}
	for (int i = 0; i < NALL; i++)
		verify_call_free(calls[i]);
}

/* The parameters of the program are those of the graph that are used. */
static uint32_t *param_places(const Verify *v)
{
	const Graph *graph = v->inference->graph;
	const Program *program = v->emit->program;
	uint32_t *places = ARENA_ARRAY(v->emit->arena, uint32_t, program->params.n + 1);
	for (size_t i = 0; i < program->params.n; i++)
		while (graph_node(graph, graph->params.at[places[i]])->name !=
		       program->params.at[i].name) /* falls: parameters */
			places[i]++;
	return places;
}

void verify_run(const Emit *emit, const Inference *inference, FILE *report, uint64_t seed)
{
	Verify v = {.emit = emit, .inference = inference, .report = report, .seed = seed};
	v.params = param_places(&v);
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
