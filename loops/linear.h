/* Indices as sums of multiples of iterators, and what they say: how far an index moves with an iterator. */
#ifndef TSR_LOOPS_LINEAR_H
#define TSR_LOOPS_LINEAR_H

#include "loops/loops.h"

/* An index as a sum: coefficient * atom + ... + offset, where an atom is no sum and no product with
 * a size. ix_add and ix_mul keep every index in this form, terms in the order of first mention. */
typedef struct LinearTerm {
	const Ix *atom;
	Size coef;
} LinearTerm;

typedef struct Linear {
	VEC(LinearTerm) terms;
	Size offset;
} Linear;
/* The index as such a sum, in the program's arena; sizes that pass a bound are SIZE_BAD. */
Linear ix_linear(Program *program, const Ix *ix);

/* Has the sum or product a quotient or a remainder in it? */
bool ix_divides(const Ix *ix);

/* How far the index moves when the iterator moves by one, where that is a size; SIZE_BAD: it is
 * not. */
Size ix_stride(Program *program, const Ix *ix, IterVar iter);
/* Does it move by so many? */
bool ix_moves_by(Program *program, const Ix *ix, IterVar iter, int64_t by);
/* Does each load of the value stay or go on by one element with the iterator? Counts those that go on. */
bool value_goes_on(Program *program, const Value *value, IterVar iter, uint32_t *n);
/* The index less what the iterator moves it by; NULL: that is not known. */
const Ix *ix_without(Program *program, const Ix *ix, IterVar iter);
/* Of an index that moves by one with the iterator of lanes: where the first lane is. */
const Ix *ix_of_first_lane(Program *program, const Ix *ix, IterVar lane);
/* Does the index go through a loop and the one around it as through one? */
bool ix_goes_on(Program *program, const Ix *ix, const Stmt *outer, const Stmt *inner);

#endif
