/* The picture of a convolution copied to where the lanes of a vector are neighbours and no read is
 * outside.
 *
 *   y[o, oh, ow] = sum over c, kh, kw of x[c, oh + kh - 1, ow + kw - 1] * w[o, c, kh, kw]
 * becomes
 *   padded_x[c, ih, iw] = x[c, ih - 1, iw - 1], or 0 outside
 *   y[o, oh, ow] = sum over c, kh, kw of padded_x[c, oh + kh, ow + kw] * w[o, c, kh, kw]
 *
 * where lanes run along `ow`. An axis of the picture stays one axis, with its margins. That of `ow`
 * becomes two, padded_x[c, ih, kw, ow], where `ow` moves it by more than one element. An element adds
 * its products in the order of the sum's loops, as without the copy, and products with 0 where others
 * skip a step. Few channels that the result has last as well stay last, and become one loop with `ow`.
 *
 * Where the copy is the picture with margins, these are those of all its readers, and one copy
 * serves the kernels that want it so; there is none where the picture's buffer has margins itself
 * (halo.c).
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/node_plan.h"
#include "lower/pad.h"
#include "lower/tile/plan.h"

/* ---- what is there ---- */

static const Iter *iter_of(const Pad *p, IterId iter) { return &p->nest->proj->iters[iter]; }

const Loop *pad_loop(const Nest *nest, IterId iter)
{
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (nest->loops[i].iter == iter)
			return &nest->loops[i];
	return NULL;
}

/* Is the copy asked for? Then it need not pay. */
static bool is_asked(const Pad *p) { return asks_on(gen_asked(p->nest->gen, CHOICE_PAD)); }

/* Does a loop of its own, or none, go through the iterator? */
static bool is_whole(const Pad *p, IterId iter)
{
	const Loop *loop = pad_loop(p->nest, iter);
	Size extent = iter_of(p, iter)->extent;
	return loop ? size_same(loop->extent, extent) : size_is(p->program->sizes, extent, 1);
}

/* Is it a sum of loops that it grows with, those over the kernel of known extents? */
static bool is_affine(const Pad *p, const Index *index)
{
	for (uint32_t t = 0; t < index->nterms; t++) {
		IterId iter = index->terms[t].iter;
		bool window = index->nterms > 1;
		if (index->terms[t].coef <= 0 || (window && !is_whole(p, iter)) ||
		    (window && iter_of(p, iter)->reduced &&
		     nest_known(p->nest, iter_of(p, iter)->extent, 0) < 1))
			return false;
	}
	return index->gather < 0;
}

/* Is every axis such a sum, and of iterators of its own? */
static bool are_affine(const Pad *p)
{
	uint32_t n = 0;
	for (uint32_t a = 0; a < p->access->naxes; a++) {
		const Index *index = &p->access->axes[a];
		n += index->nterms + 1;
		if (!is_affine(p, index))
			return false;
		for (uint32_t b = 0; b < a; b++)
			for (uint32_t t = 0; t < index->nterms; t++)
				if (nest_term_of(&p->access->axes[b], index->terms[t].iter))
					return false;
	}
	return n <= PAD_DIMS;
}

/* The loop's step through the operand, in elements; 0: not known. */
static int64_t step_of(const Pad *p, const Ix *at, const Loop *loop)
{
	Size step = ix_stride(p->program, at, loop->var);
	return size_is_bad(step) ? 0 : nest_known(p->nest, step, 0);
}

/* Does the next member of a batch begin where the columns end? */
static bool goes_on(const Pad *p, const Ix *at, NodeId tensor)
{
	int64_t end = step_of(p, at, p->col) * nest_known(p->nest, p->col->extent, 0);
	return size_is(p->program->sizes, node_elements(p->nest->gen->lower, tensor), end);
}

/* Is the window one element, and would members of a batch, of which there is one, go on along the
 * columns? Several of them are one loop, which reads no windows. */
static bool is_joined_batch(const Pad *p, const Index *index)
{
	const Nest *nest = p->nest;
	const Lower *lower = nest->gen->lower;
	bool one = !index->guarded && p->col == &nest->loops[0] &&
		   lower_shape(lower, nest->node)->rows[ROW_BATCH].n > 0 &&
		   goes_on(p, nest->at, nest->node) &&
		   goes_on(p, nest->value->args[p->arg]->ix,
			   lower_node(lower, nest->node)->args[p->arg]);
	for (uint32_t t = 0; t < index->nterms; t++) {
		IterId iter = index->terms[t].iter;
		one &= iter == p->col->iter ||
		       nest_known(p->nest, iter_of(p, iter)->extent, 0) == 1;
	}
	return one;
}

/* Do lanes along the columns read windows of the operand? Strided elements belong to
 * other lanes. */
