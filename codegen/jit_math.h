/* A function of math.h inline. Requires math_has(op, dtype). */
#ifndef TSR_CODEGEN_JIT_MATH_H
#define TSR_CODEGEN_JIT_MATH_H

#include "codegen/jit_function.h"
#include "codegen/jit_fused.h"
#include "codegen/math.h"

/* The function of the arguments. */
Rvalue *jit_math_steps(JitFunction *f, const MathFunction *fn, Rvalue *const *args);
Rvalue *jit_math(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args);

#endif
