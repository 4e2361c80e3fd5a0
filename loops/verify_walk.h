/* What the files of verify*.c share: the walk over a kernel. Private to them. */
#ifndef TSR_LOOPS_VERIFY_WALK_H
#define TSR_LOOPS_VERIFY_WALK_H

#include "loops/verify.h"

enum { BLOCK_AXES = 3 }; /* of a block: loops inside each other, at most */

typedef struct Verify {
	const Program *program;
	LoopsFault *fault; /* the first that was found */
	const Kernel *kernel;
	const Stmt *stmt; /* at hand */
	const ProgramRoutine *routine;
	bool *iter_open;		/* by IterVar: inside its loop */
	const Stmt *loop;		/* the innermost around; NULL: none */
	const Stmt *vector;		/* the LOOP_VECTOR around; NULL: none */
	bool parallel;			/* inside a LOOP_PARALLEL */
	bool *outside;			/* by LocalId: declared in front of it */
	uint32_t unrolled;		/* loops around that are written out */
	bool outlined;			/* inside a loop that is a function */
	const Stmt *blocks[BLOCK_AXES]; /* loops of a block around, the outermost first */
	uint32_t nblocks;
	uint32_t nconds;  /* conditions around, in the innermost serial loop */
	uint32_t nwarps;  /* loops of a warp around */
	bool not_alone;	  /* the statement at hand is no GRID loop's, nor its kernel's, alone */
	bool *around;	  /* by LocalId: declared in front of it */
	bool *local_open; /* by LocalId: after its declaration, in its block */
	int depth;
} Verify;

/* Notes the rule as broken at the statement at hand, unless another was noted before. */
void verify_note(const Verify *v, const char *rule);

/* Leaves the function at a fault, or after one: what comes behind may not be there. */
#define FAIL_UNLESS(v, cond, text)            \
	do {                                  \
		if ((v)->fault->rule)         \
			return;               \
		if (!(cond)) {                \
			verify_note(v, text); \
			return;               \
		}                             \
	} while (0)

/* ---- verify_value.c ---- */

/* Note the first rule that an index or a value, or a part of it, breaks at the place of the walk. NULL is a
 * fault too. */
void verify_ix(Verify *v, const Ix *ix);
void verify_value(Verify *v, const Value *value);
/* Inside a LOOP_VECTOR an index moves by 0 to `most` a lane. */
void verify_lanes(const Verify *v, const Ix *ix, int64_t most);
/* Lanes run along the last axis; along the first of a local that is read transposed. */
void verify_local_use(Verify *v, LocalId local, const Ix *const *ixs, uint32_t nixs, bool read);
/* Does the routine see the buffer? */
bool verify_buffer(const Verify *v, BufferId id);

/* ---- verify_loop.c ---- */

/* Notes what a loop breaks of what its kind asks of it, and of where it stands; notes that its iterations are entered. */
void verify_loop_kind(Verify *v, const Stmt *loop);
/* ... and behind its body, of a LOOP_MATRIX. */
void verify_matrix_loop(const Verify *v, const Stmt *loop);

/* ---- verify_copy.c ---- */

/* Note what such a statement breaks: COPY; ARRIVE or AWAIT; COMMIT or WAIT. */
void verify_copy(Verify *v, const Stmt *copy);
void verify_boxes(Verify *v, const Stmt *loop); /* a loop of boxes */
void verify_completion(Verify *v, const Stmt *stmt);
void verify_wait(Verify *v, const Stmt *stmt);

/* ---- verify_kernel.c ---- */

/* `routine`: the one that runs the kernel; NULL: none does. Resets the arena. */
void verify_kernel(Arena *arena, const Program *program, const ProgramRoutine *routine,
		   const Kernel *kernel, LoopsFault *fault);

#endif
