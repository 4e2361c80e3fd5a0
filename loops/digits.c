/* An index as digits of a number, each of a base of its own.
 *
 *   if i*4 + r < m && j*4 + c < n:  y[(i*4 + r)*n + j*4 + c]
 *
 * Terms coef * iterator are taken from the least coefficient on: where a coefficient is more than all terms
 * before it can sum up to, the index says the value of each iterator. Sums that a condition keeps below a size
 * are one digit, with that size as its base: their own terms are digits of them. Iterators of no term do not
 * matter here; a loop over one of them meets itself in an element.
 *
 * A term of which the atom is no iterator, such as an integer that is read, may be any multiple of its coefficient:
 *
 *   if f*4 + r < n:  y[x[c]*n + f*4 + r]
 *
 * The least coefficient of such terms divides the others, and is more than all digits that it does not divide can sum
 * up to: what is left when the index is divided by it says these digits, and nothing is said of the others. One that is
 * clamped between 0 and a size may be a digit instead.
 *
 * A loop around stands at one iteration and is no digit, or one all the same, which shows what follows from there
 * being an iteration: of y[i*n*16 + b*16 + j], where b is below n and j below 16, i*n*16 is more than the other
 * terms.
 */
#include "loops/digits.h"

#include "base/integer.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

/* A multiple of coef, from 0 to `most`. */
typedef struct Digit {
	Size coef, most; /* SIZE_BAD: anything */
	bool taken;
	bool sought; /* it says the iterator that is asked for */
} Digit;

typedef VEC(Digit) DigitList;

typedef struct Digits {
	Program *program;
	const Kernel *kernel;
	const ElementAccess *access;
	IterVar sought;
	Arena *arena;
	Linear index;
	bool *taken; /* by term of the index */
	DigitList list;
	bool clamped; /* are terms digits that are clamped between 0 and a size? */
	bool around;  /* are iterators of loops around, which are at one iteration, digits? */
	Size base; /* divides all terms whose atoms are no iterators; SIZE_BAD: there are none */
} Digits;

IterRange iter_range(Program *program, const Stmt *loop)
{
	Sizes *sizes = program->sizes;
	IterRange range = {.first = SIZE_BAD, .span = SIZE_BAD};
	Size end;
	range.known = ix_bounding_size(sizes, loop->lo, IX_MAX, &range.first) &&
		      ix_bounding_size(sizes, loop->hi, IX_MIN, &end) &&
		      (loop->step == 1 || loop->lo->kind == IX_SIZE);
	if (!range.known)
		return range;
	Size steps = size_ceil(sizes, size_sub(sizes, end, range.first), loop->step);
	range.span = size_scale(sizes, size_plus(sizes, steps, -1), loop->step);
	range.known = !size_is_bad(range.span);
	return range;
}

bool linear_is_below(Sizes *sizes, const IterRange *ranges, const Linear *linear, size_t but,
		     Size size)
{
	Size zero = size_const(sizes, 0), most = linear->offset;
	bool below = size_ge(sizes, most, zero);
	for (size_t i = 0; below && i < linear->terms.n; i++) {
		const LinearTerm *term = &linear->terms.at[i];
		if (i == but)
			continue;
		const IterRange *range =
			term->atom->kind == IX_ITER ? &ranges[term->atom->iter] : NULL;
		below = range && range->known && size_ge(sizes, range->first, zero) &&
			size_ge(sizes, term->coef, zero);
		if (below)
			most = size_add(sizes, most,
					size_mul(sizes, term->coef,
						 size_add(sizes, range->first, range->span)));
	}
	return below && size_ge(sizes, size, size_plus(sizes, most, 1));
}

static Digit *next_digit(const Program *program, const DigitList *list, Size above)
{
	Digit *best = NULL;
	for (size_t i = 0; i < list->n; i++) {
		Digit *digit = &list->at[i];
		if (!digit->taken && size_ge(program->sizes, digit->coef, above) &&
		    (!best || size_ge(program->sizes, best->coef, digit->coef)))
			best = digit;
	}
	return best;
}

static size_t count_left(const DigitList *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		n += !list->at[i].taken;
	return n;
}

