/* A tensor program in which nodes stand between those of another: all get new numbers. */
#ifndef TSR_TENSOR_REBUILD_H
#define TSR_TENSOR_REBUILD_H

#include "tensor/tensor.h"

typedef struct Rebuild {
	TensorProgram *program; /* the old one, until rebuild_end */
	Graph *graph;		/* the new ones */
	Inference *inference;
	size_t room; /* nodes for which the tables of `inference` have room */
	NodeId *now; /* by old number: the new one */
	bool *initial; /* by old number: it is of an initialiser that is elementwise, and stays as it is */
} Rebuild;

/* A node without operands at a place of the program, which assigns to nothing. */
Node rebuild_plain(NodeKind kind, Op op, Dtype dtype, Span span);
/* Nothing is in the new program yet but the loops and what they carry, in old numbers: more may be added behind. */
Rebuild rebuild_start(TensorProgram *program);
/* A node at the end, whose references are new numbers: its number. */
NodeId rebuild_add(Rebuild *g, Node node, Shape shape, Proj *proj, Margins *margins);
/* The same, among those that the pass has made. */
NodeId rebuild_make(Rebuild *g, Node node, Shape shape, Proj *proj);
/* The new number of an old node, or NODE_NONE of that. */
NodeId rebuild_now(const Rebuild *g, NodeId old);
/* A copy of the old node with new numbers in it. */
Node rebuild_renumbered(const Rebuild *g, NodeId old);
/* What stands for the old node: `node`, with its shape and margins. */
void rebuild_same(Rebuild *g, NodeId old, const Node *node, Proj *proj);
/* The gradients that were made so far, in new numbers. */
void rebuild_gradients(const Rebuild *g, const Graph *old);
/* Routines, loops and parameters with new numbers; the program is the new one from here on. What lowering does
 * not read stays as it is: other lists, a parameter's `initial`, letters.
 * Requires: each old node has a new number. */
void rebuild_end(Rebuild *g);

#endif
