/* Dims are searched in a fixed order, small and unlike values first, so that wrong strides show. */
#include "codegen/verify_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threefry.h"
#include "codegen/interp.h"

enum { TRIES_MAX = 50000, ELEMENTS_MAX = 1 << 22 };

static const int64_t small[] = {3,  2,	5,  4,	6,  8,	7,  1,	9,  12,
				10, 16, 11, 13, 14, 15, 24, 28, 32, 64};
enum { NSMALL = sizeof small / sizeof *small };

/* Do the dims hold what the entry checks? An index is checked while the routine runs. */
static bool dims_fit(const VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	for (uint32_t i = 0; i < r->nguards; i++)
		if (!interp_guard_holds(call->program, r->guards[i], call->dims))
			return false;
	int64_t bytes;
	Size memory = verify_call_is_init(call) ? call->program->state : r->workspace;
	return size_eval(call->program->sizes, memory, call->dims, &bytes) && bytes >= 0;
}

/* A mixed-radix count: the combination number `at` of small values, largest digits last. */
static void choose_dims(VerifyCall *call, uint64_t at)
{
	const Sizes *sizes = call->program->sizes;
	for (uint32_t i = 0; i < call->routine->ndims; i++) {
		DimId d = call->routine->dims[i];
		int64_t least = sizes_dim(sizes, d)->at_least, value = small[(at + i) % NSMALL];
		call->dims[d] = value < least ? least + value - 1 : value;
		at /= NSMALL;
	}
}

static bool find_dims(VerifyCall *call)
{
	uint64_t combinations = 1;
	for (uint32_t i = 0; i < call->routine->ndims && combinations < TRIES_MAX; i++)
		combinations *= NSMALL;
	for (uint64_t at = 0; at < combinations && at < TRIES_MAX; at++) {
		choose_dims(call, at);
		if (dims_fit(call))
			return true;
	}
	return false;
}

/* Filled with a pattern, so that what is read before it is written gives no zeros by luck; a
 * multiple of the alignment long, as aligned_alloc asks for. */
static bool block_new(VerifyBlock *block, Dtype dtype, int64_t n)
{
	if (n < 0 || n > ELEMENTS_MAX)
		return false;
	block->dtype = dtype;
	block->n = n;
	block->size = ((size_t)n * dtype_bytes(dtype) + 63) / 64 * 64;
	block->bytes = aligned_alloc(64, block->size ? block->size : 64);
	if (block->bytes)
		memset(block->bytes, 0xa5, block->size);
	return block->bytes != NULL;
}

static bool array_new(const VerifyCall *call, VerifyBlock *block, BufferId id)
{
	const Buffer *buffer = &call->program->buffers.at[id];
	int64_t n;
	return size_eval(call->program->sizes, buffer->elements, call->dims, &n) &&
	       block_new(block, buffer->dtype, n);
}

static bool bytes_new(const VerifyCall *call, VerifyBlock *block, Size size)
{
	int64_t n;
	return size_eval(call->program->sizes, size, call->dims, &n) &&
	       n <= 8 * (int64_t)ELEMENTS_MAX && block_new(block, DTYPE_F64, (n + 7) / 8);
}

static bool blocks_new(VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	bool good = bytes_new(call, &call->state, call->program->state) &&
		    bytes_new(call, &call->workspace, r->workspace);
	for (uint32_t i = 0; good && i < r->ninputs; i++)
		good = array_new(call, &call->inputs[i], r->inputs[i].buffer);
	for (uint32_t i = 0; good && i < r->noutputs; i++)
		good = array_new(call, &call->outputs[i], r->outputs[i].buffer);
	return good;
}

bool verify_call_is_init(const VerifyCall *call) { return call->index > call->program->routines.n; }

/* As the header declares it: the kernels that compute parameters, where there are any, have fewer
 * arguments. */
static void describe_init(VerifyCall *call)
{
	call->seed = (ScalarParam){"seed", DTYPE_I64};
	call->init = call->program->init;
	call->init.name = "init";
	call->init.dims = call->program->state_dims;
	call->init.ndims = call->program->nstate_dims;
	call->init.scalars = &call->seed;
	call->init.nscalars = 1;
	call->routine = &call->init;
}

