/* Comparisons of indices behind a tile's sums, as of masks: key <= row.
 *
 *   where(f32(i32(s + r) >= i32(t + lane)), acc[r, lane], -inf)           whole numbers
 *   where(f32(min(max(s + r - t, -1), 80)) >= f32(lane), ..)              small ones
 *
 * Lanes compare their own number with where the row's limit is in the tile, which floats hold: on
 * whole numbers there are no such instructions. Indices wrap as the i32 that they are, and are sums
 * of iterators where they fit, which is shown from the extents. The side that has lanes must fit;
 * the other one is else the number that it wraps to.
 */
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/row_block.h"
#include "lower/tile/values.h"

/* ---- bounds ---- */

/* The iterator that a loop's index is a sum of, with what is left of it; NULL: it stands still. */
static const Ix *mover(const Linear *at)
{
	for (size_t i = 0; i < at->terms.n; i++)
		if (at->terms.at[i].atom->kind == IX_ITER)
			return at->terms.at[i].atom;
	return NULL;
}

/* An upper bound under construction: a number, and at most one whole axis of a dim's elements,
 * which are numbered by i32. */
typedef struct Bound {
	const Ix *left; /* what is not in it yet */
	int64_t most;
	bool dim;
} Bound;

/* Moves what an index from 0 to before the extent has in the bound over to it; false: it is not
 * known. */
static bool take_index(const Tile *tile, Bound *bound, const Ix *index, Size extent)
{
	Program *program = tile->nest->gen->program;
	Linear linear = ix_linear(program, index);
	const Ix *iter = mover(&linear);
	int64_t coef, n;
	DimId dim;
	if (!iter)
		return true;
	Size stride = ix_stride(program, bound->left, iter->iter);
	if (!size_is_const(program->sizes, stride, &coef) || coef > INT32_MAX || coef < -INT32_MAX)
		return false;
	bound->left = ix_add(program, bound->left, ix_times(program, index, -coef));
	if (coef <= 0)
		return true;
	if (size_is_const(program->sizes, extent, &n) && n <= INT32_MAX / coef)
		bound->most += n > 0 ? coef * (n - 1) : 0;
	else if (coef == 1 && !bound->dim && size_is_dim(program->sizes, extent, &dim))
		bound->dim = true;
	else
		return false;
	return true;
}

/* The loop's index in the whole tensor: in a row block its rows begin with a block's. */
static bool take_loop(const Tile *tile, Bound *bound, const Loop *loop)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const RowBlock *row_block = gen->lower->row_block;
	const Ix *index = nest->by_iter[loop->iter];
	if (!row_block || row_block_dim_of(nest, loop->iter) != (int)row_block->rows)
		return take_index(tile, bound, index, loop->extent);
	index = ix_add(gen->program, ix_iter(gen->arena, row_block->rows), index);
	return take_index(tile, bound, index, row_block->dims[row_block->rows].extent);
}

/* Is the index at most INT32_MAX for every element of the result? */
static bool fits_above(const Tile *tile, const Ix *ix)
{
	const Nest *nest = tile->nest;
	Sizes *sizes = nest->gen->program->sizes;
	Bound bound = {.left = ix};
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (!take_loop(tile, &bound, &nest->loops[i]))
			return false;
	int64_t offset = 0;
	if (bound.left->kind != IX_SIZE)
		return false;
	if (!size_is_const(sizes, bound.left->size, &offset) &&
	    !size_ge(sizes, size_const(sizes, 0), bound.left->size))
		return false;
	if (offset > INT32_MAX || (bound.dim && bound.most > 0))
		return false;
	return bound.dim ? offset <= 0 : bound.most + offset <= INT32_MAX;
}

bool tile_index_fits(const Tile *tile, const Ix *ix, bool below)
{
	Program *program = tile->nest->gen->program;
	return fits_above(tile, below ? ix_times(program, ix, -1) : ix);
}

