/* Of what an index is a multiple, whatever the sizes are: wide accesses begin at such indices. */
#ifndef TSR_LOOPS_MULTIPLE_H
#define TSR_LOOPS_MULTIPLE_H

#include "loops/loops.h"

enum { MULTIPLE_MOST = 64 };

typedef struct Multiples {
	const Sizes *sizes;
	int64_t *iters; /* by IterVar: what divides it in every iteration */
} Multiples;

/* Finds what divides the iterators of the kernel. */
Multiples multiples_new(Arena *arena, const Program *program, const Kernel *kernel);
/* A power of two, MULTIPLE_MOST at most, that divides the index. */
int64_t ix_multiple(const Multiples *m, const Ix *ix);

#endif
