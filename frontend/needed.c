/* Which nodes of a graph others need, each once. */
#include "frontend/needed.h"

void needed_add(Needed *needed, NodeId id)
{
	if (id == NODE_NONE || needed->has[id])
		return;
	needed->has[id] = true;
	needed->open[needed->nopen++] = id;
}

static void add_all_of(Needed *needed, NodeId id)
{
	const Graph *graph = needed->graph;
	const Node *node = graph_node(graph, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		needed_add(needed, node->args[i]);
	needed_add(needed, node->target);
	if (node->carried) {
		needed_add(needed, graph->carried.at[node->carried - 1].first);
		needed_add(needed, graph->carried.at[node->carried - 1].step);
	}
	for (uint32_t loop = node->loop; loop; loop = graph->loops.at[loop].parent) {
		needed_add(needed, graph->loops.at[loop].until);
		needed_add(needed, graph->loops.at[loop].made);
	}
}

void needed_follow(Needed *needed)
{
	while (needed->nopen > 0) /* falls: nodes that are not needed yet */
		add_all_of(needed, needed->open[--needed->nopen]);
}
