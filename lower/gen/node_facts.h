/* What nodes are, whatever is decided about them: windows of few elements, elements some apart. */
#ifndef TSR_LOWER_NODE_FACTS_H
#define TSR_LOWER_NODE_FACTS_H

#include "lower/gen/lowering.h"

/* What a node costs at most, where one element may be computed several times. */
enum { COST_CHEAP = 2 };
/* fuse_window.c: does the node sum over a window of few elements? Terms of such a sum, of each element of a piece of its
 * projection, that can be written out; 0: it cannot. */
enum { WINDOW_FEW = 32 };
bool fuse_is_small_window(const Lower *lower, NodeId id);
uint32_t fuse_window_terms(const Lower *lower, NodeId id, const Piece *piece);
/* fuse_phases.c: does the node write elements some apart along axes that are as long as all phases together, each of
 * them once? Do two such nodes of one shape so along the same axes? How many phases has an axis of one? Requires: it has
 * phases, and the axis. */
enum { PHASES_MOST = 8 };
bool fuse_has_phases(const Lower *lower, NodeId id);
bool fuse_same_phases(const Lower *lower, NodeId a, NodeId b);
int64_t phases_of_axis(const Proj *proj, uint32_t axis);

#endif