/* Is each coefficient, and then the base where there is one, more than the digits below it can be? A digit that is
 * always 0 takes no room. */
static bool each_is_above(const Program *program, const DigitList *list, Size base)
{
	Sizes *sizes = program->sizes;
	Size most = size_const(sizes, 0);
	for (size_t i = 0; i < list->n; i++)
		list->at[i].taken |= size_is(sizes, list->at[i].most, 0);
	for (size_t left = count_left(list); left > 0; left--) {
		Digit *digit = next_digit(program, list, size_plus(sizes, most, 1));
		if (!digit)
			return false;
		digit->taken = true;
		most = size_is_bad(digit->most) ? SIZE_BAD : size_add(sizes, most, digit->most);
		if (size_is_bad(most) && left > 1)
			return false;
	}
	return size_is_bad(base) || size_ge(program->sizes, base, size_plus(sizes, most, 1));
}

static const LinearTerm *term_of(const Linear *linear, const Ix *atom)
{
	for (size_t i = 0; i < linear->terms.n; i++)
		if (ix_same(linear->terms.at[i].atom, atom))
			return &linear->terms.at[i];
	return NULL;
}

/* Is it made of loops around alone, which are at one iteration? */
static bool is_fixed(const Kernel *kernel, const Ix *atom, const IterRange *ranges)
{
	bool fixed = !atom->reads;
	for (IterVar i = 0; fixed && i < kernel->niters; i++)
		fixed = !ranges[i].open || !ix_uses(atom, i);
	return fixed;
}

/* The digit, or, of a coefficient below 0, what it is less than its most. */
static Digit mirrored(const Program *program, Digit digit)
{
	Sizes *sizes = program->sizes;
	if (!size_ge(sizes, size_const(sizes, 0), digit.coef))
		return digit;
	digit.coef = size_scale(sizes, digit.coef, -1);
	digit.most = size_scale(sizes, digit.most, -1);
	return digit;
}

static bool add_digit(Digits *d, DigitList *list, const LinearTerm *term)
{
	const IterRange *ranges = d->access->ranges;
	bool iter = term->atom->kind == IX_ITER;
	if (is_fixed(d->kernel, term->atom, ranges) &&
	    !(d->around && iter && ranges[term->atom->iter].known))
		return true;
	if (!iter)
		return false;
	const IterRange *range = &ranges[term->atom->iter];
	Size most = range->known ? size_mul(d->program->sizes, term->coef, range->span) : SIZE_BAD;
	bool sought = term->atom->iter == d->sought;
	Digit digit = {.coef = term->coef, .most = most, .sought = sought};
	PUSH(d->arena, *list, mirrored(d->program, digit));
	return !size_is_bad(term->coef);
}

/* Lets the base divide a term that may be any multiple of its coefficient. */
static bool add_to_base(Digits *d, Size coef)
{
	const Sizes *sizes = d->program->sizes;
	if (!size_is_bad(coef) && (size_is_bad(d->base) || size_divides(sizes, coef, d->base)))
		d->base = coef;
	return !size_is_bad(coef) && size_divides(sizes, d->base, coef);
}

bool ix_is_clamped(const Sizes *sizes, const Ix *ix, Size *most)
{
	const Ix *end = ix->kind == IX_MIN ? ix->b : NULL;
	const Ix *first = end && ix->a->kind == IX_MAX ? ix->a->b : NULL;
	if (!first || end->kind != IX_SIZE || first->kind != IX_SIZE ||
	    !size_is(sizes, first->size, 0))
		return false;
	*most = end->size;
	return true;
}

/* Adds a digit that is clamped between 0 and a size; false: it is not. */
static bool add_clamped(Digits *d, const LinearTerm *term)
{
	Sizes *sizes = d->program->sizes;
	Size most;
	if (!d->clamped || !ix_is_clamped(sizes, term->atom, &most) ||
	    !size_ge(d->program->sizes, most, size_const(sizes, 0)))
		return false;
	most = size_mul(sizes, term->coef, most);
	PUSH(d->arena, d->list, ((Digit){.coef = term->coef, .most = most}));
	return true;
}

