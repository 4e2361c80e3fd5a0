/* The search for the sizes of known totals that hang together (close_meet.c says which and why).
 *
 * A choice is tried, then all that follows from it through totals, relations and broadcasts; what
 * contradicts is taken back. Only the tried sizes in Meet change. Every step counts against the
 * budget of the program. */
#include "base/size_order.h"
#include "base/size_root.h"
#include "infer/cells.h"
#include "infer/close_meet.h"
#include "infer/rows.h"

#include "infer/affine.h"

enum { MOST_TIMES = 64, MOST_DIVISOR = 1 << 20 };

/* ---- what follows ---- */

static Size size_tried(const Meet *m, CellId cell)
{
	CellId root = cell == NONE ? NONE : cell_root(m->s, cell);
	if (root == NONE || cell_known(m->s, root))
		return root == NONE ? SIZE_BAD : cell_value(m->s, root);
	uint32_t place = place_of(m, root);
	return place == MOST_OPEN ? SIZE_BAD : m->open[place].size;
}

/* The cell has this size; false where it cannot. */
static bool give_size(Meet *m, CellId cell, Size size)
{
	Solver *s = m->s;
	Size had = size_tried(m, cell);
	int64_t n;
	if (size_is_bad(size) || size_is_fraction(s->sizes, size) ||
	    (size_is_const(s->sizes, size, &n) && n < 0))
		return false;
	if (!size_is_bad(had)) {
		m->cut |= !size_same(had, size) && !sizes_differ(s->sizes, had, size);
		return size_same(had, size);
	}
	uint32_t place = place_of(m, cell_root(s, cell));
	m->open[place].size = size;
	m->trail[m->ntrail++] = place;
	return true;
}

/* One product, with the sizes as tried now. */
typedef struct Product {
	Size known;
	CellId open; /* an axis without a size, or NONE */
	uint32_t nopen;
	bool several; /* different ones */
	bool row;     /* a row is open */
} Product;

static void count_axis(Meet *m, Product *p, CellId cell)
{
	Size size = size_tried(m, cell);
	if (!size_is_bad(size)) {
		p->known = size_mul(m->s->sizes, p->known, size);
		return;
	}
	cell = cell_root(m->s, cell);
	p->several |= p->open != NONE && p->open != cell;
	p->open = cell;
	p->nopen++;
}

static Product product_tried(Meet *m, const Con *con)
{
	Solver *s = m->s;
	Product p = {.known = size_const(s->sizes, con->number), .open = NONE};
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		p.row |= f.var != NONE;
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			count_axis(m, &p, flat_at(&f, i));
	}
	return p;
}

static bool follow_total(Meet *m, const Con *con)
{
	Sizes *sizes = m->s->sizes;
	Size total = size_tried(m, con->cells[0]);
	Product p = product_tried(m, con);
	if (size_is_bad(total))
		return p.nopen > 0 || p.row || give_size(m, con->cells[0], p.known);
	if (size_is(sizes, total, 0))
		return true;
	total = required_multiple(m->s, total, p.known);
	if (!size_divides(sizes, p.known, total))
		return false;
	if (p.several || (p.row && p.nopen == 0))
		return true;
	return p.nopen == 0 ? size_same(p.known, total)
			    : give_size(m, p.open,
					size_root(sizes, size_div(sizes, total, p.known), p.nopen));
}

static bool follow_affine(Meet *m, const Con *con)
{
	Sizes *sizes = m->s->sizes;
	const SpecAxis *axis = con->axis;
	bool valid = axis->kernel && (axis->mark == MARK_VALID || axis->mark == MARK_VALID_FLOOR);
	bool rounds = axis->mark == MARK_VALID_FLOOR || axis->mark == MARK_PADDED_CEIL;
	Size in = size_tried(m, con->cells[0]), over = size_tried(m, con->cells[1]);
	Size k = size_tried(m, con->cells[2]);
	if (valid && size_is_bad(k)) {
		int64_t n;
		if (rounds || size_is_bad(in) || size_is_bad(over))
			return true; /* found too late */
		k = affine_kernel(sizes, axis, in, over);
		return !(size_is_const(sizes, k, &n) && n < 1) && give_size(m, con->cells[2], k);
	}
	if (!size_is_bad(in))
		return affine_may_be(m->s, axis, in, k) &&
		       give_size(m, con->cells[1], affine_over(sizes, axis, in, k));
	return size_is_bad(over) || rounds ||
	       give_size(m, con->cells[0], affine_in(sizes, axis, over, k));
}

