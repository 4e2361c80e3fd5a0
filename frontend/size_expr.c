/* Sizes as expressions over numbers, dims and captured sizes.
 *
 * A known size is one leaf; a tree has at most SIZE_LEAVES_LIMIT leaves, so that doubling a size by
 * name again and again cannot grow without bound, and is at most SIZE_DEPTH_LIMIT deep, so that walks
 * may recurse. Sums that get deep are built again as balanced trees.
 */
#include "frontend/build.h"
#include "frontend/late_dims.h"
#include "frontend/nodes.h"

enum { SUM_DEPTH = 64 }; /* of a sum that is left as it was written */

typedef VEC(const SizeExpr *) Addends;

static void list_addends(Build *b, const SizeExpr *sum, Addends *addends)
{
	if (sum->kind != SX_ADD) {
		PUSH(b->arena, *addends, sum);
		return;
	}
	list_addends(b, sum->a, addends);
	list_addends(b, sum->b, addends);
}

static SizeExpr *expr_copy(Build *b, SizeExpr expr)
{
	SizeExpr *copy = ARENA_NEW(b->arena, SizeExpr);
	*copy = expr;
	copy->nleaves = expr.a ? expr.a->nleaves + expr.b->nleaves : 1;
	copy->depth = expr.a ? 1 + (expr.a->depth > expr.b->depth ? expr.a->depth : expr.b->depth)
			     : 0;
	if (expr.kind == SX_DIM && late_dim_is(expr.dim))
		PUSH(b->arena, b->late_sizes, copy);
	copy->divides |= expr.kind == SX_DIV || (expr.a && (expr.a->divides || expr.b->divides));
	return copy;
}

/* The sum of n addends, which keep their order. */
static const SizeExpr *balanced(Build *b, const SizeExpr *const *addends, size_t n, Span span)
{
	if (n == 1)
		return addends[0];
	return expr_copy(b, (SizeExpr){.kind = SX_ADD,
				       .span = span,
				       .a = balanced(b, addends, n / 2, span),
				       .b = balanced(b, addends + n / 2, n - n / 2, span)});
}

const SizeExpr *size_expr_new(Build *b, SizeExpr expr)
{
	const SizeExpr *size = expr_copy(b, expr);
	if (size->nleaves > SIZE_LEAVES_LIMIT) {
		diag(b->diags, E0236, expr.span, "this size is written with more than %d dims and numbers",
		     SIZE_LEAVES_LIMIT);
		return size_expr_number(b, 1, expr.span);
	}
	if (size->depth > SUM_DEPTH && size->kind == SX_ADD) {
		Addends addends = {0};
		list_addends(b, size, &addends);
		size = balanced(b, addends.at, addends.n, expr.span);
	}
	if (size->depth > SIZE_DEPTH_LIMIT) {
		diag(b->diags, E0236, expr.span, "this size is nested more than %d deep",
		     SIZE_DEPTH_LIMIT);
		return size_expr_number(b, 1, expr.span);
	}
	return size;
}

const SizeExpr *size_expr_number(Build *b, int64_t number, Span span)
{
	return size_expr_new(b, (SizeExpr){.kind = SX_NUMBER, .span = span, .number = number});
}

const SizeExpr *size_expr_or(Build *b, const SizeExpr *size, int64_t number, Span span)
{
	return size ? size : size_expr_number(b, number, span);
}

static int64_t combined(SizeExprKind kind, int64_t a, int64_t c)
{
	switch (kind) {
	case SX_ADD: return a + c;
	case SX_SUB: return a - c;
	case SX_CEIL: return (a + c - 1) / c;
	default: REQUIRE(kind == SX_MUL); return a * c;
	}
}

const SizeExpr *size_expr_of(Build *b, SizeExprKind kind, const SizeExpr *a, const SizeExpr *c)
{
	bool numbers = a->kind == SX_NUMBER && c->kind == SX_NUMBER &&
		       (kind != SX_MUL || (a->number <= INT32_MAX && c->number <= INT32_MAX));
	if (numbers)
		return size_expr_number(b, combined(kind, a->number, c->number), a->span);
	return size_expr_new(b, (SizeExpr){.kind = kind, .span = a->span, .a = a, .b = c});
}

bool size_expr_value(const SizeExpr *expr, int64_t *out)
{
	*out = expr->number;
	return expr->kind == SX_NUMBER || expr->kind == SX_FIXED;
}
