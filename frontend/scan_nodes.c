/* Which nodes are a loop's: those that change from step to step, as what is carried and the number of the step do. Tensors of the
 * loop itself belong to the one around it.
 */
#include "frontend/scan.h"

static const GraphLoop *loop_of(Build *b, const StepNodes *step)
{
	return &b->graph->loops.at[step->loop];
}

/* Does the size have the number of the step, or is it read off from what does? */
static bool size_counts(Build *b, const SizeExpr *size, const GraphLoop *loop)
{
	if (!size || size->kind == SX_NUMBER || size->kind == SX_FIXED)
		return false;
	if (size->kind == SX_DIM)
		return size->dim == loop->step;
	uint32_t number = (uint32_t)(loop - b->graph->loops.at);
	for (size_t i = 0; size->kind == SX_CAPTURE && i < b->graph->binds.n; i++) {
		const Bind *bind = &b->graph->binds.at[i];
		if (bind->capture == size->capture)
			return graph_loop_in(b->graph, graph_node(b->graph, bind->node)->loop,
					     number);
	}
	return size_counts(b, size->a, loop) || size_counts(b, size->b, loop);
}

static bool axis_counts(Build *b, const SpecAxis *axis, const GraphLoop *loop)
{
	bool counts = size_counts(b, axis->shift, loop);
	for (uint32_t i = 0; i < axis->nparts; i++)
		counts |= size_counts(b, axis->parts[i].extent, loop);
	return counts;
}

static bool spec_tensor_counts(Build *b, const SpecTensor *tensor, const GraphLoop *loop)
{
	bool counts = false;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < tensor->rows[kind].naxes; i++)
			counts |= axis_counts(b, &tensor->rows[kind].axes[i], loop);
	return counts;
}

/* Does `with` say the size of a letter by it? */
static bool binds_count(Build *b, const StepNodes *step, NodeId id)
{
	bool counts = false;
	for (size_t i = step->first_bind; i < b->graph->binds.n && !counts; i++)
		counts = b->graph->binds.at[i].node == id &&
			 size_counts(b, b->graph->binds.at[i].size, loop_of(b, step));
	return counts;
}

static bool node_counts(Build *b, const StepNodes *step, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	const GraphLoop *loop = loop_of(b, step);
	bool counts = size_counts(b, node->size_expr, loop);
	for (uint32_t i = 0; node->spec && i < node->spec->noperands; i++)
		counts |= spec_tensor_counts(b, &node->spec->operands[i], loop);
	return counts || (node->spec && (spec_tensor_counts(b, &node->spec->result, loop) ||
					 binds_count(b, step, id)));
}

/* Does the node change from step to step? Operands stand before it. */
static bool is_inside(Build *b, const StepNodes *step, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	bool inside = graph_loop_in(b->graph, node->loop, step->loop) || node_counts(b, step, id) ||
		      (node->target != NODE_NONE &&
		       graph_node(b->graph, node->target)->kind == NODE_ZEROS);
	for (uint32_t k = 0; k < node->nargs && !inside; k++) {
		const Node *arg = graph_node(b->graph, node->args[k]);
		inside = graph_loop_in(b->graph, arg->loop, step->loop);
		for (uint32_t i = 0; i < step->ncarried; i++)
			inside |= node->args[k] == step->carried[i];
	}
	return inside;
}

/* All that a written rule is made of runs where the rule does. */
static void enclose_rule(Build *b, const StepNodes *step, NodeId rule)
{
	for (NodeId id = graph_node(b->graph, rule)->args[0]; id <= rule; id++)
		if (!graph_loop_in(b->graph, graph_node(b->graph, id)->loop, step->loop) &&
		    graph_node(b->graph, id)->nargs > 0)
			graph_node(b->graph, id)->loop = step->loop;
}

void scan_enclose(Build *b, const StepNodes *step)
{
	for (NodeId id = step->first; id < b->graph->nodes.n; id++) {
		Node *node = graph_node(b->graph, id);
		bool own = node->kind == NODE_ZEROS;
		if (!own && is_inside(b, step, id) &&
		    !graph_loop_in(b->graph, node->loop, step->loop))
			node->loop = step->loop;
		if (node->kind == NODE_RULE && node->loop == step->loop)
			enclose_rule(b, step, id);
	}
}
