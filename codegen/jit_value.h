/* Scalar operations and conversions as libgccjit values: the meaning is base/ops.h's. Arguments
 * must be cheap to use twice: constants or kept temporaries. */
#ifndef TSR_CODEGEN_JIT_VALUE_H
#define TSR_CODEGEN_JIT_VALUE_H

#include "codegen/jit_context.h"
#include "codegen/jit_function.h"

/* The operation on op_arity(op) arguments of the type. */
Rvalue *jit_op(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args);
/* The same for vectors of 2^log lanes. Requires op_is_simple and a float type. `number`: by
 * argument, whether it is a constant other than zeros and NaN. */
Rvalue *jit_op_lanes(JitFunction *f, Op op, Dtype dtype, int log, Rvalue *const *args,
		     const bool *number);
Rvalue *jit_convert(JitFunction *f, Rvalue *value, Dtype from, Dtype to);
Rvalue *jit_constant(Jit *jit, Dtype dtype, Scalar constant);

#endif
