/* A function of math.h inline. Requires math_has(op, dtype). */
#ifndef TSR_CODEGEN_JIT_MATH_H
#define TSR_CODEGEN_JIT_MATH_H

#include "codegen/jit_context.h"

Rvalue *jit_math(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args);

#endif
