/* What each kind of operation gives to its operands, private to tensor/. */
#ifndef TSR_TENSOR_ADJOINT_RULES_H
#define TSR_TENSOR_ADJOINT_RULES_H

#include "tensor/adjoint.h"

/* ---- derivative.c ---- */

/* Gives each operand of an elementwise operation its part. */
void adjoint_of_elementwise(const Adjoint *a);
/* What operand `arg` of an operation has of what its result is given, at each point. Requires: an operand that a row of
 * derivative.def has. */
Read adjoint_derivative(const Adjoint *a, const Space *space, Op op, uint32_t arg,
			const Read *operands, Read result, Read given);

/* ---- adjoint_fold.c ---- */

/* Of an einsum or reduction of other than sums of products, and of a scatter. */
void adjoint_of_fold(const Adjoint *a);

/* ---- adjoint_along.c ---- */

/* Of a sort, and of a cumulate. */
void adjoint_of_sorted(const Adjoint *a);
void adjoint_of_cumulated(const Adjoint *a);
/* What is read of operand 0 at places, operands from 1 on. */
NodeId adjoint_gathered(const Adjoint *a, const Space *space, const Read *args, uint32_t nargs,
			IndexMode mode);
/* Operand 0 is given what was read of it at places, added up there. */
void adjoint_scattered(const Adjoint *a, const Access *to, const Read *places, uint32_t nplaces,
		       IndexMode mode);

/* ---- adjoint_rules.c ---- */

/* Gives each operand of the reader its part. */
void adjoint_rule(const Adjoint *a);
/* A node's adjoint is 0 where `where` takes another side (Adjoint.chosen); of a side of `where`, or what such a node is made of,
 * the operands' are. Did it not stand there yet? */
bool adjoint_mark(const Adjoint *a, NodeId id);
bool adjoint_mark_operands(const Adjoint *a, NodeId id);
/* Does a gradient go through operand `arg`, on the way to what one is taken with respect to? Requires: the reader has that
 * operand. */
bool adjoint_counts(const Adjoint *a, uint32_t arg);

#endif
