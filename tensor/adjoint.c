/* Gradients as operations: reverse mode over the tensor program, and forward mode.
 *
 *   adjoint(y) = 1, or the direction that is given
 *   from y down, each node that has an adjoint and depends on some x gives to its operands
 *   a gradient with respect to x is x's adjoint, 0 where nothing was given
 *   tangent(x) = the direction; from x up, each node that depends on x has a tangent
 *
 * All gradients of one tensor, or equal ones, in one direction are made together, behind both, so that they read what the
 * tensor was computed from before later steps of a routine write it. Those that gradients are taken of in turn
 * are made first, and then are operations like others.
 */
#include <string.h>

#include "frontend/needed.h"
#include "tensor/adjoint_loops.h"
#include "tensor/equal.h"
#include "tensor/passes.h"

/* Gradients of y in the direction c (NODE_NONE: it is one number), and what each is taken with respect to; or tangents of y
 * where one x moves along c. */
typedef struct Group {
	NodeKind kind;
	NodeId y, c, behind;
	VEC(NodeId) of, to;
	bool *path;
	bool later; /* another gradient is on the way, or in a loop there */
} Group;

typedef struct Groups {
	VEC(Group) all;
	const NodeId *same; /* by node: the first that is equal to it (equal.h) */
	bool *several;	    /* by node: others are equal to it */
	uint32_t *of; /* by node: 1 + the place of its group; 0: it is no gradient */
} Groups;

/* ---- which ---- */

/* Of equal y in equal directions, and if it were another, where x is one tensor: where others are equal to x, equal y may depend on
 * these in place of x. */
static bool goes_with(const Groups *groups, const Group *group, const Node *node)
{
	NodeId c = node_direction(node), x = node->args[1];
	bool one = group->y == node->args[0] || !groups->several[x];
	bool same_c = group->c == c || (group->c != NODE_NONE && c != NODE_NONE &&
					groups->same[group->c] == groups->same[c]);
	return group->kind == node->kind && one && same_c &&
	       groups->same[group->y] == groups->same[node->args[0]] &&
	       (node->kind == NODE_GRADIENT || group->to.at[0] == x);
}

static Group *group_of(Groups *groups, const TensorProgram *program, const Node *node)
{
	NodeId c = node_direction(node);
	for (size_t i = 0; i < groups->all.n; i++)
		if (goes_with(groups, &groups->all.at[i], node))
			return &groups->all.at[i];
	bool after = c != NODE_NONE && c > node->args[0];
	PUSH(program->scratch, groups->all,
	     ((Group){.kind = node->kind,
		      .y = node->args[0],
		      .c = c,
		      .behind = after ? c : node->args[0]}));
	return &groups->all.at[groups->all.n - 1];
}

/* The loop of which gradients of the group go through the steps at a node; 0: none. */
static uint32_t steps_at(const Graph *graph, const Group *group, NodeId id)
{
	return adjoint_loop_of_steps(graph, graph_node(graph, id)->loop,
				     graph_node(graph, group->y)->loop);
}

static void find_paths(const TensorProgram *program, Group *group)
{
	bool *reached, *steps = ARENA_ARRAY(program->scratch, bool, program->graph->loops.n + 1);
	gradient_paths(program->graph, program->scratch, group->y, group->to.at, group->to.n,
		       &reached, &group->path);
	for (NodeId id = 0; id <= group->y; id++)
		steps[steps_at(program->graph, group, id)] |=
			adjoint_concerns(program->graph, group->path, id);
	steps[0] = false;
	NodeId rule_first = NODE_NONE; /* from here on nodes are a rule's that is gone by */
	for (NodeId id = group->y + 1; id-- > 0;) {
		const Node *node = tensor_node(program, id);
		if (node->kind == NODE_RULE && group->path[id])
			rule_first = node->args[0];
		rule_first = id == rule_first ? NODE_NONE : rule_first;
		group->later |= node_kind_differentiates(node->kind) && node->used &&
				(group->path[id] || steps[steps_at(program->graph, group, id)] ||
				 rule_first != NODE_NONE);
	}
}

