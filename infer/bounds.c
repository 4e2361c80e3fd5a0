/* What bounds the open rows.
 *
 * The bound of an open row is read off all constraints "res refines row": what the result of each
 * use has beyond the row's known axes, by flanks; the shortest of several. A result that is closed
 * has what it has. An open one has what its own uses bound it to; where none does, it has the axes
 * that its other operands give it. So a leaf has the same axes in `x + {b}` and in `x + (1 + {b})`.
 *
 * A use that knows nothing by itself says nothing: the other operands of `a + 1`, `a .* (a - 1)` or
 * `a * s` with one number s have no axes but those of a. Where they may get some yet (`a + b`, both
 * open) the row waits.
 *
 *   source(row) := none | the open row that all of its axes come from, through results of it and
 *                  of numbers; itself, where there are several, or other axes
 *
 * Every bound is a minimum over uses, so none depends on the order in which these are looked at.
 *
 * An open row of a result is made of leaves when an operand has an open row of a leaf, or one that
 * is made of leaves: how many axes it has is known when the leaf is closed.
 */
#include "infer/cells.h"
#include "infer/close.h"
#include "infer/rows.h"

/* Would axes before the open part of res meet axes of opnd from the right that have other sizes,
 * were there no more axes between them? Then there are. */
static bool must_part(Solver *s, const FlatRow *res, const FlatRow *opnd)
{
	uint32_t nres = res->nlead + res->ntrail, nopnd = opnd->nlead + opnd->ntrail;
	for (uint32_t i = 0; res->var != NONE && i < res->npinned && nres - i <= nopnd; i++) {
		CellId a = flat_at(res, i), b = flat_at(opnd, nopnd - (nres - i));
		if (cell_known(s, a) && cell_known(s, b) && !cell_stretches(s, b) &&
		    sizes_differ(s->sizes, cell_value(s, a), cell_value(s, b)))
			return true;
	}
	return false;
}

/* What res has beyond opnd, by flanks. */
static RowBound residue(Solver *s, const FlatRow *res, const FlatRow *opnd)
{
	uint32_t nres = res->nlead + res->ntrail, nopnd = opnd->nlead + opnd->ntrail;
	RowBound b = {.known = true, .open = res->var != NONE};
	uint32_t total = nres > nopnd ? nres - nopnd : 0;
	b.lead = res->npinned > opnd->npinned ? res->npinned - opnd->npinned : 0;
	if (total < b.lead && must_part(s, res, opnd))
		total = b.lead;
	if (b.lead > total)
		b.lead = total;
	b.trail = total - b.lead;
	return b;
}

/* Is the bound another one now? */
static bool join_bound(RowBound *to, RowBound b)
{
	RowBound was = *to;
	to->lead = was.known && was.lead < b.lead ? was.lead : b.lead;
	to->trail = was.known && was.trail < b.trail ? was.trail : b.trail;
	to->open |= b.open;
	to->known = true;
	return !was.known || to->lead != was.lead || to->trail != was.trail || to->open != was.open;
}

/* Did the row end by a guess? */
static bool is_guessed(Solver *s, const RowTerm *row)
{
	for (RowVarId id = row->var; id != NONE;) { /* falls: solved variables to follow */
		const RowVar *var = &s->vars.at[rowvar_root(s, id)];
		if (var->guessed)
			return true;
		id = var->solved ? var->value.var : NONE;
	}
	return false;
}

static bool con_rows(Solver *s, ConId id, FlatRow *res, FlatRow *opnd)
{
	const Con *con = &s->cons.at[id];
	if (con->kind != CON_ROW_LE || con->done)
		return false;
	row_flatten(s, &con->b, opnd);
	if (opnd->var == NONE)
		return false;
	row_flatten(s, &con->a, res);
	return res->var != opnd->var && !is_guessed(s, &con->a);
}

typedef VEC(RowVarId) RowVars;

/* ---- where the axes of a row come from ---- */

/* What a use says of how many axes an open row has: nothing, or nothing yet. */
typedef enum Ask { ASK_NOTHING, ASK_LATER, ASK_AXES } Ask;

/* By RowVarId. */
typedef struct Bounder {
	Solver *s;
	RowVarId *source; /* of the row: NONE: of nothing, or of numbers */
	Ask *asks;	  /* the most that a use asks of it */
	Ask *uses;	  /* by ConId: what the use asks by itself */
	RowBound *bounds;
} Bounder;

/* Of several open rows, or of closed ones that have axes. */
#define SEVERAL (NONE - 1)

static RowVarId source_of(const Bounder *b, const FlatRow *f)
{
	if (f->var == NONE)
		return f->nlead + f->ntrail > 0 ? SEVERAL : NONE;
	return b->source[f->var];
}

/* Rows that may get axes from elsewhere than the operands of one result, by RowVarId. */
typedef struct Given {
	bool *given;
	NodeId *maker; /* whose row it is, and one more */
} Given;

static void give_bound(Solver *s, Given *g, const RowTerm *row, NodeId maker)
{
	FlatRow f;
	row_flatten(s, row, &f);
	if (f.var == NONE)
		return;
	if (maker == 0 || (g->maker[f.var] != 0 && g->maker[f.var] != maker))
		g->given[f.var] = true;
	g->maker[f.var] = maker;
}

