/* Closing rule for totals with several open factors: the least total that both sides can have.
 *
 *   reshape(einsum("i; j => 2*i, j", p, q)) + [[1, 2, 3], [4, 5, 6]]:   2*i * j = 6
 *
 * If every factor of the operand were guessed to be 1, the total could be one that the reshape's
 * axes do not divide; so the numerators wait for what divides them. Reshapes are gone through from
 * the last to the first: the axes of one that is reshaped again are decided by then. For each, the
 * least multiple of what is known of the one side is taken for which both sides have sizes; of
 * those the factors before the last are as small as can be, and the last follows. A factor of a
 * parameter is never guessed: it comes last, and is alone.
 *
 * What a size can be is asked of the relations that it stands in, one at a time. A known total
 * whose factors hang together with those of others, or by relations, is shared out in
 * close_meet.c. */
#include "base/size_order.h"
#include "base/size_root.h"
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/relate.h"
#include "infer/rows.h"
#include "infer/trail.h"

#include "infer/affine.h"

enum { MOST_TIMES = 64, MOST_TRIES = 4096 };

/* ---- what a size can be ---- */

bool affine_may_be(Solver *s, const SpecAxis *axis, Size size, Size k)
{
	bool valid = axis->kernel && axis->mark != MARK_PADDED && axis->mark != MARK_PADDED_CEIL;
	if (valid && size_is_bad(k))
		return true;
	Size dividend = affine_dividend(s->sizes, axis, size, k);
	Size window = affine_window(s->sizes, axis, k);
	int64_t rest;
	if (!size_is_bad(window) &&
	    size_is_const(s->sizes, size_sub(s->sizes, size, window), &rest) && rest < 0)
		return false;
	return size_is_bad(dividend) ||
	       size_divides(s->sizes, size_const(s->sizes, axis->stride), dividend);
}

static bool sum_may_be(Solver *s, const Con *con, Size size)
{
	Size rest = size_plus(s->sizes, size, -con->number);
	for (uint32_t i = 1; i < con->ncells; i++) {
		if (cell_known(s, con->cells[i]))
			rest = size_sub(s->sizes, rest, cell_value(s, con->cells[i]));
	}
	return size_ge(s->sizes, rest, size_const(s->sizes, 0));
}

static bool product_may_be(Solver *s, const Con *con, Size size)
{
	for (uint32_t i = 1; i < con->ncells; i++) {
		if (cell_known(s, con->cells[i]) &&
		    !size_divides(s->sizes, cell_value(s, con->cells[i]), size))
			return false;
	}
	return true;
}

static bool total_may_be(Solver *s, ConId id, Size size)
{
	Side side;
	return !read_side(s, id, &side) || size_is(s->sizes, side.known, 0) ||
	       size_divides(s->sizes, side.known, size);
}

bool axis_may_be(Solver *s, CellId axis, Size size)
{
	const Cell *c = cell_at(s, axis);
	if (c->bound_kind == BOUND_ONE && !size_same(c->bound, size) && !size_is(s->sizes, size, 1))
		return false;
	for (const Occ *o = c->occs.first; o; o = o->next) {
		const Con *con = o->kind == OCC_CON ? &s->cons.at[o->id] : NULL;
		if (!con || con->ncells == 0 || cell_root(s, con->cells[0]) != cell_root(s, axis))
			continue;
		if (con->kind == CON_AFFINE &&
		    !affine_may_be(s, con->axis, size,
				   con->cells[2] == NONE ? SIZE_BAD : cell_value(s, con->cells[2])))
			return false;
		if ((con->kind == CON_CONCAT || con->kind == CON_ADD) && !sum_may_be(s, con, size))
			return false;
		if (con->kind == CON_MUL && !product_may_be(s, con, size))
			return false;
		if (con_is_written_product(con) && !total_may_be(s, o->id, size))
			return false;
		if (con->kind == CON_AT_LEAST &&
		    !size_ge(s->sizes, size, size_const(s->sizes, con->number)))
			return false;
	}
	return true;
}

/* ---- the sides ---- */

