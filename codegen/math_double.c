/* The formulas of f64, with the reductions of math.c.
 *
 *   log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), s = f/(2 + f), R = s^2 P(s^2), 1 + f in [sqrt(1/2), sqrt(2))
 *   log2(x)    = k + log(1 + f)/ln2
 *   exp2(x)    = 2^n (1 + r P(r)), r = x - n
 *   erf(x)     = x + x P(x^2) below 1, 1 - exp(P(x - 1)) above, with the sign of x
 *   gelu(x)    = x/2 (1 + erf(x/sqrt2))
 *
 * pow is in math_pow.c; sin, cos, tan and % in math_fast_path_double.c.
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

#define LN2_HIGH 0x1.62e42feep-1 /* 33 bits, exact times an exponent */
#define LN2_LOW 0x1.a39ef35793c76p-33

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

V math_scale_double(Make *m, V a, V n)
{
	V both = plus_int(m, n, -SCALE_LEAST), half = shift(m, MATH_USHR, both, 1);
	V one = shift(m, MATH_SHL, plus_int(m, half, 2046 + SCALE_LEAST), 52);
	V other = shift(m, MATH_SHL, sub(m, both, half), 52); /* of 0 for SCALE_LEAST */
	return mul(m, mul(m, a, bits(m, one, DTYPE_F64)), bits(m, other, DTYPE_F64));
}

static V exp_of(Make *m, V x)
{
	Power p = reduced(m, at_least(m, at_most(m, x, 710), -745.2));
	return math_scale_double(m, plus(m, p.less_one, 1), p.n);
}

V math_exp_of_double(Make *m, V x) { return exp_of(m, x); }

V math_expm1_double(Make *m, V x, int less)
{
	Power p = reduced(m, x);
	V power = power_of_two(m, plus_int(m, p.n, -less));
	return add(m, mul(m, p.less_one, power), plus(m, power, -ldexp(1, -less)));
}

V math_exp_double(Make *m, V x, int less)
{
	Power p = reduced(m, x);
	return mul(m, plus(m, p.less_one, 1), power_of_two(m, plus_int(m, p.n, -less)));
}

static V exp2_of(Make *m, V x)
{
	x = at_least(m, at_most(m, x, 1025), SCALE_LEAST);
	V rounded = plus(m, x, ROUND64);
	V r = sub(m, x, plus(m, rounded, -ROUND64));
	V n = plus_int(m, bits(m, rounded, DTYPE_I64), -ROUND_BITS);
	return math_scale_double(m, plus(m, mul(m, r, POLYNOMIAL(m, r, double_exp2)), 1), n);
}

static V tanh_of(Make *m, V x)
{
	V a = at_most(m, magnitude(m, x), 19.0625); /* from here on the nearest number is 1 */
	Power p = reduced(m, add(m, a, a));
	V power = power_of_two(m, p.n);
	V e = add(m, mul(m, p.less_one, power), plus(m, power, -1));
	return with_sign(m, binary(m, MATH_DIV, e, plus(m, e, 2)), x);
}

static V sigmoid_of(Make *m, V x)
{
	V e = exp_of(m, with_sign(m, magnitude(m, x), number(m, DTYPE_F64, -0.0)));
	V top = less(m, x, number(m, DTYPE_F64, 0), e, number(m, DTYPE_F64, 1));
	return binary(m, MATH_DIV, top, plus(m, e, 1));
}

static V erf_of(Make *m, V x)
{
	V a = magnitude(m, x), one = number(m, DTYPE_F64, 1);
	V small = add(m, a, mul(m, a, POLYNOMIAL(m, mul(m, a, a), double_erf)));
	/* from 5.95 on the nearest number is 1 */
	V t = plus(m, at_least(m, at_most(m, a, 5.95), 1), -1);
	Power p = reduced(m, POLYNOMIAL(m, t, double_erfc));
	V large = sub(m, one, mul(m, plus(m, p.less_one, 1), power_of_two(m, p.n)));
	return with_sign(m, less(m, a, one, small, large), x);
}

/* At -infinity the limit, 0. */
static V gelu_of(Make *m, V x)
{
	V half = times(m, at_least(m, x, -0x1p1023), 0.5);
	return mul(m, half, plus(m, erf_of(m, times(m, x, 0.70710678118654752440)), 1));
}

V math_split_double(Make *m, V x, V *n)
{
	/* of sqrt(1/2); keeps the shift positive */
	const int64_t root = 0x3fe6a09e667f3bcd, bias = 1024;
	V least = number(m, DTYPE_F64, 0x1p-1022), zero = number(m, DTYPE_F64, 0);
	V b = bits(m, less(m, x, least, times(m, x, 0x1p54), x), DTYPE_I64);
	V k = shift(m, MATH_USHR, plus_int(m, b, (bias << 52) - root), 52);
	V f = sub(m, b, shift(m, MATH_SHL, plus_int(m, k, -bias), 52));
	*n = plus(m, bits(m, plus_int(m, k, ROUND_BITS), DTYPE_F64), -ROUND64 - (double)bias);
	*n = add(m, *n, less(m, x, least, number(m, DTYPE_F64, -54), zero));
	return bits(m, f, DTYPE_F64);
}

/* log(1 + f) = f - tail for 1 + f in [sqrt(1/2), sqrt(2)); `low`, where there is one, is taken off
 * the tail. */
static V log_tail(Make *m, V f, const V *low)
{
	V s = binary(m, MATH_DIV, f, plus(m, f, 2)), z = mul(m, s, s);
	V half = times(m, mul(m, f, f), 0.5);
	V rest = mul(m, s, add(m, half, mul(m, z, POLYNOMIAL(m, z, double_log))));
	return sub(m, half, low ? add(m, rest, *low) : rest);
}

/* The result where x is positive and finite; x itself at infinity and NaN. */
static V log_ends(Make *m, V x, V result)
{
	V zero = number(m, DTYPE_F64, 0);
	result = less(m, x, number(m, DTYPE_F64, (double)INFINITY), result, x);
	result = equal(m, x, zero, number(m, DTYPE_F64, -(double)INFINITY), result);
	return less(m, x, zero, number(m, DTYPE_F64, (double)NAN), result);
}

static V log_of(Make *m, V x)
{
	V n, f = plus(m, math_split_double(m, x, &n), -1);
	V low = times(m, n, LN2_LOW);
	V tail = log_tail(m, f, &low);
	return log_ends(m, x, sub(m, times(m, n, LN2_HIGH), sub(m, tail, f)));
}

V math_log_double(Make *m, V u, V lost)
{
	V n, f = plus(m, math_split_double(m, u, &n), -1);
	V low = add(m, times(m, n, LN2_LOW), binary(m, MATH_DIV, lost, u));
	V tail = log_tail(m, f, &low);
	return log_ends(m, u, sub(m, times(m, n, LN2_HIGH), sub(m, tail, f)));
}

static V log2_of(Make *m, V x)
{
	V n, f = plus(m, math_split_double(m, x, &n), -1);
	return log_ends(m, x, add(m, n, times(m, sub(m, f, log_tail(m, f, NULL)), LOG2E)));
}

Formula math_double_formula(Op op)
{
	switch (op) {
	case OP_EXP: return exp_of;
	case OP_EXP2: return exp2_of;
	case OP_LOG: return log_of;
	case OP_LOG2: return log2_of;
	case OP_TANH: return tanh_of;
	case OP_SIGMOID: return sigmoid_of;
	case OP_ERF: return erf_of;
	case OP_GELU: return gelu_of;
	default: return NULL;
	}
}
