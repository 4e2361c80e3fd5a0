/* What an axis comes to at each of its places (`cumulate`): one of the parts of `bind`. */
#ifndef TSR_TRANSFORM_GPU_SCAN_H
#define TSR_TRANSFORM_GPU_SCAN_H

#include "transform/gpu/bind.h"

typedef struct Scan {
	const Transform *t;
	Program *program;
	Arena *arena;
	const GpuTarget *gpu;
	Kernel *kernel;
	const Stmt *lines[GRID_LOOPS]; /* loops of the grid, outermost first */
	uint32_t n;		       /* 0: there is one line */
	Block body;		       /* of a line */
	const Stmt *first, *loop;      /* the sum's local; the loop over its places */
	const Stmt *set, *store;       /* ... in that */
	bool exclusive;		       /* the store stands before what is added */
	const Ix *from, *end;	       /* of the places */
	Size places;		       /* as many, at most */
	bool along;		       /* lanes have places of a line, else neighbouring lines */
	int64_t rows, warps,
		each;  /* rows of lanes a block, warps of each; places of a thread in a round */
	int64_t slice; /* places; 0: there are no slices */
	ScheduleClause *asked;
} Scan;

/* scan_choose.c: is the kernel such a sum, that threads share? `own`: it is not part of another one, and what a schedule asks of it
 * counts. */
bool scan_decide(const Transform *t, Kernel *kernel, bool own, Scan *scan);
/* ... Places that the threads of a line have at a time. */
int64_t scan_round(const Scan *scan);
/* ... Writes it into the schedule. */
void scan_note(const Scan *scan);

/* scan.c: lets the threads of a block share lines. */
void bind_scan(const Scan *scan, uint32_t routine);
/* scan_slices.c: makes two kernels in front, of the sums of slices, and of what is before each. Requires: scan->slice. */
void bind_scan_slices(const Scan *scan, uint32_t routine, Kernel *sums, Kernel *offsets);

#endif
