/* Sums and products of sizes: the interning tables, the order of terms, and polynomial
 * arithmetic. See base/size_poly.h for the representation. */
#include "base/size.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/held.h"
#include "base/size_poly.h"

/* MERGED_TERMS: so many are not added one by one. FREE_TERMS: shorter sizes do not count in all. */
enum { MERGED_TERMS = 8, FREE_TERMS = 16 };

static int compare_sizes(const Sizes *sizes, Size a, Size b);

static int compare_atoms(const Sizes *sizes, uint32_t ia, uint32_t ib)
{
	const Atom *a = atom_at(sizes, ia), *b = atom_at(sizes, ib);
	if (ia == ib)
		return 0;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == ATOM_DIM)
		return a->dim < b->dim ? -1 : 1;
	if (!size_same(a->num, b->num))
		return compare_sizes(sizes, a->num, b->num);
	return compare_sizes(sizes, a->den, b->den);
}

/* Negative when a stands before b. */
static int compare_monos(const Sizes *sizes, uint32_t ia, uint32_t ib)
{
	const Mono *a = mono_at(sizes, ia), *b = mono_at(sizes, ib);
	if (ia == ib)
		return 0;
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int order = compare_atoms(sizes, a->factors[i].atom, b->factors[i].atom);
		if (order)
			return order;
		if (a->factors[i].power != b->factors[i].power)
			return a->factors[i].power > b->factors[i].power ? -1 : 1;
	}
	return a->n > b->n ? -1 : 1;
}

static int compare_sizes(const Sizes *sizes, Size sa, Size sb)
{
	const Poly *a = poly_at(sizes, sa), *b = poly_at(sizes, sb);
	if (size_same(sa, sb))
		return 0;
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int order = compare_monos(sizes, a->terms[i].mono, b->terms[i].mono);
		if (order)
			return order;
		if (a->terms[i].coef != b->terms[i].coef)
			return a->terms[i].coef > b->terms[i].coef ? -1 : 1;
	}
	return a->n > b->n ? -1 : 1;
}

/* ---- interning ---- */

static uint32_t with_hash(const Table *table, uint32_t id, uint64_t hash)
{
	while (id && table->links.at[id - 1].hash != hash)
		id = table->links.at[id - 1].next;
	return id;
}

/* The ids of the hash, each + 1, one after the other; 0 ends them. */
static uint32_t table_first(const Table *table, uint64_t hash)
{
	return table->nbuckets
		       ? with_hash(table, table->buckets[hash & (table->nbuckets - 1)], hash)
		       : 0;
}

static uint32_t table_next(const Table *table, uint32_t id)
{
	const Link *link = &table->links.at[id - 1];
	return with_hash(table, link->next, link->hash);
}

static void put_in_bucket(Table *table, uint32_t id)
{
	Link *link = &table->links.at[id - 1];
	uint32_t *bucket = &table->buckets[link->hash & (table->nbuckets - 1)];
	link->next = *bucket;
	*bucket = id;
}

/* The hash of the next id. */
static void table_add(Arena *arena, Table *table, uint64_t hash)
{
	PUSH(arena, table->links, ((Link){.hash = hash}));
	if (table->links.n <= table->nbuckets) {
		put_in_bucket(table, (uint32_t)table->links.n);
		return;
	}
	table->nbuckets = table->nbuckets ? 2 * table->nbuckets : 64;
	table->buckets = ARENA_ARRAY(arena, uint32_t, table->nbuckets);
	for (uint32_t id = 1; id <= table->links.n; id++)
		put_in_bucket(table, id);
}

static uint32_t intern_atom(Sizes *sizes, Atom atom)
{
	uint32_t key[4] = {atom.kind, atom.dim, atom.num.id, atom.den.id};
	uint64_t hash = XXH3_64bits(key, sizeof key);
	Table *table = &sizes->atom_table;
	for (uint32_t id = table_first(table, hash); id; id = table_next(table, id)) {
		const Atom *a = atom_at(sizes, id - 1);
		if (a->kind == atom.kind && a->dim == atom.dim && size_same(a->num, atom.num) &&
		    size_same(a->den, atom.den))
			return id - 1;
	}
	PUSH(sizes->arena, sizes->atoms, atom);
	table_add(sizes->arena, table, hash);
	return (uint32_t)sizes->atoms.n - 1;
}

