/* Entry functions, in baseline instructions: every guard comes before the first kernel, so nothing
 * is written unless all hold. In this order: the call, CPU features, dims, size guards, sizes that
 * overflow, pointers, alignment; then the kernels, where a failed check of indices ends the routine
 * with its code.
 *
 * The functions of kernels are compiled apart, for the target's CPU, and called only behind the
 * check.
 */
#include "codegen/jit_context.h"
#include "runtime/tsr.h"

typedef struct Entry {
	JitFunction f;
	const Program *program;
	const ProgramRoutine *routine;
	uint32_t index;
	gcc_jit_function *fail; /* stores the message, returns the code */
	Rvalue *call, *state, *workspace;
	Rvalue **dims; /* by DimId */
	Rvalue **scalars, **inputs, **outputs;
} Entry;

static gcc_jit_function *import_named(Jit *jit, Type *result, const char *format, JitParam *params,
				      size_t n)
{
	return jit_import(jit, result,
			  arena_printf(jit->arena, "%s%s", jit->module->prefix, format), params, n);
}

/* int PREFIX__fail(const tsr_call *call, int code, const char *text) */
static gcc_jit_function *fail_function(Jit *jit)
{
	gcc_jit_context *ctxt = jit->ctxt;
	Type *texts = gcc_jit_type_get_pointer(jit->text);
	gcc_jit_field *fields[] = {gcc_jit_context_new_field(ctxt, NULL, jit->u32, "abi"),
				   gcc_jit_context_new_field(ctxt, NULL, jit->u32, "flags"),
				   gcc_jit_context_new_field(ctxt, NULL, texts, "message")};
	gcc_jit_struct *call = gcc_jit_context_new_struct_type(ctxt, NULL, "tsr_call", 3, fields);
	Type *calls = gcc_jit_type_get_pointer(gcc_jit_struct_as_type(call));
	JitParam params[] = {{jit->pointer, "call"}, {jit->int_, "code"}, {jit->text, "text"}};
	const char *name = arena_printf(jit->arena, "%s__fail", jit->module->prefix);
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->int_, name, params, 3);
	Rvalue *given = jit_param(&f, 0);
	JitBlock *none = jit_if(
		&f, jit_compare(&f, GCC_JIT_COMPARISON_NE, given, jit_null(jit, jit->pointer)));
	Rvalue *typed = jit_cast(jit, given, calls);
	Rvalue *message =
		gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference_field(typed, NULL, fields[2]));
	message = jit_keep(&f, message);
	JitBlock *silent =
		jit_if(&f, jit_compare(&f, GCC_JIT_COMPARISON_NE, message, jit_null(jit, texts)));
	jit_set(&f, gcc_jit_rvalue_dereference(message, NULL), jit_param(&f, 2));
	jit_end_if(&f, silent);
	jit_end_if(&f, none);
	jit_return(&f, jit_param(&f, 1));
	return f.function;
}

static void fail(Entry *e, int code, const char *text)
{
	Jit *jit = e->f.jit;
	Rvalue *args[] = {e->call, jit_long(jit, jit->int_, code), jit_string(jit, text)};
	jit_return(&e->f, jit_call(&e->f, e->fail, args, 3));
}

static void fail_if(Entry *e, Rvalue *cond, int code, const char *text)
{
	JitBlock *after = jit_if(&e->f, cond);
	fail(e, code, text);
	jit_end_if(&e->f, after);
}

/* Behind another abi or unknown flags nothing of the call can be trusted, so no message is written. */
static void check_call(Entry *e)
{
	JitFunction *f = &e->f;
	Jit *jit = f->jit;
	Rvalue *words = jit_cast(jit, e->call, gcc_jit_type_get_pointer(jit->u32));
	JitBlock *none = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, e->call,
					       jit_null(jit, jit->pointer)));
	Rvalue *abi = jit_at(f, words, jit_long(jit, jit->i64, 0));
	Rvalue *flags = jit_at(f, words, jit_long(jit, jit->i64, 1));
	Rvalue *bad = jit_binary(
		f, GCC_JIT_BINARY_OP_BITWISE_OR,
		jit_compare(f, GCC_JIT_COMPARISON_NE, abi, jit_long(jit, jit->u32, TSR_ABI)),
		jit_compare(f, GCC_JIT_COMPARISON_NE, flags, jit_long(jit, jit->u32, 0)));
	JitBlock *good = jit_if(f, bad);
	jit_return(f, jit_long(jit, jit->int_, TSR_BAD_CALL));
	jit_end_if(f, good);
	jit_end_if(f, none);
}

