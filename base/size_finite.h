/* Relations between sizes that leave a dim finitely many values, tried one by one. */
#ifndef TSR_BASE_SIZE_FINITE_H
#define TSR_BASE_SIZE_FINITE_H

#include "base/size_system.h"

typedef struct FiniteWork {
	int64_t left;   /* steps of all questions; below 0 nothing is proved */
	int64_t *zeros; /* by DimId; zeros again after each question */
} FiniteWork;

/* Do goal and facts[n] fail for every value of the one dim that the goal has? True is a proof,
 * false means not known. used[n], unless NULL: the facts that were tried. */
bool size_finite_excludes(Sizes *sizes, const SizeFact *facts, size_t n, SizeFact goal, bool *used,
			  FiniteWork *work);

#endif
