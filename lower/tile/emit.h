/* The code of tiles, as they are planned. Who emits may look at what was decided; who decides does
 * not include this.
 */
#ifndef TSR_LOWER_TILE_EMIT_H
#define TSR_LOWER_TILE_EMIT_H

#include "lower/tile/pack.h"

/* tile.c: the copies and all tiles of a nest, at the kernel's end. */
void tile_emit(Tile *tile);
/* The kernel that fills the copy in the state. Requires: the plan has it fill one, and the kernel is new. */
Kernel tile_packing(Tile *tile);
/* tile/block.c: all tiles, in blocks or not. `inner`: loops of the result from there on run inside
 * the columns. */
Block tile_all(Tile *tile, uint32_t inner);
/* tile/traversal.c: the loop around a tile that tiles go along first; its blocks around all
 * tiles. */
Block tile_traversal(const Tile *tile, Block one);
Block tile_traversal_blocks(const Tile *tile, Block all);

/* tile/one.c: one tile; of rows x cols elements with lanes along a sum, whose first one is at by_iter
 * (tile/dot.c). */
Block tile_one(Tile *tile, const TilePart *row, const TilePart *col);
Block tile_along(Tile *tile, const TilePart *row, const TilePart *col);

/* The sum of a tile: at the edge of a picture, added to its elements, or a place of the picture after the other
 * (tile/rows.c); where columns are read beyond their end. */
Block tile_cut_steps(Tile *tile, const TilePart *part, LocalId acc, Block prefetch);
Block tile_over_read_steps(Tile *tile, const Value *element);
Block tile_window_steps(Tile *tile, LocalId acc);
/* tile/transpose_square.c: of rows of the part, added to acc[c, lane], in squares of an operand that are transposed.
 * Requires: one is planned. */
Block tile_square_steps(Tile *tile, const TilePart *row, LocalId acc);
/* tile/prefetch.c: what a tile does in a step of the sum to prefetch (nothing: an empty block), with
 * what that needs in `before`. */
Block tile_prefetch(Tile *tile, const TilePart *row, const TilePart *col, Body *before);
/* The same of an operand of two elements a byte, for a tile whose lanes run along the sum. */
Block tile_prefetch_along(Tile *tile, const TilePart *row, const TilePart *col);
/* tile/lane_tree.c: the sums over all lanes of acc[r, c, lane], for as many elements as a vector has
 * lanes, the first of which is `base`, row by row of `cols`: a local of one vector. */
LocalId tile_lane_tree(Tile *tile, Body *body, LocalId acc, int64_t cols, int64_t base);

/* tile/fission.c: what follows from the finished sum, stored; from all sums of `height` x `width`
 * elements, in lanes; where lanes run along the rows (tile/result.c); where columns are two loops
 * (tile/pieces.c). */
Block tile_store(Tile *tile, const Value *sum);
Block tile_finish(Tile *tile, const Value *element);
Block tile_finish_transposed(Tile *tile, const TilePart *row, const TilePart *col, LocalId acc);
Block tile_finish_pieces(Tile *tile, const TilePart *col, const Value *element);

#endif
