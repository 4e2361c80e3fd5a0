/* Between which numbers an index lies, where its iterators lie between numbers. */
#ifndef TSR_LOOPS_INTERVAL_H
#define TSR_LOOPS_INTERVAL_H

#include "loops/loops.h"

typedef struct Interval {
	int64_t lo, hi; /* both are among them */
} Interval;

/* `iters`: by IterVar. False: it holds a dim, or what is read, beyond what is multiplied by 0 or what a remainder is taken of.
 * Where all iterators are one number each, so is the result, exactly. */
bool ix_interval(const Program *program, const Ix *ix, const Interval *iters, Interval *result);

/* By IterVar, between which numbers the iterators of a kernel lie, whatever the sizes are. */
Interval *kernel_intervals(Arena *arena, const Program *program, const Kernel *kernel);

#endif
