/* What holds for all values of the dims: a >= b, and b divides a. Both are sound and incomplete.
 *
 * A lower bound of a polynomial: every dim d is written as at_least + d' with d' >= 0, and every
 * floor or quotient as its own lower bound plus a remainder; when then no coefficient but the
 * constant's is negative, the constant is the bound. Before that, quotients by a constant that
 * stand alone, and floors with a negative coefficient, are multiplied out (floor(p/m) <= p/m),
 * which proves n >= floor(n/2). Where that shows nothing, floors with a positive coefficient are so
 * as well (floor(p/m) >= (p - m + 1)/m): 32*floor((n + 31)/32) >= n.
 */
#include "base/size_poly.h"

enum { STEP_LIMIT = 100000, ELIMINATION_LIMIT = 16, SHIFTED_LIMIT = 256 };

typedef struct Prover {
	Sizes *sizes;
	int steps; /* left: a bound on the work of one question */
	bool floors; /* are those with a positive coefficient multiplied out? */
} Prover;

static bool work_bound(Prover *p, Work *work, int64_t *bound);

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static bool size_bound(Prover *p, Size a, int64_t *bound)
{
	WORK(work);
	work_add_scaled(p->sizes, &work, a, 1);
	return work_bound(p, &work, bound);
}

/* A lower bound of one atom; false where none is known. */
static bool atom_bound(Prover *p, uint32_t id, int64_t *bound)
{
	Atom atom = *atom_at(p->sizes, id);
	int64_t num, den;
	if (atom.kind == ATOM_DIM) {
		const Dim *dim = sizes_dim(p->sizes, atom.dim);
		*bound = dim->at_least > 0 ? dim->at_least : 0;
		return true;
	}
	if (!size_bound(p, atom.num, &num))
		return false;
	/* a bound for both kinds: the floor of the least */
	if (atom_divisor(p->sizes, &atom, &den)) {
		*bound = num / den - (num % den < 0);
		return true;
	}
	*bound = 0;
	return num >= 0 && size_bound(p, atom.den, &den) && den >= 0;
}

/* product *= atom + bound */
static void multiply_shifted(Prover *p, Work *product, uint32_t atom, int64_t bound)
{
	WORK(old);
	work_copy(&old, product);
	uint32_t mono = mono_of_atom(p->sizes, atom);
	work_clear(product);
	for (uint32_t i = 0; i < old.n && !product->bad; i++, p->steps--) {
		int64_t coef;
		work_add(p->sizes, product, old.at[i].coef,
			 mono_mul(p->sizes, old.at[i].mono, mono));
		if (__builtin_mul_overflow(old.at[i].coef, bound, &coef))
			product->bad = true;
		else
			work_add(p->sizes, product, coef, old.at[i].mono);
	}
	product->bad |= old.bad || p->steps < 0 || product->n > SHIFTED_LIMIT;
}

/* sum += the term with every atom written as its bound plus a remainder. */
static bool add_shifted(Prover *p, Work *sum, Term term)
{
	Mono mono = *mono_at(p->sizes, term.mono);
	WORK(product);
	work_add(p->sizes, &product, term.coef, 0);
	for (uint32_t i = 0; i < mono.n; i++) {
		int64_t bound;
		if (!atom_bound(p, mono.factors[i].atom, &bound))
			return false;
		for (uint32_t power = 0; power < mono.factors[i].power; power++)
			multiply_shifted(p, &product, mono.factors[i].atom, bound);
	}
	for (uint32_t i = 0; i < product.n; i++)
		work_add(p->sizes, sum, product.at[i].coef, product.at[i].mono);
	sum->bad |= product.bad;
	return !sum->bad;
}