static bool is_picture(Pad *p, uint32_t arg)
{
	const Nest *nest = p->nest;
	const Value *load = nest->value->args[arg];
	p->arg = arg;
	p->access = &nest->piece->args[arg];
	if (load->kind != VALUE_LOAD || !p->access->present || !are_affine(p))
		return false;
	int64_t step = step_of(p, load->ix, p->col);
	for (uint32_t a = 0; a < p->access->naxes; a++) {
		const Index *index = &p->access->axes[a];
		const IndexTerm *term = nest_term_of(index, p->col->iter);
		if (!term || index->nterms < 2 || is_joined_batch(p, index))
			continue;
		p->strided = index->guarded ||
			     step != (p->inner ? nest_known(p->nest, p->inner->extent, 0) : 1);
		return step > 0 &&
		       (is_asked(p) || step < nest_target(p->nest)->pad_far * term->coef);
	}
	return false;
}

/* Is the loop one over channels, few of them, that lie side by side in the result and in the
 * operand? */
static bool is_inner(const Pad *p, uint32_t arg, const Loop *loop)
{
	const Value *load = p->nest->value->args[arg], *other = p->nest->value->args[1 - arg];
	int64_t extent = nest_known(p->nest, loop->extent, 0);
	return extent > 0 && (is_asked(p) || extent < nest_target(p->nest)->pad_far) &&
	       load->kind == VALUE_LOAD && other->kind == VALUE_LOAD &&
	       step_of(p, load->ix, loop) == 1 && !ix_uses(other->ix, loop->var) &&
	       !nest_is_guarded(p->nest, loop) && is_whole(p, loop->iter);
}

static bool finds_loops(Pad *p)
{
	const Nest *nest = p->nest;
	const Loop *last = &nest->loops[nest->nresult - 1];
	bool strided = nest_stores_strided(nest, last);
	p->col = last;
	if (!strided && step_of(p, nest->at, last) != 1)
		return false;
	if (is_picture(p, 0) || is_picture(p, 1))
		return true;
	for (uint32_t arg = 0; arg < 2 && nest->nresult > 1 && !strided; arg++) {
		if (!is_inner(p, arg, last))
			continue;
		p->inner = last;
		p->col = last - 1;
		return step_of(p, nest->at, p->col) == nest_known(p->nest, last->extent, 0) &&
		       is_picture(p, arg);
	}
	return false;
}

static bool finds_picture(Pad *p)
{
	const Nest *nest = p->nest;
	const Node *node = lower_node(nest->gen->lower, nest->node);
	const Value *value = nest->value;
	if (node->nargs != 2 || value->kind != VALUE_OP || value->op != OP_MUL ||
	    !dtype_is_float(value->dtype) || !finds_loops(p) ||
	    (!is_asked(p) &&
	     nest_known(p->nest, p->col->extent, nest_target(p->nest)->least_lanes) <
		     nest_target(p->nest)->least_lanes))
		return false;
	const Value *other = value->args[1 - p->arg];
	const Ix **axes =
		access_indices(nest->gen, nest->node, nest->piece, p->access, nest->by_iter);
	p->load = node_value(nest->gen, node->args[p->arg], axes);
	return other->kind == VALUE_LOAD && !ix_uses(other->ix, p->col->var) &&
	       value_same(p->load, value->args[p->arg]);
}

static int64_t moved_steps(const Pad *p)
{
	const Nest *nest = p->nest;
	int64_t n = 1;
	for (uint32_t i = 0; i < nest->nloops && n < INT32_MAX; i++)
		if (nest->loops[i].reduced && ix_uses(p->load->ix, nest->loops[i].var))
			n *= nest_known(p->nest, nest->loops[i].own, 1);
	return n;
}

/* ---- which axes ---- */

static void add_dim(Pad *p, CopyRank rank, uint32_t axis, const IndexTerm *term, Size extent)
{
	p->dims[p->ndims++] =
		(CopyAxis){.rank = rank, .axis = axis, .term = term, .extent = extent};
}

/* How far the result's loops and the kernel's go along an axis; of strided rows a little more than
 * is read. */
static Size reach_of(const Pad *p, const Index *index)
{
	Sizes *sizes = p->program->sizes;
	Size reach = size_const(sizes, 0);
	bool elements = false;
	for (uint32_t t = 0; t < index->nterms; t++) {
		const Iter *iter = iter_of(p, index->terms[t].iter);
		Size steps = iter->reduced ? size_plus(sizes, iter->extent, -1) : iter->extent;
		reach = size_add(sizes, reach, size_scale(sizes, steps, index->terms[t].coef));
		elements |= !iter->reduced;
	}
	return size_plus(sizes, reach, !elements);
}

/* Is it one axis of the copy? */
static bool stays_whole(const Pad *p, const Index *index)
{
	const IndexTerm *col = nest_term_of(index, p->col->iter);
	return index->nterms > 1 && !(col && col->coef > 1);
}

