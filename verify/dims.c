/* Dims for a call: combinations of values from a list are tried in a fixed order, the first values
 * first and those of different dims unlike, so that wrong strides show. */
#include "base/size_eval.h"
#include "base/threefry.h"
#include "codegen/interp.h"
#include "verify/call.h"

enum { TRIES_MAX = 50000, NVALUES = 20 };

static const int64_t lists[][NVALUES] = {
	[VERIFY_SMALL] = {3, 2, 5, 4, 6, 8, 7, 1, 9, 12, 10, 16, 11, 13, 14, 15, 24, 28, 32, 64},
	[VERIFY_ZERO] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 32, 64},
	[VERIFY_ONE] = {1, 2, 1, 3, 4, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 64},
	[VERIFY_WIDE] = {19, 33, 17, 23, 37, 16, 35, 18, 20, 24, 32, 21, 40, 67, 48, 64, 34, 36, 5, 3},
	[VERIFY_MIXED] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 19, 31, 32, 33, 37, 65},
};

/* Do the dims satisfy what the entry checks, or not where they are to be refused? An index is
 * checked while the routine runs. */
static bool dims_fit(const VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	for (uint32_t i = 0; i < r->nguards; i++)
		if (!program_guard_holds(call->program, r->guards[i], call->dims))
			return call->draw.dims == VERIFY_BROKEN &&
			       r->guards[i] < call->draw.nguards;
	if (call->draw.dims == VERIFY_BROKEN)
		return false;
	int64_t bytes;
	Size memory = verify_call_is_init(call) ? call->program->state : r->workspace;
	return size_eval(call->program->sizes, memory, call->dims, &bytes) && bytes >= 0;
}

static void set_dim(VerifyCall *call, DimId d, int64_t value)
{
	int64_t least = sizes_dim(call->program->sizes, d)->at_least;
	call->dims[d] = value < least ? least + value : value;
}

/* Those that the caller passes, then scalars that are sizes. */
static uint32_t ndims_of(const VerifyCall *call)
{
	uint32_t n = call->routine->ndims;
	for (uint32_t i = 0; i < call->routine->nscalars; i++)
		n += call->routine->scalars[i].dim != DIM_NONE;
	return n;
}

static DimId dim_of(const VerifyCall *call, uint32_t at)
{
	const ProgramRoutine *r = call->routine;
	if (at < r->ndims)
		return r->dims[at];
	at -= r->ndims;
	uint32_t i = 0;
	while (r->scalars[i].dim == DIM_NONE || at-- > 0) /* rises: i; there are ndims_of */
		i++;
	return r->scalars[i].dim;
}

/* A mixed-radix count: the combination number `at`, largest digits last. */
static void choose(VerifyCall *call, uint64_t at)
{
	for (uint32_t i = 0, n = ndims_of(call); i < n; i++) {
		set_dim(call, dim_of(call, i), lists[call->draw.dims][(at + i) % NVALUES]);
		at /= NVALUES;
	}
}

static void draw(VerifyCall *call, uint64_t at)
{
	for (uint32_t i = 0, n = ndims_of(call); i < n; i++) {
		uint32_t word = threefry_word(call->draw.seed, i + 1, at);
		set_dim(call, dim_of(call, i), lists[VERIFY_MIXED][word % NVALUES]);
	}
}

bool verify_dims_find(VerifyCall *call)
{
	uint64_t combinations = 1;
	for (uint32_t i = 0; i < ndims_of(call) && combinations < TRIES_MAX; i++)
		combinations *= NVALUES;
	for (uint64_t at = 0; at < combinations && at < TRIES_MAX; at++) {
		if (call->draw.dims >= VERIFY_MIXED)
			draw(call, at);
		else
			choose(call, at);
		if (dims_fit(call))
			return true;
	}
	return false;
}
