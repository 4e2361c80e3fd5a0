/* Functions about memory: PREFIX_ROUTINE_workspace and PREFIX_state_size, and PREFIX_init, which
 * runs the initialisers and packs.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_parts.h"
#include "codegen/jit_size.h"
#include "codegen/jit_uniform.h"
#include "codegen/jit_value.h"
#include "loops/build.h"
#include "runtime/tsr.h"

/* ---- sizes ---- */

static JitParam *dim_params(Jit *jit, const DimId *dims, uint32_t ndims, uint32_t room)
{
	JitParam *params = ARENA_ARRAY(jit->arena, JitParam, ndims + room);
	for (uint32_t i = 0; i < ndims; i++)
		params[i] = (JitParam){jit->i64, jit->module->dims[dims[i]]};
	return params;
}

static Rvalue **bind_dims(JitFunction *f, const DimId *dims, uint32_t ndims)
{
	Jit *jit = f->jit;
	Rvalue **values =
		ARENA_ARRAY(jit->arena, Rvalue *, sizes_ndims(jit->module->program->sizes));
	for (uint32_t i = 0; i < ndims; i++)
		values[dims[i]] = jit_param(f, i);
	return values;
}

static void return_number(JitFunction *f, void *arg) { jit_return(f, *(Rvalue **)arg); }

/* Returns `bad` where a dim is. */
static void check_dims(JitFunction *f, const DimId *dims, uint32_t ndims, Rvalue *bad)
{
	for (uint32_t i = 0; i < ndims; i++) {
		JitBlock *after = jit_if(f, jit_dim_is_bad(f, dims[i], jit_param(f, i)));
		jit_return(f, bad);
		jit_end_if(f, after);
	}
}

void jit_size_function(Jit *jit, const char *name, const JitSizeFunction *what)
{
	JitParam *params = dim_params(jit, what->dims, what->ndims, 0);
	JitFunction f =
		jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->size, name, params, what->ndims);
	Rvalue *none = jit_cast(jit, jit_long(jit, jit->i64, -1), jit->size);
	check_dims(&f, what->dims, what->ndims, none);
	JitSizes sizes = {&f, bind_dims(&f, what->dims, what->ndims), return_number, &none};
	Rvalue *bytes = jit_size(&sizes, what->size);
	Rvalue *negative =
		jit_compare(&f, GCC_JIT_COMPARISON_LT, bytes, jit_long(jit, jit->i64, 0));
	JitBlock *after = jit_if(&f, negative);
	jit_return(&f, none);
	jit_end_if(&f, after);
	jit_return(&f, jit_cast(jit, bytes, jit->size));
}

/* ---- numbers ---- */

/* void PREFIX__fill_DTYPE(T *to, int64_t n, T value) */
static gcc_jit_function *fill_function(Jit *jit, Dtype dtype)
{
	Type *type = jit->types[dtype];
	JitParam params[] = {
		{gcc_jit_type_get_pointer(type), "to"}, {jit->i64, "n"}, {type, "value"}};
	const char *name =
		arena_printf(jit->arena, "%s__fill_%s", jit->module->prefix, dtype_name(dtype));
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->void_, name, params, 3);
	Lvalue *i = jit_local(&f, jit->i64, "i");
	JitLoop loop = jit_loop(&f, i, jit_long(jit, jit->i64, 0), jit_param(&f, 1), 1);
	jit_set(&f,
		gcc_jit_context_new_array_access(jit->ctxt, NULL, jit_param(&f, 0),
						 gcc_jit_lvalue_as_rvalue(i)),
		jit_param(&f, 2));
	jit_end_loop(&f, &loop);
	jit_return(&f, NULL);
	return f.function;
}

/* ---- init ---- */

typedef struct Init {
	JitFunction f;
	JitSizes sizes;
	Rvalue *state, *seed;
	gcc_jit_function *uniform[DTYPE_COUNT], *fill[DTYPE_COUNT];
} Init;

