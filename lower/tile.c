/* Contractions in register tiles: loops over tiles, and the code of one tile.
 *
 *   for j in 0..96 step 32                     columns outside: what they read stays in the cache
 *     for i in 0..M step 8
 *       local acc : f32 [8, 32] = 0
 *       for k in 0..K
 *         unroll r in 0..8
 *           vector lane in 0..32: acc[r, lane] += a[(i + r)*K + k] * b[k*N + j + lane]
 *       unroll r in 0..8
 *         vector lane in 0..32: y[(i + r)*N + j + lane] = relu(acc[r, lane] + bias[j + lane])
 *
 * Every part of rows and every part of columns (tile_parts.c) gives one such tile; tile_block.c
 * goes through them in blocks where operands do not stay in the caches. Sums of one element are added
 * in the order of the loops, whatever tile the element is in.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"

/* ---- tiles ---- */

/* Where a loop stands: what moves the packed operand, columns, what does not, rows, sums, and last
 * the one that lanes run along. Without packing all but rows stand before the columns. */
static int rank_of(const Tile *tile, const Loop *loop)
{
	if (loop == tile->traversal)
		return 1;
	if (loop == tile->col)
		return 2;
	if (loop == tile->row)
		return 4;
	if (loop->reduced)
		return loop == tile->along ? 6 : 5;
	return tile->pack >= 0 && !(tile->movers >> loop->iter & 1) ? 3 : 0;
}

/* Sorts the loops by rank, otherwise as they are; returns how many stand before the columns. */
static uint32_t order_loops(Tile *tile)
{
	Nest *nest = tile->nest;
	Loop *sorted = ARENA_ARRAY(nest->gen->arena, Loop, nest->nloops + 1);
	uint32_t n = 0, before = 0;
	Loop *row = NULL, *col = NULL, *along = NULL, *window = NULL, *traversal = NULL;
	for (int rank = 0; rank <= 6; rank++)
		for (uint32_t i = 0; i < nest->nloops; i++) {
			Loop *loop = &nest->loops[i];
			if (rank_of(tile, loop) != rank)
				continue;
			before += rank == 0;
			if (loop == tile->window)
				window = &sorted[n];
			*(rank == 1   ? &traversal
			  : rank == 2 ? &col
			  : rank == 4 ? &row
				      : &along) = &sorted[n];
			sorted[n++] = *loop;
		}
	nest->loops = sorted;
	tile->row = tile->row ? row : NULL;
	tile->col = tile->col ? col : NULL;
	tile->along = tile->along ? along : NULL;
	tile->window = window;
	tile->traversal = traversal;
	return before;
}

static void emit_copy(Tile *tile, Block copy)
{
	Gen *gen = tile->nest->gen;
	if (!tile->prepacked) {
		gen_append(gen, &gen->top, copy);
		return;
	}
	prepack_emit(tile->nest, copy);
	gen->locals.n = tile->nest->first_local;
}

static void declare_iters(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Symbols *symbols = gen->program->symbols;
	tile->r = gen_iter(gen, sym_cstr(symbols, "r"));
	tile->c = gen_iter(gen, sym_cstr(symbols, "c"));
	tile->q = gen_iter(gen, sym_cstr(symbols, "q"));
	tile->lane = gen_iter(gen, sym_cstr(symbols, "lane"));
	tile->first_row = gen_iter(gen, sym_cstr(symbols, "first"));
	tile->first_col = gen_iter(gen, sym_cstr(symbols, "first_col"));
	tile->first_step = gen_iter(gen, sym_cstr(symbols, "first_step"));
	tile->panel = gen_iter(gen, sym_cstr(symbols, "panel"));
}

void tile_emit(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	uint32_t outer = order_loops(tile);
	bool fills = tile->pack >= 0 && tile_pack_declare(tile);
	tile_group_declare_sums(tile);
	gen->locals.n = nest->first_local;
	declare_iters(tile);
	if (fills && !tile->by_blocks)
		emit_copy(tile, nest_wrap(nest, 0, outer, nest->nloops, tile_pack_fill(tile)));
	if (tile->has_sums)
		gen_append(gen, &gen->top, tile_group_fill_sums(tile));
	uint32_t inner = outer + (tile->traversal != NULL) + (tile->col != NULL);
	nest->apart = tile->apart;
	nest_note_sum(nest, tile->reduce, tile->order);
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, outer, nest->nloops,
			     tile_traversal_blocks(tile, tile_all(tile, inner))));
}
