/* Products of which a mask makes a factor 0 (tile/zeros.c): the steps that a tile adds, and whether it may leave the
 * others out.
 */
#ifndef TSR_LOWER_TILE_ZEROS_H
#define TSR_LOWER_TILE_ZEROS_H

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

#endif
