/* Does an operation write every element of its result, and each once?
 *
 * An index sum(coef * iter) determines its iterators when the coefficients are a mixed radix: taken
 * in ascending order, each is greater than the most that those before it reach together. Iterators
 * that one axis determines are constants to the others, until nothing more is found (pinning). Two
 * that are left alone on an axis are told apart by their greatest common divisor g: a*x = b*y needs
 * b/g steps of x.
 *
 * Pieces write different elements where their intervals on some axis are apart; sorted as
 * concatenations make them, it is enough to compare neighbours. Every element is written when as many
 * are written as there are. Where these arguments fail and all extents are small constants, the
 * elements are counted one by one.
 *
 * A claim that is made holds for all admissible sizes; what is not known is not claimed.
 */
#include "base/held.h"
#include "base/integer.h"
#include "base/size_order.h"
#include "infer/project.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_LIMIT = 4096 };

typedef struct Facts {
	Sizes *sizes;
	const Shape *shape;
	const Proj *proj;
} Facts;

static Size extent(const Facts *f, IterId i) { return f->proj->iters[i].extent; }

static bool at_most(const Facts *f, Size a, int64_t b)
{
	return size_ge(f->sizes, size_const(f->sizes, b), a);
}

/* ---- one piece ---- */

static int by_coef(const void *a, const void *b)
{
	int64_t x = ((const IndexTerm *)a)->coef, y = ((const IndexTerm *)b)->coef;
	return (x > y) - (x < y);
}

/* The terms whose iterators are not pinned and run more than once, by ascending coefficient. */
static uint32_t open_terms(const Facts *f, const Index *index, const bool *pinned, IndexTerm *terms)
{
	uint32_t n = 0;
	for (uint32_t t = 0; t < index->nterms; t++)
		if (!pinned[index->terms[t].iter] &&
		    !at_most(f, extent(f, index->terms[t].iter), 1))
			terms[n++] = index->terms[t];
	qsort(terms, n, sizeof *terms, by_coef);
	return n;
}

static bool is_mixed_radix(const Facts *f, const IndexTerm *terms, uint32_t n)
{
	Size reach = size_const(f->sizes, 0);
	for (uint32_t t = 0; t < n; t++) {
		if (!size_ge(f->sizes, size_const(f->sizes, terms[t].coef - 1), reach))
			return false;
		Size last = size_plus(f->sizes, extent(f, terms[t].iter), -1);
		reach = size_add(f->sizes, reach, size_scale(f->sizes, last, terms[t].coef));
	}
	return true;
}

static bool is_coprime_pair(const Facts *f, const IndexTerm *terms, uint32_t n)
{
	if (n != 2)
		return false;
	int64_t g = greatest_divisor(terms[0].coef, terms[1].coef);
	return at_most(f, extent(f, terms[0].iter), terms[1].coef / g) ||
	       at_most(f, extent(f, terms[1].iter), terms[0].coef / g);
}

static bool pin_axis(const Facts *f, const Index *index, bool *pinned)
{
	IndexTerm terms[2];
	if (index->gather >= 0)
		return false;
	REQUIRE(index->nterms <= 2);
	uint32_t n = open_terms(f, index, pinned, terms);
	if (n > 0 && !is_mixed_radix(f, terms, n) && !is_coprime_pair(f, terms, n))
		return false;
	bool progress = false;
	for (uint32_t t = 0; t < index->nterms; t++) {
		progress |= !pinned[index->terms[t].iter];
		pinned[index->terms[t].iter] = true;
	}
	return progress;
}

/* Do different values of the iterators that the result mentions give different elements? */
static bool piece_is_injective(const Facts *f, const Piece *piece, bool *pinned)
{
	memset(pinned, 0, f->proj->niters * sizeof *pinned);
	for (bool progress = true; progress;) { /* falls: iterators not pinned */
		progress = false;
		for (uint32_t a = 0; a < piece->result.naxes; a++)
			progress |= pin_axis(f, &piece->result.axes[a], pinned);
	}
	for (uint32_t i = 0; i < piece->niters; i++)
		if (!f->proj->iters[piece->iters[i]].reduced && !pinned[piece->iters[i]])
			return false;
	return true;
}

/* ---- several pieces ---- */

/* The elements of an axis that a piece may write: [lo, hi). */
typedef struct Interval {
	Size lo, hi;
} Interval;

static Interval interval_of(const Facts *f, const Index *index)
{
	Interval interval = {index->offset, index->offset};
	for (uint32_t t = 0; t < index->nterms; t++) {
		Size last = size_plus(f->sizes, extent(f, index->terms[t].iter), -1);
		interval.hi = size_add(f->sizes, interval.hi,
				       size_scale(f->sizes, last, index->terms[t].coef));
	}
	interval.hi = size_plus(f->sizes, interval.hi, 1);
	return interval;
}

