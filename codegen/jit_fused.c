#include "codegen/jit_fused.h"

#include "codegen/jit_function.h"

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
