/* One call after another: what the interpreter makes of it and what the reference has.
 *
 * Each routine is called several times, with other dims and other numbers, on copies of one set of
 * random arguments (call.c). Codes must be equal. The reference allows numbers within bounds that
 * follow from the types and the lengths of sums.
 */
#include "verify/case.h"

#include "codegen/interp.h"
#include "infer/infer.h"

enum { LOOPS_MOST = 4 }; /* statements of the interpreter for a point of the reference */

static const char no_memory[] = "there is not enough memory";

void verify_left_out(const VerifyCase *c, const char *what, const char *why)
{
	fprintf(c->task->report, "%s: %sleft out, %s\n", c->head, what, why);
}

static int64_t most_steps(const VerifyCase *c)
{
	return c->first ? c->task->steps_first : c->task->steps_more;
}

/* ---- the interpreter and the reference ---- */

static void interpret(const VerifyCase *c, VerifyCall *call, int *code)
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
	InterpArgs args = {call->dims,
			   call->scalars,
			   inputs,
			   outputs,
			   call->state.bytes,
			   &message,
			   LOOPS_MOST * most_steps(c),
			   c->task->bytes,
			   NULL};
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

/* Two factors rounded to 11 bits, 2^-11 of each; or what two such numbers leave of each, 2^-22, the product of the
 * second ones, which is left out, and the three that are added instead of one. */
static double product_error(const LowerOptions *options)
{
	switch (options->f32_matmul) {
	case F32_TF32: return 0x1.01p-10;
	case F32_3XTF32: return 0x1p-20;
	default: return 0;
	}
}

static RefCall reference_call(const VerifyCase *c)
{
	const VerifyCall *call = c->before;
	const Inference *inference = c->task->inference;
	Arena *arena = c->task->arena;
	const ProgramRoutine *r = call->routine;
	const void **inputs = ARENA_ARRAY(arena, const void *, r->ninputs),
		   **params = ARENA_ARRAY(arena, const void *, inference->graph->params.n);
	for (uint32_t i = 0; i < r->ninputs; i++)
		inputs[i] = call->inputs[i].bytes;
	for (size_t i = 0; i < call->program->params.n; i++)
		params[c->params[i]] = verify_call_param(call, i).bytes;
	return (RefCall){.inference = inference,
			 .dims = call->dims,
			 .routine_dims = r->dims,
			 .nroutine_dims = r->ndims,
			 .scalars = call->scalars,
			 .inputs = inputs,
			 .params = params,
			 .most_elements = c->task->elements,
			 .fast = c->task->fast,
			 .sums = c->task->sums,
			 .pairs = call->program->options.pairs,
			 .product_error = product_error(&call->program->options)};
}

static void run_reference(VerifyCase *c)
{
	const VerifyCall *call = c->before;
	RefCall ref = reference_call(c);
	c->result = verify_call_is_init(call) ? reference_init(&ref, (uint64_t)call->scalars[0].i)
					      : reference_run(&ref, call->index);
	c->right = (VerifyRight){c->result->outcome == REF_DONE ? c->result : NULL, c->params,
				 c->task->arena};
	ref.fused = c->task->sums && c->task->fuses;
	if (ref.fused && c->result->outcome == REF_DONE && !verify_call_is_init(call))
		c->fused = reference_run(&ref, call->index);
	if (c->result->outcome <= REF_OUTSIDE)
		return;
	verify_left_out(c, "reference: ",
			c->result->outcome == REF_UNDECIDED ? "rounding decides an index"
							    : "it takes too much memory");
	reference_free(c->result);
	c->result = NULL;
}

/* ---- verdicts ---- */

/* The code that the reference asks for: of a guard, or of a check at the place of the operation. */
static bool right_code(const VerifyCase *c, int code)
{
	const Program *program = c->before->program;
	if (!c->result || c->result->outcome == REF_DONE)
		return !c->result || code == 0;
	if (c->result->outcome == REF_GUARD)
		return code == INTERP_CHECK_FIRST + (int)c->result->guard;
	if (code < INTERP_CHECK_FIRST || (size_t)(code - INTERP_CHECK_FIRST) >= program->checks.n)
		return false;
	const Check *check = &program->checks.at[code - INTERP_CHECK_FIRST];
	return check->kind == CHECK_INDEX && check->span.start == c->result->span.start &&
	       check->span.end == c->result->span.end;
}

bool verify_is_right(const VerifyCase *c, const char *name, const VerifyCall *got, int code)
{
	VerifyDifference d = {.wrong = NULL};
	if (!right_code(c, code))
		d.wrong = arena_printf(c->task->arena, "the code %d is not right", code);
	else if (c->right.result)
		d = verify_against(&c->right, got);
	if (!d.wrong)
		return true;
	fprintf(c->task->report, "%s: %s: DIFFERS from the reference, %s\n", c->head, name,
		d.wrong);
	return false;
}

static void judge_interpreter(VerifyCase *c)
{
	if (!c->expected || !c->result)
		return;
	c->wrong |= !verify_is_right(c, "interpreter", c->expected, c->code);
	if (c->wrong)
		return;
	fprintf(c->task->report, "%s: interpreter: agrees with the reference", c->head);
	if (c->right.result)
		fprintf(c->task->report, ", %lld values", (long long)c->own.values);
	if (c->right.result && c->task->sums)
		fprintf(c->task->report, ", %lld bit for bit", (long long)c->own.exact);
	if (c->own.open)
		fprintf(c->task->report, ", %lld of which may be any", (long long)c->own.open);
	fputc('\n', c->task->report);
}

/* ---- routines ---- */

