/* What joins kernels of one grid, and rows of them. */
#ifndef TSR_TRANSFORM_GPU_JOIN_H
#define TSR_TRANSFORM_GPU_JOIN_H

#include "transform/gpu/bind.h"

typedef struct Joins {
	const Transform *t;
	Program *program;
	Arena *scratch;
	Kernel *made; /* those of the routine that there are so far */
	uint32_t n;
	KernelUses *uses;
	int64_t most; /* statements of a kernel that is joined */
} Joins;

/* Makes one kernel of two, under b's name; false: they stay apart. */
typedef bool (*JoinTwo)(const Joins *joins, const Kernel *a, const Kernel *b, Kernel *made);

/* The kernels one after another in a's grid, not more statements than a joined kernel has; false: their grids are
 * not the same, there is a check, or there are too many. */
bool join_bodies(const Joins *joins, const Kernel *a, const Kernel *b, Kernel *made);
/* Does any other kernel of the routine touch the buffer? */
bool join_touched_elsewhere(const Joins *joins, uint32_t kernel, BufferId buffer);

/* The one index at which the block touches the buffer, the grid's own; NULL: there are others. */
const Ix *join_own_element(const Kernel *kernel, const Block *block, BufferId buffer);
/* join_once.c: what a thread stores again, or reads behind that, is stored once. */
void join_store_once(const Joins *joins, Kernel *kernel);

/* row_join.c: a JoinTwo, of kernels whose first loops are rows. Requires: that one stores a buffer that the other
 * touches. */
bool join_rows(const Joins *joins, const Kernel *a, const Kernel *b, Kernel *made);
/* row_values.c: have loops the same bounds? A value of one nest in the other's iterators. Requires: they have. */
bool nests_are_same(const LoopNest *a, const LoopNest *b);
const Value *nest_value(Program *program, const Kernel *kernel, const LoopNest *from,
			const LoopNest *to, const Value *value);
/* Rows that nothing needs in memory are computed where they are read. Requires: a kernel of the routine. */
void join_row_values(const Joins *joins, uint32_t kernel);

#endif
