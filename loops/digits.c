/* An index as digits of a number, each of a base of its own.
 *
 *   if i*4 + r < m && j*4 + c < n:  y[(i*4 + r)*n + j*4 + c]
 *
 * Terms coef * iterator are taken from the least coefficient on: where a coefficient is more than all terms
 * before it can sum up to, the index says the value of each iterator. Sums that a condition keeps below a size
 * are one digit, with that size as its base: their own terms are digits of them. Iterators of no term do not
 * matter here; a loop over one of them meets itself in an element.
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
} Digit;

typedef VEC(Digit) DigitList;

typedef struct Digits {
	Program *program;
	const Kernel *kernel;
	const ElementAccess *access;
	Arena *arena;
	Linear index;
	bool *taken; /* by term of the index */
	DigitList list;
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

static bool at_least(const Program *program, Size a, Size b)
{
	return !size_is_bad(a) && !size_is_bad(b) && size_ge(program->sizes, a, b);
}

static Digit *next_digit(const Program *program, const DigitList *list, Size above)
{
	Digit *best = NULL;
	for (size_t i = 0; i < list->n; i++) {
		Digit *digit = &list->at[i];
		if (!digit->taken && at_least(program, digit->coef, above) &&
		    (!best || at_least(program, best->coef, digit->coef)))
			best = digit;
	}
	return best;
}

/* Is each coefficient more than the digits below it can be? */
static bool each_is_above(const Program *program, const DigitList *list)
{
	Sizes *sizes = program->sizes;
	Size most = size_const(sizes, 0);
	for (size_t i = 0; i < list->n; i++) {
		Digit *digit = next_digit(program, list, size_plus(sizes, most, 1));
		if (!digit)
			return false;
		digit->taken = true;
		most = size_is_bad(digit->most) ? SIZE_BAD : size_add(sizes, most, digit->most);
		if (size_is_bad(most) && i + 1 < list->n)
			return false;
	}
	return true;
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

static bool add_digit(Digits *d, DigitList *list, const LinearTerm *term)
{
	const IterRange *ranges = d->access->ranges;
	if (is_fixed(d->kernel, term->atom, ranges))
		return true;
	if (term->atom->kind != IX_ITER)
		return false;
	const IterRange *range = &ranges[term->atom->iter];
	Size most = range->known ? size_mul(d->program->sizes, term->coef, range->span) : SIZE_BAD;
	PUSH(d->arena, *list, ((Digit){term->coef, most, false}));
	return !size_is_bad(term->coef);
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
	return (Digit){size_scale(sizes, factor, unit), size_mul(sizes, factor, most), false};
}

/* Are all of its terms no less than 0? */
static bool is_natural(const Program *program, const Linear *sum, const IterRange *ranges)
{
	Size zero = size_const(program->sizes, 0);
	bool natural = at_least(program, sum->offset, zero);
	for (size_t i = 0; natural && i < sum->terms.n; i++) {
		const LinearTerm *term = &sum->terms.at[i];
		natural = term->atom->kind == IX_ITER && ranges[term->atom->iter].known &&
			  at_least(program, ranges[term->atom->iter].first, zero) &&
			  at_least(program, term->coef, zero);
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

/* Makes one digit of a sum that the condition bounds, where the index has it; false: it has it, and its own
 * digits do not tell it. */
static bool take_sum(Digits *d, const Cond *cond)
{
	Linear sum = ix_linear(d->program, cond->a);
	Size factor = factor_of(d->program, &sum, &d->index);
	if (cond->kind != COND_LT || cond->b->kind != IX_SIZE || sum.terms.n < 2 ||
	    size_is_bad(factor) || shares_terms(d, &sum) ||
	    !is_natural(d->program, &sum, d->access->ranges))
		return true;
	DigitList own = {0};
	for (size_t i = 0; i < sum.terms.n; i++)
		if (!add_digit(d, &own, &sum.terms.at[i]))
			return false;
	for (size_t i = 0; i < d->index.terms.n; i++)
		d->taken[i] |= term_of(&sum, d->index.terms.at[i].atom) != NULL;
	PUSH(d->arena, d->list, digit_of(d->program, &sum, factor, cond->b->size));
	return each_is_above(d->program, &own);
}

bool digits_are_apart(Program *program, const Kernel *kernel, const ElementAccess *access)
{
	Digits d = {program, kernel, access, .arena = arena_new()};
	d.index = ix_linear(program, access->ix);
	d.taken = ARENA_ARRAY(d.arena, bool, d.index.terms.n + 1);
	bool apart = true;
	for (uint32_t i = 0; i < access->nconds && apart; i++)
		apart = take_sum(&d, access->conds[i]);
	for (size_t i = 0; i < d.index.terms.n && apart; i++)
		apart = d.taken[i] || add_digit(&d, &d.list, &d.index.terms.at[i]);
	apart = apart && each_is_above(program, &d.list);
	arena_free(d.arena);
	return apart;
}

static bool has_cond(const ElementAccess *access, const Cond *cond)
{
	for (uint32_t i = 0; i < access->nconds; i++)
		if (access->conds[i]->kind == cond->kind && ix_same(access->conds[i]->a, cond->a) &&
		    ix_same(access->conds[i]->b, cond->b))
			return true;
	return false;
}

bool digits_are_alike(const ElementAccess *a, const ElementAccess *b)
{
	bool alike = ix_same(a->ix, b->ix) && a->ranges == b->ranges && a->nconds == b->nconds;
	for (uint32_t i = 0; alike && i < a->nconds; i++)
		alike = has_cond(b, a->conds[i]);
	return alike;
}
