/* Streaming stores: a loop of one is a call of a function of the module.
 *
 *   void PREFIX__stream(char *to, const char *from, int64_t bytes)
 *   {
 *       if (bytes <= 0) return;
 *       int64_t i = min(-to & 63, bytes);              up to the first line
 *       memcpy(to, from, i);
 *       for (; i < bytes - 63; i += 64)
 *           four times: movups 16 bytes of from + i; movntps to + i
 *       memcpy(to + i, from + i, bytes - i);
 *   }
 *
 * Memory delivers a line more slowly than four such stores fill it. A function that has streamed ends with `sfence`.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_parts.h"
#include "codegen/streams.h"

enum { STREAM_LINE = 64 };

static const JitParam *stream_params(Jit *jit)
{
	JitParam *params = ARENA_ARRAY(jit->arena, JitParam, 3);
	params[0] = (JitParam){jit->pointer, "to"};
	params[1] = (JitParam){jit->pointer, "from"};
	params[2] = (JitParam){jit->i64, "bytes"};
	return params;
}

static const char *stream_name(Jit *jit)
{
	return arena_printf(jit->arena, "%s__stream", jit->module->prefix);
}

static bool is_for_arm(const Jit *jit)
{
	return features_are_arm(jit->module->program->options.target->features);
}

/* ---- in kernels ---- */

void jit_stream_copy(JitFunction *f, Rvalue *to, Rvalue *from, Rvalue *bytes)
{
	Jit *jit = f->jit;
	Rvalue *args[] = {jit_cast(jit, to, jit->pointer), jit_cast(jit, from, jit->pointer),
			  bytes};
	gcc_jit_function *function =
		jit_import(jit, jit->void_, stream_name(jit), stream_params(jit), 3);
	gcc_jit_block_add_eval(f->block, f->location, jit_call(f, function, args, 3));
}

void jit_stream_end(JitFunction *f)
{
	if (is_for_arm(f->jit))
		return;
	gcc_jit_extended_asm *fence =
		gcc_jit_block_add_extended_asm(f->block, f->location, "sfence");
	gcc_jit_extended_asm_set_volatile_flag(fence, 1);
	gcc_jit_extended_asm_add_clobber(fence, "memory");
}

/* ---- the function ---- */

static void copy_bytes(JitFunction *f, Rvalue *at, Rvalue *bytes)
{
	Jit *jit = f->jit;
	gcc_jit_function *copy = jit_builtin(jit, "memcpy");
	Rvalue *args[] = {jit_offset(f, jit_param(f, 0), at, jit->pointer),
			  jit_offset(f, jit_param(f, 1), at, jit->pointer), bytes};
	for (int i = 0; i < 3; i++) {
		Rvalue *param = gcc_jit_param_as_rvalue(gcc_jit_function_get_param(copy, i));
		args[i] = jit_cast(jit, args[i], gcc_jit_rvalue_get_type(param));
	}
	gcc_jit_block_add_eval(f->block, NULL, jit_call(f, copy, args, 3));
}

static void copy_line(JitFunction *f, Rvalue *at)
{
	static const char *const registers[] = {"xmm0", "xmm1", "xmm2", "xmm3", "memory"};
	Jit *jit = f->jit;
	Rvalue *to = jit_keep(f, jit_offset(f, jit_param(f, 0), at, jit->pointer));
	Rvalue *from = jit_keep(f, jit_offset(f, jit_param(f, 1), at, jit->pointer));
	gcc_jit_extended_asm *line = gcc_jit_block_add_extended_asm(
		f->block, NULL,
		"movups (%1), %%xmm0\n\tmovups 16(%1), %%xmm1\n\tmovups 32(%1), %%xmm2\n\tmovups 48(%1), %%xmm3\n\t"
		"movntps %%xmm0, (%0)\n\tmovntps %%xmm1, 16(%0)\n\tmovntps %%xmm2, 32(%0)\n\tmovntps %%xmm3, 48(%0)");
	gcc_jit_extended_asm_set_volatile_flag(line, 1);
	gcc_jit_extended_asm_add_input_operand(line, NULL, "r", to);
	gcc_jit_extended_asm_add_input_operand(line, NULL, "r", from);
	for (int i = 0; i < 5; i++)
		gcc_jit_extended_asm_add_clobber(line, registers[i]);
}

/* The bytes in front of the first whole line, of `bytes` at most. */
static Rvalue *bytes_before(JitFunction *f, Rvalue *bytes)
{
	Jit *jit = f->jit;
	Rvalue *number = gcc_jit_context_new_bitcast(jit->ctxt, NULL, jit_param(f, 0), jit->i64);
	Rvalue *back = gcc_jit_context_new_unary_op(jit->ctxt, NULL, GCC_JIT_UNARY_OP_MINUS,
						    jit->i64, number);
	Rvalue *before = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, back,
						jit_long(jit, jit->i64, STREAM_LINE - 1)));
	return jit_select(f, jit_compare(f, GCC_JIT_COMPARISON_LT, before, bytes), before, bytes);
}

void jit_stream_function(Jit *jit)
{
	bool arm = is_for_arm(jit);
	if (!module_has_streams(jit->module))
		return;
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->void_, stream_name(jit),
				     stream_params(jit), 3);
	Rvalue *bytes = jit_param(&f, 2), *zero = jit_long(jit, jit->i64, 0);
	JitBlock *none = jit_if(&f, jit_compare(&f, GCC_JIT_COMPARISON_GT, bytes, zero));
	Rvalue *before = arm ? zero : bytes_before(&f, bytes);
	Lvalue *i = jit_local(&f, jit->i64, "i");
	if (!arm) {
		copy_bytes(&f, zero, before);
		Rvalue *end = jit_binary(&f, GCC_JIT_BINARY_OP_MINUS, bytes,
					 jit_long(jit, jit->i64, STREAM_LINE - 1));
		JitLoop lines = jit_loop(&f, i, before, end, STREAM_LINE);
		copy_line(&f, gcc_jit_lvalue_as_rvalue(i));
		jit_end_loop(&f, &lines);
		before = gcc_jit_lvalue_as_rvalue(i);
	}
	copy_bytes(&f, before, jit_binary(&f, GCC_JIT_BINARY_OP_MINUS, bytes, before));
	jit_end_if(&f, none);
	jit_return(&f, NULL);
}
