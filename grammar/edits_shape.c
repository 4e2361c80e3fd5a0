/* Edits of a declared shape: signs for commas and the other way round, rows and axes that change
 * places, axes that are missing, other sizes. */
#include "grammar/edits.h"

#include <string.h>

enum { COST_SIGN = 5, COST_ROWS = 6, COST_SIZE = 7, COST_EXCHANGE = 8 };

static bool is_rest(const Edits *e, Span gap)
{
	return strstr(edit_text(e, gap), "..") != NULL;
}

/* "..., out" where "... -> out" was meant. */
static void comma_behind_rest(Edits *e, const AstShape *shape, Span axis, uint32_t far)
{
	const char *head = edit_text(e, (Span){axis.file, shape->span.start, axis.start});
	const char *comma = strrchr(head, ',');
	if (comma)
		edit_add(
			e, COST_SIGN + far,
			(Span){axis.file, shape->span.start + (uint32_t)(comma - head), axis.start},
			" -> ", "it would fit with '->' behind the input axes");
}

/* A comma between two axes that is to be a sign. */
static void shape_commas(Edits *e, const AstShape *shape, RowKind row, uint32_t far, bool given)
{
	const AstShapeRow *axes = &shape->rows[row];
	bool batch = shape->rows[ROW_BATCH].written, input = shape->rows[ROW_INPUT].written;
	if (axes->var_at == 0 && axes->naxes > 0 && !input && row == ROW_OUTPUT)
		comma_behind_rest(e, shape, axes->axes[0].span, far);
	for (uint32_t i = 0; i + 1 < axes->naxes; i++) {
		Span gap = edit_gap(axes->axes[i].span, axes->axes[i + 1].span);
		if (is_rest(e, gap))
			continue;
		if (!batch && row != ROW_BATCH)
			edit_add(e, COST_SIGN + far + (i > 0) + (given ? 0 : 3), gap, " | ",
				 "it would fit with '|' behind the batch axes");
		if (!input && row == ROW_OUTPUT)
			edit_add(e, COST_SIGN + far + (given ? 4 : 0), gap, " -> ",
				 "it would fit with '->' behind the input axes");
		edit_add(e, COST_ROWS + far, span_join(axes->axes[i].span, axes->axes[i + 1].span),
			 arena_printf(e->arena, "%s%s%s", edit_text(e, axes->axes[i + 1].span),
				      edit_text(e, gap), edit_text(e, axes->axes[i].span)),
			 "it would fit with these axes changing places");
	}
}

static Span row_span(const AstShapeRow *row)
{
	return row->naxes ? span_join(row->axes[0].span, row->axes[row->naxes - 1].span) : SPAN_NONE;
}

/* The sign between two rows, one axis before where it stands, or behind it. */
static void move_sign(Edits *e, const AstShapeRow *first, const AstShapeRow *next, uint32_t far)
{
	const AstShapeAxis *last = &first->axes[first->naxes - 1];
	Span gap = edit_gap(last->span, next->axes[0].span);
	const char *sign = edit_text(e, gap);
	if (first->naxes > 1) {
		Span all = {gap.file, last[-1].span.end, gap.end};
		edit_add(e, COST_ROWS + far, all,
			 arena_printf(e->arena, "%s%s, ", sign, edit_text(e, last->span)),
			 arena_printf(e->arena, "it would fit with '%s' on the other side",
				      edit_text(e, last->span)));
	}
	for (uint32_t i = 0; i + 1 < next->naxes; i++) {
		Span moved = span_join(next->axes[0].span, next->axes[i].span);
		Span all = {gap.file, gap.start, next->axes[i + 1].span.start};
		edit_add(e, COST_ROWS + far, all,
			 arena_printf(e->arena, ", %s%s", edit_text(e, moved), sign),
			 arena_printf(e->arena, "it would fit with '%s' on the other side",
				      edit_text(e, moved)));
	}
}

/* Two rows side by side: exchanged, or joined, or with the other sign. */
static void shape_rows(Edits *e, const AstShape *shape, RowKind first, RowKind next, uint32_t far,
		       bool given)
{
	Span a = row_span(&shape->rows[first]), b = row_span(&shape->rows[next]);
	if (span_is_none(a) || span_is_none(b) || shape->rows[first].var_at >= 0 ||
	    shape->rows[next].var_at >= 0)
		return;
	Span gap = edit_gap(a, b);
	const char *sign = edit_text(e, gap);
	move_sign(e, &shape->rows[first], &shape->rows[next], far + (given ? 3 : 0));
	if (first == ROW_INPUT)
		edit_add(e, COST_ROWS + far, span_join(a, b),
			 arena_printf(e->arena, "%s%s%s", edit_text(e, b), sign, edit_text(e, a)),
			 "it would fit with the two rows changing places");
	edit_add(e, COST_EXCHANGE + far, gap, ", ", "it would fit with the axes in one row");
	if (first == ROW_INPUT && !shape->rows[ROW_BATCH].written)
		edit_add(e, COST_EXCHANGE + far, gap, " | ", "it would fit with '|' for '->'");
	if (first == ROW_BATCH && !shape->rows[ROW_INPUT].written)
		edit_add(e, COST_EXCHANGE + far, gap, " -> ", "it would fit with '->' for '|'");
}

