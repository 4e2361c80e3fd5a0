/* Products that the four warps of a warpgroup of a GPU compute together, from matrices in shared memory: wgmma.
 *
 *   block row in 0..8                                    warps, of 16 rows each
 *     block column in 0..1
 *       group step in 0..4                                 one instruction each
 *         group q in 0..16                                 8 columns each
 *           warp i in 0..16
 *             warp j in 0..8
 *               warp k in 0..16
 *                 sums[row, column, 0, q, i, j] += f32(rows[row*1024 + step*16 + i*64 + k])
 *                                                  * f32(columns[step*16 + q*512 + j*64 + k])
 *
 * Both buffers are swizzled. An operand begins at a multiple of 1024 bytes and has lines of 128 bytes, 64 elements of two bytes
 * or 32 of f32, each behind the other: along k, or, where it is transposed, along its rows or columns, so many of them for all
 * k and then the next ones. Elements of f32, which are no casts, lie along k. The instructions run at some time until a
 * `wait products` of the threads, and read the operands until then.
 */
#ifndef TSR_LOOPS_GROUP_H
#define TSR_LOOPS_GROUP_H

#include "loops/fragment.h"

enum {
	GROUP_WARPS = 4,
	GROUP_LINE = 128,    /* bytes */
	GROUP_ALIGNED = 16,  /* bytes that strides of what TMA copies are a multiple of */
	GROUP_COLUMNS = 256, /* at most */
	GROUP_SWIZZLE = 1024 /* bytes after which the places in shared memory repeat */
};

/* Elements of a line, and those after which places repeat. */
static inline int64_t group_line(Dtype dtype) { return GROUP_LINE / (int64_t)dtype_bytes(dtype); }
static inline int64_t group_swizzle(Dtype dtype)
{
	return GROUP_SWIZZLE / (int64_t)dtype_bytes(dtype);
}
/* The load of a product's factor, whose element may be cast. */
static inline const Value *group_load(const Value *factor)
{
	return factor->kind == VALUE_CAST ? factor->args[0] : factor;
}

typedef struct GroupNest {
	const Stmt *step, *matrix; /* loops */
	WarpNest nest;		   /* of one matrix */
	int64_t steps, columns;
	BufferId a, b;
	const Ix *a_from, *b_from; /* of the warp's 16 rows, and all columns, at the step */
	Dtype dtype;		   /* of their elements */
	bool a_transposed, b_transposed;
} GroupNest;

/* Is the statement the outermost loop of such a nest? */
static inline bool is_group_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_GROUP;
}
/* What it is; a rule that it breaks, else NULL. `row`: the loop of a block that numbers the warps, NULL: where elements
 * are was shown before. */
const char *group_nest(Program *program, const Kernel *kernel, const Stmt *row, const Stmt *loop,
		       GroupNest *nest);

#endif