static VerifyCall *call_alloc(const Program *program, uint32_t index)
{
	VerifyCall *call = calloc(1, sizeof *call);
	if (!call)
		return NULL;
	call->program = program;
	call->index = index;
	if (verify_call_is_init(call))
		describe_init(call);
	else
		call->routine = program_routine(program, index);
	const ProgramRoutine *r = call->routine;
	call->dims = calloc(sizes_ndims(program->sizes) + 1, sizeof *call->dims);
	call->scalars = calloc(r->nscalars + 1, sizeof *call->scalars);
	call->inputs = calloc(r->ninputs + 1, sizeof *call->inputs);
	call->outputs = calloc(r->noutputs + 1, sizeof *call->outputs);
	if (call->dims && call->scalars && call->inputs && call->outputs)
		return call;
	verify_call_free(call);
	return NULL;
}

void verify_call_free(VerifyCall *call)
{
	if (!call)
		return;
	for (uint32_t i = 0; call->inputs && i < call->routine->ninputs; i++)
		free(call->inputs[i].bytes);
	for (uint32_t i = 0; call->outputs && i < call->routine->noutputs; i++)
		free(call->outputs[i].bytes);
	free(call->state.bytes);
	free(call->workspace.bytes);
	free(call->inputs);
	free(call->outputs);
	free(call->dims);
	free(call->scalars);
	free(call);
}

/* Number `at` of stream `stream`, in [0, 1). */
static float draw(uint64_t seed, uint64_t stream, int64_t at)
{
	return threefry_uniform(threefry_word(seed, stream, (uint64_t)at));
}

/* Floats of both signs, small, so that long sums stay finite; integers that are often equal and, as
 * indices, often inside. */
static Scalar draw_scalar(Dtype dtype, float u, int64_t limit)
{
	if (dtype_is_float(dtype))
		return scalar_of(dtype, 2 * (double)u - 1);
	if (limit == VERIFY_INTEGERS && dtype_wide(dtype) != dtype) /* all of i8 or u8 */
		return (Scalar){.i = (int64_t)(u * 256) + op_neutral(OP_MAX, dtype).i};
	if (dtype == DTYPE_I64) /* a seed: both of its words */
		return (Scalar){.i = (int64_t)(u * 0x1p24f) * -0x123456789};
	return (Scalar){.i = (int64_t)(u * (float)limit)};
}

void verify_call_fill(VerifyCall *call, uint64_t seed, int64_t limit)
{
	const ProgramRoutine *r = call->routine;
	for (uint32_t i = 0; i < r->nscalars; i++)
		call->scalars[i] = draw_scalar(r->scalars[i].dtype, draw(seed, 0, i), limit);
	for (uint32_t i = 0; i < r->ninputs; i++)
		for (int64_t at = 0; at < call->inputs[i].n; at++)
			scalar_write(
				call->inputs[i].dtype, call->inputs[i].bytes, at,
				draw_scalar(call->inputs[i].dtype, draw(seed, i + 1, at), limit));
}

/* Parameters of integers, which begin with one number, are drawn too. */
static void fill_integers(VerifyCall *call, uint64_t seed)
{
	const Program *program = call->program;
	for (size_t i = 0; i < program->params.n; i++) {
		const ProgramParam *param = &program->params.at[i];
		int64_t n, offset;
		if (dtype_is_float(param->type.dtype) ||
		    !size_eval(program->sizes, program->buffers.at[param->buffer].elements,
			       call->dims, &n) ||
		    !size_eval(program->sizes, param->offset, call->dims, &offset))
			continue;
		for (int64_t at = 0; at < n; at++)
			scalar_write(param->type.dtype, (char *)call->state.bytes + offset, at,
				     draw_scalar(param->type.dtype, draw(seed, param->key, at),
						 VERIFY_INTEGERS));
	}
	interp_pack(program, call->dims, call->state.bytes);
}

VerifyCall *verify_call_new(const Program *program, uint32_t routine, uint64_t seed,
			    const char **why)
{
	*why = "memory is short";
	VerifyCall *call = call_alloc(program, routine);
	if (!call)
		return NULL;
	for (DimId d = 0; d < sizes_ndims(program->sizes); d++) {
		int64_t least = sizes_dim(program->sizes, d)->at_least;
		call->dims[d] = least > 1 ? least : 1;
	}
	bool found = find_dims(call);
	*why = found ? "its arrays are too large to interpret" : "no small dims satisfy its guards";
	if (!found || !blocks_new(call)) {
		verify_call_free(call);
		return NULL;
	}
	if (!verify_call_is_init(call)) {
		memset(call->state.bytes, 0, call->state.size);
		interp_init(program, call->dims, call->state.bytes, seed);
		fill_integers(call, seed);
	}
	verify_call_fill(call, seed, VERIFY_INTEGERS);
	return call;
}