/* An axis that is missing: of a size that the message says, before each axis and behind the
 * last. */
static void shape_insertions(Edits *e, const AstShapeRow *row, uint32_t far)
{
	for (uint32_t i = 0; e->counts && i < row->naxes; i++) {
		Span axis = row->axes[i].span;
		for (uint32_t k = 0; k < e->nsizes; k++) {
			const char *why = arena_printf(
				e->arena, "it would fit with an axis of %s here", e->sizes[k]);
			edit_add(e, COST_EXCHANGE + 1 + far,
				 (Span){axis.file, axis.start, axis.start},
				 arena_printf(e->arena, "%s, ", e->sizes[k]), why);
			if (i + 1 == row->naxes)
				edit_add(e, COST_EXCHANGE + 1 + far,
					 (Span){axis.file, axis.end, axis.end},
					 arena_printf(e->arena, ", %s", e->sizes[k]), why);
		}
	}
}

/* Axes of a shape without signs, all meant as batch axes. */
static void only_axes(Edits *e, const AstShape *shape, uint32_t far)
{
	const AstShapeRow *row = &shape->rows[ROW_OUTPUT];
	if (shape->rows[ROW_BATCH].written || shape->rows[ROW_INPUT].written || row->naxes == 0 ||
	    row->var_at >= 0)
		return;
	Span axes = row_span(row);
	edit_add(e, (row->naxes > 1 ? COST_EXCHANGE + 1 : COST_SIGN) + far, axes,
		 arena_printf(e->arena, "%s |", edit_text(e, axes)),
		 "it would fit with '|' behind the batch axes");
	edit_add(e, COST_EXCHANGE + 1 + far, axes,
		 arena_printf(e->arena, "%s | 1", edit_text(e, axes)),
		 "it would fit with '|' behind the batch axes, and one output axis of 1");
}

/* An output axis of a shape that has batch axes alone: of a size that the message says. */
static void first_output(Edits *e, const AstShape *shape, uint32_t far)
{
	Span at = {shape->span.file, shape->span.end - 1, shape->span.end - 1};
	bool none = shape->rows[ROW_OUTPUT].naxes == 0 && shape->rows[ROW_OUTPUT].var_at < 0;
	if (!shape->rows[ROW_BATCH].written || shape->rows[ROW_INPUT].written || !none)
		return;
	for (uint32_t i = 0; i < e->nsizes; i++)
		edit_add(e, COST_EXCHANGE + 1 + far, at, arena_printf(e->arena, " %s", e->sizes[i]),
			 arena_printf(e->arena, "it would fit with an output axis of %s",
				      e->sizes[i]));
}

/* One number an example, with an output axis of 1 that is not meant: the first or last of them. */
static void without_one(Edits *e, const AstShape *shape, uint32_t far)
{
	const AstShapeRow *row = &shape->rows[ROW_OUTPUT];
	const char *why = "it would fit without the axis of 1";
	if (!shape->rows[ROW_BATCH].written || row->var_at >= 0 || row->naxes == 0)
		return;
	Span first = row->axes[0].span, last = row->axes[row->naxes - 1].span;
	if (row->naxes == 1 && strcmp(edit_text(e, first), "1") == 0)
		edit_add(e, COST_SIGN + far, (Span){first.file, first.start - 1, first.end},
			 edit_text(e, (Span){first.file, first.start - 1, first.start})[0] == ' '
				 ? ""
				 : "|",
			 why);
	else if (row->naxes > 1 && strcmp(edit_text(e, last), "1") == 0)
		edit_add(e, COST_SIGN + far,
			 (Span){last.file, row->axes[row->naxes - 2].span.end, last.end}, "", why);
	else if (row->naxes > 1 && strcmp(edit_text(e, first), "1") == 0)
		edit_add(e, COST_SIGN + far,
			 (Span){first.file, first.start, row->axes[1].span.start}, "", why);
}

static bool has_axis(const Edits *e, const AstShape *shape, const char *size)
{
	bool has = false;
	for (RowKind k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < shape->rows[k].naxes; i++)
			has |= strcmp(edit_text(e, shape->rows[k].axes[i].span), size) == 0;
	return has;
}

/* A batch axis of a shape that has none: a dim of the file, or a size that the message says; a dim that the shape has, and a size of 0
 * or 1, are less likely. */
