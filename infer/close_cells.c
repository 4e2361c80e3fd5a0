/* Closing rules for sizes, in the order of the table in close.c.
 *
 * A rule that takes bounds finds them anew first, since sizes have got other names and classes have
 * merged. A rule that guesses propagates after each guess, so that nothing is guessed which follows
 * from an earlier one.
 */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/close_rules.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/trail.h"

#include <inttypes.h>

void close_choose(Solver *s, const char *rule, const Spot *spot, Size value, CellId from, ConId con)
{
	if (cell_known(s, spot->cell))
		return;
	close_note(s, rule, spot);
	cell_set(s, spot->cell, value, (Why){WHY_RULE, con, from, SPAN_NONE, rule});
}

/* ---- circles of inequalities: Tarjan's components, on a stack of its own ---- */

typedef struct Circle {
	Solver *s;
	uint32_t *index, *low;
	bool *on;
	VEC(CellId) path;
	VEC(CellId) calls;
	const Occ **next; /* by cell: the edge to look at next */
	uint32_t count;
} Circle;

static void enter(Circle *t, CellId cell)
{
	t->index[cell] = t->low[cell] = ++t->count;
	t->on[cell] = true;
	t->next[cell] = t->s->cells.at[cell].occs.first;
	PUSH(t->s->arena, t->path, cell);
	PUSH(t->s->arena, t->calls, cell);
}

static CellId next_cell(Circle *t, CellId cell, ConId *con)
{
	while (t->next[cell]) { /* falls: edges of the cell not looked at */
		const Occ *o = t->next[cell];
		t->next[cell] = o->next;
		if (o->kind != OCC_EDGE || t->s->edges.at[o->id].dead)
			continue;
		const Edge *e = &t->s->edges.at[o->id];
		CellId to = cell_root(t->s, e->opnd);
		*con = e->con;
		if (cell_root(t->s, e->res) == cell && to != cell && !cell_known(t->s, to))
			return to;
	}
	return NONE;
}

typedef struct Merge {
	CellId a, b;
	ConId con;
} Merge;
typedef VEC(Merge) Merges;

static void visit_circle(Circle *t, CellId start, Merges *merges)
{
	ConId con = NONE;
	enter(t, start);
	while (t->calls.n > 0) { /* falls: cells not entered, then cells on the stack */
		CellId cell = t->calls.at[t->calls.n - 1];
		CellId to = next_cell(t, cell, &con);
		if (to != NONE && !t->index[to]) {
			enter(t, to);
		} else if (to != NONE) {
			if (t->on[to] && t->index[to] < t->low[cell])
				t->low[cell] = t->index[to];
		} else {
			t->calls.n--;
			CellId up = t->calls.n ? t->calls.at[t->calls.n - 1] : NONE;
			if (up != NONE && t->low[cell] < t->low[up])
				t->low[up] = t->low[cell];
			if (t->low[cell] != t->index[cell])
				continue;
			CellId member;
			do {
				member = t->path.at[--t->path.n];
				t->on[member] = false;
				if (member != cell)
					PUSH(t->s->arena, *merges, ((Merge){member, cell, NONE}));
			} while (member != cell); /* falls: the path */
		}
	}
}

void close_cycles(Solver *s, const char *rule)
{
	size_t n = s->cells.n;
	Circle t = {.s = s,
		    .index = ARENA_ARRAY(s->arena, uint32_t, n + 1),
		    .low = ARENA_ARRAY(s->arena, uint32_t, n + 1),
		    .on = ARENA_ARRAY(s->arena, bool, n + 1),
		    .next = ARENA_ARRAY(s->arena, const Occ *, n + 1)};
	Merges merges = {0};
	Spots open = open_cells(s);
	for (size_t i = 0; i < open.n; i++) {
		if (!t.index[open.at[i].cell])
			visit_circle(&t, open.at[i].cell, &merges);
	}
	for (size_t i = 0; i < merges.n; i++) {
		Spot spot = {.node = NODE_NONE, .cell = merges.at[i].a, .var = NONE};
		close_note(s, rule, &spot);
		cells_equal(s, merges.at[i].a, merges.at[i].b, merges.at[i].con);
	}
}

/* ---- bounds ---- */

