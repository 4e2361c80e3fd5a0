/* Each element of the result is written exactly once, or accumulated after one clearing.
 *
 * The claims of a projection are proved again, from the other end than they were made: an index is
 * decoded like a number, its greatest coefficient first; what a digit leaves must fit below the
 * next one. Where that fails and all extents are small constants, every point is run and every element
 * counted.
 */
#include "base/size_order.h"
#include "infer/check.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_LIMIT = 4096 };

static Size extent_of(const Checker *c, IterId iter) { return c->proj->iters[iter].extent; }

/* ---- decoding ---- */

/* The unknown term of an index with the greatest coefficient below `below`; -1: none. */
static int64_t greatest_term(const Index *index, const bool *known, int64_t below)
{
	int64_t best = -1;
	for (uint32_t t = 0; t < index->nterms; t++)
		if (!known[index->terms[t].iter] && index->terms[t].coef < below &&
		    (best < 0 || index->terms[t].coef > index->terms[best].coef))
			best = t;
	return best;
}

/* What the unknown terms with coefficients below `below` reach together. */
static Size reach_below(const Checker *c, const Index *index, const bool *known, int64_t below)
{
	Size reach = size_const(c->sizes, 0);
	for (uint32_t t = 0; t < index->nterms; t++) {
		IterId iter = index->terms[t].iter;
		if (known[iter] || index->terms[t].coef >= below)
			continue;
		Size last = size_plus(c->sizes, extent_of(c, iter), -1);
		reach = size_add(c->sizes, reach, size_scale(c->sizes, last, index->terms[t].coef));
	}
	return reach;
}

static uint32_t count_unknown(const Index *index, const bool *known, int64_t *greatest)
{
	uint32_t n = 0;
	*greatest = 0;
	for (uint32_t t = 0; t < index->nterms; t++)
		if (!known[index->terms[t].iter]) {
			n++;
			if (index->terms[t].coef > *greatest)
				*greatest = index->terms[t].coef;
		}
	return n;
}

static bool decodes_digits(const Checker *c, const Index *index, const bool *known)
{
	int64_t below = INT64_MAX, at;
	/* falls: coefficients below `below`; unknown iterators */
	while ((at = greatest_term(index, known, below)) >= 0) {
		int64_t coef = index->terms[at].coef;
		uint32_t equals = 0;
		for (uint32_t t = 0; t < index->nterms; t++)
			equals += !known[index->terms[t].iter] && index->terms[t].coef == coef;
		if (coef <= 0 || equals > 1)
			return false;
		if (!size_ge(c->sizes, size_const(c->sizes, coef - 1),
			     reach_below(c, index, known, coef)))
			return false;
		below = coef;
	}
	return true;
}

/* Two terms a*x + b*y repeat a value only after b/g steps of x and a/g steps of y. */
static bool decodes_pair(const Checker *c, const Index *index, const bool *known)
{
	IndexTerm pair[2];
	uint32_t n = 0;
	for (uint32_t t = 0; t < index->nterms; t++)
		if (!known[index->terms[t].iter]) {
			if (n == 2)
				return false;
			pair[n++] = index->terms[t];
		}
	if (n != 2 || pair[0].coef <= 0 || pair[1].coef <= 0)
		return false;
	int64_t g = pair[0].coef, r = pair[1].coef;
	while (r) { /* falls: r */
		int64_t rest = g % r;
		g = r;
		r = rest;
	}
	return size_ge(c->sizes, size_const(c->sizes, pair[1].coef / g),
		       extent_of(c, pair[0].iter)) ||
	       size_ge(c->sizes, size_const(c->sizes, pair[0].coef / g),
		       extent_of(c, pair[1].iter));
}

static bool decode_axis(const Checker *c, const Index *index, bool *known)
{
	int64_t greatest;
	if (count_unknown(index, known, &greatest) == 0)
		return false;
	if (!decodes_digits(c, index, known) && !decodes_pair(c, index, known))
		return false;
	for (uint32_t t = 0; t < index->nterms; t++)
		known[index->terms[t].iter] = true;
	return true;
}

