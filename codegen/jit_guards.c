/* The guards of an entry function, in this order: the call, CPU features, dims, size guards, sizes
 * that overflow, pointers, alignment. Each ends the function with its code and its text.
 */
#include "codegen/jit_entry.h"
#include "base/room.h"
#include "codegen/jit_function.h"
#include "codegen/jit_size.h"
#include "runtime/tsr.h"

gcc_jit_function *jit_fail_function(Jit *jit)
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

void jit_fail_if(Entry *e, Rvalue *cond, int code, const char *text)
{
	JitBlock *after = jit_if(&e->f, cond);
	fail(e, code, text);
	jit_end_if(&e->f, after);
}

/* Behind another abi or unknown flags nothing of the call can be trusted, so no message is
 * written. */
static void check_call(Entry *e)
{
	JitFunction *f = &e->f;
	Jit *jit = f->jit;
	Rvalue *words = jit_cast(jit, e->call, gcc_jit_type_get_pointer(jit->u32));
	JitBlock *none = jit_if(
		f, jit_compare(f, GCC_JIT_COMPARISON_NE, e->call, jit_null(jit, jit->pointer)));
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
	const char *name = arena_printf(jit->arena, "%s__cpu_ok", jit->module->prefix);
	gcc_jit_function *check = jit_import(jit, jit->int_, name, NULL, 0);
	Rvalue *ok = jit_keep(&e->f, jit_call(&e->f, check, NULL, 0));
	jit_fail_if(e, jit_compare(&e->f, GCC_JIT_COMPARISON_EQ, ok, jit_long(jit, jit->int_, 0)),
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
		jit_fail_if(e, jit_dim_is_bad(&e->f, id, e->dims[id]), TSR_BAD_DIM,
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
		jit_fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, a, b), failure.code,
			    check->text);
		return;
	case CHECK_GE:
		jit_fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_LT, a, b), failure.code,
			    check->text);
		return;
	case CHECK_DIVIDES: {
		jit_fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_EQ, b, zero), failure.code,
			    check->text);
		Rvalue *rest = jit_binary(f, GCC_JIT_BINARY_OP_MODULO, a, b);
		jit_fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, rest, zero), failure.code,
			    check->text);
		return;
	}
	case CHECK_INDEX: BUG("a check of indices among the guards");
	}
}

/* The bytes of a buffer, with a failure where they do not fit 63 bits. */
static Rvalue *checked_bytes(Entry *e, Size size, const char *name)
{
	Jit *jit = e->f.jit;
	Failure failure = {
		e, TSR_BAD_DIM,
		arena_printf(jit->arena, "the size of %s is out of range for these dims", name)};
	JitSizes sizes = {&e->f, e->dims, fail_size, &failure};
	return jit_size(&sizes, size);
}

/* NULL is refused where there is something behind the pointer. */
static void check_pointer(Entry *e, Rvalue *pointer, Rvalue *bytes, const char *text)
{
	JitFunction *f = &e->f;
	Rvalue *some =
		jit_compare(f, GCC_JIT_COMPARISON_GT, bytes, jit_long(f->jit, f->jit->i64, 0));
	Rvalue *null = jit_compare(f, GCC_JIT_COMPARISON_EQ, pointer,
				   jit_null(f->jit, gcc_jit_rvalue_get_type(pointer)));
	jit_fail_if(e, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, some, null), TSR_BAD_POINTER,
		    text);
}

static Rvalue *address(Entry *e, Rvalue *pointer)
{
	return gcc_jit_context_new_bitcast(e->f.jit->ctxt, NULL, pointer, e->f.jit->u64);
}

/* `addresses`: one, or several joined by or. */
static void check_aligned(Entry *e, Rvalue *addresses, size_t bytes, const char *text)
{
	JitFunction *f = &e->f;
	Jit *jit = f->jit;
	Rvalue *low = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, addresses,
				 jit_long(jit, jit->u64, (int64_t)bytes - 1));
	jit_fail_if(e, jit_compare(f, GCC_JIT_COMPARISON_NE, low, jit_long(jit, jit->u64, 0)),
		    TSR_BAD_POINTER, text);
}

/* A check of each would take a routine of a thousand arrays seconds to compile. */
static void check_elements_aligned(Entry *e, size_t bytes)
{
	ModuleAligned group = module_aligned(e->f.jit->module, e->routine, bytes);
	Rvalue *all = NULL;
	for (size_t i = 0; i < group.args.n; i++) {
		uint32_t arg = group.args.at[i], n = e->routine->ninputs;
		Rvalue *one = address(e, arg < n ? e->inputs[arg] : e->outputs[arg - n]);
		all = jit_keep(&e->f, all ? jit_binary(&e->f, GCC_JIT_BINARY_OP_BITWISE_OR, all,
						       one)
					  : one);
	}
	if (all)
		check_aligned(e, all, bytes, group.message);
}

static void check_arrays(Entry *e, const TensorArg *args, uint32_t n, Rvalue *const *pointers)
{
	Arena *arena = e->f.jit->arena;
	for (uint32_t i = 0; i < n; i++) {
		const Buffer *buffer = &e->program->buffers.at[args[i].buffer];
		Size size = size_room(e->program->sizes, buffer->elements, buffer->dtype);
		Rvalue *bytes = checked_bytes(e, size, args[i].name);
		check_pointer(e, pointers[i], bytes,
			      arena_printf(arena, "%s is NULL", args[i].name));
	}
}

/* Kernels load whole vectors from places that the compiler aligned to 64 bytes within the state and
 * the workspace.
 *
 * The parameters that the routine touches lie where the state says. Sizes that are constants were
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
		Size size = size_room(p->sizes, buffer->elements, buffer->dtype);
		Rvalue *bytes = checked_bytes(e, size, p->params.at[i].name);
		check_pointer(e, e->state, bytes, "state is NULL");
	}
	for (size_t i = 0; i < p->params.n; i++)
		if (params[i])
			checked_bytes(e, p->params.at[i].offset, "the state");
	if (used)
		check_aligned(e, address(e, e->state), STATE_ALIGN,
			      "state is not aligned to 64 bytes");
}

Lvalue *jit_stamp_place(Entry *e)
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
	checked_bytes(e, e->program->stamp, "the state");
	Rvalue *stamp = gcc_jit_lvalue_as_rvalue(jit_stamp_place(e));
	jit_fail_if(e,
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
	Rvalue *bytes = checked_bytes(e, e->routine->workspace, "the workspace");
	if (size_is(p->sizes, e->routine->workspace, 0))
		return;
	check_pointer(e, e->workspace, bytes, "workspace is NULL");
	check_aligned(e, address(e, e->workspace), STATE_ALIGN,
		      "workspace is not aligned to 64 bytes");
}

void jit_guards(Entry *e, bool cpu)
{
	const ProgramRoutine *r = e->routine;
	check_call(e);
	if (cpu)
		check_cpu(e);
	check_dims(e);
	for (uint32_t i = 0; i < r->nguards; i++)
		check_guard(e, r->guards[i]);
	check_arrays(e, r->inputs, r->ninputs, e->inputs);
	check_arrays(e, r->outputs, r->noutputs, e->outputs);
	for (size_t bytes = 2; bytes <= ALIGNMENT_MOST; bytes *= 2)
		check_elements_aligned(e, bytes);
	check_memory(e);
}
