/* What two calls left, and what the reference says of one: private to verify/. */
#ifndef TSR_VERIFY_COMPARE_H
#define TSR_VERIFY_COMPARE_H

#include "reference/reference.h"
#include "verify/call.h"

typedef struct VerifyDifference {
	int64_t values;	   /* compared */
	int64_t open;	   /* ... of which the reference allows any */
	int64_t exact;	   /* ... floats of which it allows one number alone */
	double largest;	   /* difference relative to the largest magnitude of its array */
	bool bits;	   /* all bits equal, NaNs aside */
	const char *where; /* the array with the largest difference */
	const char *wrong; /* the first value that the reference does not allow, in words */
} VerifyDifference;

/* The parameters of a program by place in graph->params, which a RefResult has. */
typedef struct VerifyRight {
	const RefResult *result; /* NULL: the reference did not run */
	const uint32_t *params;
	Arena *arena; /* of words */
} VerifyRight;

/* Elements that rounding decides are not compared where the reference ran: it knows how far they
 * may be. */
VerifyDifference verify_compare(const VerifyCall *expected, const VerifyCall *got,
				const VerifyRight *right);
/* The reference must have run. */
VerifyDifference verify_against(const VerifyRight *right, const VerifyCall *got);

#endif
