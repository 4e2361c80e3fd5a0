/* Sums and products of sizes: the interning tables, the order of terms, and polynomial
 * arithmetic. See base/size_poly.h for the representation. */
#include "base/size.h"

#include <string.h>
#include <xxhash.h>

#include "base/size_poly.h"

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
	if (n > TERM_CAP || poly.weight > WEIGHT_CAP || poly.depth > DEPTH_CAP)
		return SIZE_BAD;
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
	if (size_is_bad(num) || size_is_bad(den) || atom.weight > WEIGHT_CAP ||
	    atom.depth > DEPTH_CAP)
		return SIZE_BAD;
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

void work_add(const Sizes *sizes, Work *work, int64_t coef, uint32_t mono)
{
	uint32_t low = 0, high = work->n;
	work->bad |= mono == UINT32_MAX;
	if (coef == 0 || work->bad)
		return;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (compare_monos(sizes, work->at[mid].mono, mono) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	Term *at = &work->at[low];
	if (low < work->n && at->mono == mono) {
		work->bad = __builtin_add_overflow(at->coef, coef, &at->coef) ||
			    at->coef > COEF_CAP || at->coef < -COEF_CAP;
		if (at->coef == 0)
			memmove(at, at + 1, (--work->n - low) * sizeof *at);
	} else if (work->n == WORK_CAP || coef > COEF_CAP || coef < -COEF_CAP) {
		work->bad = true;
	} else {
		memmove(at + 1, at, (work->n++ - low) * sizeof *at);
		*at = (Term){coef, mono, 0};
	}
}

void work_add_size(Sizes *sizes, Work *work, Size a, Term factor)
{
	Poly poly = *poly_at(sizes, a);
	work->bad |= size_is_bad(a);
	for (uint32_t i = 0; i < poly.n && !work->bad; i++) {
		int64_t coef;
		if (__builtin_mul_overflow(poly.terms[i].coef, factor.coef, &coef))
			work->bad = true;
		else
			work_add(sizes, work, coef,
				 mono_mul(sizes, poly.terms[i].mono, factor.mono));
	}
}

void work_add_scaled(const Sizes *sizes, Work *work, Size a, int64_t factor)
{
	const Poly *poly = poly_at(sizes, a);
	work->bad |= size_is_bad(a);
	for (uint32_t i = 0; i < poly->n && !work->bad; i++) {
		int64_t coef;
		if (__builtin_mul_overflow(poly->terms[i].coef, factor, &coef))
			work->bad = true;
		else
			work_add(sizes, work, coef, poly->terms[i].mono);
	}
}

Size work_intern(Sizes *sizes, Work *work)
{
	for (uint32_t i = 0; i < work->n && !work->bad; i++)
		if (mono_at(sizes, work->at[i].mono)->depth > 0)
			return work_intern_over(sizes, work, 1);
	return work->bad ? SIZE_BAD : size_intern(sizes, work->at, work->n);
}

Size size_const(Sizes *sizes, int64_t value)
{
	Term term = {value, 0, 0};
	if (value > COEF_CAP || value < -COEF_CAP)
		return SIZE_BAD;
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

/* a + factor * b */
static Size combine(Sizes *sizes, Size a, Size b, int64_t factor)
{
	Work work;
	int64_t x, y;
	if (size_is_const(sizes, a, &x) && size_is_const(sizes, b, &y))
		if (!__builtin_mul_overflow(y, factor, &y) && !__builtin_add_overflow(x, y, &x))
			return size_const(sizes, x);
	work_clear(&work);
	work_add_scaled(sizes, &work, a, 1);
	work_add_scaled(sizes, &work, b, factor);
	return work_intern(sizes, &work);
}

Size size_add(Sizes *sizes, Size a, Size b)
{
	return combine(sizes, a, b, 1);
}

Size size_sub(Sizes *sizes, Size a, Size b)
{
	return combine(sizes, a, b, -1);
}

Size size_plus(Sizes *sizes, Size a, int64_t value)
{
	return combine(sizes, a, size_const(sizes, value), 1);
}

Size size_scale(Sizes *sizes, Size a, int64_t factor)
{
	return size_is_bad(a) ? SIZE_BAD : combine(sizes, size_const(sizes, 0), a, factor);
}

Size size_mul(Sizes *sizes, Size a, Size b)
{
	Work work;
	Poly poly = *poly_at(sizes, b);
	int64_t x, y;
	if (size_is_const(sizes, a, &x) && size_is_const(sizes, b, &y))
		return __builtin_mul_overflow(x, y, &x) ? SIZE_BAD : size_const(sizes, x);
	work_clear(&work);
	work.bad = size_is_bad(a) || size_is_bad(b);
	for (uint32_t i = 0; i < poly.n && !work.bad; i++)
		work_add_size(sizes, &work, a, poly.terms[i]);
	return work_intern(sizes, &work);
}
