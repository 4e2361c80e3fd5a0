/* Values as sizes: of a configuration, a dim, a number, whatever is passed or has a name. */
#include <inttypes.h>
#include <math.h>

#include "frontend/late_dims.h"
#include "frontend/nodes.h"
#include "frontend/passed.h"

/* A size that has a name, at the place where the name is used or was given to a function. */
static const SizeExpr *size_at(Build *b, const Value *value)
{
	const SizeExpr *size = value->size;
	if (size->kind != SX_FIXED && size->kind != SX_DIM)
		return size;
	SizeExpr used = *size;
	used.also = size->span;
	used.span = span_is_none(value->given) ? value->span : value->given;
	return size_expr_new(b, used);
}

static const SizeExpr *number_at(Build *b, const Value *value, int64_t number)
{
	SizeExpr used = {.kind = SX_NUMBER, .span = value->span, .number = number};
	if (!span_is_none(value->given)) {
		used.also = value->span;
		used.span = value->given;
	}
	return size_expr_new(b, used);
}

/* A configuration's value is told where it was given, with the place that needs a size. */
static void no_size(Build *b, const Value *value, const char *text)
{
	bool given = !span_is_none(value->given);
	diag(b->diags, E0210, given ? value->given : value->span, "%s", text);
	if (given && value->kind == VALUE_TENSOR)
		diag_note(b->diags, value->given,
			  "sizes go into a function's first parentheses, tensors into the last");
	if (given)
		diag_note(b->diags, value->span, "it is a size here");
}

/* ---- scalars of a routine ---- */

static SizeExprKind size_kind(Op op)
{
	return op == OP_ADD ? SX_ADD : op == OP_SUB ? SX_SUB : op == OP_MUL ? SX_MUL : SX_NUMBER;
}

enum { SCALAR_TERMS = 64 }; /* of a size: nodes are shared, and terms are not */

/* A number of scalars, sizes and whole numbers, added up and multiplied, as a size of so many terms at
 * most; NULL: it is something else, or longer. */
static const SizeExpr *size_of_node(Build *b, NodeId id, Span span, uint32_t *terms)
{
	const Node node = *graph_node(b->graph, id);
	if (*terms == 0)
		return NULL;
	--*terms;
	if (node.kind == NODE_SCALAR)
		return late_dim_of_scalar(b, id, span);
	if (node.kind == NODE_SIZE)
		return node.size_expr;
	if (node.kind == NODE_NUMBER && node.is_integer && node.integer >= 0)
		return size_expr_number(b, node.integer, node.span);
	if (node.kind == NODE_CAST && dtype_is_integer(node.dtype) &&
	    dtype_wide(node.dtype) == node.dtype)
		return size_of_node(b, node.args[0], node.arg_spans[0], terms);
	if (node.kind != NODE_POINTWISE || size_kind(node.op) == SX_NUMBER)
		return NULL;
	const SizeExpr *a = size_of_node(b, node.args[0], node.arg_spans[0], terms);
	const SizeExpr *c = a ? size_of_node(b, node.args[1], node.arg_spans[1], terms) : NULL;
	return c ? size_expr_new(
			   b, (SizeExpr){.kind = size_kind(node.op), .span = span, .a = a, .b = c})
		 : NULL;
}

const SizeExpr *value_of_scalars(Build *b, const Value *value)
{
	bool scalars = b->scalars && value->kind == VALUE_TENSOR && value->scales;
	uint32_t terms = SCALAR_TERMS;
	return scalars ? size_of_node(b, value->node, value->span, &terms) : NULL;
}

/* ---- values ---- */

const SizeExpr *value_to_size(Build *b, const Value *value, const char *what)
{
	int64_t integer;
	if (value->kind == VALUE_ERROR)
		return NULL;
	const SizeExpr *size = value_of_scalars(b, value);
	if (size)
		return size;
	if (value->kind == VALUE_SIZE && !value_is_known(value))
		return size_at(b, value);
	if (!value_get_integer(value, &integer)) {
		if (value->kind == VALUE_NUMBER)
			no_size(b, value,
				arena_printf(b->arena, "%s must be %s, and this is %.9g", what,
					     fabs(value->number) < 0x1p62 ? "a whole number"
									  : "below 2^62",
					     value->number));
		else
			no_size(b, value, arena_printf(b->arena, "%s is needed here, and this is %s",
						       what, value_describe(value)));
		return NULL;
	}
	if (integer < 0) {
		no_size(b, value,
			arena_printf(b->arena, "%s cannot be negative, and this is %" PRId64, what,
				     integer));
		if (integer == -1)
			diag_note(b->diags, value->span, "in a shape '_' is an axis of any size");
		return NULL;
	}
	return value->kind == VALUE_SIZE ? size_at(b, value) : number_at(b, value, integer);
}

const SizeExpr *size_of_name(Build *b, Name name, const char *what)
{
	const Binding *binding = scope_find(b->at.scope, name.sym);
	if (!binding)
		return NULL;
	Value value = value_as_passed(binding->value);
	value.span = name.span;
	if (value.kind == VALUE_TENSOR)
		return late_dim_of_scalar(b, value.node, name.span);
	if (value.kind != VALUE_SIZE && value.kind != VALUE_NUMBER)
		return NULL;
	return value_to_size(b, &value, what);
}
