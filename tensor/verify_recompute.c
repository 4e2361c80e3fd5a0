/* A checker of what `recompute` says: that the program is the one before but for numbers of expressions, and that these
 * are whole. Nothing but the expression reads what is inside of one, and what is read by others is a sum.
 *
 * It knows nothing of costs, and asks for each field by itself.
 */
#include <string.h>

#include "tensor/passes.h"

static const char *node_refused(const Node *a, const Node *b, const Proj *proj)
{
	Node same;
	memcpy(&same, b, sizeof same);
	same.recomputes = a->recomputes;
	if (memcmp(&same, a, sizeof same) != 0)
		return "an operation is another";
	if (b->recomputes == a->recomputes)
		return NULL;
	if (a->recomputes)
		return "it was of another expression";
	if (b->kind != NODE_POINTWISE && b->kind != NODE_CAST && b->kind != NODE_SPEC)
		return "an operation may give something else the second time";
	if (!proj || b->loop || b->target != NODE_NONE || b->ruled)
		return "a loop, a step or a written rule makes it";
	return NULL;
}

/* Does the node add up, by its index maps, what is of its own expression? */
static bool is_end(const Graph *graph, const Proj *proj, NodeId id)
{
	const Node *node = &graph->nodes.at[id];
	bool own = false, reduced = false;
	for (uint32_t i = 0; i < node->nargs; i++)
		own |= graph->nodes.at[node->args[i]].recomputes == node->recomputes;
	for (IterId i = 0; i < proj->niters; i++)
		reduced |= proj->iters[i].reduced;
	return own && reduced && node->nargs == 2 && node_reduce_op(node) == OP_ADD;
}

/* What is read from outside of its expression. */
static const char *read_refused(const TensorProgram *before, const TensorProgram *after, NodeId id)
{
	const Graph *graph = after->graph;
	bool is_new = id != NODE_NONE &&
		      graph->nodes.at[id].recomputes != before->graph->nodes.at[id].recomputes;
	return is_new && !is_end(graph, after->inference->projs[id], id)
		       ? "what is inside is read by others too"
		       : NULL;
}

const char *recompute_refused(const TensorProgram *before, const TensorProgram *after)
{
	const Graph *old = before->graph, *graph = after->graph;
	const char *why = old->nodes.n == graph->nodes.n ? NULL : "it has other operations";
	for (NodeId id = 0; id < graph->nodes.n && !why; id++)
		why = node_refused(&old->nodes.at[id], &graph->nodes.at[id],
				   after->inference->projs[id]);
	for (NodeId id = 0; id < graph->nodes.n && !why; id++)
		for (uint32_t i = 0; i < graph->nodes.at[id].nargs && !why; i++)
			if (graph->nodes.at[graph->nodes.at[id].args[i]].recomputes !=
			    graph->nodes.at[id].recomputes)
				why = read_refused(before, after, graph->nodes.at[id].args[i]);
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].noutputs && !why; i++)
			why = read_refused(before, after, graph->routines.at[r].outputs[i]);
	return why;
}