static bool follow_sum(Meet *m, const Con *con)
{
	Sizes *sizes = m->s->sizes;
	Size whole = size_tried(m, con->cells[0]), sum = size_const(sizes, con->number);
	CellId open = NONE;
	int64_t times = 0, rest;
	for (uint32_t i = 1; i < con->ncells; i++) {
		CellId part = cell_root(m->s, con->cells[i]);
		Size size = size_tried(m, part);
		if (!size_is_bad(size))
			sum = size_add(sizes, sum, size);
		else if (open != NONE && open != part)
			times = -1;
		else if (open = part, times >= 0)
			times++;
	}
	if (open == NONE)
		return give_size(m, con->cells[0], sum);
	Size left = size_is_bad(whole) ? SIZE_BAD : size_sub(sizes, whole, sum);
	if (size_is_const(sizes, left, &rest) && rest < 0)
		return false;
	return size_is_bad(left) || times < 0 ||
	       give_size(m, open, size_div(sizes, left, size_const(sizes, times)));
}

static bool follow_factor(Meet *m, Size product, Size factor, CellId other)
{
	if (size_is_bad(product) || size_is_bad(factor) || size_is(m->s->sizes, factor, 0))
		return true;
	return size_divides(m->s->sizes, factor, product) &&
	       give_size(m, other, size_div(m->s->sizes, product, factor));
}

static bool follow_product(Meet *m, const Con *con)
{
	Size p = size_tried(m, con->cells[0]);
	Size a = size_tried(m, con->cells[1]), b = size_tried(m, con->cells[2]);
	if (!size_is_bad(a) && !size_is_bad(b))
		return give_size(m, con->cells[0], size_mul(m->s->sizes, a, b));
	return follow_factor(m, p, a, con->cells[2]) && follow_factor(m, p, b, con->cells[1]);
}

static bool follow_con(Meet *m, ConId id)
{
	const Con *con = &m->s->cons.at[id];
	Size size;
	if (con->done)
		return true;
	switch (con->kind) {
	case CON_PRODUCT: return follow_total(m, con);
	case CON_AFFINE: return follow_affine(m, con);
	case CON_CONCAT:
	case CON_ADD: return follow_sum(m, con);
	case CON_MUL: return follow_product(m, con);
	case CON_AT_LEAST:
		size = size_tried(m, con->cells[0]);
		return size_is_bad(size) ||
		       size_ge(m->s->sizes, size, size_const(m->s->sizes, con->number));
	default: return true;
	}
}

static bool stretches(const Meet *m, CellId cell, Size size)
{
	const Cell *c = cell_at(m->s, cell);
	return size_is(m->s->sizes, size, 1) && !c->label && !c->spelled;
}

/* Is all that broadcasts into the axis 1, and has it no size from elsewhere? */
static bool is_of_ones(const Meet *m, CellId res)
{
	Solver *s = m->s;
	if (!size_is_bad(size_tried(m, res)))
		return false;
	for (const Occ *o = cell_at(s, res)->occs.first; o; o = o->next) {
		const Edge *edge = o->kind == OCC_EDGE ? &s->edges.at[o->id] : NULL;
		s->tries++;
		if (!edge || (cell_root(s, edge->res) == cell_root(s, res) &&
			      !size_is(s->sizes, size_tried(m, edge->opnd), 1)))
			return false;
	}
	return true;
}

static bool follow_edge(Meet *m, const Edge *edge)
{
	Size opnd = size_tried(m, edge->opnd);
	if (edge->dead || size_is_bad(opnd))
		return true;
	return stretches(m, edge->opnd, opnd)
		       ? !is_of_ones(m, edge->res) || give_size(m, edge->res, opnd)
		       : give_size(m, edge->res, opnd);
}

/* Axes that would broadcast: no more than may. */
static bool count_ones(Meet *m)
{
	Solver *s = m->s;
	uint32_t n = 0;
	s->tries += (uint32_t)(m->edges.n / 8);
	for (size_t i = 0; i < m->edges.n; i++) {
		const Edge *edge = &s->edges.at[m->edges.at[i]];
		Size res = size_tried(m, edge->res);
		n += size_is(s->sizes, size_tried(m, edge->opnd), 1) && !size_is_bad(res) &&
		     !size_is(s->sizes, res, 1);
	}
	m->too_many |= n > m->ones;
	return n <= m->ones;
}

/* All that follows from the sizes given since `from`. */
static bool follow(Meet *m, uint32_t from)
{
	Solver *s = m->s;
	for (; from < m->ntrail; from++) { /* falls: open cells without a size */
		CellId cell = m->open[m->trail[from]].cell;
		for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
			s->tries++;
			if (!(o->kind == OCC_CON ? follow_con(m, o->id)
						 : follow_edge(m, &s->edges.at[o->id])))
				return false;
		}
		for (size_t i = 0; i < m->totals.n && from + 1 == m->ntrail; i++) {
			s->tries++; /* those with open rows stand in no list of occurrences */
			if (!follow_con(m, m->totals.at[i]))
				return false;
		}
	}
	return count_ones(m);
}

