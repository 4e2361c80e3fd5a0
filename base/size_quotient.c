/* Quotients and floors of sizes.
 *
 * A quotient by a constant is a rational polynomial: what divides is carried out, and sums and
 * products of such quotients come over one denominator, so that equal sizes get one form. A
 * floor loses the multiples of its divisor: every coefficient is split into a multiple of k,
 * which leaves, and a residue in [0, k), which stays; a divisor that all of the rest shares is
 * cancelled; a quotient or floor inside is joined:
 *
 *   (2*n + 4)/2           n + 2              floor((2*n + 3)/2)         n + 1
 *   (n - 3)/2 + 1         (n - 1)/2          floor((n - 1)/2)           floor((n + 1)/2) - 1
 *   n/2 + (n + 2*m)/4     (3*n + 2*m)/4      floor((floor(n/2) + 1)/3)  floor((n + 2)/6)
 *
 * (The printer puts the -1 back under the bar.) Division by a symbolic size is polynomial
 * division where that comes out; else common factors are cancelled and the quotient is an atom.
 */
#include "base/integer.h"
#include "base/size_poly.h"
#include "base/size_text.h"

bool atom_divisor(const Sizes *sizes, const Atom *atom, int64_t *den)
{
	return atom->kind != ATOM_DIM && size_is_const(sizes, atom->den, den);
}

/* The greatest divisor of k that divides every coefficient; not the constant's where `floors`. */
static int64_t shared_divisor(const Term *terms, uint32_t n, int64_t k, bool floors)
{
	for (uint32_t i = 0; i < n; i++)
		if (terms[i].mono != 0 || !floors)
			k = greatest_divisor(k, terms[i].coef);
	return k;
}

/* Divides every coefficient by g, rounding down, in place. */
static void divide_terms(Work *work, int64_t g)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < work->n; i++) {
		work->at[i].coef = divide_down(work->at[i].coef, g);
		if (work->at[i].coef)
			work->at[kept++] = work->at[i];
	}
	work->n = kept;
}

/* The first atom of the work that is a quotient by a constant. */
static bool find_fraction(const Sizes *sizes, const Work *work, uint32_t *atom, int64_t *m)
{
	for (uint32_t i = 0; i < work->n; i++) {
		const Mono *mono = mono_at(sizes, work->at[i].mono);
		for (uint32_t k = 0; mono->fractional && k < mono->n; k++) {
			*atom = mono->factors[k].atom;
			const Atom *a = atom_at(sizes, *atom);
			if (a->kind == ATOM_QUOTIENT && atom_divisor(sizes, a, m))
				return true;
		}
	}
	return false;
}

/* work *= m, where one factor P/m of a term becomes P. */
static void clear_fraction(Sizes *sizes, Work *work, uint32_t atom, int64_t m)
{
	WORK(old);
	work_copy(&old, work);
	uint32_t fraction = mono_of_atom(sizes, atom);
	work_clear(work);
	for (uint32_t i = 0; i < old.n; i++) {
		Term term = old.at[i];
		if (mono_div(sizes, term.mono, fraction, &term.mono)) {
			work_add_size(sizes, work, atom_at(sizes, atom)->num, term);
		} else {
			work->bad |= __builtin_mul_overflow(term.coef, m, &term.coef);
			work_add(sizes, work, term.coef, term.mono);
		}
	}
	work->bad |= old.bad;
}

/* Multiplies out all quotients by constants: work / *k stays the same value. */
static void clear_fractions(Sizes *sizes, Work *work, int64_t *k)
{
	uint32_t atom;
	int64_t m;
	while (!work->bad && find_fraction(sizes, work, &atom, &m)) {
		clear_fraction(sizes, work, atom, m);
		work->bad |= __builtin_mul_overflow(*k, m, k) || *k > COEF_CAP;
		int64_t g = work->bad ? 1 : shared_divisor(work->at, work->n, *k, false);
		divide_terms(work, g);
		*k /= g;
	}
}

/* A term c * m * (num/den) where the symbolic den is one term that divides m is a simpler size:
 * m * (n/m) is n. That is sound under the guard of the quotient. */
static bool simplify_factor(Sizes *sizes, Term term, uint32_t index, Work *simpler)
{
	uint32_t id = mono_at(sizes, term.mono)->factors[index].atom, rest;
	Atom atom = *atom_at(sizes, id);
	Poly den = *poly_at(sizes, atom.den);
	if (atom.kind != ATOM_QUOTIENT || den.n != 1 || den.terms[0].mono == 0)
		return false;
	mono_div(sizes, term.mono, mono_of_atom(sizes, id), &rest);
	if (!mono_div(sizes, rest, den.terms[0].mono, &rest))
		return false;
	Size left = size_div(sizes, atom.num, size_const(sizes, den.terms[0].coef));
	work_clear(simpler);
	work_add_size(sizes, simpler, left, (Term){term.coef, rest, 0});
	return true;
}

