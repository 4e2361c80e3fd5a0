/* Where bounds.c stands in a kernel, for bounds_index.c: what iterators, locals and what is read are,
 * as sizes of the prover.
 */
#ifndef TSR_LOOPS_BOUNDS_WALK_H
#define TSR_LOOPS_BOUNDS_WALK_H

#include "loops/bounds.h"
#include "loops/bounds_prove.h"
#include "loops/build.h"

/* An integer that is read here: the same wherever it stands in the scope. */
typedef struct Read {
	const Value *value;
	Size size;
} Read;

/* Numbers that something is at least and at most. */
typedef struct Range {
	bool known;
	int64_t least, most;
} Range;

typedef struct Walk {
	const Program *program;
	const Kernel *kernel;
	Prover *prover;
	Arena *arena;  /* of the kernel */
	Size *iters;   /* by IterVar, in open loops */
	Range *ranges; /* likewise */
	Size *locals;  /* by LocalId: its value as an index; SIZE_BAD: not known */
	BoundsReads known;
	VEC(Read) reads;
} Walk;

/* A scope of a kernel: what is known and read in it is forgotten behind it. */
typedef struct WalkScope {
	ProverScope prover;
	size_t reads;
} WalkScope;
WalkScope walk_open(const Walk *walk);
void walk_close(Walk *walk, WalkScope scope);

/* The index as a size of the prover; SIZE_BAD: it is none. */
Size walk_size(Walk *walk, const Ix *ix);
Range walk_range(const Walk *walk, const Ix *ix);
/* Is the index shown to be in [0, extent)? */
bool walk_inside(Walk *walk, const Ix *ix, Size extent);

#endif
