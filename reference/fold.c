/* What terms make together in any order. The greatest, the least, truths and integers are the same
 * in each; sums and products of floats are the exact one, and the bound holds for all orders
 * (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2):
 *
 *   |sum - exact|       <= errors of the terms + n * unit * sum of |term|
 *   |product - exact|   <= product of (|term| + error) * (1 + unit)^n - |exact|
 *
 * Sums of multiples of 2^k that stay below 2^k * 2^digits are exact in every order.
 */
#include "reference/element.h"

#include <tgmath.h>

/* The place of the last bit that is set, and how many bits there are from the first to it. */
static int last_bit(long double x, int *bits)
{
	int exponent;
	uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(x), &exponent), 64);
	if (x == 0)
		return *bits = 0;
	*bits = 64 - __builtin_ctzll(mantissa);
	return exponent - *bits;
}

static bool goes_on(Op op, Dtype dtype)
{
	return !dtype_is_float(dtype) || (op != OP_ADD && op != OP_MUL);
}

void fold_start(Fold *fold, Op op, Dtype dtype)
{
	*fold = (Fold){.exact = true, .magnitude = op == OP_MUL, .least = 1, .upper = 1};
	fold->value = element_neutral(op, dtype);
	fold->bits = op == OP_MUL ? 0 : INT32_MAX;
}

static void add_term(Fold *fold, const RefElement *term)
{
	int bits, last;
	fold->value.x += term->x;
	fold->value.error += term->error;
	fold->value.jumps |= term->jumps;
	fold->magnitude += (double)fabs(term->x) + term->error;
	if (!fold->exact || term->x == 0)
		return;
	last = last_bit(term->x, &bits);
	fold->bits = last < fold->bits ? last : fold->bits;
}

static void multiply_term(Fold *fold, const RefElement *term)
{
	int bits;
	double size = (double)fabs(term->x), most = size + term->error;
	fold->value.x *= term->x;
	fold->value.error += term->error; /* of a single term */
	fold->value.jumps |= term->jumps;
	fold->upper *= most;
	fold->magnitude *= most > 1 ? most : 1;
	fold->least *= size < 1 && size > 0 ? size : 1;
	if (!fold->exact || !isfinite(term->x))
		return;
	last_bit(term->x, &bits);
	fold->bits += bits;
}

void fold_add(Fold *fold, Op op, Dtype dtype, const RefElement *term)
{
	static const Rules none = {0};
	fold->n++;
	if (goes_on(op, dtype)) {
		fold->value =
			element_op(&none, op, dtype, (const RefElement[]){fold->value, *term});
		return;
	}
	fold->unknown |= element_is_unknown(term);
	fold->exact &= term->error == 0;
	fold->nan |= isnan(term->x);
	if (isinf(term->x)) {
		fold->up |= term->x > 0;
		fold->down |= term->x < 0;
	}
	if (op == OP_MUL)
		multiply_term(fold, term);
	else if (isfinite(term->x))
		add_term(fold, term);
}

static RefElement sum_end(const Fold *fold, Dtype dtype)
{
	RefElement out = fold->value;
	if (fold->nan || (fold->up && fold->down))
		return element_exact(NAN);
	if (fold->magnitude > element_most(dtype))
		return element_unknown();
	if (fold->up || fold->down)
		return element_exact(fold->up ? INFINITY : -INFINITY);
	if (fold->n > 1 &&
	    (!fold->exact || (fold->magnitude > 0 &&
			      fold->magnitude > ldexp(1.0, element_digits(dtype) + fold->bits))))
		out.error += (double)(fold->n + 4) * element_unit(dtype) * fold->magnitude;
	return out;
}

static RefElement product_end(const Fold *fold, Dtype dtype)
{
	RefElement out = fold->value;
	bool sinks = fold->least < ldexp(element_least(dtype), element_digits(dtype));
	if (fold->nan)
		return element_exact(NAN);
	if (fold->up || fold->down)
		return fold->exact && !sinks ? out : element_unknown();
	if (fold->magnitude > element_most(dtype))
		return element_unknown();
	if (fold->n <= 1 || (fold->exact && fold->bits <= element_digits(dtype) && !sinks))
		return out;
	out.error = fold->upper - (double)fabs(out.x) +
		    (double)(fold->n + 4) * element_unit(dtype) * fold->upper;
	if (sinks)
		out.error += (double)fold->n * element_least(dtype) * fold->magnitude;
	return out;
}

RefElement fold_end(const Fold *fold, Op op, Dtype dtype)
{
	if (fold->unknown)
		return element_unknown();
	if (goes_on(op, dtype))
		return fold->value;
	return op == OP_MUL ? product_end(fold, dtype) : sum_end(fold, dtype);
}
