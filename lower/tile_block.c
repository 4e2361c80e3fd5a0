/* Tiles of all rows and columns, in blocks or one part after the other.
 *
 *   for first_row in 0..M step 192            rows that stay in the second cache
 *     for first_col in 0..4080 step 1008      columns that a chunk of work goes through at a time
 *       for first_step in 0..K step 32        steps of the sum
 *         for j in 0..min(1008, 4080 - first_col) step 48
 *           for i in 0..min(192, M - first_row) step 4
 *             local acc = 0
 *             if 0 < first_step: acc = y[..]
 *             for k in first_step..min(first_step + 32, K): acc += ..
 *             if K <= first_step + 32: y[..] = relu(acc)
 *             if first_step + 32 < K: y[..] = acc
 *         if 4080 <= first_col + 1008: the tiles of the columns 4080..4096
 *
 * Each of the three is there where it pays (tile_cache.c). An element adds its products in their order,
 * with and without blocks: the sum so far waits in the result. Blocks of rows and columns store
 * elements of their own, so each may be a chunk of work; what is left behind the whole tiles belongs
 * to the last one.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"

/* The outermost loop of the sum. */
static const Loop *blocked_sum(const Tile *tile) { return &tile->nest->loops[tile->nest->nresult]; }

static Block over_steps(const Tile *tile, Block body)
{
	Gen *gen = tile->nest->gen;
	const Ix *end = ix_size(gen->arena, blocked_sum(tile)->extent);
	end = ix_binary(gen->program, IX_MAX, tile_const(tile, 1), end);
	return tile_over_blocks(tile, tile->first_step, end, tile->blocks.steps, body);
}

/* The tiles of a part of the rows or columns that are in the block from `first` on; block 0:
 * all. */
static Block in_block(const Tile *tile, const Loop *loop, const TileParts *parts, uint32_t i,
		      IterVar first, int64_t block, Block body)
{
	const TilePart *part = &parts->at[i];
	if (block && i == 0)
		return tile_within(tile, loop, part, first, block, body);
	body = tile_part_loop(tile, loop, part, body);
	if (!block)
		return body;
	Gen *gen = tile->nest->gen;
	const Ix *end = ix_add(gen->program, ix_iter(gen->arena, first), tile_const(tile, block));
	return tile_only_if(tile, COND_LE, tile_blocks_end(tile, loop, parts), end, body);
}

static Block in_blocks(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	int64_t rows = tile_rows_blocked(tile, &tile->rows.at[0]) ? tile->blocks.rows : 0;
	int64_t cols = tile_cols_blocked(tile, &tile->cols.at[0]) ? tile->blocks.cols : 0;
	Body all = {0};
	for (uint32_t j = 0; j < tile->cols.n; j++) {
		Body of_cols = {0};
		for (uint32_t i = 0; i < tile->rows.n; i++) {
			Block one = tile_one(tile, &tile->rows.at[i], &tile->cols.at[j]);
			gen_append(gen, &of_cols,
				   in_block(tile, tile->row, &tile->rows, i, tile->first_row, rows,
					    one));
		}
		gen_append(gen, &all,
			   in_block(tile, tile->col, &tile->cols, j, tile->first_col, cols,
				    body_block(&of_cols)));
	}
	Block body = body_block(&all);
	if (tile->blocks.steps)
		body = over_steps(tile, body);
	if (cols)
		body = tile_over_blocks(tile, tile->first_col,
					tile_blocks_end(tile, tile->col, &tile->cols), cols, body);
	if (rows)
		body = tile_over_blocks(tile, tile->first_row,
					tile_blocks_end(tile, tile->row, &tile->rows), rows, body);
	return body;
}

/* ---- all ---- */

/* Tiles of another part of the result than those before them. */
static Block disjoint_tiles(const Tile *tile, Block tiles)
{
	Gen *gen = tile->nest->gen;
	Body disjoint = {0};
	for (uint32_t i = 0; i < tiles.n && tile->independent; i++) {
		Stmt *stmt = stmt_with(gen->arena, tiles.stmts[i], tiles.stmts[i]->body);
		stmt->disjoint = true;
		PUSH(gen->arena, disjoint.stmts, stmt);
	}
	return tile->independent ? body_block(&disjoint) : tiles;
}

/* All tiles of a part of the columns. `inner`: loops of the result from there on run inside it. */
static Block column_tiles(Tile *tile, const TilePart *col, uint32_t inner)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body rows = {0};
	uint32_t end = nest->nresult - (tile->row != NULL);
	bool remainder = tile->remainder.n && col == &tile->cols.at[tile->cols.n - 1];
	const TileParts *parts = remainder ? &tile->remainder : &tile->rows;
	for (uint32_t i = 0; i < parts->n; i++) {
		Block one = tile_traversal(tile, tile_one(tile, &parts->at[i], col));
		one = tile_part_loop(tile, tile->row, &parts->at[i], one);
		gen_append(gen, &rows, i > 0 ? disjoint_tiles(tile, one) : one);
	}
	Block body = nest_wrap(nest, inner, end, nest->nloops, body_block(&rows));
	return tile_part_loop(tile, tile->col, col, body);
}

/* All tiles of a part of the rows, where they go along these. */
static Block row_tiles(Tile *tile, const TilePart *row)
{
	Body cols = {0};
	for (uint32_t j = 0; j < tile->cols.n; j++) {
		const TilePart *col = &tile->cols.at[j];
		Block one = tile_traversal(tile, tile_one(tile, row, col));
		one = tile_part_loop(tile, tile->col, col, one);
		gen_append(tile->nest->gen, &cols, j > 0 ? disjoint_tiles(tile, one) : one);
	}
	return tile_part_loop(tile, tile->row, row, body_block(&cols));
}

Block tile_all(Tile *tile, uint32_t inner)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	if (blocks->rows || blocks->cols || blocks->steps)
		return tile->by_blocks ? tile_panels(tile, inner) : in_blocks(tile);
	Body all = {0};
	for (uint32_t i = 0; tile->by_rows && i < tile->rows.n; i++) {
		Block tiles = row_tiles(tile, &tile->rows.at[i]);
		gen_append(gen, &all, i > 0 ? disjoint_tiles(tile, tiles) : tiles);
	}
	for (uint32_t j = 0; !tile->by_rows && j < tile->cols.n; j++) {
		Block tiles = column_tiles(tile, &tile->cols.at[j], inner);
		gen_append(gen, &all, j > 0 ? disjoint_tiles(tile, tiles) : tiles);
	}
	return body_block(&all);
}
