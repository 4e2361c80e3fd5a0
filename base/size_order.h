/* What is known of sizes whatever the values of their dims are: which is greater, which divides which. False: it is
 * not known. */
#ifndef TSR_BASE_SIZE_ORDER_H
#define TSR_BASE_SIZE_ORDER_H

#include "base/size.h"

/* Does b divide a for all values of the dims? */
bool size_divides(const Sizes *sizes, Size b, Size a);
/* Is a >= b for all admissible values (dims >= their at_least >= 0)? */
bool size_ge(const Sizes *sizes, Size a, Size b);
/* Is no coefficient below 0? */
bool size_only_adds(const Sizes *sizes, Size a);
/* A number that a never exceeds. */
bool size_most(Sizes *sizes, Size a, int64_t *most);

/* How a floor(P/m) is got rid of: with what else is a multiple of its coefficient, by a bound of that
 * sum (SHARED); where it takes away, by a floor of the same with a divisor of m that is there too
 * (FINER), or by P/m (MOST); where it adds, by a number (NUMBER) or by (P - m + 1)/m (LEAST). */
typedef enum FloorWay {
	FLOOR_SHARED,
	FLOOR_FINER,
	FLOOR_NUMBER,
	FLOOR_MOST,
	FLOOR_LEAST,
	FLOOR_WAYS
} FloorWay;
/* A size that is at least 0 only where a is, without the floor. */
bool size_without_floor(Sizes *sizes, Size a, Size floor, FloorWay way, Size *less);

#endif