/* A factor of its own, or one more of the same. */
static bool count_factor(Side *side, const Spot *spot)
{
	for (uint32_t i = 0; i < side->n; i++) {
		if (side->open[i].cell == spot->cell) {
			side->power[i]++;
			return true;
		}
	}
	if (side->n == MOST_FACTORS)
		return false;
	side->power[side->n] = 1;
	side->open[side->n++] = *spot;
	return true;
}

/* Parameters last. */
static bool add_factor(Solver *s, Side *side, const Spot *spot, uint32_t power, bool patient)
{
	CellId cell = spot->cell;
	if (s->cells.at[cell].may_be_empty || (patient && gets_size_above(s, cell)))
		return false;
	uint32_t at = side->n++;
	if (is_of_param(s, cell)) {
		side->nparams++;
	} else {
		for (; at > side->n - 1 - side->nparams; at--) { /* falls: at */
			side->open[at] = side->open[at - 1];
			side->power[at] = side->power[at - 1];
		}
	}
	side->open[at] = *spot;
	side->power[at] = power;
	return side->nparams < 2;
}

bool read_side(Solver *s, ConId id, Side *side)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	NodeId node = con->arg < 0 ? con->node : s->graph->nodes.at[con->node].args[con->arg];
	*side = (Side){.known = size_const(s->sizes, con->number)};
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		RowKind kind = con->nrows == ROW_KINDS ? stored_rows[r] : ROW_OUTPUT;
		side->row |= f.var != NONE;
		side->grows |= f.var != NONE && !s->vars.at[f.var].shaped;
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = cell_root(s, flat_at(&f, i));
			if (cell_known(s, cell))
				side->known = size_mul(s->sizes, side->known, cell_value(s, cell));
			else if (!count_factor(side, &(Spot){node, kind, i, cell, NONE}))
				return false;
		}
	}
	return !size_is_bad(side->known);
}

/* The factors to choose; false where something else has to be decided first. */
static bool side_of(Solver *s, ConId id, bool patient, Side *side)
{
	Side read;
	if (!read_side(s, id, &read) || read.grows || size_is(s->sizes, read.known, 0))
		return false;
	*side = (Side){.known = read.known, .row = read.row && read.n == 0};
	for (uint32_t i = 0; i < read.n; i++) {
		if (!add_factor(s, side, &read.open[i], read.power[i], patient))
			return false;
	}
	return true;
}

/* ---- the sizes ---- */

static Size power_of(Solver *s, Size size, uint32_t power)
{
	Size product = size;
	for (uint32_t i = 1; i < power; i++)
		product = size_mul(s->sizes, product, size);
	return product;
}

/* Sizes for the open factors from the i-th on, of which `rest` is the product. */
static bool share(Solver *s, Side *side, uint32_t i, Size rest, int *tries)
{
	int64_t whole;
	bool constant = size_is_const(s->sizes, rest, &whole);
	if (i == side->n)
		return side->row || size_is(s->sizes, rest, 1);
	if (i + 1 == side->n) {
		side->sizes[i] = size_root(s->sizes, rest, side->power[i]);
		return !size_is_bad(side->sizes[i]) &&
		       axis_may_be(s, side->open[i].cell, side->sizes[i]);
	}
	int64_t most = constant ? whole : MOST_TIMES;
	for (int64_t size = 1; size <= most && --*tries > 0; size++) { /* falls: tries */
		Size one = side->sizes[i] = size_const(s->sizes, size);
		Size all = power_of(s, one, side->power[i]);
		if (!size_is_bad(all) && size_divides(s->sizes, all, rest) &&
		    axis_may_be(s, side->open[i].cell, one) &&
		    share(s, side, i + 1, size_div(s->sizes, rest, all), tries))
			return true;
	}
	return false;
}

static bool fills(Solver *s, Side *side, Size total, int *tries)
{
	total = required_multiple(s, total, side->known);
	return !size_is_bad(total) && size_divides(s->sizes, side->known, total) &&
	       share(s, side, 0, size_div(s->sizes, total, side->known), tries);
}

static void take_factor(Solver *s, const char *rule, const Side *side, ConId con)
{
	for (uint32_t i = 0; i + 1 < side->n; i++) {
		if (cell_known(s, side->open[i].cell))
			continue;
		close_note(s, rule, &side->open[i]);
		cell_set(s, side->open[i].cell, side->sizes[i],
			 (Why){WHY_RULE, con, NONE, SPAN_NONE, rule});
	}
}

