/* Cells: the sizes of axes, as classes of a union-find.
 *
 * A class has at most one value. Where two sizes meet that may or may not be equal (n and 3), the
 * better name of the two stays, by an order that does not depend on which came first; that they are
 * equal becomes a guard when all is solved (guards.c). Values only move down that order, which is
 * well-founded, so replacing ends.
 *
 * An edge says that res refines opnd. It acts when opnd is known not to broadcast (they are then
 * one class); until then the size of res is a bound of opnd, which is that size or the
 * broadcasting 1. Bounds flow from class to class along edges and grow at most twice.
 */
#include "base/size_order.h"
#include "base/size_program.h"
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/solver.h"
#include "infer/trail.h"

#include <string.h>

CellId cell_new(Solver *s, Sym name, Span span)
{
	CellId id = (CellId)s->cells.n;
	Cell cell = {.parent = id,
		     .rank = 1,
		     .name = name,
		     .span = span,
		     .proof = NONE,
		     .proof_con = NONE,
		     .born = NONE,
		     .label_born = NONE,
		     .bound_from = NONE,
		     .bound_con = NONE};
	PUSH(s->arena, s->cells, cell);
	return id;
}

CellId cell_root(Solver *s, CellId cell)
{
	Cell *cells = s->cells.at;
	bool shorten = !solver_failed(s);    /* what the trail takes back must not be skipped */
	while (cells[cell].parent != cell) { /* falls: distance to the root */
		if (shorten)
			cells[cell].parent = cells[cells[cell].parent].parent;
		cell = cells[cell].parent;
	}
	return cell;
}

CellId cell_written(Solver *s, Size size, bool spelled, Span span)
{
	CellId cell = cell_new(s, NULL, span);
	s->cells.at[cell].spelled = spelled;
	cell_set(s, cell, size,
		 (Why){.kind = WHY_WRITTEN, .con = NONE, .from = NONE, .span = span});
	PUSH(s->arena, s->leaves, ((Leaf){.cell = cell, .size = size, .span = span}));
	return cell;
}

bool cell_spelled(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	return c->spelled || (c->follows && !c->number);
}

/* Does not broadcast, whatever else will be found out about it. */
static bool cell_solid(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	return c->label || c->large || cell_spelled(s, cell) ||
	       (!size_is_bad(c->value) && !size_is(s->sizes, c->value, 1));
}

bool cell_stretches(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	return size_is(s->sizes, c->value, 1) && !c->label && !cell_spelled(s, cell);
}

bool sizes_differ(const Sizes *sizes, Size a, Size b)
{
	if (size_same(a, b))
		return false;
	Sizes *table = (Sizes *)sizes; /* interning a difference changes no size */
	return size_ge(sizes, a, size_plus(table, b, 1)) ||
	       size_ge(sizes, b, size_plus(table, a, 1));
}

/* By magnitude, so that no number has endlessly many before it. */
static bool number_before(int64_t x, int64_t y)
{
	uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x, b = y < 0 ? -(uint64_t)y : (uint64_t)y;
	return a != b ? a < b : x > y;
}

bool size_before(Solver *s, Size a, Size b)
{
	int64_t x, y;
	bool ca = size_is_const(s->sizes, a, &x), cb = size_is_const(s->sizes, b, &y);
	if (ca || cb)
		return ca && (!cb || number_before(x, y));
	SizeOp *pa, *pb;
	size_t na = size_program(s->arena, s->sizes, a, &pa);
	size_t nb = size_program(s->arena, s->sizes, b, &pb);
	if (na != nb)
		return na < nb;
	for (size_t i = 0; i < na; i++) {
		if (pa[i].code != pb[i].code)
			return pa[i].code < pb[i].code;
		if (pa[i].arg != pb[i].arg)
			return number_before(pa[i].arg, pb[i].arg);
	}
	return false;
}

/* ---- values ---- */

static void too_large(Solver *s, CellId cell, ConId con)
{
	Cell *c = cell_at(s, cell);
	if (!c->broken) {
		Conflict *large = conflict_new(s, CONFLICT_TOO_LARGE, con);
		large->cells[0] = cell;
		large->limit = sizes_limit_text(s->sizes);
	}
	c->broken = true;
}

