/* --check-grad: each gradient of each routine against differences of what it is the gradient of (slope.c), at random
 * numbers. All floats are f64 to the reference, which computes them in long double. Where a gradient is wrong, those
 * on its way are looked at from y on: what reads the first wrong one gives it wrongly.
 */
#include <math.h>
#include <string.h>

#include "base/element.h"
#include "base/held.h"
#include "verify/slope.h"

/* Of arrays; of the reference, 32 bytes each. */
enum { MOST_BYTES = 1 << 26, MOST_ELEMENTS = 1 << 22 };

/* ---- what the reference is given ---- */

static Graph *widened(const Inference *inference, Arena *arena)
{
	Graph *graph = ARENA_NEW(arena, Graph);
	*graph = *inference->graph;
	graph->nodes.at = ARENA_ARRAY(arena, Node, graph->nodes.n + 1);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		Node *node = &graph->nodes.at[id];
		*node = *graph_node(inference->graph, id);
		if (dtype_is_float(node->dtype))
			node->dtype = DTYPE_F64;
	}
	return graph;
}

/* Numbers of an array; floats above 0 where asked, for functions that take no others, and no i64 beside which a step is
 * nothing. */
static RefTensor read_array(const void *bytes, Dtype dtype, int64_t n, bool positive)
{
	RefTensor tensor = {held_alloc((size_t)n + 1, sizeof *tensor.elements), n,
			    dtype_is_float(dtype) ? DTYPE_F64 : dtype};
	REQUIRE(tensor.elements);
	for (int64_t i = 0; i < n; i++) {
		Scalar value = scalar_read(dtype, bytes, i);
		RefElement *element = &tensor.elements[i];
		if (dtype == DTYPE_U4X32)
			memcpy(element->w, value.w, sizeof element->w);
		else if (!dtype_is_float(dtype))
			element->x = dtype == DTYPE_I64 ? value.i % 8 : value.i;
		else
			element->x = positive ? 0.35L + 0.6L * fabsl(value.f) : value.f;
	}
	return tensor;
}

static void give_params(Differences *check, const uint32_t *places, bool positive)
{
	for (size_t i = 0; i < check->call->program->params.n; i++) {
		VerifyBlock block = verify_call_param(check->call, i);
		NodeId id = check->graph->params.at[places[i]];
		if (block.bytes)
			check->given[id] = read_array(block.bytes, block.dtype, block.n, positive);
	}
}

static void give_all(Differences *check, const uint32_t *places, bool positive)
{
	const Routine *r = &check->graph->routines.at[check->call->index];
	check->given = held_alloc(check->graph->nodes.n + 1, sizeof *check->given);
	REQUIRE(check->given);
	give_params(check, places, positive);
	for (uint32_t i = 0; i < r->ninputs; i++) {
		const VerifyBlock *input = &check->call->inputs[i];
		check->given[r->inputs[i]] =
			read_array(input->bytes, input->dtype, input->n, positive);
	}
	for (NodeId id = 0; id < check->graph->nodes.n; id++) {
		const Node *node = graph_node(check->task->inference->graph, id);
		if (node->kind == NODE_CONST)
			check->given[id] = read_array(node->data->bytes, node->dtype,
						      node->data->count, false);
	}
}

static void free_given(const Differences *check)
{
	for (NodeId id = 0; id < check->graph->nodes.n; id++)
		held_free(check->given[id].elements);
	held_free(check->given);
}

/* ---- who is to blame ---- */

/* Of those that were made together, what each is of: what it is taken with respect to, or what moves. */
static NodeId moves_at(const GradientMade *of) { return of->forward ? of->y : of->x; }

static void note_readers(const Differences *check, const GradientMade *of)
{
	for (NodeId id = 0; id <= of->y; id++) {
		const Node *node = graph_node(check->graph, id);
		bool on_way = false, reads = of->forward && id == of->y;
		for (size_t i = 0; i < check->graph->gradients.n; i++)
			on_way |= slope_like(&check->graph->gradients.at[i], of) &&
				  moves_at(&check->graph->gradients.at[i]) == id;
		for (uint32_t i = 0; i < node->nargs; i++)
			reads |= !of->forward && node->args[i] == of->x;
		if (reads && on_way)
			diag_note(check->task->diags, node->span,
				  "it is what comes through this %s that is wrong",
				  node_kind_name(node));
	}
}

