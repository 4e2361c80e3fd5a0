/* Whether lanes run along the rows where columns behind the whole vectors are few.
 *
 * A vector of four columns, or of one, costs as much as one of sixteen. Sixteen rows are transposed in
 * registers instead, sixteen steps of the sum at a time, and each column adds whole vectors of
 * rows:
 *
 *   local acc : f32 [4, 16] = 0                               columns 96..100 of 16 rows
 *   for k in 0..96 step 16
 *     unroll r, vector lane: transposed[r, lane] = a[(i + r)*100 + k + lane]
 *     unroll q in 0..16: unroll c in 0..4: vector lane in 0..16
 *       acc[c, lane] += transposed[lane, q] * b[(k + q)*100 + c + 96]
 *   the steps 84..100, of which q in 12..16 add                the last square ends with the sum
 *   acc transposed (tile/result.c): unroll r in 0..16: vector lane in 0..4: y[(i + r)*100 + lane + 96] = elements[r, lane]
 *
 * An element adds its products in the order of the loops. Rows behind the last sixteen have tiles with
 * lanes across.
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

const Loop *tile_last_sum(const Nest *nest)
{
	return nest->nloops > nest->nresult ? &nest->loops[nest->nloops - 1] : NULL;
}

/* The operand that rows move and columns do not, by its place; -1: there is none, or one that the
 * last sum does not go along. */
static int rows_operand(const Planner *p, const Loop *along)
{
	const Tile *tile = p->tile;
	const Value *value = tile->nest->value;
	if (value->kind != VALUE_OP || value->op != OP_MUL || p->sum.at.n != 2)
		return -1;
	for (int i = 0; i < 2; i++) {
		const Ix *own = p->sum.at.at[i], *other = p->sum.at.at[!i];
		bool loads =
			value->args[0]->kind == VALUE_LOAD && value->args[1]->kind == VALUE_LOAD;
		if (loads && tile_stride(p, own, tile->col) == 0 &&
		    tile_stride(p, other, tile->row) == 0 && ix_uses(own, tile->row->var) &&
		    !size_is_bad(ix_stride(p->program, own, tile->row->var)) &&
		    tile_stride(p, own, along) == 1)
			return i;
	}
	return -1;
}

bool tile_may_transpose_rows(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const Loop *along = tile_last_sum(nest);
	int64_t steps, rows;
	if (nest->carries || tile->form != TILE_ACROSS || !tile->row || !tile->col || !along ||
	    tile->pack >= 0 || tile->group > 1 || tile->collapse.round || tile->reduce != OP_ADD ||
	    nest->guards.n > 0 || p->streams || asks_on(p->blocks) || asks_off(p->remainders) ||
	    !dtype_is_float(nest->value->dtype))
		return false;
	int64_t columns = p->replays ? 1 : p->target->tile_remainder_vectors;
	return tile_is_const(p, tile->row->extent, &rows) && rows >= p->native &&
	       tile_extent(p, tile->col, 0) >= columns * p->native &&
	       tile_is_const(p, along->extent, &steps) && steps >= p->native &&
	       asks_name(p->remainders, 0, nest->gen->frame.iters.at[tile->row->var].name) &&
	       rows_operand(p, along) >= 0;
}

bool tile_is_remainder(const Planner *p, const TileParts *cols)
{
	int64_t extent;
	return p->transposes_rows && tile_is_const(p, p->tile->col->extent, &extent) &&
	       (p->replays ? cols->at[cols->n - 1].step < p->native
			   : cols->at[cols->n - 1].step * p->target->tile_remainder_lanes <=
				     p->native);
}

static bool is_asked(const Planner *p, const TileParts *remainder)
{
	int64_t steps[ITEM_NUMBERS];
	for (uint32_t i = 0; i < remainder->n; i++)
		steps[i] = remainder->at[i].step;
	return asks_numbers(p->remainders, 0, steps, remainder->n);
}

void tile_choose_remainder(Planner *p)
{
	Tile *tile = p->tile;
	bool blocked = tile->blocks.rows || tile->blocks.cols || tile->blocks.steps;
	if (tile->remainder.n > 0 && !blocked && is_asked(p, &tile->remainder)) {
		tile->transposed = rows_operand(p, tile_last_sum(tile->nest));
		return;
	}
	tile->remainder = (TileParts){0};
}
