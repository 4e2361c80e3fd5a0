/* Of which small power of two indices are multiples, whatever the sizes are: two elements of i4 or u4
 * share a byte from an even one on, eight share a word from a multiple of 8 on. */
#ifndef TSR_LOOPS_EVEN_H
#define TSR_LOOPS_EVEN_H

#include "loops/loops.h"

typedef struct Even {
	const Sizes *sizes;
	uint8_t *iters;	   /* by IterVar: a multiple of 1 << iters[i] in every iteration */
	const bool *fixed; /* by IterVar: is it at the constant `at` now? NULL: none is */
	const int64_t *at;
} Even;

enum { EVEN_LOG_MOST = 3 };

/* Finds what the iterators of the kernel are multiples of. */
Even even_new(Arena *arena, const Program *program, const Kernel *kernel);
/* The index as a constant and a rest that is a multiple of 1 << log, at most EVEN_LOG_MOST; false: the rest
 * is not known to be. The constant is the sum of the terms that are constants, fixed iterators among them. */
bool even_rest(const Even *e, const Ix *ix, int log, int64_t *constant);

#endif
