/* How a node is read, as far as its users are decided (fuse.c). */
#ifndef TSR_LOWER_FUSE_READERS_H
#define TSR_LOWER_FUSE_READERS_H

#include "lower/gen/node_facts.h"

/* How users read a node: in which kernel, in which frame, how often. */
typedef struct Reader {
	NodeId root; /* NODE_NONE: several */
	Frame frame;
	Size space;
	bool often;	/* evaluated more often than there are elements, by one of several */
	bool only_free; /* needs a buffer, or a node that costs nothing */
	bool never;
} Reader;

/* One of them. */
Reader fuse_reader(const Lower *lower, Use use);
/* All readers of a node as one: their root where it is the same, their frame where it is. */
Reader fuse_readers(const Lower *lower, NodeId id);
/* How often a kernel evaluates the node for one of its elements: for each that reads it there, or once, where these agree
 * on the index. */
uint32_t fuse_evaluations(const Lower *lower, NodeId id, const Reader *reader);

#endif
