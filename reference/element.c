/* One operation on elements.
 *
 * Functions that rise or fall in each operand are computed at the ends of the operands' intervals:
 * the result's interval is between the least and the greatest. Steps (floor, a cast to an integer)
 * are among them, so what rounding decides shows as a wide interval. The others are treated one by
 * one. Integers without errors are base/ops.h's.
 */
#include "reference/element.h"

#include <float.h>
#include <tgmath.h>

#include "base/element.h"

typedef long double Wide;

RefElement element_unknown(void) { return (RefElement){.error = (double)INFINITY, .jumps = true}; }

RefElement element_neutral(Op op, Dtype dtype)
{
	Scalar neutral = op_neutral(op, dtype);
	return element_exact(dtype_is_float(dtype) ? (Wide)neutral.f : (Wide)neutral.i);
}

bool element_is_unknown(const RefElement *element) { return isinf(element->error); }

/* ---- the types ---- */

int element_digits(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F64: return DBL_MANT_DIG;
	case DTYPE_BF16: return 8;
	case DTYPE_F16: return 11;
	case DTYPE_F8E4M3: return 4;
	case DTYPE_F8E5M2: return 3;
	default: return FLT_MANT_DIG;
	}
}

double element_unit(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F64: return DBL_EPSILON / 2 + (double)LDBL_EPSILON;
	case DTYPE_BF16: return 0x1p-8;
	case DTYPE_F16: return 0x1p-11;
	case DTYPE_F8E4M3: return 0x1p-4;
	case DTYPE_F8E5M2: return 0x1p-3;
	default: return (double)FLT_EPSILON / 2 + (double)LDBL_EPSILON;
	}
}

double element_least(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F64: return 0x1p-1074;
	case DTYPE_BF16: return 0x1p-133;
	case DTYPE_F16: return 0x1p-24;
	case DTYPE_F8E4M3: return 0x1p-9;
	case DTYPE_F8E5M2: return 0x1p-16;
	default: return 0x1p-149;
	}
}

double element_most(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F64: return DBL_MAX;
	case DTYPE_BF16: return 0x1.fep127;
	case DTYPE_F16: return 65504;
	case DTYPE_F8E4M3: return 448;
	case DTYPE_F8E5M2: return 57344;
	default: return (double)FLT_MAX;
	}
}

/* The least of the normal numbers. */
static double normal(Dtype dtype)
{
	return dtype == DTYPE_F64 ? DBL_MIN : dtype == DTYPE_F16 ? 0x1p-14 : (double)FLT_MIN;
}

long double element_round(Dtype dtype, long double x)
{
	switch (dtype) {
	case DTYPE_F64: return (double)x;
	case DTYPE_F32: return (float)x;
	case DTYPE_BF16: return bf16_value(bf16_bits((float)x));
	case DTYPE_F16: return f16_value(f16_bits((float)x));
	case DTYPE_F8E4M3: return f8e4m3_value(f8e4m3_bits((float)x));
	case DTYPE_F8E5M2: return f8e5m2_value(f8e5m2_bits((float)x));
	default: return x;
	}
}

/* Infinite where all of it overflows, unknown where a part does. */
static bool overflows(Dtype dtype, Wide x, double spread, RefElement *out)
{
	Wide most = element_most(dtype);
	if (fabs(x) + spread <= most)
		return false;
	if (!isfinite(x) || fabs(x) - spread > most * (1 + element_unit(dtype))) {
		*out = element_exact(isfinite(x) ? copysign((Wide)INFINITY, x) : x);
		return true;
	}
	*out = element_unknown();
	return true;
}

RefElement element_rounded(Dtype dtype, long double x, double spread)
{
	RefElement element;
	if (!dtype_is_float(dtype))
		return (RefElement){.x = x, .error = spread};
	if (overflows(dtype, x, spread, &element))
		return element;
	Wide rounded = element_round(dtype, x);
	element = element_exact(x);
	if (spread > 0)
		element.error = spread + element_unit(dtype) * ((double)fabs(x) + spread) +
				element_least(dtype);
	else if (rounded != x)
		element.error = (double)(fabs(rounded - x) + fabs(x) * LDBL_EPSILON) + DBL_TRUE_MIN;
	return element;
}

/* ---- functions at the ends of intervals ---- */

