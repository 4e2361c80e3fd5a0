/* The formulas of f32 and f64 made of exp(x) - 1, of the logarithm of a sum and of square roots.
 *
 *   expm1(x)    2 E, E = (exp(x) - 1)/2, which is finite wherever the result is
 *   sinh(x)     x + x^3 P(x^2) below 1, else 4 (E + E/(8 E + 1)), E = (exp(|x|) - 1)/8, with the sign of x
 *   cosh(x)     4 (E + 1/(64 E)), E = exp(|x|)/8
 *   log1p(x)    log(u + v), u = 1 + x rounded, v what was lost
 *   softplus(x) max(x, 0) + log1p(exp(-|x|))
 *   asinh(x)    log1p(a + a^2/(1 + sqrt(1 + a^2))), a = |x|, with the sign of x
 *   acosh(x)    log1p(t + sqrt(2 t + t^2)), t = x - 1
 *   atanh(x)    log1p(2 a/(1 - a))/2, a = |x|, with the sign of x
 *   atan(x)     c + t + t^3 P(t^2), t one of a, (a - 1)/(a + 1), -1/a with |t| <= tan(pi/8)
 *   asin(x)     s + s^3 P(s^2), s = a below 1/2, else pi/2 - 2 asin(s), s = sqrt((1 - a)/2); acos(x) alike
 *
 * Large arguments of asinh and acosh, whose squares would overflow, have log(x) + ln2. Constants that
 * are added are sums of two numbers. The reductions are those of W. J. Cody and W. Waite, Software
 * Manual for the Elementary Functions, 1980, chapters 9 to 12.
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

/* pi/2 = HALF_PI + what HALF_PI lost */
#define HALF_PI32 0x1.921fb6p+0
#define HALF_PI32_LOST -0x1.777a5cp-25
#define HALF_PI64 0x1.921fb54442d18p+0
#define HALF_PI64_LOST 0x1.1a62633145c07p-54
#define LN2 0.693147180559945309417

static bool is_wide(const Make *m, V x) { return type_of(m, x) == DTYPE_F64; }

/* a where x is below `limit`, else b; b where x is no number */
static V below(Make *m, V x, double limit, V a, V b)
{
	return less(m, x, number(m, type_of(m, x), limit), a, b);
}

static V root(Make *m, V x)
{
	return push(m, (MathStep){.code = MATH_SQRT, .dtype = type_of(m, x), .arg = {x}});
}

static V over(Make *m, V a, V b) { return binary(m, MATH_DIV, a, b); }

/* (exp(x) - 1) 2^-less */
static V expm1_part(Make *m, V x, int less)
{
	return is_wide(m, x) ? math_expm1_double(m, x, less) : math_expm1_single(m, x, less);
}

/* exp(x) 2^-less */
static V exp_part(Make *m, V x, int less)
{
	return is_wide(m, x) ? math_exp_double(m, x, less) : math_exp_single(m, x, less);
}

/* log(u + lost) */
static V log_of_sum(Make *m, V u, V lost)
{
	return is_wide(m, u) ? math_log_double(m, u, lost) : math_log_single(m, u, lost);
}

/* ---- powers ---- */

static V expm1_of(Make *m, V x)
{
	bool wide = is_wide(m, x);
	V within = at_least(m, at_most(m, x, wide ? 710 : 89), wide ? -38 : -18);
	V result = times(m, expm1_part(m, within, 1), 2);
	/* half of a subnormal number would lose digits */
	return below(m, magnitude(m, x), wide ? 0x1p-900 : 0x1p-100, x, result);
}

static V sinh_of(Make *m, V x)
{
	bool wide = is_wide(m, x);
	V a = magnitude(m, x), square = mul(m, a, a);
	V poly = wide ? POLYNOMIAL(m, square, double_sinh) : POLYNOMIAL(m, square, poly_sinh);
	V small = add(m, a, mul(m, mul(m, a, square), poly));
	V e = expm1_part(m, at_most(m, a, wide ? 711 : 90), 3);
	V large = times(m, add(m, e, over(m, e, plus(m, times(m, e, 8), 1))), 4);
	return with_sign(m, below(m, a, 1, small, large), x);
}

/* What the second term adds is nothing from 2^60 on. */
static V cosh_of(Make *m, V x)
{
	V e = exp_part(m, at_most(m, magnitude(m, x), is_wide(m, x) ? 711 : 90), 3);
	V other = over(m, number(m, type_of(m, x), 0x1p-6), at_most(m, e, 0x1p60));
	return times(m, add(m, e, other), 4);
}

/* ---- logarithms ---- */

/* log(1 + x); NaN below -1 */
static V log1p_within(Make *m, V x)
{
	V u = plus(m, x, 1);
	return log_of_sum(m, u, sub(m, x, plus(m, u, -1)));
}

static V log1p_of(Make *m, V x)
{
	return equal(m, x, number(m, type_of(m, x), 0), x, log1p_within(m, x));
}

