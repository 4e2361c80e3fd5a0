/* Values that all rows of a tile share behind its sum, as they are planned for each height and width of a tile. */
#ifndef TSR_LOWER_TILE_INVARIANT_H
#define TSR_LOWER_TILE_INVARIANT_H

#include "loops/loops.h"

struct Tile;

/* A part of what is stored of an element that is the same for all rows of a tile. */
typedef struct TileInvariant {
	uint32_t place;	    /* in the value, each part before its operands; of invariant parts these do not count */
	uint32_t local;	    /* equal parts are one; numbered by their first places */
	const Value *value; /* at the rows and columns of a tile at any place */
} TileInvariant;

/* Those of tiles of so many rows and columns, in the order of their places. */
typedef struct TileInvariants {
	int64_t height, width;
	VEC(TileInvariant) parts;
	uint32_t nlocals;
} TileInvariants;

/* What rows of the tile at hand share; NULL: nothing. Do the registers hold the sums of
 * such a tile and `n` locals? */
const TileInvariants *tile_invariants(const struct Tile *tile);
bool tile_fits_invariants(const struct Tile *tile, const TileInvariants *plan, uint32_t n);

#endif
