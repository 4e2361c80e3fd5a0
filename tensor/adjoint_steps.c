/* Gradients through loops: the steps from the last to the first.
 *
 *   forward		h = h0	for i up:    h_at[i] = h, all[i], h = E(h, i, w)
 *   backward		dh = what is given behind the loop
 *			for i down:  h = h_at[i], E's nodes again; their adjoints from dh and all's;  dh = h's adjoint
 *   behind it		h0's adjoint is dh; w's is what the steps add up to (adjoint_give.c)
 *
 * What h_at is stored by is in adjoint_values.c. A loop in a loop is gone through within each step, after it has run again.
 */
#include <string.h>

#include "tensor/adjoint_loops.h"
#include "tensor/adjoint_rules.h"

static Arena *scratch_of(const Adjoint *a) { return a->g->program->scratch; }

static const Graph *old_graph(const Adjoint *a) { return a->g->program->graph; }

/* ---- what is carried ---- */

/* A tensor that the loop sets, and the gradient with respect to it that is carried backwards. */
typedef struct Back {
	const Carried *forward;
	NodeId given;	/* behind the loop, a new number, or NODE_NONE */
	NodeId carried; /* likewise */
} Back;

typedef struct Backs {
	VEC(Back) all;
} Backs;

/* Does it change by what steps add alone, whatever it is? */
static bool only_adds(const Adjoint *a, const Carried *carried)
{
	return tensor_node(a->g->program, carried->step)->acc == OP_ADD;
}

/* The adjoint behind the loop, which is that of what the last step leaves: carried, unless it is the same in each step. */
static void open_carried(Adjoint *a, Back *back, uint32_t parent)
{
	NodeId tensor = back->forward->tensor, step = back->forward->step;
	NodeId given = back->given = a->of[tensor];
	Dtype dtype = dtype_wide(tensor_node(a->g->program, tensor)->dtype);
	back->carried = NODE_NONE;
	if (back->forward->whole || only_adds(a, back->forward)) {
		a->of[step] = given;
		return;
	}
	a->of[tensor] = NODE_NONE;
	if (!a->path[step] && (back->forward->first == NODE_NONE || !a->path[back->forward->first]))
		return;
	adjoint_read(a, step);
	given = adjoint_or_zero(a, given, dtype);
	back->carried = loop_tensor(a->g, dtype, tensor_shape(a->g->program, tensor), a->node->span,
				    parent, false);
	loop_set_first(a->g, back->carried, adjoint_assign(a, back->carried, given));
	a->of[step] = back->carried;
}

static Backs open_all(Adjoint *a, uint32_t loop, uint32_t parent)
{
	Backs backs = {{0}};
	const Graph *graph = old_graph(a);
	for (size_t i = 0; i < graph->carried.n; i++) {
		Back back = {.forward = &graph->carried.at[i]};
		if (graph_set_in(graph, back.forward) != loop || !a->path[back.forward->tensor])
			continue;
		open_carried(a, &back, parent);
		PUSH(scratch_of(a), backs.all, back);
	}
	return backs;
}

/* What is carried into the step before: read before any is set. */
static NodeId next_of(Adjoint *a, const Back *back)
{
	NodeId now = a->of[back->forward->tensor];
	adjoint_read(a, back->forward->step);
	return adjoint_held(a, adjoint_or_zero(a, now, adjoint_dtype(a, back->carried)));
}

static void set_carried(Adjoint *a, const Back *back, NodeId next)
{
	adjoint_read(a, back->forward->step);
	loop_set_step(a->g, back->carried, adjoint_assign(a, back->carried, next));
}

static void close_all(Adjoint *a, const Backs *backs)
{
	NodeId *next = ARENA_ARRAY(scratch_of(a), NodeId, backs->all.n + 1);
	for (size_t i = 0; i < backs->all.n; i++)
		if (backs->all.at[i].carried != NODE_NONE)
			next[i] = next_of(a, &backs->all.at[i]);
	for (size_t i = 0; i < backs->all.n; i++)
		if (backs->all.at[i].carried != NODE_NONE)
			set_carried(a, &backs->all.at[i], next[i]);
}

/* What was assigned before the loop is given what the first step leaves; the tensor behind it has what it was given. */
static void give_first(const Adjoint *a, const Backs *backs)
{
	for (size_t i = 0; i < backs->all.n; i++) {
		const Back *back = &backs->all.at[i];
		NodeId first = back->forward->first;
		if (first != NODE_NONE)
			a->of[first] = back->carried != NODE_NONE ? back->carried : back->given;
		a->of[back->forward->tensor] = back->given;
	}
}

