/* Elements of i4 and u4, two of which are a byte, from a tensor with a byte for each. */
#ifndef TSR_LOOPS_PACK_HALVES_H
#define TSR_LOOPS_PACK_HALVES_H

#include "loops/build.h"

/* Sets all elements of a buffer of i4 or u4 to the lower halves of those of another, of a byte each, in
 * loops of two iterators. */
void body_pack_halves(Program *program, BufferId from, BufferId to, const IterVar iters[2],
		      Body *body);

#endif
