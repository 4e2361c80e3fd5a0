/* The sums of fused.h as libgccjit's code. */
#ifndef TSR_CODEGEN_JIT_FUSED_H
#define TSR_CODEGEN_JIT_FUSED_H

#include "codegen/jit_function.h"
#include "codegen/jit_simd.h"

/* (-)a*b + (-)rest of 2^log lanes (1: 0). */
Rvalue *jit_fused_code(JitFunction *f, FusedSigns signs, Dtype dtype, int log,
		       Rvalue *const args[3]);

#endif
