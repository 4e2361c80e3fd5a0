/* Sums with a product, rounded once. Where the target has the instruction and arithmetic is not
 * strict, a*b + c, c - a*b and a*b - c of f32 and f64 are one operation wherever they stand: in
 * lanes and in single elements, in the rest of a loop as in its vectors, in machine code and in C.
 * Compilers contract nothing, so the bits of a sum do not depend on what they make of a loop. A product
 * inside a function such as exp belongs to that function alone. */
#ifndef TSR_CODEGEN_FUSED_H
#define TSR_CODEGEN_FUSED_H

#include "codegen/math.h"
#include "codegen/module.h"

typedef struct FusedSigns {
	bool minus_product, minus_rest; /* one of them at most */
} FusedSigns;

/* (-)a*b + (-)rest */
typedef struct Fused {
	const Value *a, *b;
	const Value *rest; /* NULL: what is accumulated into */
	FusedSigns signs;
} Fused;

/* ... by the numbers of steps */
typedef struct FusedStep {
	uint32_t a, b, rest;
	FusedSigns signs;
} FusedStep;

/* Does the target have the instruction? Every GPU has. */
bool module_has_fused(const Module *module);
/* ... for this type, and may it be used? */
bool module_fuses(const Module *module, Dtype dtype);
/* Is `x op y` a sum with a product? x == NULL: the element of an accumulation. Of two products the
 * right one is not rounded. */
bool find_fused(const Module *module, Op op, const Value *x, const Value *y, Fused *fused);
/* ... the sum of two steps of a function? */
bool find_fused_step(const Module *module, const MathFunction *fn, const MathStep *sum,
		     FusedStep *fused);
/* By step: is its value asked for? Not that of a product that is rounded with all its sums. */
const bool *fused_steps_read(const Module *module, const MathFunction *fn);

#endif
