/* Private to reference/: arithmetic on elements, each the value that exact arithmetic has and a bound
 * on how far back ends are from it (element.c), and sums and products of many in any order (fold.c).
 */
#ifndef TSR_REFERENCE_ELEMENT_H
#define TSR_REFERENCE_ELEMENT_H

#include <math.h>

#include "base/diag.h"
#include "reference/reference.h"

/* How back ends may compute. */
typedef struct Rules {
	bool fast, pairs;
	double product_error;
} Rules;

static inline RefElement element_exact(long double x) { return (RefElement){.x = x}; }
/* An element that back ends may compute as anything: its error is infinite. */
RefElement element_unknown(void);
/* What a reduction by the operation starts from. */
RefElement element_neutral(Op op, Dtype dtype);
bool element_is_unknown(const RefElement *element);
/* The nearest element of the type. */
long double element_round(Dtype dtype, long double x);
/* An exact result, known to within `spread`, that is rounded to the type once or, as part of
 * a*b + c, not at all. */
RefElement element_rounded(Dtype dtype, long double x, double spread);
/* Bits of a number of the type. */
int element_digits(Dtype dtype);
/* Half of the last place of 1 in the type, the error of long double with it. */
double element_unit(Dtype dtype);
/* The least number above 0. */
double element_least(Dtype dtype);
/* The greatest finite number. */
double element_most(Dtype dtype);

/* An operation on operands of the type in which it is computed. */
RefElement element_op(const Rules *rules, Op op, Dtype dtype, const RefElement *args);
RefElement element_convert(RefElement element, Dtype from, Dtype to);

/* Terms that meet in one element, in any order. */
typedef struct Fold {
	RefElement value; /* of MAX, MIN, AND, OR: so far; of sums and products: see fold.c */
	double magnitude; /* sums: of |term|; products: of max(1, |term|) */
	double least;	  /* products: of min(1, |term|), terms that are 0 left out */
	double upper;	  /* products: of |term| + its error */
	int64_t n;
	int bits;   /* sums: the last bit that any term has; products: bits of all together */
	bool exact; /* no term has an error, and the terms are products of at most two */
	bool up, down, nan; /* an infinity of either sign, a NaN is among them */
	bool unknown;
} Fold;

/* A fold without terms; one more term; the element that all terms make. Requires: the same operation and
 * type in all calls. */
void fold_start(Fold *fold, Op op, Dtype dtype);
void fold_add(Fold *fold, Op op, Dtype dtype, const RefElement *term);
RefElement fold_end(const Fold *fold, Op op, Dtype dtype);

#endif
