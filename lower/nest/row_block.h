/* A nest in the kernel of a row block (gen/row_block_place.h). */
#ifndef TSR_LOWER_NEST_ROW_BLOCK_H
#define TSR_LOWER_NEST_ROW_BLOCK_H

#include "lower/gen/row_block_place.h"
#include "lower/nest/nest.h"

/* Of the row block at hand, if there is one: the dim that an iterator of the nest runs along; -1: none. */
int row_block_dim_of(const Nest *nest, IterId iter);
/* Does its sum go on from block to block? */
bool row_block_sum_goes_on(const Nest *nest);
/* The iterators where they are in the whole tensors. */
const Ix *const *row_block_whole(const Nest *nest);

#endif
