/* The formulas of math.h for f32.
 *
 *   exp(x)   = 2^n exp(r), n = round(x/ln2), r = x - n ln2 in two parts, exp(r) = 1 + r + r^2 P(r)
 *   log(x)   = k ln2 + log(1 + f), x = 2^k (1 + f), 1 + f in [2/3, 4/3)
 *   tanh(x)  = e/(e + 2), e = exp(2|x|) - 1, with the sign of x
 *   erf(x)   = x + x P(x^2) below 1, 1 - exp(P(x)) above, with the sign of x
 *   gelu(x)  = max(x, 0) - a 2^(a P(a)) / 2, the power being erfc(a/sqrt2), a = |x| or 0 from 9 on
 *   pow(x,y) = 2^(y log2|x|), in double; then the special cases of C
 *
 * Rounding to an integer adds 1.5 * 2^23, which leaves the integer in the low bits (2^52 for
 * double); with the exponent of 1 added too, a shift makes them the power of two.
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

enum { ONE = 127 }; /* the exponent of 1 */

/* Results that underflow, to 0 too, take processors of Intel a microcode assist of some 150 cycles,
 * overflow and operations on 0, infinities and NaN none (Optimization Reference Manual,
 * Floating-point Exceptions in SSE/SSE2/SSE3 Code). Masks make many zeros. So a power with n < LEAST,
 * less than 2^-149.5, is a product with an exact 0. */
enum { LEAST = -149, BELOW = LEAST - 2, UNIT_LOG = 2 * ONE + BELOW };
#define POW_LEAST 0x1.0000000000001p-150 /* the least double that does not become an f32 of 0 */

/* ---- powers ---- */

/* x = n ln2 + high - low, with the integer n + bias in the low bits of `rounded`. */
typedef struct Reduced {
	V rounded, n, high, low, rest; /* rest = high - low */
} Reduced;

static Reduced reduce_ln2(Make *m, V x, int bias)
{
	Reduced r;
	r.rounded = plus(m, times(m, x, LOG2E), ROUND32 + bias);
	r.n = plus(m, r.rounded, -(ROUND32 + bias));
	r.high = sub(m, x, times(m, r.n, 0x1.62e4p-1)); /* exact: 14 bits times 8 */
	r.low = times(m, r.n, 0x1.7f7d1cp-20);
	r.rest = sub(m, r.high, r.low);
	return r;
}

/* exp(high - low) - 1, small ones too to the last digit */
static V reduced_expm1(Make *m, const Reduced *r)
{
	V poly = POLYNOMIAL(m, r->rest, poly_expm1);
	V tail = sub(m, mul(m, mul(m, r->rest, r->rest), poly), r->low);
	return add(m, r->high, tail);
}

/* 2^n for n in [-126, 127] and 0 for -127, where the low bits hold n + ONE. */
static V power_of_two(Make *m, V n)
{
	return bits(m, shift(m, MATH_SHL, n, 23), DTYPE_F32);
}

/* x, for whose power both factors of `scale` are numbers */
static V at_least_scaled(Make *m, V x, double least)
{
	return m->form.scales ? x : at_least(m, x, least);
}

/* In vectors of AVX-512? There x needs no upper bound: far above, what stands for exp(r) or 2^r is
 * positive or NaN, a polynomial of even degree without zeros, and SCALE makes both infinite. */
static bool scales_fused(const Make *m) { return m->form.scales && m->form.fused; }

static V at_most_scaled(Make *m, V x, double most)
{
	return scales_fused(m) ? x : at_most(m, x, most);
}

/* What `scale` takes as 1: the product of its two factors is 2^(n - UNIT_LOG). */
static double unit_of(const Make *m) { return m->form.scales ? 1 : ldexp(1, UNIT_LOG); }

static V scaled(Make *m, V a, V n, double least)
{
	return push(
		m,
		(MathStep){.code = MATH_SCALE, .dtype = DTYPE_F32, .arg = {a, n}, .number = least});
}

/* a 2^n, in two factors, so that results that overflow or are subnormal are rounded once, of which
 * one is 0 for n in BELOW..LEAST - 1. The low bits of `rounded` hold n - BELOW. */
static V scale(Make *m, V a, V rounded, V n)
{
	if (m->form.scales)
		return scaled(m, a, n, LEAST);
	V both = bits(m, rounded, DTYPE_I32);
	V half = shift(m, MATH_SHR, both, 1);
	return mul(m, mul(m, a, power_of_two(m, half)), power_of_two(m, sub(m, both, half)));
}