/* factors: sorted by atom, each atom once. */
static uint32_t intern_mono(Sizes *sizes, const Factor *factors, uint32_t n)
{
	uint64_t hash = XXH3_64bits(factors, n * sizeof *factors);
	Table *table = &sizes->mono_table;
	for (uint32_t id = table_first(table, hash); id; id = table_next(table, id)) {
		const Mono *m = mono_at(sizes, id - 1);
		if (m->n == n && (n == 0 || memcmp(m->factors, factors, n * sizeof *factors) == 0))
			return id - 1;
	}
	int64_t divisor;
	Mono mono = {.n = n, .weight = 1};
	Factor *copy = ARENA_ARRAY(sizes->arena, Factor, n);
	for (uint32_t i = 0; i < n; i++) {
		const Atom *atom = atom_at(sizes, factors[i].atom);
		copy[i] = factors[i];
		mono.degree += factors[i].power;
		mono.weight += factors[i].power * atom->weight;
		mono.quotient |= atom->kind == ATOM_QUOTIENT;
		mono.fractional |=
			atom_divisor(sizes, atom, &divisor) && atom->kind == ATOM_QUOTIENT;
		if (atom->depth > mono.depth)
			mono.depth = atom->depth;
	}
	mono.factors = copy;
	PUSH(sizes->arena, sizes->monos, mono);
	table_add(sizes->arena, table, hash);
	return (uint32_t)sizes->monos.n - 1;
}

Size size_beyond(Sizes *sizes, SizeLimit limit)
{
	if (limit != LIMIT_EARLIER)
		sizes->limit = limit;
	sizes->nbeyond++;
	return SIZE_BAD;
}

bool sizes_limit_is_number(const Sizes *sizes)
{
	return sizes->limit == LIMIT_NUMBER;
}

size_t sizes_nbeyond(const Sizes *sizes)
{
	return sizes->nbeyond;
}

const char *sizes_limit_text(const Sizes *sizes)
{
	static const char *const texts[] = {
		[LIMIT_NUMBER] = "a number in it is beyond 2^62",
		[LIMIT_TERMS] = "it has more than 16384 terms",
		[LIMIT_ALL_TERMS] = "all sizes of the program have more than 8388608 terms together",
		[LIMIT_DEGREE] = "a term of it is a product of more than 16 dims",
		[LIMIT_DEPTH] = "quotients in it are nested more than 32 deep",
		[LIMIT_WEIGHT] = "written out it has more than 262144 dims and numbers"};
	_Static_assert(TERM_CAP == 16384 && ALL_TERMS_CAP == 8388608 && DEGREE_CAP == 16 &&
			       DEPTH_CAP == 32 && WEIGHT_CAP == 262144,
		       "the texts name the bounds");
	return texts[sizes->limit];
}

Size size_intern(Sizes *sizes, const Term *terms, uint32_t n)
{
	uint64_t hash = XXH3_64bits(terms, n * sizeof *terms);
	Table *table = &sizes->poly_table;
	for (uint32_t id = table_first(table, hash); id; id = table_next(table, id)) {
		const Poly *p = &sizes->polys.at[id - 1];
		if (id > 1 && p->n == n &&
		    (n == 0 || memcmp(p->terms, terms, n * sizeof *terms) == 0))
			return (Size){id - 1};
	}
	Poly poly = {.n = n, .weight = 1};
	for (uint32_t i = 0; i < n; i++) {
		const Mono *mono = mono_at(sizes, terms[i].mono);
		poly.weight += mono->weight;
		if (mono->depth > poly.depth)
			poly.depth = mono->depth;
	}
	if (n > TERM_CAP)
		return size_beyond(sizes, LIMIT_TERMS);
	if (poly.weight > WEIGHT_CAP || poly.depth > DEPTH_CAP)
		return size_beyond(sizes, poly.depth > DEPTH_CAP ? LIMIT_DEPTH : LIMIT_WEIGHT);
	if (n > FREE_TERMS && sizes->nterms + n > ALL_TERMS_CAP)
		return size_beyond(sizes, LIMIT_ALL_TERMS);
	sizes->nterms += n;
	Term *copy = ARENA_ARRAY(sizes->arena, Term, n);
	if (n)
		memcpy(copy, terms, n * sizeof *terms);
	poly.terms = copy;
	PUSH(sizes->arena, sizes->polys, poly);
	table_add(sizes->arena, table, hash);
	return (Size){(uint32_t)sizes->polys.n - 1};
}

