/* Small random data for a routine, and the comparison of what it made of them. */
#ifndef TSR_CODEGEN_VERIFY_DATA_H
#define TSR_CODEGEN_VERIFY_DATA_H

#include "codegen/codegen.h"

/* One block of memory, aligned to 64 bytes. */
typedef struct VerifyBlock {
	void *bytes;
	size_t size;
	Dtype dtype;
	int64_t n;
} VerifyBlock;

/* A call: everything that a routine reads and writes. */
typedef struct VerifyCall {
	const Program *program;
	const ProgramRoutine *routine;
	uint32_t index;	     /* of the routine; PREFIX_init is the one behind PREFIX_pack */
	ProgramRoutine init; /* what PREFIX_init takes, whoever sets the parameters */
	ScalarParam seed;    /* ... its only scalar */
	int64_t *dims;	     /* by DimId */
	Scalar *scalars;
	VerifyBlock *inputs, *outputs;
	VerifyBlock state, workspace;
} VerifyCall;

/* Dims that satisfy the guards, found by search; inputs for `seed`, whose integers are below
 * `limit`; with VERIFY_INTEGERS those of i8 and u8 are any. NULL with a reason:
 * no such dims among the small ones, or arrays too large to interpret.
 */
enum { VERIFY_INTEGERS = 4 };
VerifyCall *verify_call_new(const Program *program, uint32_t routine, uint64_t seed,
			    const char **why);
void verify_call_fill(VerifyCall *call, uint64_t seed, int64_t limit);
bool verify_call_is_init(const VerifyCall *call);
/* A call with the same inputs and state, and outputs of its own. */
VerifyCall *verify_call_copy(const VerifyCall *call);
void verify_call_free(VerifyCall *call);
/* "n = 3, m = 2" */
const char *verify_call_dims(Arena *arena, const VerifyCall *call);

typedef struct VerifyDifference {
	int64_t values;	   /* compared */
	double largest;	   /* difference relative to the largest magnitude of its array */
	bool bits;	   /* all bits equal, NaNs aside */
	const char *where; /* the array with the largest difference */
} VerifyDifference;
VerifyDifference verify_compare(const VerifyCall *expected, const VerifyCall *got);

#endif
