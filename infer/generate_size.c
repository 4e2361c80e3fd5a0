/* Sizes as written: to a size where all is written, to cells and relations where a captured size
 * occurs. Quotients and differences ask for guards: that they divide, that they are not negative.
 */
#include "base/size_order.h"
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/trail.h"

static void ask(Solver *s, GuardKind kind, Size a, Size b, Span span)
{
	PUSH(s->arena, s->asked,
	     ((Guard){.kind = kind, .a = a, .b = b, .span = span, .other = SPAN_NONE}));
}

static Conflict *written_conflict(Solver *s, ConflictKind kind, Span span)
{
	Conflict *c = conflict_new(s, kind, NONE);
	c->span = span;
	return c;
}

static Size quotient(Solver *s, Size a, Size b, Span span)
{
	int64_t x, y;
	bool cb = size_is_const(s->sizes, b, &y);
	if (cb && y == 0) {
		written_conflict(s, CONFLICT_BY_ZERO, span);
		return SIZE_BAD;
	}
	if (cb && size_is_const(s->sizes, a, &x) && x % y != 0) {
		Conflict *c = written_conflict(s, CONFLICT_NO_MULTIPLE, span);
		c->number = x;
		c->divisor = y;
		return SIZE_BAD;
	}
	ask(s, GUARD_DIVIDES, a, b, span);
	return size_div(s->sizes, a, b);
}

static Size captured_size(Solver *s, CaptureId id, bool *captured)
{
	CellId cell = s->captures[id];
	if (cell != NONE && cell_known(s, cell))
		return cell_value(s, cell);
	*captured = true;
	return SIZE_BAD;
}

static Size evaluate(Solver *s, const SizeExpr *e, bool *spelled, bool *captured)
{
	switch (e->kind) {
	case SX_NUMBER: return size_const(s->sizes, e->number);
	case SX_FIXED: *spelled = true; return size_const(s->sizes, e->number);
	case SX_DIM: *spelled = true; return size_dim(s->sizes, e->dim);
	case SX_CAPTURE: return captured_size(s, e->capture, captured);
	default: break;
	}
	Size a = evaluate(s, e->a, spelled, captured), b = evaluate(s, e->b, spelled, captured);
	if (size_is_bad(a) || size_is_bad(b))
		return SIZE_BAD;
	switch (e->kind) {
	case SX_ADD: return size_add(s->sizes, a, b);
	case SX_SUB: return size_sub(s->sizes, a, b);
	case SX_MUL: return size_mul(s->sizes, a, b);
	case SX_CEIL: return size_ceil(s->sizes, a, e->b->number);
	default: return quotient(s, a, b, e->span);
	}
}

Size size_of_expr(Solver *s, const SizeExpr *expr, bool *spelled, bool *captured)
{
	size_t conflicts = s->conflicts.n;
	int64_t value;
	Size size = evaluate(s, expr, spelled, captured);
	if (*captured || s->conflicts.n > conflicts)
		return SIZE_BAD;
	if (size_is_bad(size)) {
		written_conflict(s, CONFLICT_LARGE, expr->span)->limit = sizes_limit_text(s->sizes);
	} else if (size_is_const(s->sizes, size, &value) && value < 0) {
		written_conflict(s, CONFLICT_NEGATIVE, expr->span)->number = value;
		return SIZE_BAD;
	} else if (!size_ge(s->sizes, size, size_const(s->sizes, 0))) {
		ask(s, GUARD_GE, size, size_const(s->sizes, 0), expr->span);
	}
	return size;
}

Size size_as_number(Solver *s, const SizeExpr *expr)
{
	bool spelled = false, captured = false;
	size_t conflicts = s->conflicts.n;
	Size size = evaluate(s, expr, &spelled, &captured);
	if (captured)
		BUG("a captured size is not known after inference");
	if (size_is_bad(size) && s->conflicts.n == conflicts)
		written_conflict(s, CONFLICT_LARGE, expr->span)->limit = sizes_limit_text(s->sizes);
	return size;
}

static CellId relation(Solver *s, ConKind kind, CellId result, CellId a, CellId b, Span span)
{
	CellId *cells = ARENA_ARRAY(s->arena, CellId, 3);
	cells[0] = result, cells[1] = a, cells[2] = b;
	con_new(s, (Con){.kind = kind,
			 .node = NODE_NONE,
			 .arg = -1,
			 .span = span,
			 .cells = cells,
			 .ncells = 3});
	return result;
}

static CellId tree_cell(Solver *s, const SizeExpr *e);

