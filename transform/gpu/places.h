/* Copies of a product's operands: where a thread's places are in the loops of a side, and copies that are asynchronous. */
#ifndef TSR_TRANSFORM_GPU_PLACES_H
#define TSR_TRANSFORM_GPU_PLACES_H

#include "transform/gpu/tiling.h"

/* tiling.c: do a thread's places along the side, of which each copies neighbours along the sum, take divisions by sizes that
 * are known at run time only? Finds them in the side's loops, for so many threads along each axis and so many times. */
bool tiling_takes_divisions(const Tiling *g, const Side *side);
void tiling_find_places(Tiling *g, Side *side, const TilePlace *place, const int64_t *threads);
/* copy.c: the places of what threads copy through registers; async.c: ... of what is copied asynchronously. */
void tiling_copy_places(Tiling *g, Side *side);
void async_places(Tiling *g, Side *side);

/* async.c: lets both operands be copied as they are, up to 16 bytes at a time, where they can be; all rounds of
 * the sum then; `others`: the rounds where they cannot be, as the sizes are. */
void async_set_up(Tiling *g);
void async_rounds(Tiling *g, Body *body, Block others);

#endif