/* The value as an index that it is equal to in every element; NULL: there is none. */
static const Ix *exact_index(const Tile *tile, const Value *value)
{
	const Ix *ix = value_as_index(tile->nest->gen->program, value);
	bool exact = ix && (value->dtype == DTYPE_I64 ||
			    (tile_index_fits(tile, ix, false) && tile_index_fits(tile, ix, true)));
	if (exact)
		return ix;
	return value->kind == VALUE_INDEX ? NULL : ix_value(tile->nest->gen->arena, value);
}

/* ---- in lanes ---- */

/* How many elements of the index a lane is apart from the next: 0 or 1; -1: any other. */
static int per_lane(const Tile *tile, const Ix *ix)
{
	Program *program = tile->nest->gen->program;
	Size stride = ix_stride(program, ix, tile->lane);
	return size_is_bad(stride)		    ? -1
	       : size_is(program->sizes, stride, 0) ? 0
	       : size_is(program->sizes, stride, 1) ? 1
						    : -1;
}

/* `lane op limit` for lanes of the tile, in a floating type; from one side that has lanes and one
 * that has not. NULL: these are no such sides. */
static const Value *number_compared(const Tile *tile, Dtype dtype, const Value *compare, int with)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	const Ix *at = exact_index(tile, compare->args[with]),
		 *limit = exact_index(tile, compare->args[!with]);
	if (!at || !limit || per_lane(tile, at) != 1 || per_lane(tile, limit) != 0)
		return NULL;
	const Ix *lane = ix_iter(gen->arena, tile->lane);
	limit = ix_minus(program, limit, ix_minus(program, at, lane));
	limit = ix_binary(program, IX_MAX, limit, tile_const(tile, -1));
	limit = ix_binary(program, IX_MIN, limit, tile_const(tile, tile->now.width));
	const Value *args[2];
	args[with] = value_index(gen->arena, dtype, lane);
	args[!with] = value_index(gen->arena, dtype, limit);
	return value_op(gen->arena, compare->op, dtype, args, 2);
}

/* A truth value made of comparisons of whole numbers, in a floating type; NULL: it is none. */
static const Value *truth_in_lanes(const Tile *tile, Dtype dtype, const Value *value)
{
	Arena *arena = tile->nest->gen->arena;
	const Value *args[2];
	if (value->kind != VALUE_OP || !dtype_is_integer(value->dtype))
		return NULL;
	if (value->op >= OP_LT && value->op <= OP_NE) {
		const Value *found = number_compared(tile, dtype, value, 0);
		return found ? found : number_compared(tile, dtype, value, 1);
	}
	if (value->op != OP_AND && value->op != OP_OR && value->op != OP_NOT)
		return NULL;
	for (uint32_t i = 0; i < value->nargs; i++) {
		args[i] = truth_in_lanes(tile, dtype, value->args[i]);
		if (!args[i])
			return NULL;
	}
	return value_op(arena, value->op, dtype, args, value->nargs);
}

const Value *tile_numbers(const Tile *tile, const Value *value)
{
	const Value *truth = NULL, *args[3];
	bool changed = false;
	if (value->kind == VALUE_CAST && dtype_is_float(value->dtype) &&
	    dtype_wide(value->dtype) == value->dtype)
		truth = truth_in_lanes(tile, value->dtype, value->args[0]);
	if (truth)
		return truth;
	for (uint32_t i = 0; i < value->nargs; i++) {
		args[i] = tile_numbers(tile, value->args[i]);
		changed |= args[i] != value->args[i];
	}
	if (!changed)
		return value;
	Value *copy = value_copy(tile->nest->gen->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = args[i];
	return copy;
}

bool tile_is_number(const Tile *tile, const Value *value)
{
	return value->kind == VALUE_INDEX && dtype_is_float(value->dtype) &&
	       (value->ix->kind == IX_ITER || !ix_uses(value->ix, tile->lane));
}
