/* The table of scalar operations and their evaluation, one value at a time: what the interpreter
 * runs. The expressions of base/ops_real.def are compiled for double and for float, with the
 * functions of each type (tgmath), so that f32 results are those of compiled C and not a rounded
 * double. */
#include "base/element.h"
#include "base/threefry.h"

#include <string.h>
#include <tgmath.h>

typedef enum Class { CLASS_F, CLASS_I, CLASS_C, CLASS_X } Class;
typedef enum Result { RESULT_SAME, RESULT_FRACTION, RESULT_TRUTH } Result;

typedef struct Row {
	const char *text;
	int arity;
	Class class;
	const char *symbol;
	Result result;
	bool simple;
	uint32_t cost;
	double ulp, fast_ulp;
} Row;

static const Row rows[] = {
#define OP(name, text, arity, class, symbol, result, simple, cost, ulp, fast)                      \
	{text, arity, CLASS_##class, symbol, RESULT_##result, simple, cost, ulp, fast},
#include "base/ops.def"
#undef OP
	{.text = "?", .class = CLASS_X},
};

const char *op_name(Op op)
{
	return rows[op].text;
}

const char *op_symbol(Op op)
{
	return rows[op].symbol;
}

int op_arity(Op op)
{
	return rows[op].arity;
}

Op op_from_name(const char *text, size_t len)
{
	for (Op op = 0; op < OP_COUNT; op++)
		if (rows[op].class == CLASS_F && strlen(rows[op].text) == len &&
		    memcmp(rows[op].text, text, len) == 0)
			return op;
	return OP_NONE;
}

bool op_accumulates(Op op)
{
	return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN || op == OP_AND ||
	       op == OP_OR;
}

bool op_is_simple(Op op) { return rows[op].simple; }

bool op_gives_truth(Op op) { return rows[op].result == RESULT_TRUTH; }

uint32_t op_cost(Op op) { return rows[op].cost; }

double op_ulp(Op op, bool fast) { return fast ? rows[op].fast_ulp : rows[op].ulp; }

/* The least and the greatest value of an integer type. */
static int64_t least(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_I4: return -8;
	case DTYPE_I8: return INT8_MIN;
	case DTYPE_I16: return INT16_MIN;
	case DTYPE_I32: return INT32_MIN;
	case DTYPE_I64: return INT64_MIN;
	default: return 0;
	}
}

static int64_t greatest(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_I4: return 7;
	case DTYPE_U4: return 15;
	case DTYPE_I8: return INT8_MAX;
	case DTYPE_I16: return INT16_MAX;
	case DTYPE_U8: return UINT8_MAX;
	case DTYPE_U16: return UINT16_MAX;
	case DTYPE_I32: return INT32_MAX;
	case DTYPE_U32: return UINT32_MAX;
	case DTYPE_BOOL: return 1;
	default: return INT64_MAX;
	}
}

Scalar op_neutral(Op op, Dtype dtype)
{
	bool real = dtype_is_float(dtype);
	switch (op) {
	case OP_MUL:
	case OP_AND:
	case OP_DIV:
	case OP_POW: return real ? (Scalar){.f = 1} : (Scalar){.i = 1};
	case OP_MAX: return real ? (Scalar){.f = -(double)INFINITY} : (Scalar){.i = least(dtype)};
	case OP_MIN: return real ? (Scalar){.f = (double)INFINITY} : (Scalar){.i = greatest(dtype)};
	default: return real ? (Scalar){.f = 0} : (Scalar){.i = 0};
	}
}

Dtype op_result_dtype(Op op, const Dtype *args, int nargs)
{
	if (op_gives_truth(op))
		return DTYPE_F32;
	Dtype joined = DTYPE_NONE;
	for (int i = 0; i < nargs; i++)
		joined = dtype_join(joined, args[i]);
	if (rows[op].result == RESULT_FRACTION && dtype_is_integer(joined))
		return DTYPE_F32;
	return joined;
}

