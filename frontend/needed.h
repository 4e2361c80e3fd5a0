/* Which nodes of a graph others need. */
#ifndef TSR_FRONTEND_NEEDED_H
#define TSR_FRONTEND_NEEDED_H

#include "frontend/graph.h"

/* Both tables are the caller's, as long as the graph has nodes: by node, whether it is needed (what is so from the start is not
 * followed), and room for those that are to be followed. */
typedef struct Needed {
	const Graph *graph;
	bool *has;
	NodeId *open;
	size_t nopen;
} Needed;

/* A node is needed; NODE_NONE: none is. */
void needed_add(Needed *needed, NodeId id);
/* So is all that needed ones need in turn: operands, the tensor that is assigned to, and, of loops, what sets a tensor before
 * and in each step, and what ends them. */
void needed_follow(Needed *needed);

#endif
