/* Numbers as bits of registers, and rounded to any of the formats of PTX. */
#ifndef TSR_PTX_NUMBER_H
#define TSR_PTX_NUMBER_H

#include <stdint.h>
#include <string.h>

#include "test/ptx/code.h"

static inline float ptx_f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float x;
	memcpy(&x, &low, sizeof x);
	return x;
}

static inline double ptx_f64(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* NaN has one form. */
static inline uint64_t ptx_f32_bits(float x)
{
	uint32_t bits = 0x7fffffff;
	if (x == x)
		memcpy(&bits, &x, sizeof bits);
	return bits;
}

static inline uint64_t ptx_f64_bits(double x)
{
	uint64_t bits = UINT64_C(0x7fffffffffffffff);
	if (x == x)
		memcpy(&bits, &x, sizeof bits);
	return bits;
}

/* A number of a type of at most 64 bits that is no packed one; NaN as it is. */
double ptx_number(PtxType type, uint64_t bits);
/* x rounded once to f16, bf16, tf32, f32 or f64, or to one number of e4m3x2 or e5m2x2, as the flags FLAG_RN to FLAG_RNA
 * (none: as FLAG_RN), FLAG_RELU and FLAG_FINITE say. */
uint64_t ptx_number_bits(PtxType type, double x, unsigned flags);
/* An integer near x, in the direction that FLAG_RN to FLAG_RP say. */
double ptx_whole(double x, unsigned flags);
/* Zero of the same sign for a number below all normal ones of f32. */
uint64_t ptx_flush(uint64_t bits);
/* a of type instr->from as one of type instr->type; b: the second operand of packed types. */
uint64_t ptx_convert(const PtxInstr *instr, uint64_t a, uint64_t b);

#endif
