/* Which operands of a product warpgroups multiply: those that TMA copies to shared memory, as boxes of a tensor or as windows of
 * one, and how the loops of the sum are gone through then.
 *
 * The innermost loops of the sum are a line, along which boxes lie as along one loop. At each iteration of those around, the
 * taps, all of the line is added up: of a convolution these are the places of a window. Behind the end of a line boxes have
 * zeros. Where both operands go through the sum as through one loop there are no taps.
 */
#include <string.h>

#include "loops/group.h"
#include "loops/linear.h"
#include "transform/gpu/group.h"

/* Whose index goes through the side and the line of the sum as through one loop each. */
static bool goes_as_one(Program *program, const ProductOperand *operand, const LoopGroup *side,
			const LoopGroup *line)
{
	return operand->nconds == 0 && operand_goes_as_one(program, operand, side) &&
	       operand_goes_as_one(program, operand, line);
}

/* The element that an operand loads, before it is widened, or one of two that it is the sum of; NULL: it is something else. */
static const Value *load_of(const Product *product, const ProductOperand *operand, int part)
{
	const Value *load =
		product->tensor.split ? operand->value->args[part] : group_load(operand->value);
	bool fits = load->kind == VALUE_LOAD && load->dtype == fragment_dtype(product->tensor.op);
	return fits && !load->ix->reads ? load : NULL;
}

/* The sum with so many taps. */
static GroupSum sum_with(Program *program, const Product *product, uint32_t taps)
{
	const LoopGroup *all = &product->sum;
	GroupSum sum = {.taps.n = taps, .line.n = all->n - taps};
	memcpy(sum.taps.loops, all->loops, taps * sizeof *all->loops);
	memcpy(sum.line.loops, all->loops + taps, sum.line.n * sizeof *all->loops);
	sum.taps.extent = loops_extent(program->sizes, sum.taps.loops, taps);
	sum.line.extent = loops_extent(program->sizes, sum.line.loops, sum.line.n);
	return sum;
}

/* Of the batch and the taps, which are one axis at the innermost one where the operand goes through them so. */
static TmaBatch batch_of(const Product *product, const LoopGroup *taps, bool as_one)
{
	TmaBatch batch = tma_batch(&product->batch);
	for (uint32_t i = as_one ? taps->n - 1 : 0; i < taps->n && batch.n < PRODUCT_LOOPS; i++) {
		batch.iters[batch.n] = taps->loops[i]->iter;
		batch.extents[batch.n++] = as_one ? taps->extent : taps->loops[i]->hi->size;
	}
	return batch;
}

static bool boxes_of(Program *program, const Product *product, const GroupSum *sum, bool rows,
		     TmaElement element, TmaTensor *t)
{
	const LoopGroup *taps = &sum->taps;
	const LoopGroup *groups[] = {&sum->line, rows ? &product->rows : &product->columns};
	const ProductOperand *operand = rows ? &product->row_operand : &product->column_operand;
	bool as_one = taps->n > 0 && operand_goes_as_one(program, operand, taps);
	TmaBatch batch = batch_of(product, taps, as_one);
	for (uint32_t i = 0; as_one && i + 1 < taps->n && element.ix; i++)
		element.ix = ix_without(program, element.ix, taps->loops[i]->iter);
	bool fits = element.ix && tma_tensor(program, &element, groups, &batch, t);
	t->taps_as_one = as_one;
	return fits && (t->along_first || element.dtype != DTYPE_F32);
}

bool group_tensor(Program *program, const Product *product, const GroupSum *sum, bool rows,
		  int part, TmaTensor *t)
{
	const ProductOperand *operand = rows ? &product->row_operand : &product->column_operand;
	const LoopGroup *side = rows ? &product->rows : &product->columns;
	const Value *load = load_of(product, operand, part);
	if (!load)
		return false;
	TmaElement element = {load->buffer, load->dtype, load->ix};
	WindowOperand windows = {element, operand, side, &product->batch, sum->taps, sum->line};
	return goes_as_one(program, operand, side, &sum->line)
		       ? boxes_of(program, product, sum, rows, element, t)
		       : !product->tensor.split && tma_windows(program, &windows, t);
}

bool group_sum(Program *program, const Product *product, GroupSum *sum)
{
	TmaTensor t;
	*sum = sum_with(program, product, 0);
	if (product->tensor.split)
		return true;
	for (uint32_t taps = 0; taps < product->sum.n; taps++) {
		*sum = sum_with(program, product, taps);
		if (group_tensor(program, product, sum, true, 0, &t) &&
		    group_tensor(program, product, sum, false, 0, &t))
			return true;
	}
	return false;
}

/* Are neighbouring slices of the outermost loop of the sum a multiple of 16 bytes apart? `stride`: iterations of that. */
static bool slices_are_aligned(Program *program, const Product *product, Dtype dtype, Size stride,
			       int64_t slices)
{
	Sizes *sizes = program->sizes;
	Size slice = size_div(sizes, product->sum.loops[0]->hi->size, size_const(sizes, slices));
	return !size_is_bad(slice) &&
	       tma_is_aligned(program, dtype, size_mul(sizes, slice, stride));
}

/* Can TMA copy slices of the operand, too, which are an axis more? Of windows they are of the taps alone. */
static bool slices_fit(Program *program, const Product *product, const GroupSum *sum, bool rows,
		       int64_t slices)
{
	TmaTensor t;
	const Value *load =
		load_of(product, rows ? &product->row_operand : &product->column_operand, 0);
	Size stride = ix_stride(program, load->ix, product->sum.loops[0]->iter);
	group_tensor(program, product, sum, rows, 0, &t);
	return t.windows
		       ? sum->taps.n > 0
		       : t.n < TENSOR_AXES_MOST &&
				 slices_are_aligned(program, product, load->dtype, stride, slices);
}

/* What is stored as two numbers each is so for all of a line. */
static bool split_fits(Program *program, const Product *product, int64_t slices)
{
	const LoopGroup *sum = &product->sum;
	Size stride = loops_extent(program->sizes, sum->loops + 1, sum->n - 1);
	return product->batch.n + (slices > 1) <= TMA_BATCH_MOST &&
	       goes_as_one(program, &product->row_operand, &product->rows, sum) &&
	       goes_as_one(program, &product->column_operand, &product->columns, sum) &&
	       (slices == 1 || slices_are_aligned(program, product, DTYPE_F32, stride, slices));
}

bool group_fits(Program *program, const Product *product, const GroupSum *sum, int64_t slices)
{
	if (product->tensor.split)
		return split_fits(program, product, slices);
	return slices == 1 || (slices_fit(program, product, sum, true, slices) &&
			       slices_fit(program, product, sum, false, slices));
}

Size group_sum_rounds(Program *program, const GroupSum *sum, int64_t steps)
{
	Size line = size_ceil(program->sizes, sum->line.extent, steps);
	return size_mul(program->sizes, sum->taps.extent, line);
}