/* Whole bytes, then the last element of an odd number. */
static void fill_packed(Init *in, Dtype dtype, unsigned half, Rvalue *to, Rvalue *n)
{
	JitFunction *f = &in->f;
	Jit *jit = f->jit;
	Rvalue *one = jit_long(jit, jit->i64, 1);
	Rvalue *pairs = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, n, one));
	Rvalue *rest = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, n, one));
	Rvalue *last = gcc_jit_lvalue_get_address(
		gcc_jit_context_new_array_access(jit->ctxt, NULL, to, pairs), NULL);
	Rvalue *whole[] = {to, pairs, jit_long(jit, jit->types[dtype], half * 17)},
	       *half_byte[] = {last, rest, jit_long(jit, jit->types[dtype], half)};
	gcc_jit_block_add_eval(f->block, NULL, jit_call(f, in->fill[dtype], whole, 3));
	gcc_jit_block_add_eval(f->block, NULL, jit_call(f, in->fill[dtype], half_byte, 3));
}

static void fill_constant(Init *in, const ProgramParam *param, Rvalue *to, Rvalue *n)
{
	Jit *jit = in->f.jit;
	Dtype dtype = param->type.dtype;
	if (!in->fill[dtype])
		in->fill[dtype] = fill_function(jit, dtype);
	Scalar value = scalar_of(dtype, param->value);
	if (dtype_is_packed(dtype)) {
		fill_packed(in, dtype, (unsigned)value.i & 15, to, n);
		return;
	}
	Rvalue *args[] = {to, n, jit_constant(jit, dtype, value)};
	gcc_jit_block_add_eval(in->f.block, NULL, jit_call(&in->f, in->fill[dtype], args, 3));
}

static void fill_uniform(Init *in, const ProgramParam *param, Rvalue *to, Rvalue *n)
{
	JitFunction *f = &in->f;
	Jit *jit = f->jit;
	Dtype dtype = param->type.dtype;
	Type *real = jit->types[DTYPE_F64];
	Rvalue *fan_in = jit_size(&in->sizes, param->fan_in), *one = jit_long(jit, jit->i64, 1);
	Rvalue *none = jit_compare(f, GCC_JIT_COMPARISON_LT, fan_in, one);
	Rvalue *root = jit_cast(jit, jit_select(f, none, one, fan_in), real);
	root = jit_call(f, jit_builtin(jit, "sqrt"), &root, 1);
	Rvalue *bound = jit_binary(f, GCC_JIT_BINARY_OP_DIVIDE, jit_double(jit, real, 1), root);
	Rvalue *args[] = {to, n, in->seed,
			  jit_cast(jit, jit_long(jit, jit->i64, (int64_t)param->key), jit->u64),
			  jit_cast(jit, jit_keep(f, bound), jit->types[dtype_wide(dtype)])};
	if (!in->uniform[dtype])
		in->uniform[dtype] = jit_uniform_declare(jit, dtype);
	gcc_jit_block_add_eval(f->block, NULL, jit_call(f, in->uniform[dtype], args, 5));
}

static void return_if(JitFunction *f, Rvalue *cond, int code)
{
	JitBlock *after = jit_if(f, cond);
	jit_return(f, jit_long(f->jit, f->jit->int_, code));
	jit_end_if(f, after);
}

static void check_state(Init *in)
{
	JitFunction *f = &in->f;
	Jit *jit = f->jit;
	Rvalue *bytes = jit_size(&in->sizes, jit->module->program->state);
	Rvalue *some = jit_compare(f, GCC_JIT_COMPARISON_GT, bytes, jit_long(jit, jit->i64, 0));
	Rvalue *address = gcc_jit_context_new_bitcast(jit->ctxt, NULL, in->state, jit->u64);
	Rvalue *zero = jit_long(jit, jit->u64, 0);
	Rvalue *null = jit_compare(f, GCC_JIT_COMPARISON_EQ, address, zero);
	Rvalue *low = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, address,
				 jit_long(jit, jit->u64, STATE_ALIGN - 1));
	Rvalue *bad = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, null,
				 jit_compare(f, GCC_JIT_COMPARISON_NE, low, zero));
	return_if(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, some, bad), TSR_BAD_POINTER);
}