/* Those of leaves, of several results that a use makes one, those that `*` meets, and those of
 * which equations and products that wait speak. */
static bool *rows_given_axes(Solver *s)
{
	Given g = {ARENA_ARRAY(s->arena, bool, s->vars.n + 1),
		   ARENA_ARRAY(s->arena, NodeId, s->vars.n + 1)};
	for (RowVarId var = 0; var < s->vars.n; var++)
		g.given[var] = s->vars.at[var].terminal;
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		bool waits = con->kind == CON_ROW_EQ && !con->done;
		if (waits || (con->kind == CON_ROW_LE && !con->done))
			give_bound(s, &g, &con->a, con->makes ? con->node + 1 : 0);
		if (waits)
			give_bound(s, &g, &con->b, 0);
		for (uint32_t r = 0; con->kind == CON_PRODUCT && con->arg < 0 && r < con->nrows; r++)
			give_bound(s, &g, &con->rows[r], 0);
	}
	return g.given;
}

/* Numbers have no axes. */
static void start_sources(Bounder *b)
{
	Solver *s = b->s;
	FlatRow f;
	for (RowVarId var = 0; var < s->vars.n; var++)
		b->source[var] = var;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		for (int k = 0; k < ROW_KINDS && s->graph->nodes.at[id].kind == NODE_NUMBER; k++) {
			row_flatten(s, &s->rows[id][k], &f);
			const RowVar *var = f.var == NONE ? NULL : &s->vars.at[f.var];
			if (var && !var->terminal && !var->made && f.nlead + f.ntrail == 0)
				b->source[f.var] = NONE;
		}
	}
}

ConId row_makers_end(const Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	for (id++; con->makes && id < s->cons.n; id++) { /* as generate.c lays them down */
		const Con *next = &s->cons.at[id];
		if (!next->makes || next->node != con->node || next->row != con->row)
			break;
	}
	return id;
}

static void find_sources(Bounder *b)
{
	Solver *s = b->s;
	FlatRow f;
	const bool *given = rows_given_axes(s);
	start_sources(b);
	for (ConId id = 0, end; id < s->cons.n; id = end) { /* operands before results */
		end = row_makers_end(s, id);
		if (!s->cons.at[id].makes)
			continue;
		row_flatten(s, &s->cons.at[id].a, &f);
		RowVarId res = f.var, from = NONE;
		if (res == NONE)
			continue;
		for (ConId con = id; con < end; con++) {
			row_flatten(s, &s->cons.at[con].b, &f);
			RowVarId one = source_of(b, &f);
			from = from == NONE || from == one ? one : one == NONE ? from : SEVERAL;
		}
		b->source[res] = given[res] || from == SEVERAL ? res : from;
	}
}

/* ---- what uses ask ---- */

/* Of the operand of an open result: what the other operands have, or a use of the result gives. An
 * operand that comes from the same row is no shorter or longer for what that row gets. */
static Ask ask_of_result(const Bounder *b, const Con *con, const FlatRow *res, const FlatRow *opnd)
{
	FlatRow f;
	uint32_t longest = 0;
	bool later = b->source[res->var] == res->var; /* it may get axes from elsewhere */
	const Node *node = &b->s->graph->nodes.at[con->node];
	for (uint32_t i = 0; i < node->nargs; i++) {
		row_flatten(b->s, &b->s->rows[node->args[i]][con->row], &f);
		RowVarId from = source_of(b, &f);
		uint32_t n = f.nlead + f.ntrail;
		longest = n > longest ? n : longest;
		if (from == NONE || f.var == opnd->var || from == opnd->var ||
		    from == b->source[opnd->var])
			continue;
		later = true;
		if (n > 0)
			return ASK_AXES;
	}
	if (res->nlead + res->ntrail > longest)
		return ASK_AXES;
	return later ? ASK_LATER : ASK_NOTHING;
}

static Ask ask_of(const Bounder *b, const Con *con, const FlatRow *res, const FlatRow *opnd)
{
	if (res->var == NONE)
		return ASK_AXES;
	if (con->makes)
		return ask_of_result(b, con, res, opnd);
	RowBound more = residue(b->s, res, opnd);
	if (more.lead + more.trail > 0)
		return ASK_AXES;
	if (rowvar_is_leaf(&b->s->vars.at[res->var])) /* `{w} * a` takes the axes of a */
		return ASK_NOTHING;
	return res->nlead + res->ntrail > 0 ? ASK_AXES : ASK_LATER;
}