static bool add_term(Digits *d, const LinearTerm *term)
{
	if (add_clamped(d, term))
		return true;
	if (term->atom->kind != IX_ITER && !is_fixed(d->kernel, term->atom, d->access->ranges))
		return add_to_base(d, term->coef);
	return add_digit(d, &d->list, term);
}

/* Leaves out the digits that are multiples of the base, of which nothing is said. */
static void leave_multiples(Digits *d)
{
	for (size_t i = 0; !size_is_bad(d->base) && i < d->list.n; i++)
		d->list.at[i].taken = size_divides(d->program->sizes, d->base, d->list.at[i].coef);
}

/* Does one of the digits that are left say the iterator? */
static bool is_said(const DigitList *list)
{
	bool said = false;
	for (size_t i = 0; i < list->n; i++)
		said |= list->at[i].sought && !list->at[i].taken;
	return said;
}

/* The factor with which the sum stands in the index; SIZE_BAD: it does not. */
static Size factor_of(Program *program, const Linear *sum, const Linear *index)
{
	Sizes *sizes = program->sizes;
	Size factor = SIZE_BAD;
	for (size_t i = 0; i < sum->terms.n; i++) {
		const LinearTerm *own = &sum->terms.at[i], *term = term_of(index, own->atom);
		int64_t coef;
		if (!term || !size_is_const(sizes, own->coef, &coef) ||
		    !size_divides(sizes, own->coef, term->coef))
			return SIZE_BAD;
		Size quotient = size_div(sizes, term->coef, own->coef);
		if (i > 0 && !size_same(quotient, factor))
			return SIZE_BAD;
		factor = quotient;
	}
	return factor;
}

/* The greatest number that divides all terms of the sum. */
static int64_t content(const Program *program, const Linear *sum)
{
	int64_t all = 0;
	for (size_t i = 0; i < sum->terms.n; i++)
		all = greatest_divisor(all, size_content(program->sizes, sum->terms.at[i].coef));
	return all;
}

/* As a digit of the index: the terms are below `end`, and multiples of what divides them all. */
static Digit digit_of(Program *program, const Linear *sum, Size factor, Size end)
{
	Sizes *sizes = program->sizes;
	int64_t unit = content(program, sum);
	bool whole = unit > 0 && size_divides(sizes, size_const(sizes, unit), end);
	Size most = size_plus(sizes, end, whole ? -unit : -1);
	return (Digit){.coef = size_scale(sizes, factor, unit),
		       .most = size_mul(sizes, factor, most)};
}

/* Are all of its terms no less than 0? */
static bool is_natural(const Program *program, const Linear *sum, const IterRange *ranges)
{
	Size zero = size_const(program->sizes, 0);
	bool natural = size_ge(program->sizes, sum->offset, zero);
	for (size_t i = 0; natural && i < sum->terms.n; i++) {
		const LinearTerm *term = &sum->terms.at[i];
		natural = term->atom->kind == IX_ITER && ranges[term->atom->iter].known &&
			  size_ge(program->sizes, ranges[term->atom->iter].first, zero) &&
			  size_ge(program->sizes, term->coef, zero);
	}
	return natural;
}

static bool shares_terms(const Digits *d, const Linear *sum)
{
	for (size_t i = 0; i < d->index.terms.n; i++)
		if (d->taken[i] && term_of(sum, d->index.terms.at[i].atom))
			return true;
	return false;
}

/* What the term comes to at most, from 0 on; -1: that is no constant, or it may be less than 0. */
static int64_t most_of(Program *program, const LinearTerm *term, const IterRange *ranges)
{
	const IterRange *range = term->atom->kind == IX_ITER ? &ranges[term->atom->iter] : NULL;
	int64_t most;
	bool natural = range && range->known && size_is(program->sizes, range->first, 0);
	bool known = natural && size_is_const(program->sizes,
					      size_mul(program->sizes, term->coef, range->span), &most);
	return known && most >= 0 ? most : -1;
}

/* The sum that the condition keeps below a size, with those terms of the index that its offset leaves room for: where
 * 4*four + 3 is below, so is 4*four + lane, for lanes below 4. */