static Wide real(Op op, Wide x, Wide y, Wide z)
{
	const Wide half_root = 0.707106781186547524400844362104849039L;
	switch (op) {
#define REAL(name, expression) \
	case OP_##name:        \
		return expression;
#include "base/ops_real.def"
#undef REAL
	case OP_THREEFRY:
	case OP_ZIP:
	case OP_ROTATE:
	case OP_NONE: break;
	}
	return 0;
}

/* Of numbers of the same class: how far they are apart; else infinite. */
static double apart(Wide a, Wide b)
{
	if ((isnan(a) && isnan(b)) || a == b)
		return 0;
	return isfinite(a) && isfinite(b) ? (double)fabs(a - b) : (double)INFINITY;
}

/* The value, and how far it is from what the ends of the intervals give. */
static RefElement over_ends(Op op, const RefElement *args)
{
	int n = op_arity(op);
	Wide x[3] = {0};
	for (int i = 0; i < n; i++)
		x[i] = args[i].x;
	RefElement out = element_exact(real(op, x[0], x[1], x[2]));
	if (args[0].error == 0 && args[n / 2].error == 0 && args[n - 1].error == 0)
		return out;
	for (int ends = 0; ends < 1 << n; ends++) {
		for (int i = 0; i < n; i++)
			x[i] = args[i].x + (ends >> i & 1 ? args[i].error : -args[i].error);
		double by = apart(out.x, real(op, x[0], x[1], x[2]));
		out.error = by > out.error ? by : out.error;
	}
	return out;
}

static bool holds_zero(const RefElement *element) { return fabs(element->x) <= element->error; }

/* Does the function jump, or have no value, somewhere inside the operands' intervals? */
static bool breaks(Op op, const RefElement *args)
{
	const Wide quarter = 1.57079632679489661923132169163975144L;
	const RefElement *x = &args[0], *y = &args[op_arity(op) - 1];
	switch (op) {
	case OP_RECIP:
	case OP_RSQRT: return holds_zero(x); /* the sign of a 0 may differ too */
	case OP_DIV: return holds_zero(y);
	case OP_TAN:
		return floor((x->x - x->error) / quarter / 2 + 0.5L) !=
		       floor((x->x + x->error) / quarter / 2 + 0.5L);
	case OP_POW:
		if (x->x > x->error)
			return false;
		if (y->error == 0 && (x->error == 0 || y->x == floor(y->x)))
			return holds_zero(x) && y->x < 0;
		return x->x - x->error < 0 || y->x - y->error <= 0;
	case OP_ATAN2: return holds_zero(x) && y->x <= y->error; /* the sign of a 0 decides, too */
	case OP_LGAMMA: return x->error > 0 && x->x <= x->error;
	case OP_ASIN:
	case OP_ACOS:
	case OP_ATANH: /* from -1 to 1: the ends may be on either side of that */
		return fabs(x->x) > 1 && x->error >= fabs(x->x) - 1;
	default: return false;
	}
}

/* What a function that is no single rounding adds; numbers below the normal ones may be lost. */
static RefElement with_places(const Rules *rules, Op op, Dtype dtype, RefElement element)
{
	double places = op_ulp(op, rules->fast && dtype == DTYPE_F32);
	double most = (double)fabs(element.x) + element.error;
	bool fast = rules->fast && (op == OP_EXP || op == OP_EXP2);
	RefElement over;
	if (overflows(dtype, element.x, element.error, &over))
		return over;
	if (fast && most > 0x1p127)
		return element_unknown();
	element.error += (2 * places + 1) * element_unit(dtype) * most;
	if (element.x == 0 && element.error == 0)
		return element;
	if ((fast || op == OP_SIGMOID) && element.x < 2 * normal(dtype))
		element.error += normal(dtype);
	else
		element.error += (places + 1) * element_least(dtype);
	return element;
}

/* ---- functions that neither rise nor fall, or are exact ---- */

static RefElement smooth(Op op, Dtype dtype, const RefElement *args)
{
	const RefElement *x = &args[0];
	RefElement out = element_exact(real(op, x->x, 0, 0));
	double unit = element_unit(dtype);
	if (isnan(out.x))
		return x->error > 0 ? element_unknown() : out;
	if (op == OP_GELU && isfinite(x->x)) /* in units of the argument */
		out.error = 1.13 * x->error + 4.5 * unit * (double)fabs(x->x) +
			    4 * element_least(dtype);
	else
		out.error = op == OP_ABS || x->error < 2 ? x->error : 2;
	return out;
}

