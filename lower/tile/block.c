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
 * Each of the three is there where it pays (tile/cache.c). An element adds its products in their order,
 * with and without blocks: the sum so far waits in the result. Blocks of rows and columns store
 * elements of their own, so each may be a chunk of work; what is left behind the whole tiles belongs
 * to the last one.
 *
 * Tiles past an operand too large for the second cache, which is packed a block of columns at a
 * time:
 *
 *   for first_row in 0..M step 1024
 *     for first_col in 0..960 step 160          blocks of whole tiles; the last takes what is left behind
 *       copy columns first_col..first_col + 160, and 960..1000 if 800 <= first_col, to packed   (tile/pack.c)
 *       for i in 0..min(1024, M - first_row) step 5
 *         for j in 0..min(160, 960 - first_col) step 80: one tile
 *         if 800 <= first_col: one tile of the columns 960..1000
 *
 * The copy stays in the second cache, is never written to memory, and a row tile's operand stays in
 * the first one past the columns of a block. A block may run on any thread: the copy is a scratch
 * buffer.
 */
#include "lower/tile/emit.h"

/* What tiles go along, of rows or of columns. */
typedef struct Way {
	const Loop *loop;
	const TileParts *parts;
	IterVar first; /* of a block */
	int64_t block; /* tiles of the first part; 0: there are no blocks */
} Way;

enum { ROWS, COLUMNS, WAYS };

typedef struct Walk {
	Tile *tile;
	Way ways[WAYS];
	int outer; /* of the two */
} Walk;

static Walk walk_of(Tile *tile)
{
	int64_t rows = tile_rows_blocked(tile, &tile->rows.at[0]) ? tile->blocks.rows : 0;
	int64_t cols = tile_cols_blocked(tile, &tile->cols.at[0]) ? tile->blocks.cols : 0;
	return (Walk){.tile = tile,
		      .ways = {{tile->row, &tile->rows, tile->first_row, rows},
			       {tile->col, &tile->cols, tile->first_col, cols}},
		      .outer = tile->by_rows || (tile->by_blocks && !tile->blocks.steps) ? ROWS
											 : COLUMNS};
}

/* The tiles of a part, of those of its first one that are in the present block; what is left behind the whole tiles
 * belongs to the last block. */
static Block in_part(const Walk *w, const Way *way, uint32_t i, Block body)
{
	const TilePart *part = &way->parts->at[i];
	if (way->block && i == 0)
		return tile_within(w->tile, way->loop, part, way->first, way->block, body);
	body = tile_part_loop(w->tile, way->loop, part, body);
	if (!way->block)
		return body;
	Gen *gen = w->tile->nest->gen;
	const Ix *end = ix_plus(gen->program, ix_iter(gen->arena, way->first), way->block);
	return tile_only_if(w->tile, COND_LE, tile_blocks_end(w->tile, way->loop, way->parts), end,
			    body);
}

/* Tiles of another part of the result than those before them. */
static Block disjoint_tiles(const Walk *w, Block tiles)
{
	Gen *gen = w->tile->nest->gen;
	Body disjoint = {0};
	if (!w->tile->independent || w->ways[ROWS].block || w->ways[COLUMNS].block)
		return tiles;
	for (uint32_t i = 0; i < tiles.n; i++) {
		Stmt *stmt = stmt_with(gen->arena, tiles.stmts[i], tiles.stmts[i]->body);
		stmt->disjoint = true;
		PUSH(gen->arena, disjoint.stmts, stmt);
	}
	return body_block(&disjoint);
}

/* The tiles of a part of the outer way, of all parts of the other. */
static Block tiles_of(const Walk *w, const TilePart *outer)
{
	Tile *tile = w->tile;
	Way inner = w->ways[!w->outer];
	Body all = {0};
	if (tile->remainder.n && outer == &tile->cols.at[tile->cols.n - 1])
		inner.parts = &tile->remainder;
	for (uint32_t i = 0; i < inner.parts->n; i++) {
		const TilePart *part = &inner.parts->at[i];
		Block one = w->outer == ROWS ? tile_one(tile, outer, part)
					     : tile_one(tile, part, outer);
		one = in_part(w, &inner, i, tile_traversal(tile, one));
		gen_append(tile->nest->gen, &all, i > 0 ? disjoint_tiles(w, one) : one);
	}
	return body_block(&all);
}

/* All tiles. Loops of the result from `inner` on run inside the columns, and inside blocks of them. */
static Block all_parts(const Walk *w, uint32_t inner)
{
	const Nest *nest = w->tile->nest;
	const Way *outer = &w->ways[w->outer];
	uint32_t end = nest->nresult - (w->tile->row != NULL);
	Body all = {0};
	for (uint32_t i = 0; i < outer->parts->n; i++) {
		Block tiles = tiles_of(w, &outer->parts->at[i]);
		if (w->outer == COLUMNS)
			tiles = nest_wrap(nest, inner, end, nest->nloops, tiles);
		tiles = in_part(w, outer, i, tiles);
		gen_append(nest->gen, &all, i > 0 ? disjoint_tiles(w, tiles) : tiles);
	}
	Block body = body_block(&all);
	return w->outer == ROWS ? nest_wrap(nest, inner, end, nest->nloops, body) : body;
}

Block tile_all(Tile *tile, uint32_t inner)
{
	Walk w = walk_of(tile);
	Body all = {0};
	if (tile->by_blocks)
		gen_append(tile->nest->gen, &all, tile_pack_block(tile));
	gen_append(tile->nest->gen, &all, all_parts(&w, inner));
	Block body = body_block(&all);
	if (tile->blocks.steps)
		body = tile_over_steps(tile, body);
	for (int i = WAYS; i-- > 0;)
		if (w.ways[i].block)
			body = tile_over_blocks(
				tile, w.ways[i].first,
				tile_blocks_end(tile, w.ways[i].loop, w.ways[i].parts),
				w.ways[i].block, body);
	return body;
}