static Linear sum_below(Program *program, const ElementAccess *access, const Linear *index,
			const Cond *cond)
{
	Linear sum = ix_linear(program, cond->a);
	int64_t room;
	if (!size_is_const(program->sizes, sum.offset, &room) ||
	    !size_is(program->sizes, factor_of(program, &sum, index), 1))
		return sum;
	for (size_t i = 0; i < index->terms.n; i++) {
		const LinearTerm *term = &index->terms.at[i];
		int64_t most = most_of(program, term, access->ranges);
		if (term_of(&sum, term->atom) || most <= 0 || most > room)
			continue;
		PUSH(program->arena, sum.terms, *term);
		room -= most;
	}
	sum.offset = size_const(program->sizes, room);
	return sum;
}

/* Does the condition keep such a sum, of more than one term, below a size? */
static bool bounds_sum(Program *program, const Cond *cond, const Linear *sum, const Linear *index)
{
	return cond->kind == COND_LT && cond->b->kind == IX_SIZE && sum->terms.n >= 2 &&
	       !size_is_bad(factor_of(program, sum, index));
}

/* Makes one digit of a sum that the condition bounds, where the index has it; false: it has it, and its own
 * digits do not tell it. */
static bool take_sum(Digits *d, const Cond *cond)
{
	Linear sum = sum_below(d->program, d->access, &d->index, cond);
	Size factor = factor_of(d->program, &sum, &d->index);
	if (!bounds_sum(d->program, cond, &sum, &d->index) || shares_terms(d, &sum) ||
	    !is_natural(d->program, &sum, d->access->ranges))
		return true;
	DigitList own = {0};
	for (size_t i = 0; i < sum.terms.n; i++)
		if (!add_digit(d, &own, &sum.terms.at[i]))
			return false;
	for (size_t i = 0; i < d->index.terms.n; i++)
		d->taken[i] |= term_of(&sum, d->index.terms.at[i].atom) != NULL;
	Digit digit = mirrored(d->program, digit_of(d->program, &sum, factor, cond->b->size));
	digit.sought = is_said(&own);
	PUSH(d->arena, d->list, digit);
	return each_is_above(d->program, &own, SIZE_BAD);
}

/* Do the digits of the index say the iterator, clamped terms among them, and those of loops around, where the flags
 * say so? */
static bool say_sought(Digits *d)
{
	d->arena = arena_new();
	d->index = ix_linear(d->program, d->access->ix);
	d->taken = ARENA_ARRAY(d->arena, bool, d->index.terms.n + 1);
	bool read = true;
	for (uint32_t i = 0; i < d->access->nconds && read; i++)
		read = take_sum(d, d->access->conds[i]);
	for (size_t i = 0; i < d->index.terms.n && read; i++)
		read = d->taken[i] || add_term(d, &d->index.terms.at[i]);
	leave_multiples(d);
	read = read && is_said(&d->list) && each_is_above(d->program, &d->list, d->base);
	arena_free(d->arena);
	return read;
}

bool digits_say_iter(Program *program, const Kernel *kernel, const ElementAccess *access,
		     IterVar iter)
{
	Digits all = {program, kernel, access, .sought = iter, .base = SIZE_BAD}, clamped = all,
	       around = all;
	clamped.clamped = around.around = true;
	return say_sought(&all) || say_sought(&clamped) || say_sought(&around);
}

bool ix_has_term(Program *program, const Ix *ix, IterVar iter)
{
	Linear index = ix_linear(program, ix);
	return term_of(&index, ix_iter(program->arena, iter)) != NULL;
}

/* Two accesses whose iterators may have other names: by term of the second index, that of the first. */
typedef struct Alike {
	Program *program;
	const Kernel *kernel;
	const ElementAccess *a, *b;
	Linear first, second;
	const LinearTerm **twins;
} Alike;

static bool ranges_are_same(const Alike *k, IterVar i, IterVar j)
{
	const IterRange *first = &k->a->ranges[i], *second = &k->b->ranges[j];
	return first->known == second->known && first->open == second->open &&
	       size_same(first->first, second->first) && size_same(first->span, second->span);
}

/* May atoms of the one index alone, such as integers that are read, be each of the same values, as far as digits are made
 * of them? */
