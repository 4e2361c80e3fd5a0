/* Closing rule for axes that are written as parts in several ways (splits):
 *
 *   concat("a; b => a^b", x, y) read as "d^e => e"     made of a and b, read as d and e
 *   sum("a^b => a", z) .* sum("a^b => b", z)           read in two ways, used as equals
 *
 * That two splits have one sum is known; where they meet is a choice. They line up where their
 * parts can be paired by place, from the first or from the last, known parts that others add up to
 * taken together, and where what is left of one can be empty:
 *
 *   3, b     and  f, 4            f = 3, b = 4
 *   3, b, c  and  1, 2, e, f      3 = 1 + 2, b = e, c = f
 *   3, b     and  4, f            not: 3 is not 4
 *
 * Pairs must not depend on the order of the program. So splits are paired where they line up with
 * one another and with the same others: 3, b is neither f, 4 nor g, 5 where both are there. Where
 * results make the axis, their parts are what is there to be met, and what reads it is paired with
 * them alone.
 *
 * A split with a part that may be empty is a whole by itself where nothing says more of it:
 * "d^e => e" alone reads all of the axis. Only where parts of such splits are used as equals, in
 * one axis of a result, are the splits one, and these parts equal. */
#include "infer/cells.h"
#include "infer/close_parts.h"
#include "infer/close_rules.h"
#include "infer/trail.h"

/* ---- the splits of an axis ---- */

static Part read_part(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	bool bound = size_is_bad(c->value) && c->bound_kind == BOUND_ONE;
	return (Part){cell_root(s, cell), c->value, bound ? c->bound : c->value};
}

static Split read_split(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	const SpecAxis *written = con->axis;
	Split split = {
		.con = id, .made = con->arg < 0, .n = written ? written->nparts : con->ncells - 1};
	split.at = ARENA_ARRAY(s->arena, Part, split.n + 1);
	uint32_t cell = 1;
	for (uint32_t i = 0; i < split.n; i++) {
		if (!written || spec_part_is_solved(&written->parts[i])) {
			split.at[i] = read_part(s, con->cells[cell++]);
		} else {
			Size size = size_const(s->sizes, written->parts[i].size);
			split.at[i] = (Part){NONE, size, size};
		}
		split.says |= !size_is_bad(split.at[i].asked);
	}
	return split;
}

static bool same_split(const Split *a, const Split *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = same_part(&a->at[i], &b->at[i]);
	return same;
}

/* Is the split a whole by itself: may a part be empty, and says nothing more of the others? What is
 * said of an axis of known length that nothing makes is said of one split alone. */
static bool is_free(const Whole *whole, const Split *split)
{
	bool empty = false;
	for (uint32_t i = 0; i < split->n; i++) {
		const Part *part = &split->at[i];
		empty |= part_is_open(part) && whole->s->cells.at[part->cell].may_be_empty;
	}
	return empty && (!split->says || (!whole->made && !size_is_bad(whole->size)));
}

static void add_split(Whole *whole, ConId id)
{
	Split split = read_split(whole->s, id);
	for (uint32_t i = 0; i < whole->n; i++) {
		if (same_split(&whole->splits[i], &split))
			return;
	}
	whole->fails |= whole->n == MOST_SPLITS;
	if (whole->fails)
		return;
	for (uint32_t i = 0; i < split.n; i++)
		whole->open |= part_is_open(&split.at[i]);
	whole->made |= split.made;
	whole->splits[whole->n++] = split;
}

/* ---- pairing ---- */

/* One size for the two; a part without another is empty. */
static void pair_parts(Solver *s, const Part *p, const Part *q, ConId con)
{
	const Part *one = p && p->cell != NONE ? p : q, *other = one == p ? q : p;
	if (other && other->cell != NONE) {
		cells_equal(s, one->cell, other->cell, con);
		return;
	}
	CellId from = other ? s->cons.at[con].cells[0] : NONE;
	cell_set(s, one->cell, other ? other->known : size_const(s->sizes, 0),
		 (Why){WHY_RULE, con, from, SPAN_NONE, "parts paired: what is left"});
}

static void note_pairing(const Whole *whole, const char *rule)
{
	Solver *s = whole->s;
	CellId cell = s->cons.at[whole->splits[0].con].cells[0];
	close_note(s, rule, &(Spot){.node = NODE_NONE, .cell = cell, .var = NONE});
	propagate(s);
}

/* What was found of the two may have changed since: they are paired where they still line up. */
static void pair_splits(Whole *whole, const char *rule, uint32_t i, uint32_t k)
{
	Solver *s = whole->s;
	Pairs pairs;
	bool new = false;
	whole->splits[i] = read_split(s, whole->splits[i].con);
	whole->splits[k] = read_split(s, whole->splits[k].con);
	if (solver_stops(s) || !line_up(whole, i, k, &pairs))
		return;
	for (uint32_t at = 0; at < pairs.n; at++) {
		const Part *p = pairs.of_x[at] == NONE ? NULL : &pairs.x->at[pairs.of_x[at]];
		const Part *q = pairs.of_y[at] == NONE ? NULL : &pairs.y->at[pairs.of_y[at]];
		if (p && q && same_part(p, q))
			continue;
		pair_parts(s, p, q, pairs.x->con);
		new = true;
	}
	if (new)
		note_pairing(whole, rule);
}

