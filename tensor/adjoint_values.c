/* Values that the steps of a loop had, where they are gone through backwards.
 *
 *   carried	stored at the start of each step
 *   a sum	stored where it is computed
 *   others	computed again from these
 *   a loop	runs again within the step, and stores its own
 */
#include <string.h>

#include "tensor/adjoint_loops.h"

static Arena *arena_of(const Adjoint *a) { return a->g->program->arena; }

static const Graph *old_graph(const Adjoint *a) { return a->g->program->graph; }

/* ---- what is stored ---- */

bool adjoint_is_stored(const TensorProgram *program, NodeId id)
{
	const Node *node = tensor_node(program, id);
	const Proj *proj = tensor_proj(program, id);
	return node->target == NODE_NONE && proj && proj_reduces(proj);
}

/* Is it a tensor that the loop's steps read? */
static bool is_carried_by(const Graph *graph, const Carried *carried, uint32_t loop)
{
	return carried->first != NODE_NONE && graph_set_in(graph, carried) == loop;
}

void adjoint_store_carried(Rebuild *g, uint32_t loop, uint32_t now, const NodeId *value,
			   NodeId *stored)
{
	const Graph *graph = g->program->graph;
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *carried = &graph->carried.at[i];
		if (is_carried_by(graph, carried, loop))
			stored[carried->tensor] = loop_store(g, value[carried->tensor], now);
	}
}

NodeId adjoint_count_steps(Rebuild *g, uint32_t loop, uint32_t now)
{
	bool ends = g->program->graph->loops.at[loop].until != NODE_NONE;
	return ends ? loop_count_steps(g, now) : NODE_NONE;
}

/* ---- copies of nodes ---- */

/* A node with operands that are there, in a loop of the new program; it assigns to nothing yet. Its indices were checked forward,
 * but those of a written rule. */
static NodeId copy(const Adjoint *a, NodeId id, const NodeId *args, uint32_t loop)
{
	Node node = *tensor_node(a->g->program, id);
	Proj *proj = a->g->program->inference->projs[id];
	node.args = ARENA_ARRAY(arena_of(a), NodeId, node.nargs + 1);
	for (uint32_t i = 0; i < node.nargs; i++)
		node.args[i] = args[i];
	node.target = NODE_NONE;
	node.name = NULL;
	node.like = rebuild_now(a->g, node.like);
	node.packs = rebuild_now(a->g, node.packs);
	node.loop = loop;
	if (!a->ruled[id] && proj && node_kind_indexes(node.kind) && node.mode == INDEX_CHECKED) {
		node.mode = INDEX_CLAMPED;
		proj = proj_without_checks(arena_of(a), proj);
	}
	return rebuild_add(a->g, node, *tensor_shape(a->g->program, id), proj,
			   a->g->program->inference->margins[id]);
}

NodeId adjoint_copy_of(const Adjoint *a, NodeId id, NodeId (*operand)(const Adjoint *a, NodeId id))
{
	const Node *node = tensor_node(a->g->program, id);
	NodeId *args = ARENA_ARRAY(arena_of(a), NodeId, node->nargs + 1);
	for (uint32_t i = 0; i < node->nargs; i++)
		args[i] = operand(a, node->args[i]);
	return copy(a, id, args, adjoint_loop(a, node->loop));
}

/* ---- a loop again ---- */

/* The copy of a loop: new numbers of its nodes and loops, or NODE_NONE and 0. */
typedef struct Copy {
	const Adjoint *a;
	uint32_t loop;
	NodeId *nodes;
	uint32_t *loops;
	bool keeps; /* what gradients through it need */
} Copy;

/* Is the node the loop's, or does it set up or hold what the loop carries? */
static bool belongs(const Copy *c, NodeId id)
{
	const Graph *graph = old_graph(c->a);
	const Node *node = graph_node(graph, id);
	const Carried *carried =
		graph_carried(graph, node->target == NODE_NONE ? id : node->target);
	return graph_loop_in(graph, node->loop, c->loop) ||
	       (carried && graph_loop_in(graph, graph_set_in(graph, carried), c->loop));
}

static uint32_t loop_of_copy(Copy *c, uint32_t loop)
{
	const GraphLoop *old = &old_graph(c->a)->loops.at[loop];
	if (!graph_loop_in(old_graph(c->a), loop, c->loop))
		return adjoint_loop(c->a, loop);
	if (!c->loops[loop]) {
		uint32_t parent = loop_of_copy(c, old->parent); /* falls: towards the outermost */
		c->loops[loop] = loop_like(c->a->g, loop, parent, false);
	}
	return c->loops[loop];
}

static NodeId node_of_copy(const Copy *c, NodeId id)
{
	if (id == NODE_NONE)
		return id;
	return c->nodes[id] != NODE_NONE ? c->nodes[id] : c->a->value[id];
}

