/* The wrapper of jit_context.h: types, values and blocks.
 *
 * Blocks: jit_if and jit_loop end the open block with a branch and open the one inside;
 * jit_end_if and jit_end_loop end that one, unless a return has, and open the one behind. So
 * every block is ended exactly once, which libgccjit demands.
 */
#include "codegen/jit_context.h"

#include "codegen/jit_function.h"

#include <limits.h>
#include <string.h>

Jit *jit_new(const Module *module, Arena *arena)
{
	Jit *jit = ARENA_NEW(arena, Jit);
	gcc_jit_context *ctxt = gcc_jit_context_acquire();
	REQUIRE(ctxt);
	*jit = (Jit){.ctxt = ctxt, .module = module, .arena = arena};
	gcc_jit_context_set_bool_print_errors_to_stderr(ctxt, 0);
	gcc_jit_context_set_bool_allow_unreachable_blocks(ctxt, 1);
	jit->types[DTYPE_F64] = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_DOUBLE);
	jit->types[DTYPE_F32] = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_FLOAT);
	/* By name: get_int_type answers from options of the target that are not set before the
	 * first compilation, and then takes long long for long. */
	static const struct {
		Dtype dtype;
		enum gcc_jit_types type, unsigned_type;
	} integers[] = {
		{DTYPE_I64, GCC_JIT_TYPE_LONG, GCC_JIT_TYPE_UNSIGNED_LONG},
		{DTYPE_I32, GCC_JIT_TYPE_INT, GCC_JIT_TYPE_UNSIGNED_INT},
		{DTYPE_U32, GCC_JIT_TYPE_UNSIGNED_INT, GCC_JIT_TYPE_UNSIGNED_INT},
		{DTYPE_I16, GCC_JIT_TYPE_SHORT, GCC_JIT_TYPE_UNSIGNED_SHORT},
		{DTYPE_U16, GCC_JIT_TYPE_UNSIGNED_SHORT, GCC_JIT_TYPE_UNSIGNED_SHORT},
		{DTYPE_I8, GCC_JIT_TYPE_SIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
		{DTYPE_U8, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
		{DTYPE_I4, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR}, /* two */
		{DTYPE_U4, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
		{DTYPE_BOOL, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
		{DTYPE_BF16, GCC_JIT_TYPE_UNSIGNED_SHORT, GCC_JIT_TYPE_UNSIGNED_SHORT},
		{DTYPE_F16, GCC_JIT_TYPE_UNSIGNED_SHORT, GCC_JIT_TYPE_UNSIGNED_SHORT},
		{DTYPE_F8E4M3, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
		{DTYPE_F8E5M2, GCC_JIT_TYPE_UNSIGNED_CHAR, GCC_JIT_TYPE_UNSIGNED_CHAR},
	};
	for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
		Dtype dtype = integers[i].dtype;
		jit->types[dtype] = gcc_jit_context_get_type(ctxt, integers[i].type);
		jit->unsigned_types[dtype] =
			gcc_jit_context_get_type(ctxt, integers[i].unsigned_type);
	}
	for (int i = 0; i < 4; i++) {
		const char *name = arena_printf(arena, "word%d", i);
		jit->words[i] = gcc_jit_context_new_field(ctxt, NULL, jit->types[DTYPE_U32], name);
	}
	jit->types[DTYPE_U4X32] = gcc_jit_struct_as_type(
		gcc_jit_context_new_struct_type(ctxt, NULL, "u4x32", 4, jit->words));
	jit->void_ = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_VOID);
	jit->bool_ = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_BOOL);
	jit->int_ = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_INT);
	jit->i64 = jit->types[DTYPE_I64];
	jit->u64 = jit->unsigned_types[DTYPE_I64];
	jit->u32 = jit->types[DTYPE_U32];
	jit->i16 = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_SHORT);
	jit->size = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_SIZE_T);
	jit->pointer = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_VOID_PTR);
	jit->text = gcc_jit_context_get_type(ctxt, GCC_JIT_TYPE_CONST_CHAR_PTR);
	return jit;
}

Type *jit_vector_type(Jit *jit, Dtype dtype, int log)
{
	REQUIRE(log > 0 && log < VECTOR_LOGS);
	Type **type = &jit->vectors[dtype][log];
	if (!*type)
		*type = gcc_jit_type_get_vector(jit->types[dtype], (size_t)1 << log);
	return *type;
}

Type *jit_short_vector(Jit *jit, int log)
{
	REQUIRE(log > 0 && log < VECTOR_LOGS);
	if (!jit->short_vectors[log])
		jit->short_vectors[log] = gcc_jit_type_get_vector(jit->i16, (size_t)1 << log);
	return jit->short_vectors[log];
}

