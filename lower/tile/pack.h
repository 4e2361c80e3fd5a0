/* The code of an operand of tiles that is copied into panels: at every call, when the state is
 * packed, or while compiling.
 */
#ifndef TSR_LOWER_TILE_PACK_H
#define TSR_LOWER_TILE_PACK_H

#include "lower/tile/build.h"
#include "lower/tile/copies.h"

/* tile/pack.c: the code of the copy. */
Block tile_pack_fill(Tile *tile);
/* The same of the block of columns at hand. */
Block tile_pack_block(Tile *tile);
/* Where the lane is at the step at hand, in the panel of the part of the columns that tiles read. */
const Ix *tile_pack_ix(const Tile *tile, const TilePart *col);
/* Where the present step of the panel of a part of the columns begins in the copy, and where the panel ends; which
 * step of the sum it is at the loops at hand. */
const Ix *tile_panel_step(const Tile *tile, const TilePart *col);
const Ix *tile_panel_end(const Tile *tile, const TilePart *col);
const Ix *tile_step_number(const Tile *tile);
Size tile_panel_elements(const Tile *tile, int64_t width);
/* The value over the loops as by_iter has them, added to the element. */
Block tile_add(Tile *tile, const Value *element);

/* tile/words.c: the loops over the sum, as below. */
Block tile_word_steps(Tile *tile, const Value *element, Block prefetch);

/* tile/groups.c: the loops over the sum, which add to the elements of a tile, `prefetch` in each. */
Block tile_group_steps(Tile *tile, const Value *element, Block prefetch);
/* ... along the loop of the groups alone, for the first rows of the element's. */
Block tile_group_along(Tile *tile, const Value *element, int64_t rows, Block prefetch);
/* What elements begin with, where the tile has sums: the code that fills that buffer; what those of the
 * present row begin with. */
Block tile_group_fill_sums(Tile *tile);
const Value *tile_group_begin(const Tile *tile);

#endif