static void find_equal(Groups *groups, const TensorProgram *program)
{
	size_t n = program->graph->nodes.n;
	groups->same = equal_tensors(program, true);
	groups->several = ARENA_ARRAY(program->scratch, bool, n + 1);
	for (NodeId id = 0; id < n; id++)
		if (groups->same[id] != id)
			groups->several[id] = groups->several[groups->same[id]] = true;
}

static Groups groups_find(const TensorProgram *program)
{
	Groups groups = {
		.of = ARENA_ARRAY(program->scratch, uint32_t, program->graph->nodes.n + 1)};
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		const Node *node = tensor_node(program, id);
		if (!node_kind_differentiates(node->kind) || !node->used)
			continue;
		if (!groups.same)
			find_equal(&groups, program);
		Group *group = group_of(&groups, program, node);
		groups.of[id] = (uint32_t)(group - groups.all.at) + 1;
		PUSH(program->scratch, group->of, id);
		PUSH(program->scratch, group->to, node->args[1]);
	}
	for (size_t i = 0; i < groups.all.n; i++)
		find_paths(program, &groups.all.at[i]);
	return groups;
}

/* ---- one group ---- */

static void start(Adjoint *a, const Group *group)
{
	if (a->forward) {
		a->of[group->to.at[0]] = a->g->now[group->c];
		return;
	}
	Dtype dtype = dtype_wide(tensor_node(a->g->program, group->y)->dtype);
	a->id = group->y;
	a->node = tensor_node(a->g->program, group->y);
	a->of[group->y] =
		group->c != NODE_NONE ? a->g->now[group->c] : adjoint_number(a, 1, dtype).node;
}

/* The adjoint of a node in its shape, 0 where nothing was given. */
static NodeId adjoint_of(Adjoint *a, NodeId id)
{
	a->id = id;
	a->node = tensor_node(a->g->program, id);
	a->of[id] = adjoint_or_zero(a, a->of[id], dtype_wide(a->node->dtype));
	adjoint_spread(a, id);
	return a->of[id];
}

static void mark_rules(const Graph *graph, const Group *group, GradientMade *made)
{
	for (NodeId id = 0; id <= group->y; id++) {
		bool ruled = graph_node(graph, id)->kind == NODE_RULE && group->path[id];
		made->ruled |= ruled;
		made->ruled_unseen |= ruled && !adjoint_rule_is_seen(graph, graph_node(graph, id));
	}
}

/* All that were made on the way, in new numbers; those that were asked for as they were asked for. */
static void record(const Adjoint *a, const Group *group, const NodeId *made)
{
	const Rebuild *g = a->g;
	GradientMade one = {.y = g->now[group->y],
			    .c = rebuild_now(g, group->c),
			    .x = g->now[group->to.at[0]],
			    .forward = a->forward};
	if (tensor_node(g->program, group->y)->loop)
		return; /* there is another in each step */
	mark_rules(g->program->graph, group, &one);
	for (NodeId id = 0; id <= group->y; id++) {
		const Node *node = tensor_node(g->program, id);
		bool steps = node->kind == NODE_ZEROS || node->target != NODE_NONE ||
			     steps_at(g->program->graph, group, id);
		*(a->forward ? &one.y : &one.x) = g->now[id];
		one.gradient = a->of[id];
		if (group->path[id] && one.gradient != NODE_NONE && !steps)
			PUSH(g->program->arena, g->graph->gradients, one);
	}
	for (size_t i = 0; i < group->of.n; i++) {
		const Node *of = tensor_node(g->program, group->of.at[i]);
		one.y = g->now[group->y];
		one.x = g->now[of->args[1]];
		one.gradient = made[group->of.at[i]];
		one.span = of->span;
		PUSH(g->program->arena, g->graph->gradients, one);
	}
}

