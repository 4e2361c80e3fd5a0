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
	*axis = (TensorAxis){.at = ix_iter(program->arena, iter),
			     .extent = extent,
			     .stride = ix_stride(program, element->ix, iter),
			     .box = 1};
	return !size_is_bad(axis->stride) &&
	       (size_is(program->sizes, axis->stride, 1) ||
		tma_is_aligned(program, element->dtype, axis->stride));
}

bool tma_fits_buffer(Program *program, const TmaTensor *t)
{
	Sizes *sizes = program->sizes;
	Size last = size_const(sizes, 0);
	for (uint32_t i = 0; i < t->n; i++)
		last = size_add(sizes, last,
				size_mul(sizes, t->axes[i].stride,
					 size_plus(sizes, t->axes[i].extent, -1)));
	Size elements = program->buffers.at[t->buffer].elements;
	return size_ge(sizes, size_plus(sizes, elements, -1), last);
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
	t->axes[t->along_first] = second;
	t->n = 2;
	return t->along_first != size_is(program->sizes, second.stride, 1);
}

/* Those of the batch, of the loops that the operand has. */
static bool find_batch(Program *program, const TmaElement *element, const TmaBatch *batch,
		       TmaTensor *t)
{
	for (uint32_t i = 0; i < batch->n; i++) {
		if (!ix_uses(element->ix, batch->iters[i]))
			continue;
		if (t->n == TENSOR_AXES_MOST ||
		    !axis_of(program, element, batch->iters[i], batch->extents[i],
			     &t->axes[t->n]) ||
		    size_is(program->sizes, t->axes[t->n].stride, 1))
			return false;
		t->n++;
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
		ix = ix_without(program, ix, t->axes[i].at->iter);
	return ix && ix->kind == IX_SIZE && size_is(program->sizes, ix->size, 0);
}

TmaBatch tma_batch(const LoopGroup *group)
{
	TmaBatch batch = {.n = group->n};
	for (uint32_t i = 0; i < group->n; i++) {
		batch.iters[i] = group->loops[i]->iter;
		batch.extents[i] = group->loops[i]->hi->size;
	}
	return batch;
}

bool tma_tensor(Program *program, const TmaElement *element, const LoopGroup *const *groups,
		const TmaBatch *batch, TmaTensor *t)
{
	*t = (TmaTensor){.buffer = element->buffer};
	return find_sides(program, element, groups, t) && find_batch(program, element, batch, t) &&
	       is_sum_of_axes(program, element->ix, groups, t) && tma_fits_buffer(program, t);
}
