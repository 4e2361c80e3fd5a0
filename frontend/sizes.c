/* Sizes as written: expressions over numbers, dims and captured sizes.
 *
 * A known size is one leaf; a tree has at most SIZE_LEAVES_LIMIT leaves, so that walks may recurse
 * and doubling a size by name again and again cannot grow without bound.
 */
#include <inttypes.h>

#include "frontend/build.h"

const SizeExpr *size_expr_new(Build *b, SizeExpr expr)
{
	SizeExpr *copy = ARENA_NEW(b->arena, SizeExpr);
	*copy = expr;
	copy->nleaves = expr.a ? expr.a->nleaves + expr.b->nleaves : 1;
	copy->divides |= expr.kind == SX_DIV || (expr.a && (expr.a->divides || expr.b->divides));
	if (copy->nleaves > SIZE_LEAVES_LIMIT) {
		diag(b->diags, E0236, expr.span, "this size has more than %d terms",
		     SIZE_LEAVES_LIMIT);
		return size_expr_number(b, 1, expr.span);
	}
	return copy;
}

const SizeExpr *size_expr_number(Build *b, int64_t number, Span span)
{
	return size_expr_new(b, (SizeExpr){.kind = SX_NUMBER, .span = span, .number = number});
}

bool size_expr_value(const SizeExpr *expr, int64_t *out)
{
	*out = expr->number;
	return expr->kind == SX_NUMBER || expr->kind == SX_FIXED;
}

/* NULL after an error (E0210). */
static const SizeExpr *value_to_size(Build *b, const Value *value, const char *what)
{
	int64_t integer;
	if (value->kind == VALUE_ERROR)
		return NULL;
	if (value->kind == VALUE_SIZE && !value_is_known(value))
		return value->size;
	if (!value_get_integer(value, &integer)) {
		if (value->kind == VALUE_NUMBER)
			diag(b->diags, E0210, value->span,
			     "%s must be a whole number, and this is %.9g", what, value->number);
		else
			diag(b->diags, E0210, value->span, "%s is needed here, and this is %s",
			     what, value_describe(value));
		return NULL;
	}
	if (integer < 0) {
		diag(b->diags, E0210, value->span, "%s cannot be negative, and this is %" PRId64,
		     what, integer);
		return NULL;
	}
	return value->kind == VALUE_SIZE ? value->size : size_expr_number(b, integer, value->span);
}

Value eval_wanting_size(Build *b, const AstExpr *expr)
{
	bool outer = b->wants_size;
	b->wants_size = true;
	Value value = eval(b, expr);
	b->wants_size = outer;
	value.span = expr->span;
	return value;
}

const SizeExpr *eval_size(Build *b, const AstExpr *expr)
{
	Value value = eval_wanting_size(b, expr);
	return value_to_size(b, &value, "a size");
}

bool eval_integer(Build *b, const AstExpr *expr, const char *what, int64_t *out)
{
	Value value = eval_wanting_size(b, expr);
	if (value.kind == VALUE_ERROR)
		return false;
	if (value_get_integer(&value, out))
		return true;
	if (value.kind == VALUE_SIZE || value.kind == VALUE_TENSOR)
		diag(b->diags, E0211, expr->span,
		     "%s must be known when the program is compiled, and this is %s", what,
		     value.kind == VALUE_SIZE ? "a size known only when it runs" : "a tensor");
	else
		diag(b->diags, E0210, expr->span, "%s must be a whole number", what);
	return false;
}
