/* Functions of f32 (of f64: math_fast_path_double.c) that have a fast path for the arguments that
 * programs have, and a long one for all others.
 *
 *   sin(x), cos(x)   fast, |x| < 2^20: sin(r) with the sign of (-1)^n, r = x - n pi (cos: x - (n + 1/2) pi) in double;
 *                    n has 20 bits, so its product with the 33 leading bits of pi is exact
 *                    far: sin or cos of f*pi/2, f = x*2/pi - n, |f| <= 1/2; x = m 2^i with m < 2^26, and what
 *                    matters of 2^i * 2/pi, all but multiples of 4, is in a table
 *   a % b            fast, |a| < 2^27 |b| and b finite: a - n b in double, exact since n has 27 bits
 *                    far: fmod of the C library
 *
 * An argument has the same result in either form of the code around it: the long form of sin and
 * cos takes those in its range as the fast path does, remainders are exact. So a loop may take the
 * fast path where all of its arguments are in range.
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"
#include "codegen/math_quarters.h"

#define SINE_RANGE 0x1p20
#define QUOTIENT_RANGE 0x1p27
#define PI_HIGH 0x1.921fb544p+1	     /* 33 bits */
#define PI_LOW 0x1.0b4611a626331p-33 /* the next 53 */
#define OVER_PI 0x1.45f306dc9c883p-2

/* ---- sin and cos ---- */

/* The lowest bit of `rounded` is that of n, and becomes a sign. */
static V fast_sine(Make *m, V argument, bool cosine)
{
	V x = convert(m, argument, DTYPE_F64);
	V turns = times(m, x, OVER_PI);
	if (cosine)
		turns = plus(m, turns, -0.5);
	V rounded = plus(m, turns, ROUND64);
	V n = plus(m, rounded, -ROUND64);
	if (cosine)
		n = plus(m, n, 0.5);
	V rest = sub(m, sub(m, x, times(m, n, PI_HIGH)), times(m, n, PI_LOW));
	V odd = shift(m, MATH_SHL, bits(m, rounded, DTYPE_I64), 63);
	if (cosine)
		odd = plus_int(m, odd, INT64_MIN);
	V r = convert(m, bits(m, add(m, bits(m, rest, DTYPE_I64), odd), DTYPE_F64), DTYPE_F32);
	V square = mul(m, r, r);
	return mul(m, r, plus(m, mul(m, square, POLYNOMIAL(m, square, fast_sin)), 1));
}

static const MathTable high_table = {"tsr_quarters_high", quarters_high,
				     sizeof quarters_high / sizeof *quarters_high};
static const MathTable low_table = {"tsr_quarters_low", quarters_low,
				    sizeof quarters_low / sizeof *quarters_low};

static V lookup(Make *m, const MathTable *table, V at)
{
	return push(
		m,
		(MathStep){.code = MATH_LOOKUP, .dtype = DTYPE_F64, .arg = {at}, .table = table});
}

/* sin(x + quarter pi/2) of any x */
static V far_sine(Make *m, V argument, int64_t quarter)
{
	const int64_t least = 1023 + 25, last = high_table.n - 1;
	V x = convert(m, argument, DTYPE_F64), zero = integer(m, DTYPE_I64, 0);
	V at = mask(m, shift(m, MATH_USHR, bits(m, x, DTYPE_I64), 52), 0x7ff);
	at = plus_int(m, at, -least);
	at = less(m, at, zero, zero, at);
	V top = integer(m, DTYPE_I64, last); /* for infinity and NaN */
	at = less(m, top, at, top, at);
	V unit = shift(m, MATH_SHL, sub(m, integer(m, DTYPE_I64, 1023), at), 52);
	V scaled = mul(m, x, bits(m, unit, DTYPE_F64));
	V high = mul(m, scaled, lookup(m, &high_table, at));
	V low = mul(m, scaled, lookup(m, &low_table, at));
	V rounded = plus(m, add(m, high, low), ROUND64);
	V rest = add(m, sub(m, high, plus(m, rounded, -ROUND64)), low);
	V r = convert(m, times(m, rest, 1.5707963267948966), DTYPE_F32);
	V n = plus_int(m, convert(m, bits(m, rounded, DTYPE_I64), DTYPE_I32), quarter);
	V square = mul(m, r, r);
	V sine = mul(m, r, plus(m, mul(m, square, POLYNOMIAL(m, square, poly_sin)), 1));
	V tail = mul(m, mul(m, square, square), POLYNOMIAL(m, square, poly_cos));
	V cosine = plus(m, add(m, times(m, square, -0.5), tail), 1);
	V even = equal(m, mask(m, n, 1), integer(m, DTYPE_I32, 0), sine, cosine);
	V sign = shift(m, MATH_SHL, mask(m, n, 2), 30);
	return bits(m, add(m, bits(m, even, DTYPE_I32), sign), DTYPE_F32);
}