void cell_spell(Solver *s, CellId cell, bool follows)
{
	Cell *c = cell_at(s, cell);
	bool *spells = follows ? &c->follows : &c->spelled;
	if (*spells)
		return;
	trail_cell(s, cell_root(s, cell));
	*spells = true;
	occs_wake(s, &c->occs);
}

void cell_exceeds_one(Solver *s, CellId cell)
{
	Cell *c = cell_at(s, cell);
	if (c->large)
		return;
	trail_cell(s, cell_root(s, cell));
	c->large = true;
	occs_wake(s, &c->occs);
}

void cell_set(Solver *s, CellId cell, Size value, Why why)
{
	if (size_is_bad(value)) {
		too_large(s, cell, why.con);
		return;
	}
	Cell *c = cell_at(s, cell);
	if (size_is_bad(c->value)) {
		trail_cell(s, cell_root(s, cell));
		c->value = value;
		c->born = cell;
		c->why = why;
		c->number |= why.kind != WHY_RELATION && why.kind != WHY_SYSTEM && !c->spelled;
		occs_wake(s, &c->occs);
	} else if (!size_same(c->value, value)) {
		CellId other = cell_new(s, NULL, why.span);
		cell_set(s, other, value, why);
		cells_equal(s, cell, other, why.con);
	}
}

void cell_label(Solver *s, CellId cell, Sym label)
{
	Cell *c = cell_at(s, cell);
	if (!label || c->label)
		return;
	trail_cell(s, cell_root(s, cell));
	c->label = label;
	c->label_born = cell;
	occs_wake(s, &c->occs);
}

/* ---- merging ---- */

void proof_reroot(Solver *s, CellId cell)
{
	CellId to = NONE;
	ConId con = NONE;
	while (cell != NONE) { /* falls: distance to the root of the proof */
		Cell *c = &s->cells.at[cell];
		CellId next = c->proof;
		ConId next_con = c->proof_con;
		trail_cell(s, cell);
		c->proof = to;
		c->proof_con = con;
		to = cell;
		con = next_con;
		cell = next;
	}
}

void conflict_labels(Solver *s, ConflictKind kind, ConId con, CellId a, CellId b)
{
	const Cell *x = cell_at(s, a), *y = cell_at(s, b);
	Conflict *c = conflict_new(s, kind, con);
	c->cells[0] = a, c->cells[1] = b;
	c->labels[0] = x->label, c->labels[1] = y->label;
	c->born[0] = x->label_born, c->born[1] = y->label_born;
}

static bool clash(Solver *s, CellId a, CellId b, ConId con)
{
	Cell *x = cell_at(s, a), *y = cell_at(s, b);
	bool broken = x->broken || y->broken;
	if (x->label && y->label && x->label != y->label) {
		if (!broken)
			conflict_labels(s, CONFLICT_LABELS, con, a, b);
	} else if (!size_is_bad(x->value) && !size_is_bad(y->value) &&
		   sizes_differ(s->sizes, x->value, y->value)) {
		if (!broken) {
			Conflict *c = conflict_sizes(s, CONFLICT_SIZES, con, x->value, y->value);
			c->cells[0] = a, c->cells[1] = b;
		}
	} else {
		return false;
	}
	cell_at(s, a)->broken = cell_at(s, b)->broken = true;
	return true;
}

static void merge_bounds(Solver *s, Cell *to, const Cell *from)
{
	if (from->bound_kind == BOUND_NONE)
		return;
	if (to->bound_kind == BOUND_NONE) {
		to->bound = from->bound;
		to->bound_from = from->bound_from;
		to->bound_con = from->bound_con;
		to->bound_kind = from->bound_kind;
	} else if (!size_same(to->bound, from->bound)) {
		to->bound_kind = BOUND_MIXED;
		if (size_is_bad(to->value) && sizes_differ(s->sizes, to->bound, from->bound)) {
			to->value = size_const(s->sizes, 1);
			to->number = true;
			to->born = (CellId)(to - s->cells.at);
			to->why =
				(Why){WHY_JOIN, from->bound_con, from->bound_from, SPAN_NONE, NULL};
		}
	}
}

/* What others may act on. */
static bool same_state(const Cell *a, const Cell *b)
{
	return size_same(a->value, b->value) && a->label == b->label && a->spelled == b->spelled &&
	       a->follows == b->follows && a->number == b->number && a->large == b->large &&
	       a->bound_kind == b->bound_kind && size_same(a->bound, b->bound);
}