/* An even power falls and rises. */
static RefElement power(const RefElement *args)
{
	RefElement out = over_ends(OP_POW, args);
	bool turns = args[0].error > 0 && holds_zero(&args[0]) && args[1].x != 0;
	if (turns && out.error < (double)fabs(out.x))
		out.error = (double)fabs(out.x);
	return out;
}

/* Falls before `turn` and rises behind it. */
static RefElement with_turn(Op op, const RefElement *args, Wide turn)
{
	RefElement out = over_ends(op, args);
	double by = (double)fabs(out.x - real(op, turn, 0, 0));
	if (fabs(args[0].x - turn) <= args[0].error && by > out.error)
		out.error = by;
	return out;
}

/* Neither grows by more than its operands do. */
static RefElement distance(const RefElement *args)
{
	RefElement out = element_exact(real(OP_HYPOT, args[0].x, args[1].x, 0));
	out.error = args[0].error + args[1].error;
	return out;
}

/* Either sign where the second operand may be 0, whose sign rounding decides. */
static RefElement with_sign_of(const RefElement *args)
{
	RefElement out = element_exact(real(OP_COPYSIGN, args[0].x, args[1].x, 0));
	out.jumps = holds_zero(&args[1]);
	out.error = args[0].error + (out.jumps ? 2 * (double)fabs(args[0].x) : 0);
	return isnan(args[1].x) || (out.jumps && !isfinite(out.x)) ? element_unknown() : out;
}

/* Functions that rise in some places and fall in others: the value before it is rounded. */
static RefElement curved(Op op, Dtype dtype, const RefElement *args)
{
	switch (op) {
	case OP_SIN:
	case OP_COS: return smooth(op, dtype, args);
	case OP_POW: return power(args);
	case OP_COSH: return with_turn(op, args, 0);
	case OP_LGAMMA: return with_turn(op, args, 1.46163214496836234126266L);
	case OP_HYPOT: return distance(args);
	case OP_COPYSIGN: return with_sign_of(args);
	default: return over_ends(op, args);
	}
}

static RefElement remainder_of(Dtype dtype, const RefElement *args)
{
	const RefElement *x = &args[0], *y = &args[1];
	Wide value = real(OP_MOD, x->x, y->x, 0);
	if (x->error == 0 && y->error == 0)
		return element_rounded(dtype, value, 0);
	if (holds_zero(y) || !isfinite(value))
		return element_unknown();
	RefElement times = over_ends(OP_DIV, args);
	Wide whole = floor(times.x), by = times.error * (1 + 0x1p-30L);
	if (floor(times.x - by) == whole && floor(times.x + by) == whole)
		return element_rounded(dtype, value, x->error + (double)fabs(whole) * y->error);
	return (RefElement){.x = value, .error = (double)fabs(y->x) + y->error, .jumps = true};
}

typedef struct Truth {
	bool no, yes; /* what it may be */
} Truth;

static RefElement truth_element(Truth truth)
{
	bool open = truth.no && truth.yes;
	return (RefElement){.x = !truth.no, .error = open, .jumps = open};
}

/* Is it other than 0? NaN is. */
static Truth is_true(const RefElement *x)
{
	if (element_is_unknown(x))
		return (Truth){true, true};
	return (Truth){holds_zero(x), x->x != 0 || x->error > 0};
}

static Truth is_less(const RefElement *a, const RefElement *b, bool or_equal)
{
	Wide most = b->x + b->error - (a->x - a->error),
	     least = b->x - b->error - (a->x + a->error);
	if (element_is_unknown(a) || element_is_unknown(b))
		return (Truth){true, true};
	if (isinf(a->x) || isinf(b->x) || isnan(a->x) || isnan(b->x)) {
		bool less = or_equal ? a->x <= b->x : a->x < b->x;
		return (Truth){!less, less};
	}
	return or_equal ? (Truth){least < 0, most >= 0} : (Truth){least <= 0, most > 0};
}

static Truth is_equal(const RefElement *a, const RefElement *b)
{
	Truth below = is_less(a, b, true), above = is_less(b, a, true);
	if (element_is_unknown(a) || element_is_unknown(b))
		return (Truth){true, true};
	bool same = a->x == b->x && a->error == 0 && b->error == 0;
	return (Truth){!same, below.yes && above.yes};
}

