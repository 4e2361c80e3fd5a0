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
 * Every part of rows and every part of columns (tile/parts.c) gives one such tile; tile/block.c
 * goes through them in blocks where operands do not stay in the caches. Sums of one element are added
 * in the order of the loops, whatever tile the element is in.
 */
#include "lower/tile/emit.h"
#include "lower/tile/zeros.h"

/* ---- tiles ---- */

static void declare_iters(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	tile->r = gen_iter(gen, "r");
	tile->c = gen_iter(gen, "c");
	tile->q = gen_iter(gen, "q");
	tile->lane = gen_iter(gen, "lane");
	tile->first_row = gen_iter(gen, "first");
	tile->first_col = gen_iter(gen, "first_col");
	tile->first_step = gen_iter(gen, "first_step");
	if (tile->blocks.within)
		tile->first_within = gen_iter(gen, "first_within");
	tile->panel = gen_iter(gen, "panel");
}

/* The packed operand of all columns. */
static Block copy_of_operand(Tile *tile)
{
	Nest *nest = tile->nest;
	return nest_wrap(nest, 0, tile->outer, nest->nloops, tile_pack_fill(tile));
}

Kernel tile_packing(Tile *tile)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const char *from = gen->program->buffers.at[tile_packed_load(tile)->buffer].name;
	declare_iters(tile);
	Kernel kernel = {.name = lower_unique(gen->lower,
					      sym_printf(gen->program->symbols, "pack_%s", from)),
			 .span = SPAN_NONE,
			 .body = copy_of_operand(tile)};
	frame_end(&gen->frame, &kernel);
	return kernel;
}

void tile_emit(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	uint32_t outer = tile->outer;
	declare_iters(tile);
	if (tile->fills && !tile->by_blocks && !tile->prepacked)
		gen_append(gen, &gen->top, copy_of_operand(tile));
	if (tile->sums != BUFFER_NONE)
		gen_append(gen, &gen->top, tile_group_fill_sums(tile));
	if (tile->zeros.n > 0)
		gen_append(gen, &gen->top, tile_zeros_check(tile));
	if (tile->unused.n > 0)
		gen_append(gen, &gen->top, tile_unused_check(tile));
	uint32_t inner = outer + (tile->traversal.loop != NULL) + (tile->col != NULL);
	nest->independent = tile->independent;
	nest_note_sum(nest, tile->reduce, tile->order);
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, outer, nest->nloops,
			     tile_traversal_blocks(tile, tile_all(tile, inner))));
}