static void take_bound(Solver *s, const char *rule, const Spot *spot)
{
	const Cell *c = cell_at(s, spot->cell);
	if (c->bound_kind == BOUND_NONE || (c->is_index && !cell_is_leaf(c)))
		return;
	Size now = cell_value(s, c->bound_from);
	Size value = size_is_bad(now) ? c->bound : now;
	if (c->bound_kind == BOUND_MIXED)
		value = size_const(s->sizes, 1);
	close_choose(s, rule, spot, value, c->bound_from, c->bound_con);
}

void close_leaf_bounds(Solver *s, const char *rule)
{
	bounds_refresh(s);
	close_refused(s, rule);
	Spots open = open_cells(s);
	for (size_t before = SIZE_MAX; before != s->events.n && !solver_stops(s);) {
		before = s->events.n; /* falls: open cells */
		for (size_t i = 0; i < open.n; i++) {
			if (cell_is_leaf(cell_at(s, open.at[i].cell)))
				take_bound(s, rule, &open.at[i]);
		}
		propagate(s);
	}
}

/* A leaf's axis that only broadcasts, and that nothing has given a size. */
static bool is_free_leaf(const Cell *c)
{
	for (const Occ *o = c->occs.first; o; o = o->next) {
		if (o->kind == OCC_CON)
			return false;
	}
	return cell_is_leaf(c) && c->bound_kind == BOUND_NONE;
}

/* Open sizes, each of which broadcasts into an earlier one or is the first. */
typedef struct Walk {
	VEC(CellId) cells;
	bool ones; /* a 1 broadcasts into one of them */
} Walk;

/* Adds the open sizes that broadcast into this one, each once. False where one does that is not 1,
 * or where nothing does. */
static bool add_operands(Solver *s, CellId cell, Walk *walk)
{
	bool any = false;
	for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
		if (o->kind != OCC_EDGE || cell_root(s, s->edges.at[o->id].res) != cell)
			continue;
		CellId opnd = cell_root(s, s->edges.at[o->id].opnd);
		Cell *c = &s->cells.at[opnd];
		int64_t index = c->is_index && size_is_bad(c->value) ? least_index(s, opnd) : 0;
		bool one = cell_stretches(s, opnd) || index == 1;
		any |= opnd != cell;
		walk->ones |= one && opnd != cell;
		if (opnd == cell || c->walk == s->walks || one || is_free_leaf(c))
			continue;
		if (!size_is_bad(c->value) || index > 1 || c->refused == s->stage)
			return false;
		c->walk = s->walks;
		PUSH(s->arena, walk->cells, opnd);
	}
	return any;
}

/* Whether something broadcasts into the open size, and all that does is 1, a leaf without a size,
 * or a size for which the same holds: a result, before or after this one in the program. A size of
 * which it does not hold is not walked again in this stage. */
static bool only_ones(Solver *s, CellId cell)
{
	Walk walk = {0};
	bool fits = true;
	s->walks++;
	PUSH(s->arena, walk.cells, cell_root(s, cell));
	for (size_t i = 0; fits && i < walk.cells.n; i++) /* falls: cells not seen yet */
		fits = add_operands(s, walk.cells.at[i], &walk);
	if (!fits)
		cell_at(s, cell)->refused = s->stage;
	return fits && walk.ones;
}

void close_result_ones(Solver *s, const char *rule)
{
	Spots open = open_cells(s);
	const bool *said = said_by_totals(s);
	for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
		CellId cell = cell_root(s, open.at[i].cell);
		if (cell_known(s, cell) || said[open.at[i].cell] || !only_ones(s, cell))
			continue;
		close_choose(s, rule, &open.at[i], size_const(s->sizes, 1), NONE, NONE);
		propagate(s);
	}
}

void close_least_of(Solver *s, const char *rule, NodeId node, ConId total)
{
	FlatRow f;
	for (int k = 0; k < ROW_KINDS; k++) {
		row_flatten(s, &s->rows[node][k], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail && !solver_stops(s); i++) {
			Spot spot = {node, (RowKind)k, i, cell_root(s, flat_at(&f, i)), NONE};
			if (cell_known(s, spot.cell))
				continue;
			int64_t least = only_ones(s, spot.cell)	       ? 1
					: cell_at(s, spot.cell)->param ? 0
								       : least_index(s, spot.cell);
			if (least == 0 || (is_of_leaf(s, spot.cell) && total_says_params(s, total)))
				continue;
			close_choose(s, rule, &spot, size_const(s->sizes, least), NONE, NONE);
			propagate(s);
		}
	}
}

void close_bounds(Solver *s, const char *rule)
{
	bounds_refresh(s);
	Spots open = open_cells(s);
	for (size_t i = 0; i < open.n; i++)
		take_bound(s, rule, &open.at[i]);
}

