/* What tensor cores compute, apart from who holds which element. */
#ifndef TSR_PTX_MATRIX_H
#define TSR_PTX_MATRIX_H

#include "test/ptx/code.h"

/* c plus n products, as tensor cores were measured to add on an H100 (mma.sync and wgmma of bf16 and tf32 alike): all
 * terms are aligned to the largest exponent E of any, cut toward zero below 2^(E - 25), added exactly, and the sum
 * is cut toward zero to f32. Where a term is infinite or NaN, so is the sum. Requires: products are exact. */
float ptx_tensor_sum(const double *products, int n, float c);
/* An element of an operand: tf32 is what the upper 19 bits of an f32 say. */
double ptx_tensor_element(PtxType type, uint64_t bits);

#endif
