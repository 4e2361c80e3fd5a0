/* Rows that refine rows (broadcasting).
 *
 *   res:    x y z ⟨p⟩ u v w    each axis of opnd is matched from its edge of res: pinned leading
 *   opnd:   l    ⟨q⟩     t     axes from the left, the others from the right; what res has in
 *                              between is inserted by broadcasting, or goes to q when q is solved
 *
 * res has at least as many axes as opnd: an open res that is too short by k gets k axes of its own,
 * which is all that is forced. A circle of rows in which each must be longer than the next would
 * grow for ever: ranks.c finds it beforehand, and rows stop at ROW_LIMIT.
 *
 * A row variable of opnd is never solved here: what bounds it is read off its constraints by the
 * stages.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/rows.h"
#include "infer/solver.h"
#include "infer/trail.h"

/* The axes of an operand that have a place in its result: leading ones, trailing ones, and floating
 * ones (not pinned, still left of an open variable) that have no place yet. */
typedef struct Operand {
	uint32_t lead, floating, trail;
} Operand;

static Operand operand_places(const FlatRow *f)
{
	Operand o = {.lead = f->npinned, .trail = f->ntrail};
	if (f->var == NONE)
		o.trail += f->nlead - f->npinned;
	else
		o.floating = f->nlead - f->npinned;
	return o;
}

static void pair(Solver *s, bool makes, CellId res, CellId opnd, ConId con)
{
	cell_at(s, res)->made |= makes;
	cell_refines(s, res, opnd, con);
}

static void refine_pairs(Solver *s, ConId id, const FlatRow *res, const FlatRow *opnd)
{
	Con *con = &s->cons.at[id];
	Operand o = operand_places(opnd);
	uint32_t nres = res->nlead + res->ntrail, nopnd = opnd->nlead + opnd->ntrail;
	uint32_t lead = res->var == NONE || o.lead < res->nlead ? o.lead : res->nlead;
	uint32_t trail = res->var == NONE || o.trail < res->ntrail ? o.trail : res->ntrail;
	bool makes = con->makes;
	for (uint32_t i = con->ndone_lead; i < lead; i++)
		pair(s, makes, flat_at(res, i), flat_at(opnd, i), id);
	for (uint32_t i = con->ndone_trail + 1; i <= trail; i++)
		pair(s, makes, flat_at(res, nres - i), flat_at(opnd, nopnd - i), id);
	con = &s->cons.at[id];
	con->ndone_lead = lead;
	con->ndone_trail = trail;
	con->done = opnd->var == NONE && lead == o.lead && trail == o.trail;
}

static RowTerm template(Solver *s, const FlatRow *res, uint32_t lead, uint32_t trail)
{
	RowVar *old = &s->vars.at[res->var];
	Sym name = old->name;
	Span span = old->span;
	bool must = old->must;
	RowTerm term = {.nlead = lead, .ntrail = trail, .pinned = true};
	term.lead = ARENA_ARRAY(s->arena, CellId, lead + 1);
	term.trail = ARENA_ARRAY(s->arena, CellId, trail + 1);
	for (uint32_t i = 0; i < lead; i++)
		term.lead[i] = cell_new(s, NULL, SPAN_NONE);
	for (uint32_t i = 0; i < trail; i++)
		term.trail[i] = cell_new(s, NULL, SPAN_NONE);
	term.var = rowvar_new(s, name, span);
	if (must) /* the rest is whatever uses leave: determined enough to be empty */
		s->vars.at[res->var].must = false;
	return term;
}

ConId settling_use(const Solver *s, const Con *con)
{
	for (RowVarId id = con->a.var; id != NONE;) {
		const RowVar *var = &s->vars.at[id];
		const Con *why = var->why == NONE ? NULL : &s->cons.at[var->why];
		if (why && why->kind == CON_ROW_EQ && why->arg >= 0 && why->node > con->node &&
		    s->graph->nodes.at[why->node].spec)
			return var->why;
		id = var->parent != id ? var->parent : var->solved ? var->value.var : NONE;
	}
	return NONE;
}

void row_refine_run(Solver *s, ConId id)
{
	FlatRow res, opnd;
	row_flatten(s, &s->cons.at[id].a, &res);
	row_flatten(s, &s->cons.at[id].b, &opnd);
	uint32_t nres = res.nlead + res.ntrail, nopnd = opnd.nlead + opnd.ntrail;
	if (res.overflow || opnd.overflow || (res.var != NONE && nopnd > ROW_LIMIT)) {
		conflict_new(s, CONFLICT_ENDLESS, id);
		s->cons.at[id].done = true;
		return;
	}
	if (res.var == NONE && nopnd > nres) {
		ConId use = settling_use(s, &s->cons.at[id]);
		ConflictKind kind = use == NONE ? CONFLICT_MORE_AXES : CONFLICT_USE_AXES;
		conflict_new(s, kind, id)->use = use;
		s->cons.at[id].done = true;
		return;
	}
	if (res.var != NONE && nopnd > nres) {
		Operand o = operand_places(&opnd);
		uint32_t missing = nopnd - nres;
		uint32_t lead = o.lead > res.nlead ? o.lead - res.nlead : 0;
		if (lead > missing)
			lead = missing;
		rowvar_solve(s, res.var, template(s, &res, lead, missing - lead), id, NULL);
		row_flatten(s, &s->cons.at[id].a, &res);
		row_flatten(s, &s->cons.at[id].b, &opnd);
	}
	refine_pairs(s, id, &res, &opnd);
	if (res.nlead + res.ntrail < opnd.nlead + opnd.ntrail) /* opnd has grown with res */
		con_wake(s, id);
	if (s->cons.at[id].done)
		return;
	if (res.var != NONE)
		rowvar_watch(s, res.var, id);
	if (opnd.var != NONE)
		rowvar_watch(s, opnd.var, id);
}