/* exp(r) unit = unit + r (unit + r unit P(r)) where products are not rounded, else
 * (1 + (r + r^2 P(r))) unit: a rounded r (1 + ..) would be an ulp off. */
static V reduced_exp(Make *m, V r, double unit)
{
	if (m->form.fused) {
		V poly = SCALED(m, r, poly_exp, unit);
		return plus(m, mul(m, plus(m, mul(m, poly, r), unit), r), unit);
	}
	V poly = POLYNOMIAL(m, r, poly_exp);
	V value = plus(m, add(m, mul(m, mul(m, r, r), poly), r), 1);
	return unit == 1 ? value : times(m, value, unit);
}

/* exp(x) in vectors of AVX-512, without comparisons, which some processors make in the units that
 * multiply. 2^104 n takes the place of n: as (n - 2^24 + 150) 2^104 it is rounded to a whole n too,
 * and overflows to -infinity where n < LEAST, for which SCALE gives 0 unless exp(r) is infinite: so
 * r has a bound. */
static V exp_scaled(Make *m, V x)
{
	const int up = 104;
	const double from = ldexp(0x1p24 + LEAST - 1, up);
	V n = plus(m, plus(m, times(m, x, ldexp(LOG2E, up)), -from), from);
	V high = sub(m, x, times(m, n, ldexp(0x1.62e4p-1, -up)));
	V rest = sub(m, high, times(m, n, ldexp(0x1.7f7d1cp-20, -up)));
	V value = reduced_exp(m, at_most(m, rest, 1), 1);
	n = scaled(m, n, number(m, DTYPE_F32, -up), -(double)INFINITY);
	return scaled(m, value, n, -(double)INFINITY);
}

/* exp(x) for x <= 89 */
static V exp_below(Make *m, V x)
{
	if (scales_fused(m))
		return exp_scaled(m, x);
	Reduced r = reduce_ln2(m, at_least_scaled(m, x, -104.5), -BELOW);
	return scale(m, reduced_exp(m, r.rest, unit_of(m)), r.rounded, r.n);
}

static V exp_of(Make *m, V x) { return exp_below(m, at_most_scaled(m, x, 89)); }

/* ... for x in [-87, 88] */
static V exp_within(Make *m, V x)
{
	Reduced r = reduce_ln2(m, x, ONE);
	return mul(m, reduced_exp(m, r.rest, 1), power_of_two(m, bits(m, r.rounded, DTYPE_I32)));
}

static V exp2_of(Make *m, V x)
{
	x = at_least_scaled(m, at_most_scaled(m, x, 129), BELOW);
	V rounded = plus(m, x, ROUND32 - BELOW);
	V n = plus(m, rounded, -(ROUND32 - BELOW));
	V r = sub(m, x, n);
	double unit = unit_of(m);
	V value = plus(m, mul(m, r, SCALED(m, r, poly_exp2, unit)), unit);
	return scale(m, value, rounded, n);
}

V math_expm1_single(Make *m, V x, int less)
{
	Reduced r = reduce_ln2(m, x, ONE - less);
	V power = power_of_two(m, bits(m, r.rounded, DTYPE_I32));
	return add(m, mul(m, reduced_expm1(m, &r), power), plus(m, power, -ldexp(1, -less)));
}

V math_exp_single(Make *m, V x, int less)
{
	Reduced r = reduce_ln2(m, x, ONE - less);
	V power = power_of_two(m, bits(m, r.rounded, DTYPE_I32));
	return mul(m, reduced_exp(m, r.rest, 1), power);
}

V math_exp(Make *m, V x)
{
	return type_of(m, x) == DTYPE_F64 ? math_exp_of_double(m, x) : exp_below(m, x);
}

static V tanh_of(Make *m, V x)
{
	V a = at_most(m, magnitude(m, x), 9.125); /* from here on the nearest number is 1 */
	Reduced r = reduce_ln2(m, add(m, a, a), ONE);
	V e = reduced_expm1(m, &r);
	V power = power_of_two(m, bits(m, r.rounded, DTYPE_I32));
	e = add(m, mul(m, e, power), plus(m, power, -1));
	return with_sign(m, binary(m, MATH_DIV, e, plus(m, e, 2)), x);
}

