/* Which nodes of a graph others need, each once. */
#include "frontend/carried.h"
#include "frontend/needed.h"

void needed_add(Needed *needed, NodeId id)
{
	if (id == NODE_NONE || needed->has[id])
		return;
	needed->has[id] = true;
	needed->open[needed->nopen++] = id;
}

/* What a step writes of the tensor before it sets it. */
static void add_writes(Needed *needed, const Carried *carried)
{
	NodeId id = carried->tensor;
	while ((id = graph_next_write(needed->graph, carried, id)) != NODE_NONE) /* rises */
		needed_add(needed, id++);
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
		add_writes(needed, &graph->carried.at[node->carried - 1]);
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