/* Do the two line up, and with the same of these? */
static bool agree(const uint64_t *apart, uint64_t among, uint32_t i, uint32_t k)
{
	return !(apart[i] >> k & 1) && ((apart[i] ^ apart[k]) & among) == 0;
}

/* Those that agree with the i-th. */
static uint64_t agreeing(const Whole *whole, const uint64_t *apart, uint64_t among, uint32_t i)
{
	uint64_t group = 0;
	for (uint32_t k = 0; k < whole->n; k++) {
		if (among >> k & 1 && agree(apart, among, i, k))
			group |= (uint64_t)1 << k;
	}
	return group;
}

static void pair_with(Whole *whole, const char *rule, uint32_t i, uint64_t others)
{
	for (uint32_t k = 0; k < whole->n; k++) {
		if (k != i && others >> k & 1)
			pair_splits(whole, rule, i, k);
	}
}

/* Would the i-th split get different sizes from these two? */
static bool contradict(const Whole *whole, uint32_t i, uint32_t k, uint32_t l)
{
	Pairs one, other;
	bool differ = false;
	line_up(whole, i, k, &one);
	line_up(whole, i, l, &other);
	for (uint32_t at = 0; at < whole->splits[i].n; at++) {
		Size a = pairs_ask(whole->s->sizes, &one, at);
		Size b = pairs_ask(whole->s->sizes, &other, at);
		differ |= !size_is_bad(a) && !size_is_bad(b) && !size_same(a, b);
	}
	return differ;
}

/* What reads the axis and lines up with the i-th split's group alone of those that are made; less
 * those that contradict one another. */
static uint64_t readers_of(const Whole *whole, const uint64_t *apart, uint64_t made, uint32_t i)
{
	uint64_t group = agreeing(whole, apart, made, i), readers = 0, kept = 0;
	for (uint32_t k = 0; k < whole->n; k++) {
		uint64_t fits = 0;
		for (uint32_t j = 0; j < whole->n; j++) {
			uint64_t one = made >> j & 1 ? agreeing(whole, apart, made, j) : 0;
			fits |= apart[k] & one ? 0 : one;
		}
		if (!(made >> k & 1) && !whole->splits[k].free && fits == group)
			readers |= (uint64_t)1 << k;
	}
	for (uint32_t k = 0; k < whole->n; k++) {
		bool alone = true;
		for (uint32_t l = 0; l < whole->n; l++) {
			if (readers >> k & readers >> l & 1)
				alone &= !contradict(whole, i, k, l);
		}
		if (readers >> k & alone)
			kept |= (uint64_t)1 << k;
	}
	return kept;
}

static void pair_by_place(Whole *whole, const char *rule)
{
	uint64_t apart[MOST_SPLITS] = {0}, made = 0, read = 0;
	Pairs pairs;
	for (uint32_t i = 0; i < whole->n; i++) {
		if (whole->splits[i].free)
			continue;
		*(whole->splits[i].made ? &made : &read) |= (uint64_t)1 << i;
		for (uint32_t k = 0; k < i; k++) {
			if (whole->splits[k].free || line_up(whole, i, k, &pairs))
				continue;
			apart[i] |= (uint64_t)1 << k;
			apart[k] |= (uint64_t)1 << i;
		}
	}
	uint64_t among = made ? made : read, done = 0;
	for (uint32_t i = 0; i < whole->n; i++) {
		if (!(among >> i & 1) || done >> i & 1)
			continue;
		uint64_t group = agreeing(whole, apart, among, i);
		done |= group;
		pair_with(whole, rule, i, group | (made ? readers_of(whole, apart, made, i) : 0));
	}
}

/* ---- parts that are used as equals ---- */

typedef struct Use {
	uint32_t split, place;
	uint32_t with; /* an earlier part that meets it, or itself */
	ConId where;   /* the operation in which it does, or NONE */
} Use;

typedef struct Uses {
	Whole *whole;
	VEC(Use) at;
	VEC(CellId) walk;
} Uses;

static uint32_t first_of(const Uses *uses, uint32_t i)
{
	while (uses->at.at[i].with != i) /* falls: i */
		i = uses->at.at[i].with;
	return i;
}

static void join_parts(Uses *uses, uint32_t i, uint32_t k)
{
	i = first_of(uses, i), k = first_of(uses, k);
	if (i > k)
		uses->at.at[i].with = k;
	else
		uses->at.at[k].with = i;
}