/* Is the number of the class that the exact one is of? What is unknown may be of any. */
static Truth is_class(const RefElement *a, bool is)
{
	return element_is_unknown(a) ? (Truth){true, true} : (Truth){!is, is};
}

static Truth compare(Op op, const RefElement *a, const RefElement *b)
{
	Truth x, y;
	switch (op) {
	case OP_LT: return is_less(a, b, false);
	case OP_LE: return is_less(a, b, true);
	case OP_GT: return is_less(b, a, false);
	case OP_GE: return is_less(b, a, true);
	case OP_EQ: return is_equal(a, b);
	case OP_NE: x = is_equal(a, b); return (Truth){x.yes, x.no};
	case OP_NOT: x = is_true(a); return (Truth){x.yes, x.no};
	case OP_ISNAN: return is_class(a, isnan(a->x));
	case OP_ISINF: return is_class(a, isinf(a->x));
	default: break;
	}
	x = is_true(a);
	y = is_true(b);
	return op == OP_AND ? (Truth){x.no || y.no, x.yes && y.yes}
			    : (Truth){x.no && y.no, x.yes || y.yes};
}

/* One of two, or what covers both. */
static RefElement choose(Truth truth, RefElement yes, RefElement no)
{
	if (!truth.no)
		return yes;
	if (!truth.yes)
		return no;
	double by = apart(yes.x, no.x) + no.error;
	yes.error = by > yes.error ? by : yes.error;
	yes.jumps = true;
	return isfinite(yes.x) ? yes : element_unknown();
}

static RefElement gate(Op op, const RefElement *args)
{
	RefElement zero = element_exact(0), one = element_exact(1);
	Truth open = is_less(&zero, &args[0], false);
	RefElement out = choose(open, args[1], zero);
	return op == OP_RELU_GATE ? out : choose(is_less(&args[0], &one, false), out, zero);
}

/* ---- operations ---- */

/* Is the result an operand, or a whole number of the type? */
static bool needs_no_rounding(Op op)
{
	switch (op) {
	case OP_MAX:
	case OP_MIN:
	case OP_ID:
	case OP_NEG:
	case OP_ABS:
	case OP_RELU:
	case OP_SAT01:
	case OP_SIGN:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC:
	case OP_COPYSIGN: return true;
	default: return false;
	}
}

static bool is_step(Op op)
{
	return op == OP_SIGN || op == OP_FLOOR || op == OP_CEIL || op == OP_ROUND || op == OP_TRUNC;
}

static bool is_rounded_once(Op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_SQRT ||
	       op == OP_RECIP || op == OP_FMA;
}

static RefElement float_op(const Rules *rules, Op op, Dtype dtype, const RefElement *args)
{
	if (op <= OP_MUL && args[0].error == 0 && args[1].error == 0)
		return element_rounded(dtype, real(op, args[0].x, args[1].x, 0), 0);
	if (op_gives_truth(op))
		return truth_element(compare(op, &args[0], &args[op_arity(op) - 1]));
	if (op == OP_WHERE)
		return choose(is_true(&args[0]), args[1], args[2]);
	if (op == OP_RELU_GATE || op == OP_SAT01_GATE)
		return gate(op, args);
	for (int i = 0; i < op_arity(op); i++)
		if (element_is_unknown(&args[i]))
			return element_unknown();
	if (breaks(op, args))
		return element_unknown();
	if (op == OP_MOD)
		return remainder_of(dtype, args);
	if (op == OP_ABS || op == OP_GELU)
		return smooth(op, dtype, args);
	RefElement out = curved(op, dtype, args);
	out.jumps |= is_step(op);
	if (needs_no_rounding(op) || element_is_unknown(&out))
		return out;
	return is_rounded_once(op) ? element_rounded(dtype, out.x, out.error)
				   : with_places(rules, op, dtype, out);
}

static bool fits(Dtype dtype, const RefElement *element)
{
	Wide least = op_neutral(OP_MAX, dtype).i, most = op_neutral(OP_MIN, dtype).i;
	return element->x - element->error >= least && element->x + element->error <= most;
}

/* Integers that rounding has a say in, as if they were real; unknown where they may wrap, or where
 * a quotient is cut off. */
