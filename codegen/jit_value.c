/* Every choice between values is a jit_select of values computed before: the vectoriser turns it
 * into a blend, so relu, max and where cost no branch. (Conditions on floats need
 * -fno-trapping-math for that.) Functions are inline where math.h has them, else libm's, called as
 * builtins so that those with an instruction become it. Under strict arithmetic all are libm's, as
 * in the interpreter. */
#include "codegen/jit_value.h"

#include <math.h>

#include "codegen/jit_function.h"
#include "codegen/jit_math.h"
#include "codegen/jit_simd.h"
#include "codegen/jit_words.h"
#include "codegen/math.h"

#define EQ GCC_JIT_COMPARISON_EQ
#define NE GCC_JIT_COMPARISON_NE
#define LT GCC_JIT_COMPARISON_LT
#define LE GCC_JIT_COMPARISON_LE
#define GT GCC_JIT_COMPARISON_GT
#define GE GCC_JIT_COMPARISON_GE
#define PLUS GCC_JIT_BINARY_OP_PLUS
#define MINUS GCC_JIT_BINARY_OP_MINUS
#define TIMES GCC_JIT_BINARY_OP_MULT
#define OVER GCC_JIT_BINARY_OP_DIVIDE
#define REST GCC_JIT_BINARY_OP_MODULO
#define BOTH GCC_JIT_BINARY_OP_BITWISE_AND
#define EITHER GCC_JIT_BINARY_OP_BITWISE_OR
#define DIFFER GCC_JIT_BINARY_OP_BITWISE_XOR

/* An operation in progress: its type and a few constants of it. */
typedef struct OpJit {
	JitFunction *f;
	Dtype dtype;
	int log; /* of its lanes */
	/* lanes: by argument, whether it is known to be a number other than zero */
	const bool *number;
	Type *type;
	Rvalue *zero, *one;
	Rvalue *x, *y, *z;
} OpJit;

static SimdType simd_type(const OpJit *o)
{
	return (SimdType){o->dtype, o->log};
}

static Rvalue *number(const OpJit *o, double value)
{
	Type *type = o->f->jit->types[o->dtype];
	Rvalue *element = dtype_is_float(o->dtype) ? jit_double(o->f->jit, type, value)
						   : jit_long(o->f->jit, type, (int64_t)value);
	return simd_spread(o->f, simd_type(o), element);
}

static Rvalue *cmp(const OpJit *o, enum gcc_jit_comparison op, Rvalue *a, Rvalue *b)
{
	return o->log ? simd_compare(o->f, simd_type(o), op, a, b) : jit_compare(o->f, op, a, b);
}

static Rvalue *bin(const OpJit *o, enum gcc_jit_binary_op op, Rvalue *a, Rvalue *b)
{
	return jit_keep(o->f, jit_binary(o->f, op, a, b));
}

static Rvalue *logic(const OpJit *o, enum gcc_jit_binary_op op, Rvalue *a, Rvalue *b)
{
	return jit_binary(o->f, op, a, b);
}

static Rvalue *choose(const OpJit *o, Rvalue *cond, Rvalue *a, Rvalue *b)
{
	return o->log ? simd_choose(o->f, simd_type(o), cond, a, b) : jit_select(o->f, cond, a, b);
}

static Rvalue *truth(const OpJit *o, Rvalue *cond)
{
	return choose(o, cond, o->one, o->zero);
}

static Rvalue *minus(const OpJit *o, Rvalue *a)
{
	Rvalue *negative = gcc_jit_context_new_unary_op(o->f->jit->ctxt, o->f->location,
							GCC_JIT_UNARY_OP_MINUS, o->type, a);
	return jit_keep(o->f, negative);
}

static Rvalue *libm(const OpJit *o, const char *name, Rvalue *const *args, size_t n)
{
	Jit *jit = o->f->jit;
	if (o->dtype == DTYPE_F32)
		name = arena_printf(jit->arena, "%sf", name);
	return jit_keep(o->f, jit_call(o->f, jit_builtin(jit, name), args, n));
}