/* Copies of parameters are made anew by whoever is compared. */
static void clear_copies(VerifyCall *call)
{
	int64_t from;
	if (call->program->pack.nkernels &&
	    size_eval(call->program->sizes, call->program->stamp, call->dims, &from))
		memset((char *)call->state.bytes + from, 0xa5, call->state.size - (size_t)from);
}

VerifyCall *verify_call_copy(const VerifyCall *from)
{
	VerifyCall *call = call_alloc(from->program, from->index);
	if (!call)
		return NULL;
	memcpy(call->dims, from->dims, sizes_ndims(from->program->sizes) * sizeof *call->dims);
	memcpy(call->scalars, from->scalars, from->routine->nscalars * sizeof *call->scalars);
	if (!blocks_new(call)) {
		verify_call_free(call);
		return NULL;
	}
	memcpy(call->state.bytes, from->state.bytes, from->state.size);
	clear_copies(call);
	for (uint32_t i = 0; i < from->routine->ninputs; i++)
		memcpy(call->inputs[i].bytes, from->inputs[i].bytes, from->inputs[i].size);
	return call;
}

const char *verify_call_dims(Arena *arena, const VerifyCall *call)
{
	const char *text = "";
	for (uint32_t i = 0; i < call->routine->ndims; i++) {
		DimId d = call->routine->dims[i];
		text = arena_printf(arena, "%s%s%s = %lld", text, i ? ", " : "",
				    sizes_dim(call->program->sizes, d)->name,
				    (long long)call->dims[d]);
	}
	return text;
}

/* ---- comparison ---- */

static double magnitude(const VerifyBlock *block)
{
	double most = 0;
	for (int64_t i = 0; i < block->n; i++) {
		double x = fabs(scalar_read(block->dtype, block->bytes, i).f);
		if (isfinite(x) && x > most)
			most = x;
	}
	return most;
}

/* 0 for equal numbers and for two NaNs, infinite where only one is finite. */
static double difference(double a, double b, double scale)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return fabs(a - b) / scale;
}

static void compare_block(VerifyDifference *d, const VerifyBlock *a, const VerifyBlock *b,
			  const char *name)
{
	bool real = dtype_is_float(a->dtype);
	double scale = real ? magnitude(a) : 1;
	for (int64_t i = 0; i < a->n; i++) {
		Scalar x = scalar_read(a->dtype, a->bytes, i),
		       y = scalar_read(b->dtype, b->bytes, i);
		if (x.i == y.i || (real && isnan(x.f) && isnan(y.f)))
			continue;
		d->bits = false;
		double by = real ? difference(x.f, y.f, scale > 0 ? scale : 1) : INFINITY;
		if (!d->where || by > d->largest) {
			d->largest = by;
			d->where = name;
		}
	}
	d->values += a->n;
}

/* The parameters that the routine may have changed: compared as what they are. */
static void compare_params(VerifyDifference *d, const VerifyCall *expected, const VerifyCall *got)
{
	const Program *p = expected->program;
	for (size_t i = 0; i < p->params.n; i++) {
		const ProgramParam *param = &p->params.at[i];
		int64_t n, offset;
		if (!size_eval(p->sizes, p->buffers.at[param->buffer].elements, expected->dims,
			       &n) ||
		    !size_eval(p->sizes, param->offset, expected->dims, &offset))
			continue;
		VerifyBlock a = {(char *)expected->state.bytes + offset, 0, param->type.dtype, n};
		VerifyBlock b = {(char *)got->state.bytes + offset, 0, param->type.dtype, n};
		compare_block(d, &a, &b, param->name);
	}
}

VerifyDifference verify_compare(const VerifyCall *expected, const VerifyCall *got)
{
	VerifyDifference d = {.bits = true};
	for (uint32_t i = 0; i < expected->routine->noutputs; i++)
		compare_block(&d, &expected->outputs[i], &got->outputs[i],
			      expected->routine->outputs[i].name);
	compare_params(&d, expected, got);
	return d;
}