/* By a function of baseline instructions in the module itself (cpu.c). */
static void check_cpu(Entry *e)
{
	Jit *jit = e->f.jit;
	gcc_jit_function *check = import_named(jit, jit->int_, "__cpu_ok", NULL, 0);
	Rvalue *ok = jit_keep(&e->f, jit_call(&e->f, check, NULL, 0));
	fail_if(e, jit_compare(&e->f, GCC_JIT_COMPARISON_EQ, ok, jit_long(jit, jit->int_, 0)),
		TSR_BAD_CPU,
		"this module was built for a processor with more features than this one has");
}

Rvalue *jit_dim_is_bad(JitFunction *f, DimId dim, Rvalue *value)
{
	int64_t least = sizes_dim(f->jit->module->program->sizes, dim)->at_least;
	Rvalue *low = jit_compare(f, GCC_JIT_COMPARISON_LT, value,
				  jit_long(f->jit, f->jit->i64, least > 0 ? least : 0));
	Rvalue *high = jit_compare(f, GCC_JIT_COMPARISON_GT, value,
				   jit_long(f->jit, f->jit->i64, DIM_MOST));
	return jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, low, high);
}

static void check_dims(Entry *e)
{
	const Module *m = e->f.jit->module;
	for (uint32_t i = 0; i < e->routine->ndims; i++) {
		DimId id = e->routine->dims[i];
		fail_if(e, jit_dim_is_bad(&e->f, id, e->dims[id]), TSR_BAD_DIM,
			module_dim_message(m, id));
	}
}

typedef struct Failure {
	Entry *entry;
	int code;
	const char *text;
} Failure;

static void fail_size(JitFunction *f, void *arg)
{
	Failure *failure = arg;
	(void)f; /* the entry's own */
	fail(failure->entry, failure->code, failure->text);
}

static void check_guard(Entry *e, CheckId id)
{
	JitFunction *f = &e->f;
	const Check *check = &e->program->checks.at[id];
	Failure failure = {e, module_check_code(id), check->text};
	JitSizes sizes = {f, e->dims, fail_size, &failure};
	Rvalue *a = jit_size(&sizes, check->a), *b = jit_size(&sizes, check->b);
	Rvalue *zero = jit_long(f->jit, f->jit->i64, 0);
	switch (check->kind) {
	case CHECK_EQ:
		fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, a, b), failure.code, check->text);
		return;
	case CHECK_GE:
		fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_LT, a, b), failure.code, check->text);
		return;
	case CHECK_DIVIDES: {
		fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_EQ, b, zero), failure.code,
			check->text);
		Rvalue *rest = jit_binary(f, GCC_JIT_BINARY_OP_MODULO, a, b);
		fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, rest, zero), failure.code,
			check->text);
		return;
	}
	case CHECK_INDEX: BUG("a check of indices among the guards");
	}
}

/* The bytes of a buffer, with a failure where they do not fit 63 bits. */
static Rvalue *checked_bytes(Entry *e, Size size, size_t unit, const char *name)
{
	Jit *jit = e->f.jit;
	Failure failure = {
		e, TSR_BAD_DIM,
		arena_printf(jit->arena, "the size of %s is out of range for these dims", name)};
	JitSizes sizes = {&e->f, e->dims, fail_size, &failure};
	return jit_size(&sizes, size_scale(e->program->sizes, size, (int64_t)unit));
}

/* NULL is refused where there is something behind the pointer. */
static void check_pointer(Entry *e, Rvalue *pointer, Rvalue *bytes, const char *text)
{
	JitFunction *f = &e->f;
	Rvalue *some =
		jit_compare(f, GCC_JIT_COMPARISON_GT, bytes, jit_long(f->jit, f->jit->i64, 0));
	Rvalue *null = jit_compare(f, GCC_JIT_COMPARISON_EQ, pointer,
				   jit_null(f->jit, gcc_jit_rvalue_get_type(pointer)));
	fail_if(e, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, some, null), TSR_BAD_POINTER, text);
}

/* Kernels load whole vectors from places that the compiler aligned to 64 bytes within it. */
static void check_aligned(Entry *e, Rvalue *pointer, const char *text)
{
	JitFunction *f = &e->f;
	Jit *jit = f->jit;
	Rvalue *address = gcc_jit_context_new_bitcast(jit->ctxt, NULL, pointer, jit->u64);
	Rvalue *low = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, address,
				 jit_long(jit, jit->u64, STATE_ALIGN - 1));
	fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, low, jit_long(jit, jit->u64, 0)),
		TSR_BAD_POINTER, text);
}