/* e/(1 + e) or 1/(1 + e), e = exp(-|x|): small results keep their digits. */
static V sigmoid_of(Make *m, V x)
{
	V sign = binary(m, MATH_OR, bits(m, x, DTYPE_I32), integer(m, DTYPE_I32, SIGN32));
	V e = exp_below(m, bits(m, sign, DTYPE_F32));
	V top = less(m, x, number(m, DTYPE_F32, 0), e, number(m, DTYPE_F32, 1));
	return binary(m, MATH_DIV, top, plus(m, e, 1));
}

static V erf_of(Make *m, V x)
{
	V a = magnitude(m, x), one = number(m, DTYPE_F32, 1);
	V small = add(m, a, mul(m, a, POLYNOMIAL(m, mul(m, a, a), poly_erf)));
	V c = at_most(m, a, 4);
	V large = sub(m, one, exp_within(m, POLYNOMIAL(m, c, poly_erfc)));
	return with_sign(m, less(m, a, one, small, large), x);
}

static V gelu_of(Make *m, V x)
{
	V zero = number(m, DTYPE_F32, -0.0);
	V size = magnitude(m, x);
	V a = less(m, size, number(m, DTYPE_F32, 9), size, number(m, DTYPE_F32, 0));
	V p = mul(m, a, POLYNOMIAL(m, a, poly_gelu));
	V rounded = plus(m, p, ROUND32 + ONE - 1);
	V r = sub(m, p, plus(m, rounded, -(ROUND32 + ONE - 1)));
	V value = plus(m, mul(m, r, POLYNOMIAL(m, r, poly_exp2)), 1);
	V tail = mul(m, value, power_of_two(m, bits(m, rounded, DTYPE_I32)));
	return sub(m, less(m, x, zero, zero, x), mul(m, a, tail));
}

/* ---- logarithms ---- */

/* x = 2^k (1 + f) for x > 0; log(1 + f) = f + rest. */
typedef struct Logarithm {
	V k, f, rest;
} Logarithm;

static Logarithm reduce_log(Make *m, V x)
{
	Logarithm l;
	V least = number(m, DTYPE_F32, 0x1p-126), two_thirds = integer(m, DTYPE_I32, 0x3f2aaaab);
	V normal = less(m, x, least, times(m, x, 0x1p24), x);
	V correction = less(m, x, least, number(m, DTYPE_F32, -24), number(m, DTYPE_F32, 0));
	V b = bits(m, normal, DTYPE_I32);
	V exponent = shift(m, MATH_SHR, sub(m, b, two_thirds), 23);
	l.k = add(m, convert(m, exponent, DTYPE_F32), correction);
	l.f = plus(m, bits(m, sub(m, b, shift(m, MATH_SHL, exponent, 23)), DTYPE_F32), -1);
	V tail = plus(m, mul(m, l.f, POLYNOMIAL(m, l.f, poly_log)), -0.5);
	l.rest = mul(m, mul(m, l.f, l.f), tail);
	return l;
}

/* The result where x is positive and finite; x itself at infinity and NaN. */
static V log_ends(Make *m, V x, V result)
{
	V zero = number(m, DTYPE_F32, 0);
	result = less(m, x, number(m, DTYPE_F32, (double)INFINITY), result, x);
	result = equal(m, x, zero, number(m, DTYPE_F32, -(double)INFINITY), result);
	return less(m, x, zero, number(m, DTYPE_F32, (double)NAN), result);
}

V math_log_single(Make *m, V u, V lost)
{
	Logarithm l = reduce_log(m, u);
	V whole = times(m, l.k, 0x1.62e4p-1);
	V low = add(m, times(m, l.k, 0x1.7f7d1cp-20), binary(m, MATH_DIV, lost, u));
	V sum = add(m, whole, l.f);
	V taken = sub(m, l.f, sub(m, sum, whole));
	return log_ends(m, u, add(m, sum, add(m, taken, add(m, l.rest, low))));
}

static V log_of(Make *m, V x)
{
	Logarithm l = reduce_log(m, x);
	V whole = times(m, l.k, 0x1.62e4p-1), low = times(m, l.k, 0x1.7f7d1cp-20);
	V sum = add(m, whole, l.f); /* and what it lost, since whole is 0 or greater than f */
	V lost = sub(m, l.f, sub(m, sum, whole));
	return log_ends(m, x, add(m, sum, add(m, lost, add(m, l.rest, low))));
}

static V log2_of(Make *m, V x)
{
	Logarithm l = reduce_log(m, x);
	return log_ends(m, x, add(m, l.k, times(m, add(m, l.f, l.rest), LOG2E)));
}

/* ---- pow, in double ---- */

