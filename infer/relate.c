/* Relations between cells: affine axes, concatenated axes, products of two sizes, least sizes.
 *
 * Each is solved for any one unknown as soon as the others are known. A constant that does not
 * divide or fit is an error here; a symbolic one is asked for as a guard when all is solved
 * (guards.c). The formulas of affine axes stand in affine.c.
 *
 * No size of out but a negative one is refused: an axis that is up to one stride shorter than its
 * window has out = 0. Only an axis that the program writes as a number must hold its window, which
 * is known when all is solved (affine_fits).
 */
#include "base/size_order.h"
#include "infer/affine.h"
#include "infer/cells.h"
#include "infer/relate.h"
#include "infer/solver.h"
#include "infer/trail.h"

/* ---- deriving ---- */

static bool broken(Solver *s, const Con *con)
{
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE && cell_at(s, con->cells[i])->broken)
			return true;
	}
	return false;
}

/* One conflict of each relation: what follows from a broken class is none. */
static bool may_conflict(Solver *s, ConId id)
{
	Con *con = &s->cons.at[id];
	if (broken(s, con) || con->done)
		return false;
	con->done = true;
	for (uint32_t i = 0; i < con->ncells; i++) {
		if (con->cells[i] != NONE)
			cell_at(s, con->cells[i])->broken = true;
	}
	return true;
}

static void derive(Solver *s, ConId id, CellId cell, Size value)
{
	const Con *con = &s->cons.at[id];
	if (con->done || cell_at(s, cell)->broken)
		return;
	if (!size_is_bad(value) && size_same(cell_value(s, cell), value))
		return;
	if (size_is_fraction(s->sizes, value)) {
		if (may_conflict(s, id))
			conflict_sizes(s, CONFLICT_FRACTION, id, value, SIZE_BAD)->cells[0] = cell;
		return;
	}
	s->cons.at[id].derived = true;
	cell_set(s, cell, value,
		 (Why){.kind = WHY_RELATION, .con = id, .from = NONE, .span = con->span});
}

static bool negative(Solver *s, Size size)
{
	int64_t value;
	return size_is_const(s->sizes, size, &value) && value < 0;
}

static bool indivisible(Solver *s, Size a, int64_t by)
{
	int64_t value;
	return size_is_const(s->sizes, a, &value) && value % by != 0;
}

/* ---- affine axes ---- */

static void window_conflict(Solver *s, ConId id, Size in, Size window)
{
	if (may_conflict(s, id))
		conflict_sizes(s, CONFLICT_WINDOW, id, in, window);
}

/* Margins alone hold no window, and of nothing the rest that is left out is nothing. */
static bool leaves_margins(Solver *s, const SpecAxis *axis, Size in, Size window)
{
	int64_t none;
	return axis->padded && axis->mark == MARK_VALID_FLOOR &&
	       size_is_const(s->sizes, in, &none) && none == 0 &&
	       !negative(s, size_plus(s->sizes, size_scale(s->sizes, window, -1), axis->stride));
}

bool affine_fits(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Size in = cell_value(s, con->cells[0]);
	Size k = con->cells[2] == NONE ? SIZE_BAD : cell_value(s, con->cells[2]);
	Size window = affine_window(s->sizes, con->axis, k);
	if (size_is_bad(window) || cell_spelled(s, con->cells[0]) ||
	    !negative(s, size_sub(s->sizes, in, window)) ||
	    leaves_margins(s, con->axis, in, window))
		return true;
	window_conflict(s, id, in, window);
	return false;
}

static void affine_from_in(Solver *s, ConId id, Size in, Size k)
{
	const Con *con = &s->cons.at[id];
	Size window = affine_window(s->sizes, con->axis, k);
	Size dividend = affine_dividend(s->sizes, con->axis, in, k);
	Size rest = size_is_bad(window) ? in : size_sub(s->sizes, in, window);
	bool divides = size_is_bad(dividend) || !indivisible(s, dividend, con->axis->stride);
	bool positive = !negative(s, size_plus(s->sizes, rest, con->axis->stride));
	if (!size_is_bad(window) && negative(s, rest) && !(divides && positive))
		window_conflict(s, id, in, window);
	else if (divides)
		derive(s, id, con->cells[1], affine_over(s->sizes, con->axis, in, k));
	else if (may_conflict(s, id))
		conflict_sizes(s, CONFLICT_STEPS, id, in, dividend);
}

static void affine_kernel_from(Solver *s, ConId id, Size in, Size over)
{
	const Con *con = &s->cons.at[id];
	Size last = size_scale(s->sizes, size_plus(s->sizes, over, -1), con->axis->stride);
	Size span = size_plus(s->sizes, size_sub(s->sizes, in, last), -1 - affine_lead(con->axis));
	if (!negative(s, size_plus(s->sizes, span, con->axis->dilation)) &&
	    !indivisible(s, span, con->axis->dilation)) {
		derive(s, id, con->cells[2], affine_kernel(s->sizes, con->axis, in, over));
	} else if (may_conflict(s, id)) {
		conflict_sizes(s, CONFLICT_KERNEL, id, in, over);
	}
}

/* Every direction whose other sizes are known: where two names for a size meet, each cell gets the
 * better one, whichever came first. */
