/* Edits of what axes are called and where they stand: the letters that a `with` sets, the axis that
 * parts are joined along, the batch axes of an input.
 *
 *   x with (k = 3)                      kh, kw of the specification in x
 *   "h, c; g, c => h^g, c"              "h, c; h, g => h, c^g"
 *   input x : [n, 28]                   [n | 28], where n is a dim
 */
#include "grammar/edits.h"

#include <string.h>

enum { COST_BOUND = 4, COST_SIGN = 5, COST_JOIN = 6 };

/* ---- the letters of a `with` ---- */

static bool is_bound(const AstExpr *with, Sym letter)
{
	for (uint32_t i = 0; i < with->nbinds; i++)
		for (uint32_t k = 0; k < with->binds[i].nnames; k++)
			if (with->binds[i].names[k].sym == letter)
				return true;
	return false;
}

/* Does one of the names begin with the other? */
static bool is_like(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	return strncmp(a, b, na < nb ? na : nb) == 0;
}

static void offer_letter(Edits *e, const AstExpr *with, Name bound, Sym letter, uint32_t far)
{
	if (letter && !is_bound(with, letter) && is_like(bound.sym, letter))
		edit_add(e, COST_BOUND + far, bound.span, letter,
			 arena_printf(e->arena, "it would fit with '%s' for '%s'", letter,
				      bound.sym));
}

static void offer_letters(Edits *e, const AstExpr *with, Name bound, const AstSpec *spec,
			  uint32_t far)
{
	for (uint32_t t = 0; t < spec->noperands && !spec->broken; t++)
		for (RowKind k = 0; k < ROW_KINDS; k++) {
			const AstSpecRow *row = &spec->operands[t].rows[k];
			for (uint32_t i = 0; i < row->naxes; i++) {
				offer_letter(e, with, bound, row->axes[i].name.sym, far);
				offer_letter(e, with, bound, row->axes[i].kernel.sym, far);
			}
		}
}

static void offer_from(Edits *e, const AstExpr *with, Name bound, const AstExpr *expr, uint32_t far)
{
	if (expr->kind == AST_STRING && expr->spec)
		offer_letters(e, with, bound, expr->spec, far);
	for (uint32_t i = 0; i < expr->nargs; i++)
		offer_from(e, with, bound, expr->args[i], far);
}

void edits_of_binds(Edits *e, const AstExpr *with, uint32_t far)
{
	for (uint32_t i = 0; i < with->nbinds; i++) {
		const AstBind *bind = &with->binds[i];
		const char *unknown = e->nnames ? e->names[0] : "";
		if (bind->nnames == 1 && strcmp(bind->names[0].sym, unknown) == 0)
			offer_from(e, with, bind->names[0], with->args[0], far);
	}
}

/* ---- the axis of a `concat` ---- */

/* What stands for an axis of operand `t` where parts are joined along `along`. */
static const char *operand_axis(const AstSpecAxis *joined, Sym along, uint32_t t, Sym axis)
{
	if (axis == joined->parts[t].letter.sym)
		return joined->parts[0].letter.sym;
	return axis == along && t > 0 ? joined->parts[t].letter.sym : axis;
}

static const char *result_axis(const Edits *e, const AstSpecAxis *joined, Sym along,
			       const AstSpecAxis *axis)
{
	if (axis == joined)
		return joined->parts[0].letter.sym;
	const char *text = axis->name.sym;
	for (uint32_t i = 1; i < joined->nparts && axis->name.sym == along; i++)
		text = arena_printf(e->arena, "%s^%s", text, joined->parts[i].letter.sym);
	return text;
}

/* The specification with the parts joined along another axis, which every operand has. */
static void join_along(Edits *e, const AstSpec *spec, const AstSpecAxis *joined, Sym along,
		       uint32_t far)
{
	const char *text = "";
	uint32_t done = spec->span.start, nalong = 0;
	for (uint32_t t = 0; t <= spec->noperands; t++)
		for (RowKind k = 0; k < ROW_KINDS; k++) {
			const AstSpecRow *row =
				&(t < spec->noperands ? &spec->operands[t] : &spec->result)->rows[k];
			for (uint32_t i = 0; i < row->naxes; i++) {
				const AstSpecAxis *axis = &row->axes[i];
				if (axis != joined && axis->kind != SPEC_LETTER)
					return;
				Span gap = {spec->span.file, done, axis->span.start};
				text = arena_printf(
					e->arena, "%s%s%s", text, edit_text(e, gap),
					t < spec->noperands
						? operand_axis(joined, along, t, axis->name.sym)
						: result_axis(e, joined, along, axis));
				done = axis->span.end;
				nalong += t < spec->noperands && axis->name.sym == along;
			}
		}
	if (nalong == spec->noperands)
		edit_add(e, COST_JOIN + far, spec->span,
			 arena_printf(e->arena, "%s%s", text,
				      edit_text(e, (Span){spec->span.file, done, spec->span.end})),
			 arena_printf(e->arena, "it would fit with '%s' as the axis that is joined",
				      along));
}

void edits_of_joins(Edits *e, const AstSpec *spec, uint32_t far)
{
	const AstSpecAxis *joined = NULL;
	for (RowKind k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < spec->result.rows[k].naxes; i++) {
			const AstSpecAxis *axis = &spec->result.rows[k].axes[i];
			if (axis->kind != SPEC_CONCAT)
				continue;
			if (joined || axis->nparts != spec->noperands)
				return;
			joined = axis;
		}
	for (uint32_t i = 0; joined && i < joined->nparts; i++)
		if (!joined->parts[i].letter.sym)
			return;
	for (RowKind k = 0; joined && k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < spec->result.rows[k].naxes; i++)
			if (spec->result.rows[k].axes[i].kind == SPEC_LETTER)
				join_along(e, spec, joined, spec->result.rows[k].axes[i].name.sym,
					   far);
}

/* ---- batch axes of inputs ---- */

static bool is_dim(const Edits *e, const char *text)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++)
		if (e->file->stmts[i].kind == STMT_DIM &&
		    strcmp(e->file->stmts[i].name.sym, text) == 0)
			return true;
	return false;
}

void edits_of_inputs(Edits *e)
{
	for (uint32_t i = 0; i < e->file->nstmts; i++) {
		const AstStmt *stmt = &e->file->stmts[i];
		if (stmt->kind != STMT_INPUT || !stmt->shape || stmt->shape->rows[ROW_BATCH].written)
			continue;
		bool input = stmt->shape->rows[ROW_INPUT].written;
		const AstShapeRow *row = &stmt->shape->rows[input ? ROW_INPUT : ROW_OUTPUT];
		for (uint32_t k = 0; k + 1 < row->naxes && row->var_at < 0; k++) {
			if (!is_dim(e, edit_text(e, row->axes[k].span)))
				break;
			edit_add(e, COST_SIGN + k, edit_gap(row->axes[k].span, row->axes[k + 1].span),
				 " | ", "it would fit with '|' behind the batch axes");
		}
	}
}
