/* Random arguments: memory for them, and what is in it. */
#include "verify/call.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/held.h"
#include "base/room.h"
#include "base/size_eval.h"
#include "base/threefry.h"
#include "codegen/interp.h"
#include "loops/build.h"

/* Filled with a pattern, so that what is read before it is written gives no zeros by luck; a
 * multiple of the alignment long, as aligned_alloc asks for. */
static bool block_new(VerifyBlock *block, Dtype dtype, int64_t n)
{
	block->dtype = dtype;
	block->n = n;
	if (!dtype_room(dtype, (size_t)n, &block->size))
		return false;
	block->size = (block->size + 63) / 64 * 64;
	block->bytes = aligned_alloc(64, block->size ? block->size : 64);
	if (!block->bytes)
		return false;
	held_add(free, block->bytes);
	memset(block->bytes, 0xa5, block->size);
	return true;
}

static void block_free(const VerifyBlock *block)
{
	held_drop(free, block->bytes);
	free(block->bytes);
}

enum { BROKEN_ELEMENTS = 16 }; /* of arrays that have no size */

static bool array_new(const VerifyCall *call, VerifyBlock *block, BufferId id)
{
	const Buffer *buffer = &call->program->buffers.at[id];
	int64_t n;
	if (call->draw.dims == VERIFY_BROKEN)
		return block_new(block, buffer->dtype, BROKEN_ELEMENTS);
	return size_eval(call->program->sizes, buffer->elements, call->dims, &n) && n >= 0 &&
	       block_new(block, buffer->dtype, n);
}

static bool bytes_new(const VerifyCall *call, VerifyBlock *block, Size size)
{
	int64_t n;
	if (call->draw.dims == VERIFY_BROKEN)
		return block_new(block, DTYPE_F64, BROKEN_ELEMENTS);
	return size_eval(call->program->sizes, size, call->dims, &n) && n >= 0 &&
	       block_new(block, DTYPE_F64, (n + 7) / 8);
}

static void count_bytes(const VerifyCall *call, Size size, int64_t *bytes)
{
	int64_t n;
	if (!size_eval(call->program->sizes, size, call->dims, &n) || n < 0 ||
	    __builtin_add_overflow(*bytes, n, bytes))
		*bytes = INT64_MAX;
}

/* Of all that the call has. */
static int64_t bytes_of(const VerifyCall *call)
{
	const ProgramRoutine *r = call->routine;
	int64_t bytes = 0;
	count_bytes(call, call->program->state, &bytes);
	count_bytes(call, r->workspace, &bytes);
	for (uint32_t i = 0; i < r->ninputs + r->noutputs; i++) {
		const TensorArg *arg = i < r->ninputs ? &r->inputs[i] : &r->outputs[i - r->ninputs];
		const Buffer *buffer = &call->program->buffers.at[arg->buffer];
		count_bytes(call,
			    size_room(call->program->sizes, buffer->elements, buffer->dtype),
			    &bytes);
	}
	return bytes;
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
	call->seed = (ScalarParam){"seed", DTYPE_I64, DIM_NONE};
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
	VerifyCall *call = held_alloc(1, sizeof *call);
	if (!call)
		return NULL;
	call->program = program;
	call->index = index;
	if (verify_call_is_init(call))
		describe_init(call);
	else
		call->routine = program_routine(program, index);
	const ProgramRoutine *r = call->routine;
	call->dims = held_alloc(sizes_ndims(program->sizes) + 1, sizeof *call->dims);
	call->scalars = held_alloc(r->nscalars + 1, sizeof *call->scalars);
	call->inputs = held_alloc(r->ninputs + 1, sizeof *call->inputs);
	call->outputs = held_alloc(r->noutputs + 1, sizeof *call->outputs);
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
		block_free(&call->inputs[i]);
	for (uint32_t i = 0; call->outputs && i < call->routine->noutputs; i++)
		block_free(&call->outputs[i]);
	block_free(&call->state);
	block_free(&call->workspace);
	held_free(call->inputs);
	held_free(call->outputs);
	held_free(call->dims);
	held_free(call->scalars);
	held_free(call);
}

/* Number `at` of stream `stream`, in [0, 1). */
static float draw(uint64_t seed, uint64_t stream, int64_t at)
{
	const uint64_t key[] = {stream, (uint64_t)at};
	return threefry_uniform((uint32_t)XXH64(key, sizeof key, seed));
}

/* Floats of both signs, small, so that long sums stay finite; integers that are often equal and, as
 * indices, often inside. */
