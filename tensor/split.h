/* Nodes that become two: reductions in steps, before anything is decided (split.c). */
#ifndef TSR_TENSOR_SPLIT_H
#define TSR_TENSOR_SPLIT_H

#include "tensor/rebuild.h"

enum { SPLIT_ITERS = 64 }; /* nodes whose projection has more stay as they are */

/* A projection of one piece (tensor/accesses.h). What else it says is the caller's. */
Proj *split_proj(const TensorProgram *program, const Proj *old, const Access *result,
		const Access *const *args, uint32_t nargs);
/* A node like one of new numbers, called PREFIX_name, that is no assignment: its number. */
NodeId split_first(Rebuild *g, const Node *node, const char *prefix, const NodeId *args,
		   uint32_t nargs, Shape shape, Proj *proj);
/* What stands for the old node `id`: the same with other operands. */
void split_last(Rebuild *g, NodeId id, const Node *node, const NodeId *args, uint32_t nargs,
		Proj *proj);

/* reassociate_split.c, two_stage.c: the node, whose own references are new numbers, as two; false: it stays
 * one. */
bool reassociate_add(Rebuild *g, NodeId id, const Node *node);
/* many.c: of more than three operands, as products of two. */
bool many_add(Rebuild *g, NodeId id, const Node *node);
bool two_stage_add(Rebuild *g, NodeId id, Node *node);
/* sorted.c: sorted elements as those that are read at the places that another node has; false: none has them. */
bool sorted_add(Rebuild *g, NodeId id, Node *node);
/* materialize.c: of an elementwise operation, operands that are better written out are; its projection.
 */
Proj *materialize_args(Rebuild *g, NodeId id, Node *node);

#endif
