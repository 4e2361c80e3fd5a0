/* Symbolic dims with a source of random numbers, for the tests of sizes. */
#ifndef TSR_TEST_SIZE_WORLD_H
#define TSR_TEST_SIZE_WORLD_H

#include "base/size_program.h"
#include "base/size_system.h"

typedef struct World {
	Arena *arena;
	Sizes *sizes;
	SizeSystem *system; /* without facts */
	Size n, m, k, one;  /* the first three dims, and 1 */
	uint64_t seed;
} World;

/* A cmocka state with up to four dims of these least values. */
int world_setup(void **state, const int64_t *at_least, int ndims);
int world_teardown(void **state);
/* The same numbers in every run. */
uint64_t world_next(World *world);
int64_t world_below(World *world, int64_t bound);

/* The value of a postfix program of a size (size_program). */
int64_t run_program(const SizeOp *ops, size_t n, const int64_t *values);

#endif
