/* Rounding to formats of few bits, and cvt. */
#include "test/ptx/number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* A format of floating-point numbers: bits of the fraction, the least exponent of a normal number, the largest number,
 * and what stands for infinity (0: there is none) and NaN. */
typedef struct Format {
	int fraction, least, bits;
	double largest;
	uint32_t infinity, nan;
} Format;

static const Format format_f16 = {10, -14, 16, 65504, 0x7c00, 0x7fff};
static const Format format_bf16 = {7, -126, 16, 0x1.fep127, 0x7f80, 0x7fff};
static const Format format_tf32 = {10, -126, 32, 0x1.ffcp127, 0x7f800000, 0x7fffffff};
static const Format format_e4m3 = {3, -6, 8, 448, 0, 0x7f};
static const Format format_e5m2 = {2, -14, 8, 57344, 0x7c, 0x7f};
static const Format format_f32 = {23, -126, 32, FLT_MAX, 0x7f800000, 0x7fffffff};

static const Format *format_of(PtxType type)
{
	switch (type) {
	case TYPE_f16: return &format_f16;
	case TYPE_bf16: return &format_bf16;
	case TYPE_tf32: return &format_tf32;
	case TYPE_e4m3x2: return &format_e4m3;
	case TYPE_e5m2x2: return &format_e5m2;
	default: return &format_f32;
	}
}

double ptx_whole(double x, unsigned flags)
{
	if (flags & FLAG_RZ)
		return trunc(x);
	if (flags & FLAG_RM)
		return floor(x);
	if (flags & FLAG_RP)
		return ceil(x);
	if (flags & FLAG_RNA)
		return round(x);
	double even = round(x); /* away from zero at ties, of which every other one is taken back */
	return fabs(even - x) == 0.5 && fmod(even, 2) != 0 ? even - copysign(1, x) : even;
}

/* The position of the fraction's bits in the type's own. */
static int low_bits(PtxType type) { return type == TYPE_tf32 ? 13 : 0; }

static uint64_t encode(PtxType type, double x)
{
	const Format *f = format_of(type);
	uint64_t sign = signbit(x) ? UINT64_C(1) << (f->bits - 1) : 0;
	int exponent;
	double fraction = frexp(fabs(x), &exponent); /* in [1/2, 1) */
	exponent = fraction == 0 || exponent - 1 < f->least ? f->least : exponent - 1;
	uint64_t whole = (uint64_t)ldexp(fabs(x), f->fraction - exponent);
	uint64_t hidden = UINT64_C(1) << f->fraction;
	uint64_t biased = whole < hidden ? 0 : (uint64_t)(exponent - f->least + 1);
	return sign | (biased << f->fraction | (whole & (hidden - 1))) << low_bits(type);
}

/* What stands for a number beyond the largest one. */
static uint64_t beyond(PtxType type, double x, unsigned flags)
{
	const Format *f = format_of(type);
	bool cut = flags & FLAG_FINITE || flags & FLAG_RZ || (flags & FLAG_RM && x > 0) ||
		   (flags & FLAG_RP && x < 0);
	if (f->infinity == 0 || (cut && (isfinite(x) || flags & FLAG_FINITE)))
		return encode(type, copysign(f->largest, x));
	return (signbit(x) ? UINT64_C(1) << (f->bits - 1) : 0) | f->infinity;
}

uint64_t ptx_number_bits(PtxType type, double x, unsigned flags)
{
	const Format *f = format_of(type);
	if (flags & FLAG_RELU && !(x > 0) && x == x)
		x = 0;
	if (type == TYPE_f64)
		return ptx_f64_bits(x);
	if (isnan(x))
		return f->nan;
	if (type == TYPE_f32 && !(flags & (FLAG_RZ | FLAG_RM | FLAG_RP | FLAG_RNA)))
		return ptx_f32_bits((float)x);
	if (isinf(x))
		return beyond(type, x, flags);
	int exponent;
	frexp(x, &exponent);
	exponent = exponent - 1 < f->least ? f->least : exponent - 1;
	int unit = exponent - f->fraction; /* the exponent of the last bit that is kept */
	double rounded = ldexp(ptx_whole(ldexp(x, -unit), flags), unit);
	return fabs(rounded) > f->largest ? beyond(type, x, flags) : encode(type, rounded);
}

static double decode(PtxType type, uint64_t bits)
{
	const Format *f = format_of(type);
	bits = (bits & ((UINT64_C(1) << f->bits) - 1));
	bool negative = bits >> (f->bits - 1);
	uint64_t size = bits & ((UINT64_C(1) << (f->bits - 1)) - 1);
	if (f->infinity ? size >= f->infinity : size == f->nan)
		return f->infinity && size == f->infinity ? (negative ? -INFINITY : INFINITY) : NAN;
	size >>= low_bits(type);
	uint64_t hidden = UINT64_C(1) << f->fraction, biased = size >> f->fraction;
	double whole = (double)((size & (hidden - 1)) | (biased ? hidden : 0));
	double x = ldexp(whole, f->least - f->fraction + (biased ? (int)biased - 1 : 0));
	return negative ? -x : x;
}

