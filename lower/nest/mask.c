/* Where the loop along a mask ends with it: of kernels of a row block that go along its rows, the softmax behind causal
 * attention. What is hidden has one value (gen/masked.h).
 *
 *   for i                                         for i
 *                                                   local masked : f32 = exp(-inf - max[i])
 *     for t in 0..n: e[t] = exp(s[t] - max[i])      for t in 0..min(n, first + i + 1): e[t] = exp(s[t] - max[i])
 *                                                   for t in min(n, first + i + 1)..n: e[t] = masked
 *
 *                                                   local whole : i32 = masked != 0
 *     for t in 0..n: sum += e[t]                    for t in 0..min(n, max(first + i + 1, whole*n)): sum += e[t]
 *
 * What is stored is the same: a sum does not change by 0, nor a maximum by -inf. Loops are emitted whole, with what a
 * mask leaves of them beside (Stmt.mask), so that kernels of the same rows become one as always; row_block_masks.c cuts them.
 */
#include "lower/nest/mask.h"

#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/row_block.h"

/* ---- comparisons ---- */

/* Elements of an iterator; of the rows of a row block all of them, which a block's first one and its own make. */
static Size extent_of(const Nest *nest, IterVar iter)
{
	const RowBlock *row_block = nest->gen->lower->row_block;
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (nest->loops[i].var == iter)
			return row_block_dim_of(nest, nest->loops[i].iter) == (int)row_block->rows
				       ? row_block->dims[row_block->rows].extent
				       : nest->loops[i].extent;
	return iter == row_block->rows	 ? size_const(nest->gen->program->sizes, 1)
	       : iter < row_block->ndims ? row_block->dims[iter].extent
					 : SIZE_BAD;
}

/* Does i32 hold the index at all elements: a sum of constant extents, or one whole axis, whose elements i32 numbers? */
static bool fits(const Nest *nest, const Ix *ix)
{
	Program *program = nest->gen->program;
	Linear linear = ix_linear(program, ix);
	int64_t most, coef, n;
	bool alone = false;
	if (!size_is_const(program->sizes, linear.offset, &most) || most > INT32_MAX / 2 ||
	    most < INT32_MIN / 2)
		return false;
	bool moved = most != 0;
	most = most < 0 ? -most : most;
	for (size_t i = 0; i < linear.terms.n; i++) {
		const Ix *atom = linear.terms.at[i].atom;
		Size extent = atom->kind == IX_ITER ? extent_of(nest, atom->iter) : SIZE_BAD;
		if (size_is_bad(extent) || size_is(program->sizes, extent, 1))
			continue;
		if (!size_is_const(program->sizes, linear.terms.at[i].coef, &coef) || coef < -64 ||
		    coef > 64)
			return false;
		moved |= coef != 1;
		if (size_is_const(program->sizes, extent, &n) && n <= INT32_MAX / 256)
			most += (coef < 0 ? -coef : coef) * n;
		else if (alone)
			return false;
		else
			alone = true;
	}
	return alone ? !moved && most == 0 : most <= INT32_MAX;
}

bool nest_zeros_fit(const Nest *nest, const Zeros *zeros)
{
	return fits(nest, zeros->less) && fits(nest, zeros->more);
}

const Ix *nest_zeros_difference(const Nest *nest, const Zeros *zeros)
{
	Program *program = nest->gen->program;
	return ix_plus(program, ix_minus(program, zeros->more, zeros->less),
		       zeros->strict ? -1 : 0);
}

bool nest_zeros_move(const Nest *nest, const Ix *ix, const Loop *loop, int64_t *by)
{
	Program *program = nest->gen->program;
	Size stride = ix_stride(program, ix, loop->var);
	return size_is_const(program->sizes, stride, by) && *by >= -1 && *by <= 1;
}

/* ---- what is planned ---- */

