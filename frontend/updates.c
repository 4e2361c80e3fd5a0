/* `E with update { steps }`: which steps belong to which tensors, and the names that they see. */
#include "frontend/nodes.h"
#include "frontend/updates.h"

/* A tensor that is no other value's; what stood there before E was evaluated is copied. */
static NodeId own_node(Build *b, NodeId id, NodeId first, Span span)
{
	bool own = id >= first || graph_node(b->graph, id)->dtype == DTYPE_NONE;
	return own ? id : node_pointwise(b, OP_ID, &id, &span, 1, span, span);
}

static Value own_value(Build *b, Value value, NodeId first, NodeIds *nodes)
{
	if (value.kind == VALUE_TENSOR) {
		value.node = own_node(b, value.node, first, value.span);
		PUSH(b->arena, *nodes, value.node);
	}
	if (value.kind == VALUE_TUPLE) {
		Value *items = ARENA_ARRAY(b->arena, Value, value.nitems + 1);
		for (uint32_t i = 0; i < value.nitems; i++)
			items[i] = own_value(b, value.items[i], first, nodes);
		value.items = items;
	}
	return value;
}

Value update_note(Build *b, const AstExpr *expr, Value value, NodeId first)
{
	Update *update = ARENA_NEW(b->arena, Update);
	*update = (Update){.expr = expr, .at = b->at};
	value = own_value(b, value, first, &update->of);
	if (b->at.loop || update->of.n == 0) {
		diag(b->diags, E0268, expr->op_span,
		     b->at.loop ? "what a step of 'scan' computes cannot have an update: only the loop's "
				  "results are there when the routine carries it out"
				: "only a tensor that is computed has an update, and this is %s",
		     value_describe(&value));
		return value_error();
	}
	PUSH(b->arena, b->updates, update);
	return value;
}
