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
 * Both buffers are swizzled. An operand begins at a multiple of 512 elements and has lines of 64 elements, each behind
 * the other: along k, or, where it is transposed, along its rows or columns, 64 of them for all k and then the next 64. The
 * instructions run at some time until a `wait products` of the threads, and read the operands until then.
 */
#ifndef TSR_LOOPS_GROUP_H
#define TSR_LOOPS_GROUP_H

#include "loops/fragment.h"

enum {
	GROUP_WARPS = 4,
	GROUP_LINE = 64,	/* elements of two bytes */
	GROUP_COLUMNS = 256,	/* at most */
	SWIZZLED_ELEMENTS = 512 /* after which the places in shared memory repeat: 1024 bytes */
};

typedef struct GroupNest {
	const Stmt *step, *matrix; /* loops */
	WarpNest nest;		   /* of one matrix */
	int64_t steps, columns;
	BufferId a, b;
	const Ix *a_from, *b_from; /* of the warp's 16 rows, and all columns, at the step */
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
