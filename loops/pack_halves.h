/* Elements of i4 and u4, two of which are a byte, from a tensor with a byte for each, and to one. */
#ifndef TSR_LOOPS_PACK_HALVES_H
#define TSR_LOOPS_PACK_HALVES_H

#include "loops/build.h"

/* Elements [first, end). With them go those that share a byte with one of them. */
typedef struct HalvesRun {
	const Ix *first, *end;
} HalvesRun;

/* Sets elements of a buffer of i4 or u4, those of the run or, where it is NULL, all of them, to the lower halves
 * of those of another, of a byte each, in loops of two iterators. Requires: first >= 0, end is at most the number of
 * elements. */
void body_pack_halves(Program *program, BufferId from, BufferId to, const HalvesRun *run,
		      const IterVar iters[2], Body *body);
/* The way back for a run, in a loop: to[e] = from[e]. */
void body_unpack_halves(Program *program, BufferId from, BufferId to, const HalvesRun *run,
			IterVar iter, Body *body);

#endif
