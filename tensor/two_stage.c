/* Reductions over a short last axis and over others, with one that stays between, in two steps.
 *
 *   y[n, g] = sum over h, c of x[n, h, g, c]         4 channels c in each of 32 groups g
 * has four neighbours to add up at a time; it becomes
 *   steps_y[n, g, c] = sum over h of x[n, h, g, c]   with lanes along g and c
 *   y[n, g]          = sum over c of steps_y[n, g, c]
 *
 * Whether it does depends on no extent of a batch: an axis of another kind stays between.
 */
#include "sums/sums.h"
#include "tensor/split.h"

typedef struct TwoStage {
	const TensorProgram *program;
	NodeId id;
	const Proj *old;
	const Access *arg, *result;
	uint32_t short_from; /* the first of the operand's last axes, which are reduced */
} TwoStage;

/* The iterator that an axis of the operand is; -1: there is one element. */
static int64_t iter_of(const TwoStage *s, uint32_t axis)
{
	return s->arg->axes[axis].nterms ? (int64_t)s->arg->axes[axis].terms[0].iter : -1;
}

static bool is_reduced(const TwoStage *s, uint32_t axis)
{
	int64_t iter = iter_of(s, axis);
	return iter >= 0 && s->old->iters[iter].reduced;
}

/* Is every axis an iterator of its own, as it is, or one element? */
static bool axes_are_plain(const TwoStage *s)
{
	const Sizes *sizes = s->program->sizes;
	const Shape *shape = tensor_shape(s->program, tensor_node(s->program, s->id)->args[0]);
	uint64_t seen = 0;
	for (uint32_t axis = 0; axis < s->arg->naxes; axis++) {
		const Index *index = &s->arg->axes[axis];
		if (index->gather >= 0 || index->guarded || index->nterms > 1 ||
		    !size_is(sizes, index->offset, 0))
			return false;
		if (index->nterms == 0 && !size_is(sizes, shape_axis(shape, axis)->size, 1))
			return false;
		if (index->nterms == 0)
			continue;
		if (index->terms[0].coef != 1 || (seen >> index->terms[0].iter & 1))
			return false;
		seen |= (uint64_t)1 << index->terms[0].iter;
	}
	return true;
}

/* Is the iterator an axis of the result, and none of a batch? */
static bool is_result(const TwoStage *s, int64_t iter)
{
	uint32_t nbatch = tensor_shape(s->program, s->id)->rows[ROW_BATCH].n;
	for (uint32_t axis = nbatch; axis < s->result->naxes; axis++) {
		const Index *index = &s->result->axes[axis];
		if (index->nterms == 1 && index->terms[0].iter == iter)
			return true;
	}
	return false;
}

/* The elements of some axes that are reduced; -1: not known. */
static int64_t steps_of(const TwoStage *s, uint32_t from, uint32_t to)
{
	Sizes *sizes = s->program->sizes;
	Size steps = size_const(sizes, 1);
	int64_t n;
	for (uint32_t axis = from; axis < to; axis++)
		if (is_reduced(s, axis))
			steps = size_mul(sizes, steps, s->old->iters[iter_of(s, axis)].extent);
	return size_is_const(sizes, steps, &n) ? n : -1;
}

/* Finds the last axes, which are reduced; steps over them. */
static int64_t find_last(TwoStage *s)
{
	uint32_t axis = s->arg->naxes;
	while (axis > 0 && (iter_of(s, axis - 1) < 0 || is_reduced(s, axis - 1)))
		axis--;
	s->short_from = axis;
	return steps_of(s, axis, s->arg->naxes);
}

/* Is there an axis that stays in front of them, and one that is reduced before that, in few enough
 * and many enough steps? */
static bool has_stages(TwoStage *s)
{
	int64_t last = find_last(s);
	uint32_t axis = s->short_from;
	bool result = false;
	for (; axis > 0 && !is_reduced(s, axis - 1); axis--)
		result |= is_result(s, iter_of(s, axis - 1));
	int64_t outer = axis > 0 ? steps_of(s, 0, axis) : 0;
	return result && sums_in_stages(tensor_node(s->program, s->id)->dtype, last, outer);
}

static bool choose(TwoStage *s)
{
	const Node *node = tensor_node(s->program, s->id);
	if (!node->used || node->kind != NODE_SPEC || node->nargs != 1 || !s->old ||
	    s->old->linear || s->old->npieces != 1 || s->old->niters > SPLIT_ITERS ||
	    !proj_reduces(s->old) || !proj_is_plain(s->old))
		return false;
	s->arg = &s->old->pieces[0].args[0];
	s->result = &s->old->pieces[0].result;
	return s->arg->present && axes_are_plain(s) && has_stages(s);
}

/* What is between: the operand without what the first step reduces, in its order, with the batch of
 * the result. */
static Shape shape_between(const TwoStage *s, Access *access)
{
	Arena *arena = s->program->arena;
	const Shape *arg = tensor_shape(s->program, tensor_node(s->program, s->id)->args[0]);
	Shape shape = {0};
	uint32_t axis = 0;
	*access = (Access){true, ARENA_ARRAY(arena, Index, s->arg->naxes + 1), 0};
	for (int k = 0; k < ROW_KINDS; k++) {
		const Row *from = &arg->rows[stored_rows[k]];
		Row *row = &shape.rows[stored_rows[k]];
		row->axes = ARENA_ARRAY(arena, Axis, from->n + 1);
		for (uint32_t i = 0; i < from->n; i++, axis++)
			if (axis >= s->short_from || !is_reduced(s, axis)) {
				row->axes[row->n++] = from->axes[i];
				access->axes[access->naxes++] = s->arg->axes[axis];
			}
	}
	return shape;
}

bool two_stage_add(Rebuild *g, NodeId id, Node *node)
{
	TwoStage s = {.program = g->program, .id = id, .old = tensor_proj(g->program, id)};
	Access between;
	if (!choose(&s))
		return false;
	Shape shape = shape_between(&s, &between);
	const Access *arg = s.arg, *from = &between;
	Proj *first = split_proj(g->program, s.old, &between, &arg, 1);
	Proj *last = split_proj(g->program, s.old, s.result, &from, 1);
	first->surjective = true;
	first->clear = true;
	last->surjective = s.old->surjective;
	last->clear = true;
	NodeId steps = split_first(g, node, "partial", node->args, 1, shape, first);
	split_last(g, id, node, &steps, 1, last);
	return true;
}
