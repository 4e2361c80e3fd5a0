/* Rows and their equations.
 *
 *   a row:   lead · var · trail        var solved to another row: its flanks go inside
 *
 * Equations match axes from both outer edges inwards; what is left over on one side becomes the
 * value of the other side's variable. When one side has more leading and the other more trailing
 * axes,
 *
 *   a b ⟨p⟩ z  =  a ⟨q⟩ y z            (b⟨p⟩ = ⟨q⟩y)
 *
 * the equation waits until one of p, q is solved; the stages give the variable opposite the longer
 * leftover no axes, which is the least solution.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/solver.h"
#include "infer/trail.h"

#include <string.h>

RowVarId rowvar_new(Solver *s, Sym name, Span span)
{
	RowVarId id = (RowVarId)s->vars.n;
	RowVar var = {.parent = id, .why = NONE, .name = name, .span = span};
	PUSH(s->arena, s->vars, var);
	return id;
}

/* Follows variables solved to another variable alone. */
RowVarId rowvar_root(Solver *s, RowVarId var)
{
	RowVar *vars = s->vars.at;
	bool shorten = !solver_failed(s); /* as in cell_root */
	while (vars[var].parent != var) { /* falls: distance to the root */
		if (shorten)
			vars[var].parent = vars[vars[var].parent].parent;
		var = vars[var].parent;
	}
	return var;
}

void rowvar_watch(Solver *s, RowVarId var, ConId con)
{
	occs_add(s, &s->vars.at[rowvar_root(s, var)].occs, OCC_CON, con);
}

static void flat_add(FlatRow *f, const RowTerm *t, bool pinned)
{
	if (f->nlead + f->ntrail + t->nlead + t->ntrail > ROW_LIMIT) {
		f->overflow = true;
		return;
	}
	if (t->nlead > 0)
		memcpy(f->lead + f->nlead, t->lead, t->nlead * sizeof *t->lead);
	if (pinned && f->npinned == f->nlead)
		f->npinned += t->nlead;
	f->nlead += t->nlead;
	f->ntrail += t->ntrail;
	if (t->ntrail > 0)
		memcpy(f->back + ROW_LIMIT + 1 - f->ntrail, t->trail, t->ntrail * sizeof *t->trail);
}

void row_flatten(Solver *s, const RowTerm *row, FlatRow *flat)
{
	const RowTerm *t = row;
	bool pinned = row->pinned;
	flat->nlead = flat->ntrail = flat->npinned = 0;
	flat->overflow = false;
	for (;;) { /* falls: solved variables to follow: no circles */
		if (t->nlead || t->ntrail)
			flat_add(flat, t, pinned);
		flat->var = t->var;
		if (t->var == NONE || flat->overflow)
			return;
		flat->var = rowvar_root(s, t->var);
		const RowVar *v = &s->vars.at[flat->var];
		if (!v->solved)
			return;
		t = &v->value;
		pinned = pinned && t->pinned;
	}
}

/* ---- solving a variable ---- */

static void inherit(Solver *s, const RowVar *var, const RowTerm *value)
{
	for (uint32_t i = 0; i < value->nlead + value->ntrail; i++) {
		CellId cell = i < value->nlead ? value->lead[i] : value->trail[i - value->nlead];
		Cell *c = cell_at(s, cell);
		c->terminal |= var->terminal;
		c->param |= var->param;
	}
	if (value->var == NONE)
		return;
	RowVar *inner = &s->vars.at[rowvar_root(s, value->var)];
	inner->terminal |= var->terminal;
	inner->param |= var->param;
	inner->made |= var->made;
	inner->must |= var->must;
	inner->shaped |= var->shaped;
}

void rowvar_solve(Solver *s, RowVarId id, RowTerm value, ConId why, const char *rule)
{
	id = rowvar_root(s, id);
	RowVar *var = &s->vars.at[id];
	if (var->solved)
		BUG("a row variable is solved twice");
	trail_var(s, id);
	inherit(s, var, &value);
	var->why = why;
	var->rule = rule;
	occs_wake(s, &var->occs);
	if (value.var != NONE && !value.nlead && !value.ntrail) {
		RowVarId to = rowvar_root(s, value.var);
		if (to == id)
			BUG("a row variable is solved to itself");
		var->parent = to;
		if (!s->vars.at[to].name) {
			trail_var(s, to);
			s->vars.at[to].name = var->name;
		}
		return;
	}
	var->solved = true;
	var->value = value;
}

/* ---- equations ---- */

