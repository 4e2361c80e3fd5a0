/* Multiplicands of a product that becomes products of two (reassociate_split.c, many.c). */
#ifndef TSR_TENSOR_MULTIPLICAND_H
#define TSR_TENSOR_MULTIPLICAND_H

#include "tensor/reassociate.h"
#include "tensor/split.h"

/* An operand, or a product of some. */
typedef struct Multiplicand {
	NodeId node;   /* a new number */
	Access access; /* by the old iterators */
} Multiplicand;

/* An operand of the product; `node` is that of new numbers.
 * Requires: arg is an operand of the node. */
Multiplicand multiplicand_operand(const Reassociation *s, const Node *node, uint32_t arg);
/* A node that is the product of two, with the letters `between` as its axes: those of the result's batch axes, then
 * those of the result, and of the sum in the order of `sums` or, where that is NULL, of their numbers. */
Multiplicand multiply_two(Rebuild *g, const Reassociation *s, const Node *node,
			  const Multiplicand *a, const Multiplicand *b, Letters between,
			  const Access *sums);
/* The product of two that is all of it. */
void multiply_last(Rebuild *g, const Reassociation *s, const Node *node, const Multiplicand *a,
		   const Multiplicand *b);

#endif
