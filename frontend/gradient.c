/* Gradients in expressions. */
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/nodes.h"

/* ---- operands ---- */

/* What a gradient is taken with respect to: a tensor that has a place in the program. */
static NodeId variable(Build *b, Value value)
{
	if (value.kind != VALUE_NUMBER && value.kind != VALUE_SIZE)
		return gradient_variable(b, value);
	diag(b->diags, E0258, value.span,
	     "a gradient is taken with respect to a tensor, and this is %s",
	     value_describe(&value));
	return NODE_NONE;
}

static Value gradient_node(Build *b, const AstExpr *call, NodeId y, Value x, NodeId c)
{
	NodeId to = variable(b, x);
	if (to == NODE_NONE)
		return value_error();
	NodeId id = gradient_make(
		b, &(Gradient){NODE_GRADIENT, y, to, c, call->span, call->args[1]->span, x.span});
	return value_node(id, call->span);
}

/* One for each tensor of a tuple, or for the one. */
static Value gradients(Build *b, const AstExpr *call, NodeId y, NodeId c)
{
	Value x = eval(b, call->args[2]);
	if (x.kind == VALUE_ERROR || y == NODE_NONE)
		return value_error();
	if (x.kind != VALUE_TUPLE)
		return gradient_node(b, call, y, x, c);
	Value *items = ARENA_ARRAY(b->arena, Value, x.nitems + 1);
	for (uint32_t i = 0; i < x.nitems; i++) {
		items[i] = gradient_node(b, call, y, x.items[i], c);
		if (items[i].kind == VALUE_ERROR)
			return items[i];
	}
	return value_results(items, x.nitems, call->span);
}

static NodeId of_what(Build *b, const AstExpr *call)
{
	return gradient_operand(b, eval(b, call->args[1]));
}

Value gradient_of(Build *b, const AstExpr *call)
{
	return gradients(b, call, of_what(b, call), NODE_NONE);
}

static Value eval_at(Build *b, const AstExpr *expr)
{
	Value value = eval(b, expr);
	if (value.kind != VALUE_ERROR)
		value.span = expr->span;
	return value;
}

/* The direction, in the wide type of what it has the shape of, as it is here: a copy of a tensor that a step has written. */
static NodeId direction(Build *b, Value value, NodeId like)
{
	NodeId c = value_to_node(b, value), copied = NODE_NONE;
	if (c == NODE_NONE || like == NODE_NONE)
		return NODE_NONE;
	c = node_cast(b, c, dtype_wide(node_dtype(b, like)), value.span);
	for (NodeId id = c + 1; id < b->graph->nodes.n && copied == NODE_NONE; id++)
		if (graph_node(b->graph, id)->target == c)
			copied = gradient_copy(b, c, value.span);
	return copied == NODE_NONE ? c : copied;
}

Value gradient_product(Build *b, const AstExpr *call)
{
	NodeId y = of_what(b, call), c = direction(b, eval_at(b, call->args[3]), y);
	return c == NODE_NONE ? value_error() : gradients(b, call, y, c);
}

/* How y moves where one tensor does. */
static NodeId tangent(Build *b, const AstExpr *call, NodeId y, Value x, Value t)
{
	NodeId to = variable(b, x), c = direction(b, t, to);
	if (c == NODE_NONE)
		return c;
	return gradient_make(
		b, &(Gradient){NODE_TANGENT, y, to, c, call->span, call->args[1]->span, x.span});
}

/* Is there a direction for each tensor? */
static bool check_directions(Build *b, const Value *x, const Value *t)
{
	uint32_t n = x->kind == VALUE_TUPLE ? x->nitems : 1;
	uint32_t given = t->kind == VALUE_TUPLE ? t->nitems : 1;
	if (x->kind == VALUE_ERROR || t->kind == VALUE_ERROR)
		return false;
	if (n == given)
		return true;
	diag(b->diags, E0222, t->span, "jvp wants a direction for each tensor: %u, and here %s %u",
	     n, given == 1 ? "is" : "are", given);
	diag_note(b->diags, x->span, "the tensors");
	return false;
}

Value gradient_tangent(Build *b, const AstExpr *call)
{
	NodeId y = of_what(b, call), sum = NODE_NONE;
	Value x = eval_at(b, call->args[2]), t = eval_at(b, call->args[3]);
	if (!check_directions(b, &x, &t) || y == NODE_NONE)
		return value_error();
	for (uint32_t i = 0; i < (x.kind == VALUE_TUPLE ? x.nitems : 1); i++) {
		NodeId one = tangent(b, call, y, x.kind == VALUE_TUPLE ? x.items[i] : x,
				     t.kind == VALUE_TUPLE ? t.items[i] : t);
		if (one == NODE_NONE)
			return value_error();
		Span spans[2] = {call->span, call->span};
		sum = sum == NODE_NONE ? one
				       : node_pointwise(b, OP_ADD, (NodeId[]){sum, one}, spans, 2,
							call->span, call->span);
	}
	return value_node(sum, call->span);
}

/* Is the tensor made by an operation behind the first `before` nodes: the value of an expression that nothing else
 * reads? */
static bool is_own(const Build *b, NodeId id, size_t before)
{
	const Node *node = graph_node(b->graph, id);
	return id >= before && !node->ruled &&
	       (node->kind == NODE_SPEC || node->kind == NODE_POINTWISE);
}

Value gradient_stop(Build *b, const AstExpr *call)
{
	size_t before = b->graph->nodes.n;
	NodeId x = eval_node(b, call->args[1]);
	if (x == NODE_NONE)
		return value_error();
	node_settle(b, x, DTYPE_NONE);
	if (is_own(b, x, before)) {
		graph_node(b->graph, x)->stops = true;
		return value_node(x, call->span);
	}
	NodeId id = node_pointwise(b, OP_ID, &x, &call->args[1]->span, 1, call->span,
				   call->args[0]->span);
	if (id != NODE_NONE)
		graph_node(b->graph, id)->stops = true;
	return value_node(id, call->span);
}

Value gradient_recompute(Build *b, const AstExpr *call)
{
	uint32_t outer = b->recomputes;
	if (outer == 0)
		b->recomputes = ++b->nrecomputes;
	Value value = eval(b, call->args[1]);
	b->recomputes = outer;
	return value;
}
