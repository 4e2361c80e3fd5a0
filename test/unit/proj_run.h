/* Runs a projection of constant sizes step by step: what it writes, and how often. */
#ifndef TSR_TEST_PROJ_RUN_H
#define TSR_TEST_PROJ_RUN_H

#include "test/unit/small_graph.h"

typedef struct Done {
	int64_t *out;
	uint32_t *writes; /* by element, guarded steps that are skipped not counted */
	int64_t nelements;
	bool outside; /* an index out of bounds that no guard skips */
	bool skipped; /* a guard skipped a read */
} Done;

/* The number in that element of operand `arg`. */
int64_t proj_element(uint32_t arg, int64_t element);
/* Adds the products of the operands' elements to `out`, which the caller has cleared. */
void proj_run(const Small *s, NodeId id, Done *done);
/* Is every element written at most once, and is every one written? */
void done_count(const Done *done, bool *once, bool *all);

#endif