static double eval_double(Op op, double x, double y, double z)
{
	const double half_root = 0.70710678118654752440;
	switch (op) {
#define REAL(name, expression)                                                                     \
	case OP_##name: return expression;
#include "base/ops_real.def"
#undef REAL
	case OP_THREEFRY:
	case OP_ZIP:
	case OP_ROTATE:
	case OP_NONE: break;
	}
	return 0;
}

static float eval_float(Op op, float x, float y, float z)
{
	const float half_root = 0.70710678118654752440f;
	switch (op) {
#define REAL(name, expression)                                                                     \
	case OP_##name: return expression;
#include "base/ops_real.def"
#undef REAL
	case OP_THREEFRY:
	case OP_ZIP:
	case OP_ROTATE:
	case OP_NONE: break;
	}
	return 0;
}

/* x to the power n modulo 2^64; a negative n truncates the true value. */
static uint64_t int_pow(int64_t x, int64_t n)
{
	uint64_t power = (uint64_t)x, result = 1;
	if (n < 0)
		return x == 1 ? 1 : x == -1 ? (n % 2 ? (uint64_t)-1 : 1) : 0;
	for (; n; n >>= 1, power *= power)
		if (n & 1)
			result *= power;
	return result;
}

static uint64_t int_div(int64_t x, int64_t y)
{
	if (y == 0)
		return 0;
	return y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y); /* the least value over -1 wraps */
}

static uint64_t int_mod(int64_t x, int64_t y)
{
	if (y == 0 || y == -1)
		return 0;
	int64_t r = x % y;
	return (uint64_t)(r != 0 && (r < 0) != (y < 0) ? r + y : r);
}

/* Modulo 2^64: the caller wraps to the type. */
static uint64_t eval_int(Op op, int64_t x, int64_t y, int64_t z)
{
	uint64_t ux = (uint64_t)x, uy = (uint64_t)y, uz = (uint64_t)z;
	switch (op) {
	case OP_ADD: return ux + uy;
	case OP_SUB: return ux - uy;
	case OP_MUL: return ux * uy;
	case OP_DIV: return int_div(x, y);
	case OP_POW: return int_pow(x, y);
	case OP_MOD: return int_mod(x, y);
	case OP_LT: return x < y;
	case OP_LE: return x <= y;
	case OP_GT: return x > y;
	case OP_GE: return x >= y;
	case OP_EQ: return x == y;
	case OP_NE: return x != y;
	case OP_AND: return x != 0 && y != 0;
	case OP_OR: return x != 0 || y != 0;
	case OP_MAX: return x > y ? ux : uy;
	case OP_MIN: return x < y ? ux : uy;
	case OP_RELU_GATE: return x > 0 ? uy : 0;
	case OP_SAT01_GATE: return 0; /* no integer lies strictly between 0 and 1 */
	case OP_NEG: return 0 - ux;
	case OP_NOT: return x == 0;
	case OP_RELU: return x > 0 ? ux : 0;
	case OP_SAT01: return x > 0;
	case OP_ABS: return x < 0 ? 0 - ux : ux;
	case OP_SIGN: return (uint64_t)((x > 0) - (x < 0));
	case OP_ID:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: return ux;
	case OP_WHERE: return x != 0 ? uy : uz;
	case OP_FMA: return ux * uy + uz;
	default: return 0;
	}
}

/* The value modulo 2^bits, in the range of the type; of bool, is it other than 0? */
static int64_t wrap(Dtype dtype, uint64_t value)
{
	switch (dtype) {
	case DTYPE_I4: return ((int64_t)(value & 15) ^ 8) - 8;
	case DTYPE_U4: return (int64_t)(value & 15);
	case DTYPE_I8: return (int8_t)value;
	case DTYPE_I16: return (int16_t)value;
	case DTYPE_U8: return (uint8_t)value;
	case DTYPE_U16: return (uint16_t)value;
	case DTYPE_I32: return (int32_t)value;
	case DTYPE_U32: return (uint32_t)value;
	case DTYPE_BOOL: return value != 0;
	default: return (int64_t)value;
	}
}

