/* What the code of tiles is made of (tile/build.c): locals and loops over the elements of a
 * tile; where tiles and blocks of them begin and end (tile/within.c).
 */
#ifndef TSR_LOWER_TILE_BUILD_H
#define TSR_LOWER_TILE_BUILD_H

#include "lower/nest/emit.h"
#include "lower/tile/values.h"

/* An element of a local. A local of what sums begin with.
 * Requires: as many indices as the local has axes. */
const Value *tile_local(const Tile *tile, LocalId local, const Ix *const *ixs, uint32_t nixs);
LocalId tile_declare(const Tile *tile, Body *body, const char *name, const int64_t *extents,
		     uint32_t rank);
/* The statement for so many lanes. */
Block tile_in_lanes(const Tile *tile, int64_t lanes, const Stmt *stmt);
/* A loop over the elements of the tile at hand, those that its columns are filled up with too. */
Block tile_over_elements(const Tile *tile, Block body);
/* ... of so many of its rows. */
Block tile_over_rows(const Tile *tile, int64_t rows, Block body);
/* How loops over a tile's rows run: written out, or, of sums in memory, not. */
LoopKind tile_rows_kind(const Tile *tile);
/* Loops over its rows and columns. */
Block tile_over(const Tile *tile, LoopKind rows, LoopKind lanes, Block body);

/* The loop over the part's tiles, in steps of a tile, around the body; the body itself where the part is one
 * tile or `loop` is NULL. */
Block tile_part_loop(const Tile *tile, const Loop *loop, const TilePart *part, Block body);
/* The part's loop within the present block, of the columns or rows from `first` on. */
Block tile_within(const Tile *tile, const Loop *loop, const TilePart *part, IterVar first,
		  int64_t block, Block body);
Block tile_only_if(const Tile *tile, CondKind kind, const Ix *a, const Ix *b, Block body);
bool tile_cols_blocked(const Tile *tile, const TilePart *part);
/* Where blocks end: behind the whole tiles, or behind all of an extent that is not known. */
const Ix *tile_blocks_end(const Tile *tile, const Loop *loop, const TileParts *parts);
/* Blocks from 0 to `end`; those of rows and columns store elements of their own. */
Block tile_over_blocks(const Tile *tile, IterVar first, const Ix *end, int64_t block, Block body);
/* Row or column of a tile's first element. */
const Ix *tile_first(const Tile *tile, const Loop *loop, const TilePart *part);
/* Blocks of the sum. */
Block tile_over_steps(const Tile *tile, Block body);
/* The loops over the sum, or over its present block, around a body. */
Block tile_steps(const Tile *tile, Block body);
/* Those before the loop `end`. Requires: it is behind those that go in blocks. */
Block tile_steps_before(const Tile *tile, uint32_t end, Block body);
/* The loops over the sum of the tile at hand, where any of its elements is seen. */
Block tile_unless_masked(const Tile *tile, Block steps);
/* The body where the sum so far is in the result; where the sum is complete, or is not. */
Block tile_unless_first(const Tile *tile, Block body);
Block tile_if_last(const Tile *tile, bool last, Block body);

#endif