static Rvalue *libm1(const OpJit *o, const char *name, Rvalue *a)
{
	return libm(o, name, &a, 1);
}

static Rvalue *absolute(const OpJit *o, Rvalue *a)
{
	return jit_keep(o->f, gcc_jit_context_new_unary_op(o->f->jit->ctxt, o->f->location,
							   GCC_JIT_UNARY_OP_ABS, o->type, a));
}

static Rvalue *root(const OpJit *o, Rvalue *a)
{
	return o->log ? simd_root(o->f, simd_type(o), a) : libm1(o, "sqrt", a);
}

/* What floats and integers share: comparisons, choices, logic. NULL: not one of these. */
static Rvalue *common_op(const OpJit *o, Op op)
{
	Rvalue *x = o->x, *y = o->y, *zero = o->zero;
	switch (op) {
	case OP_LT: return truth(o, cmp(o, LT, x, y));
	case OP_LE: return truth(o, cmp(o, LE, x, y));
	case OP_GT: return truth(o, cmp(o, GT, x, y));
	case OP_GE: return truth(o, cmp(o, GE, x, y));
	case OP_EQ: return truth(o, cmp(o, EQ, x, y));
	case OP_NE: return truth(o, cmp(o, NE, x, y));
	case OP_AND: return truth(o, logic(o, BOTH, cmp(o, NE, x, zero), cmp(o, NE, y, zero)));
	case OP_OR: return truth(o, logic(o, EITHER, cmp(o, NE, x, zero), cmp(o, NE, y, zero)));
	case OP_NOT: return truth(o, cmp(o, EQ, x, zero));
	case OP_RELU_GATE: return choose(o, cmp(o, GT, x, zero), y, zero);
	case OP_WHERE: return choose(o, cmp(o, NE, x, zero), y, o->z);
	case OP_SIGN: {
		Rvalue *below = choose(o, cmp(o, LT, x, zero), number(o, -1), zero);
		return choose(o, cmp(o, GT, x, zero), o->one, below);
	}
	case OP_ID: return x;
	case OP_ISNAN: return truth(o, cmp(o, NE, x, x));
	default: return NULL;
	}
}

/* fmod has the sign of the dividend, `%` that of the divisor. */
static Rvalue *float_mod(const OpJit *o)
{
	Rvalue *args[] = {o->x, o->y};
	Rvalue *r = libm(o, "fmod", args, 2);
	Rvalue *signs = logic(o, DIFFER, cmp(o, LT, r, o->zero), cmp(o, LT, o->y, o->zero));
	Rvalue *wrong = logic(o, BOTH, cmp(o, NE, r, o->zero), signs);
	return choose(o, wrong, bin(o, PLUS, r, o->y), r);
}

static Rvalue *float_gelu(const OpJit *o)
{
	Rvalue *half = bin(o, OVER, o->x, number(o, 2));
	Rvalue *root = number(o, o->dtype == DTYPE_F32 ? (double)0.70710678118654752440f
						       : 0.70710678118654752440);
	Rvalue *erf = libm1(o, "erf", bin(o, TIMES, o->x, root));
	Rvalue *result = bin(o, TIMES, half, bin(o, PLUS, o->one, erf));
	return choose(o, cmp(o, LT, o->x, number(o, -0x1p126)), number(o, -0.0), result);
}

/* By way of rint, which libgccjit vectorises; it knows no vectors of floor. Exact, the signs of
 * zeros too. */
static Rvalue *float_floor(const OpJit *o, Rvalue *x)
{
	Rvalue *nearest = libm1(o, "rint", x);
	return choose(o, cmp(o, GT, nearest, x), bin(o, MINUS, nearest, o->one), nearest);
}

