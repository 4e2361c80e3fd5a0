/* What bounds the open rows.
 *
 * The bound of an open row of a leaf is read off all constraints "res refines leaf": what res has
 * beyond the leaf's known axes, by flanks; the shortest of several. Where res is open too, its own
 * bound counts (found by a worklist: flanks only get shorter), else the axes that it has so far. So
 * a leaf has the same axes in `x + {b}` and in `x + (1 + {b})`.
 *
 * An open row of a result is made of leaves when an operand has an open row of a leaf, or one that
 * is made of leaves: how many axes it has is known when the leaf is closed.
 */
#include "infer/close.h"

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
	RowBound b = {.any = true, .open = res->var != NONE};
	uint32_t total = nres > nopnd ? nres - nopnd : 0;
	b.lead = res->npinned > opnd->npinned ? res->npinned - opnd->npinned : 0;
	if (total < b.lead && must_part(s, res, opnd))
		total = b.lead;
	if (b.lead > total)
		b.lead = total;
	b.trail = total - b.lead;
	return b;
}

static bool join(RowBound *to, RowBound b)
{
	RowBound was = *to;
	if (!to->any) {
		*to = b;
		return true;
	}
	to->lead = b.lead < to->lead ? b.lead : to->lead;
	to->trail = b.trail < to->trail ? b.trail : to->trail;
	to->open |= b.open;
	return to->lead != was.lead || to->trail != was.trail || to->open != was.open;
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

typedef VEC(ConId) Cons;

/* The constraints that bound an open row: what is asked below is asked of these. */
static Cons bounding(Solver *s)
{
	Cons cons = {0};
	FlatRow res, opnd;
	for (ConId id = 0; id < s->cons.n; id++) {
		if (con_rows(s, id, &res, &opnd))
			PUSH(s->arena, cons, id);
	}
	return cons;
}

/* Is it the row of a leaf that has at least the axes of what it meets (`{w} * a`)? It takes
 * them, and bounds none but by axes of its own. */
static bool takes_axes(Solver *s, const FlatRow *res, const FlatRow *opnd)
{
	RowBound b = residue(s, res, opnd);
	return res->var != NONE && rowvar_is_leaf(&s->vars.at[res->var]) && b.lead + b.trail == 0;
}

typedef VEC(RowVarId) RowVars;

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

/* They and the rows of reshapes themselves. */
static bool *shaped_rows(Solver *s)
{
	RowVars rows = reshape_rows(s);
	bool *shaped = mark_above(s, rows, true);
	for (size_t i = 0; i < rows.n; i++)
		shaped[rows.at[i]] = true;
	return shaped;
}

/* Has the result of this use the axes of a reshape and no others? It says nothing of them. shaped:
 * the rows of reshapes and of what is made of these. */
static bool has_axes_of_reshape(Solver *s, ConId id, const FlatRow *res, const FlatRow *opnd,
				const bool *shaped)
{
	FlatRow f;
	const Con *con = &s->cons.at[id];
	RowBound b = residue(s, res, opnd);
	if (res->var == NONE || b.lead + b.trail > 0 || !con->makes || !shaped[opnd->var])
		return false;
	const Node *node = &s->graph->nodes.at[con->node];
	for (uint32_t i = 0; i < node->nargs; i++) {
		row_flatten(s, &s->rows[node->args[i]][con->row], &f);
		bool number = f.var != NONE && s->graph->nodes.at[node->args[i]].nargs == 0 &&
			      !rowvar_is_leaf(&s->vars.at[f.var]);
		bool none = f.var == NONE || number;
		if (f.var != opnd->var && !(none && f.nlead + f.ntrail == 0))
			return false;
	}
	return true;
}

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

/* `bounded`: the variables that some result refines, where open results count as well. */
static void carry(Solver *s, const Cons *cons, RowBound *bounds, const bool *bounded,
		  const bool *shaped)
{
	FlatRow res, opnd;
	VEC(RowVarId) work = {0};
	for (size_t i = 0; i < cons->n; i++) {
		ConId id = cons->at[i];
		if (con_rows(s, id, &res, &opnd) && !takes_axes(s, &res, &opnd) &&
		    !has_axes_of_reshape(s, id, &res, &opnd, shaped) &&
		    (res.var == NONE || (bounded && !bounded[res.var])) &&
		    join(&bounds[opnd.var], residue(s, &res, &opnd)))
			PUSH(s->arena, work, opnd.var);
	}
	for (size_t i = 0; i < work.n; i++) { /* falls: flanks of a variable */
		RowVarId var = work.at[i];
		for (const Occ *o = s->vars.at[var].occs.first; o; o = o->next) {
			if (o->kind != OCC_CON || !con_rows(s, o->id, &res, &opnd) ||
			    res.var != var)
				continue;
			if (join(&bounds[opnd.var], beyond(s, &res, &opnd, &bounds[var])))
				PUSH(s->arena, work, opnd.var);
		}
	}
}

static bool *bounded_vars(Solver *s, const Cons *cons)
{
	FlatRow res, opnd;
	bool *bounded = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (size_t i = 0; i < cons->n; i++) {
		if (con_rows(s, cons->at[i], &res, &opnd))
			bounded[opnd.var] = true;
	}
	return bounded;
}

RowBounds row_bounds(Solver *s)
{
	FlatRow res, opnd;
	RowBounds b = {ARENA_ARRAY(s->arena, RowBound, s->vars.n + 1),
		    ARENA_ARRAY(s->arena, RowBound, s->vars.n + 1),
		    ARENA_ARRAY(s->arena, RowBound, s->vars.n + 1)};
	const bool *shaped = shaped_rows(s);
	Cons cons = bounding(s);
	carry(s, &cons, b.closed, NULL, shaped);
	carry(s, &cons, b.known, bounded_vars(s, &cons), shaped);
	for (size_t i = 0; i < cons.n; i++) {
		ConId id = cons.at[i];
		if (!con_rows(s, id, &res, &opnd))
			continue;
		RowBound have = residue(s, &res, &opnd);
		if (res.var != NONE && b.closed[res.var].any)
			have = beyond(s, &res, &opnd, &b.closed[res.var]);
		else if (res.var != NONE && b.known[res.var].any)
			have = beyond(s, &res, &opnd, &b.known[res.var]);
		else if (takes_axes(s, &res, &opnd) ||
			 has_axes_of_reshape(s, id, &res, &opnd, shaped))
			continue;
		join(&b.direct[opnd.var], have);
	}
	return b;
}

bool *rows_above_bounded(Solver *s, const RowBounds *bounds)
{
	FlatRow res, opnd;
	bool *above = ARENA_ARRAY(s->arena, bool, s->vars.n + 1);
	for (ConId id = 0; id < s->cons.n; id++) {
		if (!con_rows(s, id, &res, &opnd) || res.var == NONE)
			continue;
		const RowBound *b = &bounds->direct[opnd.var];
		above[res.var] |= b->any && b->lead + b->trail > 0;
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