static RowTerm middle(Solver *s, const FlatRow *f, uint32_t lead, uint32_t trail)
{
	uint32_t n = f->nlead + f->ntrail - lead - trail;
	RowTerm term = {.var = f->var};
	term.nlead = f->var == NONE ? 0 : f->nlead - lead;
	term.ntrail = n - term.nlead;
	term.lead = ARENA_ARRAY(s->arena, CellId, term.nlead + 1);
	term.trail = ARENA_ARRAY(s->arena, CellId, term.ntrail + 1);
	for (uint32_t i = 0; i < n; i++) {
		CellId cell = flat_at(f, lead + i);
		if (i < term.nlead)
			term.lead[i] = cell;
		else
			term.trail[i - term.nlead] = cell;
	}
	return term;
}

static void pair_outer(Solver *s, const FlatRow *a, const FlatRow *b, uint32_t lead, uint32_t trail,
		       ConId con)
{
	uint32_t na = a->nlead + a->ntrail, nb = b->nlead + b->ntrail;
	for (uint32_t i = 0; i < lead; i++)
		cells_equal(s, flat_at(a, i), flat_at(b, i), con);
	for (uint32_t i = 1; i <= trail; i++)
		cells_equal(s, flat_at(a, na - i), flat_at(b, nb - i), con);
}

static void equal_closed(Solver *s, ConId id, const FlatRow *closed, const FlatRow *open)
{
	uint32_t n = closed->nlead + closed->ntrail;
	pair_outer(s, closed, open, open->nlead, open->ntrail, id);
	RowTerm all = middle(s, closed, open->nlead, open->ntrail);
	all.ntrail = n - open->nlead - open->ntrail;
	rowvar_solve(s, open->var, all, id, NULL);
	s->cons.at[id].done = true;
}

static void equal_open(Solver *s, ConId id, const FlatRow *a, const FlatRow *b)
{
	uint32_t lead = a->nlead < b->nlead ? a->nlead : b->nlead;
	uint32_t trail = a->ntrail < b->ntrail ? a->ntrail : b->ntrail;
	bool a_inside = a->nlead == lead && a->ntrail == trail; /* b has what a lacks */
	bool b_inside = b->nlead == lead && b->ntrail == trail;
	pair_outer(s, a, b, lead, trail, id);
	if (a->var == b->var) {
		if (a->nlead + a->ntrail != b->nlead + b->ntrail) {
			conflict_new(s, CONFLICT_INSIDE_ITSELF, id);
			s->cons.at[id].done = true;
		} else if (a_inside) {
			s->cons.at[id].done = true;
		} else {
			rowvar_watch(s, a->var, id);
		}
	} else if (a_inside) {
		rowvar_solve(s, a->var, middle(s, b, lead, trail), id, NULL);
		s->cons.at[id].done = true;
	} else if (b_inside) {
		rowvar_solve(s, b->var, middle(s, a, lead, trail), id, NULL);
		s->cons.at[id].done = true;
	} else {
		rowvar_watch(s, a->var, id);
		rowvar_watch(s, b->var, id);
	}
}

void row_equal_run(Solver *s, ConId id)
{
	FlatRow a, b;
	row_flatten(s, &s->cons.at[id].a, &a);
	row_flatten(s, &s->cons.at[id].b, &b);
	uint32_t na = a.nlead + a.ntrail, nb = b.nlead + b.ntrail;
	bool a_closed = a.var == NONE, b_closed = b.var == NONE;
	if (a.overflow || b.overflow) {
		conflict_new(s, CONFLICT_ENDLESS, id);
		s->cons.at[id].done = true;
	} else if ((a_closed && b_closed && na != nb) || (a_closed && nb > na) ||
		   (b_closed && na > nb)) {
		conflict_new(s, CONFLICT_RANKS, id);
		s->cons.at[id].done = true;
	} else if (a_closed && b_closed) {
		pair_outer(s, &a, &b, na, 0, id);
		s->cons.at[id].done = true;
	} else if (a_closed) {
		equal_closed(s, id, &a, &b);
	} else if (b_closed) {
		equal_closed(s, id, &b, &a);
	} else {
		equal_open(s, id, &a, &b);
	}
}

bool row_equal_close(Solver *s, ConId id, uint32_t least)
{
	FlatRow a, b;
	if (s->cons.at[id].done)
		return false;
	row_flatten(s, &s->cons.at[id].a, &a);
	row_flatten(s, &s->cons.at[id].b, &b);
	if (a.var == NONE || b.var == NONE || a.overflow || b.overflow)
		return false;
	const FlatRow *more = a.nlead + a.ntrail >= b.nlead + b.ntrail ? &a : &b;
	if (more->nlead + more->ntrail < least)
		return false;
	rowvar_solve(s, more->var, row_closed(), NONE, "shifted rows: least material");
	con_wake(s, id);
	return true;
}
