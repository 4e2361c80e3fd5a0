/* What gradients compute again: operations of recompute(E) on the way of a gradient through E.
 *
 *   again(x) = the operation of x on again(its operands), for all x of E; what E reads is kept
 *
 * They stand where the gradient first reads one, so that the others can leave memory before. `common` takes none of them for
 * what it is equal to.
 */
#include "infer/infer.h"
#include "tensor/adjoint.h"

/* Does a step write what the node reads before the gradient is made? */
static bool is_written(const Adjoint *a, NodeId id)
{
	const Node *node = tensor_node(a->g->program, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		for (NodeId step = id + 1;
		     !tensor_proj(a->g->program, node->args[i]) && step < a->behind; step++)
			if (tensor_node(a->g->program, step)->target == node->args[i])
				return true;
	return false;
}

/* Not what a loop or a step makes, nor what a step would have changed: that is as it was then. */
static bool is_of(const Adjoint *a, NodeId id, uint32_t expression)
{
	const Node *node = tensor_node(a->g->program, id);
	return node->recomputes == expression && tensor_proj(a->g->program, id) && !node->loop &&
	       node->target == NODE_NONE && !is_written(a, id);
}

static void compute_again(const Adjoint *a, uint32_t expression)
{
	const TensorProgram *program = a->g->program;
	uint32_t number = (uint32_t)a->g->graph->nodes.n + 1;
	a->computed_again[expression] = true;
	for (NodeId id = 0; id <= a->id; id++) {
		if (!is_of(a, id, expression))
			continue;
		Node node = rebuild_renumbered(a->g, id);
		for (uint32_t i = 0; i < node.nargs; i++) {
			NodeId made = a->again[tensor_node(program, id)->args[i]];
			node.args[i] = made == NODE_NONE ? node.args[i] : made;
		}
		node.again = number;
		a->again[id] = rebuild_make(a->g, node, *tensor_shape(program, id),
					    program->inference->projs[id]);
		margins_add(a->g->inference, a->again[id], program->arena);
	}
}

NodeId adjoint_now(const Adjoint *a, NodeId id)
{
	const Node *node = tensor_node(a->g->program, id);
	uint32_t expression = a->node->recomputes;
	if (a->forward || !expression || node->recomputes != expression)
		return a->value[id];
	if (!a->computed_again[expression])
		compute_again(a, expression);
	return a->again[id] == NODE_NONE ? a->value[id] : a->again[id];
}
