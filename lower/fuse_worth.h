/* Whether it pays to compute a node where it is read (fuse.c decides). */
#ifndef TSR_LOWER_FUSE_WORTH_H
#define TSR_LOWER_FUSE_WORTH_H

#include "lower/fuse_readers.h"

enum { COST_FREE = 0 };

/* Is it a number, a size, a range: what needs no memory? */
bool fuse_is_leaf(const Node *node);
/* Is each of its elements one expression, so that another kernel may compute it? */
bool fuse_may_inside(const Lower *lower, NodeId id);
/* The operation itself, and those of operands that are likely fused into it (read once). */
uint32_t fuse_cost(const Lower *lower, NodeId id);
/* A truth value or a whole number of indices and numbers alone, in few operations? */
bool fuse_is_of_indices(const Lower *lower, NodeId id);
/* A cheap one that all roots compute once for each of their elements, and no sum does: to compare
 * indices costs less than to load what came of it, and tells which tiles need no sum
 * (tile/masked.c). */
bool fuse_is_index_only(const Lower *lower, NodeId id);
/* Is it better computed by its readers than stored? Requires: fuse_may_inside. */
bool fuse_pays(const Lower *lower, NodeId id, const Reader *reader);

#endif
