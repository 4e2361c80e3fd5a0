/* The code of an operand of tiles that is copied into panels: at every call, when the state is
 * packed, or while compiling.
 */
#ifndef TSR_LOWER_TILE_PACK_H
#define TSR_LOWER_TILE_PACK_H

#include "lower/tile_build.h"

/* prepack_emit.c: finds the copy in the state; false: there was none, and code for it is to be
 * emitted. */
bool prepack_declare(Tile *tile, const Value *load, Dtype dtype, Size elements);
void prepack_emit(const Nest *nest, Block body);
/* prepack_const.c: the panels of a constant. `to`: zeros. */
void prepack_constant(const Tile *tile, const PackedParam *packed, const ProgramConst *from,
		      void *to);

/* tile_pack.c: the copy's buffer (false: it is there already), its code. */
bool tile_pack_declare(Tile *tile);
Block tile_pack_fill(Tile *tile);
/* The same of the block of columns at hand; `behind`: of what is left behind the whole tiles
 * alone. */
Block tile_pack_block(Tile *tile, bool behind);
/* May the first tiles past a block of whole columns copy it? Their columns at the step at hand,
 * copied. */
bool tile_may_copy(Tile *tile);
Block tile_pack_columns(Tile *tile);
/* Where the lane is at the step at hand: in the panel of the part of the columns that is copied, or
 * that tiles read. */
const Ix *tile_pack_to(const Tile *tile, const TilePart *part);
const Ix *tile_pack_ix(const Tile *tile, const TilePart *col);
/* Where the panel of a part of the columns begins and ends in the copy; which step of the sum it is
 * at the loops at hand. */
const Ix *tile_panel_start(const Tile *tile, const TilePart *col);
const Ix *tile_panel_end(const Tile *tile, const TilePart *col);
const Ix *tile_step_number(const Tile *tile);
Size tile_panel_elements(const Tile *tile, int64_t width);
/* The value over the loops as by_iter has them, added to the element. */
Block tile_add(Tile *tile, const Value *element);

/* tile_transpose.c: does the last loop of the sum move all that a value of the column `lane` reads
 * by one element, or leave it where it is? Is there a square of it, of known steps? Then the copy of
 * `cols` columns over that loop. `value` and `to` are those of one element, at the loop's iterator
 * and the column `lane`. */
bool tile_transposes(Tile *tile, const Value *value);
bool tile_fits_squares(Tile *tile, const Value *value, const Ix *to, int64_t cols);
Block tile_transpose_copy(Tile *tile, const Value *value, const Ix *to, int64_t cols);

/* tile_groups.c: an element as it stands in a copy in groups; a panel of the part of the
 * columns. */
const Value *tile_group_copied(const Tile *tile, const Value *element);
Block tile_group_fill(Tile *tile, const TilePart *part);
/* Steps of a loop of the sum in the copy. */
Size tile_group_extent(const Tile *tile, const Loop *loop);
/* The loops over the sum, which add to the elements of a tile, `prefetch` in each. */
Block tile_group_steps(Tile *tile, const Value *element, Block prefetch);
/* ... along the loop of the groups alone, for the first rows of the element's. */
Block tile_group_along(Tile *tile, const Value *element, int64_t rows, Block prefetch);
/* What elements begin with: the buffer, its code, what those of the present row begin with. Where the
 * tile has sums. */
void tile_group_declare_sums(Tile *tile);
Block tile_group_fill_sums(Tile *tile);
const Value *tile_group_begin(const Tile *tile);

#endif