static double round_float(Dtype dtype, double x)
{
	switch (dtype) {
	case DTYPE_F32: return (double)(float)x;
	case DTYPE_BF16: return (double)bf16_value(bf16_bits((float)x));
	case DTYPE_F16: return (double)f16_value(f16_bits((float)x));
	case DTYPE_F8E4M3: return (double)f8e4m3_value(f8e4m3_bits((float)x));
	case DTYPE_F8E5M2: return (double)f8e5m2_value(f8e5m2_bits((float)x));
	default: return x;
	}
}

static Scalar eval_words(Op op, const Scalar *args)
{
	const uint32_t *x = args[0].w, *y = args[op_arity(op) - 1].w;
	Scalar out = {.w = {x[1], x[2], x[3], x[0]}};
	if (op == OP_ZIP)
		return (Scalar){.w = {x[0], y[0], x[1], y[1]}};
	if (op == OP_THREEFRY)
		threefry4x32(x, y, out.w);
	return out;
}

Scalar op_eval(Op op, Dtype dtype, const Scalar *args)
{
	if (dtype == DTYPE_U4X32)
		return eval_words(op, args);
	int n = op_arity(op);
	Scalar none = {.i = 0}, x = n > 0 ? args[0] : none;
	Scalar y = n > 1 ? args[1] : none, z = n > 2 ? args[2] : none;
	if (!dtype_is_float(dtype))
		return (Scalar){.i = wrap(dtype, eval_int(op, x.i, y.i, z.i))};
	if (dtype == DTYPE_F64)
		return (Scalar){.f = eval_double(op, x.f, y.f, z.f)};
	float value = eval_float(op, (float)x.f, (float)y.f, (float)z.f);
	return (Scalar){.f = round_float(dtype, (double)value)};
}

/* Towards zero; beyond the type's range its nearest end. */
static int64_t saturate(Dtype dtype, double x)
{
	if (x != x)
		return 0;
	if (x <= (double)least(dtype))
		return least(dtype);
	if (x >= (double)greatest(dtype)) /* for i64 this is 2^63, which the type does not hold */
		return greatest(dtype);
	return (int64_t)x;
}

Scalar scalar_convert(Scalar value, Dtype from, Dtype to)
{
	if (from == to)
		return value;
	if (to == DTYPE_U4X32)
		return (Scalar){
			.w = {(uint32_t)value.i, (uint32_t)((uint64_t)value.i >> 32), 0, 0}};
	if (from == DTYPE_U4X32)
		return (Scalar){.f = (double)threefry_uniform(value.w[0])};
	if (to == DTYPE_BOOL) /* NaN is true */
		return (Scalar){.i = dtype_is_float(from) ? value.f != 0 : value.i != 0};
	if (dtype_is_float(from) && dtype_is_float(to))
		return (Scalar){.f = round_float(to, value.f)};
	if (dtype_is_float(from))
		return (Scalar){.i = saturate(to, value.f)};
	if (!dtype_is_float(to))
		return (Scalar){.i = wrap(to, (uint64_t)value.i)};
	if (to == DTYPE_F64)
		return (Scalar){.f = (double)value.i};
	return (Scalar){.f = round_float(to, (double)(float)value.i)}; /* not by way of double */
}

Scalar scalar_of(Dtype dtype, double number)
{
	return scalar_convert((Scalar){.f = number}, DTYPE_F64, dtype);
}

Dtype dtype_of_key(Dtype from) { return from == DTYPE_F64 ? DTYPE_I64 : DTYPE_I32; }

/* The bits behind the sign count up from 0. */
Scalar scalar_key(Scalar value, Dtype from)
{
	int64_t size = 0;
	double x = fabs(value.f);
	float narrow = (float)x;
	if (x != x)
		return (Scalar){.i = greatest(dtype_of_key(from))};
	if (from == DTYPE_F64)
		memcpy(&size, &x, sizeof x);
	else
		memcpy(&size, &narrow, sizeof narrow);
	return (Scalar){.i = value.f < 0 ? -size : size};
}
