/* Steps under construction, private to math*.c. */
#ifndef TSR_CODEGEN_MATH_BUILD_H
#define TSR_CODEGEN_MATH_BUILD_H

#include <math.h>

#include "codegen/math.h"

typedef uint32_t V; /* a step */

typedef struct Make {
	Arena *arena;
	MathFunction fn;
	MathForm form;
} Make;

#define ROUND32 0x1.8p23
#define ROUND64 0x1.8p52
#define ROUND_BITS 0x4338000000000000 /* of ROUND64 */
#define LOG2E 1.4426950408889634
#define SIGN32 ((int64_t)INT32_MIN)

/* ---- steps ---- */

static inline V push(Make *m, MathStep step)
{
	PUSH(m->arena, m->fn.steps, step);
	return (V)m->fn.steps.n - 1;
}

static inline Dtype type_of(const Make *m, V v)
{
	return m->fn.steps.at[v].dtype;
}

static inline V number(Make *m, Dtype dtype, double value)
{
	return push(m, (MathStep){.code = MATH_CONST, .dtype = dtype, .number = value});
}

static inline V integer(Make *m, Dtype dtype, int64_t value)
{
	return push(m, (MathStep){.code = MATH_CONST, .dtype = dtype, .integer = value});
}

static inline V binary(Make *m, MathCode code, V a, V b)
{
	return push(m, (MathStep){.code = code, .dtype = type_of(m, a), .arg = {a, b}});
}

static inline V add(Make *m, V a, V b)
{
	return binary(m, MATH_ADD, a, b);
}

static inline V sub(Make *m, V a, V b)
{
	return binary(m, MATH_SUB, a, b);
}

static inline V mul(Make *m, V a, V b)
{
	return binary(m, MATH_MUL, a, b);
}

/* With a constant of the same type. */
static inline V plus(Make *m, V a, double value)
{
	return add(m, a, number(m, type_of(m, a), value));
}

static inline V times(Make *m, V a, double value)
{
	return mul(m, a, number(m, type_of(m, a), value));
}

static inline V plus_int(Make *m, V a, int64_t value)
{
	return add(m, a, integer(m, type_of(m, a), value));
}

static inline V mask(Make *m, V a, int64_t value)
{
	return binary(m, MATH_AND, a, integer(m, type_of(m, a), value));
}

static inline V shift(Make *m, MathCode code, V a, uint32_t bits)
{
	return push(m, (MathStep){.code = code, .dtype = type_of(m, a), .arg = {a, bits}});
}

static inline V bits(Make *m, V a, Dtype dtype)
{
	return push(m, (MathStep){.code = MATH_BITS, .dtype = dtype, .arg = {a}});
}

static inline V convert(Make *m, V a, Dtype dtype)
{
	return push(m, (MathStep){.code = MATH_CONVERT, .dtype = dtype, .arg = {a}});
}

/* a < b ? c : d */
static inline V less(Make *m, V a, V b, V c, V d)
{
	return push(m, (MathStep){.code = MATH_LESS, .dtype = type_of(m, c), .arg = {a, b, c, d}});
}

static inline V equal(Make *m, V a, V b, V c, V d)
{
	return push(m, (MathStep){.code = MATH_EQUAL, .dtype = type_of(m, c), .arg = {a, b, c, d}});
}

/* NaN stays. */
static inline V at_most(Make *m, V a, double value)
{
	V top = number(m, type_of(m, a), value);
	return less(m, top, a, top, a);
}

static inline V at_least(Make *m, V a, double value)
{
	V bottom = number(m, type_of(m, a), value);
	return less(m, a, bottom, bottom, a);
}

/* The coefficients of a polynomial, each times a power of two. */
typedef struct Series {
	const double *coefs;
	size_t n;
	double unit;
} Series;

static inline V coefficient(Make *m, V x, const Series *s, size_t i)
{
	return number(m, type_of(m, x), s->coefs[i] * s->unit);
}

/* Even and odd powers side by side: half the steps that wait for each other. */
static inline V halved(Make *m, V x, const Series *s)
{
	V square = mul(m, x, x), sums[2];
	for (size_t i = 0; i < 2; i++) {
		size_t at = s->n - 1 - (s->n - 1 - i) % 2;
		sums[i] = coefficient(m, x, s, at);
		for (; at > i; at -= 2) {
			V product = mul(m, sums[i], square);
			sums[i] = add(m, product, coefficient(m, x, s, at - 2));
		}
	}
	return add(m, mul(m, sums[1], x), sums[0]);
}