void meet_take_back(Meet *m, uint32_t to)
{
	while (m->ntrail > to) /* falls: the trail */
		m->open[m->trail[--m->ntrail]].size = SIZE_BAD;
}

/* ---- the search ---- */

/* The divisors of a total that is a number, in order; all of them up to the square of
 * MOST_DIVISOR. */
static Divisors divisors_of(Meet *m, int64_t total)
{
	Divisors low = {0}, all = {0};
	int64_t d = 1;
	for (; d <= total / d && d <= MOST_DIVISOR; d++) { /* falls: MOST_DIVISOR - d */
		if (total % d == 0)
			PUSH(m->s->arena, low, d);
	}
	m->s->tries += (uint32_t)(d >> 8);
	for (size_t i = 0; i < low.n; i++)
		PUSH(m->s->arena, all, low.at[i]);
	for (size_t i = low.n; i-- > 0;) {
		if (total / low.at[i] != low.at[i])
			PUSH(m->s->arena, all, total / low.at[i]);
	}
	m->cut |= total / MOST_DIVISOR > MOST_DIVISOR;
	return all;
}

/* A symbolic total: small numbers, and the last factor follows. */
static Divisors few_numbers(Meet *m)
{
	Divisors all = {0};
	for (int64_t d = 1; d <= MOST_TIMES; d++)
		PUSH(m->s->arena, all, d);
	m->cut = true;
	return all;
}

static void list_choices_of(Meet *m, ConId id)
{
	Solver *s = m->s;
	Size total = cell_value(s, s->cons.at[id].cells[0]);
	Divisors sizes = {0};
	Side side;
	int64_t n;
	if (!read_side(s, id, &side))
		return;
	for (uint32_t i = 0; i < side.n; i++) {
		uint32_t place = place_of(m, side.open[i].cell);
		if (!m->open[place].is_factor || m->open[place].listed ||
		    is_of_param(s, side.open[i].cell))
			continue;
		if (sizes.n == 0)
			sizes = size_is_const(s->sizes, total, &n) ? divisors_of(m, n)
								   : few_numbers(m);
		m->open[place].listed = true;
		PUSH(s->arena, m->choices, ((Choice){side.open[i], place, id, sizes}));
	}
}

/* Totals that are numbers first, as they have few divisors; each in storage order. */
void meet_list_choices(Meet *m)
{
	Solver *s = m->s;
	int64_t n;
	for (size_t i = 1; i < m->totals.n; i++) { /* in the order of the program */
		ConId id = m->totals.at[i];
		size_t at = i;
		for (; at > 0 && m->totals.at[at - 1] > id; at--) /* falls: at */
			m->totals.at[at] = m->totals.at[at - 1];
		m->totals.at[at] = id;
	}
	for (int symbolic = 0; symbolic < 2; symbolic++) {
		for (size_t i = 0; i < m->totals.n; i++) {
			Size total = cell_value(s, s->cons.at[m->totals.at[i]].cells[0]);
			if (!size_is_bad(total) && size_is_const(s->sizes, total, &n) != symbolic)
				list_choices_of(m, m->totals.at[i]);
		}
	}
}

/* Sizes for the choices from the i-th on. */
static bool search_choices(Meet *m, size_t i)
{
	while (i < m->choices.n && (!size_is_bad(m->open[m->choices.at[i].open].size) ||
				    m->s->cons.at[m->choices.at[i].con].done))
		i++; /* falls: choices */
	if (i == m->choices.n)
		return true;
	const Choice *c = &m->choices.at[i];
	uint32_t before = m->ntrail;
	for (size_t k = 0; k < c->sizes.n && m->s->tries < MOST_TRIES; k++) { /* falls: sizes */
		Size size = size_const(m->s->sizes, c->sizes.at[k]);
		m->s->tries++;
		if (give_size(m, c->spot.cell, size) && follow(m, before) &&
		    search_choices(m, i + 1))
			return true;
		meet_take_back(m, before);
	}
	return false;
}

bool meet_solve(Meet *m)
{
	for (m->ones = 0;; m->ones++) { /* falls: axes that meet, less `ones` */
		m->too_many = false;
		if (search_choices(m, 0))
			return true;
		if (!m->too_many || m->s->tries >= MOST_TRIES)
			return false;
	}
}