/* Multiplies out one lone quotient: work becomes m * work with m * (P/m) replaced by P. */
static bool eliminate(Prover *p, Work *work, int64_t *m)
{
	for (uint32_t i = 0; i < work->n; i++) {
		Term term = work->at[i];
		Mono mono = *mono_at(p->sizes, term.mono);
		if (mono.degree != 1)
			continue;
		Atom atom = *atom_at(p->sizes, mono.factors[0].atom);
		bool least = atom.kind == ATOM_FLOOR && term.coef > 0;
		if (!atom_divisor(p->sizes, &atom, m) || (least && !p->floors))
			continue;
		WORK(old);
		work_copy(&old, work);
		work_clear(work);
		for (uint32_t k = 0; k < old.n; k++) {
			int64_t coef;
			bool over = __builtin_mul_overflow(old.at[k].coef, *m, &coef);
			if (k != i)
				work_add(p->sizes, work, coef, old.at[k].mono);
			work->bad |= over;
		}
		work_add_scaled(p->sizes, work, atom.num, term.coef);
		if (least) {
			int64_t off;
			work->bad |= __builtin_mul_overflow(term.coef, 1 - *m, &off);
			work_add(p->sizes, work, work->bad ? 0 : off, 0);
		}
		return true;
	}
	return false;
}

/* A lower bound of the polynomial (which is changed on the way). */
static bool work_bound(Prover *p, Work *work, int64_t *bound)
{
	WORK(sum);
	int64_t m, scale = 1;
	for (int i = 0; i < ELIMINATION_LIMIT && eliminate(p, work, &m); i++)
		if (__builtin_mul_overflow(scale, m, &scale))
			return false;
	*bound = 0;
	for (uint32_t i = 0; i < work->n; i++)
		if (work->bad || p->steps-- < 0 || !add_shifted(p, &sum, work->at[i]))
			return false;
	for (uint32_t i = 0; i < sum.n; i++) {
		if (sum.at[i].mono == 0)
			*bound = ceil_div(sum.at[i].coef, scale);
		else if (sum.at[i].coef < 0)
			return false;
	}
	return !work->bad && !sum.bad;
}

/* The tables are a cache: a question may add to them and changes nothing that can be seen. */
static Sizes *tables_of(const Sizes *sizes)
{
	return (Sizes *)(uintptr_t)sizes;
}

bool size_least(const Sizes *sizes, Size a, int64_t *least)
{
	Prover prover = {tables_of(sizes), STEP_LIMIT, false};
	return size_bound(&prover, a, least);
}

/* Is a - b shown to be 0 or more? */
static bool differ_by(const Sizes *sizes, Size a, Size b, bool floors)
{
	Prover prover = {tables_of(sizes), STEP_LIMIT, floors};
	WORK(difference);
	int64_t bound;
	work_add_scaled(sizes, &difference, a, 1);
	work_add_scaled(sizes, &difference, b, -1);
	return work_bound(&prover, &difference, &bound) && bound >= 0;
}

static bool has_floor(const Sizes *sizes, Size a)
{
	const Poly *poly = poly_at(sizes, a);
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(sizes, poly->terms[i].mono);
		if (mono->degree == 1 && poly->terms[i].coef > 0 &&
		    atom_at(sizes, mono->factors[0].atom)->kind == ATOM_FLOOR)
			return true;
	}
	return false;
}

bool size_ge(const Sizes *sizes, Size a, Size b)
{
	int64_t x, y;
	if (size_is_bad(a) || size_is_bad(b))
		return false;
	if (size_same(a, b))
		return true;
	if (size_is_const(sizes, a, &x) && size_is_const(sizes, b, &y))
		return x >= y;
	return differ_by(sizes, a, b, false) ||
	       (has_floor(sizes, a) && differ_by(sizes, a, b, true));
}

bool size_divides(const Sizes *sizes, Size b, Size a)
{
	const Poly *poly = poly_at(sizes, a);
	int64_t k;
	Size quotient;
	if (size_is_bad(a) || size_is_bad(b))
		return false;
	if (!size_is_const(sizes, b, &k))
		return size_div_exact(tables_of(sizes), a, b, &quotient);
	if (k == 0)
		return poly->n == 0;
	for (uint32_t i = 0; i < poly->n; i++)
		if (poly->terms[i].coef % k)
			return false;
	return true;
}
