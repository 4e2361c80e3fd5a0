/* Kernels over the same rows as one. */
#ifndef TSR_LOWER_ROWS_H
#define TSR_LOWER_ROWS_H

#include "lower/lowering.h"

/* Joins neighbouring kernels of the routine at hand, from number `first` of them on. The first
 * `nshared` iterators of each are bound outside of it. Requires that the kernels are the program's
 * last. */
void rows_fuse(Lower *lower, size_t first, uint32_t nshared);

#endif
