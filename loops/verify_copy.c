/* The rules of the grammar of loops.h for copies of boxes, mbarriers and waits. */
#include "base/size_order.h"
#include "loops/group.h"
#include "loops/verify_walk.h"

enum {
	WAIT_MOST = 16,
	BOX_MOST = 256,	     /* elements of an axis, of TMA */
	BYTES_MOST = 1 << 20 /* of a completion */
};

void verify_completion(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->mbarrier))
		return;
	FAIL_UNLESS(v, v->program->buffers.at[stmt->mbarrier].arrivals > 0, "no mbarrier");
	FAIL_UNLESS(v, v->nblocks > 0 && !v->vector,
		    "an mbarrier outside of the threads of a block");
	FAIL_UNLESS(v, stmt->bytes >= 0 && stmt->bytes < BYTES_MOST,
		    "more bytes than an mbarrier counts");
	verify_ix(v, stmt->visit);
}

/* Of the tensor: what lies at the axes is in the buffer. Requires: it is one, and stmt->buffer. */
static void check_axes(Verify *v, const Stmt *stmt)
{
	Sizes *sizes = v->program->sizes;
	Dtype dtype = v->program->buffers.at[stmt->buffer].dtype;
	Size last = size_const(sizes, 0);
	Size aligned = size_const(sizes, GROUP_ALIGNED / (int64_t)dtype_bytes(dtype));
	FAIL_UNLESS(v, stmt->naxes > 0 && stmt->naxes <= TENSOR_AXES_MOST, "a box without axes");
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		const TensorAxis *axis = &stmt->axes[i];
		bool windows = stmt->window && i > 0;
		bool fits = !size_is_bad(axis->extent) && !size_is_bad(axis->stride) &&
			    axis->box > 0 && axis->box <= BOX_MOST && (axis->step > 0) == windows &&
			    !(windows && size_is_bad(axis->windows));
		bool stride = i ? size_divides(sizes, aligned, axis->stride)
				: size_is(sizes, axis->stride, 1);
		FAIL_UNLESS(v, fits && (i || axis->box == group_line(dtype)),
			    "a box that no instruction copies");
		FAIL_UNLESS(v, stride,
			    "a box of elements that do not lie at multiples of 16 bytes");
		verify_ix(v, axis->at);
		last = size_add(sizes, last,
				size_mul(sizes, axis->stride, size_plus(sizes, axis->extent, -1)));
	}
	Size elements = v->program->buffers.at[box_tensor(stmt)].elements;
	Size left = size_sub(sizes, size_plus(sizes, elements, -1), last);
	FAIL_UNLESS(v, size_ge(sizes, left, size_const(sizes, 0)),
		    "a box of a tensor that is larger than its buffer");
}

void verify_copy(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->buffer))
		return;
	const Buffer *to = &v->program->buffers.at[stmt->buffer];
	FAIL_UNLESS(v,
		    to->swizzled && to->shared &&
			    (to->dtype == DTYPE_BF16 || to->dtype == DTYPE_F16 ||
			     to->dtype == DTYPE_F32),
		    "a box that is not copied to a swizzled buffer");
	verify_ix(v, stmt->ix);
	FAIL_UNLESS(v, stmt->value && stmt->value->kind == VALUE_LOAD, "a box of no tensor");
	verify_value(v, stmt->value);
	FAIL_UNLESS(v,
		    stmt->value->dtype == to->dtype &&
			    !v->program->buffers.at[stmt->value->buffer].shared,
		    "a box of another type");
	check_axes(v, stmt);
	if (stmt->window)
		verify_ix(v, stmt->window);
	verify_completion(v, stmt);
}

void verify_boxes(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->buffer) || !verify_buffer(v, stmt->tensor))
		return;
	const Buffer *on_way = &v->program->buffers.at[stmt->buffer],
		     *to = &v->program->buffers.at[stmt->tensor];
	FAIL_UNLESS(v, stmt->loop == LOOP_UNROLL && v->nblocks > 0 && !v->vector,
		    "boxes in a loop that is not written out");
	FAIL_UNLESS(v,
		    on_way->swizzled && on_way->shared && on_way->dtype == to->dtype &&
			    (to->dtype == DTYPE_BF16 || to->dtype == DTYPE_F16 ||
			     to->dtype == DTYPE_F32),
		    "boxes that are not through a swizzled buffer of their type");
	FAIL_UNLESS(v, !to->shared, "boxes of no tensor");
	verify_ix(v, stmt->ix);
	check_axes(v, stmt);
}

/* Products are awaited by the threads of a loop of a block, copies by all threads. */
void verify_wait(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->pending >= 0 && stmt->pending < WAIT_MOST, "a wait for no groups");
	FAIL_UNLESS(v, !stmt->products || v->nblocks > 0,
		    "a wait for products outside of the threads of a block");
	FAIL_UNLESS(v, stmt->products || v->nconds == 0,
		    "a group of copies that not all threads end");
	FAIL_UNLESS(v,
		    !v->vector && !v->parallel && !v->outlined && (stmt->products || !v->nblocks),
		    "a barrier that some threads may not come to");
}