/* ---- guesses ---- */

/* Results of relations wait for their parts, the numerators of totals for what divides them:
 * guessing such a size first could make the relation unsolvable. The axes of a total that is known
 * wait for it; where they are too many for its rule, and of words, which follow from their numbers,
 * the last one does. */
static bool *held_back(Solver *s)
{
	FlatRow f;
	Side side;
	bool *held = ARENA_ARRAY(s->arena, bool, s->cells.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind < CON_AFFINE || con->done)
			continue;
		held[cell_root(s, con->cells[0])] = true;
		bool given = con->kind == CON_PRODUCT && cell_known(s, con->cells[0]);
		bool shared = given && read_side(s, id, &side);
		CellId last = NONE;
		for (uint32_t r = 0; r < con->nrows; r++) {
			row_flatten(s, &con->rows[r], &f);
			for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
				CellId cell = cell_root(s, flat_at(&f, i));
				held[cell] |= shared;
				last = cell_known(s, cell) ? last : cell;
			}
		}
		if (last != NONE && (given || (con->kind == CON_PRODUCT && con->number > 1)))
			held[last] = true;
	}
	return held;
}

/* Open sizes that meet a literal 1, themselves or through other open sizes: none of them meets
 * anything else (it would have a bound, or be a factor of a total), so 1 is what is meant. By
 * root. */
static bool *meeting_ones(Solver *s)
{
	bool *meets = ARENA_ARRAY(s->arena, bool, s->cells.n + 1);
	const bool *said = said_by_totals(s);
	VEC(CellId) work = {0};
	for (size_t i = 0; i < s->edges.n; i++) {
		CellId res = cell_root(s, s->edges.at[i].res);
		if (cell_known(s, res) || meets[res] || !cell_stretches(s, s->edges.at[i].opnd) ||
		    said[res])
			continue;
		meets[res] = true;
		PUSH(s->arena, work, res);
	}
	for (size_t i = 0; i < work.n; i++) { /* falls: cells not marked yet */
		for (const Occ *o = s->cells.at[work.at[i]].occs.first; o; o = o->next) {
			if (o->kind != OCC_EDGE)
				continue;
			CellId ends[2] = {cell_root(s, s->edges.at[o->id].res),
					  cell_root(s, s->edges.at[o->id].opnd)};
			for (int k = 0; k < 2; k++) {
				if (meets[ends[k]] || cell_known(s, ends[k]) || said[ends[k]])
					continue;
				meets[ends[k]] = true;
				PUSH(s->arena, work, ends[k]);
			}
		}
	}
	return meets;
}

static void guess(Solver *s, const char *rule, const Spot *spot)
{
	const Cell *c = cell_at(s, spot->cell);
	close_choose(s, rule, spot, size_const(s->sizes, c->may_be_empty ? 0 : 1), NONE, NONE);
	propagate(s);
}

/* Numbers that no use gives axes are those of one cell, where the words are as many as is asked.
 * The products of words and numbers stand one after the other (generate.c). */
void close_words(Solver *s, const char *rule)
{
	FlatRow words, numbers;
	for (ConId id = 0; id + 1 < s->cons.n && !solver_stops(s); id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_PRODUCT || con->number == 1 || cell_known(s, con->cells[0]))
			continue;
		row_flatten(s, &con->rows[1], &words); /* the output rows, in storage order */
		row_flatten(s, &s->cons.at[id + 1].rows[1], &numbers);
		if (words.var != NONE || words.nlead + words.ntrail != 1 || numbers.var == NONE ||
		    row_bounds(s)[numbers.var].any)
			continue;
		Spot spot = {s->graph->nodes.at[con->node].args[0], ROW_OUTPUT, 0,
			     cell_root(s, flat_at(&words, 0)), NONE};
		if (!cell_known(s, spot.cell))
			guess(s, rule, &spot);
	}
}

/* Axes of operands that have no place yet in a result whose row is open. */
static void hold_unplaced(Solver *s, bool *held)
{
	FlatRow res, opnd;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->kind != CON_ROW_LE || con->done)
			continue;
		row_flatten(s, &con->a, &res);
		row_flatten(s, &con->b, &opnd);
		if (res.var == NONE)
			continue;
		uint32_t end = opnd.nlead + opnd.ntrail - con->ndone_trail;
		for (uint32_t i = con->ndone_lead; i < end; i++)
			held[cell_root(s, flat_at(&opnd, i))] = true;
	}
}

