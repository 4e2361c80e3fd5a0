/* Loops along a mask (mask.c), and comparisons of indices along loops of a nest. */
#ifndef TSR_LOWER_MASK_H
#define TSR_LOWER_MASK_H

#include "lower/gen/masked.h"
#include "lower/nest/forms.h"

/* Sets what a mask hides of the last loop in the plan. Requires that the nest is planned, but for that. */
void nest_find_mask(Nest *nest, NestPlan *plan);
/* What is seen of the last loop, with nothing that is stored elsewhere. Requires: each comparison moves along the loop. */
LoopMask *nest_mask(const Nest *nest, const Masked *masked);
/* All of the loop is seen where an i32 is 1, and not 0. */
void nest_mask_unless(const Nest *nest, const Value *whole, LoopMask *seen);

/* ---- comparisons (Zeros) ---- */

/* Does i32 hold the indices at all elements? */
bool nest_zeros_fit(const Nest *nest, const Zeros *zeros);
/* more - less, and 1 less where that is strict: it fails where this is below 0. */
const Ix *nest_zeros_difference(const Nest *nest, const Zeros *zeros);
/* How far that moves with a loop, -1, 0 or 1; false: another way. */
bool nest_zeros_move(const Nest *nest, const Ix *difference, const Loop *loop, int64_t *by);

#endif
