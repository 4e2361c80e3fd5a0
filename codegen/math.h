/* Functions of floats as straight-line steps: the one source of what the back ends emit inline.
 *
 *   function := args, steps          a step reads steps before it; the last step is the result
 *   step     := CONST number | ADD a b | SUB a b | MUL a b | DIV a b          of the step's type
 *             | SQRT a                      floats
 *             | AND a b | OR a b | SHL a n | SHR a n (arithmetic) | USHR a n   integers only
 *             | BITS a                      the same bits in the other type of that width
 *             | CONVERT a                   f32 to f64, f64 to f32, i32 to f32, i64 to i32
 *             | LOOKUP a                    the table's element at an i64 inside it
 *             | LESS a b c d | EQUAL a b c d        a < b ? c : d, a == b ? c : d
 *             | SCALE a n number            f32: a 2^n, rounded once, or 0 where n < number; n is a whole
 *                                           number or infinite, when a may be no number; unless
 *                                           `number` is -infinity a is the step before, p*r + constant
 *
 * There are no branches, so a loop around the steps becomes vector code. The formulas
 * hold with or without contraction of a*b+c, but those that are made for it (MathForm). Integers
 * wrap.
 */
#ifndef TSR_CODEGEN_MATH_H
#define TSR_CODEGEN_MATH_H

#include "base/diag.h"
#include "base/dtype.h"
#include "base/ops.h"

typedef enum MathCode {
	MATH_ARG,
	MATH_CONST,
	MATH_ADD,
	MATH_SUB,
	MATH_MUL,
	MATH_DIV,
	MATH_SQRT,
	MATH_AND,
	MATH_OR,
	MATH_SHL,
	MATH_SHR,
	MATH_USHR,
	MATH_BITS,
	MATH_CONVERT,
	MATH_LOOKUP,
	MATH_LESS,
	MATH_EQUAL,
	MATH_SCALE,
} MathCode;

typedef struct MathTable {
	const char *name; /* of C */
	const double *values;
	uint32_t n;
} MathTable;

typedef struct MathStep {
	MathCode code;
	Dtype dtype;	 /* F32, F64, I32 or I64 */
	uint32_t arg[4]; /* steps; SHL, SHR, USHR: arg[1] is the number of bits */
	double number;	 /* CONST of a float; SCALE */
	int64_t integer; /* CONST of an integer */
	const MathTable *table;
} MathStep;

typedef struct MathFunction {
	VEC(MathStep) steps; /* the first ones are the arguments */
} MathFunction;

/* What the back end has: other steps are better then. */
typedef struct MathForm {
	bool fast;   /* --fp=fast, where there is such a form */
	bool fused;  /* every a*b + c is rounded once */
	bool scales; /* SCALE, which gives the same bits */
} MathForm;

/* Is there an inline form of the operation?
 * exp, log, pow: within 1 ulp; erf, exp2: 1.5; log2, tanh, sigmoid, tan: 2.5; sin, cos: 2.75;
 * gelu: 2 ulp of its argument; of those in math_inverse.c base/ops.def has the bounds. Of f64 the same. Infinities, NaN, zeros of either sign and
 * subnormal numbers as the C library has them; docs/language.md has the bounds of the fast
 * forms. Where the result is 0, infinite or NaN nothing underflows (math.c says why), but for a
 * power of a negative number that is none. */
bool math_has(Op op, Dtype dtype);
/* Are its bits those of the operation, so that it is the form under --fp=strict too? */
static inline bool math_is_exact(Op op) { return op == OP_TF32; }
/* Is it slower than the C library's where there is no fused multiply-add? */
bool math_wants_fma(Op op, Dtype dtype);
/* Can lanes of vectors take the steps of the operation of f32, which has an inline form? */
bool math_fits_lanes(Arena *arena, Op op, MathForm form);
/* The steps of an operation. Requires: math_has of it. */
MathFunction math_function(Arena *arena, Op op, Dtype dtype, MathForm form);
/* Has the operation a fast path for most arguments (math_fast_path.c)? `%` has it too. */
bool math_has_fast_path(Op op, Dtype dtype);
/* The fast path: what the operation gives, bit for bit, where math_is_far is 0. */
MathFunction math_fast_path(Arena *arena, Op op, Dtype dtype);
MathFunction math_is_far(Arena *arena, Op op, Dtype dtype); /* i32: 0 or 1 */
/* Is the operation its fast path where that holds, and the C library's elsewhere? */
bool math_ends_in_library(Op op, Dtype dtype);
/* Of small floats: the f32 that an i32 holds the bits of, and the bits of an f32 rounded to the
 * nearest. */
MathFunction math_widen(Arena *arena, Dtype from);
MathFunction math_narrow(Arena *arena, Dtype to);
/* The key of an f32 or f64, as base/ops.h has it. */
MathFunction math_key(Arena *arena, Dtype from);

#endif
