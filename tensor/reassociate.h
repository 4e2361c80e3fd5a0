/* Which two of three operands are multiplied first (reassociate.c), for those that rewrite the graph so
 * (reassociate_split.c). */
#ifndef TSR_TENSOR_REASSOCIATE_H
#define TSR_TENSOR_REASSOCIATE_H

#include "sums/sums.h"
#include "tensor/tensor.h"

enum { LETTERS_MOST = 64 };

typedef uint64_t Letters; /* a set of them */

/* An iterator, or a batch axis of the result that has none as there is one of it. */
typedef struct Letter {
	double extent;
	uint32_t axis; /* of the result's batch row; UINT32_MAX: none */
} Letter;

typedef struct Reassociation {
	TensorProgram *program;
	NodeId id;
	const Node *node;
	const Proj *old;
	const Piece *piece;
	Letter letters[LETTERS_MOST]; /* iterators by their number, then axes without one */
	uint32_t nletters;
	Letters has[OPERANDS_MOST], result;
	uint32_t p, q, other; /* operands: the pair's, and the third */
	Letters between;
} Reassociation;

static inline Letters letter_bit(uint32_t letter) { return (Letters)1 << letter; }

/* The iterators that move it. */
Letters access_letters(const Access *access);
/* Fills in what each operand and the result have; false: more than can be. A product of the extents. Of sums of products,
 * and the like: may two operands be multiplied and added up before others are? Requires as below. */
bool reassociation_letters(Reassociation *s);
double reassociation_steps(const Reassociation *s, Letters letters);
bool reassociation_distributes(const Reassociation *s);
/* Of an einsum of three operands: is it cheaper in pairs? Fills in the rest. Requires lower, id,
 * node and old. */
bool reassociation_choose(Reassociation *triple);

#endif