static V softplus_of(Make *m, V x)
{
	V zero = number(m, type_of(m, x), 0);
	V negative = with_sign(m, magnitude(m, x), number(m, type_of(m, x), -0.0));
	return add(m, less(m, x, zero, zero, x), log1p_within(m, math_exp(m, negative)));
}

/* log(1 + s), or log(a) + ln2 from `limit` on, where s is no longer known */
static V log1p_or_double(Make *m, V a, double limit, V s)
{
	V u = plus(m, s, 1), zero = number(m, type_of(m, a), 0);
	V lost = sub(m, s, plus(m, u, -1));
	V result = log_of_sum(m, below(m, a, limit, u, a), below(m, a, limit, lost, zero));
	return add(m, result, below(m, a, limit, zero, number(m, type_of(m, a), LN2)));
}

static V asinh_of(Make *m, V x)
{
	double limit = is_wide(m, x) ? 0x1p30 : 0x1p14;
	V a = magnitude(m, x), c = at_most(m, a, limit), square = mul(m, c, c);
	V s = add(m, c, over(m, square, plus(m, root(m, plus(m, square, 1)), 1)));
	return with_sign(m, log1p_or_double(m, a, limit, s), x);
}

static V acosh_of(Make *m, V x)
{
	double limit = is_wide(m, x) ? 0x1p30 : 0x1p14;
	V t = plus(m, at_most(m, x, limit), -1);
	V s = add(m, t, root(m, mul(m, t, plus(m, t, 2))));
	V result = log1p_or_double(m, x, limit, s);
	return below(m, x, 1, number(m, type_of(m, x), (double)NAN), result);
}

static V atanh_of(Make *m, V x)
{
	V a = magnitude(m, x), one = number(m, type_of(m, x), 1);
	V s = over(m, times(m, a, 2), sub(m, one, a));
	return with_sign(m, times(m, log1p_within(m, s), 0.5), x);
}

/* ---- angles ---- */

/* multiple pi/2 + x */
static V from_half_pi(Make *m, double multiple, V x)
{
	bool wide = is_wide(m, x);
	V lost = plus(m, x, multiple * (wide ? HALF_PI64_LOST : HALF_PI32_LOST));
	return plus(m, lost, multiple * (wide ? HALF_PI64 : HALF_PI32));
}

static V atan_of(Make *m, V x)
{
	bool wide = is_wide(m, x);
	V a = magnitude(m, x), one = number(m, type_of(m, x), 1);
	V over_top = number(m, type_of(m, x), 2.414213562373095);
	V above = less(m, over_top, a, number(m, type_of(m, x), -1), plus(m, a, -1));
	V under = less(m, over_top, a, a, plus(m, a, 1));
	V small_limit = number(m, type_of(m, x), 0.414213562373095);
	V t = over(m, less(m, small_limit, a, above, a), less(m, small_limit, a, under, one));
	V square = mul(m, t, t);
	V poly = wide ? POLYNOMIAL(m, square, double_atan) : POLYNOMIAL(m, square, poly_atan);
	V angle = add(m, t, mul(m, mul(m, t, square), poly));
	V large = less(m, over_top, a, from_half_pi(m, 1, angle), from_half_pi(m, 0.5, angle));
	return with_sign(m, less(m, small_limit, a, large, angle), x);
}

/* asin(a) below 1/2, asin(sqrt((1 - a)/2)) from there on */
static V arc(Make *m, V a)
{
	V half = times(m, sub(m, number(m, type_of(m, a), 1), a), 0.5);
	V square = below(m, a, 0.5, mul(m, a, a), half);
	V s = below(m, a, 0.5, a, root(m, half));
	V poly = is_wide(m, a) ? POLYNOMIAL(m, square, double_asin)
			       : POLYNOMIAL(m, square, poly_asin);
	return add(m, s, mul(m, mul(m, s, square), poly));
}

static V asin_of(Make *m, V x)
{
	V a = magnitude(m, x), s = arc(m, a);
	V large = from_half_pi(m, 1, times(m, s, -2));
	return with_sign(m, below(m, a, 0.5, s, large), x);
}

static V acos_of(Make *m, V x)
{
	V a = magnitude(m, x), s = arc(m, a), twice = times(m, s, 2);
	V middle = from_half_pi(m, 1, times(m, with_sign(m, s, x), -1));
	V large = below(m, x, 0, from_half_pi(m, 2, times(m, s, -2)), twice);
	return below(m, a, 0.5, middle, large);
}

Formula math_inverse_formula(Op op)
{
	switch (op) {
	case OP_EXPM1: return expm1_of;
	case OP_SINH: return sinh_of;
	case OP_COSH: return cosh_of;
	case OP_LOG1P: return log1p_of;
	case OP_SOFTPLUS: return softplus_of;
	case OP_ASINH: return asinh_of;
	case OP_ACOSH: return acosh_of;
	case OP_ATANH: return atanh_of;
	case OP_ATAN: return atan_of;
	case OP_ASIN: return asin_of;
	case OP_ACOS: return acos_of;
	default: return NULL;
	}
}
