/* Through which operands of which operations a gradient goes. */
#ifndef TSR_FRONTEND_DIFFERENTIABLE_H
#define TSR_FRONTEND_DIFFERENTIABLE_H

#include "frontend/graph.h"

/* Has the derivative of a node's elements with respect to those of operand `arg` other values than 0? Not where
 * either is no float, where the operand is a place or a condition, or where a step function or `stop` makes
 * it one of 0. Requires: arg is an operand of the node. */
bool node_passes_gradient(const Graph *graph, NodeId id, uint32_t arg);
/* Of a gradient or a tangent: the direction; NODE_NONE: what it is taken of is one number. */
NodeId node_direction(const Node *node);
/* Are both made in one walk: gradients of one tensor in one direction, or tangents of it where one tensor moves along one? */
bool gradients_go_together(const Node *a, const Node *b);
/* How many results a written rule has: its first operands. Other nodes: 0. */
uint32_t graph_rule_results(const Graph *graph, const Node *node);
/* Which gradient is not made of the node, "through ..."; NULL: it has one. A step that writes
 * a tensor which a gradient goes through is such, whatever it writes. */
const char *node_lacks_gradient(const Graph *graph, NodeId id);
/* The nodes up to `last` through which the gradient of `y` goes to one of some others, by number: *reached has
 * those that y depends on, *path those of them that depend on some of `to`, which y itself does where it is one. Both
 * belong to the arena. */
void gradient_paths(const Graph *graph, Arena *arena, NodeId y, const NodeId *to, size_t nto,
		    bool **reached, bool **path);

/* The tensor of a routine's own that the node, a step, writes; NODE_NONE: it writes none. */
NodeId node_sets_own(const Graph *graph, NodeId id);

#endif
