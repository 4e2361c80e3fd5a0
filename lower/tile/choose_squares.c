/* Whether tiles of few rows transpose squares of an operand as they read it. */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/gen/row_block_place.h"
#include "lower/tile/plan.h"

enum { LEAST_SIDE = 4 };

/* Does the row block at hand transpose the operand for other rows? */
static bool row_block_transposes(const Planner *p, int load)
{
	const Lower *lower = p->tile->nest->gen->lower;
	for (uint32_t i = 0; lower->row_block && i < lower->row_block->ntransposed; i++)
		if (lower->plan[lower->row_block->transposed[i].node].buffer ==
		    p->sum.from.at[load])
			return true;
	return false;
}

/* The operand that columns move, and the sum by one element; -1: there is none. */
static int moved_by(const Planner *p, const Loop *col, const Loop *along)
{
	for (int i = 0; i < 2; i++)
		if (ix_uses(p->sum.at.at[i], col->var) && !ix_uses(p->sum.at.at[!i], col->var) &&
		    !size_is_bad(ix_stride(p->program, p->sum.at.at[i], col->var)) &&
		    tile_stride(p, p->sum.at.at[i], along) == 1 && row_block_transposes(p, i))
			return i;
	return -1;
}

/* Is it a sum of products of two operands, as they are, over steps that fill a square? */
static bool is_plain_product(const Planner *p, const Loop *along)
{
	const Nest *nest = p->tile->nest;
	const Value *value = nest->value;
	return along && p->sum.at.n == 2 && nest->guards.n == 0 && p->tile->reduce == OP_ADD &&
	       dtype_is_float(value->dtype) && value->kind == VALUE_OP && value->op == OP_MUL &&
	       value->args[0]->kind == VALUE_LOAD && value->args[1]->kind == VALUE_LOAD &&
	       p->native >= LEAST_SIDE && tile_extent(p, along, 0) >= p->native;
}

bool tile_choose_squares(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const RowBlock *row_block = nest->gen->lower->row_block;
	const Loop *along = tile_last_sum(nest);
	if (!row_block || !row_block->in_place || !is_plain_product(p, along))
		return false;
	for (uint32_t i = nest->nresult; i-- > 0 && tile->square_operand < 0;) {
		tile->col = &nest->loops[i];
		if (tile_stride(p, nest->at, tile->col) == 1 &&
		    tile_moves_by_one(p, &p->store, tile->col, false))
			tile->square_operand = moved_by(p, tile->col, along);
	}
	if (tile->square_operand < 0) {
		tile->col = NULL;
		return false;
	}
	tile->form = TILE_ACROSS;
	tile->row =
		tile_reusing_loop(p, tile->col, ~((uint64_t)1 << tile->square_operand), TILE_ROWS);
	return true;
}
