/* Steps of a loop that write what it carries in place: h =: F via "..." in E. */
#ifndef TSR_FRONTEND_CARRIED_H
#define TSR_FRONTEND_CARRIED_H

#include "frontend/graph.h"

/* The next step from node `from` on that writes what a loop carries before the one that sets it; NODE_NONE: none does. */
NodeId graph_next_write(const Graph *graph, const Carried *carried, NodeId from);
/* Does a step of the loop write the carried tensor in place, or a part of it? */
bool graph_writes_carried(const Graph *graph, NodeId id);

#endif
