/* pow of f64, within 1 ulp: the logarithm and its product with y are sums of two numbers, of which
 * the first has few enough bits for its products to be exact.
 *
 *   x^y      = 2^(y log2|x|), then the special cases of C
 *   log2|x|  = k + 2/(3 ln2) s (3 + s^2 + R), R = s^4 P(s^2), s = (f - 1)/(f + 1), |x| = 2^k f
 *
 * The series of atanh in s, in two parts, is the method of W. J. Cody and W. Waite, Software Manual
 * for the Elementary Functions, 1980, chapter 7, with the parts of T. J. Dekker, A floating-point
 * technique for extending the available precision, 1971.
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

#define LN2 0x1.62e42fefa39efp-1
#define LN2_TOP 0x1.62e43p-1 /* 21 bits */
#define LN2_REST -0x1.05c610ca86c39p-29
#define SCALE 0x1.ec709dc3a03fdp-1 /* 2/(3 ln2) */
#define SCALE_TOP 0x1.ec709p-1
#define SCALE_REST 0x1.b87407fae93f8p-22

/* top + rest; top has 21 bits */
typedef struct Pair {
	V top, rest;
} Pair;

static V truncated(Make *m, V a)
{
	return bits(m, mask(m, bits(m, a, DTYPE_I64), -((int64_t)1 << 32)), DTYPE_F64);
}

/* a + b, where a is exact and greater */
static Pair sum_of(Make *m, V a, V b)
{
	V top = truncated(m, add(m, a, b));
	return (Pair){top, sub(m, b, sub(m, top, a))};
}

/* (f - 1)/(f + 1) */
static Pair quotient_of(Make *m, V f)
{
	V above = plus(m, f, -1), below = plus(m, f, 1);
	V inverse = binary(m, MATH_DIV, number(m, DTYPE_F64, 1), below);
	V top = truncated(m, mul(m, above, inverse)), under = truncated(m, below);
	V lost = sub(m, f, plus(m, under, -1));
	V rest = sub(m, sub(m, above, mul(m, top, under)), mul(m, top, lost));
	return (Pair){top, mul(m, rest, inverse)};
}

static Pair log2_pair(Make *m, V size)
{
	V n, f = math_split_double(m, size, &n);
	Pair s = quotient_of(m, f);
	V whole = add(m, s.top, s.rest), square = mul(m, s.top, s.top), z = mul(m, whole, whole);
	V rest = mul(m, mul(m, z, z), POLYNOMIAL(m, z, double_pow));
	rest = add(m, rest, mul(m, s.rest, add(m, s.top, whole)));
	V top = truncated(m, add(m, plus(m, square, 3), rest));
	rest = sub(m, rest, sub(m, plus(m, top, -3), square));
	V product = mul(m, s.top, top);
	Pair log = sum_of(m, product, add(m, mul(m, s.rest, top), mul(m, rest, whole)));
	V scaled = times(m, log.top, SCALE_TOP);
	V low = add(m, times(m, log.top, SCALE_REST), times(m, log.rest, SCALE));
	V all = truncated(m, add(m, add(m, scaled, low), n));
	return (Pair){all, sub(m, low, sub(m, sub(m, all, n), scaled))};
}

/* 2^(top + rest), for any top */
static V exp2_pair(Make *m, V top, V rest)
{
	V most = number(m, DTYPE_F64, 1025), least = number(m, DTYPE_F64, SCALE_LEAST),
	  zero = number(m, DTYPE_F64, 0);
	rest = less(m, most, top, zero, less(m, top, least, zero, rest));
	top = at_least(m, at_most(m, top, 1025), SCALE_LEAST);
	V rounded = plus(m, add(m, top, rest), ROUND64);
	top = sub(m, top, plus(m, rounded, -ROUND64));
	Pair p = sum_of(m, top, rest);
	V high = times(m, p.top, LN2_TOP);
	V low = add(m, times(m, p.rest, LN2), times(m, p.top, LN2_REST));
	V r = add(m, high, low);
	low = sub(m, low, sub(m, r, high));
	V tail = mul(m, mul(m, r, r), POLYNOMIAL(m, r, double_exp));
	V less_one = add(m, r, add(m, tail, add(m, low, mul(m, low, r))));
	V n = plus_int(m, bits(m, rounded, DTYPE_I64), -ROUND_BITS);
	return math_scale_double(m, plus(m, less_one, 1), n);
}

/* The result for |x|, with the sign that x has to the power y. */
static V signed_power(Make *m, V x, V y, V result)
{
	V zero = number(m, DTYPE_F64, 0), one = integer(m, DTYPE_I64, 1);
	V size = at_most(m, magnitude(m, y), 0x1p53); /* even, as all from there on */
	V shifted = plus(m, size, 0x1p52), limit = number(m, DTYPE_F64, 0x1p52);
	V units = less(m, size, limit, bits(m, shifted, DTYPE_I64), bits(m, size, DTYPE_I64));
	V nearest = less(m, size, limit, plus(m, shifted, -0x1p52), size);
	V sign = shift(m, MATH_SHL, binary(m, MATH_AND, units, one), 63);
	sign = binary(m, MATH_AND, sign, bits(m, x, DTYPE_I64));
	V whole = bits(m, binary(m, MATH_OR, bits(m, result, DTYPE_I64), sign), DTYPE_F64);
	V none = less(m, number(m, DTYPE_F64, -(double)INFINITY), x,
		      number(m, DTYPE_F64, (double)NAN), result);
	return equal(m, nearest, size, whole, less(m, x, zero, none, result));
}

V math_pow_double(Make *m, V x, V y)
{
	V zero = number(m, DTYPE_F64, 0), one = number(m, DTYPE_F64, 1),
	  infinite = number(m, DTYPE_F64, (double)INFINITY);
	V size = magnitude(m, x);
	V finite = at_least(m, at_most(m, y, 0x1p70), -0x1p70); /* even, large enough */
	/* others have results of their own, below: no product for them may underflow */
	V usual = less(m, zero, size, less(m, size, infinite, size, one), one);
	Pair log = log2_pair(m, usual);
	V head = truncated(m, finite), product = mul(m, head, log.top);
	V rest = add(m, mul(m, sub(m, finite, head), log.top), mul(m, finite, log.rest));
	V result = exp2_pair(m, product, rest);
	result = equal(m, size, zero, less(m, y, zero, infinite, zero), result);
	result = equal(m, size, infinite, less(m, y, zero, zero, infinite), result);
	result = signed_power(m, x, y, result);
	result = equal(m, y, y, equal(m, x, x, result, x), y);
	result = equal(m, y, zero, one, result);
	return equal(m, x, one, one, result);
}
