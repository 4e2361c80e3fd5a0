/* The parts of tile.c: a product of two operands as a grid of tiles. */
#ifndef TSR_TRANSFORM_GPU_TILE_H
#define TSR_TRANSFORM_GPU_TILE_H

#include "target/gpu.h"
#include "transform/gpu/bind.h"

enum { PRODUCT_LOOPS = GRID_LOOPS };

/* Neighbouring loops as one, from 0 to `extent`: what is stored goes through them as through one loop, that of
 * the innermost, operands perhaps not. */
typedef struct LoopGroup {
	const Stmt *loops[PRODUCT_LOOPS]; /* outermost first */
	uint32_t n;
	Size extent;
} LoopGroup;

/* Of its innermost loop, which goes along all of them where they are gone through as one. */
static inline IterVar group_iter(const LoopGroup *group)
{
	return group->loops[group->n - 1]->iter;
}

/* The loops of a sum: the innermost ones, which boxes go through as through one, and those around, at each of which all of the
 * line is added up. */
typedef struct GroupSum {
	LoopGroup taps, line;
} GroupSum;

/* One factor of each term. */
typedef struct ProductOperand {
	const Value *value;
	bool sum_first; /* neighbours of what it reads are steps of the sum, not rows or columns */
	const Cond *conds; /* where one does not hold it is 0 */
	uint32_t nconds;
	const char *name; /* of the buffer that it reads first */
} ProductOperand;

/* Products by matrix instructions: which one, whether each factor is the sum of two numbers, and after how many
 * terms sums go to f32 additions; 0: never. */
typedef struct TensorUse {
	bool used;
	MatrixOp op;
	bool split;
	int64_t promote;
} TensorUse;

/* local acc = first
 * for ...: [if conditions of one of them:] acc += rows * columns
 * and statements for each element, which the sum does not need */
typedef struct Product {
	const Stmt *declared, *set;
	const Stmt *guard; /* around `set`; NULL: none */
	LoopGroup rows, columns, sum;
	LoopGroup batch; /* of the grid, that both operands walk through, or none does */
	ProductOperand row_operand, column_operand;
	TensorUse tensor;
	bool columns_first; /* of the two factors the columns' is the first */
	Body rest;
} Product;

/* loop_group.c: does an operand, with its conditions, go through the loops of the group as through one? */
bool operand_goes_as_one(Program *program, const ProductOperand *operand, const LoopGroup *group);
/* ... The iterators of the group at a number of all of its iterations: the innermost stands for all; or each is where it is
 * then, the number being that of so many of them as `unit` says. */
void group_put(Program *program, const Ix **iters, const LoopGroup *group, const Ix *at);
void group_put_each(Program *program, const Ix **iters, const LoopGroup *group, const Ix *at,
		    int64_t unit);
/* ... A quotient or a remainder. */
const Ix *ix_divided(Program *program, IxKind kind, const Ix *a, Size by);
/* product.c: Is the kernel a product? Its loops of the grid hold nothing else. */
bool product_of(Program *program, const Kernel *kernel, Product *product);
/* group_operands.c: the loops of the sum, with the fewest taps with which TMA copies both operands, so that warpgroups multiply
 * them; false: with none. Of what is split, all are the line. */
bool group_sum(Program *program, const Product *product, GroupSum *sum);
/* ... Does it copy them also where the sum goes in so many slices? Requires: group_sum. */
bool group_fits(Program *program, const Product *product, const GroupSum *sum, int64_t slices);
/* ... Rounds of so many steps: each line begins one. */
Size group_sum_rounds(Program *program, const GroupSum *sum, int64_t steps);
/* choose.c: which matrix instruction, if any, computes the product. */
TensorUse product_tensor(const Transform *t, const Product *product);
typedef struct TileWanted {
	const Product *product;
	const GpuTile *tile; /* NULL: a thread for each element */
	int64_t slices;	     /* of the sum, 1 or more */
	bool alone;	     /* no other form lets threads of a block share the sum */
	bool cluster;	     /* ... each a block's of a cluster, which adds them up */
	IterVar slice;	     /* ... of its blocks */
	uint32_t routine;
} TileWanted;
/* Bytes of all sums of a tile. */
static inline int64_t tile_bytes(const GpuTile *tile, Dtype dtype)
{
	return tile->rows * tile->columns * (int64_t)dtype_bytes(dtype);
}
/* Threads of a block, which has warps where others have threads if matrix instructions multiply. */
static inline int64_t tile_threads(const GpuTile *tile, bool tensor)
{
	int64_t each = tile->rows / tile->thread_rows * (tile->columns / tile->thread_columns);
	return each * (tensor ? WARP : 1);
}
/* Finds the tile of the product and the slices of its sum, from what is asked, else by cost, and writes them into the
 * schedule. */
void gpu_tile_choose(const Transform *t, const Kernel *kernel, TileWanted *wanted);

/* split.c: the first store behind the sum. */
const Stmt *product_store(const Product *product);
/* ... Steps of each of so many slices of the sum: parts of its outermost loop, of the same length, if they divide that; else parts
 * of all loops as one, in rounds of `steps`, of which the last may be shorter. */
typedef struct SliceSteps {
	bool whole; /* of the outermost loop */
	Size each;
} SliceSteps;
SliceSteps slice_steps(Sizes *sizes, const LoopGroup *sum, int64_t slices, int64_t steps);
/* The product of slices, which `before` is then; the kernel adds them up. Requires: more slices than one. */
Product bind_split(const Transform *t, Kernel *kernel, const TileWanted *wanted, Kernel *before);

/* ... The kernel is the product of a slice, by its iterator in `wanted`. Requires: slices of a cluster. */
Product bind_cluster(const Transform *t, Kernel *kernel, TileWanted *wanted);
/* high_low.c: stores both operands as two numbers of tf32 each, for which there are two kernels `before`, but those of which an
 * earlier one does the same; the product of these. Requires: it is split, group_fits. */
Product bind_high_low(const NewKernels *to, Kernel *kernel, const TileWanted *wanted,
		      Splitter *before);
/* ... elements of such an operand. */
Size high_low_elements(const Program *program, const Product *product, bool rows);

/* tile.c: makes the kernel, a product, tiles of blocks. */
void bind_tile(const Transform *t, Kernel *kernel, const TileWanted *wanted);

#endif