/* The i-th part is read here; an open size has the first part that came to it in its slot. */
static void come_to(Uses *uses, CellId cell, uint32_t i, ConId by)
{
	Solver *s = uses->whole->s;
	Cell *c = cell_at(s, cell);
	if (!size_is_bad(c->value))
		return;
	if (c->walk == s->walks) {
		join_parts(uses, i, c->slot);
		uses->at.at[i].where = by;
		return;
	}
	c->walk = s->walks;
	c->slot = i;
	PUSH(s->arena, uses->walk, cell_root(s, cell));
}

static void follow_uses(Uses *uses, uint32_t i)
{
	Solver *s = uses->whole->s;
	const Use *use = &uses->at.at[i];
	come_to(uses, uses->whole->splits[use->split].at[use->place].cell, i, NONE);
	while (uses->walk.n > 0) { /* falls: open sizes not seen, then those on the walk */
		CellId cell = uses->walk.at[--uses->walk.n];
		for (const Occ *o = s->cells.at[cell].occs.first; o; o = o->next) {
			const Edge *edge = o->kind == OCC_EDGE ? &s->edges.at[o->id] : NULL;
			if (edge && !edge->dead && cell_root(s, edge->opnd) == cell)
				come_to(uses, edge->res, i, edge->con);
		}
	}
}

/* All parts of wholes by themselves whose uses give no sizes. */
static void list_uses(Uses *uses)
{
	Whole *whole = uses->whole;
	for (uint32_t i = 0; i < whole->n; i++) {
		const Split *split = &whole->splits[i];
		for (uint32_t k = 0; k < split->n && split->free && !split->says; k++) {
			uint32_t self = (uint32_t)uses->at.n;
			PUSH(whole->s->arena, uses->at, ((Use){i, k, self, NONE}));
			follow_uses(uses, self);
		}
	}
}

static CellId cell_of(const Uses *uses, const Use *use)
{
	return uses->whole->splits[use->split].at[use->place].cell;
}

/* Two parts of different places, of two splits, are used as equals: so are all parts of the splits,
 * by place, and these two. */
static bool make_equal(Uses *uses, const Use *a, const Use *b)
{
	Whole *whole = uses->whole;
	Solver *s = whole->s;
	const Split *x = &whole->splits[a->split], *y = &whole->splits[b->split];
	if (x == y || x->n != y->n || a->place == b->place)
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		cells_equal(s, x->at[i].cell, y->at[i].cell, x->con);
	cells_equal(s, cell_of(uses, a), cell_of(uses, b), b->where == NONE ? x->con : b->where);
	return true;
}

static bool equal_by_use(Whole *whole, const char *rule)
{
	Solver *s = whole->s;
	Uses uses = {.whole = whole};
	bool any = false;
	s->walks++;
	list_uses(&uses);
	for (uint32_t i = 0; i < uses.at.n; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (first_of(&uses, i) == first_of(&uses, k))
				any |= make_equal(&uses, &uses.at.at[k], &uses.at.at[i]);
		}
	}
	if (any)
		note_pairing(whole, rule);
	return any;
}

/* ---- all axes ---- */

static void close_whole(Solver *s, const char *rule, ConId first, const ConId *next)
{
	Whole whole = {.s = s, .size = cell_value(s, s->cons.at[first].cells[0])};
	for (ConId id = first; id != NONE && !whole.fails; id = next[id]) {
		const Con *con = &s->cons.at[id];
		if (!con->done && (con->axis ? con->axis->nparts : con->ncells) <= ROW_LIMIT)
			add_split(&whole, id);
	}
	if (whole.fails || !whole.open || whole.n < 2)
		return;
	for (uint32_t i = 0; i < whole.n; i++)
		whole.splits[i].free = is_free(&whole, &whole.splits[i]);
	if (!equal_by_use(&whole, rule))
		pair_by_place(&whole, rule);
}

/* Each axis with its splits, in the order of the program: the first of each, and by split the
 * next one. */
static void close_wholes(Solver *s, const char *rule)
{
	VEC(ConId) firsts = {0};
	ConId *next = ARENA_ARRAY(s->arena, ConId, s->cons.n + 1);
	ConId *last = ARENA_ARRAY(s->arena, ConId, s->cells.n + 1); /* and 1 more */
	for (ConId id = 0; id < s->cons.n; id++) {
		next[id] = NONE;
		if (s->cons.at[id].kind != CON_CONCAT)
			continue;
		CellId whole = cell_root(s, s->cons.at[id].cells[0]);
		if (last[whole])
			next[last[whole] - 1] = id;
		else
			PUSH(s->arena, firsts, id);
		last[whole] = id + 1;
	}
	for (size_t i = 0; i < firsts.n && !solver_stops(s); i++) {
		if (next[firsts.at[i]] != NONE)
			close_whole(s, rule, firsts.at[i], next);
	}
}

void close_parts(Solver *s, const char *rule)
{
	for (size_t before = SIZE_MAX; before != s->events.n && !solver_stops(s);) {
		before = s->events.n; /* falls: open sizes */
		close_wholes(s, rule);
	}
}
