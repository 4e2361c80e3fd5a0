/* One element of an array in memory, of any dtype. bf16 and f16 are kept as their 16 bits: bf16 is
 * the upper half of an f32, f16 is IEEE 754 binary16. */
#ifndef TSR_BASE_ELEMENT_H
#define TSR_BASE_ELEMENT_H

#include "base/ops.h"

/* To the nearest, ties to even; beyond the greatest finite number infinity; NaN stays one. */
uint16_t bf16_bits(float value);
uint16_t f16_bits(float value);
float bf16_value(uint16_t bits);
float f16_value(uint16_t bits);

/* Element number `at` of any dtype. A value that is written is one of the dtype
 * (scalar_convert). */
Scalar scalar_read(Dtype dtype, const void *bytes, int64_t at);
void scalar_write(Dtype dtype, void *bytes, int64_t at, Scalar value);

#endif
