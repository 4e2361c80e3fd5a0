/* Nodes of gradients: their operands, and gradients by name behind `backward`. */
#include "frontend/anew.h"
#include "frontend/gradient.h"
#include "frontend/nodes.h"
#include "frontend/training.h"

/* The operand as a tensor of floats; NODE_NONE after an error. */
static NodeId float_node(Build *b, Value value, const char *what)
{
	NodeId id = value_to_node(b, value);
	if (id == NODE_NONE)
		return id;
	node_settle(b, id, DTYPE_NONE);
	Dtype dtype = node_dtype(b, id);
	if (dtype_is_float(dtype))
		return id;
	diag(b->diags, E0258, value.span, "%s is %s: integers have no gradient", what,
	     dtype_name(dtype));
	return NODE_NONE;
}

/* Does the node hold what `id` held where it stands, and nothing else? */
static bool is_copy(const Build *b, const Node *node, NodeId id)
{
	return node->kind == NODE_POINTWISE && node->op == OP_ID && node->args[0] == id &&
	       node->target == NODE_NONE && node->loop == b->at.loop && !node->stops &&
	       !node->ruled && node->recomputes == b->recomputes;
}

/* Gradients of one tensor in one direction are made together (tensor/adjoint.c), so they have one copy, as long as no step writes
 * it; a routine, which may compute it anew, has its own. */
NodeId gradient_copy(Build *b, NodeId id, Span span)
{
	NodeId first = b->anew && b->anew->start > id ? b->anew->start : id + 1;
	for (NodeId at = (NodeId)b->graph->nodes.n;
	     at-- > first && graph_node(b->graph, at)->target != id;)
		if (is_copy(b, graph_node(b->graph, at), id))
			return at;
	return node_pointwise(b, OP_ID, &id, &span, 1, span, span);
}

NodeId gradient_operand(Build *b, Value value)
{
	NodeId id = value.kind == VALUE_ERROR
			    ? NODE_NONE
			    : float_node(b, value, "what a gradient is taken of");
	const Node *node = id == NODE_NONE ? NULL : graph_node(b->graph, id);
	if (!node || (node->kind != NODE_ZEROS && !node->ruled))
		return id;
	/* a tensor of a loop or a routine stands before what sets it, a function's result before the rule of it */
	return gradient_copy(b, id, value.span);
}

NodeId gradient_variable(Build *b, Value value)
{
	return float_node(b, value, "what a gradient is taken with respect to");
}

NodeId gradient_make(Build *b, const Gradient *gradient)
{
	NodeId id = node_new(b, gradient->kind, gradient->span, gradient->span);
	NodeId x = b->anew ? anew_before(b->anew, gradient->x, gradient->y) : gradient->x;
	NodeId args[3] = {gradient->y, x, gradient->c};
	Span spans[3] = {gradient->of, gradient->to, gradient->span};
	node_set_args(b, id, args, spans, gradient->c == NODE_NONE ? 2 : 3);
	NodeId like = gradient->kind == NODE_GRADIENT ? gradient->x : gradient->y;
	graph_node(b->graph, id)->dtype = dtype_wide(node_dtype(b, like));
	return id;
}

/* ---- behind `backward` ---- */

static Value report_none(Build *b, const AstExpr *expr)
{
	diag(b->diags, E0262, expr->span,
	     "no 'backward' stands before this, of which there would be a gradient");
	diag_note(
		b->diags, expr->span,
		b->routine
			? "'backward y' asks for gradients of y; grad(y, x) is one of them as an expression"
			: "outside of a routine grad(y, x) is the gradient of y with respect to x");
	return value_error();
}

Value gradient_member(Build *b, NodeId x, const AstExpr *expr)
{
	if (b->backward.n == 0)
		return report_none(b, expr);
	NodeId sum = NODE_NONE;
	for (size_t i = 0; i < b->backward.n; i++) {
		const Backward *of = &b->backward.at[i];
		if (of->y == NODE_NONE)
			return value_error();
		NodeId one =
			gradient_make(b, &(Gradient){NODE_GRADIENT, of->y, x, NODE_NONE, expr->span,
						     of->span, expr->args[0]->span});
		NodeId args[2] = {sum, one};
		Span spans[2] = {expr->span, expr->span};
		sum = sum == NODE_NONE
			      ? one
			      : node_pointwise(b, OP_ADD, args, spans, 2, expr->span, expr->span);
	}
	return value_node(sum, expr->span);
}