/* The instruction gives its second operand where either is no number, or both are zeros. */
static Rvalue *lanes_extreme(const OpJit *o, enum gcc_jit_comparison op)
{
	bool swapped = o->number[1];
	Rvalue *first = swapped ? o->y : o->x, *second = swapped ? o->x : o->y;
	Rvalue *extreme = simd_extreme(o->f, simd_type(o), op == LT, first, second);
	if (swapped || o->number[0])
		return extreme;
	return choose(o, cmp(o, NE, o->x, o->x), o->x, extreme);
}

/* The first operand also where it is no number. */
static Rvalue *float_extreme(const OpJit *o, enum gcc_jit_comparison op)
{
	if (o->log)
		return lanes_extreme(o, op);
	Rvalue *extreme = choose(o, cmp(o, op, o->x, o->y), o->x, o->y);
	return choose(o, cmp(o, NE, o->x, o->x), o->x, extreme);
}

/* The least argument, of erfc the greatest with its sign changed, whose result is not 0 when rounded: of exp and exp2 the
 * next after the logarithms of 2^-150 and 2^-1075, halfway to the least numbers. */
static double tiny_argument(Op op, bool wide)
{
	if (op == OP_EXP)
		return wide ? -0x1.74910d52d3051p+9 : -0x1.9fe368p+6;
	if (op == OP_ERFC)
		return wide ? -0x1.b39f2ffffffffp+4 : -0x1.419d72p+3;
	return wide ? -0x1.0cbffffffffffp+10 : -0x1.2bfffep+7;
}

/* The library's function of x, which is not asked for what underflows to 0 (math.c says why). */
static Rvalue *libm_or_zero(const OpJit *o, Op op, Rvalue *x)
{
	JitFunction *f = o->f;
	Lvalue *result = jit_temp(f, o->type);
	jit_set(f, result, o->zero);
	Rvalue *argument = op == OP_ERFC ? minus(o, x) : x;
	Rvalue *below = cmp(o, LT, argument, number(o, tiny_argument(op, o->dtype == DTYPE_F64)));
	JitBlock *after = jit_if(f, gcc_jit_context_new_unary_op(f->jit->ctxt, NULL,
								 GCC_JIT_UNARY_OP_LOGICAL_NEGATE,
								 f->jit->bool_, below));
	jit_set(f, result, libm1(o, op_name(op), x));
	jit_end_if(f, after);
	return gcc_jit_lvalue_as_rvalue(result);
}

/* Towards zero, with the sign of x also where it gives a zero. */
static Rvalue *float_trunc(const OpJit *o, Rvalue *x)
{
	Rvalue *below = minus(o, float_floor(o, minus(o, x)));
	return choose(o, cmp(o, LT, x, o->zero), below, float_floor(o, x));
}

/* The difference is 0 of finite numbers alone. */
static Rvalue *is_infinite(const OpJit *o, Rvalue *x)
{
	Rvalue *differs = cmp(o, NE, bin(o, MINUS, x, x), o->zero);
	return truth(o, logic(o, BOTH, cmp(o, EQ, x, x), differs));
}

static Rvalue *float_softplus(const OpJit *o)
{
	Rvalue *size = o->log ? absolute(o, o->x) : libm1(o, "fabs", o->x);
	Rvalue *power = libm_or_zero(o, OP_EXP, minus(o, size));
	Rvalue *positive = choose(o, cmp(o, LT, o->x, o->zero), o->zero, o->x);
	return bin(o, PLUS, positive, libm1(o, "log1p", power));
}

/* Has libm a function of the operation's name, which does the same? */
static bool is_of_libm(Op op)
{
	static const Op ops[] = {OP_LOG,   OP_LOG2,	OP_SIN,	  OP_COS,   OP_TAN,   OP_TANH,
				 OP_ERF,   OP_LOG1P,	OP_EXPM1, OP_ASIN,  OP_ACOS,  OP_ATAN,
				 OP_ATAN2, OP_SINH,	OP_COSH,  OP_ASINH, OP_ACOSH, OP_ATANH,
				 OP_HYPOT, OP_COPYSIGN, OP_LGAMMA};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (ops[i] == op)
			return true;
	return false;
}