static void merge_into(Solver *s, CellId root, CellId child)
{
	Cell *to = &s->cells.at[root], *from = &s->cells.at[child];
	Cell before = *to;
	bool known = !size_is_bad(to->value);

	if (!size_is_bad(from->value) && (!known || size_before(s, from->value, to->value))) {
		to->value = from->value;
		to->born = from->born;
		to->why = from->why;
	}
	if (!to->label && from->label) {
		to->label = from->label;
		to->label_born = from->label_born;
	}
	to->spelled |= from->spelled;
	to->follows |= from->follows;
	to->number |= from->number;
	to->large |= from->large;
	to->terminal |= from->terminal;
	to->param |= from->param;
	to->made |= from->made;
	to->may_be_empty &= from->may_be_empty;
	to->is_index &= from->is_index;
	to->factor |= from->factor;
	to->broken |= from->broken;
	merge_bounds(s, to, from);
	bool wake_to = !same_state(to, &before);
	if (wake_to)
		occs_wake(s, &before.occs);
	if (!wake_to ||
	    !same_state(to, from)) /* a relation may now have one unknown instead of two */
		occs_wake(s, &from->occs);
	occs_append(&s->cells.at[root].occs, &from->occs);
	from->parent = root;
	to->rank += from->rank;
}

void cells_equal(Solver *s, CellId a, CellId b, ConId con)
{
	CellId x = cell_root(s, a), y = cell_root(s, b);
	if (x == y || clash(s, a, b, con))
		return;
	if (s->cells.at[x].rank < s->cells.at[y].rank) {
		CellId t = x;
		x = y, y = t;
		t = a, a = b, b = t;
	}
	proof_reroot(s, b);
	trail_cell(s, b);
	s->cells.at[b].proof = a;
	s->cells.at[b].proof_con = con;
	trail_cell(s, x);
	trail_cell(s, y);
	merge_into(s, x, y);
}

/* ---- inequalities ---- */

static void add_bound(Solver *s, CellId opnd, Size bound, CellId from, BoundKind kind, ConId con)
{
	Cell *c = cell_at(s, opnd);
	if (c->bound_kind != BOUND_NONE && size_same(c->bound, bound) && kind != BOUND_MIXED)
		return;
	if (c->bound_kind == BOUND_ONE && cell_root(s, c->bound_from) == cell_root(s, from)) {
		c->bound = bound; /* another name for the same size */
		c->bound_kind = kind;
		occs_wake(s, &c->occs);
		return;
	}
	if (c->bound_kind == BOUND_MIXED && !sizes_differ(s->sizes, c->bound, bound))
		return;
	trail_cell(s, cell_root(s, opnd));
	BoundKind was = c->bound_kind;
	Cell other = {.bound = bound, .bound_from = from, .bound_con = con, .bound_kind = kind};
	bool known = !size_is_bad(c->value);
	merge_bounds(s, c, &other);
	if (kind == BOUND_MIXED)
		c->bound_kind = BOUND_MIXED;
	if (c->bound_kind != was || known != !size_is_bad(c->value))
		occs_wake(s, &c->occs);
}

void cell_refines(Solver *s, CellId res, CellId opnd, ConId con)
{
	if (cell_root(s, res) == cell_root(s, opnd))
		return;
	uint32_t id = (uint32_t)s->edges.n;
	PUSH(s->arena, s->edges, ((Edge){.res = res, .opnd = opnd, .con = con}));
	occs_add(s, &cell_at(s, res)->occs, OCC_EDGE, id);
	occs_add(s, &cell_at(s, opnd)->occs, OCC_EDGE, id);
	edge_wake(s, id);
}

void edge_run(Solver *s, uint32_t id)
{
	Edge *e = &s->edges.at[id];
	if (e->dead)
		return;
	if (cell_root(s, e->res) == cell_root(s, e->opnd)) {
		e->dead = true;
	} else if (cell_solid(s, e->opnd)) {
		e->dead = true;
		cells_equal(s, e->res, e->opnd, e->con);
	} else if (!cell_known(s, e->opnd)) {
		const Cell *res = cell_at(s, e->res);
		if (!size_is_bad(res->value))
			add_bound(s, e->opnd, res->value, e->res, BOUND_ONE, e->con);
		else if (res->bound_kind != BOUND_NONE)
			add_bound(s, e->opnd, res->bound, res->bound_from, res->bound_kind, e->con);
	}
}
