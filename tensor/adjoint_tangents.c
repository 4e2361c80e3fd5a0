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
	bool set; /* by what is made of the step so far */
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
	Pair pair = {.forward = forward, .tangent = NODE_NONE, .set = false};
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

/* What nobody reads, such as the number of steps, has no index map. */
static Pairs open_all(Adjoint *a, uint32_t loop, uint32_t parent)
{
	const Graph *graph = old_graph(a);
	Pairs pairs = {{0}};
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *forward = &graph->carried.at[i];
		if (graph_set_in(graph, forward) == loop &&
		    graph_node(graph, forward->tensor)->used)
			PUSH(a->g->program->scratch, pairs.all, open_pair(a, forward, parent));
	}
	return pairs;
}

/* ---- the end of a step ---- */

/* The reader, an assignment in each step, of other operands into another tensor. */
static void set_in_step(Adjoint *a, NodeId tensor, const NodeId *operands)
{
	Node node = *a->node;
	node.target = tensor;
	node.dtype = adjoint_dtype(a, tensor);
	node.name = NULL;
	node.packs = node.like = NODE_NONE;
	loop_set_step(a->g, tensor,
		      adjoint_add_node(a, node, tensor_shape(a->g->program, a->id), (Proj *)a->proj,
				       operands, node.nargs));
}

/* The reader's tangent, which it adds to another tensor. Requires: it adds what it makes. */
static void add_in_step(Adjoint *a, NodeId tensor, NodeId tangent)
{
	NodeId step = adjoint_assign(a, tensor, tangent);
	REQUIRE(a->node->acc == OP_ADD);
	graph_node(a->g->graph, step)->acc = OP_ADD;
	loop_set_step(a->g, tensor, step);
}

/* An operand's tangent in its shape: 0 where there is none. */
static NodeId tangent_of(Adjoint *a, NodeId id, Dtype dtype)
{
	a->of[id] = adjoint_or_zero(a, a->of[id], dtype);
	adjoint_spread(a, id);
	return a->of[id];
}

/* What a pair is set to: by the operation of the step, of values; by the same of a tangent, or, of several operands, to what
 * comes of their tangents. */
typedef struct Next {
	NodeId values[OPERANDS_MOST], tangent;
	bool is;
} Next;

static Next next_of(Adjoint *a, const Pair *pair)
{
	NodeId id = pair->forward->step;
	Next next = {.tangent = NODE_NONE, .is = true};
	adjoint_read(a, id);
	for (uint32_t i = 0; i < a->node->nargs; i++)
		next.values[i] = adjoint_held(a, a->value[a->node->args[i]]);
	if (pair->tangent == NODE_NONE)
		return next;
	if (a->node->nargs > 1 && a->path[id])
		adjoint_rule(a);
	NodeId of = a->node->nargs > 1 ? id : a->node->args[0];
	next.tangent = adjoint_held(a, tangent_of(a, of, adjoint_dtype(a, pair->tangent)));
	return next;
}

static void set_pair(Adjoint *a, Pair *pair, const Next *next)
{
	pair->set = true;
	adjoint_read(a, pair->forward->step);
	set_in_step(a, pair->value, next->values);
	if (pair->tangent == NODE_NONE)
		return;
	if (a->node->nargs > 1)
		add_in_step(a, pair->tangent, next->tangent);
	else
		set_in_step(a, pair->tangent, &next->tangent);
}

/* Are all that it is set to in front of the node? */
static bool is_set_before(const Adjoint *a, const Pair *pair, NodeId before)
{
	const Node *step = tensor_node(a->g->program, pair->forward->step);
	bool all = true;
	for (uint32_t i = 0; i < step->nargs; i++)
		all &= step->args[i] < before;
	return all;
}

