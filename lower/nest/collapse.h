/* Are two neighbouring loops one: does every access step from the end of an inner round to the start of the next?
 * (collapse.c) */
#ifndef TSR_LOWER_COLLAPSE_H
#define TSR_LOWER_COLLAPSE_H

#include "lower/gen/gen.h"

/* What is known of two loops, of which the outer one is right in front of the inner one. */
typedef struct LoopPair {
	Program *program;
	IterVar outer, inner;
	Size extent;   /* of the inner one */
	bool separate; /* something seen does not step so */
} LoopPair;

/* Looks at an index; at those of all that a value reads; at those of values that others share. */
void loop_pair_see_index(LoopPair *pair, const Ix *ix);
void loop_pair_see_value(LoopPair *pair, const Value *value);
void loop_pair_see_shared(LoopPair *pair, const SharedLocals *shared);

#endif
