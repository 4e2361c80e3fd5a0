/* Where a mask makes what a loop computes one value all along it, found by going through what computes it:
 *
 *   s = where(key <= row, scores, -inf)      -inf           where key > row
 *   e = exp(s - top)                         exp(-inf - top)
 *   p = e * share                            exp(-inf - top) * share
 *
 * Whatever the scores are: nothing that moves along the loop is in it.
 */
#ifndef TSR_LOWER_GEN_MASKED_H
#define TSR_LOWER_GEN_MASKED_H

#include "lower/gen/zeros.h"

/* Elements where one of these comparisons fails are `value`. */
typedef struct Masked {
	Zeros at[ZEROS_MOST];
	uint32_t n; /* 0: there are none */
	const Value *value;
} Masked;

/* Of what a piece of a node makes of its operands; `along` is an iterator of `by_iter`. The value reads what the node's kernel
 * may read, and has no locals. */
Masked masked_find(Gen *gen, NodeId node, const Piece *piece, const Ix *const *by_iter,
		   IterVar along);

#endif
