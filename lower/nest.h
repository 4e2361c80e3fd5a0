/* A loop nest under construction, private to nest.c and collapse.c. */
#ifndef TSR_LOWER_NEST_H
#define TSR_LOWER_NEST_H

#include "lower/lowering.h"

typedef struct Guarded {
	const Index *index;
	Size size;
} Guarded;

typedef struct Nest {
	Gen *gen;
	NodeId node, root;
	StoreTarget target;
	const Proj *proj;
	const Piece *piece;
	Loop *loops; /* outermost first */
	uint32_t nloops;
	uint32_t nresult; /* the first ones, of the result */
	const Ix **by_iter;
	VEC(Guarded) guards;
	const Ix **cell; /* the result's index, an axis each */
	const Ix *at;
	Body inner;
	const Value *value;
	Body epilogue; /* only looked at: what the root computes from the finished sum */
	const Value *finished;
} Nest;

/* Merges two neighbouring loops that every access walks through as one; false: there are none. The nest's
 * loops change, and its values are to be built again. */
bool nest_collapse(Nest *nest);

#endif