static void find_asks(Bounder *b)
{
	Solver *s = b->s;
	FlatRow res, opnd;
	RowVars work = {0};
	for (ConId id = 0; id < s->cons.n; id++) {
		if (!con_rows(s, id, &res, &opnd))
			continue;
		b->uses[id] = ask_of(b, &s->cons.at[id], &res, &opnd);
		if (b->uses[id] <= b->asks[opnd.var])
			continue;
		b->asks[opnd.var] = b->uses[id];
		PUSH(s->arena, work, opnd.var);
	}
	for (size_t i = 0; i < work.n; i++) { /* falls: what is asked only grows */
		Ask ask = b->asks[work.at[i]];
		for (const Occ *o = s->vars.at[work.at[i]].occs.first; o; o = o->next) {
			if (o->kind != OCC_CON || !con_rows(s, o->id, &res, &opnd) ||
			    res.var != work.at[i] || ask <= b->asks[opnd.var])
				continue;
			b->asks[opnd.var] = ask;
			PUSH(s->arena, work, opnd.var);
		}
	}
}

/* ---- bounds ---- */

/* What a use has when the open row of its result, which is res, is as its own bound says. */
static RowBound beyond(Solver *s, const FlatRow *res, const FlatRow *opnd, const RowBound *bound)
{
	RowBound b = residue(s, res, opnd);
	bool ends = res->npinned == res->nlead;
	b.open = bound->open;
	b.lead += ends ? bound->lead : 0;
	b.trail += bound->trail + (ends ? 0 : bound->lead);
	return b;
}

/* The bounds that follow from uses themselves; `work`: the rows that have one now. */
static void start_bounds(Bounder *b, RowVars *work)
{
	Solver *s = b->s;
	FlatRow res, opnd;
	for (ConId id = 0; id < s->cons.n; id++) {
		if (!con_rows(s, id, &res, &opnd))
			continue;
		Ask above = res.var == NONE ? ASK_NOTHING : b->asks[res.var];
		RowBound *bound = &b->bounds[opnd.var];
		bound->any = b->asks[opnd.var] != ASK_NOTHING;
		bound->open |= b->uses[id] == ASK_LATER || above == ASK_LATER;
		if (b->uses[id] == ASK_AXES && above != ASK_AXES &&
		    join_bound(bound, residue(s, &res, &opnd)))
			PUSH(s->arena, *work, opnd.var);
	}
}

RowBound *row_bounds(Solver *s)
{
	FlatRow res, opnd;
	RowVars work = {0};
	Bounder b = {s, ARENA_ARRAY(s->arena, RowVarId, s->vars.n + 1),
		     ARENA_ARRAY(s->arena, Ask, s->vars.n + 1),
		     ARENA_ARRAY(s->arena, Ask, s->cons.n + 1),
		     ARENA_ARRAY(s->arena, RowBound, s->vars.n + 1)};
	find_sources(&b);
	find_asks(&b);
	start_bounds(&b, &work);
	for (size_t i = 0; i < work.n; i++) { /* falls: flanks of a variable */
		RowVarId var = work.at[i];
		for (const Occ *o = s->vars.at[var].occs.first; o; o = o->next) {
			if (o->kind != OCC_CON || !con_rows(s, o->id, &res, &opnd) ||
			    res.var != var)
				continue;
			if (join_bound(&b.bounds[opnd.var], beyond(s, &res, &opnd, &b.bounds[var])))
				PUSH(s->arena, work, opnd.var);
		}
	}
	return b.bounds;
}

/* ---- rows above others ---- */

/* Marks the open rows that have at least the axes of one of these; `makes`: as results of operands
 * alone. */
static bool *mark_above(Solver *s, RowVars work, bool makes)
{
	FlatRow res, opnd;
	bool *above = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (size_t i = 0; i < work.n; i++) { /* falls: variables not found to be above */
		for (const Occ *o = s->vars.at[work.at[i]].occs.first; o; o = o->next) {
			if (o->kind != OCC_CON || (makes && !s->cons.at[o->id].makes) ||
			    !con_rows(s, o->id, &res, &opnd) || opnd.var != work.at[i] ||
			    res.var == NONE || above[res.var])
				continue;
			above[res.var] = true;
			PUSH(s->arena, work, res.var);
		}
	}
	return above;
}

static RowVars reshape_rows(Solver *s)
{
	RowVars shaped = {0};
	for (RowVarId var = 0; var < s->vars.n; var++) {
		const RowVar *v = &s->vars.at[var];
		if (v->shaped && !v->solved && v->parent == var)
			PUSH(s->arena, shaped, var);
	}
	return shaped;
}

bool *rows_above_reshapes(Solver *s) { return mark_above(s, reshape_rows(s), false); }

bool *rows_above_bounded(Solver *s, const RowBound *bounds)
{
	FlatRow res, opnd;
	bool *above = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		if (!con_rows(s, id, &res, &opnd) || res.var == NONE)
			continue;
		const RowBound *b = &bounds[opnd.var];
		above[res.var] |= b->known && b->lead + b->trail > 0;
	}
	return above;
}

bool *rows_of_leaves(Solver *s)
{
	RowVars leaves = {0};
	Spots open = open_rows(s);
	for (size_t i = 0; i < open.n; i++) {
		if (rowvar_is_leaf(&s->vars.at[open.at[i].var]))
			PUSH(s->arena, leaves, open.at[i].var);
	}
	bool *made = mark_above(s, leaves, true);
	for (size_t i = 0; i < leaves.n; i++)
		made[leaves.at[i]] = true;
	return made;
}
