/* Loop fusion in four files: what kernels touch as loops over rows (fusion_touch.c), which neighbours become
 * one, with the reason where they do not (fusion_choose.c), the fused loops (fusion.c), and temporaries that
 * nothing else sees (fusion_private.c). */
#ifndef TSR_TRANSFORM_FUSION_H
#define TSR_TRANSFORM_FUSION_H

#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/transform.h"

/* The loops around a statement, innermost first. */
typedef struct Around {
	const Stmt *loop; /* its bounds and iterator */
	const struct Around *outer;
} Around;

/* One access to a buffer, in the order of the text. */
typedef struct Touch {
	BufferId buffer;
	const Ix *ix;
	IterVar row; /* the iterator of the rows in it */
	const Stmt *stmt;
	const Around *around; /* inside the row; NULL: the statement is the row's own */
	uint32_t top;	      /* position of the statement of the row that it is in */
	bool stored;
} Touch;

/* What is known of a kernel as one loop over rows; of kernels that are to be fused, of all together. */
typedef struct RowKernel {
	const Kernel *kernel; /* of several the last */
	const Stmt *loop;     /* over the rows, of several the first's; NULL: it is no such loop */
	const char
		*unfit; /* why it is fused with nothing: what it "is" or "has"; NULL: it may be */
	VEC(Touch) touches;
	VEC(BufferId) buffers;	/* that it touches, each once (fusion_choose.c) */
	uint32_t nstmts, depth; /* in a row; of loops in it that are long */
	uint32_t nest;		/* of all loops in it */
	bool few;		/* is each of these over a few elements, which are unrolled? */
	int64_t work; /* operations of a row, of the kernel that has most; -1: not known */
	bool streams; /* arithmetic on neighbouring elements, which waits for memory */
	bool several;
	const LoopSplit *split; /* of a flat loop into rows; NULL: it stays as it is */
} RowKernel;

/* Numbers of the first and the last kernel that touch a buffer; where it is moved in the end. */
typedef struct BufferSpan {
	BufferId key;
	uint32_t first, last;
	BufferId place; /* BUFFER_NONE: nowhere */
} BufferSpan;

/* Kernels `from` up to, not with, `to`, of which one loop is made. */
typedef struct RowGroup {
	uint32_t from, to;
} RowGroup;

typedef struct Rows {
	const Transform *transform;
	Program *program;
	Arena *arena;
	Kernel *kernels; /* first as they were; those that are made, from the first on */
	uint32_t n, nmade;
	RowKernel *all;	       /* of each as it was */
	VEC(RowGroup) groups;  /* in order */
	BufferUses *uses;      /* the buffers that each of them touches */
	BufferSpan *spans;     /* stb_ds table */
	uint32_t *places;      /* of those that are done: the number of what they are part of */
	VEC(BufferTwin) moves; /* of buffers that kernels before those at hand store, in order */
	uint32_t from, to;     /* those that are fused at hand */
	uint32_t nshared;      /* iterators from outside, which have one number in all kernels */
	uint32_t top;	       /* of the statement at hand */
	const Around *around;
} Rows;

/* ---- fusion_touch.c ---- */

/* The kernel with all its touches, if it is one loop over rows. */
RowKernel row_kernel(Rows *rows, const Kernel *kernel);
/* The same of a flat loop, without long loops in it, as rows. */
RowKernel row_kernel_split(Rows *rows, const RowKernel *flat, const LoopSplit *split);
/* Elements a row of a buffer, by its first access; SIZE_BAD: it does not move with the row. */
Size row_elements_of(const Rows *rows, const RowKernel *row, BufferId buffer);
/* Is every access to the buffer in row i in the elements [i*c, i*c + c)? */
bool row_buffer_stays(const Rows *rows, const RowKernel *row, BufferId buffer, Size c);
/* Does the kernel read or write the buffer; `stored`: write it? */
bool row_touches(const RowKernel *row, BufferId buffer, bool stored);

/* ---- fusion_choose.c ---- */

/* Decides which kernels are fused, into `groups` and the schedule. */
void rows_choose(Rows *rows);

/* ---- fusion.c ---- */

/* A loop like one with another body; two blocks as one. */
Block rows_both(const Rows *rows, Block a, Block b);

/* ---- fusion_private.c ---- */

/* Replaces temporaries that no other kernel sees. */
void rows_make_private(Rows *rows, Kernel *kernel);

#endif