static void add_dims(Pad *p, CopyRank rank, uint32_t axis)
{
	const Index *index = &p->access->axes[axis];
	if (stays_whole(p, index)) {
		bool lanes = nest_term_of(index, p->col->iter);
		if (rank == (lanes ? RANK_LANES : RANK_SUM))
			add_dim(p, rank, axis, NULL, reach_of(p, index));
		return;
	}
	for (uint32_t t = 0; t < index->nterms; t++) {
		const Iter *iter = iter_of(p, index->terms[t].iter);
		bool lanes =
			index->nterms > 1 || (p->inner && index->terms[t].iter == p->inner->iter);
		CopyRank of = iter->reduced ? RANK_SUM : lanes ? RANK_LANES : RANK_OUTER;
		if (of == rank)
			add_dim(p, rank, axis, &index->terms[t], iter->extent);
	}
}

NodeId pad_picture(const Pad *p)
{
	return lower_node(p->nest->gen->lower, p->nest->node)->args[p->arg];
}

/* Does the copy go on with the whole of this axis of the picture, or leave out one of one element?
 * Margins that only others need make it another copy. */
static bool is_in_place(const Pad *p, const Margins *margins, uint32_t axis, uint32_t *d)
{
	const Sizes *sizes = p->program->sizes;
	const Lower *lower = p->nest->gen->lower;
	const Index *index = &p->access->axes[axis];
	Size size = shape_axis(lower_shape(lower, pad_picture(p)), axis)->size;
	if (!index->guarded && !margin_is_none(lower, &margins->axes[axis]))
		return false;
	if (index->nterms == 0)
		return size_is(sizes, size, 1);
	const CopyAxis *dim = &p->dims[(*d)++];
	bool whole = dim->term && dim->term->coef == 1 && !index->guarded &&
		     size_is(sizes, index->offset, 0) && size_same(dim->extent, size);
	return dim->axis == axis && (!dim->term || whole);
}

/* The margins of the picture, where the copy is the picture with margins; NULL: it is not. */
static const Margins *margins_of(const Pad *p)
{
	const Lower *lower = p->nest->gen->lower;
	const NodePlan *plan = &lower->plan[pad_picture(p)];
	const Margins *margins = margins_known(lower, pad_picture(p));
	bool in_place = margins && !plan->fused && !plan->mutated;
	uint32_t d = 0;
	for (uint32_t a = 0; a < p->access->naxes && in_place; a++)
		in_place = is_in_place(p, margins, a, &d);
	return in_place && d == p->ndims ? margins : NULL;
}

/* The copy's axes, row-major. */
static void find_axes(Pad *p)
{
	for (int rank = RANK_OUTER; rank <= RANK_LANES; rank++)
		for (uint32_t a = 0; a < p->access->naxes; a++)
			add_dims(p, (CopyRank)rank, a);
	p->margins = margins_of(p);
	for (uint32_t d = 0; p->margins && d < p->ndims; d++)
		p->dims[d].extent = margins_extent(p->nest->gen->lower, pad_picture(p), p->margins,
						   p->dims[d].axis);
}

Size pad_first(const Pad *p, uint32_t axis)
{
	return p->margins ? size_scale(p->program->sizes, p->margins->axes[axis].before, -1)
			  : p->access->axes[axis].offset;
}

Size pad_lay_out(Pad *p, PackedOperandLoad *packed_operand)
{
	Sizes *sizes = p->program->sizes;
	const Nest *nest = p->nest;
	Size elements = size_const(sizes, 1);
	packed_operand->offset = size_const(sizes, 0);
	packed_operand->strides = ARENA_ARRAY(nest->gen->arena, Size, nest->proj->niters);
	for (uint32_t i = 0; i < nest->proj->niters; i++)
		packed_operand->strides[i] = size_const(sizes, 0);
	for (uint32_t d = p->ndims; d-- > 0;) {
		CopyAxis *dim = &p->dims[d];
		const Index *index = &p->access->axes[dim->axis];
		Size skipped = size_sub(sizes, index->offset, pad_first(p, dim->axis));
		dim->stride = elements;
		packed_operand->offset =
			size_add(sizes, packed_operand->offset, size_mul(sizes, skipped, elements));
		for (uint32_t t = 0; t < index->nterms && !dim->term; t++)
			packed_operand->strides[index->terms[t].iter] =
				size_scale(sizes, elements, index->terms[t].coef);
		if (dim->term)
			packed_operand->strides[dim->term->iter] = elements;
		elements = size_mul(sizes, elements, dim->extent);
	}
	return elements;
}

