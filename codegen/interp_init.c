/* The initialisers of parameters: a constant, or uniform in +-1/sqrt(fan-in) from Threefry-4x32-20,
 * the stream of each parameter keyed by the seed and its own name (docs/language.md, section 5); or
 * a kernel of the program's.
 */
#include <math.h>
#include <string.h>

#include "base/size_eval.h"
#include "base/threefry.h"
#include "codegen/interp.h"
#include "loops/build.h"

static int64_t size_value(const Program *program, Size size, const int64_t *dims)
{
	int64_t value;
	if (!size_eval(program->sizes, size, dims, &value))
		return -1;
	return value;
}

/* In the parameter's own precision: uniform in [0, 1), scaled to [-bound, bound). */
static Scalar uniform_at(const ProgramParam *param, uint64_t seed, int64_t at, double bound)
{
	float u = threefry_uniform(threefry_word(seed, param->key, (uint64_t)at));
	if (param->type.dtype == DTYPE_F64)
		return (Scalar){.f = (2 * (double)u - 1) * bound};
	return scalar_of(param->type.dtype, (double)((2 * u - 1) * (float)bound));
}

static int init_param(const Program *program, const ProgramParam *param, const int64_t *dims,
		      void *state, uint64_t seed)
{
	Dtype dtype = param->type.dtype;
	int64_t n = size_value(program, program->buffers.at[param->buffer].elements, dims);
	int64_t offset = size_value(program, param->offset, dims);
	int64_t fan_in =
		param->init == PARAM_UNIFORM ? size_value(program, param->fan_in, dims) : 1;
	if (n < 0 || offset < 0 || fan_in < 0)
		return INTERP_BAD_DIM;
	size_t room;
	if (dtype_is_packed(dtype) && dtype_room(dtype, (size_t)n, &room))
		memset((char *)state + offset, 0, room); /* half a byte may be no element */
	double bound = 1 / sqrt((double)(fan_in > 0 ? fan_in : 1));
	for (int64_t i = 0; i < n; i++) {
		Scalar value = param->init == PARAM_UNIFORM ? uniform_at(param, seed, i, bound)
							    : scalar_of(dtype, param->value);
		scalar_write(dtype, (char *)state + offset, i, value);
	}
	return 0;
}

int interp_pack(const Program *program, const int64_t *dims, void *state)
{
	if (program->pack.nkernels == 0)
		return 0;
	InterpArgs args = {.dims = dims, .state = state};
	int64_t stamp = size_value(program, program->stamp, dims);
	int code = interp_run(program, (uint32_t)program->routines.n, &args);
	if (code || stamp < 0)
		return code ? code : INTERP_BAD_DIM;
	memcpy((char *)state + stamp, &(uint32_t){PACK_STAMP}, sizeof(uint32_t));
	return 0;
}

static int compute_params(const Program *program, const int64_t *dims, void *state, uint64_t seed)
{
	Scalar scalar = {.i = (int64_t)seed};
	InterpArgs args = {.dims = dims, .scalars = &scalar, .state = state};
	if (program->init.nkernels == 0)
		return 0;
	return interp_run(program, (uint32_t)program->routines.n + 1, &args);
}

int interp_init(const Program *program, const int64_t *dims, void *state, uint64_t seed)
{
	int code = 0;
	for (size_t i = 0; i < program->params.n && !code; i++)
		if (program->params.at[i].init != PARAM_COMPUTED)
			code = init_param(program, &program->params.at[i], dims, state, seed);
	if (!code)
		code = compute_params(program, dims, state, seed);
	return code ? code : interp_pack(program, dims, state);
}
