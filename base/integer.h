/* Division of integers as in mathematics. */
#ifndef TSR_BASE_INTEGER_H
#define TSR_BASE_INTEGER_H

#include <stdint.h>

/* The greatest number that divides both, never negative; of 0 and 0 it is 0. Requires that neither is
 * INT64_MIN. */
static inline int64_t greatest_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

/* a / b toward minus infinity. Requires: b is not 0, and the quotient fits. */
static inline int64_t divide_down(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* ... toward plus infinity. */
static inline int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

/* The greatest power of two that is not above n. Requires: n is above 0. */
static inline int64_t power_below(int64_t n)
{
	int64_t power = 1;
	while (2 * power <= n)
		power *= 2;
	return power;
}

#endif
