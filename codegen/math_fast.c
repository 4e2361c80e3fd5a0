/* The formulas of --fp=fast: fewer terms, one factor 2^n, quotients of polynomials.
 *
 *   exp(x)  = 2^n exp(r), as in math.c; 0 below 2^-126, infinity above 2^127.5
 *   log(x)  = k ln2 + log(1 + f), k ln2 in one part; x below 2^-126 counts as between 2^-127 and that
 *   tanh, erf = x P(x^2) / Q(x^2)
 *   sigmoid(x) = 1 / (1 + exp(-x))
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

#define EXP_MOST 88.3762  /* 2^127.5 */
#define EXP_LEAST -87.3365 /* 2^-126 */

/* a 2^n, with the integer n in the low bits of `rounded`. */
static V times_power(Make *m, V a, V rounded)
{
	V power = plus_int(m, shift(m, MATH_SHL, bits(m, rounded, DTYPE_I32), 23), 0x3f800000);
	return mul(m, a, bits(m, power, DTYPE_F32));
}

/* The ends of a power: NaN stays. */
static V power_ends(Make *m, V x, V result, double least, double most)
{
	V low = number(m, DTYPE_F32, least), high = number(m, DTYPE_F32, most);
	result = less(m, x, low, number(m, DTYPE_F32, 0), result);
	return less(m, high, x, number(m, DTYPE_F32, (double)INFINITY), result);
}

static V exp_of(Make *m, V x)
{
	V within = at_least(m, at_most(m, x, EXP_MOST), EXP_LEAST);
	V rounded = plus(m, times(m, within, LOG2E), ROUND32);
	V n = plus(m, rounded, -ROUND32);
	V r = sub(m, within, times(m, n, 0x1.62e4p-1));
	r = sub(m, r, times(m, n, 0x1.7f7d1cp-20));
	V poly = POLYNOMIAL(m, r, fast_exp);
	V value = plus(m, mul(m, r, plus(m, mul(m, r, poly), 1)), 1);
	return power_ends(m, x, times_power(m, value, rounded), EXP_LEAST, EXP_MOST);
}

static V exp2_of(Make *m, V x)
{
	V within = at_least(m, at_most(m, x, 127.4), -126);
	V rounded = plus(m, within, ROUND32);
	V r = sub(m, within, plus(m, rounded, -ROUND32));
	V value = plus(m, mul(m, r, POLYNOMIAL(m, r, fast_exp2)), 1);
	return power_ends(m, x, times_power(m, value, rounded), -126, 127.4);
}

static V sigmoid_of(Make *m, V x)
{
	V e = exp_of(m, times(m, x, -1));
	return binary(m, MATH_DIV, number(m, DTYPE_F32, 1), plus(m, e, 1));
}

/* x P(x^2) / Q(x^2) for |x| <= most, from where on it is 1. */
static V odd_quotient(Make *m, V x, double most, V (*over)(Make *m, V s), V (*under)(Make *m, V s))
{
	V c = at_least(m, at_most(m, x, most), -most), s = mul(m, c, c);
	V result = binary(m, MATH_DIV, mul(m, c, over(m, s)), under(m, s));
	return at_least(m, at_most(m, result, 1), -1);
}

static V tanh_over(Make *m, V s) { return POLYNOMIAL(m, s, fast_tanh_over); }
static V tanh_under(Make *m, V s) { return POLYNOMIAL(m, s, fast_tanh_under); }
static V erf_over(Make *m, V s) { return POLYNOMIAL(m, s, fast_erf_over); }
static V erf_under(Make *m, V s) { return POLYNOMIAL(m, s, fast_erf_under); }

static V tanh_of(Make *m, V x) { return odd_quotient(m, x, 9, tanh_over, tanh_under); }
static V erf_of(Make *m, V x) { return odd_quotient(m, x, 3.92, erf_over, erf_under); }

static V log_of(Make *m, V x)
{
	V b = bits(m, x, DTYPE_I32), zero = number(m, DTYPE_F32, 0);
	V exponent = shift(m, MATH_SHR, plus_int(m, b, -0x3f2aaaab), 23);
	V k = convert(m, exponent, DTYPE_F32);
	V f = plus(m, bits(m, sub(m, b, shift(m, MATH_SHL, exponent, 23)), DTYPE_F32), -1);
	V tail = plus(m, mul(m, f, POLYNOMIAL(m, f, fast_log)), -0.5);
	V rest = mul(m, mul(m, f, f), tail);
	V result = add(m, times(m, k, 0.69314718055994531), add(m, f, rest));
	result = less(m, x, number(m, DTYPE_F32, (double)INFINITY), result, x);
	result = equal(m, x, zero, number(m, DTYPE_F32, -(double)INFINITY), result);
	return less(m, x, zero, number(m, DTYPE_F32, (double)NAN), result);
}

static V log2_of(Make *m, V x) { return times(m, log_of(m, x), LOG2E); }

Formula math_fast_formula(Op op)
{
	switch (op) {
	case OP_EXP: return exp_of;
	case OP_EXP2: return exp2_of;
	case OP_LOG: return log_of;
	case OP_LOG2: return log2_of;
	case OP_TANH: return tanh_of;
	case OP_SIGMOID: return sigmoid_of;
	case OP_ERF: return erf_of;
	default: return NULL;
	}
}
