/* Kernels as loops over rows, and what they touch: shared by fusion.c, fusion_touch.c and
 * fusion_private.c. */
#ifndef TSR_TRANSFORM_FUSION_H
#define TSR_TRANSFORM_FUSION_H

#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/transform.h"

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

/* Numbers of the first and the last kernel that touch a buffer; where it is moved in the end. */
typedef struct BufferSpan {
	BufferId key;
	uint32_t first, last;
	BufferId place; /* BUFFER_NONE: nowhere */
} BufferSpan;

typedef struct Rows {
	const Transform *transform;
	Program *program;
	Arena *arena;
	RowKernel *all;	       /* the kernels as they were */
	Kernel *kernels;       /* those that are made, from the first on */
	uint32_t nmade;
	BufferUses *uses;      /* the buffers that each of them touches */
	BufferSpan *spans;     /* stb_ds table */
	uint32_t *places;      /* of those that are done: the number of what they are part of */
	VEC(BufferTwin) moves; /* of buffers that kernels before those at hand store, in order */
	uint32_t n;
	uint32_t from, to; /* those that are joined at hand, of `all` */
	uint32_t nshared;  /* iterators from outside, which have one number in all kernels */
	uint32_t top;	   /* of the statement at hand */
	const Around *around;
} Rows;

/* The kernel with all its touches, if it is one loop over rows; `loop` is NULL else, and where
 * transposing its loops is worth more. */
RowKernel row_kernel(Rows *rows, const Kernel *kernel);
/* Elements a row of a buffer, by its first access; SIZE_BAD: it does not move with the row. */
Size row_elements_of(const Rows *rows, const RowKernel *row, BufferId buffer);
/* Is every access to the buffer in row i in the elements [i*c, i*c + c)? */
bool row_buffer_stays(const Rows *rows, const RowKernel *row, BufferId buffer, Size c);
/* Does the kernel read or write the buffer; `stored`: write it? */
bool row_touches(const RowKernel *row, BufferId buffer, bool stored);

/* fusion.c: iterators of a kernel as numbers from `first` on; a loop like one with another body;
 * blocks; a block with twins in the place of buffers. */
const Ix **rows_same_iters(const Rows *rows, const Kernel *kernel, IterVar first);
Stmt *rows_loop_over(const Rows *rows, const Stmt *like, Block body);
Block rows_both(const Rows *rows, Block a, Block b);
Block rows_with_twins(const Rows *rows, const Kernel *kernel, Block block, BufferTwin *twins,
		      uint32_t ntwins);

/* fusion_private.c: replaces temporaries that no other kernel sees. */
void rows_make_private(Rows *rows, RowKernel *row);

#endif