static BufferId make_buffer(const Pad *p, Size elements)
{
	return gen_temporary(p->nest->gen, "padded", p->program->buffers.at[p->load->buffer].name,
			     (Buffer){.dtype = p->load->dtype, .elements = elements});
}

void pad_drop_guards(Pad *p)
{
	GuardedList rest = {0};
	for (size_t g = 0; g < p->nest->guards.n; g++) {
		const Guarded *guard = &p->nest->guards.at[g];
		bool own = false;
		for (uint32_t a = 0; a < p->access->naxes; a++)
			own |= guard->index == &p->access->axes[a];
		if (!own)
			PUSH(p->nest->gen->arena, rest, *guard);
	}
	p->nest->guards = rest;
}

/* Is the picture in the copy a few times at most? Rows that are cut by columns of the kernel stand
 * there once for each, every one shorter by the step. */
static bool copies_are_few(const Pad *p, const CopyAxis *dim)
{
	const Index *index = &p->access->axes[dim->axis];
	int64_t step = 1;
	if (!dim->term || index->nterms < 2 || !iter_of(p, dim->term->iter)->reduced)
		return true;
	for (uint32_t t = 0; t < index->nterms; t++)
		if (!iter_of(p, index->terms[t].iter)->reduced)
			step = index->terms[t].coef;
	return nest_known(p->nest, dim->extent, INT32_MAX) <=
	       nest_target(p->nest)->pad_copies * step;
}

static Size copy_elements(const Pad *p)
{
	Size elements = size_const(p->program->sizes, 1);
	for (uint32_t d = 0; d < p->ndims; d++)
		elements = size_mul(p->program->sizes, elements, p->dims[d].extent);
	return elements;
}

/* Are the margins about as long as the picture at most, so that the copy is mostly picture? A
 * window that reaches far outside reads little there. */
static bool copy_is_short(const Pad *p)
{
	Sizes *sizes = p->program->sizes;
	for (uint32_t d = 0; d < p->ndims; d++) {
		const CopyAxis *dim = &p->dims[d];
		Size size = shape_axis(lower_shape(p->nest->gen->lower, pad_picture(p)), dim->axis)
				    ->size;
		int64_t margin;
		if (!copies_are_few(p, dim))
			return false;
		if (dim->term || !size_is_const(sizes, size_sub(sizes, dim->extent, size), &margin))
			continue;
		if (margin > nest_target(p->nest)->pad_margin &&
		    margin > nest_target(p->nest)->pad_margin_times * nest_known(p->nest, size, 0))
			return false;
	}
	return !size_is_bad(copy_elements(p));
}

bool pad_find_axes(Pad *p)
{
	const Nest *nest = p->nest;
	bool plain = !nest->gen->lower->row_block && nest->inner.n == 0 && nest->nresult > 0 &&
		     nest->nloops > nest->nresult && proj_computes_elements(nest->proj) &&
		     !nest->packed_operand[0].strides && !nest->packed_operand[1].strides;
	if (!plain || !finds_picture(p) ||
	    (!is_asked(p) && moved_steps(p) < nest_target(p->nest)->pad_steps))
		return false;
	if (!is_asked(p) && !p->strided)
		return false;
	find_axes(p);
	return is_asked(p) ? !size_is_bad(copy_elements(p)) : copy_is_short(p);
}

/* Is there a picture that is better copied? Finds the copy's axes. */
static bool finds_copy(Pad *p)
{
	const Gen *gen = p->nest->gen;
	if (asks_off(gen_asked(gen, CHOICE_PAD)) || !pad_find_axes(p))
		return false;
	return is_asked(p) ? gen_asks_operand(gen, CHOICE_PAD, p->load->buffer)
			   : !pad_is_better_in_place(p);
}

int nest_wants_margins(Nest *nest)
{
	Pad p = {.nest = nest, .program = nest->gen->program};
	return finds_copy(&p) && p.margins ? (int)p.arg : -1;
}

bool nest_pad(Nest *nest)
{
	Pad p = {.nest = nest, .program = nest->gen->program};
	if (!finds_copy(&p))
		return false;
	gen_make_operand(nest->gen, CHOICE_PAD, p.load->buffer);
	NodePlan *plan = &nest->gen->lower->plan[pad_picture(&p)];
	PackedOperandLoad *packed_operand = &nest->packed_operand[p.arg];
	if (!p.margins || !plan->halo) {
		Size elements = pad_lay_out(&p, packed_operand);
		bool made = p.margins && plan->padded != BUFFER_NONE;
		packed_operand->buffer = p.buffer = made ? plan->padded : make_buffer(&p, elements);
		if (!made)
			PUSH(nest->gen->arena, nest->copies, pad_copy(&p));
		if (p.margins && !nest->gen->looks)
			plan->padded = p.buffer;
	}
	pad_drop_guards(&p);
	nest_rebuild(nest);
	return true;
}
