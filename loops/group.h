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
/* Boxes of a result, which TMA stores for warps from shared memory, in turn from two places of each warp:
 *
 *   unroll box in 0..2 through y_boxes[row*2048] to y[columns*64 of 32 in n by 1, rows*128 + row*16 of 16 in m by n]
 *     unroll q in 0..4
 *       warp i in 0..16
 *         warp j in 0..4
 *           if rows*128 + row*16 + i < m
 *             if columns*64 + box*32 + q*8 + j*2 + 1 < n
 *               vector lane in 0..2
 *                 y[(rows*128 + row*16 + i)*n + columns*64 + box*32 + q*8 + j*2 + lane] =
 *                   sums[row, column, 0, box*4 + q, i, j*2 + lane]
 *
 * An iteration stores the elements of one box, which are below the axes' extents, once each: those of iteration b are
 * b boxes further along the first axis. That is all that the loop means; where elements are on their way is for
 * hardware to know.
 */
/* Windows of a tensor, which TMA copies as the rows of a product, as im2col would lay them out:
 *
 *   copy y_rows[...] = x[c of 64 in 128 by 1, kw from -1 step 2 of 28 in 56 by 128, kh from -1 step 2 of 28 in 56 by 7168,
 *                        0 from 0 step 1 of n in n by 401408] windows rows*128 of 128 at y_full, round
 *
 * Window number w is the one at w % 28 along the first axis with windows, w / 28 % 28 along the next, w / 784 along the last.
 * Of 128 of them it copies the element of each that is kw and kh behind where the window begins, 64 channels from c on; what
 * is outside of the tensor is 0.
 */
#ifndef TSR_LOOPS_GROUP_H
#define TSR_LOOPS_GROUP_H

#include "loops/fragment.h"

enum {
	GROUP_WARPS = 4,
	GROUP_LINE = 128,     /* bytes */
	GROUP_ALIGNED = 16,   /* bytes that strides of what TMA copies are a multiple of */
	GROUP_COLUMNS = 256,  /* at most */
	GROUP_SWIZZLE = 1024, /* bytes after which the places in shared memory repeat */
	GROUP_BOXES = 2,      /* of a warp that are on their way */
	WINDOW_STEPS = 8      /* elements between neighbouring windows, at most */
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

/* Is the statement a loop of boxes of a result? */
static inline bool is_box_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->naxes > 0;
}
/* The tensor that a copy, or such a loop, has a map of. */
static inline BufferId box_tensor(const Stmt *stmt)
{
	return stmt->kind == LOOP_COPY ? stmt->value->buffer : stmt->tensor;
}
/* Windows of a copy, all channels of one behind the other. Requires: it has windows. */
static inline int64_t window_count(const Stmt *copy) { return copy->axes[1].box; }
/* windows.c: along one of the axes behind the first, which of its windows the copy's first one is. */
const Ix *window_place(Program *program, const Stmt *copy, uint32_t axis);
/* ... does a driver make a map of these axes? How far into a window a copy of so many may read. */
bool window_map_fits(Sizes *sizes, const TensorAxis *axes, uint32_t n);
int64_t window_most(uint32_t naxes);
/* ... what breaks a rule of such copies. */
LoopsFault window_fault(Program *program, const Kernel *kernel);

/* boxes.c: elements of a box. */
int64_t box_elements(const Stmt *stmt);
/* ... of an element that the loop stores at `ix`, where it is in its box. Requires: box_fault finds none. */
const Ix *box_place(Program *program, const Stmt *loop, const Ix *ix);
/* ... what breaks a rule of such loops. */
LoopsFault box_fault(Program *program, const Kernel *kernel);

#endif
