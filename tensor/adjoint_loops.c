/* Loops that gradients and tangents go through: which they are, and what holds while operations are made in them. */
#include <string.h>

#include "tensor/adjoint_loops.h"

static const Graph *old_graph(const Adjoint *a) { return a->g->program->graph; }

/* ---- loops of the graph ---- */

static void extend(LoopRange *range, NodeId id)
{
	if (id == NODE_NONE)
		return;
	range->first = id < range->first ? id : range->first;
	range->last = range->last == NODE_NONE || id > range->last ? id : range->last;
}

const LoopRange *adjoint_ranges(const Graph *graph, Arena *arena)
{
	LoopRange *ranges = ARENA_ARRAY(arena, LoopRange, graph->loops.n + 1);
	memset(ranges, 0xff, (graph->loops.n + 1) * sizeof *ranges);
	for (NodeId id = 0; id < graph->nodes.n; id++)
		for (uint32_t loop = graph_node(graph, id)->loop; loop;
		     loop = graph->loops.at[loop].parent)
			extend(&ranges[loop], id);
	for (size_t i = 0; i < graph->carried.n; i++) {
		const Carried *carried = &graph->carried.at[i];
		for (uint32_t loop = graph_set_in(graph, carried); loop;
		     loop = graph->loops.at[loop].parent) {
			extend(&ranges[loop], carried->tensor);
			extend(&ranges[loop], carried->first);
		}
	}
	return ranges;
}

uint32_t adjoint_loop_right_in(const Graph *graph, uint32_t inner, uint32_t outer)
{
	while (graph->loops.at[inner].parent != outer) /* falls: outwards */
		inner = graph->loops.at[inner].parent;
	return inner;
}

uint32_t adjoint_loop_of_steps(const Graph *graph, uint32_t loop, uint32_t around)
{
	if (graph_loop_in(graph, around, loop))
		return 0;
	while (!graph_loop_in(graph, around, graph->loops.at[loop].parent)) /* falls: outwards */
		loop = graph->loops.at[loop].parent;
	return loop;
}

bool adjoint_concerns(const Graph *graph, const bool *path, NodeId id)
{
	NodeId target = graph_node(graph, id)->target;
	return path[id] || (target != NODE_NONE && path[target] && graph_node(graph, target)->carried);
}

/* ---- where operations are made ---- */

void adjoint_read(Adjoint *a, NodeId id)
{
	a->id = id;
	a->node = tensor_node(a->g->program, id);
	a->proj = tensor_proj(a->g->program, id);
}

void adjoint_runs_in(const Adjoint *a, uint32_t loop, uint32_t now)
{
	for (uint32_t i = loop; i < old_graph(a)->loops.n; i++)
		if (graph_loop_in(old_graph(a), i, loop))
			a->loop_now[i] = now;
}

/* Nodes of the loop have nothing in the table. */
static void forget(const Adjoint *a, uint32_t loop, NodeId *table)
{
	const Graph *graph = old_graph(a);
	for (NodeId id = a->ranges[loop].first; id <= a->ranges[loop].last; id++)
		if (graph_loop_in(graph, graph_node(graph, id)->loop, loop))
			table[id] = NODE_NONE;
}

static NodeId *held(const Adjoint *a, uint32_t loop, const NodeId *table)
{
	const LoopRange *range = &a->ranges[loop];
	size_t n = range->last - range->first + 1;
	NodeId *nodes = ARENA_ARRAY(a->g->program->scratch, NodeId, n);
	memcpy(nodes, table + range->first, n * sizeof *nodes);
	return nodes;
}

static void release(const Adjoint *a, uint32_t loop, const NodeId *nodes, NodeId *table)
{
	const LoopRange *range = &a->ranges[loop];
	memcpy(table + range->first, nodes, (range->last - range->first + 1) * sizeof *nodes);
}

void adjoint_enter(Adjoint *a, Steps *steps, uint32_t now)
{
	steps->outer = a->steps;
	steps->now = now;
	steps->value = held(a, steps->loop, a->value);
	steps->stored = held(a, steps->loop, a->stored);
	a->steps = steps;
	adjoint_runs_in(a, steps->loop, now);
	forget(a, steps->loop, a->value);
}

void adjoint_leave(Adjoint *a, const Steps *steps, uint32_t parent)
{
	forget(a, steps->loop, a->of);
	adjoint_runs_in(a, steps->loop, parent);
	release(a, steps->loop, steps->value, a->value);
	release(a, steps->loop, steps->stored, a->stored);
	a->steps = steps->outer;
}

/* ---- what is assigned ---- */

NodeId adjoint_assign(const Adjoint *a, NodeId tensor, NodeId value)
{
	Node node = adjoint_plain(a, NODE_POINTWISE, OP_ID, graph_node(a->g->graph, tensor)->dtype);
	node.target = tensor;
	return adjoint_over_shape(a, node, &a->g->inference->shapes[tensor], &value, 1);
}

NodeId adjoint_held(const Adjoint *a, NodeId value)
{
	const Node *node = graph_node(a->g->graph, value);
	if (node->kind != NODE_ZEROS)
		return value;
	Node copy = adjoint_plain(a, NODE_POINTWISE, OP_ID, node->dtype);
	return adjoint_over_shape(a, copy, &a->g->inference->shapes[value], &value, 1);
}