/* Are the pieces [from, to) apart, looking at the axes from `axis` on? Along the axis they must
 * come in runs of the same interval, each run behind the one before it. */
static bool are_apart(const Facts *f, uint32_t from, uint32_t to, uint32_t axis)
{
	if (to - from <= 1)
		return true;
	const Piece *pieces = f->proj->pieces;
	if (axis == pieces[from].result.naxes)
		return false;
	uint32_t start = from;
	for (uint32_t i = from + 1; i <= to; i++) {
		Interval a = interval_of(f, &pieces[i - 1].result.axes[axis]);
		Interval b = i < to ? interval_of(f, &pieces[i].result.axes[axis]) : a;
		if (i < to && size_same(a.lo, b.lo) && size_same(a.hi, b.hi))
			continue;
		if ((i < to && !size_ge(f->sizes, b.lo, a.hi)) || !are_apart(f, start, i, axis + 1))
			return false;
		start = i;
	}
	return true;
}

static Size elements_written(const Facts *f)
{
	Size total = size_const(f->sizes, 0);
	for (uint32_t i = 0; i < f->proj->npieces; i++) {
		const Piece *piece = &f->proj->pieces[i];
		Size elements = size_const(f->sizes, 1);
		for (uint32_t k = 0; k < piece->niters; k++)
			if (!f->proj->iters[piece->iters[k]].reduced)
				elements = size_mul(f->sizes, elements, extent(f, piece->iters[k]));
		total = size_add(f->sizes, total, elements);
	}
	return total;
}

/* ---- overlapping writes that still reach every element ---- */

/* Does the axis alone take every value of [0, size)? */
static bool axis_is_covered(const Facts *f, const Index *index, Size size)
{
	if (index->gather >= 0 || index->guarded || !size_is(f->sizes, index->offset, 0))
		return false;
	if (index->nterms == 1 && index->terms[0].coef == 1)
		return size_same(extent(f, index->terms[0].iter), size);
	IndexTerm terms[2];
	for (uint32_t t = 0; t < index->nterms; t++)
		terms[t] = index->terms[t];
	qsort(terms, index->nterms, sizeof *terms, by_coef);
	Size reach = size_const(f->sizes, 0);
	for (uint32_t t = 0; t < index->nterms; t++) {
		Size last = size_plus(f->sizes, extent(f, terms[t].iter), -1);
		if (!size_ge(f->sizes, last, size_const(f->sizes, 0)) ||
		    !size_ge(f->sizes, size_plus(f->sizes, reach, 1),
			     size_const(f->sizes, terms[t].coef)))
			return false;
		reach = size_add(f->sizes, reach, size_scale(f->sizes, last, terms[t].coef));
	}
	return size_same(size_plus(f->sizes, reach, 1), size);
}

/* Every axis is covered, by iterators of its own. */
static bool piece_covers(const Facts *f, const Piece *piece, bool *taken)
{
	memset(taken, 0, f->proj->niters * sizeof *taken);
	for (uint32_t a = 0; a < piece->result.naxes; a++) {
		const Index *index = &piece->result.axes[a];
		if (!axis_is_covered(f, index, shape_axis(f->shape, a)->size))
			return false;
		for (uint32_t t = 0; t < index->nterms; t++) {
			if (taken[index->terms[t].iter])
				return false;
			taken[index->terms[t].iter] = true;
		}
	}
	return true;
}

/* ---- counting element by element ---- */

typedef struct Count {
	bool known, injective, surjective;
} Count;

typedef struct Walk {
	const Facts *f;
	const Piece *piece;
	int64_t *values; /* by iterator */
	uint8_t *elements;   /* how often each element of the result is written, at most 2 */
	bool twice, unknown; /* an element is written twice; one depends on dims */
} Walk;

static bool small_points(const Facts *f, const Piece *piece, int64_t *points)
{
	*points = 1;
	for (uint32_t i = 0; i < piece->niters; i++) {
		int64_t n;
		if (f->proj->iters[piece->iters[i]].reduced)
			continue;
		if (!size_is_const(f->sizes, extent(f, piece->iters[i]), &n) || n > COUNT_LIMIT)
			return false;
		*points *= n;
		if (*points > COUNT_LIMIT)
			return false;
	}
	return true;
}

