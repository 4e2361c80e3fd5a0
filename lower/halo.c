/* Buffers with margins: a picture that a kernel of the routine makes is written into the middle of
 * what its readers would copy it into (pad.c).
 *
 *   x          x[c, i + 1, j + 1] = ...
 *   frame_x    x[c, 0, *] = x[c, *, 0] = x[c, H + 1, *] = x[c, *, W + 1] = 0
 *   y          y[o, i, j] = sum over c, ki, kj of x[c, i + ki, j + kj] * w[o, c, ki, kj]
 *
 * The margins are those that inference froze (infer/margins.c), so one buffer serves every reader.
 * They are given before any kernel is emitted, from the last reader to the first: whether a reader
 * would copy depends on the layout of what it writes. Rows with margins are no longer neighbours:
 * where all elements as one loop fill vectors much better than row by row, there are none.
 *
 * Only flat_index knows the layout. What touches elements in storage order (reshapes, results,
 * fills) has no margins.
 */
#include "lower/kernel.h"
#include "lower/nest_plan.h"
#include "lower/node_plan.h"

/* ---- which tensors have them ---- */

/* Does an operation walk through the elements as they are stored? */
static bool is_read_in_line(const Lower *lower, NodeId id)
{
	for (uint32_t u = lower->first_use[id]; u < uses_end(lower, id); u++) {
		const Proj *proj = lower_proj(lower, lower->uses[u].user);
		if (!proj || proj->linear)
			return true;
	}
	return false;
}

/* Is it stored element by element, at indices that flat_index gives, into memory of the routine's own? */
static bool may_have_margins(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	const Proj *proj = lower_proj(lower, id);
	bool plain = proj && !proj->linear && node->target == NODE_NONE && node_suits_nest(node);
	return plain && lower_has_kernel(lower, id) && !plan->mutated && !plan->pre_check &&
	       !plan->output && lower->program->buffers.at[plan->buffer].kind == BUFFER_TEMP &&
	       !nest_needs_fill(lower, id) && !is_read_in_line(lower, id);
}

/* Vectors, whole, half or of four, and single elements, that n lanes take. */
static int64_t vectors_of(const Lower *lower, Dtype dtype, int64_t n)
{
	int64_t lanes = lower->target->vector_bytes / dtype_bytes(dtype), count = 0;
	for (; lanes >= lower->target->least_lanes; lanes /= 2) {
		count += n / lanes;
		n %= lanes;
	}
	return count + n;
}

/* Do rows as one loop take two thirds of the vectors, or fewer? */
static bool one_loop_saves(const Lower *lower, Dtype dtype, int64_t rows, int64_t cols)
{
	return rows > 0 && cols > 0 &&
	       vectors_of(lower, dtype, rows * cols) * 3 <=
		       vectors_of(lower, dtype, cols) * rows * 2;
}

/* Are rows between margins, all that lies beside each other, so short for vectors that the elements of
 * all of them are better one loop? */
static bool rows_are_short(const Lower *lower, NodeId id, const Margins *margins)
{
	const Shape *shape = lower_shape(lower, id);
	Size elements = size_const(lower->sizes, 1);
	uint32_t axis = shape_naxes(shape);
	int64_t rows, cols;
	do /* falls: axes in front, of which one has margins */
		elements = size_mul(lower->sizes, elements, shape_axis(shape, --axis)->size);
	while (axis > 0 && margin_is_none(lower, &margins->axes[axis]));
	return axis > 0 && size_is_const(lower->sizes, elements, &cols) &&
	       size_is_const(lower->sizes, shape_axis(shape, axis - 1)->size, &rows) &&
	       one_loop_saves(lower, lower_node(lower, id)->dtype, rows, cols);
}

/* The operand that the kernel of the root would copy with margins, could it not have them;
 * NODE_NONE: there is none. */
static NodeId copied_operand(Lower *lower, NodeId root)
{
	NodeId id = lower_nest_node(lower, root);
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	bool candidate = false;
	if (node->kind != NODE_SPEC || proj->npieces != 1 || node_reduce_op(node) != OP_ADD)
		return NODE_NONE;
	for (uint32_t i = 0; i < node->nargs; i++)
		candidate |= margins_known(lower, node->args[i]) &&
			     may_have_margins(lower, node->args[i]);
	if (!candidate)
		return NODE_NONE;
	BufferId buffer = lower->plan[root].buffer;
	NestLook look;
	nest_look_at(&look, lower, root, 0, lower->program->buffers.at[buffer].name,
		     (StoreTarget){buffer, OP_NONE});
	int arg = nest_wants_margins(&look.nest);
	return arg < 0 ? NODE_NONE : node->args[arg];
}

static void give_margins(Lower *lower, NodeId id)
{
	NodePlan *plan = &lower->plan[id];
	Buffer *buffer = &lower->program->buffers.at[plan->buffer];
	ScheduleClause *asked = schedule_asked(lower->asked, lower->program, buffer->name,
					       lower_node(lower, id)->span, CHOICE_HALO);
	const Margins *margins = margins_known(lower, id);
	if (asks_off(asked) || (!asked && rows_are_short(lower, id, margins)))
		return;
	plan->halo = margins;
	buffer->elements = margins_elements(lower, id, plan->halo);
}

/* Margins as a complete schedule has them. */
static void give_asked(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		if (lower_has_kernel(lower, id) && lower_proj(lower, id) &&
		    margins_known(lower, id) && may_have_margins(lower, id))
			give_margins(lower, id);
	}
}

void halo_plan(Lower *lower)
{
	if (lower_replays(lower)) {
		give_asked(lower);
		return;
	}
	for (uint32_t k = lower->nneeded; k-- > 0;) {
		NodeId id = lower->needed[k];
		if (!lower_has_kernel(lower, id) || !lower_proj(lower, id))
			continue;
		NodeId operand = copied_operand(lower, id);
		if (operand != NODE_NONE && !lower->plan[operand].halo &&
		    may_have_margins(lower, operand))
			give_margins(lower, operand);
	}
}

/* ---- what is written down ---- */

static void describe_axis(Gen *gen, ScheduleClause *clause, Sym name, const Margin *margin)
{
	int64_t numbers[2];
	if (margin_is_none(gen->lower, margin))
		return;
	bool known = size_is_const(gen->lower->sizes, margin->before, &numbers[0]) &&
		     size_is_const(gen->lower->sizes, margin->after, &numbers[1]);
	clause_add(gen->arena, clause, name, numbers, known ? 2 : 0);
}

void halo_describe(Gen *gen, NodeId id)
{
	const Margins *margins = gen->lower->plan[id].halo;
	const Proj *proj = lower_proj(gen->lower, id);
	ScheduleEntry *entry = &gen->made.at[0];
	bool off = says_off(schedule_asked(gen->lower->asked, gen->program, entry->name,
					   entry->span, CHOICE_HALO));
	if (!margins && !off)
		return;
	ScheduleClause *clause = entry_make(gen->arena, entry, CHOICE_HALO, !margins);
	const Access *result = margins ? &proj->pieces[0].result : NULL;
	for (uint32_t i = 0; margins && i < result->naxes; i++)
		if (result->axes[i].nterms > 0)
			describe_axis(gen, clause, proj->iters[result->axes[i].terms[0].iter].name,
				      &margins->axes[i]);
}