/* A table of n numbers of nodes, NODE_NONE each. */
static NodeId *none_of(const Rebuild *g, size_t n)
{
	NodeId *nodes = ARENA_ARRAY(g->program->scratch, NodeId, n + 1);
	memset(nodes, 0xff, (n + 1) * sizeof *nodes);
	return nodes;
}

static NodeId *nodes_none(const Rebuild *g) { return none_of(g, g->program->graph->nodes.n); }

static uint32_t most_recomputes(const TensorProgram *program)
{
	uint32_t most = 0;
	for (NodeId id = 0; id < program->graph->nodes.n; id++)
		if (tensor_node(program, id)->recomputes > most)
			most = tensor_node(program, id)->recomputes;
	return most;
}

/* What all groups share. */
typedef struct Making {
	Rebuild *g;
	const LoopRange *ranges;
	NodeId *stored; /* by node, of the loops of which they go through the steps */
	NodeId *counts; /* by loop, likewise */
	NodeId *copies, *made;
	const bool *ruled;
	bool *steps, *open; /* by loop: do they go through its steps? has the new program come to it? */
} Making;

static Adjoint adjoint_of_group(const Making *m, const Group *group)
{
	const Graph *graph = m->g->program->graph;
	size_t n = graph->nodes.n + 1;
	Adjoint a = {.g = m->g,
		     .of = nodes_none(m->g),
		     .again = nodes_none(m->g),
		     .computed_again = ARENA_ARRAY(m->g->program->scratch, bool,
						   most_recomputes(m->g->program) + 1),
		     .behind = group->behind,
		     .path = group->path,
		     .forward = group->kind == NODE_TANGENT,
		     .chosen = ARENA_ARRAY(m->g->program->scratch, bool, n),
		     .value = ARENA_ARRAY(m->g->program->scratch, NodeId, n),
		     .stored = m->stored,
		     .counts = m->counts,
		     .copies = m->copies,
		     .ruled = m->ruled,
		     .ranges = m->ranges,
		     .loop_now = ARENA_ARRAY(m->g->program->scratch, uint32_t, graph->loops.n + 1),
		     .least = graph_node(graph, group->y)->loop};
	memcpy(a.value, m->g->now, n * sizeof *a.value);
	for (uint32_t loop = 0; loop < graph->loops.n; loop++)
		a.loop_now[loop] = loop;
	if (group->c != NODE_NONE && graph_node(graph, group->c)->loop > a.least)
		a.least = graph_node(graph, group->c)->loop;
	return a;
}

static void make_group(const Making *m, const Group *group)
{
	Adjoint a = adjoint_of_group(m, group);
	start(&a, group);
	adjoint_walk(&a, group->y);
	for (size_t i = 0; i < group->of.n; i++)
		m->made[group->of.at[i]] = adjoint_of(&a, a.forward ? group->y : group->to.at[i]);
	record(&a, group, m->made);
}

/* ---- all of them ---- */

/* Is it taken or done whatever the results are: inputs and parameters that the routine took, also where a gradient has no use for
 * one, and steps? */
static bool stays(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	const Node *tensor = node->target == NODE_NONE ? node : graph_node(graph, node->target);
	return node->kind == NODE_PARAM || node->kind == NODE_INPUT ||
	       ((node->target != NODE_NONE || node->kind == NODE_ZEROS) && !tensor->carried);
}

/* What the results and the steps of a routine need, in order. */
static void order_again(const Rebuild *g, Routine *routine)
{
	size_t n = g->graph->nodes.n;
	Needed needed = {.graph = g->graph,
			 .has = ARENA_ARRAY(g->program->scratch, bool, n + 1),
			 .open = ARENA_ARRAY(g->program->scratch, NodeId, n + 1)};
	for (uint32_t i = 0; i < routine->noutputs; i++)
		needed_add(&needed, routine->outputs[i]);
	for (uint32_t i = 0; i < routine->norder; i++)
		if (stays(g->graph, routine->order[i]))
			needed_add(&needed, routine->order[i]);
	needed_follow(&needed);
	routine->order = ARENA_ARRAY(g->program->arena, NodeId, n + 1);
	routine->norder = 0;
	for (NodeId id = 0; id < n; id++)
		if (needed.has[id])
			routine->order[routine->norder++] = id;
}