/* Vectors of f32 are several at a time where there is AVX-512, so that latency does not matter. */
static inline V polynomial(Make *m, V x, Series s)
{
	if (type_of(m, x) == DTYPE_F64 && s.n > 5)
		return halved(m, x, &s);
	V sum = coefficient(m, x, &s, s.n - 1);
	for (size_t i = s.n - 1; i-- > 0;) {
		V product = mul(m, sum, x);
		sum = add(m, product, coefficient(m, x, &s, i));
	}
	return sum;
}
#define SCALED(m, x, coefs, unit) \
	polynomial(m, x, (Series){coefs, sizeof(coefs) / sizeof *(coefs), unit})
#define POLYNOMIAL(m, x, coefs) SCALED(m, x, coefs, 1)

static inline V magnitude(Make *m, V x)
{
	bool wide = type_of(m, x) == DTYPE_F64;
	V b = bits(m, x, wide ? DTYPE_I64 : DTYPE_I32);
	return bits(m, mask(m, b, wide ? INT64_MAX : INT32_MAX), type_of(m, x));
}

/* a, which is not negative, with the sign of x */
static inline V with_sign(Make *m, V a, V x)
{
	bool wide = type_of(m, x) == DTYPE_F64;
	Dtype same = wide ? DTYPE_I64 : DTYPE_I32;
	V sign = mask(m, bits(m, x, same), wide ? INT64_MIN : SIGN32);
	return bits(m, binary(m, MATH_OR, bits(m, a, same), sign), type_of(m, x));
}

static inline V infinity(Make *m, V a) { return number(m, type_of(m, a), (double)INFINITY); }

/* i32: 0 where a < b, else 1 */
static inline V not_less(Make *m, V a, V b)
{
	return less(m, a, b, integer(m, DTYPE_I32, 0), integer(m, DTYPE_I32, 1));
}

/* i32: c where a < b, else 0 */
static inline V only_less(Make *m, V a, V b, V c)
{
	return less(m, a, b, c, integer(m, DTYPE_I32, 0));
}

/* i32: 1 where least <= size < infinity, else 0, of an f32 that is not negative. One comparison: of
 * size - least and infinity - least as unsigned integers, less 2^31 for a signed comparison. */
static inline V finite_from(Make *m, V size, V least)
{
	V top = integer(m, DTYPE_I32, SIGN32), offset = add(m, bits(m, least, DTYPE_I32), top);
	V past = sub(m, bits(m, size, DTYPE_I32), offset);
	V all = sub(m, bits(m, infinity(m, size), DTYPE_I32), offset);
	return less(m, past, all, integer(m, DTYPE_I32, 1), integer(m, DTYPE_I32, 0));
}

/* i32: is an angle's size finite and not below `least`? The fast paths give NaN for infinities. */
static inline V far_angle(Make *m, V size, double least)
{
	V from = number(m, type_of(m, size), least);
	if (type_of(m, size) == DTYPE_F32)
		return finite_from(m, size, from);
	return only_less(m, size, infinity(m, size), not_less(m, size, from));
}

/* `far` where size % divisor is a number. The fast paths give NaN elsewhere. */
static inline V far_remainder(Make *m, V size, V divisor, V far)
{
	far = only_less(m, size, infinity(m, size), far);
	return only_less(m, number(m, type_of(m, divisor), 0), divisor, far);
}

/* The formula of an operation; NULL: there is none. */
typedef V (*Formula)(Make *m, V x);
Formula math_fast_formula(Op op);   /* f32, --fp=fast */
Formula math_double_formula(Op op); /* f64 */
Formula math_inverse_formula(Op op); /* of either type */
V math_exp(Make *m, V x); /* for x <= 0, of either type */
/* (exp(x) - 1) 2^-less and exp(x) 2^-less where 2^(n - less), n = round(x/ln2), is a normal number */
V math_expm1_single(Make *m, V x, int less);
V math_exp_single(Make *m, V x, int less);
V math_expm1_double(Make *m, V x, int less);
V math_exp_double(Make *m, V x, int less);
/* log(u + lost), where u is that sum rounded */
V math_log_single(Make *m, V u, V lost);
V math_log_double(Make *m, V u, V lost);
V math_exp_of_double(Make *m, V x);
V math_sin(Make *m, V x);
V math_cos(Make *m, V x);
V math_fast_path_double(Make *m, Op op, V x, V y); /* of f64, and of f32 for tan */
V math_far_double(Make *m, Op op, V x, V y);
V math_pow_double(Make *m, V x, V y);
/* a 2^n for SCALE_LEAST <= n <= 1025, an i64, rounded once: 0 for SCALE_LEAST, by a product with 0
 * (math.c says why) */
V math_scale_double(Make *m, V a, V n);
enum { SCALE_LEAST = -1075 };
V math_split_double(Make *m, V x, V *n); /* x = 2^n of what is returned, in [sqrt(1/2), sqrt(2)) */

#endif