static bool simplify_term(Sizes *sizes, Term term, Work *simpler)
{
	if (mono_at(sizes, term.mono)->depth == 0)
		return false;
	for (uint32_t i = 0; i < mono_at(sizes, term.mono)->n; i++)
		if (simplify_factor(sizes, term, i, simpler))
			return true;
	return false;
}

/* Simplifies quotients by symbolic sizes; false when there was nothing to do. */
static bool simplify(Sizes *sizes, Work *work)
{
	bool changed = false;
	for (uint32_t i = 0; i < work->n && !work->bad;) {
		WORK(simpler);
		Term term = work->at[i++];
		if (!simplify_term(sizes, term, &simpler))
			continue;
		work_add(sizes, work, -term.coef, term.mono);
		for (uint32_t k = 0; k < simpler.n; k++)
			work_add(sizes, work, simpler.at[k].coef, simpler.at[k].mono);
		work->bad |= simpler.bad;
		changed = true;
		i = 0; /* its terms may have met others */
	}
	return changed;
}

Size work_intern_over(Sizes *sizes, Work *work, int64_t k)
{
	WORK(whole);
	WORK(rest);
	do
		clear_fractions(sizes, work, &k);
	while (simplify(sizes, work));
	if (work->bad)
		return size_beyond(sizes, work->limit);
	int64_t g = shared_divisor(work->at, work->n, k, false);
	divide_terms(work, g);
	k /= g;
	for (uint32_t i = 0; i < work->n; i++) {
		Term term = work->at[i];
		if (term.coef % k == 0)
			work_add(sizes, &whole, term.coef / k, term.mono);
		else
			work_add(sizes, &rest, term.coef, term.mono);
	}
	if (rest.n) {
		int64_t sign = rest.at[0].coef < 0 ? -1 : 1;
		divide_terms(&rest, sign);
		Size num = size_intern(sizes, rest.at, rest.n);
		Size atom = size_of_quotient(sizes, ATOM_QUOTIENT, num, size_const(sizes, k));
		work_add_scaled(sizes, &whole, atom, sign);
	}
	return whole.bad ? size_beyond(sizes, whole.limit)
			 : size_intern(sizes, whole.at, whole.n);
}

static Size divide_constant(Sizes *sizes, Size a, int64_t k)
{
	WORK(work);
	work_add_scaled(sizes, &work, a, 1);
	return work_intern_over(sizes, &work, k);
}

/* Joins a term 1 * floor(P/m) of the numerator: floor((floor(P/m) + r)/k) is floor((P +
 * m*r)/(m*k)). */
static bool join_floor(Sizes *sizes, Work *work, int64_t *k)
{
	for (uint32_t i = 0; i < work->n && !work->bad; i++) {
		Term term = work->at[i];
		const Mono *mono = mono_at(sizes, term.mono);
		int64_t m;
		if (mono->degree != 1 || mono->depth == 0 || term.coef != 1)
			continue;
		Atom atom = *atom_at(sizes, mono->factors[0].atom);
		if (atom.kind != ATOM_FLOOR || !atom_divisor(sizes, &atom, &m))
			continue;
		WORK(old);
		work_copy(&old, work);
		work_clear(work);
		for (uint32_t t = 0; t < old.n; t++) {
			int64_t coef;
			work->bad |= __builtin_mul_overflow(old.at[t].coef, m, &coef);
			if (t != i)
				work_add(sizes, work, coef, old.at[t].mono);
		}
		work_add_scaled(sizes, work, atom.num, 1);
		work->bad |= __builtin_mul_overflow(*k, m, k) || *k > COEF_CAP;
		return true;
	}
	return false;
}

static bool is_constant(const Work *work)
{
	return work->n == 0 || (work->n == 1 && work->at[0].mono == 0);
}

/* floor(work / k), k > 0. */
static Size floor_work(Sizes *sizes, Work *work, int64_t k, bool joins)
{
	WORK(whole);
	WORK(rest);
	do
		clear_fractions(sizes, work, &k);
	while (joins && join_floor(sizes, work, &k));
	for (uint32_t i = 0; i < work->n && !work->bad; i++) {
		int64_t q = divide_down(work->at[i].coef, k);
		work_add(sizes, &whole, q, work->at[i].mono);
		work_add(sizes, &rest, work->at[i].coef - q * k, work->at[i].mono);
	}
	if (!is_constant(&rest)) {
		int64_t g = shared_divisor(rest.at, rest.n, k, true);
		divide_terms(&rest, g);
		Size num = size_intern(sizes, rest.at, rest.n);
		Size den = size_const(sizes, k / g);
		work_add_scaled(sizes, &whole, size_of_quotient(sizes, ATOM_FLOOR, num, den), 1);
	}
	return work->bad ? size_beyond(sizes, work->limit) : work_intern(sizes, &whole);
}

