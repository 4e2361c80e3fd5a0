/* Clusters: blocks of a GPU that run together and reach each other's shared memory (loops.h). */
#ifndef TSR_LOOPS_CLUSTER_H
#define TSR_LOOPS_CLUSTER_H

#include "loops/loops.h"

/* Blocks of each cluster that runs the kernel; 0: there are no clusters. */
int64_t cluster_blocks(const Sizes *sizes, const Kernel *kernel);

/* Where an element of a buffer of a cluster is: whose part it is in, and where there. Requires: Buffer.cluster. */
typedef struct ClusterPlace {
	const Ix *block, *element;
} ClusterPlace;
ClusterPlace cluster_place(Program *program, BufferId buffer, const Ix *ix);
/* Elements of a part. */
int64_t cluster_part(const Program *program, const Buffer *buffer);

/* The first statement that breaks what clusters promise, and the rule; NULL: there is none. Requires: the grammar has no fault. */
const Stmt *cluster_fault(Program *program, const Kernel *kernel, const char **rule);

#endif
