/* Scalar operations: base/ops.def is the list. Their exact meaning is op_eval's, which the
 * interpreter runs and every back end is compared with. */
#ifndef TSR_BASE_OPS_H
#define TSR_BASE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

typedef enum Op {
#define OP(name, text, arity, class, symbol, result, simple, cost, ulp, fast) OP_##name,
#include "base/ops.def"
#undef OP
	OP_COUNT,
	OP_NONE = OP_COUNT
} Op;

/* One scalar of any dtype: floats in f (f32 values are exactly representable), integers in i, the
 * words of u4x32 in w. */
typedef union Scalar {
	double f;
	int64_t i;
	uint32_t w[4];
} Scalar;

const char *op_name(Op op);   /* "add" */
const char *op_symbol(Op op); /* "+", or NULL */
int op_arity(Op op);	      /* how many arguments it takes, 1 to 3 */
/* The function of that name in the language (class F), else OP_NONE. */
Op op_from_name(const char *text, size_t len);
/* May `op` accumulate (associative and commutative with a neutral element): add mul max min and
 * or. */
bool op_accumulates(Op op);
/* The neutral element of an accumulating operation; max over integers starts at the least one.
 * Also the right neutral element of sub, div and pow. */
Scalar op_neutral(Op op, Dtype dtype);
/* Is it one or a few instructions, of vectors too: arithmetic, comparisons, choices, square
 * roots? */
bool op_is_simple(Op op);
/* Is the result 0 or 1, whatever the operands' type: comparisons, logic, tests? */
bool op_gives_truth(Op op);
/* About how many instructions an element takes; OP_COST_FUNCTION of a function. */
uint32_t op_cost(Op op);
enum { OP_COST_FUNCTION = 16 };
/* The bound of its error in units of the last place, of f32 in --fp=fast where `fast`; 0.5 where the
 * exact result is rounded once. gelu's is in units of its argument. */
double op_ulp(Op op, bool fast);
/* The dtype of a result: comparisons and logic give f32; integer division is f32, and so are the
 * transcendental functions of integers; else the operands' join. */
Dtype op_result_dtype(Op op, const Dtype *args, int nargs);
/* Computes in `dtype` (all arguments converted to it already). The meaning as C expressions,
 * which every back end emits; the functions are libm's of the type (expf for f32); bf16 and f16
 * compute in f32 and round. All pass NaN on, except where a comparison decides:
 *   max(a, b)        a > b || a != a ? a : b            min alike with <
 *   mod(a, b)        r = fmod(a, b); r != 0 && (r < 0) != (b < 0) ? r + b : r       (it floors)
 *   lt .. ne         a < b ? 1 : 0 ...                   and, or, not, where: true is != 0 (NaN is true)
 *   relu(x)          x < 0 ? 0 : x                       relu_gate(x, y)   x > 0 ? y : 0
 *   sat01(x)         x < 0 ? 0 : x > 1 ? 1 : x           sat01_gate(x, y)  x > 0 && x < 1 ? y : 0
 *   sigmoid(x)       1 / (1 + exp(-x))                   rsqrt(x)          1 / sqrt(x)
 *   gelu(x)          (x / 2) * (1 + erf(x * sqrt(1/2))), -0 at -infinity, its limit; recip(x) 1 / x
 *   sign(x)          (x > 0) - (x < 0)                   round(x)          rint(x): ties to even
 *   fma(a, b, c)     fma(a, b, c), rounded once          pow(a, b)         pow(a, b)
 *   softplus(x)      max(x, 0) + log1p(exp(-fabs(x)))    isnan(x), isinf(x) 1 or 0
 * Integers wrap; / truncates as in C, % floors, and both are 0 where the divisor is 0; pow with
 * a negative exponent truncates the true value (0 for base 0); floor, ceil, round, trunc and id
 * change nothing; the functions that have a fractional result belong to floats (op_result_dtype) and
 * are 0 here. On u4x32, words x0 .. x3, there are three operations and no others:
 *   threefry4x32(key, counter)    base/threefry.h
 *   zip_words(x, y)               x0, y0, x1, y1
 *   rotate_words(x)               x1, x2, x3, x0 */
Scalar op_eval(Op op, Dtype dtype, const Scalar *args);
/* Converts: float to integer truncates towards zero and saturates, NaN becomes 0; to bool everything
 * but 0 is 1. To bf16 and f16
 * everything is rounded by way of f32. An integer becomes the words of its 64 bits, the low ones
 * first, and two words 0; words become the f32 in [0, 1) that the upper 24 bits of word 0 make. */
Scalar scalar_convert(Scalar value, Dtype from, Dtype to);
Scalar scalar_of(Dtype dtype, double number); /* a number as a scalar of the type */
/* Of f32 an i32, of f64 an i64, in the order of the numbers: 0 of both zeros, the greatest of NaN. */
Scalar scalar_key(Scalar value, Dtype from);
Dtype dtype_of_key(Dtype from);

#endif
