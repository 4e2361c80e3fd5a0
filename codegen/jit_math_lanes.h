/* Functions of math.h for vectors. */
#ifndef TSR_CODEGEN_JIT_MATH_LANES_H
#define TSR_CODEGEN_JIT_MATH_LANES_H

#include "codegen/jit_context.h"
#include "codegen/math.h"

/* Has the function a form for vectors on this target? One argument, f32. */
bool jit_math_has_lanes(Jit *jit, Op op, Dtype dtype);
/* Of n vectors of 2^log lanes, kept temporaries; requires jit_math_has_lanes and log > 1. */
void jit_math_lanes(JitFunction *f, Op op, int log, uint32_t n, Rvalue *const *args,
		    Rvalue **results);

#endif