/* The total is symbolic, and no sizes fill it whatever the dims are: the last factor follows, and
 * that it is whole is asked for when the program runs. */
static bool fills_where_it_divides(Solver *s, Side *side, Size total)
{
	int64_t n, by;
	uint32_t last = side->n - 1;
	if (size_is_const(s->sizes, total, &n) || !size_is_const(s->sizes, side->known, &by) ||
	    side->power[last] > 1)
		return false;
	for (uint32_t i = 0; i < last; i++) {
		side->sizes[i] = size_const(s->sizes, 1);
		if (!axis_may_be(s, side->open[i].cell, side->sizes[i]))
			return false;
	}
	return true;
}

/* The total is known: its factors. */
static void close_given(Solver *s, const char *rule, ConId id, bool patient)
{
	Side side;
	int tries = MOST_TRIES;
	Size total = cell_value(s, s->cons.at[id].cells[0]);
	if (!read_side(s, id, &side) || side.n < 2 || side.grows ||
	    close_meeting(s, rule, id, patient))
		return;
	if (side_of(s, id, patient, &side) && side.n > 1 &&
	    (fills(s, &side, total, &tries) || fills_where_it_divides(s, &side, total)))
		take_factor(s, rule, &side, id);
}

void close_given_total(Solver *s, const char *rule, ConId id)
{
	Side side;
	if (!cell_known(s, s->cons.at[id].cells[0]) || !read_side(s, id, &side) || side.row)
		return;
	for (uint32_t i = 0; i < side.n; i++) {
		if (cell_at(s, side.open[i].cell)->bound_kind != BOUND_NONE)
			return;
	}
	close_given(s, rule, id, true);
	propagate(s);
}

/* Does a known total, which is shared out first, have a part in the factors? */
static bool waits_for_total(Solver *s, const Side *side)
{
	for (uint32_t i = 0; i < side->n; i++) {
		if (hangs_on_total(s, side->open[i].cell))
			return true;
	}
	return false;
}

/* Neither side is known: the multiples of what is known of the reshape's axes, then, where these
 * leave a row for the rest, of what is known of the operand. More than that is no choice where a
 * parameter's size would hang on it. */
static bool least_total(Solver *s, Side *made, Side *given, Size *total)
{
	int tries = MOST_TRIES;
	bool params = made->nparams + given->nparams > 0;
	for (int from = 0; from < (made->row ? 2 : 1); from++) {
		Size known = from == 0 ? made->known : given->known;
		for (int64_t times = 1; times <= (params ? 1 : MOST_TIMES); times++) {
			*total = size_scale(s->sizes, known, times);
			if (fills(s, made, *total, &tries) && fills(s, given, *total, &tries))
				return true;
		}
	}
	return false;
}

/* made: the constraint of each reshape's own axes, by NodeId. */
static void close_open(Solver *s, const char *rule, ConId id, const ConId *made_of, bool patient)
{
	Side made, given;
	Size total;
	const Graph *graph = s->graph;
	ConId first = id;
	for (NodeId arg;
	     arg = graph->nodes.at[s->cons.at[first].node].args[0],
	     graph->nodes.at[arg].kind == NODE_RESHAPE;) /* falls: nodes before this one */
		first = made_of[arg];
	if (!side_of(s, id, patient, &made) || !side_of(s, first - 1, patient, &given) ||
	    (size_is(s->sizes, made.known, 1) && made.n == 0) ||
	    (patient && (waits_for_total(s, &made) || waits_for_total(s, &given))) ||
	    !least_total(s, &made, &given, &total))
		return;
	take_factor(s, rule, &made, id);
	take_factor(s, rule, &given, id);
	Spot spot = {.node = NODE_NONE, .cell = s->cons.at[id].cells[0], .var = NONE};
	close_note(s, rule, &spot);
	cell_set(s, spot.cell, total, (Why){WHY_RULE, id, NONE, SPAN_NONE, rule});
}

