/* Neighbouring kernels as one loop for threads. */
#ifndef TSR_LOWER_REGION_H
#define TSR_LOWER_REGION_H

#include "lower/lowering.h"

/* Joins kernels of the routine at hand whose loops are not cut yet. */
void regions_join(Lower *lower);

#endif
