/* Closing rule for known totals that hang together: sizes for the open factors of all of them.
 *
 *   einsum("a, b; b, c => a, c", reshape(x), reshape(y))      a*b = 12, b*c = 20
 *   reshape(x) + reshape(y)                                   b = d, or one of the two is 1
 *
 * One total alone is shared out in close_totals.c. Here the open sizes that totals, relations and
 * broadcasts tie to one another are found first, then sizes for them are searched: the open factors
 * in the order of the program, each from 1 upwards through the divisors of its total, and after
 * each choice all that follows from it. Axes of 1 that broadcast are counted: first none may, then
 * one, and so on; so the sizes are those with the fewest, and of these the least. A factor of a
 * parameter is never chosen, only derived.
 *
 * Nothing of the solver changes before sizes for all are found; then the choices are made, and
 * propagation repeats what followed. Where the search ends without sizes, no sizes are: an error
 * with the totals. The search has a budget for the program, counted in constraints looked at; what
 * is left when it ends is an error too. More open sizes than MOST_OPEN are not taken together. */
#include "infer/cells.h"
#include "infer/close_meet.h"
#include "infer/trail.h"

enum { MOST_LOOKED_AT = 4096 };

/* ---- what hangs together ---- */

static void add_cell(Meet *m, CellId cell)
{
	int64_t n;
	if (cell != NONE && cell_known(m->s, cell))
		m->symbolic |= !size_is_const(m->s->sizes, cell_value(m->s, cell), &n);
	if (cell == NONE || cell_known(m->s, cell) ||
	    place_of(m, cell = cell_root(m->s, cell)) != MOST_OPEN)
		return;
	if (m->nopen == MOST_OPEN) {
		m->fails = true;
		return;
	}
	m->s->cells.at[cell].slot = m->nopen;
	m->open[m->nopen++] = (Open){.cell = cell};
}

static void add_total(Meet *m, ConId id)
{
	Solver *s = m->s;
	CellId total = s->cons.at[id].cells[0];
	Side side;
	if (!read_side(s, id, &side)) {
		m->fails = true;
		return;
	}
	int64_t n;
	m->symbolic |= !size_is_const(s->sizes, side.known, &n);
	bool known = cell_known(s, total) && !size_is(s->sizes, cell_value(s, total), 0);
	add_cell(m, total);
	for (uint32_t i = 0; i < side.n && !m->fails; i++) {
		add_cell(m, side.open[i].cell);
		m->fails |= place_of(m, side.open[i].cell) == MOST_OPEN;
		if (!m->fails && known && !side.grows)
			m->open[place_of(m, side.open[i].cell)].is_factor = true;
	}
	m->waits |= side.grows;
	m->nknown += known && !side.grows && side.n > 0;
	PUSH(s->arena, m->totals, id);
}

static void meet_add(Meet *m, ConId id)
{
	Solver *s = m->s;
	Con *con = &s->cons.at[id];
	if (con->done || con->round == s->rounds || con->kind < CON_AT_LEAST)
		return;
	con->round = s->rounds;
	if (con->kind == CON_PRODUCT) {
		add_total(m, id);
		return;
	}
	uint32_t before = 0;
	for (uint32_t i = 0; i < con->ncells; i++) {
		before += con->cells[i] != NONE && !cell_known(s, con->cells[i]);
		add_cell(m, con->cells[i]);
	}
	if (before > 1)
		PUSH(s->arena, m->ties, id);
}

static void add_edge(Meet *m, CellId from, uint32_t id)
{
	const Edge *edge = &m->s->edges.at[id];
	if (edge->dead)
		return;
	add_cell(m, edge->res);
	add_cell(m, edge->opnd);
	uint32_t res = place_of(m, cell_root(m->s, edge->res));
	if (res != MOST_OPEN)
		m->open[res].is_result = true;
	if (cell_root(m->s, edge->opnd) != from)
		return;
	m->waits |= row_may_give(m->s, edge);
	PUSH(m->s->arena, m->edges, id);
}