/* What a side of `where` is made of in a step counts there alone in all steps, and so does what the loop begins with. */
static bool mark_round(Adjoint *a, uint32_t loop, const Backs *backs)
{
	const Graph *graph = old_graph(a);
	bool changed = false;
	for (size_t i = 0; i < backs->all.n; i++) {
		const Carried *carried = backs->all.at[i].forward;
		if (!a->chosen[carried->tensor])
			continue;
		changed |= adjoint_mark(a, carried->step);
		if (carried->first != NODE_NONE)
			changed |= adjoint_mark(a, carried->first);
	}
	for (NodeId id = a->ranges[loop].last + 1; id-- > a->ranges[loop].first;)
		if (graph_loop_in(graph, graph_node(graph, id)->loop, loop) && a->path[id])
			changed |= adjoint_mark_operands(a, id);
	return changed;
}

static void mark_all(Adjoint *a, uint32_t loop, const Backs *backs)
{
	while (mark_round(a, loop, backs)) /* falls: each marks a node that was not */
		;
}

/* ---- a loop ---- */

static void walk(Adjoint *a, NodeId last, NodeId first, uint32_t around);

/* The steps that the loop made, from the last to the first. */
static uint32_t loop_back(const Adjoint *a, uint32_t loop, uint32_t parent)
{
	NodeId made = old_graph(a)->loops.at[loop].made;
	uint32_t back = loop_like(a->g, loop, parent, true);
	a->g->graph->loops.at[back].made = made != NODE_NONE ? a->value[made] : a->counts[loop];
	return back;
}

static void through_loop(Adjoint *a, uint32_t loop)
{
	uint32_t parent = adjoint_loop(a, old_graph(a)->loops.at[loop].parent);
	Steps steps = {.loop = loop, .carried = a->g->graph->carried.n};
	adjoint_runs_in(a, loop, parent);
	Backs backs = open_all(a, loop, parent);
	mark_all(a, loop, &backs);
	adjoint_enter(a, &steps, loop_back(a, loop, parent));
	adjoint_values_of_step(a);
	walk(a, a->ranges[loop].last, a->ranges[loop].first, loop);
	close_all(a, &backs);
	adjoint_leave(a, &steps, parent);
	give_first(a, &backs);
	adjoint_give_waiting(a, &steps);
}

/* ---- all of it ---- */

/* A step that sets a routine's own tensor is given what that is given behind it, and before it the tensor is given nothing,
 * unless the step only adds to it. */
static void take_from_own(Adjoint *a, NodeId id)
{
	NodeId own = node_sets_own(old_graph(a), id);
	if (own == NODE_NONE)
		return;
	a->chosen[id] |= a->chosen[own];
	NodeId given = a->of[own];
	if (given != NODE_NONE && a->node->acc == OP_SUB)
		given = adjoint_elementwise(a, OP_NEG, tensor_shape(a->g->program, own), &given, 1);
	a->of[id] = given;
	if (a->node->acc == OP_NONE || a->node->clear)
		a->of[own] = NODE_NONE;
}

static void give(Adjoint *a, NodeId id)
{
	adjoint_read(a, id);
	take_from_own(a, id);
	if (a->path[id] && a->node->kind == NODE_RULE)
		adjoint_written(a);
	else if (a->path[id] && a->proj && a->of[id] != NODE_NONE)
		adjoint_rule(a);
}

/* A node of the loop `around`, or, at the outermost, of those that it is in, or of a loop within, which is gone through once. */
static void visit(Adjoint *a, NodeId id, uint32_t around, bool *done)
{
	const Graph *graph = old_graph(a);
	uint32_t loop = graph_node(graph, id)->loop;
	bool outermost = !a->steps->loop;
	if (loop == around || (outermost && graph_loop_in(graph, around, loop))) {
		give(a, id);
		return;
	}
	if (!adjoint_concerns(graph, a->path, id) || (!outermost && !graph_loop_in(graph, loop, around)))
		return;
	uint32_t inner = adjoint_loop_of_steps(graph, loop, around);
	if (!done[inner]) {
		done[inner] = true;
		through_loop(a, inner);
	}
}

static void walk(Adjoint *a, NodeId last, NodeId first, uint32_t around)
{
	bool *done = ARENA_ARRAY(scratch_of(a), bool, old_graph(a)->loops.n + 1);
	for (NodeId id = last + 1; id-- > first;)
		visit(a, id, around, done);
}

void adjoint_walk(Adjoint *a, NodeId last)
{
	Steps none = {.loop = 0};
	uint32_t around = graph_node(old_graph(a), last)->loop;
	a->steps = &none;
	if (!a->forward)
		walk(a, last, 0, around);
	for (NodeId id = 0; a->forward && id <= last; id++)
		adjoint_tangent_at(a, id, around);
	a->steps = NULL;
}