/* Can the values of the result's iterators be read off the element that they write? */
static bool decodes(const Checker *c, const Piece *piece)
{
	bool *known = ARENA_ARRAY(c->arena, bool, c->proj->niters);
	for (uint32_t i = 0; i < piece->niters; i++)
		known[piece->iters[i]] = size_is(c->sizes, extent_of(c, piece->iters[i]), 1) ||
					 size_is(c->sizes, extent_of(c, piece->iters[i]), 0);
	for (bool progress = true; progress;) { /* falls: unknown iterators */
		progress = false;
		for (uint32_t a = 0; a < piece->result.naxes; a++)
			progress |= decode_axis(c, &piece->result.axes[a], known);
	}
	for (uint32_t i = 0; i < piece->niters; i++)
		if (!c->proj->iters[piece->iters[i]].reduced && !known[piece->iters[i]])
			return false;
	return true;
}

/* ---- pieces apart ---- */

static Size least_of(const Index *index) { return index->offset; }

static Size end_of(const Checker *c, const Index *index)
{
	Size end = size_plus(c->sizes, index->offset, 1);
	for (uint32_t t = 0; t < index->nterms; t++) {
		Size last = size_plus(c->sizes, extent_of(c, index->terms[t].iter), -1);
		end = size_add(c->sizes, end, size_scale(c->sizes, last, index->terms[t].coef));
	}
	return end;
}

/* On the first axis where two neighbours differ, the second starts where the first has ended. */
static bool follows(Checker *c, const Piece *a, const Piece *b)
{
	for (uint32_t i = 0; i < a->result.naxes; i++) {
		const Index *x = &a->result.axes[i], *y = &b->result.axes[i];
		if (size_same(least_of(x), least_of(y)) && size_same(end_of(c, x), end_of(c, y)))
			continue;
		return size_ge(c->sizes, least_of(y), end_of(c, x)) &&
		       holds_ge(c, end_of(c, y), least_of(y));
	}
	return false;
}

/* On some axis both go in one stride, from places that no number of such steps joins. */
static bool interleave(const Checker *c, const Piece *a, const Piece *b)
{
	for (uint32_t i = 0; i < a->result.naxes; i++) {
		const Index *x = &a->result.axes[i], *y = &b->result.axes[i];
		int64_t between;
		if (x->nterms == 1 && y->nterms == 1 && x->terms[0].coef == y->terms[0].coef &&
		    size_is_const(c->sizes, size_sub(c->sizes, x->offset, y->offset), &between) &&
		    between % x->terms[0].coef != 0)
			return true;
	}
	return false;
}

static bool all_interleave(const Checker *c)
{
	for (uint32_t i = 0; i < c->proj->npieces; i++)
		for (uint32_t k = 0; k < i; k++)
			if (!interleave(c, &c->proj->pieces[i], &c->proj->pieces[k]))
				return false;
	return true;
}

static bool pieces_are_apart(Checker *c)
{
	for (uint32_t i = 1; i < c->proj->npieces; i++)
		if (!follows(c, &c->proj->pieces[i - 1], &c->proj->pieces[i]))
			return all_interleave(c);
	return true;
}

/* ---- running every point ---- */

typedef struct Run {
	const Checker *c;
	const Shape *shape;
	int64_t *extents, *values; /* by iterator; an extent of 1 where it is reduced */
	uint8_t *count;		   /* by element: 0, 1, or 2 for more */
	int64_t nelements;
} Run;