/* log2 of x >= 0. */
static V log2_double(Make *m, V x)
{
	const int64_t root = 0x3fe6a09e667f3bcd,
		      bias = 1024; /* of sqrt(1/2); keeps the shift positive */
	V b = bits(m, x, DTYPE_I64);
	V k = shift(m, MATH_USHR, plus_int(m, b, (bias << 52) - root), 52);
	V f = sub(m, b, shift(m, MATH_SHL, plus_int(m, k, -bias), 52));
	f = plus(m, bits(m, f, DTYPE_F64), -1);
	V exponent = bits(m, plus_int(m, k, 0x4338000000000000), DTYPE_F64);
	exponent = plus(m, exponent, -ROUND64 - (double)bias);
	V result = add(m, exponent, mul(m, f, POLYNOMIAL(m, f, poly_log2)));
	result = less(m, x, number(m, DTYPE_F64, (double)INFINITY), result, x);
	return equal(m, x, number(m, DTYPE_F64, 0), number(m, DTYPE_F64, -(double)INFINITY),
		     result);
}

static V exp2_double(Make *m, V x)
{
	x = at_least(m, at_most(m, x, 200), -200);
	V rounded = plus(m, x, ROUND64);
	V r = sub(m, x, plus(m, rounded, -ROUND64));
	V power = plus_int(m, shift(m, MATH_SHL, bits(m, rounded, DTYPE_I64), 52),
			   0x3ff0000000000000);
	V value = plus(m, mul(m, r, POLYNOMIAL(m, r, poly_exp2_double)), 1);
	return mul(m, value, bits(m, power, DTYPE_F64));
}

static V pow_of(Make *m, V base, V exponent)
{
	V x = convert(m, base, DTYPE_F64), y = convert(m, exponent, DTYPE_F64);
	V zero = number(m, DTYPE_F64, 0), one = number(m, DTYPE_F64, 1);
	V size = bits(m, mask(m, bits(m, x, DTYPE_I64), INT64_MAX), DTYPE_F64);
	V finite = at_least(m, at_most(m, y, 0x1p60), -0x1p60); /* an even integer, large enough */
	V product = mul(m, finite, log2_double(m, size));
	V power = exp2_double(m, equal(m, y, zero, zero, product));
	V result = less(m, power, number(m, DTYPE_F64, POW_LEAST), zero, power);
	V rounded = plus(m, at_least(m, at_most(m, y, 0x1p40), -0x1p40), ROUND64);
	V is_whole_if_zero =
		sub(m, plus(m, rounded, -ROUND64), at_least(m, at_most(m, y, 0x1p40), -0x1p40));
	V odd = shift(m, MATH_SHL, bits(m, rounded, DTYPE_I64), 63);
	V sign = binary(m, MATH_AND, bits(m, x, DTYPE_I64), odd);
	V whole = bits(m, binary(m, MATH_OR, bits(m, result, DTYPE_I64), sign), DTYPE_F64);
	V none = less(m, number(m, DTYPE_F64, -(double)INFINITY), x,
		      number(m, DTYPE_F64, (double)NAN), result);
	V broken = less(m, x, zero, none, result);
	result = equal(m, is_whole_if_zero, zero, whole, broken);
	return convert(m, equal(m, x, one, one, result), DTYPE_F32);
}

/* ---- types of storage ---- */

/* Exponents shifted by 112 with the fraction, as a product, so that subnormal numbers are right. */
static V f16_widened(Make *m, V x)
{
	V body = bits(m, shift(m, MATH_SHL, mask(m, x, 0x7fff), 13), DTYPE_F32);
	V scaled = times(m, body, 0x1p112);
	V whole = bits(m, scaled, DTYPE_I32);
	V special = binary(m, MATH_OR, whole, integer(m, DTYPE_I32, 0x7f800000));
	V value = less(m, scaled, number(m, DTYPE_F32, 65536), whole, special);
	V sign = shift(m, MATH_SHL, mask(m, x, 0x8000), 16);
	return bits(m, binary(m, MATH_OR, value, sign), DTYPE_F32);
}

/* All bits where `below` < 0. */
static V where_negative(Make *m, V below, int64_t bits)
{
	return mask(m, shift(m, MATH_SHR, below, 31), bits);
}

/* A float of 8 bits, of which `fraction` are behind the point, with that bias. The bits behind the
 * sign, moved to where an f32 has them, are the number once the exponent counts from the other bias;
 * a subnormal one gets a leading 1, which is subtracted: processors may be slow where subnormal
 * numbers of f32 are multiplied. From `special` on are infinities and NaN, or NaN alone. Masks
 * stand for choices, which not all vectors have of integers. */
