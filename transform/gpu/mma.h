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

/* Parts of the two operands that are multiplied: of one part each, or of two that a factor is the sum of, in which order. */
enum { MATRIX_PARTS = 2, MATRIX_PAIRS = 3 };
typedef struct MatrixPair {
	int a, b;
} MatrixPair;
/* mma_sums.c: which ones, and how many. */
int mma_pairs(const Tiling *g, MatrixPair *pairs);

/* ... new iterators of a block's warps; the loops over them. */
Warps mma_warps(Tiling *g);
Block mma_in_warps(const Warps *w, Block body);
/* May the two neighbours that a thread has in a row be computed and stored as lanes? */
bool mma_has_lanes(const Tiling *g);
/* The loops of a nest over m rows and n columns. */
Block mma_loops(const Warps *w, IterVar row, uint32_t m, IterVar column, uint32_t n, Block body);

#endif
