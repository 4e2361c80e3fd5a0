/* Written shapes to declarations: rows of axes with their labels, sizes evaluated. */
#include "frontend/build.h"

Dtype written_dtype(Build *b, Dtype dtype, Span span)
{
	if (dtype == DTYPE_NONE)
		return DTYPE_F32;
	if (dtype == DTYPE_U4X32) {
		diag(b->diags, E0242, span,
		     "u4x32 stands inside expressions alone: u4x32(...) makes "
		     "random words of integers there");
		return DTYPE_I32;
	}
	if (dtype_supported(dtype))
		return dtype;
	diag(b->diags, E0911, span,
	     "the dtype %s is not supported yet; f64, f32, bf16, f16, i32, i8 "
	     "and u8 are",
	     dtype_name(dtype));
	return dtype_is_integer(dtype) ? DTYPE_I32 : DTYPE_F32;
}

static bool has_capture(const SizeExpr *size)
{
	return size->kind == SX_CAPTURE ||
	       (size->a && (has_capture(size->a) || has_capture(size->b)));
}

/* The sizes of inputs and constants are what the caller, or the data, must agree with. */
static bool check_exact(Build *b, const AstShapeAxis *axis, const SizeExpr *size, ShapeUse use)
{
	if (use == SHAPE_PARAM || (use == SHAPE_CONST && !axis->size))
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

/* A size with a name that nothing has is most likely a dim that was forgotten. */
static const SizeExpr *axis_size(Build *b, const AstExpr *expr)
{
	int before = b->diags->nerrors;
	const SizeExpr *size = eval_size(b, expr);
	if (expr->kind == AST_NAME && b->diags->nerrors > before &&
	    !scope_find(b->at.scope, expr->name.sym))
		diag_note(b->diags, expr->span,
			  "a size is declared before its use: 'dim %s' is known when "
			  "the program runs",
			  expr->name.sym);
	return size;
}

static bool decl_axis(Build *b, const AstShapeAxis *axis, ShapeUse use, DeclAxis *out)
{
	*out = (DeclAxis){.span = axis->span, .label = axis->label.sym};
	if (axis->size && !(out->size = axis_size(b, axis->size)))
		return false;
	return check_exact(b, axis, out->size, use);
}

static bool decl_row(Build *b, const AstShapeRow *row, ShapeUse use, DeclRow *out)
{
	*out = (DeclRow){.naxes = row->naxes, .var_at = row->written ? row->var_at : -1,
			 .var = row->var.sym};
	out->axes = ARENA_ARRAY(b->arena, DeclAxis, row->naxes);
	bool good = true;
	for (uint32_t i = 0; i < row->naxes; i++)
		good = decl_axis(b, &row->axes[i], use, &out->axes[i]) && good;
	if (out->var_at >= 0 && use != SHAPE_PARAM) {
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
		good = decl_row(b, &shape->rows[kind], use, &decl->rows[kind]) && good;
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