static void check_arrays(Entry *e, const TensorArg *args, uint32_t n, Rvalue *const *pointers)
{
	Arena *arena = e->f.jit->arena;
	for (uint32_t i = 0; i < n; i++) {
		const Buffer *buffer = &e->program->buffers.at[args[i].buffer];
		Rvalue *bytes = checked_bytes(e, buffer->elements, dtype_bytes(buffer->dtype),
					      args[i].name);
		check_pointer(e, pointers[i], bytes,
			      arena_printf(arena, "%s is NULL", args[i].name));
	}
}

/* The parameters that the routine touches lie where the state says. Sizes that are constants were
 * found to fit when the state was laid out, and share one check of the pointer. */
static void check_state(Entry *e)
{
	const Program *p = e->program;
	const bool *params = e->f.jit->module->routines[e->index].params;
	bool used = false, surely = false;
	for (size_t i = 0; i < p->params.n; i++) {
		if (!params[i])
			continue;
		used = true;
		const Buffer *buffer = &p->buffers.at[p->params.at[i].buffer];
		int64_t elements;
		bool constant = size_is_const(p->sizes, buffer->elements, &elements);
		if (constant && (elements == 0 || surely))
			continue;
		surely = surely || constant;
		Rvalue *bytes = checked_bytes(e, buffer->elements, dtype_bytes(buffer->dtype),
					      p->params.at[i].name);
		check_pointer(e, e->state, bytes, "state is NULL");
	}
	for (size_t i = 0; i < p->params.n; i++)
		if (params[i])
			checked_bytes(e, p->params.at[i].offset, 1, "the state");
	if (used)
		check_aligned(e, e->state, "state is not aligned to 64 bytes");
}

/* The 4 bytes of the state that say that it is packed. */
static Lvalue *stamp_place(Entry *e)
{
	Jit *jit = e->f.jit;
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	Rvalue *offset = jit_size(&sizes, e->program->stamp);
	return gcc_jit_rvalue_dereference(jit_offset(&e->f, e->state, offset, jit->u32), NULL);
}

/* A state that was written and not packed since would give results of other parameters. */
static void check_packed(Entry *e)
{
	Jit *jit = e->f.jit;
	checked_bytes(e, e->program->stamp, 1, "the state");
	Rvalue *stamp = gcc_jit_lvalue_as_rvalue(stamp_place(e));
	fail_if(e,
		jit_compare(&e->f, GCC_JIT_COMPARISON_NE, stamp,
			    jit_long(jit, jit->u32, PACK_STAMP)),
		TSR_NOT_PACKED, module_pack_message(jit->module));
}

static void check_memory(Entry *e)
{
	const Program *p = e->program;
	check_state(e);
	if (e->index >= p->routines.n)
		return;
	if (e->f.jit->module->routines[e->index].packed)
		check_packed(e);
	Rvalue *bytes = checked_bytes(e, e->routine->workspace, 1, "the workspace");
	if (size_is(p->sizes, e->routine->workspace, 0))
		return;
	check_pointer(e, e->workspace, bytes, "workspace is NULL");
	check_aligned(e, e->workspace, "workspace is not aligned to 64 bytes");
}

/* ---- kernels ---- */

static Rvalue *buffer_pointer(Entry *e, BufferId id, Type *type)
{
	Jit *jit = e->f.jit;
	const Program *p = e->program;
	const Buffer *buffer = &p->buffers.at[id];
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	switch (buffer->kind) {
	case BUFFER_INPUT: return jit_cast(jit, e->inputs[buffer->arg], type);
	case BUFFER_OUTPUT: return jit_cast(jit, e->outputs[buffer->arg], type);
	case BUFFER_PARAM: {
		Rvalue *offset = jit_size(&sizes, p->params.at[buffer->arg].offset);
		return jit_cast(jit, jit_offset(&e->f, e->state, offset, jit->types[buffer->dtype]),
				type);
	}
	case BUFFER_TEMP:
	case BUFFER_PACKED: {
		Rvalue *offset = jit_size(&sizes, buffer->offset);
		Rvalue *start = buffer->kind == BUFFER_TEMP ? e->workspace : e->state;
		return jit_cast(jit, jit_offset(&e->f, start, offset, jit->types[buffer->dtype]),
				type);
	}
	case BUFFER_CONST: break;
	}
	Lvalue *blob =
		gcc_jit_context_new_global(jit->ctxt, NULL, GCC_JIT_GLOBAL_IMPORTED,
					   jit->types[DTYPE_I8], jit->module->consts[buffer->arg]);
	return jit_cast(jit, gcc_jit_lvalue_get_address(blob, NULL), type);
}