static V f8_widened(Make *m, V x, int fraction, int bias, int special)
{
	int up = 23 - fraction;
	int64_t unit = INT64_C(1) << 23,
		least = (ONE + 1 - bias) * unit; /* the bits of 2^(1 - bias) */
	V body = shift(m, MATH_SHL, mask(m, x, 0x7f), (uint32_t)up);
	V small = plus_int(m, body, -unit);
	V lifted = add(m, plus_int(m, body, least - unit), where_negative(m, small, unit));
	V over = bits(m, where_negative(m, small, least), DTYPE_F32);
	V value = bits(m, sub(m, bits(m, lifted, DTYPE_F32), over), DTYPE_I32);
	V beyond = sub(m, integer(m, DTYPE_I32, ((int64_t)special << up) - 1), body);
	value = binary(m, MATH_OR, value, where_negative(m, beyond, 0x7f800000));
	V sign = shift(m, MATH_SHL, mask(m, x, 0x80), 24);
	return bits(m, binary(m, MATH_OR, value, sign), DTYPE_F32);
}

MathFunction math_widen(Arena *arena, Dtype from)
{
	Make m = {.arena = arena};
	V x = push(&m, (MathStep){.code = MATH_ARG, .dtype = DTYPE_I32});
	switch (from) {
	case DTYPE_BF16: bits(&m, shift(&m, MATH_SHL, x, 16), DTYPE_F32); break;
	case DTYPE_F8E4M3: f8_widened(&m, x, 3, 7, 0x7f); break;
	case DTYPE_F8E5M2: f8_widened(&m, x, 2, 15, 0x7c); break;
	default: f16_widened(&m, x);
	}
	return m.fn;
}

/* The upper half, rounded by what is added to the lower one. */
static V bf16_narrowed(Make *m, V x)
{
	V all = bits(m, x, DTYPE_I32);
	V odd = mask(m, shift(m, MATH_USHR, all, 16), 1);
	V rounded = shift(m, MATH_USHR, add(m, all, plus_int(m, odd, 0x7fff)), 16);
	V quiet = binary(m, MATH_OR, shift(m, MATH_USHR, all, 16), integer(m, DTYPE_I32, 0x40));
	return equal(m, x, x, rounded, quiet);
}

/* Added to a power of two 2^13 times as large, 4 |x| is rounded where f16 ends; the powers stop at
 * what rounds subnormal numbers of f16. What is beyond the largest has become infinite before. */
static V f16_narrowed(Make *m, V x)
{
	V all = bits(m, x, DTYPE_I32);
	V sign = mask(m, shift(m, MATH_USHR, all, 16), 0x8000);
	V size = bits(m, mask(m, all, INT32_MAX), DTYPE_F32);
	V scaled = times(m, times(m, size, 0x1p112), 0x1p-110);
	V exponent = mask(m, all, 0x7f800000);
	V least = integer(m, DTYPE_I32, 0x38800000);
	V bias = plus_int(m, less(m, exponent, least, least, exponent), 0x07800000);
	V sum = bits(m, add(m, bits(m, bias, DTYPE_F32), scaled), DTYPE_I32);
	V half = add(m, mask(m, shift(m, MATH_USHR, sum, 13), 0x7c00), mask(m, sum, 0xfff));
	V value = equal(m, x, x, half, integer(m, DTYPE_I32, 0x7e00));
	return binary(m, MATH_OR, value, sign);
}

/* As integers, the fraction rounded by what is added below it; a subnormal one by a sum with a power
 * of two whose last place is its unit. `most` and what is greater, but NaN, is `greatest`. */
static V f8_narrowed(Make *m, V x, int fraction, int bias, double most, int greatest)
{
	int down = 23 - fraction;
	V all = bits(m, x, DTYPE_I32);
	V sign = mask(m, shift(m, MATH_USHR, all, 24), 0x80);
	V size = mask(m, all, INT32_MAX);
	V odd = mask(m, shift(m, MATH_USHR, size, (uint32_t)down), 1);
	int64_t half = (INT64_C(1) << (down - 1)) - 1, move = (int64_t)(ONE - bias) << 23;
	V whole = shift(m, MATH_USHR, plus_int(m, add(m, size, odd), half - move), (uint32_t)down);
	double large = ldexp(1, 24 - bias - fraction);
	V sum = bits(m, plus(m, bits(m, size, DTYPE_F32), large), DTYPE_I32);
	V small = mask(m, sum, (INT64_C(1) << (fraction + 1)) - 1);
	V least = number(m, DTYPE_F32, ldexp(1, 1 - bias)), body = bits(m, size, DTYPE_F32);
	V value = less(m, body, least, small, whole);
	V top = integer(m, DTYPE_I32, greatest);
	value = less(m, body, number(m, DTYPE_F32, most), value, top);
	value = equal(m, x, x, value, integer(m, DTYPE_I32, 0x7f));
	return binary(m, MATH_OR, value, sign);
}