/* A tensor of a routine is as long as what it is set to, however late that is known. */
static void hold_targets(Solver *s, bool *held)
{
	for (size_t i = 0; i < s->edges.n; i++) {
		CellId res = cell_root(s, s->edges.at[i].res);
		CellId opnd = cell_root(s, s->edges.at[i].opnd);
		held[res] |= res != opnd && !cell_known(s, opnd);
	}
}

void close_leaf_ones(Solver *s, const char *rule)
{
	Spots open = open_cells(s);
	bool *held = held_back(s), *meets = meeting_ones(s);
	hold_unplaced(s, held);
	hold_targets(s, held);
	for (ConId id = 0; id < s->cons.n; id++) { /* what is indexed has a rule of its own */
		const Con *con = &s->cons.at[id];
		if (con->kind == CON_AT_LEAST && con->number > 1)
			held[cell_root(s, con->cells[0])] = true;
	}
	for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
		CellId cell = open.at[i].cell;
		const Cell *c = cell_at(s, cell);
		if (!size_is_bad(c->value) || !cell_is_leaf(c) || held[cell])
			continue;
		if (is_read_by_open(s, cell))
			continue;
		if ((!c->param || meets[cell]) && !c->factor)
			guess(s, rule, &open.at[i]);
	}
}

/* The other letters of the joined axis follow from the one that is told. */
static void skip_factors(Solver *s, const LetterCell *told)
{
	const Node *node = &s->graph->nodes.at[told->node];
	if (node->kind != NODE_JOINED)
		return;
	const SpecAxis *axis = spec_axis_of(&node->spec->operands[0], told->letter);
	for (size_t i = 0; i < s->letters.n; i++) {
		const LetterCell *l = &s->letters.at[i];
		if (l->node == told->node && !cell_known(s, l->cell) &&
		    spec_axis_of(&node->spec->operands[0], l->letter) == axis)
			cell_at(s, l->cell)->broken = true;
	}
}

/* Windows that nothing counts. */
static void open_counts(Solver *s)
{
	for (CaptureId i = 0; i < s->graph->captures.n; i++) {
		const Capture *capture = &s->graph->captures.at[i];
		CellId cell = s->captures[i];
		if (!capture->counts || cell == NONE || cell_known(s, cell) ||
		    cell_at(s, cell)->broken)
			continue;
		Conflict *c = conflict_new(s, CONFLICT_OPEN_COUNT, NONE);
		c->span = capture->span;
		c->letter = capture->name;
		cell_at(s, cell)->broken = true;
	}
}

void close_undetermined(Solver *s, const char *rule)
{
	(void)rule;
	open_counts(s);
	Spots open = open_cells(s);
	bool *meets = meeting_ones(s);
	for (size_t i = 0; i < s->letters.n; i++) {
		const LetterCell *l = &s->letters.at[i];
		if (l->kernel && !cell_known(s, l->cell) && !cell_at(s, l->cell)->broken) {
			Conflict *c = conflict_new(s, CONFLICT_OPEN_KERNEL, NONE);
			c->node = l->node;
			c->span = l->span;
			c->letter = l->letter;
			cell_at(s, l->cell)->broken = true;
			skip_factors(s, l);
		}
	}
	for (size_t i = 0; i < open.n; i++) {
		Cell *c = cell_at(s, open.at[i].cell);
		if (!c->param || c->broken || open.at[i].node == NODE_NONE)
			continue;
		if (meets[open.at[i].cell])
			continue;
		Conflict *conflict = conflict_new(s, CONFLICT_OPEN_SIZE, NONE);
		conflict->node = open.at[i].node;
		conflict->row = open.at[i].row;
		conflict->number = open.at[i].axis + 1;
		conflict->cells[0] = open.at[i].cell;
	}
}

/* Parts that may be empty first: what is left is then all of the axis. */
void close_ones(Solver *s, const char *rule)
{
	for (int round = 0; round < 3; round++) {
		Spots open = open_cells(s);
		bool *held = held_back(s);
		for (size_t i = 0; i < open.n && !solver_stops(s); i++) {
			CellId cell = open.at[i].cell;
			bool now = round == 2 ||
				   (!held[cell] && (round == 1 || cell_at(s, cell)->may_be_empty));
			if (!cell_known(s, cell) && now)
				guess(s, rule, &open.at[i]);
		}
	}
}