/* Infinities and NaN are in range: either form gives NaN. */
static V fast_or_far(Make *m, V x, V fast, V far)
{
	V size = magnitude(m, x);
	far = less(m, size, infinity(m, size), far, fast);
	return less(m, size, number(m, DTYPE_F32, SINE_RANGE), fast, far);
}

V math_sin(Make *m, V x)
{
	V fast = fast_sine(m, x, false), far = far_sine(m, x, 0);
	return fast_or_far(m, x, fast, far);
}

V math_cos(Make *m, V x)
{
	V fast = fast_sine(m, x, true), far = far_sine(m, x, 1);
	return fast_or_far(m, x, fast, far);
}

/* ---- remainders ---- */

/* r is the least by size, of either sign; of b's sign it is r or r + b. Zeros have a's sign, as
 * fmod's. */
static V fast_mod(Make *m, V a, V b)
{
	V x = convert(m, a, DTYPE_F64), y = convert(m, b, DTYPE_F64),
	  zero = number(m, DTYPE_F64, 0);
	V quotient = mul(m, x, binary(m, MATH_DIV, number(m, DTYPE_F64, 1), y));
	V n = plus(m, plus(m, quotient, ROUND64), -ROUND64);
	V r = sub(m, x, mul(m, n, y));
	V above = less(m, r, zero, add(m, r, y), r), below = less(m, zero, r, add(m, r, y), r);
	V result = convert(m, less(m, y, zero, below, above), DTYPE_F32);
	return equal(m, result, number(m, DTYPE_F32, 0), with_sign(m, number(m, DTYPE_F32, 0), a),
		     result);
}

/* ---- which arguments are in range ---- */

/* By an infinite divisor all finite numbers are far. */
static V far_quotient(Make *m, V a, V b)
{
	V divisor = magnitude(m, b), zero = number(m, DTYPE_F32, 0);
	V least = times(m, divisor, QUOTIENT_RANGE);
	least = less(m, divisor, infinity(m, divisor), least, zero);
	return only_less(m, zero, divisor, finite_from(m, magnitude(m, a), least));
}

bool math_has_fast_path(Op op, Dtype dtype)
{
	bool single = dtype == DTYPE_F32 && (op == OP_SIN || op == OP_COS);
	bool real = dtype == DTYPE_F32 || dtype == DTYPE_F64;
	return single || (real && op == OP_MOD) || math_ends_in_library(op, dtype);
}

static V fast_single(Make *m, Op op, V x, V y)
{
	return op == OP_MOD ? fast_mod(m, x, y) : fast_sine(m, x, op == OP_COS);
}

static V far_single(Make *m, Op op, V x, V y)
{
	return op == OP_MOD ? far_quotient(m, x, y) : far_angle(m, magnitude(m, x), SINE_RANGE);
}

typedef V Steps(Make *m, Op op, V x, V y);

static MathFunction function_of(Make m, Op op, Dtype dtype, Steps *steps)
{
	V x, y = 0;
	REQUIRE(math_has_fast_path(op, dtype));
	x = push(&m, (MathStep){.code = MATH_ARG, .dtype = dtype});
	if (op == OP_MOD)
		y = push(&m, (MathStep){.code = MATH_ARG, .dtype = dtype});
	steps(&m, op, x, y);
	return m.fn;
}

static bool in_double(Op op, Dtype dtype) { return dtype == DTYPE_F64 || op == OP_TAN; }

MathFunction math_fast_path(Arena *arena, Op op, Dtype dtype)
{
	return function_of((Make){.arena = arena}, op, dtype,
			   in_double(op, dtype) ? math_fast_path_double : fast_single);
}

MathFunction math_is_far(Arena *arena, Op op, Dtype dtype)
{
	return function_of((Make){.arena = arena}, op, dtype,
			   in_double(op, dtype) ? math_far_double : far_single);
}