void jit_option(Jit *jit, const char *flag)
{
	gcc_jit_context_add_command_line_option(jit->ctxt, flag);
}

gcc_jit_location *jit_location(Jit *jit, Span span)
{
	const Sources *sources = jit->module->program->sources;
	if (span_is_none(span) || !sources)
		return NULL;
	Place place = source_place(sources, span.file, span.start);
	return gcc_jit_context_new_location(jit->ctxt, place.path, (int)place.line,
					    (int)place.column);
}

static gcc_jit_function *declare(Jit *jit, enum gcc_jit_function_kind kind, Type *result,
				 const char *name, const JitParam *params, size_t n)
{
	gcc_jit_param **ps = ARENA_ARRAY(jit->arena, gcc_jit_param *, n + 1);
	REQUIRE(n <= INT_MAX);
	for (size_t i = 0; i < n; i++)
		ps[i] = gcc_jit_context_new_param(jit->ctxt, NULL, params[i].type, params[i].name);
	return gcc_jit_context_new_function(jit->ctxt, NULL, kind, result, name, (int)n, ps, 0);
}

JitFunction jit_function(Jit *jit, enum gcc_jit_function_kind kind, Type *result, const char *name,
			 const JitParam *params, size_t nparams)
{
	JitFunction f = {.jit = jit};
	f.function = declare(jit, kind, result, name, params, nparams);
	f.block = gcc_jit_function_new_block(f.function, NULL);
	return f;
}

void jit_entry(JitFunction *f)
{
	f->entry = f->block;
	f->start = f->block = gcc_jit_function_new_block(f->function, NULL);
}

void jit_entry_end(JitFunction *f)
{
	gcc_jit_block_end_with_jump(f->entry, NULL, f->start);
	f->entry = NULL;
}

gcc_jit_function *jit_import(Jit *jit, Type *result, const char *name, const JitParam *params,
			     size_t nparams)
{
	return declare(jit, GCC_JIT_FUNCTION_IMPORTED, result, name, params, nparams);
}

Rvalue *jit_param(const JitFunction *f, size_t index)
{
	return gcc_jit_param_as_rvalue(gcc_jit_function_get_param(f->function, (int)index));
}

Rvalue *jit_long(Jit *jit, Type *type, int64_t value)
{
	return gcc_jit_context_new_rvalue_from_long(jit->ctxt, type, value);
}

Rvalue *jit_double(Jit *jit, Type *type, double value)
{
	return gcc_jit_context_new_rvalue_from_double(jit->ctxt, type, value);
}

Rvalue *jit_string(Jit *jit, const char *text)
{
	return gcc_jit_context_new_string_literal(jit->ctxt, text);
}

Rvalue *jit_null(Jit *jit, Type *pointer)
{
	return gcc_jit_context_null(jit->ctxt, pointer);
}

Rvalue *jit_bound(JitFunction *f, Dtype dtype, double value)
{
	Jit *jit = f->jit;
	Rvalue *number = jit_double(jit, jit->types[dtype], value);
	if (!f->entry)
		return number;
	for (size_t i = 0; i < f->bounds.n; i++)
		if (f->bounds.at[i].dtype == dtype &&
		    memcmp(&f->bounds.at[i].value, &value, sizeof value) == 0)
			return gcc_jit_lvalue_as_rvalue(f->bounds.at[i].variable);
	char name[16];
	snprintf(name, sizeof name, "bound%u", f->ntemps++);
	Lvalue *variable = jit_local(f, jit->types[dtype], name);
	gcc_jit_extended_asm *nothing = gcc_jit_block_add_extended_asm(f->entry, NULL, "");
	gcc_jit_extended_asm_add_output_operand(nothing, NULL, "=x", variable);
	gcc_jit_extended_asm_add_input_operand(nothing, NULL, "0", number);
	PUSH(jit->arena, f->bounds, ((JitBound){dtype, value, variable}));
	return gcc_jit_lvalue_as_rvalue(variable);
}

Rvalue *jit_cast(Jit *jit, Rvalue *value, Type *type)
{
	return gcc_jit_context_new_cast(jit->ctxt, NULL, value, type);
}

Rvalue *jit_binary(JitFunction *f, enum gcc_jit_binary_op op, Rvalue *a, Rvalue *b)
{
	return gcc_jit_context_new_binary_op(f->jit->ctxt, f->location, op,
					     gcc_jit_rvalue_get_type(a), a, b);
}

Rvalue *jit_compare(JitFunction *f, enum gcc_jit_comparison op, Rvalue *a, Rvalue *b)
{
	return gcc_jit_context_new_comparison(f->jit->ctxt, f->location, op, a, b);
}

Rvalue *jit_call(JitFunction *f, gcc_jit_function *callee, Rvalue *const *args, size_t n)
{
	return gcc_jit_context_new_call(f->jit->ctxt, f->location, callee, (int)n, (Rvalue **)args);
}

