/* Values of a tile: their loads, what vector instructions compute of them, and whole numbers in them. */
#ifndef TSR_LOWER_TILE_VALUES_H
#define TSR_LOWER_TILE_VALUES_H

#include "lower/gen/lane_values.h"
#include "lower/tile/tile.h"

/* tile/values.c: are two of the loads of one element, wherever the loops are?
 * Requires: two of the loads. */
bool tile_reads_same(const Loads *loads, size_t a, size_t b);
/* The n-th load of a value, in the order of tile_plan's list, widened where it is; the value with
 * another in its place, wherever it reads the same; what it shares stays shared. */
const Value *tile_load(const Value *value, uint32_t n);
const Value *tile_replaced(Arena *arena, const Value *value, const Value *old, const Value *new);
/* Do vector instructions compute a value from what is read; and where they widen what it reads?
 * ... in lanes of the tile, `converts`: what they convert too. */
bool tile_is_simple(const Value *value);
bool tile_in_vectors(const Value *value);
bool tile_computes_in_lanes(const Value *value, bool converts, const Tile *tile);
/* Do vector instructions compute what is stored of an element? */
bool tile_is_in_vectors(const Tile *tile, const Value *value);

/* tile/index.c: is a whole number, as a sum of iterators, not above what i32 holds, or not below, in
 * every element? */
bool tile_index_fits(const Tile *tile, const Ix *ix, bool below);
/* The value with comparisons of indices as those of the lane's number, where they are such; is a
 * value what these compare? */
const Value *tile_numbers(const Tile *tile, const Value *value);
bool tile_is_number(const Tile *tile, const Value *value);

#endif