static Rvalue *float_op(const OpJit *o, Op op)
{
	Rvalue *x = o->x, *y = o->y, *zero = o->zero, *one = o->one, *all[] = {x, y, o->z};
	switch (op) {
	case OP_ADD: return bin(o, PLUS, x, y);
	case OP_SUB: return bin(o, MINUS, x, y);
	case OP_MUL: return bin(o, TIMES, x, y);
	case OP_DIV: return bin(o, OVER, x, y);
	case OP_POW: return libm(o, "pow", all, 2);
	case OP_MOD: return float_mod(o);
	case OP_MAX: return float_extreme(o, GT);
	case OP_MIN: return float_extreme(o, LT);
	case OP_SAT01_GATE:
		return choose(o, logic(o, BOTH, cmp(o, GT, x, zero), cmp(o, LT, x, one)), y, zero);
	case OP_NEG: return minus(o, x);
	case OP_RELU:
		/* the instruction gives its second operand where either is no number: NaN stays */
		if (o->log)
			return simd_extreme(o->f, simd_type(o), false, zero, x);
		return choose(o, cmp(o, LT, x, zero), zero, x);
	case OP_SAT01:
		return choose(o, cmp(o, LT, x, zero), zero, choose(o, cmp(o, GT, x, one), one, x));
	case OP_EXP:
	case OP_EXP2:
	case OP_ERFC: return libm_or_zero(o, op, x);
	case OP_SIGMOID:
		return bin(o, OVER, one, bin(o, PLUS, one, libm_or_zero(o, OP_EXP, minus(o, x))));
	case OP_GELU: return float_gelu(o);
	case OP_SQRT: return root(o, x);
	case OP_RSQRT: return bin(o, OVER, one, root(o, x));
	case OP_RECIP: return bin(o, OVER, one, x);
	case OP_ABS: return o->log ? absolute(o, x) : libm1(o, "fabs", x);
	case OP_FLOOR: return float_floor(o, x);
	case OP_CEIL: return minus(o, float_floor(o, minus(o, x)));
	case OP_ROUND: return libm1(o, "rint", x);
	case OP_FMA: return libm(o, "fma", all, 3);
	case OP_TRUNC: return float_trunc(o, x);
	case OP_ISINF: return is_infinite(o, x);
	case OP_SOFTPLUS: return float_softplus(o);
	default:
		if (is_of_libm(op))
			return libm(o, op_name(op), all, (size_t)op_arity(op));
		BUG("no float code for %s", op_name(op));
	}
}

/* Wrapping arithmetic: in the unsigned type of the same width. */
static Rvalue *wrapping(const OpJit *o, enum gcc_jit_binary_op op, Rvalue *a, Rvalue *b)
{
	Jit *jit = o->f->jit;
	Type *type = jit->unsigned_types[o->dtype];
	Rvalue *sum = jit_binary(o->f, op, jit_cast(jit, a, type), jit_cast(jit, b, type));
	return jit_keep(o->f, jit_cast(jit, sum, o->type));
}

static Rvalue *is_minus_one(const OpJit *o, Rvalue *a)
{
	return cmp(o, EQ, a, number(o, -1));
}

/* A divisor for which the instruction does not trap; 1 for 0 and -1. */
static Rvalue *safe_divisor(const OpJit *o)
{
	Rvalue *bad = cmp(o, EQ, o->y, o->zero);
	if (!dtype_is_unsigned(o->dtype))
		bad = logic(o, EITHER, bad, is_minus_one(o, o->y));
	return choose(o, bad, o->one, o->y);
}

static Rvalue *int_div(const OpJit *o)
{
	Rvalue *q = bin(o, OVER, o->x, safe_divisor(o));
	if (!dtype_is_unsigned(o->dtype))
		q = choose(o, is_minus_one(o, o->y), wrapping(o, MINUS, o->zero, o->x), q);
	return choose(o, cmp(o, EQ, o->y, o->zero), o->zero, q);
}

