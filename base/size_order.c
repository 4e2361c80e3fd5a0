/* What holds for all values of the dims: a >= b, and b divides a. Both are sound and incomplete.
 *
 * A lower bound of a polynomial: every dim d is written as at_least + d' with d' >= 0, and every
 * floor or quotient as its own lower bound plus a remainder; when then no coefficient but the
 * constant's is negative, the constant is the bound. Before that, quotients by a constant that
 * stand alone, and floors with a negative coefficient, are multiplied out (floor(p/m) <= p/m),
 * which proves n >= floor(n/2). Where that shows nothing, floors with a positive coefficient are so
 * as well (floor(p/m) >= (p - m + 1)/m): 32*floor((n + 31)/32) >= n.
 */
#include "base/size_order.h"

#include "base/integer.h"
#include "base/size_poly.h"

enum { STEP_LIMIT = 100000, ELIMINATION_LIMIT = 16, SHIFTED_LIMIT = 256 };

typedef struct Prover {
	Sizes *sizes;
	int steps; /* left: a bound on the work of one question */
	bool floors; /* are those with a positive coefficient multiplied out? */
} Prover;

static bool work_bound(Prover *p, Work *work, int64_t *bound);

static bool size_bound(Prover *p, Size a, int64_t *bound)
{
	WORK(work);
	work_set(p->sizes, &work, a);
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
			*bound = divide_up(sum.at[i].coef, scale);
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

bool size_only_adds(const Sizes *sizes, Size a)
{
	const Poly *poly = poly_at(sizes, a);
	for (uint32_t i = 0; i < poly->n; i++)
		if (poly->terms[i].coef < 0)
			return false;
	return !size_is_bad(a);
}

bool size_most(Sizes *sizes, Size a, int64_t *most)
{
	if (size_is_const(sizes, a, most) || size_only_adds(sizes, a))
		return size_is_const(sizes, a, most);
	Prover prover = {sizes, STEP_LIMIT, true};
	int64_t least, content = size_content(sizes, a);
	if (size_is_bad(a) || content == 0 ||
	    !size_bound(&prover, size_div(sizes, a, size_const(sizes, -content)), &least))
		return false;
	return !__builtin_mul_overflow(-least, content, most);
}

/* Is a - b shown to be 0 or more? */
static bool differ_by(const Sizes *sizes, Size a, Size b, bool floors)
{
	Prover prover = {tables_of(sizes), STEP_LIMIT, floors};
	WORK(difference);
	int64_t bound;
	work_set(sizes, &difference, a);
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
	if (size_is(sizes, b, 0) && poly_at(sizes, a)->depth == 0 && size_only_adds(sizes, a))
		return true;
	return differ_by(sizes, a, b, false) ||
	       (has_floor(sizes, a) && differ_by(sizes, a, b, true));
}

static bool has_atom(const Sizes *sizes, uint32_t id, uint32_t atom)
{
	const Mono *mono = mono_at(sizes, id);
	for (uint32_t k = 0; k < mono->n; k++)
		if (mono->factors[k].atom == atom)
			return true;
	return false;
}

/* a as coef * atom + rest; false: it has another power of the atom. */
static bool split_atom(Sizes *sizes, Size a, uint32_t atom, Size *coef, Size *rest)
{
	Poly poly = *poly_at(sizes, a);
	WORK(with);
	WORK(without);
	uint32_t factor = mono_of_atom(sizes, atom), quotient = 0;
	bool sum = true;
	for (uint32_t i = 0; i < poly.n; i++) {
		Term term = poly.terms[i];
		if (!has_atom(sizes, term.mono, atom)) {
			work_reserve(&without, without.n + 1);
			without.at[without.n++] = term;
			continue;
		}
		sum &= mono_div(sizes, term.mono, factor, &quotient) &&
		       !has_atom(sizes, quotient, atom);
		work_add(sizes, &with, term.coef, quotient);
	}
	*coef = work_intern(sizes, &with);
	*rest = work_intern(sizes, &without);
	return sum && !size_is_bad(*coef) && !size_is_bad(*rest);
}

/* The atom that the size is. */
static uint32_t atom_of(const Sizes *sizes, Size a)
{
	return mono_at(sizes, poly_at(sizes, a)->terms[0].mono)->factors[0].atom;
}

bool size_split(Sizes *sizes, Size a, Size atom, Size *coef, Size *rest)
{
	DimId dim;
	bool sum = split_atom(sizes, a, atom_of(sizes, atom), coef, rest);
	if (!sum || poly_at(sizes, a)->depth == 0 || !size_is_dim(sizes, atom, &dim))
		return sum;
	return !size_uses_dim(sizes, *coef, dim) && !size_uses_dim(sizes, *rest, dim);
}

size_t size_floors(Sizes *sizes, Size a, Size *floors, size_t most)
{
	Poly poly = *poly_at(sizes, a);
	size_t n = 0;
	for (uint32_t i = 0; i < poly.n; i++) {
		Mono mono = *mono_at(sizes, poly.terms[i].mono);
		for (uint32_t k = 0; mono.depth && k < mono.n && n < most; k++) {
			Atom atom = *atom_at(sizes, mono.factors[k].atom);
			Size floor = atom.kind != ATOM_FLOOR ? SIZE_BAD
							     : size_of_quotient(sizes, ATOM_FLOOR,
										atom.num, atom.den);
			size_t known = 0;
			while (known < n && !size_same(floors[known], floor))
				known++;
			if (known == n && !size_is_bad(floor))
				floors[n++] = floor;
		}
	}
	return n;
}

/* A finer floor of the size: floor((P + a)/m) is floor(floor((P + a)/d)/(m/d)), and for a whole
 * (a - b)/d that inside is floor((P + b)/d) + (a - b)/d. *inside: that; *by: m/d. */
static bool finer_floor(Sizes *sizes, Size a, Atom floor, Size *inside, int64_t *by)
{
	Poly poly = *poly_at(sizes, a);
	int64_t m, d, off;
	atom_divisor(sizes, &floor, &m);
	for (uint32_t i = 0; i < poly.n; i++) {
		Mono mono = *mono_at(sizes, poly.terms[i].mono);
		for (uint32_t k = 0; mono.depth && k < mono.n; k++) {
			Atom atom = *atom_at(sizes, mono.factors[k].atom);
			if (atom.kind != ATOM_FLOOR || !atom_divisor(sizes, &atom, &d) || d >= m ||
			    m % d ||
			    !size_is_const(sizes, size_sub(sizes, floor.num, atom.num), &off) ||
			    off % d)
				continue;
			*inside = size_plus(sizes,
					    size_of_quotient(sizes, ATOM_FLOOR, atom.num, atom.den),
					    off / d);
			*by = m / d;
			return true;
		}
	}
	return false;
}

/* What of `rest` is a multiple of coef, divided by it: the rest of a = coef * (atom + k) + ... */
static Size multiples_of(Sizes *sizes, Size rest, int64_t coef)
{
	Poly poly = *poly_at(sizes, rest);
	WORK(work);
	for (uint32_t i = 0; i < poly.n; i++)
		if (poly.terms[i].mono != 0 && poly.terms[i].coef % coef == 0)
			work_add(sizes, &work, poly.terms[i].coef / coef, poly.terms[i].mono);
	return work_intern(sizes, &work);
}

/* floor(P/m) + k is floor((P + m*k)/m), which has a bound of its own. */
static bool with_multiples(Sizes *sizes, Size coef, Size rest, Atom atom, Size *less)
{
	int64_t m, c, bound;
	atom_divisor(sizes, &atom, &m);
	if (!size_is_const(sizes, coef, &c))
		return false;
	Size k = multiples_of(sizes, rest, c);
	Size num = size_add(sizes, atom.num, size_scale(sizes, k, m));
	if (size_is(sizes, k, 0))
		return false;
	Size sign = c < 0 ? num : size_scale(sizes, num, -1);
	if (!size_most(sizes, sign, &bound))
		return false;
	bound = c < 0 ? bound : -bound;
	bound = bound / m - (bound % m < 0);
	*less = size_add(sizes, size_sub(sizes, rest, size_scale(sizes, k, c)),
			 size_scale(sizes, coef, bound));
	return !size_is_bad(*less);
}

bool size_without_floor(Sizes *sizes, Size a, Size floor, FloorWay way, Size *less)
{
	Atom atom = *atom_at(sizes, atom_of(sizes, floor));
	Size coef, rest, num = atom.num, zero = size_const(sizes, 0);
	int64_t m, least = 0;
	bool adds = way == FLOOR_NUMBER || way == FLOOR_LEAST;
	if (!atom_divisor(sizes, &atom, &m) || !size_split(sizes, a, floor, &coef, &rest))
		return false;
	if (way == FLOOR_SHARED)
		return with_multiples(sizes, coef, rest, atom, less);
	if (!(adds ? size_ge(sizes, coef, zero) : size_ge(sizes, zero, coef)) ||
	    (way == FLOOR_FINER && !finer_floor(sizes, a, atom, &num, &m)) ||
	    (way == FLOOR_NUMBER && !size_least(sizes, floor, &least)))
		return false;
	if (way == FLOOR_LEAST)
		num = size_plus(sizes, num, 1 - m);
	if (way == FLOOR_NUMBER) {
		num = size_const(sizes, least);
		m = 1;
	}
	*less = size_add(sizes, size_scale(sizes, rest, m), size_mul(sizes, coef, num));
	return !size_is_bad(*less);
}

int64_t size_content(const Sizes *sizes, Size a)
{
	const Poly *poly = poly_at(sizes, a);
	int64_t content = 0;
	for (uint32_t i = 0; i < poly->n; i++)
		for (int64_t b = poly->terms[i].coef; b;) {
			int64_t left = content % b;
			content = b;
			b = left;
		}
	return content < 0 ? -content : content;
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