gcc_jit_function *jit_builtin(Jit *jit, const char *name)
{
	for (size_t i = 0; i < jit->builtins.n; i++)
		if (strcmp(jit->builtins.at[i].name, name) == 0)
			return jit->builtins.at[i].function;
	const char *full = arena_printf(jit->arena, "__builtin_%s", name);
	gcc_jit_function *function = gcc_jit_context_get_builtin_function(jit->ctxt, full);
	PUSH(jit->arena, jit->builtins, ((Builtin){name, function}));
	return function;
}

Rvalue *jit_at(JitFunction *f, Rvalue *pointer, Rvalue *index)
{
	return gcc_jit_lvalue_as_rvalue(
		gcc_jit_context_new_array_access(f->jit->ctxt, f->location, pointer, index));
}

/* Through an element of an array of bytes: libgccjit has no sum of a pointer and an integer. */
Rvalue *jit_offset(JitFunction *f, Rvalue *base, Rvalue *offset, Type *type)
{
	Jit *jit = f->jit;
	Type *bytes = gcc_jit_type_get_pointer(jit->types[DTYPE_I8]);
	Lvalue *element = gcc_jit_context_new_array_access(jit->ctxt, NULL,
							   jit_cast(jit, base, bytes), offset);
	return jit_cast(jit, gcc_jit_lvalue_get_address(element, NULL),
			gcc_jit_type_get_pointer(type));
}

Lvalue *jit_local(JitFunction *f, Type *type, const char *name)
{
	return gcc_jit_function_new_local(f->function, f->location, type, name);
}

void jit_set(JitFunction *f, Lvalue *to, Rvalue *value)
{
	gcc_jit_block_add_assignment(f->block, f->location, to, value);
}

Lvalue *jit_temp(JitFunction *f, Type *type)
{
	char name[16];
	snprintf(name, sizeof name, "t%u", f->ntemps++);
	return jit_local(f, type, name);
}

Rvalue *jit_keep(JitFunction *f, Rvalue *value)
{
	Lvalue *temp = jit_temp(f, gcc_jit_rvalue_get_type(value));
	jit_set(f, temp, value);
	return gcc_jit_lvalue_as_rvalue(temp);
}

Rvalue *jit_select(JitFunction *f, Rvalue *cond, Rvalue *a, Rvalue *b)
{
	Lvalue *temp = jit_temp(f, gcc_jit_rvalue_get_type(a));
	jit_set(f, temp, b);
	JitBlock *after = jit_if(f, cond);
	jit_set(f, temp, a);
	jit_end_if(f, after);
	return gcc_jit_lvalue_as_rvalue(temp);
}

JitBlock *jit_if(JitFunction *f, Rvalue *cond)
{
	JitBlock *then = gcc_jit_function_new_block(f->function, NULL);
	JitBlock *after = gcc_jit_function_new_block(f->function, NULL);
	gcc_jit_block_end_with_conditional(f->block, f->location, cond, then, after);
	f->block = then;
	return after;
}

void jit_end_if(JitFunction *f, JitBlock *after)
{
	if (f->block)
		gcc_jit_block_end_with_jump(f->block, f->location, after);
	f->block = after;
}

void jit_return(JitFunction *f, Rvalue *value)
{
	if (value)
		gcc_jit_block_end_with_return(f->block, f->location, value);
	else
		gcc_jit_block_end_with_void_return(f->block, f->location);
	f->block = NULL;
}

JitLoop jit_loop(JitFunction *f, Lvalue *i, Rvalue *lo, Rvalue *hi, int64_t step)
{
	Rvalue *end = jit_keep(f, hi);
	JitLoop loop = {.i = i, .step = jit_long(f->jit, gcc_jit_rvalue_get_type(end), step)};
	jit_set(f, i, lo);
	loop.head = gcc_jit_function_new_block(f->function, NULL);
	JitBlock *body = gcc_jit_function_new_block(f->function, NULL);
	loop.after = gcc_jit_function_new_block(f->function, NULL);
	gcc_jit_block_end_with_jump(f->block, f->location, loop.head);
	gcc_jit_block_end_with_conditional(
		loop.head, f->location,
		jit_compare(f, GCC_JIT_COMPARISON_LT, gcc_jit_lvalue_as_rvalue(i), end), body,
		loop.after);
	f->block = body;
	return loop;
}

void jit_end_loop(JitFunction *f, const JitLoop *loop)
{
	gcc_jit_block_add_assignment_op(f->block, f->location, loop->i, GCC_JIT_BINARY_OP_PLUS,
					loop->step);
	gcc_jit_block_end_with_jump(f->block, f->location, loop->head);
	f->block = loop->after;
}
