/* Whether a nest is computed in register tiles, and in which. Nothing here emits, and nothing here
 * may include what does.
 */
#ifndef TSR_LOWER_TILE_PLAN_H
#define TSR_LOWER_TILE_PLAN_H

#include "lower/tile/facts.h"

/* Is the nest a contraction that register tiles fit, and in which? What was chosen is written to
 * the kernel's schedule. */
bool tile_choose(Nest *nest, Op reduce, Tile *tile);
/* Are elements of the type added up in tiles? */
bool tile_sums_dtype(Dtype dtype);
/* Writes the choices down (tile/describe.c). */
void tile_describe(const Planner *p);

/* tile/loops.c: finds lanes along the last loop of the result or along a sum, rows and columns;
 * false: there are none. */
bool tile_find_loops(Planner *p);
/* Where rows read inside their operand, and the guards that are left there: those that the rows do
 * not move. */
void tile_find_guards(Planner *p);
/* The best loop of the result that leaves some operand in place, other than those in `but`, for the
 * rows or the columns; NULL: there is none. */
Loop *tile_reusing_loop(const Planner *p, const Loop * not, uint64_t but, uint32_t item);
/* May rows go along the loop: are all its padded reads inside somewhere? */
bool tile_may_be_rows(const Planner *p, const Loop *loop);

/* tile/choose_pack.c: which operand is packed. `found`: tile_find_loops has a tile without it. */
void tile_choose_pack(Planner *p, bool found);
/* Finds rows along which the result lies, and columns of an operand that can be packed, for lanes
 * across these; false: there are none. */
bool tile_choose_transposed(Planner *p);
/* tile/choose_matrix.c: may groups be products of matrices; do so many rows and columns fit the registers;
 * half cycles of the steps of a word; rows of `at` matrix tiles, no more than there are. */
bool tile_may_be_matrix(const Planner *p);
bool tile_fits_matrix(const Planner *p, int64_t rows, int64_t cols);
uint64_t tile_matrix_half_cycles(const Planner *p, int64_t rows, int64_t cols);
int64_t tile_matrix_rows(const Planner *p, int64_t at);
/* tile/words.c: may the operand, by its place among those of the sum, be packed as words of i4 or
 * u4? Requires: one of the loads of the sum. */
bool tile_fits_words(const Planner *p, int load);
/* prepack.c: may it be read from a copy in the state, of words or not?
 * Requires: one of the loads of the sum. */
bool tile_may_prepack_words(const Planner *p, int load);
bool tile_may_prepack(const Planner *p, int load);

/* tile/collapse.c: may so many columns be more with those of another loop? Makes the last loop of
 * the result and another one the columns of tiles, in a nest of the planner's own, of which the
 * values are built again; false: there is none. Do all parts hold whole rounds? */
bool tile_wants_collapse(const Nest *nest, int64_t columns, int64_t steps, bool copied);
bool tile_collapse(Planner *p, Nest *nest);
bool tile_has_collapsed(const Planner *p, const TileParts *cols);

/* tile/size.c: fills in rows, columns and cycles; leaves rows empty where nothing fits. */
void tile_choose_sizes(Planner *p);
/* tile/cache.c: is each element of the result stored or added to once, and read nowhere else? */
bool tile_stores_once(const Planner *p);
/* Does it pay to let the columns' operand go by once? */
bool tile_streams(const Planner *p);
/* What blocks of columns of an operand that is packed block by block cost, in columns; 0: it is
 * not. */
int64_t tile_block_cost(const Planner *p, const TileParts *cols);
/* Blocks of the sum that tiles of such a size go by, between which the sums so far wait in the result. */
int64_t tile_sum_blocks(const Planner *p, const TilePart *row, const TilePart *col);
/* Do the lines of so many rows meet in too few sets of the first cache, which columns need too? */
bool tile_rows_meet(const Planner *p, int64_t rows);
/* Do the steps of the sum meet in the same sets of the first cache, in what the columns move? */
bool tile_steps_meet(const Planner *p);
/* Fills in the blocks, from the sizes. */
void tile_choose_blocks(Planner *p);

/* Whether the next panel, columns or rows are prefetched. */
void tile_choose_prefetch(Planner *p);
/* May lanes run along the rows where columns are few, and are the last of these such? What was
 * chosen. */
bool tile_may_transpose_rows(const Planner *p);
bool tile_is_remainder(const Planner *p, const TileParts *cols);
void tile_choose_remainder(Planner *p);
/* Whether the rows of a tile share what they read of a picture. */
void tile_choose_window(Planner *p);
/* Whether tiles go along another loop of the result before they go on. */
void tile_choose_traversal(Planner *p);

/* How what follows from the sums is computed: where a mask hides tiles, in vectors, in loops of its own. Requires:
 * what else is chosen is decided. */
void tile_choose_finish(Tile *tile);

/* Which steps of the sum are left out, since a mask makes them 0. Requires: what else is chosen is decided. */
void tile_choose_zeros(Tile *tile);
/* Which sums make no difference behind a mask. */
void tile_choose_unused(Tile *tile);

/* tile/read.c: is an operand computed where tiles read it? Then the nest's values are others. */
bool tile_choose_read(Tile *tile);
/* What tiles would read then, of a factor of the sum that is read from `operand`, or that
 * itself. */
BufferId tile_read_buffer(Tile *tile, BufferId operand);

/* The estimated cycles of a sum in tiles as its loops are, `transposed`: with lanes across another loop
 * than the last of the result; 0: no such tiles fit. */
uint64_t tile_estimate(Nest *nest, bool transposed);
/* Does the loop go over the result's last axis in steps of 2 elements or more, in a line, and set them
 * (tile/strided.c)? */
bool nest_stores_strided(const Nest *nest, const Loop *loop);

#endif
