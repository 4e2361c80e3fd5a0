/* Gradients as operations: reverse mode over the tensor program, and forward mode.
 *
 *   adjoint(y) = 1, or the direction that is given
 *   from y down, each node that has an adjoint and depends on some x gives to its operands
 *   a gradient with respect to x is x's adjoint, 0 where nothing was given
 *   tangent(x) = the direction; from x up, each node that depends on x has a tangent
 *
 * All gradients of one tensor in one direction are made together, behind both, so that they read what the
 * tensor was computed from before later steps of a routine write it. Those that gradients are taken of in turn
 * are made first, and then are operations like others.
 */
#include <string.h>

#include "tensor/adjoint.h"
#include "tensor/passes.h"

/* Gradients of y in the direction c (NODE_NONE: it is one number), and what each is taken with respect to; or tangents of y
 * where one x moves along c. */
typedef struct Group {
	NodeKind kind;
	NodeId y, c, behind;
	VEC(NodeId) of, to;
	bool *path;
	bool later; /* another gradient is on the way */
} Group;

typedef struct Groups {
	VEC(Group) all;
	uint32_t *of; /* by node: 1 + the place of its group; 0: it is no gradient */
} Groups;

/* ---- which ---- */

static NodeId direction_of(const Node *node) { return node->nargs > 2 ? node->args[2] : NODE_NONE; }

static bool is_of_group(const Group *group, const Node *node)
{
	return group->kind == node->kind && group->y == node->args[0] &&
	       group->c == direction_of(node) &&
	       (node->kind == NODE_GRADIENT || group->to.at[0] == node->args[1]);
}

static Group *group_of(Groups *groups, Arena *arena, const Node *node)
{
	NodeId c = direction_of(node);
	for (size_t i = 0; i < groups->all.n; i++)
		if (is_of_group(&groups->all.at[i], node))
			return &groups->all.at[i];
	bool after = c != NODE_NONE && c > node->args[0];
	PUSH(arena, groups->all,
	     ((Group){.kind = node->kind,
		      .y = node->args[0],
		      .c = c,
		      .behind = after ? c : node->args[0]}));
	return &groups->all.at[groups->all.n - 1];
}

static void find_paths(const TensorProgram *program, Group *group)
{
	bool *reached;
	gradient_paths(program->graph, program->scratch, group->y, group->to.at, group->to.n,
		       &reached, &group->path);
	for (NodeId id = 0; id <= group->y; id++)
		group->later |=
			group->path[id] && node_kind_differentiates(tensor_node(program, id)->kind);
}

static Groups groups_find(const TensorProgram *program)
{
	Groups groups = {
		.of = ARENA_ARRAY(program->scratch, uint32_t, program->graph->nodes.n + 1)};
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		const Node *node = tensor_node(program, id);
		if (!node_kind_differentiates(node->kind) || !node->used)
			continue;
		Group *group = group_of(&groups, program->scratch, node);
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
	if (a->of[id] == NODE_NONE)
		a->of[id] = adjoint_number(a, 0, dtype_wide(a->node->dtype)).node;
	adjoint_spread(a, id);
	return a->of[id];
}

