/* Functions that have a fast path for the arguments programs have, and are the C library's for all
 * others: sin, cos, tan and % of f64, tan of f32.
 *
 *   sin(x), cos(x)   |x| < 2^20: sin(r) with the sign of (-1)^n, r = x - n pi (cos: x - (n + 1/2) pi) as a sum of two
 *                    numbers: pi in parts of 33, 33 and 53 bits, of which the products of the first two are exact
 *   tan(x)           |x| < 2^20: sin(r)/cos(r) or -cos(r)/sin(r), r = x - n pi/2; of f32 in double,
 *                    r + r P(r^2) or -1 over that
 *   a % b            |a| < 2^24 |b|, b in 2^-1000..2^999: a - n b, exact: b in two parts of 27 bits
 *
 * The reduction is that of W. J. Cody and W. Waite, Software Manual for the Elementary Functions,
 * 1980, chapters 8 and 9, what its last subtraction loses being kept (O. Moller, D. Knuth).
 */
#include "codegen/math_build.h"
#include "codegen/math_poly.h"

#define ANGLE_RANGE 0x1p20
#define QUOTIENT_RANGE 0x1p24
#define LEAST_DIVISOR 0x1p-1000
#define MOST_DIVISOR 0x1p999  /* n times its first part is finite */
#define PI_1 0x1.921fb544p+1  /* 33 bits */
#define PI_2 0x1.0b4611a6p-33 /* 33 bits */
#define PI_3 0x1.3198a2e037073p-68
#define PI_REST 0x1.0b4611a626331p-33 /* PI_2 + PI_3, 53 bits */
#define OVER_PI 0x1.45f306dc9c883p-2

/* ---- angles ---- */

/* x - n unit pi as r + rest */
typedef struct Angle {
	V r, rest;
} Angle;

static Angle reduce_angle(Make *m, V x, V n, double unit)
{
	V first = sub(m, x, times(m, n, PI_1 * unit)), second = times(m, n, -PI_2 * unit);
	V r = add(m, first, second);
	V taken = sub(m, r, first); /* of the second; either may be the greater one (Knuth) */
	V lost = add(m, sub(m, first, sub(m, r, taken)), sub(m, second, taken));
	return (Angle){r, sub(m, lost, times(m, n, PI_3 * unit))};
}

/* a with its sign changed where the lowest bit of `rounded` is not `even` */
static V negated_if(Make *m, V a, V rounded, int even)
{
	V odd = shift(m, MATH_SHL, bits(m, rounded, DTYPE_I64), 63);
	if (even)
		odd = plus_int(m, odd, INT64_MIN);
	return bits(m, add(m, bits(m, a, DTYPE_I64), odd), DTYPE_F64);
}

/* sin(r + rest) - r for |r| <= pi/2 */
static V sine_less(Make *m, const Angle *a, V square)
{
	V cosine = plus(m, times(m, square, 1.0 / 24), -0.5);
	cosine = plus(m, mul(m, cosine, square), 1); /* enough for the rest, 2^-49 */
	V tail = mul(m, mul(m, a->r, square), POLYNOMIAL(m, square, double_sin));
	return add(m, tail, mul(m, a->rest, cosine));
}

static V fast_sine(Make *m, V x, bool cosine)
{
	V turns = times(m, x, OVER_PI);
	V rounded = plus(m, cosine ? plus(m, turns, -0.5) : turns, ROUND64);
	V n = plus(m, rounded, -ROUND64);
	Angle a = reduce_angle(m, x, cosine ? plus(m, n, 0.5) : n, 1);
	V sine = add(m, a.r, sine_less(m, &a, mul(m, a.r, a.r)));
	V result = negated_if(m, sine, rounded, cosine);
	return cosine ? result : equal(m, x, number(m, DTYPE_F64, 0), x, result);
}

/* The quotient, its sign changed where n is odd. */
static V tangent(Make *m, V rounded, V sine, V cosine)
{
	V one = integer(m, DTYPE_I64, 1), zero = number(m, DTYPE_F64, 0);
	/* as a number, so that the choice is between floats */
	V odd = bits(m,
		     shift(m, MATH_SHL, binary(m, MATH_AND, bits(m, rounded, DTYPE_I64), one), 62),
		     DTYPE_F64);
	V over = equal(m, odd, zero, sine, times(m, cosine, -1));
	return binary(m, MATH_DIV, over, equal(m, odd, zero, cosine, sine));
}

