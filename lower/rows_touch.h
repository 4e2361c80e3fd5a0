/* Kernels as loops over rows, and what they touch: shared by rows_touch.c and rows.c. */
#ifndef TSR_LOWER_ROWS_TOUCH_H
#define TSR_LOWER_ROWS_TOUCH_H

#include "lower/lowering.h"

/* The loops around a statement, innermost first. */
typedef struct Around {
	const Stmt *loop;
	const struct Around *outer;
} Around;

/* One access to a buffer, in the order of the text. */
typedef struct Touch {
	BufferId buffer;
	const Ix *ix;
	const Stmt *stmt;
	const Around *around; /* inside the row; NULL: the statement is the row's own */
	uint32_t top;	      /* position of the statement of the row that it is in */
	bool stored;
} Touch;

typedef struct RowKernel {
	Kernel kernel;
	const Stmt *loop; /* the only statement of the kernel; NULL: it is no row kernel */
	VEC(Touch) touches;
	uint32_t nstmts, depth;
	bool plain;	      /* nothing stands in the way of joining */
	bool joined;	      /* from several kernels */
	const Stmt *declared; /* a local to stand in front of the row's body */
} RowKernel;

typedef struct Rows {
	Lower *lower;
	Program *program;
	Arena *arena;
	RowKernel *all;	  /* the routine's kernels as they were */
	BufferUses *uses; /* the buffers that each of them touches */
	uint32_t n;
	size_t first;	  /* of the program's kernels: the first one that is done */
	uint32_t nshared; /* iterators from outside, which have one number in all kernels */
	uint32_t top;	  /* of the statement at hand */
	const Around *around;
} Rows;

/* The kernel with all its touches, if it is one loop over rows; `loop` is NULL else, and where
 * turning its loops is worth more. */
RowKernel row_kernel(Rows *rows, const Kernel *kernel);
/* Cells a row of a buffer, by its first access; SIZE_BAD: it does not move with the row. */
Size row_cells_of(const Rows *rows, const RowKernel *row, BufferId buffer);
/* Is every access to the buffer in row i in the cells [i*c, i*c + c)? */
bool row_buffer_stays(const Rows *rows, const RowKernel *row, BufferId buffer, Size c);
/* Does the kernel read or write the buffer; `stored`: write it? */
bool row_touches(const RowKernel *row, BufferId buffer, bool stored);

#endif
