/* Programs of which the nodes get new numbers, as passes insert others between them. */
#include "tensor/rebuild.h"

#include <string.h>

/* ---- nodes ---- */

/* A table with room for `to` elements of that size, the first `n` as they were. */
static void *grown(Arena *arena, const void *from, size_t n, size_t to, size_t size)
{
	void *table = arena_alloc_n(arena, to, size);
	if (n)
		memcpy(table, from, n * size);
	return table;
}

static void make_room(Rebuild *g)
{
	Arena *arena = g->program->arena;
	Inference *inference = g->inference;
	size_t n = g->graph->nodes.n, to = 2 * n + 64;
	if (n < g->room)
		return;
	inference->shapes = grown(arena, inference->shapes, n, to, sizeof *inference->shapes);
	inference->projs = grown(arena, inference->projs, n, to, sizeof *inference->projs);
	inference->margins = grown(arena, inference->margins, n, to, sizeof *inference->margins);
	g->room = to;
}

Node rebuild_plain(NodeKind kind, Op op, Dtype dtype, Span span)
{
	return (Node){.kind = kind,
		      .op = op,
		      .reduce = OP_NONE,
		      .dtype = dtype,
		      .span = span,
		      .op_span = span,
		      .like = NODE_NONE,
		      .packs = NODE_NONE,
		      .target = NODE_NONE,
		      .acc = OP_NONE,
		      .used = true};
}

NodeId rebuild_add(Rebuild *g, Node node, Shape shape, Proj *proj, Margins *margins)
{
	make_room(g);
	NodeId id = (NodeId)g->graph->nodes.n;
	PUSH(g->program->arena, g->graph->nodes, node);
	g->inference->shapes[id] = shape;
	g->inference->projs[id] = proj;
	g->inference->margins[id] = margins;
	return id;
}

NodeId rebuild_make(Rebuild *g, Node node, Shape shape, Proj *proj)
{
	NodeId id = rebuild_add(g, node, shape, proj, NULL);
	PUSH(g->program->arena, g->program->made, id);
	return id;
}

NodeId rebuild_now(const Rebuild *g, NodeId old)
{
	return old == NODE_NONE ? old : g->now[old];
}

static NodeId *all_now(const Rebuild *g, const NodeId *old, uint32_t n)
{
	NodeId *ids = ARENA_ARRAY(g->program->arena, NodeId, n + 1);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = rebuild_now(g, old[i]);
	return ids;
}

Node rebuild_renumbered(const Rebuild *g, NodeId id)
{
	const Node *old = tensor_node(g->program, id);
	Node node = *old;
	node.args = all_now(g, old->args, old->nargs);
	node.target = rebuild_now(g, old->target);
	node.like = rebuild_now(g, old->like);
	node.packs = rebuild_now(g, old->packs);
	return node;
}

void rebuild_same(Rebuild *g, NodeId id, const Node *node, Proj *proj)
{
	const Inference *inference = g->program->inference;
	g->now[id] = rebuild_add(g, *node, inference->shapes[id], proj, inference->margins[id]);
}

/* ---- the graph ---- */

/* Loops and what they carry, in old numbers; those that are added behind have new ones. */
static void copy_loops(Rebuild *g)
{
	const Graph *old = g->program->graph;
	Arena *arena = g->program->arena;
	memset(&g->graph->loops, 0, sizeof g->graph->loops);
	memset(&g->graph->carried, 0, sizeof g->graph->carried);
	for (size_t i = 0; i < old->loops.n; i++)
		PUSH(arena, g->graph->loops, old->loops.at[i]);
	for (size_t i = 0; i < old->carried.n; i++)
		PUSH(arena, g->graph->carried, old->carried.at[i]);
}

static void loops_now(Rebuild *g, const Graph *old)
{
	for (size_t i = 0; i < old->loops.n; i++) {
		g->graph->loops.at[i].until = rebuild_now(g, old->loops.at[i].until);
		g->graph->loops.at[i].made = rebuild_now(g, old->loops.at[i].made);
	}
	for (size_t i = 0; i < old->carried.n; i++) {
		Carried *carried = &g->graph->carried.at[i];
		carried->tensor = rebuild_now(g, carried->tensor);
		carried->first = rebuild_now(g, carried->first);
		carried->step = rebuild_now(g, carried->step);
	}
}

static Routine routine_now(const Rebuild *g, const Routine *old)
{
	Routine routine = *old;
	routine.inputs = all_now(g, old->inputs, old->ninputs);
	routine.params = all_now(g, old->params, old->nparams);
	routine.outputs = all_now(g, old->outputs, old->noutputs);
	routine.order = all_now(g, old->order, old->norder);
	return routine;
}

static void mark_initial(Rebuild *g, const Graph *graph)
{
	for (uint32_t i = graph->init.norder; i-- > 0;) {
		NodeId id = graph->init.order[i];
		const Node *node = &graph->nodes.at[id];
		g->initial[id] |= node->elementwise;
		for (uint32_t k = 0; k < node->nargs && g->initial[id]; k++)
			g->initial[node->args[k]] = true;
	}
}

Rebuild rebuild_start(TensorProgram *program)
{
	size_t n = program->graph->nodes.n;
	Rebuild g = {.program = program,
		     .graph = ARENA_NEW(program->arena, Graph),
		     .inference = ARENA_NEW(program->arena, Inference)};
	*g.graph = *program->graph;
	*g.inference = *program->inference;
	memset(&g.graph->nodes, 0, sizeof g.graph->nodes);
	memset(&g.graph->gradients, 0, sizeof g.graph->gradients);
	g.inference->graph = g.graph;
	g.now = ARENA_ARRAY(program->scratch, NodeId, n + 1);
	g.initial = ARENA_ARRAY(program->scratch, bool, n + 1);
	copy_loops(&g);
	mark_initial(&g, program->graph);
	return g;
}

void rebuild_gradients(const Rebuild *g, const Graph *old)
{
	for (size_t i = 0; i < old->gradients.n; i++) {
		GradientMade now = old->gradients.at[i];
		now.y = g->now[now.y];
		now.c = rebuild_now(g, now.c);
		now.x = g->now[now.x];
		now.gradient = g->now[now.gradient];
		PUSH(g->program->arena, g->graph->gradients, now);
	}
}

void rebuild_end(Rebuild *g)
{
	TensorProgram *program = g->program;
	const Graph *old = program->graph;
	g->graph->routines.at = ARENA_ARRAY(program->arena, Routine, old->routines.n + 1);
	for (size_t i = 0; i < old->routines.n; i++)
		g->graph->routines.at[i] = routine_now(g, &old->routines.at[i]);
	g->graph->init = routine_now(g, &old->init);
	loops_now(g, old);
	g->graph->params.at = all_now(g, old->params.at, (uint32_t)old->params.n);
	program->graph = g->graph;
	program->inference = g->inference;
}