/* What a routine of the state, PREFIX_pack or that of the initialisers, returns for it. */
static Rvalue *called(Init *in, gcc_jit_function *function, const ProgramRoutine *routine)
{
	Jit *jit = in->f.jit;
	Rvalue **args = ARENA_ARRAY(jit->arena, Rvalue *, routine->ndims + 3);
	size_t n = 0;
	args[n++] = jit_null(jit, jit->pointer);
	for (uint32_t i = 0; i < routine->ndims; i++)
		args[n++] = in->sizes.dims[routine->dims[i]];
	if (routine->nscalars)
		args[n++] = jit_cast(jit, in->seed, jit->i64);
	args[n++] = in->state;
	return jit_keep(&in->f, jit_call(&in->f, function, args, n));
}

static void compute(Init *in)
{
	Jit *jit = in->f.jit;
	Rvalue *code = called(in, jit->first, &jit->module->program->init);
	JitBlock *after = jit_if(&in->f, jit_compare(&in->f, GCC_JIT_COMPARISON_NE, code,
						     jit_long(jit, jit->int_, TSR_OK)));
	jit_return(&in->f, code);
	jit_end_if(&in->f, after);
}

static void fill(Init *in, const ProgramParam *param)
{
	Jit *jit = in->f.jit;
	const Program *p = jit->module->program;
	if (param->init == PARAM_COMPUTED)
		return;
	Rvalue *count = jit_size(&in->sizes, p->buffers.at[param->buffer].elements);
	Rvalue *offset = jit_size(&in->sizes, param->offset);
	Rvalue *to = jit_offset(&in->f, in->state, offset, jit->types[param->type.dtype]);
	if (param->init == PARAM_CONSTANT)
		fill_constant(in, param, to, count);
	else
		fill_uniform(in, param, to, count);
}

static gcc_jit_function *init_function(Jit *jit)
{
	const Program *p = jit->module->program;
	uint32_t n = p->nstate_dims;
	JitParam *params = dim_params(jit, p->state_dims, n, 2);
	params[n] = (JitParam){jit->pointer, "state"};
	params[n + 1] = (JitParam){jit->u64, "seed"};
	const char *name = arena_printf(jit->arena, "%s_init", jit->module->prefix);
	Init in = {
		.f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_, name, params, n + 2)};
	Rvalue *bad = jit_long(jit, jit->int_, TSR_BAD_DIM);
	in.sizes = (JitSizes){&in.f, bind_dims(&in.f, p->state_dims, n), return_number, &bad};
	in.state = jit_param(&in.f, n);
	in.seed = jit_param(&in.f, n + 1);
	check_dims(&in.f, p->state_dims, n, bad);
	check_state(&in);
	for (size_t i = 0; i < p->params.n; i++)
		fill(&in, &p->params.at[i]);
	if (jit->first)
		compute(&in);
	jit_return(&in.f, p->pack.nkernels ? called(&in, jit->pack, &p->pack)
					   : jit_long(jit, jit->int_, TSR_OK));
	return in.f.function;
}

/* The loader's way in: dims from an array of all the module's. */
static void init_invoke_function(Jit *jit, gcc_jit_function *init)
{
	const Program *p = jit->module->program;
	JitParam params[] = {{gcc_jit_type_get_pointer(jit->i64), "dims"},
			     {jit->pointer, "state"},
			     {jit->u64, "seed"}};
	const char *name = arena_printf(jit->arena, "%s__invoke_init", jit->module->prefix);
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_, name, params, 3);
	uint32_t n = p->nstate_dims;
	Rvalue **args = ARENA_ARRAY(jit->arena, Rvalue *, n + 2);
	for (uint32_t i = 0; i < n; i++)
		args[i] = jit_at(&f, jit_param(&f, 0), jit_long(jit, jit->i64, p->state_dims[i]));
	args[n] = jit_param(&f, 1);
	args[n + 1] = jit_param(&f, 2);
	jit_return(&f, jit_call(&f, init, args, n + 2));
}

void jit_state(Jit *jit)
{
	const Program *p = jit->module->program;
	jit_size_function(jit, arena_printf(jit->arena, "%s_state_size", jit->module->prefix),
			  &(JitSizeFunction){p->state_dims, p->nstate_dims, p->state});
	init_invoke_function(jit, init_function(jit));
}