static void gather(Meet *m, ConId id)
{
	Solver *s = m->s;
	s->rounds++;
	meet_add(m, id);
	for (uint32_t i = 0; i < m->nopen && !m->fails; i++) { /* falls: cells not looked at */
		CellId cell = m->open[i].cell;
		for (const Occ *o = s->cells.at[cell].occs.first; o && !m->fails; o = o->next) {
			m->fails |= ++m->looked > MOST_LOOKED_AT;
			if (o->kind == OCC_CON)
				meet_add(m, o->id);
			else
				add_edge(m, cell, o->id);
		}
	}
	for (size_t i = 0; i < m->edges.n && !m->fails; i++) {
		CellId opnd = cell_root(s, s->edges.at[m->edges.at[i]].opnd);
		const Open *open = &m->open[place_of(m, opnd)];
		m->waits |= !open->is_factor && !open->is_result;
	}
}

/* ---- what becomes of it ---- */

static void take_sizes(Meet *m, const char *rule)
{
	Solver *s = m->s;
	Size sizes[MOST_OPEN];
	for (uint32_t i = 0; i < m->nopen; i++)
		sizes[i] = m->open[i].size;
	for (size_t i = 0; i < m->choices.n && !solver_stops(s); i++) {
		const Choice *c = &m->choices.at[i];
		if (cell_known(s, c->spot.cell))
			continue;
		close_note(s, rule, &c->spot);
		cell_set(s, c->spot.cell, sizes[c->open],
			 (Why){WHY_RULE, c->con, NONE, SPAN_NONE, rule});
		propagate(s);
	}
}

static bool is_given(const Meet *m, ConId id)
{
	Side side;
	return cell_known(m->s, m->s->cons.at[id].cells[0]) && read_side(m->s, id, &side) &&
	       side.n > 0;
}

/* Leaves out each total without which there are no sizes either. */
static void find_small(Meet *m)
{
	for (size_t i = 0; i < m->totals.n; i++) {
		Con *con = &m->s->cons.at[m->totals.at[i]];
		con->done = true;
		m->cut = false;
		bool solved = meet_solve(m);
		meet_take_back(m, 0);
		con->done = !solved && !m->cut && m->s->tries < MOST_TRIES;
	}
}

static void totals_conflict(Meet *m, ConflictKind kind)
{
	Solver *s = m->s;
	Conflict *c = conflict_new(s, kind, NONE);
	c->con = 0;
	for (size_t i = 0; i < m->totals.n; i++) {
		ConId id = m->totals.at[i];
		if (s->cons.at[id].done || !is_given(m, id))
			continue;
		c->con = id;
		PUSH(s->arena, c->cons, id);
	}
	for (size_t i = 0; i < m->ties.n; i++)
		PUSH(s->arena, c->ties, m->ties.at[i]);
	for (size_t i = 0; i < m->edges.n; i++)
		PUSH(s->arena, c->meets, s->edges.at[m->edges.at[i]].con);
	for (uint32_t i = 0; i < m->nopen; i++)
		cell_at(s, m->open[i].cell)->broken = true;
}

bool close_meeting(Solver *s, const char *rule, ConId id, bool patient)
{
	Meet m = {.s = s};
	gather(&m, id);
	if (m.fails || (m.nknown < 2 && m.ties.n == 0))
		return false;
	if (patient && m.waits)
		return m.nknown > 1;
	meet_list_choices(&m);
	if (meet_solve(&m)) {
		take_sizes(&m, rule);
		return true;
	}
	bool spent = s->tries >= MOST_TRIES;
	if (m.nknown < 2 || ((m.cut || m.symbolic) && !spent))
		return false;
	if (spent) {
		totals_conflict(&m, CONFLICT_TOTALS_UNTRIED);
		return true;
	}
	find_small(&m);
	totals_conflict(&m, CONFLICT_TOTALS);
	return true;
}
