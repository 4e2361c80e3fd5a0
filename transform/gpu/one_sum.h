/* Kernels of one sum for each element of a grid, which several threads share out (columns.c, row_warps.c). */
#ifndef TSR_TRANSFORM_GPU_ONE_SUM_H
#define TSR_TRANSFORM_GPU_ONE_SUM_H

#include "transform/gpu/bind.h"

/* Locals, one sum, and behind it what is done with an element. */
typedef struct OneSum {
	Block body;
	uint32_t at;	 /* of the sum in it */
	const Stmt *set; /* what its innermost loop does */
} OneSum;

/* What threads of the kernel's grid do; false: something else. */
bool one_sum_of(const Kernel *kernel, OneSum *sum);
/* Adds the locals in front of the sum, but its own. */
void one_sum_before(Arena *arena, const OneSum *sum, Body *body);
/* All statements, where this one stands for the sum. */
Block one_sum_with(Arena *arena, const OneSum *sum, const Stmt *stmt);
/* The block with its locals named anew, and these indices for the kernel's iterators. */
Block one_sum_own(Program *program, Kernel *kernel, const Ix *const *iters, Block block);

#endif
