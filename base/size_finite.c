/* Facts about one dim that leave it finitely many values: do all of these fail some fact?
 *
 * Finite sets are the divisors of a number, where a linear size must divide it, the values between
 * two bounds, and what the roots of a polynomial must be among: 0, and the divisors of its last
 * coefficient. They are tried one by one; a fact that cannot be evaluated counts as one that
 * holds. The work of all questions to one system is bounded: beyond it nothing is proved.
 */
#include "base/size_finite.h"

#include "base/size_eval.h"
#include "base/size_poly.h"

enum { FACTS_TRIED = 64, RANGE_LIMIT = 4096 };

typedef struct Question {
	Sizes *sizes;
	SizeFact facts[FACTS_TRIED + 1]; /* of one dim; the goal is the first */
	uint32_t n;
	DimId dim;
	int64_t low, high; /* the dim's values lie between them; high < 0: not known */
	int64_t *values;   /* zeros, by DimId */
	int64_t *work;
} Question;

/* Does a use no dim but *dim? That is set to the first one found where it is DIM_NONE. */
static bool is_of_one_dim(const Sizes *sizes, Size a, DimId *dim)
{
	const Poly *poly = poly_at(sizes, a);
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(sizes, poly->terms[i].mono);
		for (uint32_t k = 0; k < mono->n; k++) {
			const Atom *atom = atom_at(sizes, mono->factors[k].atom);
			if (atom->kind != ATOM_DIM) {
				if (!is_of_one_dim(sizes, atom->num, dim) ||
				    !is_of_one_dim(sizes, atom->den, dim))
					return false;
			} else if (*dim == DIM_NONE) {
				*dim = atom->dim;
			} else if (*dim != atom->dim) {
				return false;
			}
		}
	}
	return !size_is_bad(a);
}

static bool fact_is_of(const Sizes *sizes, const SizeFact *fact, DimId *dim)
{
	return is_of_one_dim(sizes, fact->a, dim) && is_of_one_dim(sizes, fact->b, dim) &&
	       *dim != DIM_NONE;
}

/* a = factor * dim + constant, factor not 0 */
static bool is_linear(const Question *q, Size a, int64_t *factor, int64_t *constant)
{
	const Poly *poly = poly_at(q->sizes, a);
	*constant = poly->n == 2 ? poly->terms[1].coef : 0;
	if (poly->n == 0 || poly->n > 2 || (poly->n == 2 && poly->terms[1].mono != 0))
		return false;
	*factor = poly->terms[0].coef;
	const Mono *mono = mono_at(q->sizes, poly->terms[0].mono);
	return mono->degree == 1 && atom_at(q->sizes, mono->factors[0].atom)->kind == ATOM_DIM;
}

static bool holds_at(Question *q, const SizeFact *fact, int64_t value)
{
	int64_t a, b;
	q->values[q->dim] = value;
	bool known = size_eval(q->sizes, fact->a, q->values, &a) &&
		     size_eval(q->sizes, fact->b, q->values, &b);
	q->values[q->dim] = 0;
	--*q->work;
	if (!known)
		return true;
	switch (fact->kind) {
	case FACT_EQ: return a == b;
	case FACT_GE: return a >= b;
	case FACT_DIVIDES: return b == 0 ? a == 0 : b == -1 || a % b == 0;
	}
	return true;
}

static bool fits(Question *q, int64_t value)
{
	bool fits = value >= sizes_dim(q->sizes, q->dim)->at_least && value >= 0;
	for (uint32_t i = 0; fits && i < q->n; i++)
		fits = holds_at(q, &q->facts[i], value);
	return fits;
}

/* a >= b: factor * dim + constant >= 0 */
static void bound_from(Question *q, const SizeFact *fact)
{
	int64_t factor, constant;
	if (fact->kind != FACT_GE ||
	    !is_linear(q, size_sub(q->sizes, fact->a, fact->b), &factor, &constant))
		return;
	if (factor < 0) {
		int64_t high = constant < 0 ? -1 : constant / -factor;
		if (high >= 0 && (q->high < 0 || high < q->high))
			q->high = high;
	} else if (constant < 0 && -constant / factor > q->low) {
		q->low = -constant / factor;
	}
}