static void affine_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	const SpecAxis *axis = con->axis;
	bool valid = axis->kernel && (axis->mark == MARK_VALID || axis->mark == MARK_VALID_FLOOR);
	bool rounds = axis->mark == MARK_VALID_FLOOR || axis->mark == MARK_PADDED_CEIL;
	Size in = cell_value(s, con->cells[0]), over = cell_value(s, con->cells[1]);
	Size k = con->cells[2] != NONE ? cell_value(s, con->cells[2]) : SIZE_BAD;
	bool known_in = !size_is_bad(in), known_over = !size_is_bad(over);
	bool known_k = !valid || !size_is_bad(k);
	if (known_in && known_k)
		affine_from_in(s, id, in, k);
	if (known_over && known_k && !rounds)
		derive(s, id, con->cells[0], affine_in(s->sizes, axis, over, k));
	if (known_in && known_over && valid && !rounds)
		affine_kernel_from(s, id, in, over);
}

/* ---- sums ---- */

/* Each part from the whole and the other parts, when all are known. */
static void concat_parts(Solver *s, ConId id, Size rest)
{
	const Con *con = &s->cons.at[id];
	for (uint32_t i = 1; i < con->ncells; i++) {
		uint32_t times = 0;
		for (uint32_t j = 1; j < con->ncells && con->ncells <= ROW_LIMIT; j++)
			times += cell_root(s, con->cells[i]) == cell_root(s, con->cells[j]);
		if (times == 1 &&
		    !negative(s, size_add(s->sizes, rest, cell_value(s, con->cells[i]))))
			derive(s, id, con->cells[i],
			       size_add(s->sizes, rest, cell_value(s, con->cells[i])));
	}
}

static void concat_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Size whole = cell_value(s, con->cells[0]);
	Size sum = size_const(s->sizes, con->number);
	CellId open = NONE;
	int64_t times = 0;
	bool several = false;
	for (uint32_t i = 1; i < con->ncells; i++) {
		CellId part = cell_root(s, con->cells[i]);
		if (cell_known(s, part)) {
			sum = size_add(s->sizes, sum, cell_value(s, part));
		} else {
			several |= open != NONE && open != part;
			open = part;
			times++;
		}
	}
	Size rest = size_is_bad(whole) ? SIZE_BAD : size_sub(s->sizes, whole, sum);
	bool known = !size_is_bad(rest);
	if (size_is_bad(whole) && size_ge(s->sizes, sum, size_const(s->sizes, 2)))
		cell_exceeds_one(s, con->cells[0]);
	if (known && negative(s, rest)) {
		if (may_conflict(s, id))
			conflict_sizes(s, CONFLICT_PARTS, id, whole, sum);
	} else if (open == NONE) {
		if (known && !size_is(s->sizes, rest, 0))
			concat_parts(s, id, rest);
		derive(s, id, con->cells[0], sum);
	} else if (known && size_is(s->sizes, rest, 0)) {
		for (uint32_t i = 1; i < con->ncells; i++) {
			if (!cell_known(s, con->cells[i]))
				derive(s, id, con->cells[i], rest);
		}
	} else if (known && !several && !indivisible(s, rest, times)) {
		derive(s, id, open, size_div(s->sizes, rest, size_const(s->sizes, times)));
	} else if (known && !several && may_conflict(s, id)) {
		Conflict *c = conflict_sizes(s, CONFLICT_EQUAL_PARTS, id, rest, SIZE_BAD);
		c->cells[0] = open;
		c->number = times;
	}
}

/* ---- products of two, least sizes ---- */

static void factor_from(Solver *s, ConId id, Size p, Size other, CellId cell)
{
	int64_t by;
	if (size_is_bad(p) || size_is_bad(other) || size_is(s->sizes, other, 0))
		return;
	if (!size_is_const(s->sizes, other, &by) || !indivisible(s, p, by))
		derive(s, id, cell, factor_of(s->sizes, p, other));
	else if (may_conflict(s, id))
		conflict_sizes(s, CONFLICT_MULTIPLE, id, p, SIZE_BAD)->number = by;
}

static void mul_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Size p = cell_value(s, con->cells[0]);
	Size a = cell_value(s, con->cells[1]), b = cell_value(s, con->cells[2]);
	if (!size_is_bad(a) && !size_is_bad(b))
		derive(s, id, con->cells[0], size_mul(s->sizes, a, b));
	factor_from(s, id, p, a, con->cells[2]);
	factor_from(s, id, p, b, con->cells[1]);
}

static void at_least_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	int64_t size;
	if (!size_is_const(s->sizes, cell_value(s, con->cells[0]), &size) || size >= con->number)
		return;
	if (may_conflict(s, id))
		conflict_sizes(s, CONFLICT_INDEX, id, cell_value(s, con->cells[0]), SIZE_BAD)
			->number = con->number - 1;
}

void relation_run(Solver *s, ConId id)
{
	relation_labels(s, id);
	switch (s->cons.at[id].kind) {
	case CON_CELL_EQ:
		cells_equal(s, s->cons.at[id].cells[0], s->cons.at[id].cells[1], id);
		s->cons.at[id].done = true;
		break;
	case CON_AFFINE: affine_run(s, id); break;
	case CON_CONCAT:
	case CON_ADD: concat_run(s, id); break;
	case CON_MUL: mul_run(s, id); break;
	case CON_AT_LEAST: at_least_run(s, id); break;
	case CON_PRODUCT: product_run(s, id); break;
	default: BUG("not a relation");
	}
	relation_spells(s, id);
	linear_touch(s, id);
}
