/* Written sizes to expressions, and written shapes to declarations: rows of axes with their labels,
 * sizes evaluated. */
#include <inttypes.h>

#include "frontend/eval.h"
#include "frontend/passed.h"

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
			diag_note(
				b->diags, fn->params[i].name.span,
				"a tensor is passed as this argument; sizes go into a list before: "
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

/* ---- shapes ---- */

static bool has_capture(const SizeExpr *size)
{
	return size->kind == SX_CAPTURE ||
	       (size->a && (has_capture(size->a) || has_capture(size->b)));
}

/* The sizes of inputs and constants are what the caller, or the data, must agree with. */
static bool check_exact(Build *b, const AstShapeAxis *axis, const SizeExpr *size, ShapeUse use)
{
	if (use == SHAPE_PARAM || use == SHAPE_ASCRIBED || (use == SHAPE_CONST && !axis->size))
		return true;
	if (!axis->size)
		diag(b->diags, E0229, axis->span,
		     "every size of an input is written: a number, a dim, "
		     "or an expression of them");
	else if (has_capture(size))
		diag(b->diags, E0229, axis->span, "a size that is only inferred cannot stand here");
	else
		return true;
	return false;
}

static const SizeExpr *axis_size(Build *b, const AstExpr *expr)
{
	bool unknown = expr->kind == AST_NAME && !scope_find(b->at.scope, expr->name.sym);
	if (unknown && missing_dim_is_told(b, expr->name))
		return NULL;
	int before = b->diags->nerrors;
	const SizeExpr *size = eval_size(b, expr);
	if (unknown && b->diags->nerrors > before)
		missing_dims_tell(b, expr->name);
	return size;
}

static bool evaluate_axis(Build *b, const AstShapeAxis *axis, ShapeUse use, DeclAxis *out)
{
	*out = (DeclAxis){.span = axis->span, .label = axis->label.sym};
	if (axis->size && !(out->size = axis_size(b, axis->size)))
		return false;
	return check_exact(b, axis, out->size, use);
}

static bool evaluate_row(Build *b, const AstShapeRow *row, ShapeUse use, DeclRow *out)
{
	*out = (DeclRow){.naxes = row->naxes,
			 .var_at = row->written ? row->var_at : -1,
			 .var = row->var.sym};
	out->axes = ARENA_ARRAY(b->arena, DeclAxis, row->naxes);
	bool good = true;
	for (uint32_t i = 0; i < row->naxes; i++)
		good = evaluate_axis(b, &row->axes[i], use, &out->axes[i]) && good;
	if (out->var_at >= 0 && use != SHAPE_PARAM && use != SHAPE_ASCRIBED) {
		diag(b->diags, E0229, row->var.span,
		     "the shape of an input or constant is written out, without row variables");
		return false;
	}
	return good;
}

const ShapeDecl *shape_decl(Build *b, const AstShape *shape, ShapeUse use)
{
	ShapeDecl *decl = ARENA_NEW(b->arena, ShapeDecl);
	decl->span = shape->span;
	bool good = true;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		good = evaluate_row(b, &shape->rows[kind], use, &decl->rows[kind]) && good;
	return good ? decl : NULL;
}

const ShapeDecl *shape_decl_open_param(Build *b, Span span)
{
	ShapeDecl *decl = ARENA_NEW(b->arena, ShapeDecl);
	decl->span = span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		decl->rows[kind] = (DeclRow){.var_at = -1, .open = kind != ROW_BATCH};
	return decl;
}
