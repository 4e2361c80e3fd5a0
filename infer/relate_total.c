/* Total elements: one cell is the product of all axes of some rows.
 *
 * reshape gives two products with one cell, a captured row variable `with (v)` one product; of random
 * words and their numbers the words' product has a factor 4. A product is solved for its cell when
 * all axes are known, or for the one axis that is not.
 */
#include "infer/solver.h"

#include <inttypes.h>

typedef struct Total {
	Size known;	/* product of the known axes, and the factor */
	CellId open;	/* an unknown axis, or NONE */
	uint32_t nopen; /* how many, counted with repetition */
	RowVarId var;	/* an open row, or NONE */
} Total;

static Total total_of(Solver *s, const Con *con, bool watch, ConId id)
{
	Total t = {size_const(s->sizes, con->number), NONE, 0, NONE};
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
				t.open = cell;
				t.nopen++;
			}
		}
	}
	return t;
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

static void total_blame(Solver *s, ConId id, Size total, Size known)
{
	Con *con = &s->cons.at[id];
	if (cell_at(s, con->cells[0])->broken)
		return;
	con->done = true;
	cell_at(s, con->cells[0])->broken = true;
	int64_t by, n;
	bool fits = size_is_const(s->sizes, known, &by) && by != 0 &&
		    size_is_const(s->sizes, total, &n) && n % by == 0;
	if (con->number > 1 && size_same(known, total_of(s, con, false, id).known) &&
	    total_of(s, con, false, id).nopen == 0)
		blame(s, E0345, id, "%s elements are not %" PRId64 " for each of %s cells",
		      size_text(s->arena, s->sizes, total), con->number,
		      size_text(s->arena, s->sizes,
				size_div(s->sizes, known, size_const(s->sizes, con->number))));
	else if (!fits && size_is_const(s->sizes, known, &by) && by != 0)
		blame(s, E0345, id, "%s elements do not divide by %" PRId64,
		      size_text(s->arena, s->sizes, total), by);
	else
		blame(s, E0345, id, "%s elements do not fit axes of %s together",
		      size_text(s->arena, s->sizes, total), size_text(s->arena, s->sizes, known));
	blame_born(s, con->cells[0]);
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			blame_born(s, flat_at(&f, i));
	}
}

static Why why_total(const Solver *s, ConId id)
{
	return (Why){.kind = WHY_RELATION, .con = id, .from = NONE, .span = s->cons.at[id].span};
}

static void solve_axis(Solver *s, ConId id, const Total *t, Size total)
{
	int64_t n, by;
	bool constant = size_is_const(s->sizes, t->known, &by);
	if (constant && by == 0) {
		if (size_is_const(s->sizes, total, &n) && n != 0)
			total_blame(s, id, total, t->known);
		return;
	}
	if (constant && size_is_const(s->sizes, total, &n) && n % by != 0) {
		total_blame(s, id, total, t->known);
		return;
	}
	Size value = size_div(s->sizes, total, t->known);
	cell_set(s, t->open, value, why_total(s, id));
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

void product_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Total t = total_of(s, con, true, id);
	if (t.var != NONE)
		return;
	if (!con->ndone_lead)
		watch_axes(s, id);
	con = &s->cons.at[id];
	Size total = cell_value(s, con->cells[0]);
	if (t.nopen == 0) {
		if (size_is_bad(total) || !size_same(total, t.known)) {
			if (!size_is_bad(total) && !size_is_bad(t.known) &&
			    sizes_differ(s->sizes, total, t.known))
				total_blame(s, id, total, t.known);
			else {
				if (!size_is_bad(total))
					solve_known(s, id, &t, total);
				cell_set(s, con->cells[0], t.known, why_total(s, id));
			}
		}
	} else if (t.nopen == 1 && !size_is_bad(total)) {
		solve_axis(s, id, &t, total);
	}
}
