/* Which tensors TMA copies boxes of: see tensor.h. */
#include "transform/gpu/tensor.h"

#include "base/size_order.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/walk.h"

/* Elements of which the size is a multiple are a multiple of 16 bytes. */
bool tma_is_aligned(Program *program, Dtype dtype, Size size)
{
	return size_divides(program->sizes,
			    size_const(program->sizes, GROUP_ALIGNED / (int64_t)dtype_bytes(dtype)),
			    size);
}

static bool axis_of(Program *program, const TmaElement *element, IterVar iter, Size extent,
		    TensorAxis *axis)
{
	*axis = (TensorAxis){
		.extent = extent, .stride = ix_stride(program, element->ix, iter), .box = 1};
	return !size_is_bad(axis->stride) &&
	       (size_is(program->sizes, axis->stride, 1) ||
		tma_is_aligned(program, element->dtype, axis->stride));
}

/* Do the last elements of all axes lie in the buffer? */
static bool fits_buffer(Program *program, BufferId buffer, const TensorAxis *axes, uint32_t n)
{
	Sizes *sizes = program->sizes;
	Size last = size_const(sizes, 0);
	for (uint32_t i = 0; i < n; i++)
		last = size_add(
			sizes, last,
			size_mul(sizes, axes[i].stride, size_plus(sizes, axes[i].extent, -1)));
	Size elements = program->buffers.at[buffer].elements;
	return !size_is_bad(last) && size_ge(sizes, size_plus(sizes, elements, -1), last);
}

/* The first two axes. */
static bool find_sides(Program *program, const TmaElement *element, const LoopGroup *const *groups,
		       TmaTensor *t)
{
	TensorAxis first, second;
	if (!axis_of(program, element, group_iter(groups[0]), groups[0]->extent, &first) ||
	    !axis_of(program, element, group_iter(groups[1]), groups[1]->extent, &second))
		return false;
	t->along_first = size_is(program->sizes, first.stride, 1);
	t->axes[!t->along_first] = first;
	t->iters[!t->along_first] = group_iter(groups[0]);
	t->axes[t->along_first] = second;
	t->iters[t->along_first] = group_iter(groups[1]);
	t->n = 2;
	return t->along_first != size_is(program->sizes, second.stride, 1);
}

/* Those of the batch, of the loops that the operand has. */
static bool find_batch(Program *program, const TmaElement *element, const LoopGroup *batch,
		       TmaTensor *t)
{
	for (uint32_t i = 0; i < batch->n; i++) {
		const Stmt *loop = batch->loops[i];
		if (!ix_uses(element->ix, loop->iter))
			continue;
		if (!axis_of(program, element, loop->iter, loop->hi->size, &t->axes[t->n]) ||
		    size_is(program->sizes, t->axes[t->n].stride, 1))
			return false;
		t->iters[t->n++] = loop->iter;
	}
	return true;
}

/* Is the index the sum of the axes' multiples, and of nothing else? Of a group the innermost loop stands for all. */
static bool is_sum_of_axes(Program *program, const Ix *ix, const LoopGroup *const *groups,
			   const TmaTensor *t)
{
	for (int g = 0; g < 2; g++)
		for (uint32_t i = 0; i + 1 < groups[g]->n && ix; i++)
			ix = ix_without(program, ix, groups[g]->loops[i]->iter);
	for (uint32_t i = 0; i < t->n && ix; i++)
		ix = ix_without(program, ix, t->iters[i]);
	return ix && ix->kind == IX_SIZE && size_is(program->sizes, ix->size, 0);
}

bool tma_tensor(Program *program, const TmaElement *element, const LoopGroup *const *groups,
		const LoopGroup *batch, TmaTensor *t)
{
	t->buffer = element->buffer;
	return batch->n <= TMA_BATCH_MOST && find_sides(program, element, groups, t) &&
	       find_batch(program, element, batch, t) &&
	       is_sum_of_axes(program, element->ix, groups, t) &&
	       fits_buffer(program, t->buffer, t->axes, t->n);
}