/* The first that is wrong, from y on, or from x on. */
static void blame(const Differences *check, const GradientMade *wrong)
{
	const GradientMade *first = NULL;
	for (size_t i = 0; i < check->graph->gradients.n; i++) {
		const GradientMade *of = &check->graph->gradients.at[i];
		if (slope_like(of, wrong) &&
		    (!first || (of->forward ? of->y < first->y : of->x > first->x)) &&
		    slope_look_at(check, of).verdict == WRONG)
			first = of;
	}
	if (first)
		note_readers(check, first);
}

enum { NAME_SHOWN = 40 };

/* The tensor's name, or what the program writes for it. */
static const char *name_of(const Differences *check, NodeId id)
{
	const Node *node = graph_node(check->graph, id);
	const char *text = node->name ? node->name
				      : source_text(check->task->diags->sources,
						    check->task->arena, node->span);
	bool plain = *text && strlen(text) < NAME_SHOWN && !strchr(text, '\n');
	return plain ? text : arena_printf(check->task->arena, "a %s", node_kind_name(node));
}

static const char *what_is(const GradientMade *of)
{
	return of->forward ? "tangent" : of->gives ? "gradient by the rule" : "gradient";
}

/* Was it said of the rule, in another application, or of what is the same? */
static bool is_said(const Differences *check, const GradientMade *of)
{
	const GradientMade *all = check->graph->gradients.at;
	bool said = check->said[of - all];
	for (size_t i = 0; i < check->graph->gradients.n && of->gives; i++)
		said |= check->said[i] && all[i].gives && all[i].span.file == of->span.file &&
			all[i].span.start == of->span.start;
	return said;
}

/* Is it what it is for a written rule, which is another derivative, perhaps? */
static bool is_by_wrong_rule(const Differences *check, const GradientMade *of)
{
	bool wrong = of->ruled_unseen;
	for (size_t i = 0; i < check->graph->gradients.n && of->ruled; i++)
		wrong |= check->graph->gradients.at[i].gives && check->said[i];
	return wrong;
}

static void report_rule(const Differences *check, const GradientMade *of, const Found *found)
{
	diag(check->task->diags, W0206, of->span,
	     of->gives ? "the rule is not the derivative: element %lld of what it gives %s is %.9Lg, and differences are %.9Lg"
		       : "this goes by written rules that are not looked at alone: element %lld of it with respect to %s is %.9Lg, and differences are %.9Lg",
	     (long long)found->element, name_of(check, of->x), found->slopes.by_gradient,
	     found->slopes.of);
	diag_note(check->task->diags, graph_node(check->graph, of->y)->span,
		  of->gives ? "differences are of this" : "what it is taken of");
}

static void report_wrong(const Differences *check, const GradientMade *of, const Found *found)
{
	diag(check->task->diags, E0527, of->span,
	     "element %lld of this %s with respect to %s is %.9Lg, and differences are %.9Lg",
	     (long long)found->element, what_is(of), name_of(check, of->x),
	     found->slopes.by_gradient, found->slopes.of);
	blame(check, of);
}

static void report(const Differences *check, const GradientMade *of, const Found *found)
{
	FILE *out = check->task->report;
	bool by_rule = !of->gives && is_by_wrong_rule(check, of);
	fprintf(out, "%s: %s of %s with respect to %s: %s, %lld directions", check->head,
		what_is(of), name_of(check, of->y), name_of(check, of->x),
		found->verdict == WRONG && by_rule ? "differs as rules on its way do"
		: found->verdict == WRONG	  ? "DIFFERS"
		: found->looked == found->unknown ? "nothing is compared"
						  : "agrees",
		(long long)found->looked);
	if (found->unknown)
		fprintf(out, ", %lld of them at kinks or beyond functions",
			(long long)found->unknown);
	fputc('\n', out);
	if (found->verdict != WRONG || is_said(check, of))
		return;
	if (of->gives || (by_rule && of->ruled_unseen))
		report_rule(check, of, found);
	else if (!by_rule)
		report_wrong(check, of, found);
	check->said[of - check->graph->gradients.at] = true;
}

