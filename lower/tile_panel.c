/* Tiles past an operand too large for the second cache, which is packed a block of columns at a
 * time:
 *
 *   for first_row in 0..M step 1024
 *     for first_col in 0..960 step 160          blocks of whole tiles; the last takes what is left behind
 *       if 800 <= first_col: copy columns 960..1000 to packed   (tile_pack.c)
 *       for i in 0..5 step 5                    the first rows, whose tiles copy
 *         for j in 0..min(160, 960 - first_col) step 80
 *           for k in 0..K: acc += a[..] * b[k*1000 + first_col + j + lane]
 *             packed[j*K + k*80 + lane] = b[k*1000 + first_col + j + lane]
 *       for i in 5..min(1024, M - first_row) step 5
 *         for j in 0..min(160, 960 - first_col) step 80: one tile
 *         if 800 <= first_col: one tile of the columns 960..1000
 *
 * The copy stays in the second cache, is never written to memory, and a row tile's operand stays in
 * the first one past the columns of a block. A block may run on any thread: the copy is a scratch
 * buffer. What the first tiles wait for is what a copy before them would wait for, but they
 * multiply meanwhile; where the operand is transposed or grouped while it is copied, or rows are not
 * known, all of the copy is made before the tiles.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"

/* Columns, or the one tile behind them, of a row tile; `copies`: it copies the columns. */
static Block row_tiles(Tile *tile, const TilePart *row, bool copies)
{
	Gen *gen = tile->nest->gen;
	Body all = {0};
	for (uint32_t j = 0; j < tile->cols.n; j++) {
		const TilePart *col = &tile->cols.at[j];
		tile->copies = copies && j == 0;
		Block one = tile_one(tile, row, col);
		if (j == 0)
			one = tile_within(tile, tile->col, col, tile->first_col, tile->blocks.cols,
					  one);
		else
			one = tile_only_if(tile, COND_LE, tile_const(tile, tile_last_block(tile)),
					   ix_iter(gen->arena, tile->first_col), one);
		gen_append(gen, &all, one);
	}
	return body_block(&all);
}

/* Rows behind the blocks belong to the last one. */
static Block in_last_rows(const Tile *tile, Block body)
{
	Gen *gen = tile->nest->gen;
	const Ix *end =
		ix_plus(gen->program, ix_iter(gen->arena, tile->first_row), tile->blocks.rows);
	return tile_only_if(tile, COND_LE, tile_blocks_end(tile, tile->row, &tile->rows), end,
			    body);
}

/* The tiles of a part of the rows, or of those of it that are in the present block. */
static Block over_rows(Tile *tile, const TilePart *row, bool copies)
{
	Block body = row_tiles(tile, row, copies);
	if (tile_rows_blocked(tile, row))
		return tile_within(tile, tile->row, row, tile->first_row, tile->blocks.rows, body);
	return tile_part_loop(tile, tile->row, row, body);
}

/* The loop over the rows that a block is, to be given other bounds. */
static Stmt *loop_of_rows(const Tile *tile, Block rows)
{
	return stmt_with(tile->nest->gen->arena, rows.stmts[0], rows.stmts[0]->body);
}

/* The first row tile, which copies, and those behind it. */
static Block rows_with_first(Tile *tile)
{
	Arena *arena = tile->nest->gen->arena;
	const TilePart *row = &tile->rows.at[0];
	const Ix *step = tile_const(tile, row->step);
	Stmt *first = loop_of_rows(tile, over_rows(tile, row, true));
	Stmt *rest = loop_of_rows(tile, over_rows(tile, row, false));
	Body all = {0};
	first->hi = step;
	rest->lo = step;
	PUSH(arena, all.stmts, first);
	PUSH(arena, all.stmts, rest);
	return body_block(&all);
}

static Block all_rows(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	bool blocked = tile_rows_blocked(tile, &tile->rows.at[0]);
	Body all = {0};
	for (uint32_t i = 0; i < tile->rows.n; i++) {
		const TilePart *row = &tile->rows.at[i];
		Block body = tile->first_copies && i == 0 ? rows_with_first(tile)
							  : over_rows(tile, row, false);
		gen_append(gen, &all, blocked && i > 0 ? in_last_rows(tile, body) : body);
	}
	return body_block(&all);
}

Block tile_panels(Tile *tile, uint32_t inner)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body block = {0};
	uint32_t end = nest->nresult - (tile->row != NULL);
	gen_append(gen, &block, tile_pack_block(tile, tile->first_copies));
	gen_append(gen, &block, nest_wrap(nest, inner, end, nest->nloops, all_rows(tile)));
	const Ix *cols = ix_size(gen->arena, tile->cols.at[0].hi);
	Block all = tile_over_blocks(tile, tile->first_col, cols, tile->blocks.cols,
				     body_block(&block));
	if (!tile_rows_blocked(tile, &tile->rows.at[0]))
		return all;
	const Ix *rows = tile_blocks_end(tile, tile->row, &tile->rows);
	return tile_over_blocks(tile, tile->first_row, rows, tile->blocks.rows, all);
}
