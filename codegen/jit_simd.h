/* What vectors need and libgccjit has no word for: comparisons, choices, extremes, roots and
 * turned blocks, as inline assembly of the target's vector instructions. Arguments are kept
 * temporaries of 2^log lanes of f32 or f64, at least 16 bytes. */
#ifndef TSR_CODEGEN_JIT_SIMD_H
#define TSR_CODEGEN_JIT_SIMD_H

#include "codegen/jit_context.h"

typedef struct SimdType {
	Dtype dtype;
	int log;
} SimdType;

/* A mask: on AVX-512 one bit a lane, else a vector of integers, all ones where the comparison
 * holds. Masks may be combined by bitwise operations. */
Rvalue *simd_compare(JitFunction *f, SimdType type, enum gcc_jit_comparison op, Rvalue *a,
		     Rvalue *b);
/* mask ? a : b */
Rvalue *simd_choose(JitFunction *f, SimdType type, Rvalue *mask, Rvalue *a, Rvalue *b);
/* a > b ? a : b, with `less` a < b ? a : b: b also where either is no number. */
Rvalue *simd_extreme(JitFunction *f, SimdType type, bool less, Rvalue *a, Rvalue *b);
/* (-)a*b + (-)c, rounded once. Requires CPU_FMA. */
Rvalue *simd_fused(JitFunction *f, SimdType type, bool minus_product, bool minus_c,
		   Rvalue *const args[3]);
Rvalue *simd_root(JitFunction *f, SimdType type, Rvalue *a);
/* Lanes of a type of storage, in memory as one variable, widened to `type`; NULL where no
 * instruction does it. */
Rvalue *simd_widen(JitFunction *f, SimdType type, Dtype from, Lvalue *lanes);
/* a + b, a - b, a * b of integers, which wrap. */
Rvalue *simd_wrapping(JitFunction *f, SimdType type, Op op, Rvalue *a, Rvalue *b);
Rvalue *simd_spread(JitFunction *f, SimdType type, Rvalue *element);

#endif
