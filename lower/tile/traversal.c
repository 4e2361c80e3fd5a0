/* Tiles that go down a picture before they go along its rows.
 *
 *   for oh in 0..14: for c: for ow: tile      becomes      for c: for ow: for oh in 0..14: tile
 *
 * Of a depthwise convolution every element reads elements of its own, so that a row of the picture is
 * read again by the rows of the result whose windows hold it, from the second cache where all
 * channels go by in between. Rows of the result that follow each other at once find it in the
 * first.
 *
 * Rows go by in blocks (`first` in loops), which are work for threads; where these would be few,
 * and the columns' tiles are work enough, all at once. An element is computed by the same tile as
 * without.
 */
#include "lower/tile/emit.h"

#include "base/diag.h"

/* ---- its loops ---- */

static const Ix *extent_of(const Tile *tile)
{
	return ix_size(tile->nest->gen->arena, tile->traversal.loop->extent);
}

Block tile_traversal(const Tile *tile, Block one)
{
	Gen *gen = tile->nest->gen;
	if (!tile->traversal.loop)
		return one;
	const Ix *first = tile_const(tile, 0), *end = extent_of(tile);
	if (tile->traversal.rows) {
		first = ix_iter(gen->arena, tile->first_row);
		end = ix_binary(
			gen->program, IX_MIN, end,
			ix_add(gen->program, first, tile_const(tile, tile->traversal.rows)));
	}
	Stmt *loop = stmt_for(gen->arena, tile->traversal.loop->var, first, end, one);
	loop->independent = tile->independent;
	return block_of(gen, loop);
}

Block tile_traversal_blocks(const Tile *tile, Block all)
{
	if (!tile->traversal.loop || !tile->traversal.rows)
		return all;
	return tile_over_blocks(tile, tile->first_row, extent_of(tile), tile->traversal.rows, all);
}
