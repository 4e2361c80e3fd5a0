/* Total elements: one cell is the product of all axes of some rows.
 *
 * reshape gives two products with one cell, a captured row variable `with (v)` one product; of
 * random words and their numbers the words' product has a factor 4. A product is solved for its
 * cell when all axes are known, or for the one axis that is not.
 */
#include "base/size_root.h"
#include "infer/affine.h"
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/solver.h"
#include "infer/trail.h"

typedef struct Total {
	Size known;	/* product of the known axes, and the factor */
	CellId open;	/* an unknown axis, or NONE */
	uint32_t nopen; /* how many, counted with repetition */
	bool several;	/* different ones */
	RowVarId var;	/* an open row, or NONE */
} Total;

static Total total_of(Solver *s, const Con *con, bool watch, ConId id)
{
	Total t = {size_const(s->sizes, con->number), NONE, 0, false, NONE};
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		if (f.var != NONE) {
			t.var = f.var;
			if (watch)
				rowvar_watch(s, f.var, id);
		}
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = cell_root(s, flat_at(&f, i));
			if (cell_known(s, cell)) {
				t.known = size_mul(s->sizes, t.known, cell_value(s, cell));
			} else {
				t.several |= t.open != NONE && t.open != cell;
				t.open = cell;
				t.nopen++;
			}
		}
	}
	return t;
}

Size product_value(Solver *s, const Con *con)
{
	Total t = total_of(s, con, false, NONE);
	return t.nopen > 0 || t.var != NONE ? SIZE_BAD : t.known;
}

static void watch_axes(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			occs_add(s, &cell_at(s, flat_at(&f, i))->occs, OCC_CON, id);
	}
	s->cons.at[id].ndone_lead = 1;
}

static void total_conflict(Solver *s, ConId id, Size total, Size known)
{
	Con *con = &s->cons.at[id];
	if (cell_at(s, con->cells[0])->broken)
		return;
	con->done = true;
	cell_at(s, con->cells[0])->broken = true;
	Total t = total_of(s, con, false, id);
	bool words = con->number > 1 && t.nopen == 0 && size_same(known, t.known);
	conflict_sizes(s, words ? CONFLICT_WORDS : CONFLICT_TOTAL, id, total, known)->number =
		con->number;
}

/* One axis stands there several times, and what is left of the total is no power of it. */
static void root_conflict(Solver *s, ConId id, const Total *t, Size total)
{
	CellId of = s->cons.at[id].cells[0];
	if (cell_at(s, of)->broken)
		return;
	s->cons.at[id].done = cell_at(s, of)->broken = cell_at(s, t->open)->broken = true;
	Conflict *c = conflict_sizes(s, CONFLICT_ROOT, id, total, t->known);
	c->cells[0] = t->open;
	c->number = t->nopen;
}

static Why why_total(const Solver *s, ConId id)
{
	return (Why){.kind = WHY_RELATION, .con = id, .from = NONE, .span = s->cons.at[id].span};
}

void product_last(Solver *s, ConId id)
{
	Total t = total_of(s, &s->cons.at[id], false, id);
	Size total = cell_value(s, s->cons.at[id].cells[0]);
	if (t.var == NONE && t.nopen > 1 && !t.several && !size_is_bad(total) &&
	    !size_is(s->sizes, total, 0) && !size_is(s->sizes, t.known, 0))
		root_conflict(s, id, &t, total);
}

/* The same axis several times. */
static void solve_root(Solver *s, ConId id, const Total *t, Size total)
{
	int64_t n, by;
	bool constant = size_is_const(s->sizes, t->known, &by);
	if (constant ? by == 0 : size_is(s->sizes, total, 0))
		return;
	if (constant && size_is_const(s->sizes, total, &n) && n % by != 0) {
		total_conflict(s, id, total, t->known);
		return;
	}
	Size root = size_root(s->sizes, size_div(s->sizes, total, t->known), t->nopen);
	if (size_is_bad(root)) {
		if (constant && size_is_const(s->sizes, total, &n))
			root_conflict(s, id, t, total);
		return;
	}
	cell_set(s, t->open, root, why_total(s, id));
	s->cons.at[id].derived = true;
}

static void solve_axis(Solver *s, ConId id, const Total *t, Size total)
{
	int64_t n, by;
	bool constant = size_is_const(s->sizes, t->known, &by);
	if (constant && by == 0) {
		if (size_is_const(s->sizes, total, &n) && n != 0)
			total_conflict(s, id, total, t->known);
		return;
	}
	if ((constant && size_is_const(s->sizes, total, &n) && n % by != 0) ||
	    size_is_fraction(s->sizes, size_div(s->sizes, total, t->known))) {
		total_conflict(s, id, total, t->known);
		return;
	}
	cell_set(s, t->open, factor_of(s->sizes, total, t->known), why_total(s, id));
	s->cons.at[id].derived = true;
}

/* Both are known, under names that may be equal: one axis beside constants gets the better one too.
 */
static void solve_known(Solver *s, ConId id, const Total *t, Size total)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	int64_t by, n;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = flat_at(&f, i);
			Size own = cell_value(s, cell);
			if (size_is_const(s->sizes, own, &n))
				continue;
			Size others = size_div(s->sizes, t->known, own);
			if (size_is_const(s->sizes, others, &by) && by > 0 &&
			    (!size_is_const(s->sizes, total, &n) || n % by == 0))
				cell_set(s, cell, size_div(s->sizes, total, others),
					 why_total(s, id));
		}
	}
}

/* Nothing is left of the total: all open axes are 1, also those of a row that may get more. */
static bool solve_ones(Solver *s, ConId id, const Total *t, Size total)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	int64_t n;
	if (t->nopen == 0 || !size_is_const(s->sizes, total, &n) || n == 0 ||
	    !size_same(total, t->known) || (t->var != NONE && n != con->number))
		return false;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			if (!cell_known(s, flat_at(&f, i)))
				cell_set(s, flat_at(&f, i), size_const(s->sizes, 1),
					 why_total(s, id));
		}
	}
	s->cons.at[id].derived = true;
	return true;
}

/* The total, and its better name where a require gives one. */
static void set_total(Solver *s, ConId id, Size total)
{
	ConId con = NONE;
	CellId cell = s->cons.at[id].cells[0];
	cell_set(s, cell, total, why_total(s, id));
	Size name = required_name(s, total, &con);
	if (con != NONE)
		cell_set(s, cell, name, why_total(s, con));
}

void product_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Total t = total_of(s, con, true, id);
	Size total = required_multiple(s, cell_value(s, con->cells[0]), t.known);
	if (t.var == NONE && !con->ndone_lead)
		watch_axes(s, id);
	if (solve_ones(s, id, &t, total) || t.var != NONE)
		return;
	con = &s->cons.at[id];
	if (t.nopen == 0) {
		if (size_is_bad(total) || !size_same(total, t.known)) {
			if (!size_is_bad(total) && !size_is_bad(t.known) &&
			    sizes_differ(s->sizes, total, t.known))
				total_conflict(s, id, total, t.known);
			else {
				if (!size_is_bad(total))
					solve_known(s, id, &t, total);
				set_total(s, id, t.known);
			}
		}
	} else if (t.nopen == 1 && !size_is_bad(total)) {
		solve_axis(s, id, &t, total);
	} else if (!t.several && !size_is_bad(total)) {
		solve_root(s, id, &t, total);
	}
}