static bool run_prepare(Run *r)
{
	const Checker *c = r->c;
	int64_t points = 0;
	Size all = shape_elements(c->sizes, r->shape);
	if (!size_is_const(c->sizes, all, &r->nelements) || r->nelements > RUN_LIMIT)
		return false;
	r->extents = ARENA_ARRAY(c->arena, int64_t, c->proj->niters);
	r->values = ARENA_ARRAY(c->arena, int64_t, c->proj->niters);
	for (IterId i = 0; i < c->proj->niters; i++) {
		r->extents[i] = 1;
		if (!c->proj->iters[i].reduced &&
		    (!size_is_const(c->sizes, extent_of(c, i), &r->extents[i]) ||
		     r->extents[i] > RUN_LIMIT))
			return false;
	}
	for (uint32_t i = 0; i < c->proj->npieces && points <= RUN_LIMIT; i++) {
		int64_t n = 1;
		for (uint32_t k = 0; k < c->proj->pieces[i].niters && n <= RUN_LIMIT; k++)
			n *= r->extents[c->proj->pieces[i].iters[k]];
		points += n;
	}
	r->count = ARENA_ARRAY(c->arena, uint8_t, (size_t)r->nelements);
	return points <= RUN_LIMIT;
}

static void run_point(Run *r, const Piece *piece)
{
	int64_t element = 0;
	for (uint32_t a = 0; a < piece->result.naxes; a++) {
		const Index *index = &piece->result.axes[a];
		int64_t at = 0, size = 0;
		size_is_const(r->c->sizes, index->offset, &at);
		size_is_const(r->c->sizes, shape_axis(r->shape, a)->size, &size);
		for (uint32_t t = 0; t < index->nterms; t++)
			at += index->terms[t].coef * r->values[index->terms[t].iter];
		if (at < 0 || at >= size)
			return;
		element = element * size + at;
	}
	r->count[element] += r->count[element] < 2;
}

static bool run_step(Run *r, const Piece *piece)
{
	for (uint32_t k = piece->niters; k-- > 0;) {
		if (++r->values[piece->iters[k]] < r->extents[piece->iters[k]])
			return true;
		r->values[piece->iters[k]] = 0;
	}
	return false;
}

static void run_piece(Run *r, const Piece *piece)
{
	for (uint32_t k = 0; k < piece->niters; k++) {
		r->values[piece->iters[k]] = 0;
		if (r->extents[piece->iters[k]] < 1)
			return;
	}
	do
		run_point(r, piece);
	while (run_step(r, piece)); /* falls: points of the piece not seen yet */
}

/* What was seen: false where the extents are not small constants. */
static bool run_all(Checker *c, bool *once, bool *all)
{
	Run r = {.c = c, .shape = &c->inference->shapes[c->id]};
	*once = *all = true;
	if (!run_prepare(&r))
		return *once = *all = false;
	for (uint32_t i = 0; i < c->proj->npieces; i++)
		run_piece(&r, &c->proj->pieces[i]);
	for (int64_t element = 0; element < r.nelements; element++) {
		*once &= r.count[element] < 2;
		*all &= r.count[element] > 0;
	}
	return true;
}

/* ---- coverage ---- */

static Size count_written(const Checker *c)
{
	Size total = size_const(c->sizes, 0);
	for (uint32_t i = 0; i < c->proj->npieces; i++) {
		Size points = size_const(c->sizes, 1);
		for (uint32_t k = 0; k < c->proj->pieces[i].niters; k++) {
			IterId iter = c->proj->pieces[i].iters[k];
			if (!c->proj->iters[iter].reduced)
				points = size_mul(c->sizes, points, extent_of(c, iter));
		}
		total = size_add(c->sizes, total, points);
	}
	return total;
}

/* Each term fills the gaps that a greater one leaves, so that every index up to the last is taken.
 */