static bool is_reshape(const Solver *s, ConId id)
{
	NodeId node = s->cons.at[id].node;
	return node != NODE_NONE && s->graph->nodes.at[node].kind == NODE_RESHAPE;
}

static void close_products(Solver *s, const char *rule, const ConId *made_of, bool patient)
{
	for (ConId id = (ConId)s->cons.n; id-- > 0 && !solver_stops(s);) {
		if (s->cons.at[id].kind != CON_PRODUCT || s->cons.at[id].done)
			continue;
		bool known = cell_known(s, s->cons.at[id].cells[0]);
		if (known)
			close_given(s, rule, id, patient);
		else if (is_reshape(s, id) && s->cons.at[id].arg < 0)
			close_open(s, rule, id, made_of, patient);
		propagate(s);
		if (known && !patient && !solver_stops(s))
			product_last(s, id);
	}
}

/* Totals that are known first, as each is shared out, and those of which nothing that is made of
 * such; what still waits for one another does so no longer in the last stage. */
void close_factors(Solver *s, const char *rule)
{
	ConId *made_of = ARENA_ARRAY(s->arena, ConId, s->graph->nodes.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind == CON_PRODUCT && con->arg < 0 && con->node != NODE_NONE)
			made_of[con->node] = id;
	}
	close_products(s, rule, made_of, true);
	if (s->stage == STAGES)
		close_products(s, rule, made_of, false);
	close_total_row(s, rule);
	close_leaf_bounds(s, "leaf-size");
}

/* ---- axes that their total refuses ---- */

/* Can no total, or only 0, be a multiple of the axes? */
static bool refuses(Solver *s, Size total, Size axes)
{
	int64_t n, by;
	if (size_is_const(s->sizes, total, &n) && size_is_const(s->sizes, axes, &by))
		return n != 0 && (by == 0 || n % by != 0);
	return !size_is(s->sizes, total, 0) && size_divides(s->sizes, total, axes) &&
	       size_is_const(s->sizes, size_div(s->sizes, axes, total), &by) && by > 1;
}

/* Does a literal 1 meet the axis in an operation, so that it need not have the size of its use? */
static bool meets_one(Solver *s, CellId cell)
{
	for (const Occ *o = cell_at(s, cell)->occs.first; o; o = o->next) {
		if (o->kind != OCC_EDGE ||
		    cell_root(s, s->edges.at[o->id].opnd) != cell_root(s, cell))
			continue;
		CellId res = s->edges.at[o->id].res;
		for (const Occ *other = cell_at(s, res)->occs.first; other; other = other->next) {
			if (other->kind == OCC_EDGE &&
			    cell_root(s, s->edges.at[other->id].res) == cell_root(s, res) &&
			    cell_stretches(s, s->edges.at[other->id].opnd))
				return true;
		}
	}
	return false;
}

/* The axes with what their uses have; those among `ones` are 1. */
static Size product_with_ones(Solver *s, const Side *side, uint32_t ones)
{
	Size product = side->known;
	for (uint32_t i = 0; i < side->n; i++) {
		const Cell *c = cell_at(s, side->open[i].cell);
		if (c->bound_kind == BOUND_ONE && !(ones >> i & 1))
			product = size_mul(s->sizes, product, c->bound);
	}
	return product;
}

void close_refused(Solver *s, const char *rule)
{
	Side side;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_PRODUCT || con->arg >= 0 || con->nrows != ROW_KINDS ||
		    !cell_known(s, con->cells[0]) || !read_side(s, id, &side))
			continue;
		Size total = cell_value(s, con->cells[0]);
		uint32_t ones = 0;
		for (uint32_t i = side.n;
		     i-- > 0 && refuses(s, total, product_with_ones(s, &side, ones));)
			ones |= meets_one(s, side.open[i].cell) ? 1u << i : 0;
		if (ones == 0 || refuses(s, total, product_with_ones(s, &side, ones)))
			continue;
		for (uint32_t i = 0; i < side.n; i++) {
			if (!(ones >> i & 1))
				continue;
			close_note(s, rule, &side.open[i]);
			cell_set(s, side.open[i].cell, size_const(s->sizes, 1),
				 (Why){WHY_RULE, id, NONE, SPAN_NONE, rule});
		}
	}
	propagate(s);
}
