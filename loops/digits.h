/* Elements whose index says which iteration touches them, as a number says its digits. */
#ifndef TSR_LOOPS_DIGITS_H
#define TSR_LOOPS_DIGITS_H

#include "loops/build.h"
#include "loops/linear.h"

/* first <= iterator <= first + span */
typedef struct IterRange {
	bool known, open; /* open: in its loop */
	Size first, span;
} IterRange;

/* From the loop's bounds; not known where they are no sizes. */
IterRange iter_range(Program *program, const Stmt *loop);
/* Is the sum, but for its term `but` (SIZE_MAX: for none), from 0 to less than the size in the loops of these ranges, which are
 * by IterVar? */
bool linear_is_below(Sizes *sizes, const IterRange *ranges, const Linear *linear, size_t but,
		     Size size);

typedef struct ElementAccess {
	BufferId buffer;
	bool stores;
	const Ix *ix;
	const IterRange *ranges;  /* by IterVar, in the loops around it */
	const Cond *const *conds; /* that hold where it stands */
	uint32_t nconds;
	uint32_t part; /* of the loops that are looked at together (independent.c) */
} ElementAccess;

/* Is the index clamped to [0, most]: min(max(..., 0), most)? Nothing is known of whether `most` is less than 0. */
bool ix_is_clamped(const Sizes *sizes, const Ix *ix, Size *most);

/* Is a multiple of the iterator one of the terms of the index? */
bool ix_has_term(Program *program, const Ix *ix, IterVar iter);

/* Do different values of the iterator, of a loop that is open, mean different elements, whatever the values of the
 * other iterators, and what is read, are? (false: not known) */
bool digits_say_iter(Program *program, const Kernel *kernel, const ElementAccess *access,
		     IterVar iter);
/* Is what tells the elements of one access apart true of the other, too? An iterator of which
 * both have a term stands for itself. */
bool digits_are_alike(Program *program, const Kernel *kernel, const ElementAccess *a,
		      const ElementAccess *b);

#endif
