/* Relations between sizes taken together: can all of them hold, and does one follow from others?
 *
 * Both answers are sound and incomplete: true is a proof, false means not known. */
#ifndef TSR_BASE_SIZE_SYSTEM_H
#define TSR_BASE_SIZE_SYSTEM_H

#include "base/size.h"

/* a = b | a >= b | b divides a; a divisor that is no number only says what it and its own divisors
 * divide */
typedef enum FactKind { FACT_EQ, FACT_GE, FACT_DIVIDES } FactKind;

typedef struct SizeFact {
	FactKind kind;
	Size a, b;
} SizeFact;

typedef struct SizeSystem SizeSystem;

/* All questions to one system share a bound on the work. */
SizeSystem *size_system_new(Sizes *sizes, Arena *arena);
/* Can goal and facts[n] never hold together? Then used[n], unless NULL: the facts of the proof. */
bool size_system_excludes(SizeSystem *system, const SizeFact *facts, size_t n, SizeFact goal,
			  bool *used);
/* Does goal hold wherever facts[n] hold? Whether an exact quotient is one is never taken from the
 * fact that it occurs. */
bool size_system_implies(SizeSystem *system, const SizeFact *facts, size_t n, SizeFact goal);

#endif