/* ---- gradients of a routine ---- */

static bool is_of(const Differences *check, const GradientMade *of)
{
	const Routine *r = &check->graph->routines.at[check->call->index];
	bool is = false;
	for (uint32_t i = 0; i < r->norder && of->span.end; i++)
		is |= r->order[i] == of->gradient;
	for (const GradientMade *other = check->graph->gradients.at; is && other < of; other++)
		is = !other->span.end || !slope_like(other, of) || moves_at(other) != moves_at(of);
	return is;
}

/* Everything up to this gradient, and all that were made with it. */
static RefResult *run_base(const Differences *check, const GradientMade *of)
{
	const Graph *graph = check->graph;
	RefPart part = check->part;
	NodeId *wanted = ARENA_ARRAY(check->task->arena, NodeId, 2 * (graph->gradients.n + of->others) + 3);
	for (size_t i = 0; i < graph->gradients.n; i++)
		if (slope_like(&graph->gradients.at[i], of)) {
			wanted[part.nwanted++] = graph->gradients.at[i].gradient;
			wanted[part.nwanted++] = moves_at(&graph->gradients.at[i]);
		}
	wanted[part.nwanted++] = of->forward ? of->x : of->y;
	for (uint32_t i = 0; i <= of->others; i++) {
		if (i > 0)
			wanted[part.nwanted++] = of[i].y;
		if (of[i].c != NODE_NONE)
			wanted[part.nwanted++] = of[i].c;
	}
	part.given = check->given;
	part.last = of->y;
	part.wanted = wanted;
	return reference_part(&check->ref, &part);
}

static void check_one(Differences *check, const GradientMade *of)
{
	RefResult *base = run_base(check, of);
	check->base = base;
	if (base->outcome == REF_DONE) {
		Found found = slope_look_at(check, of);
		report(check, of, &found);
	} else {
		fprintf(check->task->report, "%s: gradient with respect to %s: left out, %s\n",
			check->head, name_of(check, of->x),
			base->outcome == REF_TOO_MUCH
				? "it takes too many steps"
				: "a guard does not hold, or an index is outside");
	}
	reference_free(base);
}

/* ---- a gradient and a tangent ---- */

static RefResult *run_both(const Differences *check, const GradientMade *gradient,
			   const GradientMade *tangent)
{
	NodeId wanted[4] = {gradient->gradient, tangent->gradient, tangent->c, gradient->c};
	RefPart part = check->part;
	part.given = check->given;
	part.last = gradient->y;
	part.wanted = wanted;
	part.nwanted = gradient->c == NODE_NONE ? 3 : 4;
	return reference_part(&check->ref, &part);
}

/* Each is the other's transpose, whatever they are: also at kinks, where differences say nothing. */
static void check_both(Differences *check, const GradientMade *gradient, const GradientMade *tangent)
{
	RefResult *base = run_both(check, gradient, tangent);
	Slopes sums;
	check->base = base;
	Verdict verdict = base->outcome == REF_DONE
				  ? slope_transposed(check, gradient, tangent, &sums)
				  : UNKNOWN;
	reference_free(base);
	if (verdict == UNKNOWN)
		return;
	fprintf(check->task->report, "%s: gradient and tangent of %s with respect to %s: %s\n",
		check->head, name_of(check, gradient->y), name_of(check, gradient->x),
		verdict == AGREES ? "agree with each other" : "DIFFER");
	bool *said = &check->said[tangent - check->graph->gradients.at];
	if (verdict == AGREES || *said)
		return;
	*said = true;
	diag(check->task->diags, E0527, tangent->span,
	     "in its direction this tangent with respect to %s comes to %.9Lg, and the gradient to %.9Lg",
	     name_of(check, gradient->x), sums.of, sums.by_gradient);
	diag_note(check->task->diags, gradient->span, "the gradient");
}

