/* Which tensors have the same elements. */
#ifndef TSR_TENSOR_EQUAL_H
#define TSR_TENSOR_EQUAL_H

#include "tensor/tensor.h"

/* By node: the first one that is equal to it, or itself. Both have the same bits whenever both are computed: nothing is equal to an
 * input, a parameter, a stream of random numbers, what a routine assigns to, a gradient that is still to be made, or a tensor with
 * margins of its own. With `derivatives` what counts as a constant equals only what does, and two loops that do the same give equal
 * results. The table is of program->scratch. */
const NodeId *equal_tensors(const TensorProgram *program, bool derivatives);

/* ---- equal_key.c ---- */

/* The words that say what the elements of nodes are. */
typedef struct EqualKey {
	const TensorProgram *program;
	const NodeId *same; /* by node: the first that is equal to it */
	/* Nodes of `loop` stand for themselves by their places in it; 0: none do */
	uint32_t loop;
	const uint32_t *loop_of, *place; /* by node */
	bool derivatives;
	const Size *by_dim; /* what stands for dims in sizes; NULL: they themselves */
	VEC(uint64_t) words;
} EqualKey;

/* A word at the end. */
void equal_key_put(EqualKey *key, uint64_t word);
/* The size, with what stands for dims. */
void equal_key_put_size(EqualKey *key, Size size);
/* The node as an operand; NODE_NONE too. */
void equal_key_put_operand(EqualKey *key, NodeId id);
/* Operation, type, shape, index maps, and the operands. */
void equal_key_put_node(EqualKey *key, NodeId id);
/* Do they have the same words? Equal ones have equal hashes. */
bool equal_keys_same(const EqualKey *a, const EqualKey *b);
uint64_t equal_key_hash(const EqualKey *key);

/* ---- equal_loops.c ---- */

typedef struct EqualLoops EqualLoops;

/* No node is known yet; `same` and `varies` are by node, as far as they are known: `varies` says of what follows from what a routine
 * assigns to, or a loop. */
EqualLoops *equal_loops(const TensorProgram *program, NodeId *same, const bool *varies);
/* Does an operand follow from what a routine assigns to, or from its reader's loop? What a loop has given does, behind it, if what
 * the loop reads does. Requires: all nodes before the reader are known. */
bool equal_loops_varies(const EqualLoops *loops, NodeId reader, NodeId operand);
/* Node `id` is known; `alone`: it equals only itself, whatever else. Behind the last node of a loop that does what an earlier one
 * does its results equal those of that. */
void equal_loops_add(EqualLoops *loops, NodeId id, bool alone);

#endif
