/* Sizes as written: expressions over numbers, dims and captured sizes.
 *
 * A known size is one leaf; a tree has at most SIZE_LEAVES_LIMIT leaves, so that doubling a size by
 * name again and again cannot grow without bound, and is at most SIZE_DEPTH_LIMIT deep, so that walks
 * may recurse. Sums that get deep are built again as balanced trees.
 */
#include <inttypes.h>

#include "frontend/build.h"

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

bool size_expr_value(const SizeExpr *expr, int64_t *out)
{
	*out = expr->number;
	return expr->kind == SX_NUMBER || expr->kind == SX_FIXED;
}

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

/* NULL after an error (E0210). */
static const SizeExpr *value_to_size(Build *b, const Value *value, const char *what)
{
	int64_t integer;
	if (value->kind == VALUE_ERROR)
		return NULL;
	if (value->kind == VALUE_SIZE && !value_is_known(value))
		return size_at(b, value);
	if (!value_get_integer(value, &integer)) {
		if (value->kind == VALUE_NUMBER)
			no_size(b, value,
				arena_printf(b->arena, "%s must be a whole number, and this is %.9g",
					     what, value->number));
		else
			no_size(b, value, arena_printf(b->arena, "%s is needed here, and this is %s",
						       what, value_describe(value)));
		return NULL;
	}
	if (integer < 0) {
		no_size(b, value,
			arena_printf(b->arena, "%s cannot be negative, and this is %" PRId64, what,
				     integer));
		return NULL;
	}
	return value->kind == VALUE_SIZE ? size_at(b, value) : number_at(b, value, integer);
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

/* A tensor argument that stands where a size is needed: functions take sizes in another list. */
static void note_argument(Build *b, const AstExpr *expr, const Value *value)
{
	const Binding *binding =
		expr->kind == AST_NAME ? scope_find(b->at.scope, expr->name.sym) : NULL;
	const AstStmt *fn = b->at.site ? b->at.params->plain : NULL;
	if (value->kind != VALUE_TENSOR || !binding)
		return;
	for (uint32_t i = 0; fn && i < fn->nparams; i++)
		if (fn->params[i].name.sym == expr->name.sym)
			diag_note(b->diags, fn->params[i].name.span,
				  "this is an argument for a tensor; sizes go into a list before: "
				  "fn %s(%s)(...)",
				  fn->name.sym, expr->name.sym);
}

/* The dims whose values make a size that is none. */
static void note_dims(Build *b, const AstExpr *expr)
{
	const Binding *binding =
		expr->kind == AST_NAME ? scope_find(b->at.scope, expr->name.sym) : NULL;
	if (binding && binding->value.kind == VALUE_SIZE && binding->value.size->kind == SX_FIXED)
		diag_note(b->diags, binding->value.size->span, "'%s' is %" PRId64,
			  binding->value.size->name, binding->value.size->number);
	for (uint32_t i = 0; i < expr->nargs; i++)
		note_dims(b, expr->args[i]);
}

const SizeExpr *eval_size(Build *b, const AstExpr *expr)
{
	Value value = eval_wanting_size(b, expr);
	const SizeExpr *size = value_to_size(b, &value, "a size");
	if (!size)
		note_argument(b, expr, &value);
	if (!size && value.kind == VALUE_NUMBER)
		note_dims(b, expr);
	return size;
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
