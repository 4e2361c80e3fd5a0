/* Elements in memory: see element.h. */
#include "base/element.h"

#include <math.h>
#include <string.h>

static uint32_t float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static float bits_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

uint16_t bf16_bits(float value)
{
	uint32_t bits = float_bits(value);
	if (isnan(value))
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bf16_value(uint16_t bits)
{
	return bits_float((uint32_t)bits << 16);
}

uint16_t f16_bits(float value)
{
	uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff, half;
	if (isnan(value))
		half = 0x7e00 | (magnitude >> 13 & 0x3ff);
	else if (magnitude >= float_bits(65520.0f))
		half = 0x7c00;
	else if (magnitude < float_bits(0x1p-14f)) /* subnormal: a multiple of 2^-24 */
		half = (uint32_t)rintf(fabsf(value) * 0x1p24f);
	else
		half = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	return (uint16_t)((bits >> 16 & 0x8000) | half);
}

float f16_value(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16, e = bits >> 10 & 31, m = bits & 0x3ff;
	if (e == 0)
		return copysignf((float)m * 0x1p-24f, bits_float(sign));
	return bits_float(sign | (e == 31 ? 0xffu : e + 112) << 23 | m << 13);
}

/* A small float of 8 bits: so many of the fraction, of the exponent's bias. */
typedef struct Small {
	int fraction, bias;
	float most; /* what is more is this */
} Small;

static const Small e4m3 = {3, 7, 448}, e5m2 = {2, 15, INFINITY};

/* Magnitudes are multiples of the last place, which is that of the least normal number below it. */
static uint8_t small_bits(const Small *small, float value)
{
	uint8_t sign = (uint8_t)(signbit(value) ? 0x80 : 0);
	if (isnan(value))
		return sign | 0x7f;
	int e;
	float size = fminf(fabsf(value), small->most);
	if (isinf(size))
		return sign | 0x7c;
	frexpf(size, &e); /* size in [2^(e-1), 2^e) */
	int exponent = e - 1 + small->bias;
	exponent = exponent < 1 || size == 0 ? 1 : exponent;
	/* the fraction with its leading 1, which adds 1 to the exponent, as rounding up may */
	int units = (int)rintf(ldexpf(size, small->fraction + small->bias - exponent));
	int bits = ((exponent - 1) << small->fraction) + units;
	return sign | (uint8_t)(small == &e5m2 && bits > 0x7c ? 0x7c : bits);
}

static float small_value(const Small *small, uint8_t bits)
{
	int all = bits & 0x7f, e = all >> small->fraction, m = all - (e << small->fraction);
	float size = e == 0 ? (float)m : (float)(m + (1 << small->fraction));
	size = ldexpf(size, (e == 0 ? 1 : e) - small->bias - small->fraction);
	return bits & 0x80 ? -size : size;
}

uint8_t f8e4m3_bits(float value) { return small_bits(&e4m3, value); }

uint8_t f8e5m2_bits(float value) { return small_bits(&e5m2, value); }

float f8e4m3_value(uint8_t bits)
{
	return (bits & 0x7f) == 0x7f ? copysignf(NAN, bits & 0x80 ? -1.0f : 1.0f)
				     : small_value(&e4m3, bits);
}

float f8e5m2_value(uint8_t bits) { return f16_value((uint16_t)(bits << 8)); }

static int half_of(const void *bytes, int64_t at)
{
	return ((const uint8_t *)bytes)[at / 2] >> (at % 2 * 4) & 15;
}

static void set_half(void *bytes, int64_t at, unsigned half)
{
	uint8_t *byte = (uint8_t *)bytes + at / 2;
	unsigned shift = at % 2 * 4;
	*byte = (uint8_t)((*byte & 0xf0u >> shift) | half << shift);
}

Scalar scalar_read(Dtype dtype, const void *bytes, int64_t at)
{
	switch (dtype) {
	case DTYPE_F64: return (Scalar){.f = ((const double *)bytes)[at]};
	case DTYPE_F32: return (Scalar){.f = (double)((const float *)bytes)[at]};
	case DTYPE_BF16: return (Scalar){.f = (double)bf16_value(((const uint16_t *)bytes)[at])};
	case DTYPE_F16: return (Scalar){.f = (double)f16_value(((const uint16_t *)bytes)[at])};
	case DTYPE_F8E4M3: return (Scalar){.f = (double)f8e4m3_value(((const uint8_t *)bytes)[at])};
	case DTYPE_F8E5M2: return (Scalar){.f = (double)f8e5m2_value(((const uint8_t *)bytes)[at])};
	case DTYPE_I64: return (Scalar){.i = ((const int64_t *)bytes)[at]};
	case DTYPE_I32: return (Scalar){.i = ((const int32_t *)bytes)[at]};
	case DTYPE_I8: return (Scalar){.i = ((const int8_t *)bytes)[at]};
	case DTYPE_U8: return (Scalar){.i = ((const uint8_t *)bytes)[at]};
	case DTYPE_BOOL: return (Scalar){.i = ((const uint8_t *)bytes)[at] != 0};
	case DTYPE_I4: return (Scalar){.i = (half_of(bytes, at) ^ 8) - 8};
	case DTYPE_U4: return (Scalar){.i = half_of(bytes, at)};
	case DTYPE_U32: return (Scalar){.i = ((const uint32_t *)bytes)[at]};
	case DTYPE_U4X32: {
		const uint32_t *w = (const uint32_t *)bytes + 4 * at;
		return (Scalar){.w = {w[0], w[1], w[2], w[3]}};
	}
	default: return (Scalar){.i = 0};
	}
}

void scalar_write(Dtype dtype, void *bytes, int64_t at, Scalar value)
{
	switch (dtype) {
	case DTYPE_F64: ((double *)bytes)[at] = value.f; break;
	case DTYPE_F32: ((float *)bytes)[at] = (float)value.f; break;
	case DTYPE_BF16: ((uint16_t *)bytes)[at] = bf16_bits((float)value.f); break;
	case DTYPE_F16: ((uint16_t *)bytes)[at] = f16_bits((float)value.f); break;
	case DTYPE_F8E4M3: ((uint8_t *)bytes)[at] = f8e4m3_bits((float)value.f); break;
	case DTYPE_F8E5M2: ((uint8_t *)bytes)[at] = f8e5m2_bits((float)value.f); break;
	case DTYPE_I64: ((int64_t *)bytes)[at] = value.i; break;
	case DTYPE_I32: ((int32_t *)bytes)[at] = (int32_t)value.i; break;
	case DTYPE_I8: ((int8_t *)bytes)[at] = (int8_t)value.i; break;
	case DTYPE_U8: ((uint8_t *)bytes)[at] = (uint8_t)value.i; break;
	case DTYPE_BOOL: ((uint8_t *)bytes)[at] = value.i != 0; break;
	case DTYPE_I4:
	case DTYPE_U4: set_half(bytes, at, (unsigned)value.i & 15); break;
	case DTYPE_U32: ((uint32_t *)bytes)[at] = (uint32_t)value.i; break;
	case DTYPE_U4X32: memcpy((char *)bytes + 16 * at, value.w, sizeof value.w); break;
	default: break;
	}
}
