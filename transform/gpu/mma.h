/* Products by matrix instructions: what mma.c, mma_group.c and mma_sums.c share. */
#ifndef TSR_TRANSFORM_GPU_MMA_H
#define TSR_TRANSFORM_GPU_MMA_H

#include "transform/gpu/elements.h"

/* The warps of a block, with iterators of their own, and the matrices of their sums. */
typedef struct Warps {
	Tiling *g;
	const MatrixRow *matrix;
	IterVar row, column;  /* warps of the block */
	int64_t across, down; /* matrices of a warp's sums */
} Warps;

/* mma_sums.c: new iterators of a block's warps; the loops over them. */
Warps mma_warps(Tiling *g);
Block mma_in_warps(const Warps *w, Block body);
/* The loops of a nest over m rows and n columns. */
Block mma_loops(const Warps *w, IterVar row, uint32_t m, IterVar column, uint32_t n, Block body);

#endif
