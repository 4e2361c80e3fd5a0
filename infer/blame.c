/* Which function tells which kind of conflict. */
#include "infer/blame.h"
#include "infer/trail.h"

static Tell *const tells[CONFLICT_KINDS] = {
	[CONFLICT_SIZES] = tell_sizes,
	[CONFLICT_STRETCHED] = tell_stretched,
	[CONFLICT_LABELS] = tell_labels,
	[CONFLICT_PART_LABELS] = tell_part_labels,
	[CONFLICT_TOO_LARGE] = tell_too_large,
	[CONFLICT_RANKS] = tell_ranks,
	[CONFLICT_MORE_AXES] = tell_more_axes,
	[CONFLICT_USE_AXES] = tell_use_axes,
	[CONFLICT_ENDLESS] = tell_endless,
	[CONFLICT_INSIDE_ITSELF] = tell_inside_itself,
	[CONFLICT_RANK_CIRCLE] = tell_rank_circle,
	[CONFLICT_MANY_AXES] = tell_many_axes,
	[CONFLICT_FRACTION] = tell_fraction,
	[CONFLICT_WINDOW] = tell_window,
	[CONFLICT_STEPS] = tell_steps,
	[CONFLICT_KERNEL] = tell_kernel,
	[CONFLICT_PARTS] = tell_parts,
	[CONFLICT_EQUAL_PARTS] = tell_equal_parts,
	[CONFLICT_MULTIPLE] = tell_multiple,
	[CONFLICT_INDEX] = tell_index,
	[CONFLICT_WORDS] = tell_total,
	[CONFLICT_TOTAL] = tell_total,
	[CONFLICT_ROOT] = tell_root,
	[CONFLICT_SYSTEM] = tell_system,
	[CONFLICT_TOTALS] = tell_totals,
	[CONFLICT_TOTALS_UNTRIED] = tell_totals,
	[CONFLICT_OPEN_KERNEL] = tell_open_kernel,
	[CONFLICT_OPEN_COUNT] = tell_open_count,
	[CONFLICT_OPEN_SIZE] = tell_open_size,
	[CONFLICT_OPEN_ROW] = tell_open_row,
	[CONFLICT_PARAM_SIZE] = tell_param_size,
	[CONFLICT_BY_ZERO] = tell_by_zero,
	[CONFLICT_NO_MULTIPLE] = tell_no_multiple,
	[CONFLICT_NEGATIVE] = tell_negative,
	[CONFLICT_LARGE] = tell_large,
	[CONFLICT_LARGE_GUARD] = tell_large_guard,
	[CONFLICT_INTEGER] = tell_integer,
	[CONFLICT_SLICE] = tell_slice,
	[CONFLICT_STEP_SIZE] = tell_step_size,
	[CONFLICT_SCALAR_SIZE] = tell_scalar_size,
	[CONFLICT_STEP] = tell_step,
	[CONFLICT_STEP_NEVER] = tell_step_never,
	[CONFLICT_NEVER] = tell_never,
	[CONFLICT_NEVER_ALL] = tell_never_all,
};

/* ---- written rules ---- */

/* The constraint of what a rule gives; NULL: the conflict is another's. */
static const Con *of_rule(const Blame *b, const Conflict *c)
{
	const Con *con = c->con == NONE ? NULL : &b->s->cons.at[c->con];
	bool rule = con && con->node != NODE_NONE && con->arg >= 0 &&
		    b->s->graph->nodes.at[con->node].kind == NODE_RULE;
	return rule ? con : NULL;
}

/* Is it a mistake of a written rule that was told of another application of its function? */
static bool is_ruled(const Blame *b, const Conflict *c)
{
	const Con *con = of_rule(b, c);
	bool told = false;
	for (size_t i = 0; con && i < b->ruled.n; i++)
		told |= span_same(b->ruled.at[i], con->span);
	return told;
}

/* Behind the message of a conflict: of a rule that is mistaken in other applications too, how many. */
static void note_rule_again(Blame *b, const Conflict *c)
{
	const Con *con = of_rule(b, c);
	if (!con || is_ruled(b, c))
		return;
	PUSH(b->s->arena, b->ruled, con->span);
	const Graph *graph = b->s->graph;
	bool *counted = ARENA_ARRAY(b->s->arena, bool, graph->nodes.n);
	NodeId next = NODE_NONE;
	uint32_t others = 0;
	counted[con->node] = true;
	for (const Conflict *d = c + 1; d < b->s->conflicts.at + b->s->conflicts.n; d++) {
		const Con *other = of_rule(b, d);
		if (!other || !span_same(other->span, con->span) || counted[other->node])
			continue;
		counted[other->node] = true;
		next = next == NODE_NONE ? other->node : next;
		others++;
	}
	if (others > 0)
		diag_note(b->diags, graph->sites.at[graph->nodes.at[next].site].span,
			  "so it is in %u other application%s, as here", others,
			  others == 1 ? "" : "s");
}

/* ---- all of them ---- */

void blame_conflicts(Solver *s, const Inference *inference, Diags *diags)
{
	Blame *b = blame_new(s, inference, diags);
	for (size_t i = 0; i < s->conflicts.n && !diags->overflow; i++) {
		b->conflict = &s->conflicts.at[i];
		trail_go(s, b->conflict->known);
		if (is_follow_on(b, b->conflict) || is_ruled(b, b->conflict))
			continue;
		size_t before = diags->list.n;
		tells[b->conflict->kind](b, b->conflict);
		if (diags->list.n > before)
			note_rule_again(b, b->conflict);
		b->ntold++;
	}
	trail_go(s, s->trail.n);
}
