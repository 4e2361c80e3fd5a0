/* Sums that are computed in the steps of the sums that read them. */
#ifndef TSR_TRANSFORM_COMPUTE_AT_H
#define TSR_TRANSFORM_COMPUTE_AT_H

#include "transform/transform.h"

/* Of a routine's n kernels, in place; how many are left. */
uint32_t kernels_compute_at(const Transform *t, Kernel *kernels, uint32_t n);

#endif
