/* Functions of math.h for vectors. */
#ifndef TSR_CODEGEN_JIT_MATH_LANES_H
#define TSR_CODEGEN_JIT_MATH_LANES_H

#include "codegen/jit_context.h"
#include "codegen/jit_function.h"
#include "codegen/math.h"

/* Has the function a form for vectors on this target? One argument, f32. */
bool jit_math_has_lanes(Jit *jit, Op op, Dtype dtype);
/* Of n vectors of 2^log lanes, kept temporaries; requires jit_math_has_lanes and log > 1. */
void jit_math_lanes(JitFunction *f, Op op, int log, uint32_t n, Rvalue *const *args,
		    Rvalue **results);
/* Is the small float widened by math_widen's steps in lanes? They are integer arithmetic and a
 * difference, which every target with instructions that widen bytes has. */
bool jit_widens_by_steps(const Jit *jit, Dtype from);
/* 2^log such elements in memory as f32; requires log > 1. */
Rvalue *jit_widen_by_steps(JitFunction *f, Dtype from, int log, Lvalue *lanes);

#endif