static bool are_as_free(const Alike *k, const Ix *a, const Ix *b)
{
	const Sizes *sizes = k->program->sizes;
	Size most, other = SIZE_BAD;
	bool clamped = ix_is_clamped(sizes, a, &most),
	     same = clamped == ix_is_clamped(sizes, b, &other);
	return a->kind != IX_ITER && b->kind != IX_ITER && same &&
	       (!clamped || size_same(most, other)) && !is_fixed(k->kernel, a, k->a->ranges) &&
	       !is_fixed(k->kernel, b, k->b->ranges);
}

static bool is_twin(const Alike *k, const LinearTerm *of, size_t n)
{
	bool twin = false;
	for (size_t i = 0; i < n; i++)
		twin |= k->twins[i] == of;
	return twin;
}

/* The term of the first index alone that may stand for term n of the second, which is of that alone; NULL: none may. */
static const LinearTerm *other_twin(const Alike *k, size_t n)
{
	const LinearTerm *term = &k->second.terms.at[n];
	for (size_t i = 0; i < k->first.terms.n; i++) {
		const LinearTerm *first = &k->first.terms.at[i];
		bool iters = first->atom->kind == IX_ITER && term->atom->kind == IX_ITER;
		if (!term_of(&k->second, first->atom) && !is_twin(k, first, n) &&
		    size_same(first->coef, term->coef) &&
		    (iters ? ranges_are_same(k, first->atom->iter, term->atom->iter)
			   : are_as_free(k, first->atom, term->atom)))
			return first;
	}
	return NULL;
}

/* The term of the first index that stands for term n of the second; NULL: none does. */
static const LinearTerm *twin_of(const Alike *k, size_t n)
{
	const LinearTerm *term = &k->second.terms.at[n], *same = term_of(&k->first, term->atom);
	if (!same)
		return other_twin(k, n);
	bool alike = size_same(same->coef, term->coef);
	if (alike && term->atom->kind == IX_ITER)
		return ranges_are_same(k, same->atom->iter, term->atom->iter) ? same : NULL;
	for (IterVar i = 0; alike && i < k->kernel->niters; i++)
		alike = !ix_uses(term->atom, i) || ranges_are_same(k, i, i);
	return alike ? same : NULL;
}

static bool find_twins(Alike *k)
{
	bool found = k->first.terms.n == k->second.terms.n &&
		     size_same(k->first.offset, k->second.offset);
	k->twins = ARENA_ARRAY(k->program->arena, const LinearTerm *, k->second.terms.n + 1);
	for (size_t i = 0; found && i < k->second.terms.n; i++) {
		k->twins[i] = twin_of(k, i);
		found = k->twins[i] != NULL;
	}
	return found;
}

/* A sum of terms of the first index, and one of the second. */
static bool sums_are_same(const Alike *k, const Linear *a, const Linear *b)
{
	bool same = a->terms.n == b->terms.n;
	for (size_t i = 0; same && i < k->second.terms.n; i++) {
		const LinearTerm *in_a = term_of(a, k->twins[i]->atom);
		const LinearTerm *in_b = term_of(b, k->second.terms.at[i].atom);
		same = in_a && in_b ? size_same(in_a->coef, in_b->coef) : !in_a && !in_b;
	}
	return same;
}

/* Does a condition of the second access keep the sum below the size, too? */
static bool keeps_below(const Alike *k, const Linear *sum, Size end)
{
	bool found = false;
	for (uint32_t i = 0; i < k->b->nconds && !found; i++) {
		const Cond *cond = k->b->conds[i];
		Linear own = sum_below(k->program, k->b, &k->second, cond);
		found = bounds_sum(k->program, cond, &own, &k->second) &&
			size_same(cond->b->size, end) && sums_are_same(k, sum, &own);
	}
	return found;
}

bool digits_are_alike(Program *program, const Kernel *kernel, const ElementAccess *a,
		      const ElementAccess *b)
{
	Alike k = {program, kernel, a, b, ix_linear(program, a->ix), ix_linear(program, b->ix), NULL};
	bool alike = find_twins(&k);
	for (uint32_t i = 0; alike && i < a->nconds; i++) {
		Linear sum = sum_below(program, a, &k.first, a->conds[i]);
		alike = !bounds_sum(program, a->conds[i], &sum, &k.first) ||
			keeps_below(&k, &sum, a->conds[i]->b->size);
	}
	return alike;
}
