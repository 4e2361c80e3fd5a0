/* Quotients and floors of sizes.
 *
 * Division by a constant k carries out what it can, so that equal quotients get one form: every
 * coefficient is split into a multiple of k, which leaves, and a residue in [0, k), which stays; a
 * divisor that all of the rest shares is cancelled; a quotient inside is joined:
 *
 *   (2*n + 4)/2          n + 2              floor((2*n + 3)/2)         n + 1
 *   (n - 1)/2            (n + 1)/2 - 1      floor((floor(n/2) + 1)/3)  floor((n + 2)/6)
 *
 * (The printer puts the -1 back under the bar.) Division by a symbolic size is polynomial division
 * where that comes out; else common factors are cancelled and the quotient is an atom.
 */
#include "base/size_poly.h"

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Finds a term c * (P/m) of a (for floors: c * floor(P/m) with c = 1 also) and makes the sum of
 * c * P and m * (the rest): m times a, as far as divisions by a multiple of m can tell. */
static bool join_inner(Sizes *sizes, Size a, AtomKind kind, Size *joined, int64_t *m)
{
	Poly poly = *poly_at(sizes, a);
	for (uint32_t i = 0; i < poly.n && poly.depth > 0; i++) {
		Term term = poly.terms[i];
		Mono mono = *mono_at(sizes, term.mono);
		if (mono.degree != 1)
			continue;
		Atom atom = *atom_at(sizes, mono.factors[0].atom);
		bool fits = atom.kind == ATOM_QUOTIENT ||
		            (atom.kind == ATOM_FLOOR && kind == ATOM_FLOOR && term.coef == 1);
		if (!fits || !atom_divisor(sizes, &atom, m))
			continue;
		Work work;
		work_clear(&work);
		work_add_scaled(sizes, &work, a, *m);
		work_add_size(sizes, &work, size_const(sizes, -*m), term);
		work_add_scaled(sizes, &work, atom.num, term.coef);
		*joined = work_intern(sizes, &work);
		return true;
	}
	return false;
}

/* a = k * quotient + rest, the coefficients of rest in [0, k). */
static void split(const Sizes *sizes, Size a, int64_t k, Work *quotient, Work *rest)
{
	const Poly *poly = poly_at(sizes, a);
	work_clear(quotient);
	work_clear(rest);
	for (uint32_t i = 0; i < poly->n; i++) {
		int64_t q = floor_div(poly->terms[i].coef, k);
		work_add(sizes, quotient, q, poly->terms[i].mono);
		work_add(sizes, rest, poly->terms[i].coef - q * k, poly->terms[i].mono);
	}
}

/* The greatest divisor of k that divides every coefficient; of the constant too unless `floors`. */
static int64_t shared_divisor(const Term *terms, uint32_t n, int64_t k, bool floors)
{
	for (uint32_t i = 0; i < n; i++)
		if (terms[i].mono != 0 || !floors)
			k = gcd64(k, terms[i].coef);
	return k;
}

/* The terms divided by g; a constant is rounded down. */
static Size divide_terms(Sizes *sizes, const Term *terms, uint32_t n, int64_t g)
{
	Work work;
	work_clear(&work);
	for (uint32_t i = 0; i < n; i++)
		work_add(sizes, &work, floor_div(terms[i].coef, g), terms[i].mono);
	return work_intern(sizes, &work);
}

static bool is_constant(const Work *work)
{
	return work->n == 0 || (work->n == 1 && work->at[0].mono == 0);
}

