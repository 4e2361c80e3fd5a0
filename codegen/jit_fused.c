/* Sums with a product, rounded once: which they are is decided here, on the values of the loop
 * IR, so that lanes, single elements and the rests of loops agree (jit_fused.h). */
#include "codegen/jit_fused.h"

#include "codegen/cpu.h"
#include "codegen/jit_function.h"

bool jit_fuses(const Jit *jit, Dtype dtype)
{
	return (jit->extras & CPU_FMA) && dtype_is_float(dtype) &&
	       !jit->module->emit->options->strict_fp;
}

static bool is_product(const Value *value)
{
	return value && value->kind == VALUE_OP && value->op == OP_MUL;
}

bool jit_fused(const Jit *jit, Op op, const Value *x, const Value *y, Fused *fused)
{
	if ((op != OP_ADD && op != OP_SUB) || !jit_fuses(jit, y->dtype))
		return false;
	bool right = is_product(y), minus = op == OP_SUB;
	if (!right && !is_product(x))
		return false;
	const Value *product = right ? y : x;
	*fused = (Fused){.a = product->args[0],
			 .b = product->args[1],
			 .rest = right ? x : y,
			 .signs = {right && minus, !right && minus}};
	return true;
}

static Rvalue *negated(JitFunction *f, Dtype dtype, bool minus, Rvalue *value)
{
	if (!minus)
		return value;
	return gcc_jit_context_new_unary_op(f->jit->ctxt, f->location, GCC_JIT_UNARY_OP_MINUS,
					    f->jit->types[dtype], value);
}

Rvalue *jit_fused_code(JitFunction *f, FusedSigns signs, Dtype dtype, int log,
		       Rvalue *const args[3])
{
	if (log)
		return simd_fused(f, (SimdType){dtype, log}, signs, args);
	Rvalue *all[] = {negated(f, dtype, signs.minus_product, args[0]), args[1],
			 negated(f, dtype, signs.minus_rest, args[2])};
	const char *name = dtype == DTYPE_F32 ? "fmaf" : "fma";
	return jit_keep(f, jit_call(f, jit_builtin(f->jit, name), all, 3));
}