/* The instruction's remainder has the sign of the dividend, `%` that of the divisor. */
static Rvalue *int_mod(const OpJit *o)
{
	Rvalue *r = bin(o, REST, o->x, safe_divisor(o));
	if (dtype_is_unsigned(o->dtype))
		return choose(o, cmp(o, EQ, o->y, o->zero), o->zero, r);
	Rvalue *signs = logic(o, DIFFER, cmp(o, LT, r, o->zero), cmp(o, LT, o->y, o->zero));
	Rvalue *wrong = logic(o, BOTH, cmp(o, NE, r, o->zero), signs);
	return choose(o, wrong, wrapping(o, PLUS, r, o->y), r);
}

/* By squaring, in u64; a negative exponent leaves 1, -1 or 0. */
static Rvalue *int_pow(const OpJit *o)
{
	JitFunction *f = o->f;
	Jit *jit = f->jit;
	Rvalue *zero = jit_long(jit, jit->i64, 0), *one = jit_long(jit, jit->u64, 1);
	Lvalue *power = jit_local(f, jit->u64, "power"), *result = jit_local(f, jit->u64, "result");
	Lvalue *n = jit_local(f, jit->i64, "n");
	jit_set(f, power, jit_cast(jit, jit_cast(jit, o->x, jit->i64), jit->u64));
	jit_set(f, result, one);
	jit_set(f, n, jit_cast(jit, o->y, jit->i64));
	Rvalue *nv = gcc_jit_lvalue_as_rvalue(n), *pv = gcc_jit_lvalue_as_rvalue(power);
	Rvalue *rv = gcc_jit_lvalue_as_rvalue(result);
	JitBlock *head = gcc_jit_function_new_block(f->function, NULL);
	gcc_jit_block_end_with_jump(f->block, NULL, head);
	f->block = head;
	JitBlock *after = jit_if(f, cmp(o, GT, nv, zero));
	Rvalue *odd = jit_binary(f, BOTH, nv, jit_long(jit, jit->i64, 1));
	jit_set(f, result, choose(o, cmp(o, NE, odd, zero), bin(o, TIMES, rv, pv), rv));
	jit_set(f, power, bin(o, TIMES, pv, pv));
	jit_set(f, n, jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, nv, jit_long(jit, jit->i64, 1)));
	gcc_jit_block_end_with_jump(f->block, NULL, head);
	f->block = after;
	Rvalue *value = jit_keep(f, jit_cast(jit, rv, o->type));
	Rvalue *sign =
		choose(o, cmp(o, NE, jit_binary(f, BOTH, o->y, o->one), o->zero), o->x, o->one);
	Rvalue *unit = choose(o, cmp(o, EQ, o->x, o->one), o->one, o->zero);
	if (dtype_is_unsigned(o->dtype))
		return value;
	unit = choose(o, is_minus_one(o, o->x), sign, unit);
	return choose(o, cmp(o, LT, o->y, o->zero), unit, value);
}

static Rvalue *int_op(const OpJit *o, Op op)
{
	Rvalue *x = o->x, *y = o->y, *zero = o->zero;
	switch (op) {
	case OP_ADD: return wrapping(o, PLUS, x, y);
	case OP_SUB: return wrapping(o, MINUS, x, y);
	case OP_MUL: return wrapping(o, TIMES, x, y);
	case OP_FMA: return wrapping(o, PLUS, wrapping(o, TIMES, x, y), o->z);
	case OP_DIV: return int_div(o);
	case OP_MOD: return int_mod(o);
	case OP_POW: return int_pow(o);
	case OP_MAX: return choose(o, cmp(o, GT, x, y), x, y);
	case OP_MIN: return choose(o, cmp(o, LT, x, y), x, y);
	case OP_NEG: return wrapping(o, MINUS, zero, x);
	case OP_RELU: return choose(o, cmp(o, GT, x, zero), x, zero);
	case OP_SAT01: return truth(o, cmp(o, GT, x, zero));
	case OP_ABS: return choose(o, cmp(o, LT, x, zero), wrapping(o, MINUS, zero, x), x);
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: return x;
	default: return zero; /* a fractional result: these operations belong to floats */
	}
}