double ptx_number(PtxType type, uint64_t bits)
{
	switch (type) {
	case TYPE_f32: return ptx_f32(bits);
	case TYPE_f64: return ptx_f64(bits);
	case TYPE_s8: return (int8_t)bits;
	case TYPE_s16: return (int16_t)bits;
	case TYPE_s32: return (int32_t)bits;
	case TYPE_s64: return (double)(int64_t)bits;
	case TYPE_u8: return (uint8_t)bits;
	case TYPE_u16: return (uint16_t)bits;
	case TYPE_u32: return (uint32_t)bits;
	case TYPE_u64: return (double)bits;
	default: return decode(type, bits);
	}
}

uint64_t ptx_flush(uint64_t bits)
{
	return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits & 0xffffffff;
}

static int bits_of(PtxType type) { return 8 * ptx_type_bytes(type); }

/* The integer in the type's range that is nearest. */
static uint64_t clamp(PtxType type, __int128 x)
{
	int bits = bits_of(type) - ptx_type_signed(type);
	__int128 most = ((__int128)1 << bits) - 1, least = ptx_type_signed(type) ? -most - 1 : 0;
	return (uint64_t)(x > most ? most : x < least ? least : x);
}

static __int128 integer(PtxType type, uint64_t bits)
{
	int above = 64 - bits_of(type);
	return ptx_type_signed(type) ? (__int128)((int64_t)(bits << above) >> above)
				     : (__int128)(bits << above >> above);
}

static uint64_t to_integer(const PtxInstr *in, double x)
{
	if (x != x)
		return in->from != TYPE_f64 && ptx_type_bytes(in->type) < 8
			       ? 0
			       : UINT64_C(1) << (bits_of(in->type) - 1);
	x = ptx_whole(x, in->flags);
	if (fabs(x) >= 0x1p100)
		x = copysign(0x1p100, x);
	return clamp(in->type, (__int128)x);
}

/* Integers of 64 bits are rounded once, by the float that is asked for. */
static uint64_t from_integer(const PtxInstr *in, __int128 x)
{
	bool nearest = !(in->flags & (FLAG_RZ | FLAG_RM | FLAG_RP));
	if (in->type == TYPE_f64)
		return ptx_f64_bits((double)x);
	if (in->type == TYPE_f32 && nearest)
		return ptx_f32_bits((float)x);
	return ptx_number_bits(in->type, (double)x, in->flags);
}

static uint64_t to_float(const PtxInstr *in, uint64_t bits)
{
	double x = ptx_number(in->from, bits);
	if (in->flags & FLAG_WHOLE)
		x = ptx_whole(x, in->flags);
	if (in->flags & FLAG_SAT)
		x = x > 0 ? fmin(x, 1) : 0;
	return ptx_number_bits(in->type, x, in->flags & FLAG_WHOLE ? 0 : in->flags);
}

static uint64_t packed(const PtxInstr *in, uint64_t a, uint64_t b)
{
	PtxType one = in->type == TYPE_f16x2	? TYPE_f16
		      : in->type == TYPE_bf16x2 ? TYPE_bf16
						: (PtxType)in->type;
	int bits = in->type == TYPE_f16x2 || in->type == TYPE_bf16x2 ? 16 : 8;
	uint64_t high = ptx_number_bits(one, ptx_f32(a), in->flags);
	return high << bits | ptx_number_bits(one, ptx_f32(b), in->flags);
}

/* e4m3x2 and e5m2x2 to f16x2. */
static uint64_t unpacked(const PtxInstr *in, uint64_t a)
{
	uint64_t low = ptx_number_bits(TYPE_f16, decode(in->from, a & 0xff), in->flags);
	return ptx_number_bits(TYPE_f16, decode(in->from, a >> 8 & 0xff), in->flags) << 16 | low;
}

static uint64_t convert(const PtxInstr *in, uint64_t a, uint64_t b)
{
	if (in->from == TYPE_e4m3x2 || in->from == TYPE_e5m2x2)
		return unpacked(in, a);
	if (in->type == TYPE_f16x2 || in->type == TYPE_bf16x2 || in->type == TYPE_e4m3x2 ||
	    in->type == TYPE_e5m2x2)
		return packed(in, a, b);
	if (ptx_type_float(in->from))
		return ptx_type_float(in->type) ? to_float(in, a)
						: to_integer(in, ptx_number(in->from, a));
	__int128 x = integer(in->from, a);
	if (ptx_type_float(in->type))
		return from_integer(in, x);
	x = in->flags & FLAG_SAT ? (__int128)clamp(in->type, x) : x;
	return (uint64_t)integer(in->type, (uint64_t)x);
}

uint64_t ptx_convert(const PtxInstr *in, uint64_t a, uint64_t b)
{
	if (in->flags & FLAG_FTZ && in->from == TYPE_f32) {
		a = ptx_flush(a);
		b = ptx_flush(b);
	}
	uint64_t x = convert(in, a, b);
	if (in->flags & FLAG_FTZ && in->type == TYPE_f32)
		x = ptx_flush(x);
	return in->width >= 8 ? x : x & ((UINT64_C(1) << 8 * in->width) - 1);
}
