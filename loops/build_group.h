/* Statements of threads that mbarriers keep from each other: copies of boxes of tensors to shared memory, arrivals,
 * waits. See loops.h. */
#ifndef TSR_LOOPS_BUILD_GROUP_H
#define TSR_LOOPS_BUILD_GROUP_H

#include "loops/build.h"

/* A statement of a kind, all else of it empty. */
Stmt *stmt_new(Arena *arena, LoopStmtKind kind);
/* What a copy takes from where to where: axes of the tensor in `from`, the innermost first, to elements from `ix` on. */
typedef struct Box {
	BufferId to, from;
	const Ix *ix;
	const TensorAxis *axes;
	uint32_t naxes;
	const Ix *window; /* NULL: none */
} Box;

/* One completion of a ring of mbarriers: number `visit`. */
typedef struct Visit {
	BufferId mbarrier;
	const Ix *number;
} Visit;

/* The visit counts the copy's bytes. Copies box->axes. */
Stmt *stmt_copy(Program *program, const Box *box, Visit visit);
/* A thread's, or a warp's; `bytes` of copies belong to the visit, too. */
Stmt *stmt_arrive(Arena *arena, Visit visit, int64_t bytes);
Stmt *stmt_await(Arena *arena, Visit visit);
/* Until at most so many groups of a warpgroup's products are under way. */
Stmt *stmt_wait_products(Arena *arena, int64_t pending);

#endif