static V fast_tan(Make *m, V x)
{
	V rounded = plus(m, times(m, x, 2 * OVER_PI), ROUND64);
	Angle a = reduce_angle(m, x, plus(m, rounded, -ROUND64), 0.5);
	V square = mul(m, a.r, a.r);
	V sine = add(m, a.r, sine_less(m, &a, square));
	V tail = mul(m, mul(m, square, square), POLYNOMIAL(m, square, double_cos));
	V half = times(m, square, 0.5), first = sub(m, number(m, DTYPE_F64, 1), half);
	V lost = sub(m, sub(m, number(m, DTYPE_F64, 1), first), half);
	V cosine = add(m, first, add(m, lost, sub(m, tail, mul(m, sine, a.rest))));
	return equal(m, x, number(m, DTYPE_F64, 0), x, tangent(m, rounded, sine, cosine));
}

/* ... of f32 */
static V fast_tan_single(Make *m, V argument)
{
	V x = convert(m, argument, DTYPE_F64);
	V rounded = plus(m, times(m, x, 2 * OVER_PI), ROUND64);
	V n = plus(m, rounded, -ROUND64);
	V r = sub(m, sub(m, x, times(m, n, PI_1 / 2)), times(m, n, PI_REST / 2));
	V square = mul(m, r, r);
	V t = add(m, r, mul(m, mul(m, r, square), POLYNOMIAL(m, square, double_tan)));
	V result = convert(m, tangent(m, rounded, t, number(m, DTYPE_F64, 1)), DTYPE_F32);
	return equal(m, argument, number(m, DTYPE_F32, 0), argument, result);
}

/* ---- remainders ---- */

/* r is the least by size, of either sign; of b's sign it is r or r + b. Zeros have a's sign. */
static V fast_mod(Make *m, V a, V b)
{
	V zero = number(m, DTYPE_F64, 0);
	V inverse = binary(m, MATH_DIV, number(m, DTYPE_F64, 1), b);
	V n = plus(m, plus(m, mul(m, a, inverse), ROUND64), -ROUND64);
	V top = plus_int(m, bits(m, b, DTYPE_I64), 1 << 26);
	top = bits(m, mask(m, top, -((int64_t)1 << 27)), DTYPE_F64);
	V r = sub(m, sub(m, a, mul(m, n, top)), mul(m, n, sub(m, b, top)));
	V above = less(m, r, zero, add(m, r, b), r), below = less(m, zero, r, add(m, r, b), r);
	V result = less(m, b, zero, below, above);
	return equal(m, result, zero, with_sign(m, zero, a), result);
}

/* ---- the table ---- */

bool math_ends_in_library(Op op, Dtype dtype)
{
	bool angle = dtype == DTYPE_F64 && (op == OP_SIN || op == OP_COS);
	return angle || ((dtype == DTYPE_F64 || dtype == DTYPE_F32) && op == OP_TAN);
}

V math_fast_path_double(Make *m, Op op, V x, V y)
{
	switch (op) {
	case OP_SIN: return fast_sine(m, x, false);
	case OP_COS: return fast_sine(m, x, true);
	case OP_MOD: return fast_mod(m, x, y);
	case OP_TAN: return type_of(m, x) == DTYPE_F64 ? fast_tan(m, x) : fast_tan_single(m, x);
	default: BUG("no fast path of %s", op_name(op));
	}
}

V math_far_double(Make *m, Op op, V x, V y)
{
	V size = magnitude(m, x);
	if (op != OP_MOD)
		return far_angle(m, size, ANGLE_RANGE);
	V divisor = magnitude(m, y);
	V far = not_less(m, size, times(m, divisor, QUOTIENT_RANGE));
	far = binary(m, MATH_OR, far, not_less(m, divisor, number(m, DTYPE_F64, MOST_DIVISOR)));
	far = binary(m, MATH_OR, far, not_less(m, number(m, DTYPE_F64, LEAST_DIVISOR), divisor));
	return far_remainder(m, size, divisor, far);
}
