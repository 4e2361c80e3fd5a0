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

/* Even and odd powers side by side: half the steps that wait for each other. */
static inline V halved(Make *m, V x, const double *coefs, size_t n)
{
	V square = mul(m, x, x), sums[2];
	for (size_t i = 0; i < 2; i++) {
		size_t at = n - 1 - (n - 1 - i) % 2;
		sums[i] = number(m, type_of(m, x), coefs[at]);
		for (; at > i; at -= 2)
			sums[i] = plus(m, mul(m, sums[i], square), coefs[at - 2]);
	}
	return add(m, mul(m, sums[1], x), sums[0]);
}

/* Vectors of f32 are several at a time where there is AVX-512, so that latency does not matter. */
static inline V polynomial(Make *m, V x, const double *coefs, size_t n)
{
	if (type_of(m, x) == DTYPE_F64 && n > 5)
		return halved(m, x, coefs, n);
	V sum = number(m, type_of(m, x), coefs[n - 1]);
	for (size_t i = n - 1; i-- > 0;)
		sum = plus(m, mul(m, sum, x), coefs[i]);
	return sum;
}
#define POLYNOMIAL(m, x, coefs) polynomial(m, x, coefs, sizeof(coefs) / sizeof *(coefs))

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

/* The formula of an operation; NULL: there is none. */
typedef V (*Formula)(Make *m, V x);
Formula math_fast_formula(Op op);   /* f32, --fp=fast */
Formula math_double_formula(Op op); /* f64 */
V math_sin(Make *m, V x);
V math_cos(Make *m, V x);
V math_near_double(Make *m, Op op, V x, V y); /* of f64, and of f32 for tan */
V math_far_double(Make *m, Op op, V x, V y);
V math_pow_double(Make *m, V x, V y);
V math_scale_double(Make *m, V a, V n);	 /* a 2^n, rounded once; n is an i64 */
V math_split_double(Make *m, V x, V *n); /* x = 2^n of what is returned, in [sqrt(1/2), sqrt(2)) */

#endif