/* Where the kernel's indices of the buffer start. */
static Rvalue *based_pointer(Entry *e, const KernelBuffer *buffer, Type *type)
{
	const Program *p = e->program;
	Rvalue *first = buffer_pointer(e, buffer->buffer, type);
	if (size_is(p->sizes, buffer->base, 0))
		return first;
	Dtype dtype = p->buffers.at[buffer->buffer].dtype;
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	Rvalue *bytes =
		jit_size(&sizes, size_scale(p->sizes, buffer->base, (int64_t)dtype_bytes(dtype)));
	Rvalue *at = jit_offset(&e->f, first, bytes, e->f.jit->types[dtype]);
	return jit_cast(e->f.jit, at, type);
}

static void call_kernel(Entry *e, KernelId id)
{
	Jit *jit = e->f.jit;
	const Module *m = jit->module;
	const KernelUse *use = m->kernels[id].use;
	JitParam *params;
	size_t n = jit_kernel_params(jit, id, &params), at = 0;
	Rvalue **args = ARENA_ARRAY(jit->arena, Rvalue *, n);
	if (use->parallel)
		args[at++] = e->call;
	for (size_t i = 0; i < use->dims.n; i++) {
		REQUIRE(e->dims[use->dims.at[i]]);
		args[at++] = e->dims[use->dims.at[i]];
	}
	for (size_t i = 0; i < use->scalars.n; i++)
		args[at++] = e->scalars[use->scalars.at[i].scalar];
	for (size_t i = 0; i < use->buffers.n; i++, at++)
		args[at] = based_pointer(e, &use->buffers.at[i], params[at].type);
	bool checks = use->checks.n > 0;
	gcc_jit_function *function = jit_import(jit, checks ? jit->int_ : jit->void_,
						m->kernels[id].function, params, n);
	Rvalue *result = jit_call(&e->f, function, args, n);
	if (!checks) {
		gcc_jit_block_add_eval(e->f.block, NULL, result);
		return;
	}
	result = jit_keep(&e->f, result);
	for (size_t i = 0; i < use->checks.n; i++) {
		CheckId check = use->checks.at[i];
		int code = module_check_code(check);
		fail_if(e,
			jit_compare(&e->f, GCC_JIT_COMPARISON_EQ, result,
				    jit_long(jit, jit->int_, code)),
			code, e->program->checks.at[check].text);
	}
}

/* ---- functions ---- */

static Rvalue **take_params(Entry *e, uint32_t n, size_t *at)
{
	Rvalue **values = ARENA_ARRAY(e->f.jit->arena, Rvalue *, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = jit_param(&e->f, (*at)++);
	return values;
}

static size_t routine_params(Jit *jit, uint32_t index, JitParam **params)
{
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	const ModuleRoutine *names = &jit->module->routines[index];
	VEC(JitParam) list = {0};
	PUSH(jit->arena, list, ((JitParam){jit->pointer, "call"}));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, list, ((JitParam){jit->i64, names->dims[i]}));
	for (uint32_t i = 0; i < r->nscalars; i++)
		PUSH(jit->arena, list,
		     ((JitParam){jit->types[r->scalars[i].dtype], names->scalars[i]}));
	for (uint32_t i = 0; i < r->ninputs; i++)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, names->inputs[i]}));
	for (uint32_t i = 0; i < r->noutputs; i++)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, names->outputs[i]}));
	PUSH(jit->arena, list, ((JitParam){jit->pointer, "state"}));
	if (index < jit->module->program->routines.n)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, "workspace"}));
	*params = list.at;
	return list.n;
}