static Making making_of(Rebuild *g, const Groups *groups)
{
	const Graph *graph = g->program->graph;
	Arena *scratch = g->program->scratch;
	Making m = {.g = g,
		    .ranges = adjoint_ranges(graph, scratch),
		    .stored = nodes_none(g),
		    .counts = none_of(g, graph->loops.n),
		    .copies = nodes_none(g),
		    .ruled = adjoint_ruled(graph, scratch),
		    .made = ARENA_ARRAY(scratch, NodeId, graph->nodes.n + 1),
		    .steps = ARENA_ARRAY(scratch, bool, graph->loops.n + 1),
		    .open = ARENA_ARRAY(scratch, bool, graph->loops.n + 1)};
	for (size_t i = 0; i < groups->all.n; i++) {
		const Group *group = &groups->all.at[i];
		bool back = !group->later && group->kind == NODE_GRADIENT;
		for (NodeId id = 0; id <= group->y && back; id++)
			m.steps[steps_at(graph, group, id)] |=
				adjoint_concerns(graph, group->path, id);
	}
	return m;
}

/* Loops of which gradients go through the steps store what they carry as they begin, and count their steps. */
static void open_loops(const Making *m, NodeId id)
{
	const Graph *graph = m->g->program->graph;
	for (uint32_t loop = graph_node(graph, id)->loop; loop; loop = graph->loops.at[loop].parent) {
		if (m->steps[loop] && !m->open[loop]) {
			adjoint_store_carried(m->g, loop, loop, m->g->now, m->stored);
			m->counts[loop] = adjoint_count_steps(m->g, loop, loop);
		}
		m->open[loop] = true;
	}
}

static void take_node(const Making *m, NodeId id)
{
	const TensorProgram *program = m->g->program;
	uint32_t loop = tensor_node(program, id)->loop;
	Node node = rebuild_renumbered(m->g, id);
	open_loops(m, id);
	rebuild_same(m->g, id, &node, program->inference->projs[id]);
	if (m->steps[loop] && loop && adjoint_is_stored(program, id))
		m->stored[id] = loop_store(m->g, m->g->now[id], loop);
}

/* Those of which no other gradient is on the way; are there more? */
static bool make_gradients(TensorProgram *program)
{
	const Graph *old = program->graph;
	Groups groups = groups_find(program);
	Rebuild g = rebuild_start(program);
	Making m = making_of(&g, &groups);
	bool more = false;
	for (NodeId id = 0; id < old->nodes.n; id++) {
		const Group *of = groups.of[id] ? &groups.all.at[groups.of[id] - 1] : NULL;
		if (of && !of->later)
			g.now[id] = m.made[id];
		else
			take_node(&m, id);
		for (size_t i = 0; i < groups.all.n; i++)
			if (groups.all.at[i].behind == id && !groups.all.at[i].later)
				make_group(&m, &groups.all.at[i]);
	}
	for (size_t i = 0; i < groups.all.n; i++)
		more |= groups.all.at[i].later;
	rebuild_gradients(&g, old);
	rebuild_end(&g);
	for (size_t i = 0; i < g.graph->routines.n; i++)
		order_again(&g, &g.graph->routines.at[i]);
	return more;
}

static bool has_gradients(const Graph *graph)
{
	for (NodeId id = 0; id < graph->nodes.n; id++)
		if (node_kind_differentiates(graph->nodes.at[id].kind) && graph->nodes.at[id].used)
			return true;
	return false;
}

bool adjoint_gradients(TensorProgram *program)
{
	bool rules = adjoint_has_rules(program->graph), gradients = has_gradients(program->graph);
	if (gradients)
		functionalize_writes(program);
	while (gradients && make_gradients(program)) /* falls: how deep gradients are of gradients */
		memset(&program->made, 0, sizeof program->made);
	if (rules)
		adjoint_drop_rules(program);
	return rules || gradients;
}