/* Inputs that pass the checks of indices, if smaller integers help; the reference, where it runs,
 * must refuse those that do not. */
static void run_interpreter(VerifyCase *c, bool reference)
{
	for (int64_t limit = VERIFY_INTEGERS; limit >= 1; limit /= 2) {
		verify_call_fill(c->before, limit);
		c->expected = verify_call_copy(c->before);
		c->code = INTERP_NO_MEMORY;
		if (c->expected)
			interpret(c, c->expected, &c->code);
		if (reference)
			run_reference(c);
		if (c->code < INTERP_CHECK_FIRST || limit == 1)
			break;
		c->wrong |= c->result && !verify_is_right(c, "interpreter", c->expected, c->code);
		verify_call_free(c->expected);
		reference_free(c->result);
		reference_free(c->fused);
		c->result = c->fused = NULL;
	}
	if (c->code >= 0)
		return;
	verify_left_out(c, "interpreter: ",
			c->code == INTERP_TOO_MUCH ? "it takes too many steps, or too much memory"
						   : no_memory);
	verify_call_free(c->expected);
	c->expected = NULL;
}

/* A first call of too many steps is compared with the interpreter alone, whose loops may be less. */
static void run_case(VerifyCase *c, VerifyJudge judge, void *of)
{
	RefCall ref = reference_call(c);
	bool broken = c->before->draw.dims == VERIFY_BROKEN;
	int64_t steps = broken ? 0 : reference_steps(&ref, c->before->index);
	bool many = steps > most_steps(c);
	if (many)
		verify_left_out(c, c->first ? "reference: " : "",
				arena_printf(c->task->arena,
					     "it takes %lld steps, and %lld are run",
					     (long long)steps, (long long)most_steps(c)));
	if (many && !c->first)
		return;
	if (!verify_call_set_up(c->before)) {
		verify_left_out(c, "", no_memory);
		return;
	}
	run_interpreter(c, !many);
	if (c->expected && c->right.result)
		c->own = verify_against(&c->right, c->expected);
	if (c->expected || c->result) {
		judge_interpreter(c);
		judge(c, of);
	}
	verify_call_free(c->expected);
	reference_free(c->result);
	reference_free(c->fused);
}

static bool same_dims(const VerifyCall *a, const VerifyCall *b)
{
	bool same = a && a->draw.coarse == b->draw.coarse;
	for (uint32_t i = 0; same && i < b->routine->ndims; i++)
		same = a->dims[b->routine->dims[i]] == b->dims[b->routine->dims[i]];
	return same;
}

/* What is drawn for the calls of a routine, the first one first. */
static const VerifyDraw draws[] = {
	{.dims = VERIFY_SMALL},
	{.dims = VERIFY_SMALL, .coarse = true},
	{.dims = VERIFY_ZERO, .coarse = true},
	{.dims = VERIFY_ONE},
	{.dims = VERIFY_WIDE, .coarse = true},
	{.dims = VERIFY_MIXED},
	{.dims = VERIFY_BROKEN},
};
enum { NDRAWS = sizeof draws / sizeof draws[0] };

static void run_routine(VerifyCase like, uint32_t index, VerifyJudge judge, void *of)
{
	const VerifyTask *task = like.task;
	VerifyCall *calls[NDRAWS] = {NULL};
	bool init = index > task->program->routines.n;
	const char *why, *name = init ? "init" : task->program->routines.at[index].name;
	for (int i = 0; i < NDRAWS; i++) {
		VerifyCase c = like;
		VerifyDraw draw = draws[i];
		if (draw.dims == VERIFY_BROKEN && (init || task->program->pack.nkernels))
			continue; /* a state must be packed, and cannot be */
		draw.coarse &= !init;
		draw.seed = task->seed + (uint64_t)i;
		draw.most_bytes = task->bytes;
		draw.nguards = task->program->nguards;
		c.head = name;
		c.first = i == 0;
		c.before = calls[i] = verify_call_new(task->program, index, &draw, &why);
		bool new = calls[i] != NULL;
		for (int k = 0; new &&k < i; k++)
			new = !same_dims(calls[k], calls[i]);
		if (new) {
			c.head = arena_printf(task->arena, "%s(%s)", name,
					      verify_call_dims(task->arena, calls[i]));
			run_case(&c, judge, of);
		} else if (!calls[i] && why) {
			verify_left_out(&c, "", why);
		}
	}
	for (int i = 0; i < NDRAWS; i++)
		verify_call_free(calls[i]);
}

/* The parameters of the program are those of the graph that are used. */
uint32_t *verify_param_places(const Program *program, const Inference *inference, Arena *arena)
{
	const Graph *graph = inference->graph;
	uint32_t *places = ARENA_ARRAY(arena, uint32_t, program->params.n + 1);
	for (size_t i = 0; i < program->params.n; i++)
		while (graph_node(graph, graph->params.at[places[i]])->name !=
		       program->params.at[i].name) /* falls: parameters */
			places[i]++;
	return places;
}

void verify_cases(const VerifyTask *task, VerifyJudge judge, void *of)
{
	VerifyCase like = {
		.task = task,
		.params = verify_param_places(task->program, task->inference, task->arena)};
	uint32_t n = (uint32_t)task->program->routines.n;
	for (uint32_t i = 0; i < n; i++)
		run_routine(like, i, judge, of);
	if (task->program->params.n)
		run_routine(like, n + 1, judge, of);
}

static void note_wrong(const VerifyCase *c, void *of) { *(bool *)of |= c->wrong; }

bool verify_interpreter(const VerifyTask *task)
{
	bool wrong = false;
	verify_cases(task, note_wrong, &wrong);
	return !wrong;
}
