/* A row block: kernels that share rows, computed a block of rows at a time, so that what goes
 * between them is as small as a block. row_block.h says who decides on it; here is what it is, and
 * where its tensors are.
 *
 *   scores[h, s, t] = sum of q[h, s, d] * k[h, t, d]   for h
 *   p[h, s, t] = softmax of scores over t                transposed[d, t] = k[h, t, d]
 *   y[h, s, d] = sum of p[h, s, t] * v[h, t, d]          for first in 0..S step 64
 *                                                          scores[s, t], p[s, t] of 64 rows
 *                                                          y[h, first + s, d]
 *
 * A root that sums over the rows, of a contraction and in its order, goes on in the result where the
 * block before has ended; the blocks are one after another then:
 *
 *   z[h, t, d] = sum of p[h, s, t] * c[h, s, d]          z[h, t, d] = 0; for first: for t, d, s of 64:
 *                                                          z[h, t, d] += p[s, t] * c[h, first + s, d]
 */
#ifndef TSR_LOWER_ROW_BLOCK_PLACE_H
#define TSR_LOWER_ROW_BLOCK_PLACE_H

#include "lower/gen/gen.h"

enum {
	ROW_BLOCK_DIMS = 8,
	ROW_BLOCK_ROOTS = 16,
	ROW_BLOCK_BEFORE = 16,
	ROW_BLOCK_ENDS = 6,
	ROW_BLOCK_FIXED = -2, /* instead of a dim: an axis that is read at one index */
	ROW_BLOCK_PLACES = ROW_BLOCK_ROOTS + ROW_BLOCK_ENDS
};

/* An axis that every kernel of the row block walks along in the same way. In each kernel of the row
 * block the iterator of dim i has number i; that of the rows is the block's first row. */
typedef struct RowBlockDim {
	Sym name;
	Size extent;
	bool dropped; /* it was none */
} RowBlockDim;

/* A kernel of the row block. */
typedef struct RowBlockRoot {
	NodeId root, nest; /* what it computes; the node whose projection its loops follow */
	int *dims;	   /* by axis of the result: a dim, or -1 */
	bool read_outside; /* others read it too: it is stored where it always is */
	bool result;	   /* no other root reads it */
	int summed; /* the iterator of its sum that is the rows: each block adds its own; -1: none */
} RowBlockRoot;

/* An operand that is read, with an index an axis. */
typedef struct Seen {
	NodeId node;
	const Ix *const *axes;
} Seen;

typedef struct SeenList {
	Seen *at;
	size_t n, cap;
} SeenList;

/* A contraction that reads an operand from outside, of which every block reads all of its rows'
 * dims. */
typedef struct RowBlockEnd {
	NodeId nest;
	SeenList seen; /* operands of the sum */
	int *dims;     /* by IterId: a dim, or -1 */
} RowBlockEnd;

/* An operand that is copied with the columns as its last axes. */
typedef struct RowBlockTransposed {
	NodeId node;
	const Ix *const *axes; /* as it is read */
	int *dims;	       /* by axis: a dim, ROW_BLOCK_FIXED, or -1 */
	int *order;	       /* by axis: its position in the copy; -1: it has none */
	int nsums, naxes;      /* positions: those of sums, which are the first ones; all */
} RowBlockTransposed;

/* Where a tensor is within the row block: a block of its rows, or a copy with its axes in another
 * order.
 */
typedef struct RowBlockPlace {
	NodeId node;
	BufferId buffer;
	Size elements;		/* of the buffer */
	bool padded;		/* rows are farther apart than they are long */
	int *dims;		/* by axis: a dim, ROW_BLOCK_FIXED, or -1 */
	Size *strides;		/* by axis */
	const Ix *const *fixed; /* by axis: the index of those that are ROW_BLOCK_FIXED */
} RowBlockPlace;

/* Rows that go in blocks of one height: where tensors are, and a kernel for each root. */
typedef struct RowBlockPart {
	Size lo, hi, height;
	RowBlockPlace places[ROW_BLOCK_PLACES]; /* those of copies first */
	uint32_t nplaces;
	Sym names[ROW_BLOCK_ROOTS]; /* of buffers, or of kernels that store where they always do */
	struct KernelPlan *kernels[ROW_BLOCK_ROOTS];
} RowBlockPart;

enum { ROW_BLOCK_PARTS = 2 };

typedef struct RowBlock {
	RowBlockDim dims[ROW_BLOCK_DIMS];
	uint32_t ndims;
	bool single;   /* no kernel has a loop over the rows: there is one */
	int summed;    /* the dim that roots sum over, which is that of the rows; -1: none does */
	uint32_t rows; /* the dim that goes in blocks; the others have one element at a time */
	int64_t block; /* rows of a block */
	RowBlockRoot roots[ROW_BLOCK_ROOTS];
	uint32_t nroots;
	NodeId before
		[ROW_BLOCK_BEFORE]; /* between the roots, but of no concern to them: computed first
				     */
	uint32_t nbefore;
	NodeId after[ROW_BLOCK_BEFORE]; /* ... which read its results: computed behind it */
	uint32_t nafter;
	RowBlockEnd ends[ROW_BLOCK_ENDS];
	uint32_t nends;
	RowBlockTransposed transposed[ROW_BLOCK_ENDS];
	uint32_t ntransposed;
	const ScheduleClause *copies; /* that are asked for; NULL: nothing is */
	RowBlockPart parts[ROW_BLOCK_PARTS]; /* whole blocks, then the rows that are left */
	uint32_t nparts;
	RowBlockPart *part; /* at hand, while its kernels are planned or emitted */
	VEC(NodeId)
	passed; /* roots that could begin it and do not: what asks for it would begin it there */
} RowBlock;

/* Is a root, by its number, stored where it always is: is it the last one, or one that others read too? */
static inline bool row_block_stores(const RowBlock *row_block, uint32_t root)
{
	return row_block->roots[root].read_outside || root + 1 == row_block->nroots;
}
/* Does a root's sum go on from block to block? The result holds it so far, 0 at first. */
static inline bool row_block_carries(const RowBlock *row_block, const RowBlockRoot *root)
{
	const RowBlockPart *first = &row_block->parts[0];
	return root->summed >= 0 && (row_block->nparts > 1 || !size_same(first->hi, first->height));
}
/* The root of the row block that a node is; NULL: it is none. */
const RowBlockRoot *row_block_root(const RowBlock *row_block, NodeId node);
/* The name of the kernel of a root in the part at hand. */
Sym row_block_name(const RowBlock *row_block, NodeId root);

/* ---- while a kernel of the row block at hand (lower.row_block) is planned or emitted ---- */

/* The first row of the block at hand. */
static inline const Ix *row_block_first(const Gen *gen)
{
	return ix_iter(gen->arena, gen->lower->row_block->rows);
}
/* Where the tensor is, read or stored at these indices; NULL: where it always is, as it is for
 * reads of an operand that its copy does not hold. */
const RowBlockPlace *row_block_place(const Lower *lower, NodeId node, const Ix *const *axes);
/* Requires: the place is there for these indices, in the block's row at hand. */
const Ix *row_block_index(Gen *gen, const RowBlockPlace *place, const Ix *const *axes);

#endif
