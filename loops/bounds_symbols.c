/* What is no sum or product, as symbols with facts: the greater and the less of two sizes, quotients and
 * remainders.
 */
#include "base/size_order.h"
#include "base/size_dims.h"
#include "loops/bounds_facts.h"

enum { UPPER_MOST = 8 };

/* max(0, x) */
static Size positive(Prover *p, Size x)
{
	Size zero = prover_number(p, 0);
	if (size_is_bad(x) || prover_at_least_0(p, x))
		return x;
	if (size_ge(p->sizes, zero, x))
		return zero;
	int64_t content = size_content(p->sizes, x);
	Symbol symbol = {POSITIVE, size_div(p->sizes, x, prover_number(p, content)), SIZE_BAD};
	Size known = prover_same_symbol(p, symbol);
	if (size_is_bad(known))
		known = prover_new_symbol(p, symbol);
	return size_scale(p->sizes, known, content);
}

Size prover_max(Prover *p, Size a, Size b)
{
	return size_add(p->sizes, a, positive(p, size_sub(p->sizes, b, a)));
}

Size prover_min(Prover *p, Size a, Size b)
{
	return size_sub(p->sizes, a, positive(p, size_sub(p->sizes, a, b)));
}

/* Something that a never exceeds, without its last symbol; false: none is known. */
static bool upper(Prover *p, Size a, Size *above)
{
	DimId last;
	Sum sum, fact;
	if (!size_last_dim(p->sizes, a, &last) || last < p->first ||
	    !prover_sum(p, a, size_dim(p->sizes, last), &sum))
		return false;
	*above = sum.rest;
	if (size_ge(p->sizes, prover_number(p, 0), sum.coef))
		return true;
	for (size_t i = p->facts.n; i-- > 0;) {
		if (p->facts.at[i].last != last ||
		    !prover_sum(p, p->facts.at[i].size, sum.atom, &fact))
			continue;
		Size by = size_scale(p->sizes, fact.coef, -1);
		if (!size_divides(p->sizes, by, sum.coef) || !prover_at_least_0(p, by))
			continue;
		Size times = size_div(p->sizes, sum.coef, by);
		*above = size_add(p->sizes, sum.rest, size_mul(p->sizes, times, fact.rest));
		return prover_at_least_0(p, times);
	}
	return false;
}

void prover_assume_above(Prover *p, Size a)
{
	Size above = a;
	DimId last;
	prover_assume(p, a);
	for (int i = 0; i < UPPER_MOST && upper(p, above, &above); i++)
		if (size_last_dim(p->sizes, above, &last) && last < p->first)
			prover_assume(p, above);
}

/* floor(a / b) as a sum, where that is known. */
static Size plain_floor(Prover *p, Size a, Size b)
{
	int64_t divisor;
	DimId last;
	Sum sum;
	Size next = size_plus(p->sizes, a, 1);
	if (size_is_const(p->sizes, b, &divisor)) {
		Size floor = size_floor(p->sizes, a, divisor);
		bool plain = !size_last_dim(p->sizes, floor, &last) || last < p->first ||
			     prover_sum(p, floor, size_dim(p->sizes, last), &sum);
		return plain ? floor : SIZE_BAD;
	}
	if (size_divides(p->sizes, b, a))
		return size_div(p->sizes, a, b);
	if (size_divides(p->sizes, b, next))
		return size_plus(p->sizes, size_div(p->sizes, next, b), -1);
	return SIZE_BAD;
}

static bool divides_well(Prover *p, Size a, Size b)
{
	return !size_is_bad(a) && !size_is_bad(b) && prover_shows(p, size_plus(p->sizes, b, -1)) &&
	       prover_shows(p, a);
}

Size prover_floor(Prover *p, Size a, Size b)
{
	Symbol symbol = {QUOTIENT, a, b};
	Size above = a, quotient = prover_same_symbol(p, symbol);
	if (!size_is_bad(quotient) || !divides_well(p, a, b))
		return quotient;
	Size whole = plain_floor(p, a, b);
	if (!size_is_bad(whole))
		return whole;
	quotient = prover_new_symbol(p, symbol);
	prover_assume(p, size_sub(p->sizes, a, size_mul(p->sizes, quotient, b)));
	for (int i = 0; i < UPPER_MOST && upper(p, above, &above); i++) {
		whole = plain_floor(p, above, b);
		if (!size_is_bad(whole))
			prover_assume(p, size_sub(p->sizes, whole, quotient));
	}
	return quotient;
}

Size prover_rest(Prover *p, Size a, Size b)
{
	Size rest = prover_same_symbol(p, (Symbol){REST, a, b});
	if (!size_is_bad(rest) || size_is_bad(b) || !prover_shows(p, size_plus(p->sizes, b, -1)))
		return rest;
	if (size_is_bad(a) ||
	    !prover_shows(p, a)) { /* it is rounded down, so this is not below 0 */
		rest = prover_symbol(p);
		prover_assume(p, size_plus(p->sizes, size_sub(p->sizes, b, rest), -1));
		return rest;
	}
	if (prover_shows(p, size_plus(p->sizes, size_sub(p->sizes, b, a), -1)))
		return a;
	rest = prover_new_symbol(p, (Symbol){REST, a, b});
	prover_assume(p, size_sub(p->sizes, a, rest));
	prover_assume(p, size_plus(p->sizes, size_sub(p->sizes, b, rest), -1));
	return rest;
}