static RefElement inexact_op(const Rules *rules, Op op, Dtype dtype, const RefElement *args)
{
	bool wraps_less = op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_FMA;
	if (!wraps_less && !needs_no_rounding(op) && !op_gives_truth(op) && op != OP_WHERE)
		return element_unknown();
	RefElement out = float_op(rules, op, DTYPE_F64, args);
	if (op_gives_truth(op) || element_is_unknown(&out))
		return out;
	return fits(dtype, &out) ? out : element_unknown();
}

static RefElement words_op(Op op, const RefElement *args)
{
	Scalar words[2];
	for (int i = 0; i < op_arity(op); i++) {
		if (element_is_unknown(&args[i]))
			return element_unknown();
		for (int k = 0; k < 4; k++)
			words[i].w[k] = args[i].w[k];
	}
	Scalar out = op_eval(op, DTYPE_U4X32, words);
	return (RefElement){.w = {out.w[0], out.w[1], out.w[2], out.w[3]}};
}

static RefElement any_op(const Rules *rules, Op op, Dtype dtype, const RefElement *args)
{
	Scalar exact[3] = {{0}};
	if (dtype == DTYPE_U4X32)
		return op == OP_ID ? args[0] : words_op(op, args);
	if (dtype_is_float(dtype))
		return float_op(rules, op, dtype, args);
	for (int i = 0; i < op_arity(op); i++) {
		if (args[i].error > 0)
			return inexact_op(rules, op, dtype, args);
		exact[i].i = (int64_t)args[i].x;
	}
	return element_exact((Wide)op_eval(op, dtype, exact).i);
}

RefElement element_op(const Rules *rules, Op op, Dtype dtype, const RefElement *args)
{
	RefElement out = any_op(rules, op, dtype, args);
	for (int i = 0; i < op_arity(op); i++)
		out.jumps |= args[i].jumps;
	out.jumps &= out.error > 0;
	return out;
}

/* ---- conversions ---- */

static Wide converted(Wide x, Dtype from, Dtype to)
{
	Scalar s = {0};
	if (dtype_is_float(
		    to)) /* f64 and integers to bf16 and f16 by way of f32, as element_round does */
		return element_round(to, x);
	if (dtype_is_float(from))
		s.f = (double)x;
	else
		s.i = (int64_t)x;
	return (Wide)scalar_convert(s, from, to).i;
}

RefElement element_convert(RefElement element, Dtype from, Dtype to)
{
	if (from == to)
		return element;
	if (to == DTYPE_U4X32) {
		if (element.error > 0)
			return element_unknown();
		Scalar s = scalar_convert((Scalar){.i = (int64_t)element.x}, from, to);
		return (RefElement){.w = {s.w[0], s.w[1], s.w[2], s.w[3]}};
	}
	if (from == DTYPE_U4X32) {
		Scalar words = {.w = {element.w[0], element.w[1], element.w[2], element.w[3]}};
		return element_is_unknown(&element)
			       ? (RefElement){.x = 0.5, .error = 0.5, .jumps = true}
			       : element_exact(scalar_convert(words, from, to).f);
	}
	bool holds_all = dtype_wide(from) == to || (to == DTYPE_F64 && from != DTYPE_I64);
	if (holds_all || element_is_unknown(&element))
		return element;
	if (to == DTYPE_BOOL)
		return truth_element(is_true(&element));
	if (!dtype_is_float(from) && !dtype_is_float(to) && element.error > 0)
		return fits(to, &element) ? element : element_unknown();
	RefElement out = element_exact(converted(element.x, from, to));
	double below = apart(out.x, converted(element.x - element.error, from, to)),
	       above = apart(out.x, converted(element.x + element.error, from, to));
	out.error = below > above ? below : above;
	out.jumps = out.error > 0 && to != DTYPE_F32;
	return out;
}

/* ---- comparison ---- */

bool ref_says_something(const RefElement *element, Dtype dtype)
{
	return dtype_is_float(dtype) ? !element_is_unknown(element) : element->error < 0x1p31;
}

bool ref_allows(const RefElement *element, Dtype dtype, Scalar got)
{
	if (!ref_says_something(element, dtype))
		return true;
	if (!dtype_is_float(dtype))
		return fabs((Wide)got.i - element->x) <= element->error;
	if (isnan(element->x) || isnan(got.f))
		return isnan(element->x) && isnan(got.f);
	if (isinf(element->x) || isinf(got.f))
		return element->x == got.f;
	return fabs((Wide)got.f - element->x) <= element->error * (1 + 0x1p-20);
}
