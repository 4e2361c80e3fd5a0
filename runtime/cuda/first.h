/* What parameters hold at first. */
#ifndef TSR_RUNTIME_CUDA_FIRST_H
#define TSR_RUNTIME_CUDA_FIRST_H

#include "runtime/cuda/plan.h"

/* Fills n elements: a number, or uniform in +-1/sqrt(fan) as docs/language.md, section 5, says.
 * Requires: it is not PLAN_COMPUTED. */
void first_fill(const PlanParam *param, Dtype dtype, int64_t fan, uint64_t seed, void *elements,
		int64_t n);

#endif