static void copy_node(Copy *c, NodeId id)
{
	const Adjoint *a = c->a;
	const Node *node = tensor_node(a->g->program, id);
	NodeId *args = ARENA_ARRAY(arena_of(a), NodeId, node->nargs + 1);
	for (uint32_t i = 0; i < node->nargs; i++)
		args[i] = node_of_copy(c, node->args[i]);
	NodeId now = c->nodes[id] = copy(a, id, args, loop_of_copy(c, node->loop));
	if (node->target != NODE_NONE)
		graph_node(a->g->graph, now)->target = node_of_copy(c, node->target);
	if (node->carried)
		loop_carry(a->g, now, graph_sets_whole(old_graph(a), id));
}

static void close_copy(Copy *c)
{
	const Graph *old = old_graph(c->a);
	for (size_t i = 0; i < old->carried.n; i++) {
		const Carried *carried = &old->carried.at[i];
		NodeId tensor = c->nodes[carried->tensor];
		if (tensor == NODE_NONE)
			continue;
		loop_set_first(c->a->g, tensor, node_of_copy(c, carried->first));
		loop_set_step(c->a->g, tensor, node_of_copy(c, carried->step));
	}
	for (uint32_t i = 1; i < old->loops.n; i++)
		if (c->loops[i]) {
			GraphLoop *now = &c->a->g->graph->loops.at[c->loops[i]];
			now->until = node_of_copy(c, old->loops.at[i].until);
			now->made = node_of_copy(c, old->loops.at[i].made);
		}
}

static void copy_all(Copy *c)
{
	const Adjoint *a = c->a;
	const LoopRange *range = &a->ranges[c->loop];
	bool open = false;
	for (NodeId id = range->first; id <= range->last; id++) {
		uint32_t loop = tensor_node(a->g->program, id)->loop;
		if (!belongs(c, id))
			continue;
		if (!open && c->keeps && graph_loop_in(old_graph(a), loop, c->loop)) {
			open = true;
			uint32_t now = loop_of_copy(c, c->loop);
			adjoint_store_carried(a->g, c->loop, now, c->nodes, a->stored);
			a->counts[c->loop] = adjoint_count_steps(a->g, c->loop, now);
		}
		copy_node(c, id);
		if (loop == c->loop && c->keeps && adjoint_is_stored(a->g->program, id))
			a->stored[id] = loop_store(a->g, c->nodes[id], c->loops[loop]);
	}
	close_copy(c);
}

void adjoint_copy_loop(const Adjoint *a, uint32_t loop, NodeId *nodes)
{
	uint32_t nloops = (uint32_t)old_graph(a)->loops.n;
	Copy c = {a, loop, nodes, ARENA_ARRAY(a->g->program->scratch, uint32_t, nloops + 1), false};
	copy_all(&c);
}

/* The loop once more, which stores what gradients through it need; tangents need nothing of it. */
void adjoint_run_again(const Adjoint *a, uint32_t loop)
{
	const LoopRange *range = &a->ranges[loop];
	uint32_t nloops = (uint32_t)old_graph(a)->loops.n;
	Copy c = {a, loop, a->copies, ARENA_ARRAY(a->g->program->scratch, uint32_t, nloops + 1),
		  !a->forward};
	copy_all(&c);
	for (NodeId id = range->first; id <= range->last; id++) {
		if (tensor_node(a->g->program, id)->carried && c.nodes[id] != NODE_NONE)
			a->value[id] = c.nodes[id];
		c.nodes[id] = NODE_NONE;
	}
}

/* ---- a step ---- */

static NodeId value_of(const Adjoint *a, NodeId id) { return a->value[id]; }

NodeId adjoint_copy(const Adjoint *a, NodeId id) { return adjoint_copy_of(a, id, value_of); }

void adjoint_values_of_step(const Adjoint *a)
{
	const Graph *graph = old_graph(a);
	uint32_t loop = a->steps->loop;
	for (size_t i = 0; i < graph->carried.n; i++) {
		NodeId tensor = graph->carried.at[i].tensor;
		if (is_carried_by(graph, &graph->carried.at[i], loop))
			a->value[tensor] = loop_load(a->g, a->stored[tensor], a->steps->now);
	}
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++) {
		const Node *node = graph_node(graph, id);
		if (!graph_loop_in(graph, node->loop, loop))
			continue;
		if (node->loop != loop) { /* what it reads of this loop may stand among its nodes */
			uint32_t inner = adjoint_loop_right_in(graph, node->loop, loop);
			if (id == a->ranges[inner].last)
				adjoint_run_again(a, inner);
		} else if (a->stored[id] != NODE_NONE) {
			a->value[id] = loop_load(a->g, a->stored[id], a->steps->now);
		} else if (!node->carried && node->target == NODE_NONE) {
			a->value[id] = adjoint_copy(a, id);
		}
	}
}
