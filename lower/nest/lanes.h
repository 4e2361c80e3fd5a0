/* Partial sums of elements side by side in lanes, and the tree in which they are added up (lanes.c): of sums element
 * by element, of few elements in parts (lanes_parts.c), of tiles whose lanes run along a sum (tile/dot.c).
 */
#ifndef TSR_LOWER_LANES_H
#define TSR_LOWER_LANES_H

#include "lower/nest/emit.h"

enum { ELEMENT_AXES = 2, HALVES_MOST = 6 };

/* Locals of it have an axis for each loop over elements, and one of lanes, or none of these. */
typedef struct Lanes {
	Nest *nest;
	Op reduce;
	SumOrder order;
	const Loop *along; /* the innermost, reduced loop */
	LoopKind kind;	   /* of loops over lanes */
	bool unrolled;	   /* elements, and few steps that are known, are written out */
	uint32_t naxes;	   /* loops over elements that are computed together */
	int64_t extents[ELEMENT_AXES];
	IterVar iters[ELEMENT_AXES];
	const Ix *at[ELEMENT_AXES]; /* the element at hand */
	IterVar lane;
	const LoopMask *mask; /* of the loop over steps of most lanes; NULL: all of it */
	Block ahead;				/* what a step of whole lanes does besides */
	LocalId acc, rest, halves[HALVES_MOST]; /* of halves: by the logarithm of their lanes */
	bool has_acc, has_rest, has_half[HALVES_MOST];
	Body top, loops; /* what declares these; the steps of the last loop */
} Lanes;

/* An element of a local: at `at` as far as it has such axes, then at the lane. NULL: it has no lanes */
const Value *lanes_element(const Lanes *l, LocalId local, const Ix *lane);
Block lanes_over(const Lanes *l, int64_t lanes, Block body);
/* Loops over the elements. */
Block lanes_over_elements(const Lanes *l, Block body);
/* element += value, the innermost iterator being `along`. */
Block lanes_add(Lanes *l, const Ix *along, const Value *element);
/* Two sums as one; NULL is none. */
const Value *lanes_combined(const Lanes *l, const Value *a, const Value *b);
/* Elements lane + at of a local, for `parts` values of `at` from 0 on in steps of n: in pairs, in pairs of pairs.
 * lane NULL: 0 */
const Value *lanes_pairs(const Lanes *l, LocalId local, const Ix *lane, int64_t parts, int64_t n);
/* A local of that name has an element's sum, of which what the result has there is stored. */
void lanes_store(const Lanes *l, const char *name, const Value *sum, Body *body);
/* A local of neutral elements for each element, of so many lanes; 0: of one. */
LocalId lanes_declare(const Lanes *l, Body *body, const char *name, int64_t lanes);

/* Are there few whole lanes, which are written out inside another sum? A loop's counting would cost as much. */
bool lanes_are_few(const Lanes *l);
/* Makes `top` and `loops`: all steps of the last loop, in partial sums as the order says. */
void lanes_steps(Lanes *l);
/* Are there partial sums in lanes? Those of the element at hand, added up to the fewest lanes. Requires that there are. */
bool lanes_are_partial(const Lanes *l);
LocalId lanes_tree(const Lanes *l, Body *body);
/* ... with the single steps that are left. */
const Value *lanes_with_rest(const Lanes *l, const Value *sum);
/* All of the element's sum. */
const Value *lanes_sum(const Lanes *l, Body *body);

#endif
