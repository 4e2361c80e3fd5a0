/* Nodes that become two: reductions in steps, before anything is decided (grow.c). */
#ifndef TSR_LOWER_GROW_H
#define TSR_LOWER_GROW_H

#include "lower/lowering.h"

enum { GROW_ITERS = 64 }; /* at most, in a projection */

typedef struct Growing {
	Lower *lower;
	Graph *graph;
	Inference *inference;
	NodeId *now; /* by old number: the new one */
	bool *initial; /* by old number: of an initialiser, which stays as it is */
} Growing;

/* A projection of one piece: iterators of `old`, of at most GROW_ITERS, as the accesses mention
 * them; those that the result does not have are reduced. What else it says is the caller's. */
Proj *grow_proj(const Lower *lower, const Proj *old, const Access *result,
		const Access *const *args, uint32_t nargs);
/* A node like one of new numbers, called PREFIX_name, that is no assignment: its number. */
NodeId grow_first(Growing *g, const Node *node, const char *prefix, const NodeId *args,
		  uint32_t nargs, Shape shape, Proj *proj);
/* What stands for the old node `id`: the same with other operands. */
void grow_last(Growing *g, NodeId id, const Node *node, const NodeId *args, uint32_t nargs,
	       Proj *proj);

/* triple_split.c, steps.c: the node, whose own references are new numbers, as two; false: it stays
 * one. */
bool triple_add(Growing *g, NodeId id, const Node *node);
bool steps_add(Growing *g, NodeId id, const Node *node);
/* expand.c: of an elementwise operation, operands that are better written out are; its projection.
 */
Proj *expand_args(Growing *g, NodeId id, Node *node);

#endif
