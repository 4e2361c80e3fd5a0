/* Clusters: blocks of a GPU that run together and reach each other's shared memory (loops.h). */
#ifndef TSR_LOOPS_CLUSTER_H
#define TSR_LOOPS_CLUSTER_H

#include "loops/verify.h"

/* Blocks of each cluster that runs the kernel; 0: there are no clusters. */
int64_t cluster_blocks(const Sizes *sizes, const Kernel *kernel);

/* Where an element of a buffer of a cluster is: whose part it is in, and where there. Requires: Buffer.cluster. */
typedef struct ClusterPlace {
	const Ix *block, *element;
} ClusterPlace;
ClusterPlace cluster_place(Program *program, BufferId buffer, const Ix *ix);
/* Elements of a part. */
int64_t cluster_part(const Program *program, const Buffer *buffer);

/* What breaks what clusters promise. Requires: the grammar has no fault. */
LoopsFault cluster_fault(Program *program, const Kernel *kernel);

#endif