MathFunction math_narrow(Arena *arena, Dtype to)
{
	Make m = {.arena = arena};
	V x = push(&m, (MathStep){.code = MATH_ARG, .dtype = DTYPE_F32});
	switch (to) {
	case DTYPE_BF16: bf16_narrowed(&m, x); break;
	case DTYPE_F8E4M3: f8_narrowed(&m, x, 3, 7, 448, 0x7e); break;
	case DTYPE_F8E5M2: f8_narrowed(&m, x, 2, 15, 0x1p16, 0x7c); break;
	default: f16_narrowed(&m, x);
	}
	return m.fn;
}

/* The bits behind the sign, negative where that is set. */
MathFunction math_key(Arena *arena, Dtype from)
{
	bool wide = from == DTYPE_F64;
	Dtype type = wide ? DTYPE_I64 : DTYPE_I32;
	int64_t most = wide ? INT64_MAX : INT32_MAX;
	Make m = {.arena = arena};
	V x = push(&m, (MathStep){.code = MATH_ARG, .dtype = from}), all = bits(&m, x, type);
	V size = mask(&m, all, most), zero = integer(&m, type, 0);
	V infinite = integer(&m, type, wide ? INT64_C(0x7ff) << 52 : INT64_C(0xff) << 23);
	V key = less(&m, all, zero, sub(&m, zero, size), size);
	less(&m, infinite, size, integer(&m, type, most), key);
	return m.fn;
}

/* ---- the table ---- */

/* The nearest number of 11 bits, of two the one further from zero. */
static V tf32_of(Make *m, V x)
{
	V near = mask(m, plus_int(m, bits(m, x, DTYPE_I32), 0x1000), ~(int64_t)0x1fff);
	return less(m, magnitude(m, x), infinity(m, x), bits(m, near, DTYPE_F32), x);
}

static Formula default_formula(Op op)
{
	switch (op) {
	case OP_EXP: return exp_of;
	case OP_EXP2: return exp2_of;
	case OP_LOG: return log_of;
	case OP_LOG2: return log2_of;
	case OP_SIN: return math_sin;
	case OP_COS: return math_cos;
	case OP_TANH: return tanh_of;
	case OP_SIGMOID: return sigmoid_of;
	case OP_ERF: return erf_of;
	case OP_GELU: return gelu_of;
	case OP_TF32: return tf32_of;
	default: return NULL;
	}
}

static Formula formula_of(Op op, Dtype dtype, bool fast)
{
	bool real = dtype == DTYPE_F32 || dtype == DTYPE_F64;
	if (real && math_inverse_formula(op))
		return math_inverse_formula(op);
	if (dtype == DTYPE_F64)
		return math_double_formula(op);
	Formula formula = fast ? math_fast_formula(op) : NULL;
	return dtype != DTYPE_F32 ? NULL : formula ? formula : default_formula(op);
}

bool math_has(Op op, Dtype dtype)
{
	bool real = dtype == DTYPE_F32 || dtype == DTYPE_F64;
	return formula_of(op, dtype, false) || (op == OP_POW && real);
}

bool math_wants_fma(Op op, Dtype dtype)
{
	bool twice = op == OP_ERF || op == OP_GELU || op == OP_POW; /* two polynomials or more */
	return dtype == DTYPE_F64 && (twice || op == OP_EXP2 || op == OP_LOG2);
}

MathFunction math_function(Arena *arena, Op op, Dtype dtype, MathForm form)
{
	Make m = {.arena = arena, .form = form};
	REQUIRE(math_has(op, dtype));
	V x = push(&m, (MathStep){.code = MATH_ARG, .dtype = dtype});
	V y = op == OP_POW ? push(&m, (MathStep){.code = MATH_ARG, .dtype = dtype}) : 0;
	if (op == OP_POW && dtype == DTYPE_F64)
		math_pow_double(&m, x, y);
	else if (op == OP_POW)
		pow_of(&m, x, y);
	else
		formula_of(op, dtype, form.fast)(&m, x);
	return m.fn;
}
