/* Lifetimes of temporaries, private to memory.c and memory_peak.c. */
#ifndef TSR_TRANSFORM_MEMORY_H
#define TSR_TRANSFORM_MEMORY_H

#include "transform/transform.h"

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

/* Compares the routine's workspace with the most that is allowed (memory_peak.c): an error where it
 * is more; where that depends on its dims, a check, which is returned. CHECK_NONE: there is none. */
CheckId memory_check(const Transform *t, const Lives *lives, const ProgramRoutine *routine);

#endif
