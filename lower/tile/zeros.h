/* Products of which a mask makes a factor 0 (tile/zeros.c): the steps that a tile adds, and whether it may leave the
 * others out.
 */
#ifndef TSR_LOWER_TILE_ZEROS_H
#define TSR_LOWER_TILE_ZEROS_H

#include "lower/nest/mask.h"
#include "lower/tile/build.h"

/* Steps of the sum: lo <= step < hi. */
typedef struct TileSteps {
	const Ix *lo, *hi;
} TileSteps;

/* The loop of the sum. */
const Loop *tile_zeros_sum(const Tile *tile);
/* What decides, once for all tiles of the kernel: a local that is 0 where terms may be left out.
 * Requires, as of all that follows: the tile has zeros, and its iterators are declared. */
Block tile_zeros_check(Tile *tile);
/* The steps of the tile at hand, of rows of a part, of which some term may be other than 0. */
TileSteps tile_nonzero_steps(const Tile *tile, const TilePart *row);
/* The body where there are such steps. */
Block tile_unless_empty(const Tile *tile, TileSteps steps, Block body);
/* ---- of comparisons (Zeros) ---- */

/* The difference where it is greatest in a tile. */
const Ix *tile_zeros_greatest(const Tile *tile, const Zeros *zeros, const TilePart *row,
			      const TilePart *col);
/* Lanes that go through an operand along a loop of known extent: all of its elements, where these are few registers, or a
 * vector of them. */
int64_t tile_zeros_lanes(const Tile *tile, const Loop *loop);
/* Sets the nest's values at iterators as its loops have them, none of them in a tile; at the lane of those that go through an
 * operand `along` a loop (NULL: there is none). Loops over all of these around the statement, of all steps of `outer`. */
void tile_zeros_place(const Tile *tile, const Loop *along);
Block tile_zeros_over(const Tile *tile, const Loop *along, const Loop *outer, const Stmt *stmt);

/* ---- sums that make no difference behind a mask (tile/unused.c) ---- */

/* What decides, as above; the steps where an element of the tile makes a difference. */
Block tile_unused_check(Tile *tile);
Block tile_unless_unused(const Tile *tile, const TilePart *row, const TilePart *col, Block steps);

#endif
