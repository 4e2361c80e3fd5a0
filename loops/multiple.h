/* Of which small power of two indices are multiples, whatever the sizes are: wide accesses begin at such
 * indices; two elements of i4 or u4 share a byte from an even one on, eight a word from a multiple of 8 on. */
#ifndef TSR_LOOPS_MULTIPLE_H
#define TSR_LOOPS_MULTIPLE_H

#include "loops/loops.h"

enum { MULTIPLE_MOST = 64, WHOLES_MOST = 2 };

typedef struct Multiples {
	const Sizes *sizes;
	int64_t *iters;	   /* by IterVar: what divides it in every iteration */
	const bool *fixed; /* by IterVar: is it at the constant `at` now? NULL: none is */
	const int64_t *at;
	Size whole[WHOLES_MOST]; /* sizes that powers of two divide, and these */
	int64_t by[WHOLES_MOST];
	uint32_t nwholes;
} Multiples;

/* Finds what divides the iterators of the kernel's loops; of others nothing is known. */
Multiples multiples_new(Arena *arena, const Program *program, const Kernel *kernel);
/* Knows nothing of them. */
Multiples multiples_unknown(Arena *arena, const Program *program, const Kernel *kernel);
/* Supposes that it divides the size, beside what was supposed before, of as many sizes as there is room for. */
void multiples_add(Multiples *m, Size size, int64_t by);
/* Notes what the conditions of an IF say: `if c % 4 == 0`. */
void multiples_suppose(Multiples *m, const Stmt *stmt);
/* A power of two, MULTIPLE_MOST at most, that divides the index. */
int64_t ix_multiple(const Multiples *m, const Ix *ix);
/* The same of the index less a constant, which is the sum of its terms that are constants, fixed iterators
 * among them. */
int64_t ix_multiple_rest(const Multiples *m, const Ix *ix, int64_t *constant);

#endif
