/* Elements whose index says which iteration touches them, as a number says its digits. */
#ifndef TSR_LOOPS_DIGITS_H
#define TSR_LOOPS_DIGITS_H

#include "loops/build.h"

/* first <= iterator <= first + span */
typedef struct IterRange {
	bool known, open; /* open: in its loop */
	Size first, span;
} IterRange;

/* From the loop's bounds; not known where they are no sizes. */
IterRange iter_range(Program *program, const Stmt *loop);

typedef struct ElementAccess {
	BufferId buffer;
	bool stores;
	const Ix *ix;
	const IterRange *ranges;  /* by IterVar, in the loops around it */
	const Cond *const *conds; /* that hold where it stands */
	uint32_t nconds;
	uint32_t part; /* of the loops that are looked at together (independent.c) */
} ElementAccess;

/* Do different values of any iterator in the index, of a loop that is open, mean different elements? (false: not
 * known) */
bool digits_are_independent(Program *program, const Kernel *kernel, const ElementAccess *access);
/* Is what tells the elements of one access apart true of the other, too? */
bool digits_are_alike(Program *program, const Kernel *kernel, const ElementAccess *a,
		      const ElementAccess *b);

#endif