/* The element of the current values; -1: outside (a guarded write that is skipped). */
static int64_t element_of(Walk *w)
{
	int64_t element = 0;
	for (uint32_t a = 0; a < w->piece->result.naxes; a++) {
		const Index *index = &w->piece->result.axes[a];
		int64_t at, size;
		if (!size_is_const(w->f->sizes, index->offset, &at) ||
		    !size_is_const(w->f->sizes, shape_axis(w->f->shape, a)->size, &size)) {
			w->unknown = true;
			return -1;
		}
		for (uint32_t t = 0; t < index->nterms; t++)
			at += index->terms[t].coef * w->values[index->terms[t].iter];
		if (at < 0 || at >= size)
			return -1;
		element = element * size + at;
	}
	return element;
}

static void walk_piece(Walk *w, int64_t points)
{
	for (int64_t point = 0; point < points; point++) {
		int64_t rest = point;
		for (uint32_t i = w->piece->niters; i-- > 0;) {
			IterId iter = w->piece->iters[i];
			int64_t n = 1;
			if (!w->f->proj->iters[iter].reduced)
				size_is_const(w->f->sizes, extent(w->f, iter), &n);
			w->values[iter] = rest % n;
			rest /= n;
		}
		int64_t element = element_of(w);
		if (element < 0)
			continue;
		w->twice |= w->elements[element] > 0;
		w->elements[element] = 1;
	}
}

static Count count_elements(const Facts *f)
{
	int64_t elements, counted = 0, points;
	Size all = shape_elements(f->sizes, f->shape);
	if (!size_is_const(f->sizes, all, &elements) || elements > COUNT_LIMIT)
		return (Count){0};
	for (uint32_t i = 0; i < f->proj->npieces; i++) {
		if (!small_points(f, &f->proj->pieces[i], &points) ||
		    (counted += points) > COUNT_LIMIT)
			return (Count){0};
	}
	Walk w = {.f = f,
		  .values = held_alloc(f->proj->niters + 1, sizeof *w.values),
		  .elements = held_alloc((size_t)elements + 1, 1)};
	for (uint32_t i = 0; w.values && w.elements && i < f->proj->npieces; i++) {
		w.piece = &f->proj->pieces[i];
		small_points(f, w.piece, &points);
		walk_piece(&w, points);
	}
	Count count = {.known = w.values && w.elements && !w.unknown,
		       .injective = !w.twice,
		       .surjective = true};
	for (int64_t c = 0; w.elements && c < elements; c++)
		count.surjective &= w.elements[c] > 0;
	held_free(w.values);
	held_free(w.elements);
	return count;
}

/* ---- the claims ---- */

/* Where an index of the result is read, nothing is known of the elements. */
static bool any_gather(const Access *access)
{
	for (uint32_t a = 0; access->present && a < access->naxes; a++)
		if (access->axes[a].gather >= 0)
			return true;
	return false;
}

static bool any_guard(const Access *access)
{
	for (uint32_t a = 0; access->present && a < access->naxes; a++)
		if (access->axes[a].guarded)
			return true;
	return false;
}

static bool writes_each_once(const Facts *f, bool *scratch)
{
	for (uint32_t i = 0; i < f->proj->npieces; i++)
		if (!piece_is_injective(f, &f->proj->pieces[i], scratch))
			return false;
	return are_apart(f, 0, f->proj->npieces, 0);
}

void project_facts(Sizes *sizes, const Shape *result, Proj *proj)
{
	Facts f = {.sizes = sizes, .shape = result, .proj = proj};
	bool *scratch = held_alloc(proj->niters + 1, sizeof *scratch);
	REQUIRE(scratch);
	bool reduced = false, skips_reads = false, skips_writes = false, scatters = false;
	for (uint32_t i = 0; i < proj->niters; i++)
		reduced |= proj->iters[i].reduced;
	for (uint32_t i = 0; i < proj->npieces; i++) {
		skips_writes |= any_guard(&proj->pieces[i].result);
		scatters |= any_gather(&proj->pieces[i].result);
		for (uint32_t arg = 0; arg < proj->nargs; arg++)
			skips_reads |= any_guard(&proj->pieces[i].args[arg]);
	}
	bool once = writes_each_once(&f, scratch);
	bool all = once && !skips_writes &&
		   size_same(elements_written(&f), shape_elements(sizes, result));
	all = all || (proj->npieces == 1 && piece_covers(&f, &proj->pieces[0], scratch));
	once &= !scatters;
	all &= !scatters;
	if (!scatters && (!once || !all)) {
		Count count = count_elements(&f);
		once |= count.known && count.injective;
		all |= count.known && count.surjective;
	}
	proj->injective = once && !reduced;
	proj->surjective = all;
	proj->clear = !proj->injective || !proj->surjective || skips_reads || skips_writes;
	held_free(scratch);
}