static bool range_is_empty(Question *q)
{
	q->low = 0;
	q->high = -1;
	for (uint32_t i = 0; i < q->n; i++)
		bound_from(q, &q->facts[i]);
	if (q->high < 0 || q->high - q->low > RANGE_LIMIT)
		return false;
	for (int64_t value = q->low; value <= q->high; value++) {
		if (*q->work < 0 || fits(q, value))
			return false;
	}
	return true;
}

/* Does some value make factor * dim + constant this divisor, and fit? */
static bool divisor_fits(Question *q, int64_t divisor, int64_t factor, int64_t constant)
{
	int64_t rest;
	return !__builtin_sub_overflow(divisor, constant, &rest) && rest % factor == 0 &&
	       fits(q, rest / factor);
}

/* Are there no values among those for which b divides the number a? */
static bool divisors_fail(Question *q, const SizeFact *fact)
{
	int64_t number, factor, constant;
	if (fact->kind != FACT_DIVIDES || !size_is_const(q->sizes, fact->a, &number) ||
	    number == 0 || !is_linear(q, fact->b, &factor, &constant))
		return false;
	number = number < 0 ? -number : number;
	for (int64_t p = 1; p <= number / p; p++) {
		if (--*q->work < 0)
			return false;
		if (number % p != 0)
			continue;
		for (int sign = -1; sign <= 1; sign += 2) {
			if (divisor_fits(q, sign * p, factor, constant) ||
			    divisor_fits(q, sign * (number / p), factor, constant))
				return false;
		}
	}
	return *q->work >= 0;
}

/* Is the size a polynomial in the dim alone? */
static bool is_polynomial(const Question *q, const Poly *poly)
{
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(q->sizes, poly->terms[i].mono);
		if (mono->n > 1 ||
		    (mono->n == 1 && atom_at(q->sizes, mono->factors[0].atom)->kind != ATOM_DIM))
			return false;
	}
	return poly->n > 0;
}

/* a = b: are there no values among the roots that a - b could have? */
static bool roots_fail(Question *q, const SizeFact *fact)
{
	Size difference = size_sub(q->sizes, fact->a, fact->b);
	const Poly *poly = poly_at(q->sizes, difference);
	if (fact->kind != FACT_EQ || size_is_bad(difference) || !is_polynomial(q, poly) ||
	    fits(q, 0))
		return false;
	int64_t last = poly->terms[poly->n - 1].coef;
	last = last < 0 ? -last : last;
	for (int64_t p = 1; p <= last / p; p++) {
		if (--*q->work < 0 || (last % p == 0 && (fits(q, p) || fits(q, last / p))))
			return false;
	}
	return true;
}

bool size_finite_excludes(Sizes *sizes, const SizeFact *facts, size_t n, SizeFact goal, bool *used,
			  FiniteWork *work)
{
	Question q = {.sizes = sizes,
		      .facts[0] = goal,
		      .n = 1,
		      .dim = DIM_NONE,
		      .values = work->zeros,
		      .work = &work->left};
	if (work->left < 0 || !fact_is_of(sizes, &goal, &q.dim))
		return false;
	for (size_t i = 0; i < n; i++) {
		work->left--;
		bool taken = q.n <= FACTS_TRIED && fact_is_of(sizes, &facts[i], &q.dim);
		if (taken)
			q.facts[q.n++] = facts[i];
		if (used)
			used[i] = taken;
	}
	bool excluded = range_is_empty(&q);
	for (uint32_t i = 0; i < q.n && !excluded; i++)
		excluded = divisors_fail(&q, &q.facts[i]) || roots_fail(&q, &q.facts[i]);
	return excluded;
}
