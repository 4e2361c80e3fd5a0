/* What a node is at an index, as an expression of what its operands are at theirs: for unscheduled loops
 * (naive/) and scheduled ones alike, which differ in what an operand is, a load or an expression in turn.
 *
 *   expression.c          indices of operands, operations, numbers and sizes
 *   expression_random.c   streams of random numbers
 */
#ifndef TSR_LOWER_EXPRESSION_H
#define TSR_LOWER_EXPRESSION_H

#include "lower/gen/tables.h"

enum { RANDOM_WORDS = 4 };

/* Whoever makes expressions in a kernel. */
typedef struct NodeReader {
	Tables *tables;
	Program *program;
	bool clamps; /* indices that may leave their axis stay inside */
	void *of;
	/* an operand at an index an axis */
	const Value *(*read)(void *of, NodeId node, const Ix *const *axes);
	/* the value of a new local of that name, set to `value` in `locals` */
	const Value *(*hold)(void *of, void *locals, const char *name, const Value *value);
	void *locals;
} NodeReader;

/* What a node was at an index, which is known as `value`. */
typedef struct SharedValue {
	NodeId node;
	const Ix *const *axes;
	const Value *value;
} SharedValue;

typedef VEC(SharedValue) SharedValues;

/* NULL: it is not among them. */
const Value *shared_value(const Tables *t, const SharedValues *shared, NodeId node,
			  const Ix *const *axes);

/* ---- expression.c ---- */

/* One index of what a piece accesses; of one that is read the integer as it is, wherever that lies. */
const Ix *expression_index(const NodeReader *r, NodeId node, const Piece *piece, const Index *index,
			   const Ix *const *by_iter);
/* An index an axis; one that is read as its mode takes it. */
const Ix **expression_indices(const NodeReader *r, NodeId node, const Piece *piece,
			      const Access *access, const Ix *const *by_iter);
/* What the operation makes of its operands at one point of the piece; `by_iter`: by IterId. */
const Value *expression_of_piece(const NodeReader *r, NodeId node, const Piece *piece,
				 const Ix *const *by_iter);
/* The iterators of a plain projection at an index of the result; of one that writes every s-th element those of the
 * element at it or before it. */
const Ix **expression_iters(const NodeReader *r, NodeId node, const Ix *const *axes);
/* The node at an index an axis. Requires: it is a number, a size, a scalar, a range, offsets, a stream, or its
 * projection is plain, or writes every s-th element (fuse_phases.c): then one between is what the reduction begins with. */
const Value *expression_of_node(const NodeReader *r, NodeId node, const Ix *const *axes);
/* The integer that an index is read from, as an index. */
const Ix *expression_as_index(Arena *arena, const Value *value);

/* ---- expression_random.c ---- */

/* The words of a local as numbers in [0, 1). */
void words_uniform(Arena *arena, const Value *words, const Value *numbers[RANDOM_WORDS]);
/* Numbers 4*block to 4*block + 3 of a stream. */
void expression_of_block(const NodeReader *r, NodeId stream, const Ix *block,
			 const Value *numbers[RANDOM_WORDS]);
/* Number `at` of a stream, by a hash of its own. */
const Value *expression_of_stream(const NodeReader *r, NodeId stream, const Ix *at);

#endif
