/* Scalar operations and conversions as libgccjit values: the meaning is base/ops.h's. Arguments
 * must be cheap to use twice: constants or kept temporaries. */
#ifndef TSR_CODEGEN_JIT_VALUE_H
#define TSR_CODEGEN_JIT_VALUE_H

#include "codegen/jit_context.h"

Rvalue *jit_op(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args);
Rvalue *jit_convert(JitFunction *f, Rvalue *value, Dtype from, Dtype to);
Rvalue *jit_constant(Jit *jit, Dtype dtype, Scalar constant);

#endif