/* a / k or floor(a / k) for k > 0. */
static Size divide(Sizes *sizes, AtomKind kind, Size a, int64_t k)
{
	Work quotient, rest;
	Size joined;
	int64_t inner, product;
	bool floors = kind == ATOM_FLOOR;
	if (size_is_bad(a) || k == 1)
		return a;
	if (join_inner(sizes, a, kind, &joined, &inner)) {
		bool fits = !__builtin_mul_overflow(inner, k, &product) && product <= COEF_CAP;
		return fits ? divide(sizes, kind, joined, product) : SIZE_BAD;
	}
	split(sizes, a, k, &quotient, &rest);
	if (rest.n == 0 || (floors && is_constant(&rest)))
		return work_intern(sizes, &quotient);
	if (is_constant(&rest)) { /* never divides: kept as it is written, for the message */
		Poly whole = *poly_at(sizes, a);
		int64_t g = shared_divisor(whole.terms, whole.n, k, false);
		Size num = divide_terms(sizes, whole.terms, whole.n, g);
		return size_of_quotient(sizes, kind, num, size_const(sizes, k / g));
	}
	int64_t g = shared_divisor(rest.at, rest.n, k, floors);
	Size num = divide_terms(sizes, rest.at, rest.n, g);
	Size atom = size_of_quotient(sizes, kind, num, size_const(sizes, k / g));
	return size_add(sizes, work_intern(sizes, &quotient), atom);
}

Size size_floor(Sizes *sizes, Size a, int64_t b)
{
	return b > 0 && b <= COEF_CAP ? divide(sizes, ATOM_FLOOR, a, b) : SIZE_BAD;
}

Size size_ceil(Sizes *sizes, Size a, int64_t b)
{
	return b > 0 ? size_floor(sizes, size_plus(sizes, a, b - 1), b) : SIZE_BAD;
}

bool size_div_exact(Sizes *sizes, Size a, Size b, Size *q)
{
	Work rest, quotient;
	Poly by = *poly_at(sizes, b);
	if (size_is_bad(a) || by.n == 0)
		return false;
	Term lead = by.terms[0];
	work_clear(&rest);
	work_clear(&quotient);
	work_add_scaled(sizes, &rest, a, 1);
	for (int steps = 0; rest.n && !rest.bad && steps < WORK_CAP; steps++) {
		Term t = {rest.at[0].coef / lead.coef, 0, 0};
		if (rest.at[0].coef % lead.coef || !mono_div(sizes, rest.at[0].mono, lead.mono, &t.mono))
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
			uint32_t wider = mono_mul(sizes, common, mono_of_atom(sizes, first.factors[f].atom));
			bool divides = true;
			for (int side = 0; side < 2; side++)
				for (uint32_t i = 0; i < polys[side].n && divides; i++)
					divides = mono_div(sizes, polys[side].terms[i].mono, wider, &ignored);
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
	Work work;
	Poly poly = *poly_at(sizes, a);
	work_clear(&work);
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
	int64_t g = shared_divisor(pb.terms, pb.n, shared_divisor(pa.terms, pa.n, 0, false), false);
	Term common = {pb.terms[0].coef < 0 ? -g : g, common_mono(sizes, pa, pb), 0};
	int64_t k;
	if (common.coef != 1 || common.mono != 0) {
		a = cancel(sizes, a, common);
		b = cancel(sizes, b, common);
	}
	if (size_is_const(sizes, b, &k))
		return divide(sizes, ATOM_QUOTIENT, a, k);
	return size_of_quotient(sizes, ATOM_QUOTIENT, a, b);
}

Size size_div(Sizes *sizes, Size a, Size b)
{
	int64_t k;
	Size q;
	if (size_is_bad(a) || size_is_bad(b) || poly_at(sizes, b)->n == 0)
		return SIZE_BAD;
	if (size_is_const(sizes, b, &k))
		return divide(sizes, ATOM_QUOTIENT, k < 0 ? size_scale(sizes, a, -1) : a, k < 0 ? -k : k);
	if (size_div_exact(sizes, a, b, &q))
		return q;
	if (join_inner(sizes, a, ATOM_QUOTIENT, &q, &k))
		return size_div(sizes, q, size_scale(sizes, b, k));
	return divide_symbolic(sizes, a, b);
}
