/* Scalar operations: base/ops.def is the list. Their exact meaning is ops_eval's, which the
 * interpreter runs and every back end is compared with. */
#ifndef TSR_BASE_OPS_H
#define TSR_BASE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"

typedef enum Op {
#define OP(name, text, arity, class, symbol) OP_##name,
#include "base/ops.def"
#undef OP
	OP_COUNT,
	OP_NONE = OP_COUNT
} Op;

/* One scalar of any dtype: floats in f (f32 values are exactly representable), integers in i. */
typedef union Scalar {
	double f;
	int64_t i;
} Scalar;

const char *op_name(Op op);   /* "add" */
const char *op_symbol(Op op); /* "+", or NULL */
int op_arity(Op op);
/* The function of that name in the language (class F), else OP_NONE. */
Op op_from_name(const char *text, size_t len);
/* May `op` accumulate (associative and commutative with a neutral element): add mul max min and or. */
bool op_accumulates(Op op);
/* The neutral element of an accumulating operation; max over integers starts at the least one. */
Scalar op_neutral(Op op, Dtype dtype);
/* The dtype of a result: comparisons and logic give f32; integer division is f32, and so are the
 * transcendental functions of integers; else the operands' join. */
Dtype op_result_dtype(Op op, const Dtype *args, int nargs);
/* Computes in `dtype` (all arguments converted to it already): f32 rounds after each operation,
 * integers wrap, % floors, division of integers by zero is 0. Comparisons return 0 or 1 in `dtype`. */
Scalar op_eval(Op op, Dtype dtype, const Scalar *args);
/* Converts: float to integer truncates towards zero and saturates, NaN becomes 0. */
Scalar scalar_convert(Scalar value, Dtype from, Dtype to);

#endif