static void set_arguments(OpJit *o, Op op, Rvalue *const *args)
{
	REQUIRE(o->type);
	int n = op_arity(op);
	o->zero = number(o, 0);
	o->one = number(o, 1);
	o->x = args[0];
	o->y = n > 1 ? args[1] : NULL;
	o->z = n > 2 ? args[2] : NULL;
}

Rvalue *jit_op_lanes(JitFunction *f, Op op, Dtype dtype, int log, Rvalue *const *args,
		     const bool *number)
{
	OpJit o = {.f = f, .dtype = dtype, .log = log, .number = number};
	REQUIRE(log > 0 && op_is_simple(op) && dtype_is_float(dtype));
	o.type = jit_vector_type(f->jit, dtype, log);
	set_arguments(&o, op, args);
	Rvalue *result = common_op(&o, op);
	return result ? result : float_op(&o, op);
}

/* The fast path; where an argument is far the C library's, behind a branch. */
static Rvalue *fast_path_or_library(const OpJit *o, Op op, Rvalue *const *args)
{
	JitFunction *f = o->f;
	MathFunction fast = math_fast_path(f->jit->arena, op, o->dtype),
		     far = math_is_far(f->jit->arena, op, o->dtype);
	Rvalue *none = jit_long(f->jit, f->jit->types[DTYPE_I32], 0);
	Lvalue *result = jit_temp(f, o->type);
	jit_set(f, result, jit_math_steps(f, &fast, args));
	Rvalue *is_far = jit_math_steps(f, &far, args);
	JitBlock *after = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, is_far, none));
	jit_set(f, result, float_op(o, op));
	jit_end_if(f, after);
	return gcc_jit_lvalue_as_rvalue(result);
}

Rvalue *jit_op(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args)
{
	if (dtype == DTYPE_U4X32)
		return jit_words_op(f, op, args);
	OpJit o = {.f = f, .dtype = dtype, .type = f->jit->types[dtype]};
	set_arguments(&o, op, args);
	Rvalue *result = common_op(&o, op);
	if (result)
		return result;
	bool strict = f->jit->module->emit->options->strict_fp && !math_is_exact(op);
	if (f->fast_path && !strict && math_has_fast_path(op, dtype)) {
		MathFunction fn = math_fast_path(f->jit->arena, op, dtype);
		return jit_math_steps(f, &fn, args);
	}
	if (math_ends_in_library(op, dtype) && !strict)
		return fast_path_or_library(&o, op, args);
	bool fma = f->jit->extras & CPU_FMA;
	if (math_has(op, dtype) && !strict && (fma || !math_wants_fma(op, dtype)))
		return jit_math(f, op, dtype, args);
	return dtype_is_float(dtype) ? float_op(&o, op) : int_op(&o, op);
}

/* The same of a type whose ends are floats: one choice after the other, each an instruction of vectors. Of two the second is
 * chosen where one is NaN. */
static Rvalue *saturate_short(OpJit *o, Rvalue *value, Dtype to)
{
	JitFunction *f = o->f;
	int64_t least = op_neutral(OP_MAX, to).i, greatest = op_neutral(OP_MIN, to).i;
	if (least < 0)
		value = choose(o, cmp(o, EQ, value, value), value, number(o, 0));
	value = choose(o, cmp(o, GT, value, number(o, (double)least)), value,
		       number(o, (double)least));
	value = choose(o, cmp(o, LT, value, number(o, (double)greatest)), value,
		       number(o, (double)greatest));
	Rvalue *whole = jit_keep(f, jit_cast(f->jit, value, f->jit->types[DTYPE_I32]));
	return jit_keep(f, jit_cast(f->jit, whole, f->jit->types[to]));
}