static Size floor_of(Sizes *sizes, Size a, int64_t b, bool joins)
{
	if (b <= 0 || b > COEF_CAP)
		return size_beyond(sizes, LIMIT_NUMBER);
	WORK(work);
	work_add_scaled(sizes, &work, a, 1);
	return floor_work(sizes, &work, b, joins);
}

Size size_floor(Sizes *sizes, Size a, int64_t b) { return floor_of(sizes, a, b, true); }
Size size_floor_written(Sizes *sizes, Size a, int64_t b) { return floor_of(sizes, a, b, false); }

Size size_ceil(Sizes *sizes, Size a, int64_t b)
{
	return b > 0 ? size_floor(sizes, size_plus(sizes, a, b - 1), b) : SIZE_BAD;
}

bool size_div_exact(Sizes *sizes, Size a, Size b, Size *q)
{
	Poly by = *poly_at(sizes, b);
	if (size_is_bad(a) || by.n == 0)
		return false;
	Term lead = by.terms[0];
	WORK(rest);
	WORK(quotient);
	work_add_scaled(sizes, &rest, a, 1);
	for (int steps = 0; rest.n && !rest.bad && steps < TERM_CAP; steps++) {
		Term t = {rest.at[0].coef / lead.coef, 0, 0};
		if (rest.at[0].coef % lead.coef ||
		    !mono_div(sizes, rest.at[0].mono, lead.mono, &t.mono))
			return false;
		work_add(sizes, &quotient, t.coef, t.mono);
		t.coef = -t.coef;
		work_add_size(sizes, &rest, b, t);
	}
	if (rest.n || rest.bad)
		return false;
	*q = work_intern(sizes, &quotient);
	return !size_is_bad(*q);
}

/* The monomial that divides every term of both. */
static uint32_t common_mono(Sizes *sizes, Poly a, Poly b)
{
	Poly polys[2] = {a, b};
	Mono first = *mono_at(sizes, a.terms[0].mono);
	uint32_t common = 0, ignored;
	for (uint32_t f = 0; f < first.n; f++) {
		for (uint32_t power = 0; power < first.factors[f].power; power++) {
			uint32_t wider =
				mono_mul(sizes, common, mono_of_atom(sizes, first.factors[f].atom));
			bool divides = true;
			for (int side = 0; side < 2; side++)
				for (uint32_t i = 0; i < polys[side].n && divides; i++)
					divides = mono_div(sizes, polys[side].terms[i].mono, wider,
							   &ignored);
			if (!divides)
				break;
			common = wider;
		}
	}
	return common;
}

/* a divided by a term that divides all of its terms. */
static Size cancel(Sizes *sizes, Size a, Term by)
{
	Poly poly = *poly_at(sizes, a);
	WORK(work);
	for (uint32_t i = 0; i < poly.n; i++) {
		uint32_t mono = 0;
		mono_div(sizes, poly.terms[i].mono, by.mono, &mono);
		work_add(sizes, &work, poly.terms[i].coef / by.coef, mono);
	}
	return work_intern(sizes, &work);
}

/* a / b for a symbolic b that does not divide a. */
static Size divide_symbolic(Sizes *sizes, Size a, Size b)
{
	Poly pa = *poly_at(sizes, a), pb = *poly_at(sizes, b);
	int64_t k,
		g = shared_divisor(pb.terms, pb.n, shared_divisor(pa.terms, pa.n, 0, false), false);
	Term common = {pb.terms[0].coef < 0 ? -g : g, common_mono(sizes, pa, pb), 0};
	a = cancel(sizes, a, common);
	b = cancel(sizes, b, common);
	if (size_is_const(sizes, b, &k))
		return divide_constant(sizes, a, k);
	return size_of_quotient(sizes, ATOM_QUOTIENT, a, b);
}

/* Multiplies both by the constant that clears the fractions of a. */
static void clear_both(Sizes *sizes, Size *a, Size *b)
{
	int64_t k = 1;
	WORK(work);
	work_add_scaled(sizes, &work, *a, 1);
	clear_fractions(sizes, &work, &k);
	*a = work_intern(sizes, &work);
	*b = size_scale(sizes, *b, k);
}

Size size_div(Sizes *sizes, Size a, Size b)
{
	int64_t k;
	Size q;
	if (size_is_bad(a) || size_is_bad(b) || poly_at(sizes, b)->n == 0)
		return SIZE_BAD;
	if (size_is_const(sizes, b, &k))
		return divide_constant(sizes, k < 0 ? size_scale(sizes, a, -1) : a, k < 0 ? -k : k);
	if (size_div_exact(sizes, a, b, &q))
		return q;
	clear_both(sizes, &b, &a);
	clear_both(sizes, &a, &b);
	if (size_is_bad(a) || size_is_bad(b))
		return SIZE_BAD;
	return divide_symbolic(sizes, a, b);
}