/* What is set to operands in front of a node; these are read before anything is. */
static void close_before(Adjoint *a, Pairs *pairs, NodeId before)
{
	Next *next = ARENA_ARRAY(a->g->program->scratch, Next, pairs->all.n + 1);
	for (size_t i = 0; i < pairs->all.n; i++)
		if (!pairs->all.at[i].set && is_set_before(a, &pairs->all.at[i], before))
			next[i] = next_of(a, &pairs->all.at[i]);
	for (size_t i = 0; i < pairs->all.n; i++)
		if (next[i].is)
			set_pair(a, &pairs->all.at[i], &next[i]);
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

/* Is it what a loop sets in a step? */
static bool sets_in_step(const Graph *graph, NodeId id)
{
	NodeId target = graph_node(graph, id)->target;
	const Carried *carried = target == NODE_NONE ? NULL : graph_carried(graph, target);
	return carried && carried->step == id;
}

/* Do nodes behind it, which decide whether the loop ends, read what it sets? */
static bool sets_what_steps_read(const Adjoint *a, NodeId id, uint32_t loop)
{
	const Node *node = graph_node(old_graph(a), id);
	return node->loop == loop && sets_in_step(old_graph(a), id) &&
	       graph_carried(old_graph(a), node->target)->first != NODE_NONE;
}

static void set_values(const Adjoint *a, const Pairs *pairs)
{
	for (size_t i = 0; i < pairs->all.n; i++)
		a->value[pairs->all.at[i].forward->tensor] = pairs->all.at[i].value;
}

/* As many steps as the loop makes, or until what ends it does once more. */
static void enter_again(Adjoint *a, Steps *steps, const Pairs *pairs, uint32_t parent)
{
	const GraphLoop *loop = &old_graph(a)->loops.at[steps->loop];
	uint32_t now = loop_like(a->g, steps->loop, parent, false);
	if (loop->made != NODE_NONE)
		a->g->graph->loops.at[now].made = a->value[loop->made];
	adjoint_enter(a, steps, now);
	set_values(a, pairs);
	if (loop->until != NODE_NONE)
		a->g->graph->loops.at[now].until = a->value[loop->until];
}

static void through_loop(Adjoint *a, uint32_t loop)
{
	uint32_t parent = adjoint_loop(a, old_graph(a)->loops.at[loop].parent);
	Steps steps = {.loop = loop};
	adjoint_runs_in(a, loop, parent);
	Pairs pairs = open_all(a, loop, parent);
	enter_again(a, &steps, &pairs, parent);
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++) {
		if (sets_what_steps_read(a, id, loop))
			close_before(a, &pairs, id);
		adjoint_tangent_at(a, id, loop);
	}
	close_before(a, &pairs, a->ranges[loop].last);
	adjoint_leave(a, &steps, parent);
	if (a->steps->loop)
		set_values(a, &pairs);
}

/* A step that sets a routine's own tensor, or adds to it, has the tangent that is to be set or added. */
static void give_own(Adjoint *a, NodeId id)
{
	NodeId own = node_sets_own(old_graph(a), id), given = a->of[id];
	if (own == NODE_NONE || !a->path[own])
		return;
	const Shape *shape = tensor_shape(a->g->program, own);
	bool sets = a->node->acc == OP_NONE || a->node->clear;
	if (given != NODE_NONE && a->node->acc == OP_SUB)
		given = adjoint_elementwise(a, OP_NEG, shape, &given, 1);
	if (!sets && given != NODE_NONE && a->of[own] != NODE_NONE)
		given = adjoint_elementwise(a, OP_ADD, shape, (NodeId[]){a->of[own], given}, 2);
	if (sets || given != NODE_NONE)
		a->of[own] = adjoint_or_zero(a, given, dtype_wide(a->node->dtype));
}

static void give(Adjoint *a, NodeId id)
{
	adjoint_read(a, id);
	if (a->path[id] && a->proj && a->of[id] == NODE_NONE)
		adjoint_rule(a);
	if (a->of[id] != NODE_NONE)
		adjoint_spread(a, id);
	give_own(a, id);
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