/* ceil(a / number) is how often a stride fits into a padded axis. */
static CellId ceil_cell(Solver *s, const SizeExpr *e)
{
	SpecAxis *axis = ARENA_NEW(s->arena, SpecAxis);
	*axis = (SpecAxis){.kind = SPEC_AFFINE,
			   .span = e->span,
			   .stride = e->b->number,
			   .dilation = 1,
			   .mark = MARK_PADDED_CEIL};
	CellId *cells = ARENA_ARRAY(s->arena, CellId, 3);
	cells[0] = tree_cell(s, e->a), cells[1] = cell_new(s, NULL, e->span), cells[2] = NONE;
	con_new(s, (Con){.kind = CON_AFFINE,
			 .node = NODE_NONE,
			 .arg = -1,
			 .span = e->span,
			 .axis = axis,
			 .cells = cells,
			 .ncells = 3});
	return cells[1];
}

static bool has_capture(const SizeExpr *e)
{
	return e->kind == SX_CAPTURE || (e->a && (has_capture(e->a) || has_capture(e->b)));
}

typedef struct Factors {
	CellId at[ROW_LIMIT];
	uint32_t n, captured;
	bool fails; /* too many */
} Factors;

static void count_factors(const SizeExpr *e, Factors *f)
{
	if (e->kind == SX_MUL) {
		count_factors(e->a, f);
		count_factors(e->b, f);
		return;
	}
	f->captured += has_capture(e);
	f->fails |= f->n++ == ROW_LIMIT;
}

static void add_factors(Solver *s, const SizeExpr *e, Factors *f)
{
	if (e->kind != SX_MUL) {
		f->at[f->n++] = tree_cell(s, e);
		return;
	}
	add_factors(s, e->a, f);
	add_factors(s, e->b, f);
}

/* A product of several captured sizes is a total like that of a reshape; NONE: it is none. */
static CellId total_cell(Solver *s, const SizeExpr *e)
{
	Factors factors = {0};
	count_factors(e, &factors);
	if (factors.captured < 2 || factors.fails)
		return NONE;
	factors.n = 0;
	add_factors(s, e, &factors);
	Con con = {.kind = CON_PRODUCT,
		   .node = NODE_NONE,
		   .arg = -1,
		   .span = e->span,
		   .ncells = 1,
		   .number = 1,
		   .nrows = 1};
	con.cells = ARENA_ARRAY(s->arena, CellId, 1);
	con.rows = ARENA_ARRAY(s->arena, RowTerm, 1);
	con.cells[0] = cell_new(s, NULL, e->span);
	con.rows[0] = row_cells(s, factors.at, factors.n);
	con_new(s, con);
	return con.cells[0];
}

/* A tree with captured sizes: one cell a step, or a product. */
static CellId tree_cell(Solver *s, const SizeExpr *e)
{
	if (e->kind == SX_CAPTURE) {
		if (s->captures[e->capture] == NONE) {
			const Capture *capture = &s->graph->captures.at[e->capture];
			s->captures[e->capture] = cell_new(s, capture->name, capture->span);
		}
		return s->captures[e->capture];
	}
	if (!e->a)
		return size_cell(s, e);
	CellId total = e->kind == SX_MUL ? total_cell(s, e) : NONE;
	if (total != NONE)
		return total;
	if (e->kind == SX_CEIL)
		return ceil_cell(s, e);
	CellId a = tree_cell(s, e->a), b = tree_cell(s, e->b);
	CellId cell = cell_new(s, NULL, e->span);
	switch (e->kind) {
	case SX_ADD: return relation(s, CON_ADD, cell, a, b, e->span);
	case SX_SUB: relation(s, CON_ADD, a, cell, b, e->span); return cell;
	case SX_MUL: return relation(s, CON_MUL, cell, a, b, e->span);
	default: relation(s, CON_MUL, a, cell, b, e->span); return cell;
	}
}

CellId size_cell(Solver *s, const SizeExpr *expr)
{
	bool spelled = false, captured = false;
	size_t conflicts = s->conflicts.n;
	Size size = size_of_expr(s, expr, &spelled, &captured);
	if (captured)
		return tree_cell(s, expr);
	if (s->conflicts.n > conflicts) {
		CellId cell = cell_new(s, NULL, expr->span);
		cell_at(s, cell)->broken = true;
		return cell;
	}
	CellId cell = cell_written(s, size, spelled, expr->span);
	s->leaves.at[s->leaves.n - 1].also = expr->also;
	return cell;
}
