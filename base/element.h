/* One element of an array in memory, of any dtype. Small floats are kept as their bits: bf16 is the
 * upper half of an f32, f16 is IEEE 754 binary16; f8e4m3 and f8e5m2 are those of the Open Compute
 * Project's 8-bit formats, f8e4m3 without infinities and with one NaN of each sign, f8e5m2 as f16
 * with two bits of the fraction. */
#ifndef TSR_BASE_ELEMENT_H
#define TSR_BASE_ELEMENT_H

#include "base/ops.h"

/* To the nearest, ties to even; beyond the greatest finite number infinity; NaN stays one. */
uint16_t bf16_bits(float value);
uint16_t f16_bits(float value);
/* The value of the bits, exactly. */
float bf16_value(uint16_t bits);
float f16_value(uint16_t bits);
/* To the nearest, ties to even. Beyond the greatest number, 448, f8e4m3 stays there, infinities
 * too; f8e5m2 becomes infinite. */
uint8_t f8e4m3_bits(float value);
uint8_t f8e5m2_bits(float value);
/* The value of the bits, exactly. */
float f8e4m3_value(uint8_t bits);
float f8e5m2_value(uint8_t bits);

/* Element number `at` of any dtype. A value that is written is one of the dtype
 * (scalar_convert). Of i4 and u4 the neighbour that shares the byte stays.
 * Requires: the array has it. */
Scalar scalar_read(Dtype dtype, const void *bytes, int64_t at);
void scalar_write(Dtype dtype, void *bytes, int64_t at, Scalar value);

#endif
