/* Between which numbers an index lies, where its iterators lie between numbers. */
#ifndef TSR_LOOPS_INTERVAL_H
#define TSR_LOOPS_INTERVAL_H

#include "loops/loops.h"

typedef struct Interval {
	int64_t lo, hi; /* both are among them */
} Interval;

/* `iters`: by IterVar. False: it holds a dim, or what is read, beyond what is multiplied by 0. Where all iterators
 * are one number each, so is the result, exactly. */
bool ix_interval(const Program *program, const Ix *ix, const Interval *iters, Interval *result);

#endif
