/* What independent.c knows of a loop's iterations, and independent_buffer.c looks for two in that meet. */
#ifndef TSR_LOOPS_INDEPENDENT_H
#define TSR_LOOPS_INDEPENDENT_H

#include "loops/dependence.h"
#include "loops/digits.h"

typedef struct Proof {
	Program *program;
	Arena *arena;
	const WholeLoop *parts; /* of several kernels; NULL: of one loop, as it is */
	uint32_t part;		/* that the walk is in */
	const Kernel *kernel;
	const Stmt *loop;
	IterRange range; /* of the loop, or of the one that all are */
	int64_t step;
	IterRange *ranges;	   /* by IterVar, in the loops around */
	const IterRange *snapshot; /* a copy of them as they are; NULL: there is none */
	bool *declared;		   /* by LocalId: inside the root */
	VEC(const Cond *) conds;   /* that hold where the walk is */
	VEC(ElementAccess) accesses;
	VEC(BufferId) stored;
	bool gpu;      /* may sums below a size be digits, too? A CPU's loops are chosen without */
	bool threads;  /* of a block: locals of outside may be read, and scratch buffers count */
	bool cluster;  /* of blocks of one: its scratch buffers count */
	bool privates; /* ... and set what each has of its own */
	bool failed;
} Proof;

/* Does no element of the buffer belong to two iterations of the loop, one of which stores it? (false: not known) */
bool independent_in_buffer(const Proof *proof, BufferId buffer);

#endif