static void check_pairs(Differences *check)
{
	const GradientMade *all = check->graph->gradients.at;
	for (size_t i = 0; i < check->graph->gradients.n; i++)
		for (size_t k = 0; k < check->graph->gradients.n && all[i].forward; k++)
			if (!all[k].forward && !all[k].gives && all[k].y == all[i].y &&
			    all[k].x == all[i].x && is_of(check, &all[i]) && is_of(check, &all[k]))
				check_both(check, &all[k], &all[i]);
}

typedef struct GradientDraw {
	VerifyDims dims;
	bool positive;
	int64_t limit; /* integers are below: of the least most are indices inside */
} GradientDraw;

/* Gradients of all routines. */
typedef struct Calls {
	const GradientTask *task;
	const Program *program;
	const Graph *wide;
	const uint32_t *places; /* of its parameters */
	bool *said;
} Calls;

static void check_call(const Calls *calls, VerifyCall *call, bool positive)
{
	const GradientTask *task = calls->task;
	Differences check = {.task = task,
			     .graph = calls->wide,
			     .wide = *task->inference,
			     .call = call,
			     .said = calls->said};
	check.wide.graph = calls->wide;
	/* what a gradient is taken of may need dims that the routine, which has no use for it, does not take */
	DimId *all = ARENA_ARRAY(task->arena, DimId, sizes_ndims(check.wide.sizes) + 1);
	uint32_t nall = 0;
	for (DimId d = 0; d < sizes_ndims(check.wide.sizes); d++)
		if (sizes_dim(check.wide.sizes, d)->kind != DIM_STEP)
			all[nall++] = d;
	check.head = arena_printf(task->arena, "%s(%s)", call->routine->name,
				  verify_call_dims(task->arena, call));
	check.ref = (RefCall){.inference = &check.wide,
			      .dims = call->dims,
			      .routine_dims = all,
			      .nroutine_dims = nall,
			      .scalars = call->scalars,
			      .most_elements = MOST_ELEMENTS};
	check.part = (RefPart){.routine = call->index, .most_steps = GRADIENT_STEPS};
	give_all(&check, calls->places, positive);
	for (int rules = 1; rules >= 0; rules--)
		for (size_t i = 0; i < check.graph->gradients.n; i++)
			if (check.graph->gradients.at[i].gives == rules &&
			    is_of(&check, &check.graph->gradients.at[i]))
				check_one(&check, &check.graph->gradients.at[i]);
	check_pairs(&check);
	free_given(&check);
}

static void check_routine(const Calls *calls, uint32_t routine)
{
	static const GradientDraw draws[] = {{VERIFY_SMALL, false, VERIFY_INTEGERS},
					     {VERIFY_SMALL, true, 2},
					     {VERIFY_ZERO, true, 2},
					     {VERIFY_ONE, true, 2}};
	const GradientTask *task = calls->task;
	bool has_dims = program_routine(calls->program, routine)->ndims > 0;
	for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
		const char *why;
		VerifyDraw draw = {.dims = draws[i].dims,
				   .seed = task->seed + i,
				   .most_bytes = MOST_BYTES,
				   .nguards = calls->program->nguards};
		VerifyCall *call = has_dims || draws[i].dims == VERIFY_SMALL
					   ? verify_call_new(calls->program, routine, &draw, &why)
					   : NULL;
		if (call && verify_call_set_up(call)) {
			verify_call_fill(call, draws[i].limit);
			check_call(calls, call, draws[i].positive);
		}
		verify_call_free(call);
	}
}

void verify_gradients(const GradientTask *task, const Program *program)
{
	const Graph *graph = task->inference->graph;
	Calls calls = {.task = task,
		       .program = program,
		       .wide = widened(task->inference, task->arena),
		       .places = verify_param_places(program, task->inference, task->arena),
		       .said = ARENA_ARRAY(task->arena, bool, graph->gradients.n + 1)};
	for (uint32_t r = 0; graph->gradients.n && r < program->routines.n; r++)
		check_routine(&calls, r);
}
