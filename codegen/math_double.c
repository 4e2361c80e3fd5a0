/* The formulas of f64, with the reductions of math.c.
 *
 *   log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f/(2 + f), R = s^2 P(s^2), 1 + f in [sqrt(1/2), sqrt(2))
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

#define LN2_HIGH 0x1.62e42feep-1 /* 33 bits, exact times an exponent */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define ROUND_BITS 0x4338000000000000 /* of ROUND64 */

static V sign_of(Make *m, V x) { return mask(m, bits(m, x, DTYPE_I64), INT64_MIN); }

static V or_bits(Make *m, V a, V sign)
{
	return bits(m, binary(m, MATH_OR, bits(m, a, DTYPE_I64), sign), DTYPE_F64);
}

/* exp(x - n ln2) - 1, and n as an i64 */
typedef struct Power {
	V less_one, n;
} Power;

static Power reduced(Make *m, V x)
{
	Power p;
	V rounded = plus(m, times(m, x, LOG2E), ROUND64), n = plus(m, rounded, -ROUND64);
	V high = sub(m, x, times(m, n, LN2_HIGH)), low = times(m, n, LN2_LOW);
	V r = sub(m, high, low);
	V tail = mul(m, mul(m, r, r), POLYNOMIAL(m, r, double_exp));
	p.less_one = add(m, high, sub(m, tail, low));
	p.n = plus_int(m, bits(m, rounded, DTYPE_I64), -ROUND_BITS);
	return p;
}

/* 2^n for n in [-1022, 1023] */
static V power_of_two(Make *m, V n)
{
	return bits(m, shift(m, MATH_SHL, plus_int(m, n, 1023), 52), DTYPE_F64);
}

static V exp_of(Make *m, V x)
{
	Power p = reduced(m, at_least(m, at_most(m, x, 710), -746));
	V half = plus_int(m, shift(m, MATH_USHR, plus_int(m, p.n, 2048), 1), -1024);
	V value = mul(m, plus(m, p.less_one, 1), power_of_two(m, half));
	return mul(m, value, power_of_two(m, sub(m, p.n, half)));
}

static V tanh_of(Make *m, V x)
{
	V a = bits(m, mask(m, bits(m, x, DTYPE_I64), INT64_MAX), DTYPE_F64);
	a = at_most(m, a, 19.0625); /* from here on the nearest number is 1 */
	Power p = reduced(m, add(m, a, a));
	V power = power_of_two(m, p.n);
	V e = add(m, mul(m, p.less_one, power), plus(m, power, -1));
	return or_bits(m, binary(m, MATH_DIV, e, plus(m, e, 2)), sign_of(m, x));
}

static V sigmoid_of(Make *m, V x)
{
	V e = exp_of(m, or_bits(m, x, integer(m, DTYPE_I64, INT64_MIN)));
	V top = less(m, x, number(m, DTYPE_F64, 0), e, number(m, DTYPE_F64, 1));
	return binary(m, MATH_DIV, top, plus(m, e, 1));
}

static V log_of(Make *m, V x)
{
	/* of sqrt(1/2); keeps the shift positive */
	const int64_t root = 0x3fe6a09e667f3bcd, bias = 1024;
	V least = number(m, DTYPE_F64, 0x1p-1022), zero = number(m, DTYPE_F64, 0);
	V b = bits(m, less(m, x, least, times(m, x, 0x1p54), x), DTYPE_I64);
	V k = shift(m, MATH_USHR, plus_int(m, b, (bias << 52) - root), 52);
	V f = sub(m, b, shift(m, MATH_SHL, plus_int(m, k, -bias), 52));
	f = plus(m, bits(m, f, DTYPE_F64), -1);
	V n = plus(m, bits(m, plus_int(m, k, ROUND_BITS), DTYPE_F64), -ROUND64 - (double)bias);
	n = add(m, n, less(m, x, least, number(m, DTYPE_F64, -54), zero));
	V s = binary(m, MATH_DIV, f, plus(m, f, 2)), z = mul(m, s, s);
	V half = times(m, mul(m, f, f), 0.5);
	V rest = mul(m, s, add(m, half, mul(m, z, POLYNOMIAL(m, z, double_log))));
	V tail = sub(m, half, add(m, rest, times(m, n, LN2_LOW)));
	V result = sub(m, times(m, n, LN2_HIGH), sub(m, tail, f));
	result = less(m, x, number(m, DTYPE_F64, (double)INFINITY), result, x);
	result = equal(m, x, zero, number(m, DTYPE_F64, -(double)INFINITY), result);
	return less(m, x, zero, number(m, DTYPE_F64, (double)NAN), result);
}

Formula math_double_formula(Op op)
{
	switch (op) {
	case OP_EXP: return exp_of;
	case OP_LOG: return log_of;
	case OP_TANH: return tanh_of;
	case OP_SIGMOID: return sigmoid_of;
	default: return NULL;
	}
}