Sizes *sizes_new(Arena *arena)
{
	Sizes *sizes = ARENA_NEW(arena, Sizes);
	sizes->arena = arena;
	PUSH(arena, sizes->polys, ((Poly){.n = 0}));
	table_add(arena, &sizes->poly_table, 0); /* of SIZE_BAD, which nothing equals */
	intern_mono(sizes, NULL, 0);
	return sizes;
}

DimId sizes_add_dim(Sizes *sizes, Dim dim)
{
	PUSH(sizes->arena, sizes->dims, dim);
	return (DimId)sizes->dims.n - 1;
}

uint32_t sizes_nargs(const Sizes *sizes)
{
	uint32_t n = sizes_ndims(sizes);
	while (n > 0 && sizes_dim(sizes, n - 1)->kind != DIM_ARGUMENT) /* falls: n */
		n--;
	return n;
}

uint32_t sizes_ndims(const Sizes *sizes)
{
	return (uint32_t)sizes->dims.n;
}

const Dim *sizes_dim(const Sizes *sizes, DimId dim)
{
	return dim < sizes->dims.n ? &sizes->dims.at[dim] : NULL;
}

uint32_t mono_of_atom(Sizes *sizes, uint32_t atom)
{
	Factor factor = {atom, 1};
	return intern_mono(sizes, &factor, 1);
}

static uint32_t mono_of_dim(Sizes *sizes, DimId dim)
{
	return mono_of_atom(sizes,
			    intern_atom(sizes, (Atom){.kind = ATOM_DIM, .dim = dim, .weight = 1}));
}

Size size_of_quotient(Sizes *sizes, AtomKind kind, Size num, Size den)
{
	const Poly *n = poly_at(sizes, num), *d = poly_at(sizes, den);
	Atom atom = {.kind = kind, .num = num, .den = den, .weight = n->weight + d->weight + 1};
	atom.depth = 1 + (n->depth > d->depth ? n->depth : d->depth);
	if (size_is_bad(num) || size_is_bad(den))
		return SIZE_BAD;
	if (atom.weight > WEIGHT_CAP || atom.depth > DEPTH_CAP)
		return size_beyond(sizes, atom.depth > DEPTH_CAP ? LIMIT_DEPTH : LIMIT_WEIGHT);
	Term term = {1, mono_of_atom(sizes, intern_atom(sizes, atom)), 0};
	return size_intern(sizes, &term, 1);
}

uint32_t mono_mul(Sizes *sizes, uint32_t ia, uint32_t ib)
{
	Factor product[2 * DEGREE_CAP];
	Mono a = *mono_at(sizes, ia), b = *mono_at(sizes, ib);
	uint32_t n = 0, i = 0, k = 0;
	if (a.degree + b.degree > DEGREE_CAP)
		return UINT32_MAX;
	while (i < a.n || k < b.n) {
		int order = i == a.n ? 1 : -1;
		if (i < a.n && k < b.n)
			order = compare_atoms(sizes, a.factors[i].atom, b.factors[k].atom);
		product[n] = order <= 0 ? a.factors[i++] : b.factors[k++];
		if (order == 0)
			product[n].power += b.factors[k++].power;
		n++;
	}
	return intern_mono(sizes, product, n);
}

bool mono_div(Sizes *sizes, uint32_t ia, uint32_t ib, uint32_t *quotient)
{
	Factor rest[DEGREE_CAP];
	Mono a = *mono_at(sizes, ia), b = *mono_at(sizes, ib);
	uint32_t n = 0, k = 0;
	for (uint32_t i = 0; i < a.n; i++) {
		Factor factor = a.factors[i];
		if (k < b.n && b.factors[k].atom == factor.atom) {
			if (b.factors[k].power > factor.power)
				return false;
			factor.power -= b.factors[k++].power;
		}
		if (factor.power)
			rest[n++] = factor;
	}
	if (k < b.n)
		return false;
	*quotient = intern_mono(sizes, rest, n);
	return true;
}

/* ---- polynomials under construction ---- */

void work_free(Work *work)
{
	if (work->at != work->few)
		held_free(work->at);
}

