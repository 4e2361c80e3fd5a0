/* Which nodes write what a loop carries: they have the tensor as their target, in the order of the step. */
#include "frontend/carried.h"

NodeId graph_next_write(const Graph *graph, const Carried *carried, NodeId from)
{
	for (NodeId id = from; carried->written && id < carried->step; id++)
		if (graph_node(graph, id)->target == carried->tensor && id != carried->first)
			return id;
	return NODE_NONE;
}

bool graph_writes_carried(const Graph *graph, NodeId id)
{
	const Node *node = graph_node(graph, id);
	const Carried *carried =
		node->target == NODE_NONE ? NULL : graph_carried(graph, node->target);
	bool plain = node->kind == NODE_POINTWISE && node->op == OP_ID && node->acc == OP_NONE;
	return carried && carried->first != NODE_NONE && carried->first != id &&
	       (carried->written || !plain);
}
