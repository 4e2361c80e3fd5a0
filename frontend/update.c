/* Steps that belong to a value, such as those that keep running means:
 *
 *   fn batch_norm()(x; training = 0) = ... in y with update { mean =: keep * mean + (1 - keep) * m }
 *   routine train() { backward loss; update loss; ... }
 *
 * `update y` carries out the steps of all that y is computed from, in the order in which it was evaluated, with the names
 * that stood around them; each once in a routine.
 */
#include "frontend/anew.h"
#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/training.h"
#include "frontend/updates.h"

static bool belongs(const Build *b, const Update *update, const Reach *reach)
{
	bool found = false;
	for (size_t i = 0; i < update->of.n; i++)
		found |= reach_has(b, reach, update->of.at[i]);
	return found;
}

static void carry_out(Build *b, const Update *update, const AstStep *step)
{
	Activation outer = b->at;
	int before = b->diags->nerrors;
	b->at = update->at;
	b->at.steps = outer.steps;
	b->at.withs = NULL;
	b->at.scope = scope_new(b, update->at.scope);
	AnewReads reads = b->anew->reads;
	b->anew->reads = READS_LAST;
	eval_all_steps(b, update->expr->steps, update->expr->nsteps);
	b->anew->reads = reads;
	b->at = outer;
	if (b->diags->nerrors > before)
		diag_note(b->diags, step->span,
			  "it is carried out here; an 'update' goes before the steps that write what y depends on");
}

/* Those of what y is computed from. */
static Updates updates_of(Build *b, NodeId y)
{
	Updates mine = {0};
	Reach reach = reach_from(b, &y, 1);
	for (size_t i = 0; i < b->updates.n; i++)
		if (belongs(b, b->updates.at[i], &reach))
			PUSH(b->arena, mine, b->updates.at[i]);
	return mine;
}

void updates_note_backward(Build *b, NodeId y, const AstExpr *expr)
{
	Updates mine = updates_of(b, y);
	for (size_t i = 0; i < mine.n; i++)
		if (!mine.at[i]->backward) {
			mine.at[i]->backward = expr;
			mine.at[i]->written = routine_writes_of(b, &mine.at[i]->of);
		}
}

static void warn_left(Build *b, const Update *update)
{
	const AstExpr *y = update->backward;
	size_t before = b->diags->list.n;
	diag(b->diags, W0209, y->span,
	     "no routine carries out the steps that this is computed with, such as running means");
	if (b->diags->list.n == before)
		return;
	diag_note(b->diags, update->expr->op_span, "they stand here");
	const char *name = source_text(b->sources, b->arena, y->span);
	if (y->kind != AST_NAME && y->kind != AST_MEMBER)
		return;
	if (!span_is_none(update->written))
		diag_note(b->diags, update->written,
			  "'update %s' would go before this, which writes what it depends on",
			  name);
	else
		diag_fix(b->diags, y->span, arena_printf(b->arena, "%s; update %s", name, name),
			 "'update %s' carries them out", name);
}

void updates_warn_left(Build *b)
{
	for (size_t i = 0; i < b->updates.n && b->diags->nerrors == 0; i++)
		if (b->updates.at[i]->backward && b->updates.at[i]->done == 0)
			warn_left(b, b->updates.at[i]);
}

void eval_update(Build *b, const AstStep *step)
{
	size_t routine = b->graph->routines.n + 1;
	int before = b->diags->nerrors;
	AnewReads reads = b->anew->reads;
	b->anew->reads = READS_FILE;
	NodeId y = eval_node(b, step->expr);
	b->anew->reads = reads;
	if (y == NODE_NONE)
		return;
	Updates mine = updates_of(b, y);
	if (mine.n == 0)
		diag(b->diags, E0268, step->expr->span,
		     "nothing that this is computed from has an update");
	for (size_t i = 0; i < mine.n && b->diags->nerrors == before; i++) {
		bool done = mine.at[i]->done == routine;
		mine.at[i]->done = routine;
		if (!done)
			carry_out(b, mine.at[i], step);
	}
}