static bool fills_axis(const Checker *c, const Index *index, Size size)
{
	bool *known = ARENA_ARRAY(c->arena, bool, c->proj->niters);
	int64_t below = INT64_MAX, at;
	if (!size_is(c->sizes, index->offset, 0) || !size_same(end_of(c, index), size))
		return false;
	if (index->nterms == 1)
		return index->terms[0].coef == 1;
	/* falls: coefficients below `below`; unknown iterators */
	while ((at = greatest_term(index, known, below)) >= 0) {
		const IndexTerm *term = &index->terms[at];
		if (!size_ge(c->sizes, extent_of(c, term->iter), size_const(c->sizes, 1)))
			return false;
		known[term->iter] = true;
		Size gap = size_const(c->sizes, term->coef - 1);
		if (term->coef < 1 ||
		    !size_ge(c->sizes, reach_below(c, index, known, INT64_MAX), gap))
			return false;
	}
	return true;
}

static bool fills_axes(const Checker *c)
{
	if (c->proj->npieces != 1)
		return false;
	const Access *result = &c->proj->pieces[0].result;
	bool *taken = ARENA_ARRAY(c->arena, bool, c->proj->niters);
	for (uint32_t a = 0; a < result->naxes; a++) {
		if (!fills_axis(c, &result->axes[a], c->result.axes[a].axis->size))
			return false;
		for (uint32_t t = 0; t < result->axes[a].nterms; t++) {
			if (taken[result->axes[a].terms[t].iter])
				return false;
			taken[result->axes[a].terms[t].iter] = true;
		}
	}
	return true;
}

/* ---- the claims ---- */

static bool has_guard(const Access *access)
{
	for (uint32_t a = 0; access->present && a < access->naxes; a++)
		if (access->axes[a].guarded)
			return true;
	return false;
}

static bool is_scattered(const Checker *c)
{
	bool scattered = false;
	for (uint32_t i = 0; i < c->result.n; i++)
		scattered |= c->result.axes[i].kind == EXPECT_GATHER;
	return scattered;
}

static void find_guards(const Checker *c, bool *reads, bool *writes)
{
	*reads = *writes = false;
	for (uint32_t i = 0; i < c->proj->npieces; i++) {
		*writes |= has_guard(&c->proj->pieces[i].result);
		for (uint32_t arg = 0; arg < c->proj->nargs; arg++)
			*reads |= has_guard(&c->proj->pieces[i].args[arg]);
	}
}

static bool proves_once(Checker *c)
{
	for (uint32_t i = 0; i < c->proj->npieces; i++)
		if (!decodes(c, &c->proj->pieces[i]))
			return false;
	return pieces_are_apart(c);
}

bool check_writes(Checker *c)
{
	const Proj *proj = c->proj;
	bool skips_reads, skips_writes, ran_once = false, ran_all = false, ran = false;
	if (proj->linear)
		return (proj->injective && proj->surjective && !proj->clear) ||
		       check_fail(c, "a reshape writes every element once");
	find_guards(c, &skips_reads, &skips_writes);
	if (is_scattered(c) && (proj->injective || proj->surjective))
		return check_fail(c,
				  "what elements are written is read, and the projection says it");
	bool once = proves_once(c);
	bool all = !skips_writes &&
		   ((once && holds_equal(c, count_written(c),
					 shape_elements(c->sizes, &c->inference->shapes[c->id]))) ||
		    fills_axes(c));
	if ((proj->injective && !once) || (proj->surjective && !all))
		ran = run_all(c, &ran_once, &ran_all);
	if (proj->injective && !once && !(ran && ran_once))
		return check_fail(
			c, "two steps write one element, and the projection says that none do");
	if (proj->surjective && !all && !(ran && ran_all))
		return check_fail(
			c, "an element is never written, and the projection says that all are");
	bool reduces = false;
	for (uint32_t i = 0; i < proj->niters; i++)
		reduces |= proj->iters[i].reduced;
	if (reduces && proj->injective)
		return check_fail(
			c,
			"a reduction writes an element more than once, and the projection denies it");
	bool clear = !proj->injective || !proj->surjective || skips_reads || skips_writes;
	if (proj->clear != clear)
		return check_fail(c, clear ? "the result must be cleared first"
					   : "the result is cleared for nothing");
	return true;
}