/* Is the loop the last one of a nest over rows, with nothing but itself that bounds it? */
static bool goes_along_rows(const Nest *nest, const NestPlan *plan)
{
	bool form = plan->form == NEST_LANES
			    ? nest->nloops == nest->nresult + 1 && !plan->order.far
			    : plan->form == NEST_STORES && nest->nloops == nest->nresult &&
				      nest->root == nest->node && !plan->cuts;
	return form && nest->gen->lower->row_block && !nest->gen->lower->options->gpu &&
	       nest->nloops > 1 && nest->guards.n == 0 && nest->merged.n == 0 && !nest->phases &&
	       !nest->scattered && !nest->carries && nest->nborders == 0 && nest->copies.n == 0 &&
	       nest->target.acc == OP_NONE;
}

/* Does a reduction not change by the value, or can it be asked when the program runs? */
static bool may_be_neutral(const Nest *nest, const NestPlan *plan, const Value *value)
{
	if (plan->form != NEST_LANES)
		return true;
	const Value *neutral = nest_neutral(nest);
	return value->dtype == neutral->dtype &&
	       (value->kind != VALUE_CONST || value_same(value, neutral));
}

static bool bounds(const Nest *nest, const Loop *along, const Zeros *zeros)
{
	int64_t by;
	const Ix *difference = nest_zeros_difference(nest, zeros);
	return nest_zeros_fit(nest, zeros) && nest_zeros_move(nest, difference, along, &by) &&
	       by != 0;
}

void nest_find_mask(Nest *nest, NestPlan *plan)
{
	if (!goes_along_rows(nest, plan))
		return;
	Arena *arena = nest->gen->arena;
	const Loop *along = &nest->loops[nest->nloops - 1];
	Masked *masked = ARENA_NEW(arena, Masked);
	*masked =
		masked_find(nest->gen, nest->node, nest->piece, row_block_whole(nest), along->var);
	uint32_t n = 0;
	for (uint32_t i = 0; i < masked->n; i++)
		if (bounds(nest, along, &masked->at[i]))
			masked->at[n++] = masked->at[i];
	masked->n = n;
	if (n > 0 && may_be_neutral(nest, plan, masked->value))
		plan->masked = masked;
}

/* ---- code ---- */

/* An end of what is seen: the nearest to the middle of all comparisons' on this side. */
static const Ix *nearest(Program *program, IxKind kind, const Ix *end, const Ix *other)
{
	return !end || ix_same(end, other) ? other : ix_binary(program, kind, end, other);
}

LoopMask *nest_mask(const Nest *nest, const Masked *masked)
{
	Program *program = nest->gen->program;
	const Loop *along = &nest->loops[nest->nloops - 1];
	LoopMask *mask = ARENA_NEW(program->arena, LoopMask);
	mask->run = 1;
	for (uint32_t i = 0; i < masked->n; i++) {
		const Ix *difference = nest_zeros_difference(nest, &masked->at[i]);
		int64_t by;
		REQUIRE(nest_zeros_move(nest, difference, along, &by));
		const Ix *rest = ix_without(program, difference, along->var);
		if (by < 0)
			mask->hi = nearest(program, IX_MIN, mask->hi, ix_plus(program, rest, 1));
		else
			mask->lo = nearest(program, IX_MAX, mask->lo, ix_times(program, rest, -1));
	}
	return mask;
}

void nest_mask_unless(const Nest *nest, const Value *whole, LoopMask *mask)
{
	Gen *gen = nest->gen;
	Program *program = gen->program;
	const Ix *extent = ix_size(gen->arena, nest->loops[nest->nloops - 1].extent),
		 *all = ix_mul(program, ix_value(gen->arena, whole), extent);
	if (mask->lo)
		mask->lo = ix_binary(program, IX_MIN, mask->lo, ix_minus(program, extent, all));
	if (mask->hi)
		mask->hi = ix_binary(program, IX_MAX, mask->hi, all);
}