void work_reserve(Work *work, uint32_t n)
{
	if (n <= work->cap)
		return;
	uint32_t cap = 2 * work->cap > n ? 2 * work->cap : n;
	Term *at = work->at == work->few ? NULL : work->at;
	at = held_realloc(at, cap * sizeof *at);
	if (!at)
		arena_out_of_memory("sizes");
	if (work->at == work->few)
		memcpy(at, work->few, work->n * sizeof *at);
	work->at = at;
	work->cap = cap;
}

static void work_fail(Work *work, SizeLimit limit)
{
	work->bad = true;
	work->limit = limit;
}

static bool is_beyond(int64_t coef)
{
	return coef > COEF_CAP || coef < -COEF_CAP;
}

/* The place of the monomial in the order of terms. Most are added in that order. */
static uint32_t find_place(const Sizes *sizes, const Work *work, uint32_t mono)
{
	uint32_t low = 0, high = work->n;
	if (high && compare_monos(sizes, work->at[high - 1].mono, mono) < 0)
		return high;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (compare_monos(sizes, work->at[mid].mono, mono) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void work_add(const Sizes *sizes, Work *work, int64_t coef, uint32_t mono)
{
	if (mono == UINT32_MAX && !work->bad)
		work_fail(work, LIMIT_DEGREE);
	if (coef == 0 || work->bad)
		return;
	uint32_t place = find_place(sizes, work, mono);
	Term *at = &work->at[place];
	if (place < work->n && at->mono == mono) {
		if (__builtin_add_overflow(at->coef, coef, &at->coef) || is_beyond(at->coef))
			work_fail(work, LIMIT_NUMBER);
		if (at->coef == 0)
			memmove(at, at + 1, (--work->n - place) * sizeof *at);
	} else if (work->n == WORK_CAP || is_beyond(coef)) {
		work_fail(work, is_beyond(coef) ? LIMIT_NUMBER : LIMIT_TERMS);
	} else {
		work_reserve(work, work->n + 1);
		at = &work->at[place];
		memmove(at + 1, at, (work->n++ - place) * sizeof *at);
		*at = (Term){coef, mono, 0};
	}
}

/* Adds terms that stand in order, from the last to the first, in the room behind the work's own. */
static void merge(const Sizes *sizes, Work *work, const Term *terms, uint32_t n)
{
	uint32_t own = work->n, end = own + n, to = end;
	if (end > WORK_CAP) {
		work_fail(work, LIMIT_TERMS);
		return;
	}
	work_reserve(work, end);
	while (n > 0) {
		int order = own ? compare_monos(sizes, work->at[own - 1].mono, terms[n - 1].mono)
				: -1;
		if (order > 0) {
			work->at[--to] = work->at[--own];
			continue;
		}
		Term term = terms[--n];
		if (order == 0 && own)
			term.coef += work->at[--own].coef; /* each at most 2^62 */
		if (is_beyond(term.coef))
			work_fail(work, LIMIT_NUMBER);
		if (term.coef)
			work->at[--to] = term;
	}
	memmove(&work->at[own], &work->at[to], (end - to) * sizeof *work->at);
	work->n = own + (end - to);
}

/* Adds the terms, which stand in order: one by one where that moves less. */
static void work_add_terms(const Sizes *sizes, Work *work, const Work *terms)
{
	if (terms->bad && !work->bad)
		work_fail(work, terms->limit);
	if (work->bad)
		return;
	if (terms->n > MERGED_TERMS)
		merge(sizes, work, terms->at, terms->n);
	else
		for (uint32_t i = 0; i < terms->n; i++)
			work_add(sizes, work, terms->at[i].coef, terms->at[i].mono);
}

/* terms = factor * a; mono is that of the factor, or that of 1 */
static void scale_terms(const Sizes *sizes, Work *terms, Size a, int64_t factor)
{
	const Poly *poly = poly_at(sizes, a);
	if (size_is_bad(a))
		work_fail(terms, LIMIT_EARLIER);
	work_reserve(terms, poly->n);
	for (uint32_t i = 0; i < poly->n && factor && !terms->bad; i++) {
		Term term = poly->terms[i];
		if (__builtin_mul_overflow(term.coef, factor, &term.coef) || is_beyond(term.coef))
			work_fail(terms, LIMIT_NUMBER);
		terms->at[terms->n++] = term;
	}
}

void work_add_size(Sizes *sizes, Work *work, Size a, Term factor)
{
	WORK(terms);
	scale_terms(sizes, &terms, a, factor.coef);
	for (uint32_t i = 0; i < terms.n && factor.mono && !terms.bad; i++) {
		terms.at[i].mono = mono_mul(sizes, terms.at[i].mono, factor.mono);
		if (terms.at[i].mono == UINT32_MAX)
			work_fail(&terms, LIMIT_DEGREE);
	}
	work_add_terms(sizes, work, &terms);
}

void work_set(const Sizes *sizes, Work *work, Size a)
{
	const Poly *poly = poly_at(sizes, a);
	if (size_is_bad(a))
		work_fail(work, LIMIT_EARLIER);
	work_reserve(work, poly->n);
	work->n = poly->n;
	if (poly->n)
		memcpy(work->at, poly->terms, poly->n * sizeof *work->at);
}

void work_add_scaled(const Sizes *sizes, Work *work, Size a, int64_t factor)
{
	WORK(terms);
	scale_terms(sizes, &terms, a, factor);
	work_add_terms(sizes, work, &terms);
}

Size work_intern(Sizes *sizes, Work *work)
{
	for (uint32_t i = 0; i < work->n && !work->bad; i++)
		if (mono_at(sizes, work->at[i].mono)->quotient)
			return work_intern_over(sizes, work, 1);
	return work->bad ? size_beyond(sizes, work->limit)
			 : size_intern(sizes, work->at, work->n);
}

Size size_const(Sizes *sizes, int64_t value)
{
	Term term = {value, 0, 0};
	if (is_beyond(value))
		return size_beyond(sizes, LIMIT_NUMBER);
	if (value < 0 || value >= FEW_CONSTANTS)
		return size_intern(sizes, &term, 1);
	if (size_is_bad(sizes->constants[value]))
		sizes->constants[value] = size_intern(sizes, &term, value != 0);
	return sizes->constants[value];
}

Size size_dim(Sizes *sizes, DimId dim)
{
	Term term = {1, 0, 0};
	if (dim >= sizes->dims.n)
		return SIZE_BAD;
	term.mono = mono_of_dim(sizes, dim);
	return size_intern(sizes, &term, 1);
}

Size size_add_scaled(Sizes *sizes, Size a, Size b, int64_t factor)
{
	int64_t x, y;
	if (size_is_const(sizes, a, &x) && size_is_const(sizes, b, &y))
		if (!__builtin_mul_overflow(y, factor, &y) && !__builtin_add_overflow(x, y, &x))
			return size_const(sizes, x);
	WORK(work);
	work_set(sizes, &work, a);
	work_add_scaled(sizes, &work, b, factor);
	return work_intern(sizes, &work);
}

Size size_add(Sizes *sizes, Size a, Size b) { return size_add_scaled(sizes, a, b, 1); }

Size size_total(Sizes *sizes, Size before, Size added)
{
	uint32_t known = (uint32_t)sizes->polys.n;
	Size total = size_add(sizes, before, added);
	if (total.id >= known && poly_at(sizes, total)->n > LONG_TOTAL) {
		sizes->polys.at[total.id].before = before;
		sizes->polys.at[total.id].added = added;
	}
	return total;
}

Size size_sub(Sizes *sizes, Size a, Size b) { return size_add_scaled(sizes, a, b, -1); }

Size size_plus(Sizes *sizes, Size a, int64_t value)
{
	return size_add_scaled(sizes, a, size_const(sizes, value), 1);
}

Size size_scale(Sizes *sizes, Size a, int64_t factor)
{
	return size_is_bad(a) ? SIZE_BAD : size_add_scaled(sizes, size_const(sizes, 0), a, factor);
}

Size size_mul(Sizes *sizes, Size a, Size b)
{
	int64_t x, y;
	if (size_is_const(sizes, a, &x) && size_is_const(sizes, b, &y))
		return __builtin_mul_overflow(x, y, &x) ? size_beyond(sizes, LIMIT_NUMBER)
							: size_const(sizes, x);
	if (size_is_bad(a) || size_is_bad(b))
		return SIZE_BAD;
	bool shorter = poly_at(sizes, a)->n < poly_at(sizes, b)->n;
	Poly by = *poly_at(sizes, shorter ? a : b);
	WORK(work);
	for (uint32_t i = 0; i < by.n && !work.bad; i++)
		work_add_size(sizes, &work, shorter ? b : a, by.terms[i]);
	return work_intern(sizes, &work);
}
