/* Lifetimes of temporaries, private to plan.c and peak.c. */
#ifndef TSR_LOWER_PLAN_H
#define TSR_LOWER_PLAN_H

#include "lower/lowering.h"

typedef struct Life {
	BufferId buffer;
	uint32_t first, last; /* positions in the routine's kernels */
	BufferId over;        /* takes the place of this one, which ends as it begins */
	Size bytes;
} Life;

typedef struct Lives {
	Life *at;
	size_t n, cap;
} Lives;

/* Compares the workspace with the most that is allowed (peak.c): an error where it is more, a guard
 * of the routine where that depends on its dims. */
void workspace_check(Lower *lower, const Lives *lives, const KernelId *kernels, uint32_t nkernels,
		     Size workspace);

#endif
