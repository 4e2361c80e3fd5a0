/* Nests of loops that the threads of a warp run together, over matrices that they hold together.
 *
 *   elements  warp i in 0..16              load  warp i in 0..16            product  warp i in 0..16
 *               warp j in 0..8                     warp k in 0..16                     warp j in 0..8
 *                 y[i*n + j] = sums[i, j]            a[i, k] = f32(rows[i*p + k])        warp k in 0..16
 *                                                                                          sums[i, j] += a[i, k]*b[k, j]
 *
 * In a nest of elements each thread has those iterations whose elements it holds; a product is one instruction. Of sums a
 * thread holds two neighbours of a row, which may be lanes: they are stored in one access.
 *
 *   warp i in 0..16
 *     warp j in 0..4
 *       vector lane in 0..2
 *         y[i*n + j*2 + lane] = sums[i, j*2 + lane]
 *
 * A
 * load is one instruction from shared memory, of rows of 16 bytes at multiples of as many: of elements of 16 bits
 * along either axis, of f32 along k. It loads a matrix, or two of one local, in a third loop around:
 *
 *   warp pair in 0..2
 *     warp k in 0..8
 *       warp j in 0..8
 *         b[0, q*2 + pair, k, j] = columns[pair*8*p + j*p + k]
 *         b[1, q*2 + pair, k, j] = columns[pair*8*p + j*p + k] - b[0, q*2 + pair, k, j]
 *
 * Of f32 the statement behind, where there is one, is what rounding to tf32 leaves. A nest of two loops that sets
 * operands of f32 otherwise is one of elements.
 */
#ifndef TSR_LOOPS_FRAGMENT_H
#define TSR_LOOPS_FRAGMENT_H

#include "loops/multiple.h"
#include "loops/verify.h"

enum { FRAGMENT_LANES = 2 }; /* neighbours in a row of sums that a thread has */

typedef enum WarpNestKind { NEST_ELEMENTS, NEST_LOAD, NEST_PRODUCT } WarpNestKind;

typedef struct WarpNest {
	WarpNestKind kind;
	const Stmt *row, *column, *step; /* loops; step: PRODUCT */
	const Stmt *pair;		 /* LOAD: the loop of two matrices; NULL: there is one */
	MatrixOp op;
	MatrixRole role; /* of what ELEMENTS go through, and of what a LOAD sets */
	const Stmt *lanes; /* ELEMENTS: the loop of two lanes; NULL: there is none */
	const Stmt *set;   /* LOAD, PRODUCT */
	bool loaded; /* PRODUCT, of elements of shared memory, as warpgroups have it (loops/group.h) */
	const Stmt *rest; /* LOAD: sets what rounding to tf32 leaves; NULL: there is none */
	/* LOAD: where the matrix begins in the buffer, and how far what is not side by side is apart, and the second
	 * matrix; do neighbours lie along k? */
	BufferId buffer;
	const Ix *from;
	int64_t pitch, next;
	bool along_k;
} WarpNest;

/* Is the statement the outermost loop of such a nest? */
static inline bool is_warp_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_WARP;
}
/* The loop that is all another one holds; NULL: there is none. */
static inline const Stmt *warp_loop_in(const Stmt *loop)
{
	return loop && loop->body.n == 1 && is_warp_loop(loop->body.stmts[0]) ? loop->body.stmts[0]
									      : NULL;
}
/* Is it a product's outermost loop? */
bool is_warp_product(const Stmt *stmt);
/* Is there such a loop in the block? */
bool block_has_warp_loops(const Block *block);
/* Are iterations of a loop of a block around it warps? They have such loops, or wait for products. */
bool block_is_of_warps(const Block *block);
/* The lane that an element's last index has, of two; NULL: it is one of its own. */
const Ix *fragment_lane(const Ix *ix);
/* Are elements of the matrix two in 32 bits? They are only loaded and multiplied. */
bool fragment_is_paired(const KernelLocal *local);

/* The type in which its operands' elements are in memory. */
Dtype fragment_dtype(MatrixOp op);
/* Of a load, an index of an element of its local in the matrix `of` of a pair: 0 or 1. */
const Ix *warp_load_index(Program *program, const WarpNest *nest, const Ix *ix, int64_t of);

/* What a nest is; a rule that it breaks, else NULL. `multiples`: NULL: where elements begin was shown before. */
const char *warp_nest(Program *program, const Kernel *kernel, const Multiples *multiples,
		      const Stmt *loop, WarpNest *nest);
/* verify_fragment.c: what breaks a rule of such nests. */
LoopsFault warp_fault(Program *program, const Kernel *kernel);

#endif