/* Towards zero; beyond the type's range its nearest end; 0 for NaN. */
static Rvalue *saturate(JitFunction *f, Rvalue *value, Dtype from, Dtype to)
{
	OpJit o = {.f = f, .dtype = from, .type = f->jit->types[from]};
	Type *type = f->jit->types[to];
	int64_t least = op_neutral(OP_MAX, to).i, greatest = op_neutral(OP_MIN, to).i;
	if (dtype_bytes(to) < dtype_bytes(DTYPE_I32))
		return saturate_short(&o, value, to);
	Rvalue *result = jit_keep(f, jit_cast(f->jit, value, type));
	result = choose(&o, cmp(&o, LE, value, number(&o, (double)least)),
			jit_long(f->jit, type, least), result);
	result = choose(&o, cmp(&o, GE, value, number(&o, (double)greatest)),
			jit_long(f->jit, type, greatest), result);
	return choose(&o, cmp(&o, NE, value, value), jit_long(f->jit, type, 0), result);
}

/* An i32, 0 or 1. */
static Rvalue *is_other_than_zero(JitFunction *f, Rvalue *value, Dtype from)
{
	OpJit o = {.f = f, .dtype = from, .type = f->jit->types[from]};
	Type *type = f->jit->types[DTYPE_I32];
	return jit_select(f, cmp(&o, NE, value, number(&o, 0)), jit_long(f->jit, type, 1),
			  jit_long(f->jit, type, 0));
}

/* GCC makes no vectors of an instruction that is written out. */
static Rvalue *from_half(JitFunction *f, Rvalue *bits, Dtype from)
{
	MathFunction fn = math_widen(f->jit->arena, from);
	Rvalue *arg = jit_keep(f, jit_cast(f->jit, bits, f->jit->types[DTYPE_I32]));
	if (from == DTYPE_F16 && f->jit->extras & CPU_F16C && !f->plain)
		return simd_widen_f16(f, arg);
	return jit_math_steps(f, &fn, &arg);
}

static Rvalue *to_half(JitFunction *f, Rvalue *value, Dtype to)
{
	MathFunction fn = math_narrow(f->jit->arena, to);
	return jit_keep(f, jit_cast(f->jit, jit_math_steps(f, &fn, &value), f->jit->types[to]));
}

Rvalue *jit_convert(JitFunction *f, Rvalue *value, Dtype from, Dtype to)
{
	if (from == to)
		return value;
	if (to == DTYPE_U4X32 && from == DTYPE_I32)
		return jit_words_of_i32(f, value);
	if (to == DTYPE_U4X32)
		return jit_words_of(f, jit_convert(f, value, from, DTYPE_I64));
	if (from == DTYPE_U4X32)
		return jit_words_uniform(f, value);
	if (from == DTYPE_BOOL)
		return jit_convert(f, is_other_than_zero(f, value, from), DTYPE_I32, to);
	if (dtype_is_small_float(from))
		return jit_convert(f, from_half(f, value, from), DTYPE_F32, to);
	if (dtype_is_small_float(to))
		return to_half(f, jit_convert(f, value, from, DTYPE_F32), to);
	if (to == DTYPE_BOOL)
		return jit_keep(f, jit_cast(f->jit, is_other_than_zero(f, value, from),
					    f->jit->types[to]));
	if (dtype_is_float(from) && !dtype_is_float(to))
		return saturate(f, value, from, to);
	return jit_keep(f, jit_cast(f->jit, value, f->jit->types[to]));
}

/* libgccjit takes any finite double; infinities and NaN are quotients that it folds. */
Rvalue *jit_constant(Jit *jit, Dtype dtype, Scalar constant)
{
	Type *type = jit->types[dtype];
	REQUIRE(type);
	if (dtype == DTYPE_U4X32)
		return jit_words_constant(jit, constant);
	if (dtype_is_small_float(dtype))
		return jit_long(jit, type, half_bits(dtype, constant));
	return dtype_is_float(dtype) ? jit_double(jit, type, constant.f)
				     : jit_long(jit, type, constant.i);
}
