/* A call of a routine with random arguments: private to verify/. */
#ifndef TSR_VERIFY_CALL_H
#define TSR_VERIFY_CALL_H

#include "base/element.h"
#include "codegen/codegen.h"

/* One block of memory, aligned to 64 bytes. */
typedef struct VerifyBlock {
	void *bytes;
	size_t size;
	Dtype dtype;
	int64_t n;
} VerifyBlock;

/* What is drawn. Dims: SMALL ones that are unlike, 0 or 1 or WIDE and odd ones where the guards let
 * them, MIXED at random; BROKEN ones that a guard refuses: their arrays are never read. */
typedef enum VerifyDims {
	VERIFY_SMALL,
	VERIFY_ZERO,
	VERIFY_ONE,
	VERIFY_WIDE,
	VERIFY_MIXED,
	VERIFY_BROKEN
} VerifyDims;

typedef struct VerifyDraw {
	VerifyDims dims;
	bool coarse; /* floats are multiples of 1/64, of which sums are exact in any order */
	uint64_t seed;
	int64_t most_bytes; /* of all arrays together */
	size_t nguards;	    /* the program's first ones, which BROKEN dims break: later ones are
				* limits of its code, such as that of --max-workspace */
} VerifyDraw;

/* Everything that a routine reads and writes. */
typedef struct VerifyCall {
	const Program *program;
	const ProgramRoutine *routine;
	VerifyDraw draw;
	uint32_t index;	     /* of the routine; PREFIX_init is the one behind PREFIX_pack */
	ProgramRoutine init; /* what PREFIX_init takes, whoever sets the parameters */
	ScalarParam seed;    /* ... its only scalar */
	int64_t *dims;	     /* by DimId */
	Scalar *scalars;
	VerifyBlock *inputs, *outputs;
	VerifyBlock state, workspace;
} VerifyCall;

/* A call with dims alone. NULL with a reason: its arrays would be too large, or no dims satisfy the
 * guards (none, where these were not SMALL). */
VerifyCall *verify_call_new(const Program *program, uint32_t routine, const VerifyDraw *draw,
			    const char **why);
/* Makes its arrays and draws the parameters; false: there is no memory. */
bool verify_call_set_up(VerifyCall *call);
/* Draws scalars and inputs, with integers below `limit`; with VERIFY_INTEGERS those of i8 and u8 are
 * any. */
enum { VERIFY_INTEGERS = 4 };
void verify_call_fill(VerifyCall *call, int64_t limit);
/* Does it call the initialisers, and no routine? */
bool verify_call_is_init(const VerifyCall *call);
/* A call with the same inputs and state, and outputs of its own. */
VerifyCall *verify_call_copy(const VerifyCall *call);
/* NULL will do. */
void verify_call_free(VerifyCall *call);
/* "n = 3, m = 2" */
const char *verify_call_dims(Arena *arena, const VerifyCall *call);
/* The elements of a parameter in the state; without bytes: it has no size under these dims.
 * Requires: a parameter of the program. */
VerifyBlock verify_call_param(const VerifyCall *call, size_t param);

/* dims.c: dims that hold what the routine's entry checks, found by search. false: none are. */
bool verify_dims_find(VerifyCall *call);

#endif
