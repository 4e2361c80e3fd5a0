/* Transformations of kernels after lowering: each makes from a loop other loops that compute the
 * same, bit for bit. They know nothing of models; what the target has is given.
 *
 * Each has a test of legality, which returns NULL or, as a text for people, why the loop stays as
 * it is, and a rewrite, which requires that it is legal.
 */
#ifndef TSR_LOOPS_VECTOR_H
#define TSR_LOOPS_VECTOR_H

#include "loops/work.h"

/* What transformations ask of the target. */
typedef struct VectorTarget {
	int lanes;		 /* of f32 that it can mask one by one; 0: it has no masks */
	int row_lanes;		 /* of f32 that it permutes, from several vectors; 0: it does not */
	int side_by_side;	 /* vectors whose chains of instructions it runs at once */
	int64_t lanes_trips;	 /* of a loop of functions for which lanes pay */
	int64_t fast_path_strip; /* elements whose arguments are looked at together */
	int64_t fast_path_trips; /* of a loop for which this pays */
	bool in_lanes[OP_COUNT]; /* functions of f32 that have a form for vectors */
	/* functions with a fast path for most arguments */
	bool fast_path[OP_COUNT][DTYPE_COUNT];
} VectorTarget;

typedef struct Vectoring {
	Program *program; /* whose kernel it is; constructors allocate in its arena */
	Kernel *kernel;	  /* gets iterators and locals */
	const VectorTarget *target;
} Vectoring;

/* A pass over the kernels: the body that it makes of one's, which is the same where it changes nothing. */
typedef struct VectorPass {
	const char *name; /* of its stage, which says what it makes (driver/pipeline.c) */
	Block (*run)(Vectoring *t);
} VectorPass;

/* In the order in which they run. */
enum {
	VECTOR_OUTLINE,
	VECTOR_CHECKS,
	VECTOR_FAST_PATH,
	VECTOR_ROW_LANES,
	VECTOR_LANES,
	VECTOR_NARROW,
	VECTOR_PASSES
};
extern const VectorPass vector_passes[VECTOR_PASSES];

/* What pass number `pass` makes of a program; the given one stays, and both share all that did not change. `changed`
 * says whether a kernel has another body. */
Program *vector_run(uint32_t pass, const Program *program, const VectorTarget *target);
/* The kernels that differ from those of `before`, as in loops_dump; "(unchanged)" where none does. */
void vector_dump(FILE *out, const Program *before, const Program *after);

/* math_lanes.c */
const char *math_lanes_refused(const Vectoring *t, const Stmt *loop);
void math_lanes(Vectoring *t, const Stmt *loop, Body *to);
/* The loop from lo to hi in steps, with another body. */
Stmt *loop_between(Arena *arena, const Stmt *loop, const Ix *lo, const Ix *hi, int64_t step,
		   Block body);
/* The first of hi - lo iterations behind those that are whole steps: lo + ((hi - lo)/step)*step. */
const Ix *lanes_left(Program *program, const Ix *lo, const Ix *hi, int64_t step);

/* row_lanes.c */
const char *row_lanes_refused(const Vectoring *t, const Stmt *loop);
void row_lanes(Vectoring *t, const Stmt *loop, Body *to);

/* row_loads.c */
const char *row_loads_refused(const Vectoring *t, const Stmt *loop);
void row_loads(Vectoring *t, const Stmt *loop, Body *to);

/* checks.c */
const char *checks_refused(const Vectoring *t, const Stmt *loop);
void checks(Vectoring *t, const Stmt *loop, Body *to);

/* outline.c */
const char *outline_refused(const Vectoring *t, const Stmt *loop);
/* The kernel's body, in which loops are marked if it is heavy; the same where none is. */
Block outline_loops(const Vectoring *t);
/* The number of statements that a block is written out to; a vector counts as one. */
uint64_t block_weight(const Program *program, Block block);

/* fast_path.c */
const char *fast_path_strips_refused(const Vectoring *t, const Stmt *loop);
void fast_path_strips(Vectoring *t, const Stmt *loop, Body *to);
/* The statement in the fast paths that its own values allow; the same where there are none. */
const Stmt *fast_path_values(const Vectoring *t, const Stmt *stmt);

/* narrow.c */
/* The kernel's body with integers in narrow types; the same where there are none. */
Block narrow_loops(const Vectoring *t);

#endif
