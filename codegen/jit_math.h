/* A function of math.h inline. Requires math_has(op, dtype). */
#ifndef TSR_CODEGEN_JIT_MATH_H
#define TSR_CODEGEN_JIT_MATH_H

#include "codegen/jit_function.h"
#include "codegen/jit_fused.h"
#include "codegen/math.h"

/* A sum with a product among the steps: (-)a*b + (-)rest, by the numbers of steps. Of two products
 * the right one is not rounded. False: it is none, or is rounded twice. */
typedef struct FusedStep {
	uint32_t a, b, rest;
	FusedSigns signs;
} FusedStep;
bool jit_fused_step(const Jit *jit, const MathFunction *fn, const MathStep *sum, FusedStep *fused);
/* The function of the arguments. */
Rvalue *jit_math_steps(JitFunction *f, const MathFunction *fn, Rvalue *const *args);
Rvalue *jit_math(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args);

#endif
