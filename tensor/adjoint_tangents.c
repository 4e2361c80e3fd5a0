/* Tangents through loops: the loop once more, where each step carries on tangents beside values.
 *
 *   forward	h = h0,  for i up:  h = E(h, i)
 *   tangents	h = h0, th = h0's;  for i up:  E's nodes and their tangents, then h and th are set
 */
#include <string.h>

#include "tensor/adjoint_loops.h"
#include "tensor/adjoint_rules.h"

static const Graph *old_graph(const Adjoint *a) { return a->g->program->graph; }

/* What a loop sets: its value and its tangent in the loop that runs again, or NODE_NONE. */
typedef struct Pair {
	const Carried *forward;
	NodeId value, tangent;
} Pair;

typedef struct Pairs {
	VEC(Pair) all;
} Pairs;

static NodeId copy_first(Adjoint *a, NodeId first, NodeId tensor)
{
	NodeId id = first == NODE_NONE ? first : adjoint_copy(a, first);
	if (id != NODE_NONE)
		graph_node(a->g->graph, id)->target = tensor;
	return id;
}

/* A tangent is set before the loop to what is given, or 0. */
static NodeId first_tangent(Adjoint *a, const Pair *pair)
{
	NodeId first = pair->forward->first;
	if (first == NODE_NONE)
		return NODE_NONE;
	Dtype dtype = adjoint_dtype(a, pair->tangent);
	return adjoint_assign(a, pair->tangent, adjoint_or_zero(a, a->of[first], dtype));
}

static Pair open_pair(Adjoint *a, const Carried *forward, uint32_t parent)
{
	Rebuild *g = a->g;
	NodeId tensor = forward->tensor;
	Pair pair = {.forward = forward, .tangent = NODE_NONE};
	const Node *node = tensor_node(g->program, tensor);
	const Shape *shape = tensor_shape(g->program, tensor);
	adjoint_read(a, forward->step);
	pair.value = loop_tensor(g, node->dtype, shape, node->span, parent, forward->whole);
	loop_set_first(g, pair.value, copy_first(a, forward->first, pair.value));
	if (!a->path[tensor])
		return pair;
	pair.tangent = loop_tensor(g, dtype_wide(node->dtype), shape, node->span, parent,
				   forward->whole);
	loop_set_first(g, pair.tangent, first_tangent(a, &pair));
	a->of[tensor] = pair.tangent;
	return pair;
}

static Pairs open_all(Adjoint *a, uint32_t loop, uint32_t parent)
{
	const Graph *graph = old_graph(a);
	Pairs pairs = {{0}};
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *forward = &graph->carried.at[i];
		if (graph_set_in(graph, forward) == loop)
			PUSH(a->g->program->scratch, pairs.all, open_pair(a, forward, parent));
	}
	return pairs;
}

/* ---- the end of a step ---- */

/* The reader, an assignment in each step, of another operand into another tensor. */
static void set_in_step(Adjoint *a, NodeId tensor, NodeId operand)
{
	Node node = *a->node;
	node.target = tensor;
	node.dtype = adjoint_dtype(a, tensor);
	node.name = NULL;
	node.packs = node.like = NODE_NONE;
	loop_set_step(a->g, tensor,
		      adjoint_add_node(a, node, tensor_shape(a->g->program, a->id), (Proj *)a->proj,
				       &operand, 1));
}

/* An operand's tangent in its shape: 0 where there is none. */
static NodeId tangent_of(Adjoint *a, NodeId id, Dtype dtype)
{
	a->of[id] = adjoint_or_zero(a, a->of[id], dtype);
	adjoint_spread(a, id);
	return a->of[id];
}

/* What a pair is set to. */
static Pair next_of(Adjoint *a, const Pair *pair)
{
	NodeId operand = tensor_node(a->g->program, pair->forward->step)->args[0];
	adjoint_read(a, pair->forward->step);
	Pair next = {pair->forward, adjoint_held(a, a->value[operand]), NODE_NONE};
	if (pair->tangent != NODE_NONE)
		next.tangent = adjoint_held(
			a, tangent_of(a, operand, adjoint_dtype(a, pair->tangent)));
	return next;
}

/* Operands are read before anything is set. */
static void close_all(Adjoint *a, const Pairs *pairs)
{
	Pair *next = ARENA_ARRAY(a->g->program->scratch, Pair, pairs->all.n + 1);
	for (size_t i = 0; i < pairs->all.n; i++)
		next[i] = next_of(a, &pairs->all.at[i]);
	for (size_t i = 0; i < pairs->all.n; i++) {
		const Pair *pair = &pairs->all.at[i];
		adjoint_read(a, pair->forward->step);
		set_in_step(a, pair->value, next[i].value);
		if (pair->tangent != NODE_NONE)
			set_in_step(a, pair->tangent, next[i].tangent);
	}
}

/* ---- a loop ---- */

static bool on_path(const Adjoint *a, uint32_t loop)
{
	const Graph *graph = old_graph(a);
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++)
		if (graph_loop_in(graph, graph_node(graph, id)->loop, loop) &&
		    adjoint_concerns(graph, a->path, id))
			return true;
	return false;
}

static void through_loop(Adjoint *a, uint32_t loop)
{
	uint32_t parent = adjoint_loop(a, old_graph(a)->loops.at[loop].parent);
	Steps steps = {.loop = loop};
	adjoint_runs_in(a, loop, parent);
	Pairs pairs = open_all(a, loop, parent);
	adjoint_enter(a, &steps, loop_like(a->g, loop, parent, false));
	for (size_t i = 0; i < pairs.all.n; i++)
		a->value[pairs.all.at[i].forward->tensor] = pairs.all.at[i].value;
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++)
		adjoint_tangent_at(a, id, loop);
	close_all(a, &pairs);
	adjoint_leave(a, &steps, parent);
	for (size_t i = 0; i < pairs.all.n && a->steps->loop; i++)
		a->value[pairs.all.at[i].forward->tensor] = pairs.all.at[i].value;
}

/* Is it what a loop sets at the end of a step? */
static bool sets_in_step(const Graph *graph, NodeId id)
{
	NodeId target = graph_node(graph, id)->target;
	const Carried *carried = target == NODE_NONE ? NULL : graph_carried(graph, target);
	return carried && carried->step == id;
}

static void give(Adjoint *a, NodeId id)
{
	adjoint_read(a, id);
	if (a->path[id] && a->proj && a->of[id] == NODE_NONE)
		adjoint_rule(a);
	if (a->of[id] != NODE_NONE)
		adjoint_spread(a, id);
}

void adjoint_tangent_at(Adjoint *a, NodeId id, uint32_t around)
{
	const Graph *graph = old_graph(a);
	const Node *node = graph_node(graph, id);
	bool outermost = !a->steps->loop;
	if (node->loop == around || (outermost && graph_loop_in(graph, around, node->loop))) {
		if (!outermost && !node->carried && node->target == NODE_NONE)
			a->value[id] = adjoint_copy(a, id);
		if (!sets_in_step(graph, id))
			give(a, id);
		return;
	}
	if (!outermost && !graph_loop_in(graph, node->loop, around))
		return;
	uint32_t inner = adjoint_loop_of_steps(graph, node->loop, around);
	if (id != a->ranges[inner].last)
		return;
	if (on_path(a, inner))
		through_loop(a, inner);
	else if (!outermost)
		adjoint_run_again(a, inner);
}
