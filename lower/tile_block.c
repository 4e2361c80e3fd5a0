/* Tiles of a part of the rows and a part of the columns, in blocks.
 *
 *   for first_row in 0..M step 192            rows that stay in the second cache
 *     for first_col in 0..N step 1024         columns that a piece of work goes through at a time
 *       for first_step in 0..K step 32        steps of the sum
 *         for j in 0..min(1024, N - first_col) step 96
 *           for i in 0..min(192, M - first_row) step 4
 *             local acc = 0
 *             if 0 < first_step: acc = y[..]
 *             for k in first_step..min(first_step + 32, K): acc += ..
 *             if K <= first_step + 32: y[..] = relu(acc)
 *             if first_step + 32 < K: y[..] = acc
 *
 * Each of the three is there where it pays (tile_size.c). A cell adds its products in their order,
 * with and without blocks: the sum so far waits in the result.
 */
#include "lower/tile.h"

#include "base/diag.h"

bool tile_rows_blocked(const Tile *tile, const TilePart *part)
{
	return tile->blocks.rows && part == &tile->rows.at[0] && !part->single;
}

static bool cols_blocked(const Tile *tile, const TilePart *part)
{
	return tile->blocks.cols && part == &tile->cols.at[0] && !part->single;
}

const Ix *tile_first(const Tile *tile, const Loop *loop, const TilePart *part)
{
	Gen *gen = tile->nest->gen;
	if (part->single)
		return ix_size(gen->arena, part->lo);
	const Ix *first = ix_iter(gen->arena, loop->var);
	if (tile_rows_blocked(tile, part))
		return ix_add(gen->program, ix_iter(gen->arena, tile->first_row), first);
	if (cols_blocked(tile, part))
		return ix_add(gen->program, ix_iter(gen->arena, tile->first_col), first);
	return first;
}

Block tile_part_loop(const Tile *tile, const Loop *loop, const TilePart *part, Block body)
{
	Gen *gen = tile->nest->gen;
	if (!loop || part->single)
		return body;
	const Ix *lo = part->from ? part->from : ix_size(gen->arena, part->lo);
	const Ix *hi = part->to ? part->to : ix_size(gen->arena, part->hi);
	const Stmt *stmt = stmt_for(gen->arena, loop->var, lo, hi, body);
	return block_of(gen, stmt_step(gen->arena, stmt, part->step));
}

/* for var in 0..min(block, hi - first) step the part's */
Block tile_within(const Tile *tile, const Loop *loop, const TilePart *part, IterVar first, int64_t block,
		  Block body)
{
	Gen *gen = tile->nest->gen;
	const Ix *left = ix_mul(gen->program, ix_iter(gen->arena, first), tile_const(tile, -1));
	left = ix_add(gen->program, ix_size(gen->arena, part->hi), left);
	const Ix *end = ix_binary(gen->program, IX_MIN, tile_const(tile, block), left);
	const Stmt *stmt = stmt_for(gen->arena, loop->var, tile_const(tile, 0), end, body);
	return block_of(gen, stmt_step(gen->arena, stmt, part->step));
}

static Block over_blocks(const Tile *tile, IterVar first, const Ix *lo, const Ix *hi, int64_t block,
			 Block body)
{
	Gen *gen = tile->nest->gen;
	const Stmt *stmt = stmt_for(gen->arena, first, lo, hi, body);
	return block_of(gen, stmt_step(gen->arena, stmt, block));
}

/* The outermost loop of the sum. */
static const Loop *blocked_sum(const Tile *tile)
{
	return &tile->nest->loops[tile->nest->nresult];
}

static Block over_steps(const Tile *tile, Block body)
{
	Gen *gen = tile->nest->gen;
	const Ix *end = ix_size(gen->arena, blocked_sum(tile)->extent);
	end = ix_binary(gen->program, IX_MAX, tile_const(tile, 1), end);
	return over_blocks(tile, tile->first_step, tile_const(tile, 0), end, tile->blocks.steps, body);
}

Block tile_blocks(Tile *tile, const TilePart *row, const TilePart *col)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	bool by_rows = tile_rows_blocked(tile, row), by_cols = cols_blocked(tile, col);
	Block body = tile_one(tile, row, col);
	body = by_rows ? tile_within(tile, tile->row, row, tile->first_row, blocks->rows, body)
		       : tile_part_loop(tile, tile->row, row, body);
	body = by_cols ? tile_within(tile, tile->col, col, tile->first_col, blocks->cols, body)
		       : tile_part_loop(tile, tile->col, col, body);
	if (blocks->steps)
		body = over_steps(tile, body);
	if (by_cols)
		body = over_blocks(tile, tile->first_col, ix_size(gen->arena, col->lo),
				   ix_size(gen->arena, col->hi), blocks->cols, body);
	if (by_rows)
		body = over_blocks(tile, tile->first_row, ix_size(gen->arena, row->lo),
				   ix_size(gen->arena, row->hi), blocks->rows, body);
	return body;
}

/* ---- the sum in blocks of steps ---- */

static const Ix *block_end(const Tile *tile)
{
	Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix_iter(gen->arena, tile->first_step),
		      tile_const(tile, tile->blocks.steps));
}

Block tile_steps(const Tile *tile, Block body)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	if (!tile->blocks.steps)
		return nest_wrap(nest, nest->nresult, nest->nloops, nest->nresult, body);
	const Loop *sum = blocked_sum(tile);
	body = nest_wrap(nest, nest->nresult + 1, nest->nloops, nest->nresult, body);
	const Ix *end = ix_binary(gen->program, IX_MIN, ix_size(gen->arena, sum->extent),
				  block_end(tile));
	return block_of(gen, stmt_for(gen->arena, sum->var, ix_iter(gen->arena, tile->first_step),
				      end, body));
}

Block tile_only_if(const Tile *tile, CondKind kind, const Ix *a, const Ix *b, Block body)
{
	Gen *gen = tile->nest->gen;
	Cond *cond = ARENA_NEW(gen->arena, Cond);
	*cond = (Cond){kind, a, b};
	return block_of(gen, stmt_if(gen->arena, cond, 1, body));
}

Block tile_unless_first(const Tile *tile, Block body)
{
	const Ix *first = ix_iter(tile->nest->gen->arena, tile->first_step);
	return tile_only_if(tile, COND_LT, tile_const(tile, 0), first, body);
}

Block tile_if_last(const Tile *tile, bool last, Block body)
{
	const Ix *end = block_end(tile);
	const Ix *extent = ix_size(tile->nest->gen->arena, blocked_sum(tile)->extent);
	return last ? tile_only_if(tile, COND_LE, extent, end, body)
		    : tile_only_if(tile, COND_LT, end, extent, body);
}