static void batch_insertions(Edits *e, const AstShape *shape, uint32_t far)
{
	const AstShapeRow *row =
		&shape->rows[shape->rows[ROW_INPUT].written ? ROW_INPUT : ROW_OUTPUT];
	if (shape->rows[ROW_BATCH].written || row->naxes == 0)
		return;
	Span at = {shape->span.file, row->axes[0].span.start, row->axes[0].span.start};
	for (uint32_t i = 0; i < e->file->nstmts + e->nsizes; i++) {
		const AstStmt *stmt = i < e->file->nstmts ? &e->file->stmts[i] : NULL;
		const char *size = stmt ? stmt->name.sym : e->sizes[i - e->file->nstmts];
		if (stmt && stmt->kind != STMT_DIM)
			continue;
		bool likely = stmt ? !has_axis(e, shape, size)
				   : strcmp(size, "0") != 0 && strcmp(size, "1") != 0;
		edit_add(e, COST_SIZE + far + (likely ? 0 : 3), at,
			 arena_printf(e->arena, "%s | ", size),
			 arena_printf(e->arena, "it would fit with a batch axis of %s", size));
	}
}

/* The input axes of a weight, which its use knows. */
static void rest_insertion(Edits *e, const AstShape *shape, uint32_t far)
{
	const AstShapeRow *row = &shape->rows[ROW_OUTPUT];
	if (shape->rows[ROW_INPUT].written || row->naxes == 0 || row->var_at >= 0)
		return;
	Span at = {shape->span.file, row->axes[0].span.start, row->axes[0].span.start};
	edit_add(e, COST_SIGN + far, at, "... -> ",
		 "it would fit with input axes: '... ->' stands for any");
}

void edits_of_shape(Edits *e, const AstShape *shape, uint32_t least, bool given)
{
	uint32_t far = edit_far(e, shape->span);
	far = far < least ? far : least;
	bool batch = shape->rows[ROW_BATCH].written, input = shape->rows[ROW_INPUT].written;
	if (given && e->counts) {
		only_axes(e, shape, far);
		first_output(e, shape, far);
		without_one(e, shape, far);
		batch_insertions(e, shape, far);
	}
	if (!given && e->counts)
		rest_insertion(e, shape, far);
	for (RowKind k = 0; k < ROW_KINDS; k++) {
		shape_commas(e, shape, k, far, given);
		shape_insertions(e, &shape->rows[k], far + given);
		for (uint32_t i = 0; i < shape->rows[k].naxes; i++) {
			Span axis = shape->rows[k].axes[i].span;
			uint32_t near = edit_far(e, axis);
			edit_sizes(e, axis, (near < far ? near : far) + given);
		}
	}
	if (batch)
		shape_rows(e, shape, ROW_BATCH, input ? ROW_INPUT : ROW_OUTPUT, far, given);
	if (input)
		shape_rows(e, shape, ROW_INPUT, ROW_OUTPUT, far, given);
}

/* ---- an expression whose axes are put into the rows of a shape ---- */

enum { COST_PUT = 2, LETTERS = 26 };

/* "a, b" of the row's axes, with the letters from `from` on. */
static const char *row_letters(const Edits *e, const AstShape *shape, RowKind row, uint32_t from)
{
	const char *text = "";
	for (uint32_t i = 0; i < shape->rows[row].naxes; i++)
		text = arena_printf(e->arena, "%s%s%c", text, i ? ", " : "", (int)('a' + from + i));
	return text;
}

static const char *listed(const Edits *e, const char *a, const char *b)
{
	return arena_printf(e->arena, "%s%s%s", a, *a && *b ? ", " : "", b);
}

void edits_of_rows(Edits *e, const AstShape *shape, const AstExpr *expr, uint32_t far)
{
	uint32_t first[ROW_KINDS], n = 0;
	const char *row[ROW_KINDS];
	static const RowKind stored[] = {ROW_BATCH, ROW_OUTPUT, ROW_INPUT};
	if (!e->counts || !shape || !expr ||
	    !(shape->rows[ROW_BATCH].naxes + shape->rows[ROW_INPUT].naxes))
		return;
	for (uint32_t i = 0; i < ROW_KINDS; i++) {
		first[stored[i]] = n;
		n += shape->rows[stored[i]].naxes;
		if (n > LETTERS || shape->rows[stored[i]].var_at >= 0)
			return;
	}
	for (RowKind k = 0; k < ROW_KINDS; k++)
		row[k] = row_letters(e, shape, k, first[k]);
	const char *result =
		arena_printf(e->arena, "%s%s%s%s%s", row[ROW_BATCH], *row[ROW_BATCH] ? " | " : "",
			     row[ROW_INPUT], *row[ROW_INPUT] ? " -> " : "", row[ROW_OUTPUT]);
	bool two = *row[ROW_INPUT] && *row[ROW_OUTPUT];
	for (uint32_t turned = 0; turned <= two; turned++) {
		const char *axes = listed(e, row[ROW_BATCH],
					  listed(e, row[turned ? ROW_INPUT : ROW_OUTPUT],
						 row[turned ? ROW_OUTPUT : ROW_INPUT]));
		edit_add(e, COST_PUT + far + turned, expr->span,
			 arena_printf(e->arena, "permute(\"%s => %s\", %s)", axes, result,
				      edit_text(e, expr->span)),
			 "it would fit with its axes in these rows");
	}
}
