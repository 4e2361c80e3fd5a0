/* What sums in lanes share, private to lanes.c and lanes_parts.c. */
#ifndef TSR_LOWER_LANES_H
#define TSR_LOWER_LANES_H

#include "lower/nest_emit.h"

typedef struct Lanes {
	Nest *nest;
	Op reduce;
	SumOrder order;
	const Loop *along; /* the innermost, reduced loop */
	int64_t nelements; /* of the innermost loop of the result at a time; 1: no loop of elements */
	bool wide;	   /* lanes of vector instructions, one element */
	IterVar lane, element;
	LocalId acc, rest;
	bool has_rest;
} Lanes;

/* The number as an index. */
const Ix *lanes_constant(const Lanes *l, int64_t value);
/* local[element, lane], or without what is not there. */
const Value *lanes_element(const Lanes *l, LocalId local, const Ix *lane);
Block lanes_over(const Lanes *l, int64_t lanes, Block body);
/* element += value, the innermost iterator being `along`. */
Block lanes_add(Lanes *l, const Ix *along, const Value *element);
const Value *lanes_combined(const Lanes *l, const Value *a, const Value *b);
/* Elements lane + at of a local, for `parts` values of `at` from `from` on in steps of n: in pairs,
 * in pairs of pairs. lane NULL: 0 */
const Value *lanes_pairs(const Lanes *l, LocalId local, const Ix *lane, int64_t from, int64_t parts,
			 int64_t n);
/* A local of that name has an element's sum, of which what the result has there is stored. */
void lanes_store(const Lanes *l, const char *name, const Value *sum, Body *body);
/* A local of neutral elements for each element, of so many lanes; 0: of one. */
LocalId lanes_declare(const Lanes *l, Body *body, const char *name, int64_t lanes);

#endif
