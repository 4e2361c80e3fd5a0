/* Which indices are even, whatever the sizes are: two elements of i4 or u4 share a byte from such a one
 * on. */
#ifndef TSR_LOOPS_EVEN_H
#define TSR_LOOPS_EVEN_H

#include "loops/loops.h"

typedef struct Even {
	const Sizes *sizes;
	bool *iters;	   /* by IterVar: is it even in every iteration? */
	const bool *fixed; /* by IterVar: is it at the constant `at` now? NULL: none is */
	const int64_t *at;
} Even;

/* Finds the iterators of the kernel that are even. */
Even even_new(Arena *arena, const Program *program, const Kernel *kernel);
/* The index as a constant and a rest that is even; false: the rest is not known to be. The constant is
 * the sum of the terms that are constants, fixed iterators among them. */
bool even_rest(const Even *e, const Ix *ix, int64_t *constant);

#endif
