/* Kernels over the same rows as one. */
#ifndef TSR_LOWER_ROWS_H
#define TSR_LOWER_ROWS_H

#include "lower/lowering.h"

/* Joins neighbouring kernels of the routine at hand. Requires that its kernels are the program's
 * last. */
void rows_fuse(Lower *lower);

#endif