static gcc_jit_function *routine_function(Jit *jit, uint32_t index, gcc_jit_function *failing,
					  bool cpu)
{
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	bool packs = module_is_pack(jit->module, index);
	bool inside = module_is_init(jit->module, index);
	Entry e = {.program = jit->module->program, .routine = r, .index = index, .fail = failing};
	JitParam *params;
	size_t n = routine_params(jit, index, &params), at = 1;
	e.f = jit_function(jit, inside ? GCC_JIT_FUNCTION_INTERNAL : GCC_JIT_FUNCTION_EXPORTED,
			   jit->int_, jit->module->routines[index].function, params, n);
	e.call = jit_param(&e.f, 0);
	e.dims = ARENA_ARRAY(jit->arena, Rvalue *, sizes_ndims(e.program->sizes));
	for (uint32_t i = 0; i < r->ndims; i++)
		e.dims[r->dims[i]] = jit_param(&e.f, at++);
	e.scalars = take_params(&e, r->nscalars, &at);
	e.inputs = take_params(&e, r->ninputs, &at);
	e.outputs = take_params(&e, r->noutputs, &at);
	e.state = jit_param(&e.f, at++);
	e.workspace = packs || inside ? NULL : jit_param(&e.f, at);
	check_call(&e);
	if (cpu)
		check_cpu(&e);
	check_dims(&e);
	for (uint32_t i = 0; i < r->nguards; i++)
		check_guard(&e, r->guards[i]);
	check_arrays(&e, r->inputs, r->ninputs, e.inputs);
	check_arrays(&e, r->outputs, r->noutputs, e.outputs);
	check_memory(&e);
	for (uint32_t i = 0; i < r->nkernels; i++)
		call_kernel(&e, r->kernels[i]);
	if (packs && r->nkernels)
		jit_set(&e.f, stamp_place(&e), jit_long(jit, jit->u32, PACK_STAMP));
	jit_return(&e.f, jit_long(jit, jit->int_, TSR_OK));
	return e.f.function;
}

/* The loader's way in: arguments from arrays, scalars each at the start of its cell. */
static void invoke_function(Jit *jit, uint32_t index, gcc_jit_function *routine)
{
	const ProgramRoutine *r = &jit->module->program->routines.at[index];
	Type *pointers = gcc_jit_type_get_pointer(jit->pointer);
	JitParam params[] = {
		{jit->pointer, "call"},	    {gcc_jit_type_get_pointer(jit->i64), "dims"},
		{pointers, "scalars"},	    {pointers, "inputs"},
		{pointers, "outputs"},	    {jit->pointer, "state"},
		{jit->pointer, "workspace"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_,
				     jit->module->routines[index].invoke, params, 7);
	VEC(Rvalue *) args = {0};
	PUSH(jit->arena, args, jit_param(&f, 0));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 1), jit_long(jit, jit->i64, i)));
	for (uint32_t i = 0; i < r->nscalars; i++) {
		Type *cell = gcc_jit_type_get_pointer(jit->types[r->scalars[i].dtype]);
		Rvalue *at = jit_at(&f, jit_param(&f, 2), jit_long(jit, jit->i64, i));
		PUSH(jit->arena, args,
		     gcc_jit_lvalue_as_rvalue(
			     gcc_jit_rvalue_dereference(jit_cast(jit, at, cell), NULL)));
	}
	for (uint32_t i = 0; i < r->ninputs; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 3), jit_long(jit, jit->i64, i)));
	for (uint32_t i = 0; i < r->noutputs; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 4), jit_long(jit, jit->i64, i)));
	PUSH(jit->arena, args, jit_param(&f, 5));
	PUSH(jit->arena, args, jit_param(&f, 6));
	jit_return(&f, jit_call(&f, routine, args.at, args.n));
}

/* The loader's way to pack: dims from an array of all the module's. */
static void invoke_pack_function(Jit *jit)
{
	uint32_t index = (uint32_t)jit->module->program->routines.n;
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	JitParam params[] = {{jit->pointer, "call"},
			     {gcc_jit_type_get_pointer(jit->i64), "dims"},
			     {jit->pointer, "state"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_,
				     jit->module->routines[index].invoke, params, 3);
	VEC(Rvalue *) args = {0};
	PUSH(jit->arena, args, jit_param(&f, 0));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, args,
		     jit_at(&f, jit_param(&f, 1), jit_long(jit, jit->i64, r->dims[i])));
	PUSH(jit->arena, args, jit_param(&f, 2));
	jit_return(&f, jit_call(&f, jit->pack, args.at, args.n));
}

void jit_routines(Jit *jit, bool check_cpu_features)
{
	const Program *p = jit->module->program;
	jit_parallel_runner(jit);
	gcc_jit_function *failing = fail_function(jit);
	jit->pack = routine_function(jit, (uint32_t)p->routines.n, failing,
				     check_cpu_features && p->pack.nkernels);
	invoke_pack_function(jit);
	if (p->init.nkernels)
		jit->first = routine_function(jit, (uint32_t)p->routines.n + 1, failing,
					      check_cpu_features);
	for (uint32_t i = 0; i < p->routines.n; i++) {
		gcc_jit_function *routine = routine_function(jit, i, failing, check_cpu_features);
		invoke_function(jit, i, routine);
		jit_size_function(jit, jit->module->routines[i].workspace,
				  &(JitSizeFunction){p->routines.at[i].dims,
						     p->routines.at[i].ndims,
						     p->routines.at[i].workspace});
	}
}