/* All that were made on the way, in new numbers; those that were asked for as they were asked for. */
static void record(const Adjoint *a, const Group *group, const NodeId *made)
{
	const Rebuild *g = a->g;
	GradientMade one = {.y = g->now[group->y],
			    .c = rebuild_now(g, group->c),
			    .x = g->now[group->to.at[0]],
			    .forward = a->forward};
	for (NodeId id = 0; id <= group->y; id++) {
		*(a->forward ? &one.y : &one.x) = g->now[id];
		one.gradient = a->of[id];
		if (group->path[id] && one.gradient != NODE_NONE)
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

/* Operations made since `first` run in the loops of y and of the direction. */
static void enclose(const Rebuild *g, const Group *group, size_t first)
{
	uint32_t loop = tensor_node(g->program, group->y)->loop;
	uint32_t of_c = group->c == NODE_NONE ? 0 : tensor_node(g->program, group->c)->loop;
	if (!graph_loop_in(g->graph, loop, of_c))
		loop = of_c;
	for (size_t id = first; id < g->graph->nodes.n; id++)
		if (g->graph->nodes.at[id].nargs > 0)
			g->graph->nodes.at[id].loop = loop;
}

static uint32_t most_recomputes(const TensorProgram *program)
{
	uint32_t most = 0;
	for (NodeId id = 0; id < program->graph->nodes.n; id++)
		if (tensor_node(program, id)->recomputes > most)
			most = tensor_node(program, id)->recomputes;
	return most;
}

static void make_group(Rebuild *g, const Group *group, NodeId *made)
{
	Arena *scratch = g->program->scratch;
	size_t n = g->program->graph->nodes.n + 1, first = g->graph->nodes.n;
	Adjoint a = {.g = g,
		     .of = ARENA_ARRAY(scratch, NodeId, n),
		     .again = ARENA_ARRAY(scratch, NodeId, n),
		     .computed_again = ARENA_ARRAY(scratch, bool, most_recomputes(g->program) + 1),
		     .behind = group->behind,
		     .path = group->path,
		     .forward = group->kind == NODE_TANGENT,
		     .chosen = ARENA_ARRAY(scratch, bool, n)};
	memset(a.of, 0xff, n * sizeof *a.of);
	memset(a.again, 0xff, n * sizeof *a.again);
	start(&a, group);
	for (NodeId i = 0; i <= group->y; i++) {
		NodeId id = a.forward ? i : group->y - i;
		a.id = id;
		a.node = tensor_node(g->program, id);
		a.proj = tensor_proj(g->program, id);
		if (group->path[id] && a.proj && (a.of[id] == NODE_NONE) == a.forward)
			adjoint_rule(&a);
		if (a.forward && a.of[id] != NODE_NONE)
			adjoint_spread(&a, id);
	}
	for (size_t i = 0; i < group->of.n; i++)
		made[group->of.at[i]] = adjoint_of(&a, a.forward ? group->y : group->to.at[i]);
	enclose(g, group, first);
	record(&a, group, made);
}

/* ---- all of them ---- */

/* What the results and the steps of a routine need, in order; it takes the inputs and parameters that it took, also where a
 * gradient has no use for one. */
static void order_again(const Rebuild *g, Routine *routine)
{
	size_t n = g->graph->nodes.n, norder = 0;
	bool *needed = ARENA_ARRAY(g->program->scratch, bool, n + 1);
	for (uint32_t i = 0; i < routine->noutputs; i++)
		needed[routine->outputs[i]] = true;
	for (uint32_t i = 0; i < routine->norder; i++) {
		const Node *node = graph_node(g->graph, routine->order[i]);
		needed[routine->order[i]] |= node->target != NODE_NONE || node->loop ||
					     node->kind == NODE_ZEROS || node->kind == NODE_PARAM ||
					     node->kind == NODE_INPUT;
	}
	for (NodeId id = (NodeId)n; id-- > 0;) {
		const Node *node = graph_node(g->graph, id);
		for (uint32_t i = 0; needed[id] && i < node->nargs; i++)
			needed[node->args[i]] = true;
		norder += needed[id];
	}
	routine->order = ARENA_ARRAY(g->program->arena, NodeId, norder + 1);
	routine->norder = 0;
	for (NodeId id = 0; id < n; id++)
		if (needed[id])
			routine->order[routine->norder++] = id;
}

/* Those of former rounds. */
static void recorded_now(const Rebuild *g, const Graph *old)
{
	for (size_t i = 0; i < old->gradients.n; i++) {
		const GradientMade *was = &old->gradients.at[i];
		PUSH(g->program->arena, g->graph->gradients,
		     ((GradientMade){g->now[was->y], rebuild_now(g, was->c), g->now[was->x],
				     g->now[was->gradient], was->forward, was->span}));
	}
}

/* Those of which no other gradient is on the way; are there more? */
static bool make_gradients(TensorProgram *program)
{
	const Graph *old = program->graph;
	Groups groups = groups_find(program);
	NodeId *made = ARENA_ARRAY(program->scratch, NodeId, old->nodes.n + 1);
	Rebuild g = rebuild_start(program);
	bool more = false;
	for (NodeId id = 0; id < old->nodes.n; id++) {
		const Group *of = groups.of[id] ? &groups.all.at[groups.of[id] - 1] : NULL;
		Node node = rebuild_renumbered(&g, id);
		if (of && !of->later)
			g.now[id] = made[id];
		else
			rebuild_same(&g, id, &node, program->inference->projs[id]);
		for (size_t i = 0; i < groups.all.n; i++)
			if (groups.all.at[i].behind == id && !groups.all.at[i].later)
				make_group(&g, &groups.all.at[i], made);
	}
	for (size_t i = 0; i < groups.all.n; i++)
		more |= groups.all.at[i].later;
	recorded_now(&g, old);
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
	if (!has_gradients(program->graph))
		return false;
	while (make_gradients(program)) /* falls: how deep gradients are of gradients */
		memset(&program->made, 0, sizeof program->made);
	return true;
}
