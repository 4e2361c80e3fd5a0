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
#include "infer/solver.h"

/* The axes of an operand that have a place in its result: leading ones, trailing ones, and floating
 * ones (not pinned, still left of an open variable) that have no place yet. */
typedef struct Operand {
	uint32_t lead, floating, trail;
} Operand;

static Operand operand_of(const FlatRow *f)
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
	Operand o = operand_of(opnd);
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

/* Is the operand one of those before it too, which has the same fault? */
static bool is_repeated(const Node *node, int32_t arg)
{
	bool repeated = false;
	for (int32_t i = 0; i < arg && node->kind == NODE_POINTWISE; i++)
		repeated |= node->args[i] == node->args[arg];
	return repeated;
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

/* x + b has the axes of x at least: where a specification allows it fewer, that is the place. */
static void blame_use(Solver *s, ConId id, ConId use, const FlatRow *res, const FlatRow *opnd)
{
	const Con *con = &s->cons.at[use];
	uint32_t n = opnd->nlead + opnd->ntrail;
	blame(s, E0303, use, "%s has at least %u %s %s%s, and the specification says %s",
	      tensor_text(s, con->node, con->arg), n, row_kind_text(con->row),
	      n == 1 ? "axis" : "axes",
	      opnd->var == NONE ? arena_printf(s->arena, ", %s", flat_text(s, opnd)) : "",
	      res->nlead + res->ntrail ? flat_text(s, res) : "none");
	suggest_rows(s, use, n);
	con = &s->cons.at[id];
	if (s->diags)
		diag_note(s->diags, con->span, "%s has %s%u", tensor_text(s, con->node, con->arg),
			  opnd->var == NONE ? "" : "at least ", n);
	blame_settled(s, &con->b);
	blame_operands(s, s->cons.at[use].node);
	blame_origin(s, use);
}

/* What the left side of `*` takes in, which is too little. */
static const char *takes_text(Solver *s, const Con *con, const FlatRow *in)
{
	const char *who = tensor_text(s, con->node, 0);
	uint32_t n = in->nlead + in->ntrail;
	return n == 0 ? arena_printf(s->arena, "%s has no input axis to meet", who)
		      : arena_printf(s->arena, "%s has only %u input ax%s to meet: %s", who, n,
				     n == 1 ? "is" : "es", flat_text(s, in));
}

static const char *room_text(Solver *s, const FlatRow *res)
{
	uint32_t n = res->nlead + res->ntrail;
	return n == 0 ? "the result has none"
		      : arena_printf(s->arena, "the result has only %u: %s", n, flat_text(s, res));
}

static void too_many(Solver *s, ConId id, const FlatRow *res, const FlatRow *opnd)
{
	const Con *con = &s->cons.at[id];
	const Node *node = &s->graph->nodes.at[con->node];
	if (is_repeated(node, con->arg) || is_mended(s, id))
		return;
	ConId use = settling_use(s, con);
	if (use != NONE) {
		blame_use(s, id, use, res, opnd);
		return;
	}
	bool meets = node->kind == NODE_COMPOSE && con->row == ROW_INPUT && con->arg == 1;
	uint32_t n = opnd->nlead + opnd->ntrail;
	blame(s, E0302, id, "%s has %u %s ax%s, %s, and %s", tensor_text(s, con->node, con->arg), n,
	      row_kind_text(meets ? ROW_OUTPUT : con->row), n == 1 ? "is" : "es",
	      flat_text(s, opnd), meets ? takes_text(s, con, res) : room_text(s, res));
	suggest_compose(s, id);
	blame_settled(s, &s->cons.at[id].a);
	blame_settled(s, &s->cons.at[id].b);
	blame_operands(s, s->cons.at[id].node);
	blame_origin(s, id);
}

void row_refine_run(Solver *s, ConId id)
{
	FlatRow res, opnd;
	row_flatten(s, &s->cons.at[id].a, &res);
	row_flatten(s, &s->cons.at[id].b, &opnd);
	uint32_t nres = res.nlead + res.ntrail, nopnd = opnd.nlead + opnd.ntrail;
	if (res.overflow || opnd.overflow || (res.var != NONE && nopnd > ROW_LIMIT)) {
		blame_endless(s, id);
		s->cons.at[id].done = true;
		return;
	}
	if (res.var == NONE && nopnd > nres) {
		too_many(s, id, &res, &opnd);
		s->cons.at[id].done = true;
		return;
	}
	if (res.var != NONE && nopnd > nres) {
		Operand o = operand_of(&opnd);
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
