/* Sums with a product, rounded once. Where the target has the instruction and arithmetic is not
 * strict, a*b + c, c - a*b and a*b - c of f32 and f64 are one operation wherever they stand: in
 * lanes and in single elements, in the rest of a loop as in its vectors. GCC contracts nothing, so
 * the bits of a sum do not depend on what it makes of a loop. A product inside a function such as
 * exp belongs to that function alone. */
#ifndef TSR_CODEGEN_JIT_FUSED_H
#define TSR_CODEGEN_JIT_FUSED_H

#include "codegen/jit_function.h"
#include "codegen/jit_simd.h"
#include "loops/loops.h"

typedef struct Fused {
	const Value *a, *b;
	const Value *rest; /* NULL: what is accumulated into */
	FusedSigns signs;
} Fused;

/* Does the target have the instruction for this type, and may it be used? */
bool jit_fuses(const Jit *jit, Dtype dtype);
/* Is `x op y` a sum with a product? x == NULL: the element of an accumulation. Of two products the
 * right one is not rounded. */
bool jit_fused(const Jit *jit, Op op, const Value *x, const Value *y, Fused *fused);
/* (-)a*b + (-)rest of 2^log lanes (1: 0). */
Rvalue *jit_fused_code(JitFunction *f, FusedSigns signs, Dtype dtype, int log,
		       Rvalue *const args[3]);

#endif
