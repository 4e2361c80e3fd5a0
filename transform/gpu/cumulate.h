/* What an axis comes to at each of its places (`cumulate`): one of the parts of `bind`. */
#ifndef TSR_TRANSFORM_GPU_CUMULATE_H
#define TSR_TRANSFORM_GPU_CUMULATE_H

#include "transform/gpu/bind.h"

typedef struct Cumulate {
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
} Cumulate;

/* cumulate_choose.c: is the kernel such a sum, that threads share? `own`: it is not part of another one, and what a schedule asks of it
 * counts. */
bool cumulate_decide(const Transform *t, Kernel *kernel, bool own, Cumulate *cumulate);
/* ... Places that the threads of a line have at a time. */
int64_t cumulate_round(const Cumulate *cumulate);
/* ... Writes it into the schedule. */
void cumulate_note(const Cumulate *cumulate);

/* cumulate.c: lets the threads of a block share lines. */
void bind_cumulate(const Cumulate *cumulate, uint32_t routine);
/* cumulate_slices.c: makes two kernels in front, of the sums of slices, and of what is before each. Requires: cumulate->slice. */
void bind_cumulate_slices(const Cumulate *cumulate, uint32_t routine, Kernel *sums,
			  Kernel *offsets);

#endif
