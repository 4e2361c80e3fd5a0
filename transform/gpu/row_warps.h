/* Sums of rows by warps: what row_warps_choose.c decides and row_warps.c makes. */
#ifndef TSR_TRANSFORM_GPU_ROW_WARPS_H
#define TSR_TRANSFORM_GPU_ROW_WARPS_H

#include "transform/gpu/one_sum.h"
#include "transform/gpu/wide.h"

typedef struct RowWarps {
	const Transform *t;
	Program *program;
	Arena *arena;
	const GpuTarget *gpu;
	Kernel *kernel;
	const Stmt *loops[GRID_LOOPS]; /* of the grid, outermost first */
	bool own[GRID_LOOPS];	       /* each thread has all iterations */
	uint32_t n, row;	       /* row: the loop of which a block has some iterations */
	OneSum sum;
	Wide wide;	     /* of groups, each with scales of its own, if there are any */
	int64_t length;	     /* of the sum, about */
	bool known;	     /* is it that? */
	int64_t vectors;     /* sums that a thread has at a time */
	int64_t rows, warps; /* of a block; of a row */
	const Value *scale,
		*term; /* scale: of all terms of a group, NULL: of none; what each is but for that */
	IterVar blocks; /* of the grid, for the loop of rows */
	LocalId part, other, group;
} RowWarps;

/* row_warps_groups.c: makes loops of the sum that go on as one loop one, also where something is read for each step of the outer one
 * alone. */
void row_warps_join_loops(RowWarps *w);
/* ... sets `scale`, but where sums keep their order, and `term`. */
void row_warps_split_terms(RowWarps *w);
/* Decides all but what is behind `warps`; false: the kernel is left, and what is asked of it is told why. */
bool row_warps_decide(const Transform *t, Kernel *kernel, RowWarps *w);
/* Writes it into the schedule. */
void row_warps_note(const RowWarps *w);
/* The innermost loop of the sum; elements of it that the threads of a row read at a time; a known extent of a loop of the
 * grid, or about how much it is.
 * Requires: of row_warps_extent, a loop of the grid's. */
const Stmt *row_warps_loop(const RowWarps *w);
int64_t row_warps_steps(const RowWarps *w);
int64_t row_warps_extent(const RowWarps *w, uint32_t loop);

#endif