static Scalar draw_scalar(const VerifyDraw *how, Dtype dtype, float u, int64_t limit)
{
	if (dtype_is_float(dtype) && how->coarse)
		return (Scalar){.f = ((int)(u * 128) - 64) / 64.0};
	if (dtype_is_float(dtype))
		return scalar_of(dtype, 2 * (double)u - 1);
	if (dtype == DTYPE_BOOL)
		return (Scalar){.i = u < 0.5f};
	int64_t least = op_neutral(OP_MAX, dtype).i, most = op_neutral(OP_MIN, dtype).i;
	if (limit == VERIFY_INTEGERS && dtype_wide(dtype) != dtype) /* all of a small type */
		return (Scalar){.i = (int64_t)(u * (float)(most - least + 1)) + least};
	limit = dtype_is_packed(dtype) && limit > most ? most + 1 : limit;
	if (dtype == DTYPE_I64) /* a seed: both of its words */
		return (Scalar){.i = (int64_t)(u * 0x1p24f) * -0x123456789};
	return (Scalar){.i = (int64_t)(u * (float)limit)};
}

void verify_call_fill(VerifyCall *call, int64_t limit)
{
	const ProgramRoutine *r = call->routine;
	const VerifyDraw *how = &call->draw;
	for (uint32_t i = 0; i < r->nscalars; i++)
		call->scalars[i] = r->scalars[i].dim == DIM_NONE
					   ? draw_scalar(how, r->scalars[i].dtype,
							 draw(how->seed, 0, i), limit)
					   : (Scalar){.i = call->dims[r->scalars[i].dim]};
	for (uint32_t i = 0; i < r->ninputs; i++) {
		const VerifyBlock *input = &call->inputs[i];
		for (int64_t at = 0; at < input->n; at++)
			scalar_write(input->dtype, input->bytes, at,
				     draw_scalar(how, input->dtype, draw(how->seed, i + 1, at),
						 limit));
	}
}

/* An element of a parameter: near the number that it begins with, or near 0. */
static Scalar draw_param(const VerifyCall *call, const ProgramParam *param, int64_t at)
{
	Dtype dtype = param->type.dtype;
	double first = param->init == PARAM_CONSTANT ? param->value : 0;
	Scalar value = draw_scalar(&call->draw, dtype, draw(call->draw.seed, param->key, at),
				   VERIFY_INTEGERS);
	return dtype_is_float(dtype) ? scalar_of(dtype, first + value.f / 8) : value;
}

/* Parameters that begin with one number, which biases and integers do, are drawn too; coarse ones
 * all. */
static void fill_params(VerifyCall *call)
{
	const Program *program = call->program;
	for (size_t i = 0; i < program->params.n; i++) {
		const ProgramParam *param = &program->params.at[i];
		VerifyBlock block = verify_call_param(call, i);
		bool drawn = param->init == PARAM_CONSTANT || call->draw.coarse;
		for (int64_t at = 0; block.bytes && drawn && at < block.n; at++)
			scalar_write(block.dtype, block.bytes, at, draw_param(call, param, at));
	}
	interp_pack(program, call->dims, call->state.bytes);
}

VerifyCall *verify_call_new(const Program *program, uint32_t routine, const VerifyDraw *how,
			    const char **why)
{
	*why = "memory is short";
	VerifyCall *call = call_alloc(program, routine);
	if (!call)
		return NULL;
	call->draw = *how;
	for (DimId d = 0; d < sizes_ndims(program->sizes); d++) {
		int64_t least = sizes_dim(program->sizes, d)->at_least;
		call->dims[d] = least > 1 ? least : 1;
	}
	bool found = verify_dims_find(call);
	if (found && (how->dims == VERIFY_BROKEN || bytes_of(call) <= how->most_bytes))
		return call;
	*why = found			   ? "its arrays are too large"
	       : how->dims == VERIFY_SMALL ? "no small dims satisfy its guards"
					   : NULL;
	verify_call_free(call);
	return NULL;
}

bool verify_call_set_up(VerifyCall *call)
{
	if (!blocks_new(call))
		return false;
	if (verify_call_is_init(call) || call->draw.dims == VERIFY_BROKEN)
		return true;
	memset(call->state.bytes, 0, call->state.size);
	interp_init(call->program, call->dims, call->state.bytes, call->draw.seed);
	fill_params(call);
	return true;
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
	call->draw = from->draw;
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

static const char *scalars_text(Arena *arena, const VerifyCall *call, const char *text)
{
	for (uint32_t i = 0; i < call->routine->nscalars; i++) {
		const ScalarParam *scalar = &call->routine->scalars[i];
		if (scalar->dim != DIM_NONE)
			text = arena_printf(arena, "%s%s%s = %lld", text, *text ? ", " : "",
					    scalar->name, (long long)call->dims[scalar->dim]);
	}
	return text;
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
	return scalars_text(arena, call, text);
}

VerifyBlock verify_call_param(const VerifyCall *call, size_t i)
{
	const Program *program = call->program;
	const ProgramParam *param = &program->params.at[i];
	VerifyBlock block = {.dtype = param->type.dtype};
	int64_t offset;
	if (call->state.bytes && call->draw.dims != VERIFY_BROKEN &&
	    size_eval(program->sizes, program->buffers.at[param->buffer].elements, call->dims,
		      &block.n) &&
	    size_eval(program->sizes, param->offset, call->dims, &offset))
		block.bytes = (char *)call->state.bytes + offset;
	return block;
}
