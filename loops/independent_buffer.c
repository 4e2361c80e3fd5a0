/* Do two iterations of a loop meet in an element of a buffer? A proof over the indices of what they touch.
 *
 * Every index is a sum over iterators. With respect to a loop over j it is split
 *
 *   index = H + c*j + L      L: terms that stay below c*step; H: the others
 *
 * Let L lie in [least, most] over all accesses, let every coefficient in H be a multiple of U, and
 * let j move by `span` in all. Then most - least < c*step and c*span + most - least < U make H, j
 * and L digits of one number: the same element means the same j. An offset counts in L, less what U
 * divides. An integer that is read may stand in H, whatever it is.
 *
 * Where loops of several kernels are looked at as one, an index over a loop from `first` by `step` has c*step in the
 * place of c, and c*first more.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/independent.h"
#include "loops/linear.h"

/* An index as a sum, where the loop's iterator counts from 0 by one in loops of several kernels, and those of other loops that
 * move it backwards from their ends. */
typedef struct Index {
	Linear linear;
	const IterRange *ranges;
	IterVar iter;	/* of the loop */
	IterVar niters; /* of the kernel */
} Index;

/* The term of the loop's own iterator has no part in H and L. */
static bool is_other(const Index *index, const LinearTerm *term)
{
	return term->atom->kind != IX_ITER || term->atom->iter != index->iter;
}

/* coef*i with coef < 0, i from `first` to `first + span`, as -coef*i' and an offset, where i' = 2*first + span - i. */
static void mirror_term(const Proof *p, Index *index, LinearTerm *term)
{
	Sizes *sizes = p->program->sizes;
	const IterRange *range =
		term->atom->kind == IX_ITER ? &index->ranges[term->atom->iter] : NULL;
	if (!range || !range->known ||
	    !size_ge(p->program->sizes, size_const(sizes, 0), term->coef))
		return;
	Size ends = size_add(sizes, size_scale(sizes, range->first, 2), range->span);
	index->linear.offset =
		size_add(sizes, index->linear.offset, size_mul(sizes, term->coef, ends));
	term->coef = size_scale(sizes, term->coef, -1);
}

static Index index_of(const Proof *p, const ElementAccess *access)
{
	Sizes *sizes = p->program->sizes;
	const WholeLoop *part = p->parts ? &p->parts[access->part] : NULL;
	Index index = {ix_linear(p->program, access->ix), access->ranges,
		       part ? part->loop->iter : p->loop->iter,
		       part ? part->kernel->niters : p->kernel->niters};
	for (size_t i = 0; part && i < index.linear.terms.n; i++) {
		LinearTerm *term = &index.linear.terms.at[i];
		if (term->atom->kind != IX_ITER || term->atom->iter != index.iter)
			continue;
		Size before = size_mul(sizes, term->coef, part->loop->lo->size);
		index.linear.offset = size_add(sizes, index.linear.offset, before);
		term->coef = size_scale(sizes, term->coef, part->loop->step);
	}
	for (size_t i = 0; i < index.linear.terms.n; i++)
		if (is_other(&index, &index.linear.terms.at[i]))
			mirror_term(p, &index, &index.linear.terms.at[i]);
	return index;
}

/* ---- one buffer ---- */

typedef struct Digits {
	Size coef;		/* of the loop's iterator, in every index; SIZE_BAD: none is seen */
	SizeList leasts, mosts; /* of L, each once */
	Size unit;		/* of H; SIZE_BAD: H is empty */
} Digits;

/* Adds a term of H. */
static bool grow_unit(const Proof *p, Digits *digits, Size coef)
{
	const Sizes *sizes = p->program->sizes;
	if (size_is_bad(digits->unit) || size_divides(sizes, coef, digits->unit))
		digits->unit = coef;
	return size_divides(sizes, digits->unit, coef);
}

static void note(const Proof *p, SizeList *list, Size size)
{
	for (size_t i = 0; i < list->n; i++)
		if (size_same(list->at[i], size))
			return;
	PUSH(p->arena, *list, size);
}

/* The one that is no greater, or no less (`most`), than every other; SIZE_BAD: not known. */
static Size extreme(const Proof *p, const SizeList *list, bool most)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t k = 0;
		while (k < list->n &&
		       size_ge(p->program->sizes, list->at[most ? i : k], list->at[most ? k : i]))
			k++;
		if (k == list->n)
			return list->at[i];
	}
	return SIZE_BAD;
}

/* The offset, less what U divides. */
static Size low_offset(const Proof *p, const Digits *digits, Size offset)
{
	Sizes *sizes = p->program->sizes;
	int64_t value, unit;
	if (size_is_bad(digits->unit) || size_is_bad(offset))
		return offset;
	if (size_divides(sizes, digits->unit, offset))
		return size_const(sizes, 0);
	if (size_is_const(sizes, digits->unit, &unit) && size_is_const(sizes, offset, &value) &&
	    unit > 0 && value >= 0)
		return size_const(sizes, value % unit);
	return offset;
}

static Size loop_coef(const Index *index)
{
	for (size_t i = 0; i < index->linear.terms.n; i++)
		if (!is_other(index, &index->linear.terms.at[i]))
			return index->linear.terms.at[i].coef;
	return SIZE_BAD;
}

/* Is the coefficient a multiple of all that the loop moves by? */
static bool is_above(const Proof *p, const LinearTerm *term, Size loop_span)
{
	return !size_is_bad(loop_span) && size_divides(p->program->sizes, loop_span, term->coef);
}

/* Is the size no less than 0 wherever the loops around run? */
static bool is_natural(const Proof *p, const Index *index, Size size)
{
	const IterRange *ranges = index->ranges;
	bool natural = size_ge(p->program->sizes, size, size_const(p->program->sizes, 0));
	for (IterVar i = 0; i < index->niters && !natural; i++)
		natural = ranges[i].known && ranges[i].open && size_same(ranges[i].span, size);
	return natural;
}

/* Of an iterator, or of an index that is clamped to [0, size]; not known of others. */
static IterRange atom_range(const Proof *p, const Index *index, const Ix *atom)
{
	const IterRange *ranges = index->ranges;
	const Sizes *sizes = p->program->sizes;
	IterRange none = {.first = SIZE_BAD, .span = SIZE_BAD};
	if (atom->kind == IX_ITER)
		return ranges[atom->iter].known ? ranges[atom->iter] : none;
	Size most;
	if (!ix_is_clamped(sizes, atom, &most) || !is_natural(p, index, most))
		return none;
	return (IterRange){.known = true, .first = size_const(p->program->sizes, 0), .span = most};
}

/* What the terms but the loop's, and those above, move by in all; SIZE_BAD: not known. */
static Size whole_span(const Proof *p, const Index *index, Size above)
{
	Sizes *sizes = p->program->sizes;
	Size all = size_const(sizes, 0);
	for (size_t i = 0; i < index->linear.terms.n; i++) {
		const LinearTerm *term = &index->linear.terms.at[i];
		if (is_above(p, term, above) || !is_other(index, term))
			continue;
		IterRange range = atom_range(p, index, term->atom);
		if (!range.known || !size_ge(p->program->sizes, term->coef, size_const(sizes, 0)))
			return SIZE_BAD;
		all = size_add(sizes, all, size_mul(sizes, term->coef, range.span));
	}
	return all;
}

/* What the loop moves an index by in all, its step included; SIZE_BAD: not known. */
static Size loop_span(const Proof *p, Size coef)
{
	Sizes *sizes = p->program->sizes;
	if (!p->range.known)
		return SIZE_BAD;
	return size_mul(sizes, coef, size_plus(sizes, p->range.span, p->step));
}

/* First the units of all accesses (`units`), then their digits. Terms that fit into L together do
 * so where one of them alone may not: 64 lanes of a loop that does not run for fewer, columns of rows
 * that may be none. */
static bool add_access(const Proof *p, Digits *digits, const ElementAccess *access, bool units)
{
	Sizes *sizes = p->program->sizes;
	Index index = index_of(p, access);
	Size coef = loop_coef(&index), least = low_offset(p, digits, index.linear.offset),
	     most = least, whole = whole_span(p, &index, SIZE_BAD);
	if (size_is_bad(coef) || !size_ge(p->program->sizes, coef, size_const(sizes, 0)) ||
	    (!size_is_bad(digits->coef) && !size_same(coef, digits->coef)))
		return false;
	digits->coef = coef;
	Size step = size_scale(sizes, coef, p->step);
	bool fits = size_ge(p->program->sizes, step, size_plus(sizes, whole, 1));
	Size above = loop_span(p, coef), below = whole_span(p, &index, above);
	if (size_is_bad(whole) && size_is_bad(below))
		return false;
	bool rest_fits = size_ge(p->program->sizes, step, size_plus(sizes, below, 1));
	for (size_t i = 0; i < index.linear.terms.n; i++) {
		const LinearTerm *term = &index.linear.terms.at[i];
		if (!is_other(&index, term))
			continue;
		IterRange range = atom_range(p, &index, term->atom);
		Size first = size_mul(sizes, term->coef, range.first);
		Size span = size_mul(sizes, term->coef, range.span);
		if (fits || (rest_fits && !is_above(p, term, above)) ||
		    size_ge(p->program->sizes, step, size_plus(sizes, span, 1))) {
			least = size_add(sizes, least, first);
			most = size_add(sizes, most, size_add(sizes, first, span));
		} else if (!grow_unit(p, digits, term->coef)) {
			return false;
		}
	}
	if (!units) {
		note(p, &digits->leasts, least);
		note(p, &digits->mosts, most);
	}
	return true;
}

/* The indices that the access reaches in all iterations; `least` is SIZE_BAD where it is not known. */
static Size reach(const Proof *p, const ElementAccess *access, Size *most)
{
	Sizes *sizes = p->program->sizes;
	Index index = index_of(p, access);
	Size least = index.linear.offset;
	*most = least;
	for (size_t i = 0; i < index.linear.terms.n; i++) {
		const LinearTerm *term = &index.linear.terms.at[i];
		IterRange range = atom_range(p, &index, term->atom);
		if (!range.known || !size_ge(p->program->sizes, term->coef, size_const(sizes, 0)))
			return SIZE_BAD;
		least = size_add(sizes, least, size_mul(sizes, term->coef, range.first));
		*most = size_add(
			sizes, *most,
			size_mul(sizes, term->coef, size_add(sizes, range.first, range.span)));
	}
	return size_is_bad(*most) ? SIZE_BAD : least;
}

/* Does the access only read, and nowhere that an iteration stores to? */
static bool is_away(const Proof *p, const ElementAccess *access)
{
	Size most, other_most, least = access->stores ? SIZE_BAD : reach(p, access, &most);
	bool away = !size_is_bad(least);
	for (size_t i = 0; away && i < p->accesses.n; i++) {
		const ElementAccess *other = &p->accesses.at[i];
		if (other->buffer != access->buffer || !other->stores)
			continue;
		Size other_least = reach(p, other, &other_most);
		away = !size_is_bad(other_least) &&
		       (size_ge(p->program->sizes, least,
				size_plus(p->program->sizes, other_most, 1)) ||
			size_ge(p->program->sizes, other_least,
				size_plus(p->program->sizes, most, 1)));
	}
	return away;
}

static bool accesses_are_independent(const Proof *p, BufferId buffer, const bool *away)
{
	Sizes *sizes = p->program->sizes;
	Digits digits = {.coef = SIZE_BAD, .unit = SIZE_BAD};
	for (size_t i = 0; i < 2 * p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i % p->accesses.n];
		if (access->buffer == buffer && !(away && away[i % p->accesses.n]) &&
		    !add_access(p, &digits, access, i < p->accesses.n))
			return false;
	}
	Size least = extreme(p, &digits.leasts, false), most = extreme(p, &digits.mosts, true);
	Size width = size_plus(sizes, size_sub(sizes, most, least), 1);
	if (!size_ge(p->program->sizes, size_scale(sizes, digits.coef, p->step), width))
		return false;
	if (size_is_bad(digits.unit))
		return true;
	Size all = size_add(sizes, size_mul(sizes, digits.coef, p->range.span), width);
	return p->range.known && size_ge(p->program->sizes, digits.unit, all);
}

/* Do all accesses have one index, which says the iteration? */
static bool index_says_iteration(const Proof *p, BufferId buffer)
{
	const ElementAccess *first = NULL;
	for (size_t i = 0; i < p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i];
		if (access->buffer != buffer)
			continue;
		if (!ix_has_term(p->program, access->ix, p->loop->iter) ||
		    (first && !digits_are_alike(p->program, p->kernel, first, access)))
			return false;
		first = first ? first : access;
	}
	return first && digits_say_iter(p->program, p->kernel, first, p->loop->iter);
}

/* Does a condition hold in one iteration of the loop alone: the first, or that of a constant? */
static bool is_of_one_iteration(const Proof *p, const ElementAccess *access, int64_t *which)
{
	const Sizes *sizes = p->program->sizes;
	for (uint32_t i = 0; i < access->nconds; i++) {
		const Cond *cond = access->conds[i];
		if (cond->a->kind != IX_ITER || cond->a->iter != p->loop->iter ||
		    cond->b->kind != IX_SIZE || !size_is_const(sizes, cond->b->size, which))
			continue;
		*which -= cond->kind == COND_LT;
		if (cond->kind == COND_EQ || *which == 0)
			return true;
	}
	return false;
}

/* Do all accesses stand in the same iteration? */
static bool one_iteration_touches(const Proof *p, BufferId buffer)
{
	int64_t which = 0, first = -1;
	bool one = size_is(p->program->sizes, p->range.first, 0);
	for (size_t i = 0; one && i < p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i];
		if (access->buffer != buffer)
			continue;
		one = is_of_one_iteration(p, access, &which) && (first < 0 || which == first);
		first = which;
	}
	return one && first >= 0;
}

/* What is read where nothing is stored does not matter; it is looked for where the rest does not do. */
bool independent_in_buffer(const Proof *p, BufferId buffer)
{
	bool *away, any = false;
	if (accesses_are_independent(p, buffer, NULL) ||
	    (p->gpu && index_says_iteration(p, buffer)) ||
	    (p->threads && one_iteration_touches(p, buffer)))
		return true;
	away = ARENA_ARRAY(p->arena, bool, p->accesses.n + 1);
	for (size_t i = 0; i < p->accesses.n; i++) {
		away[i] = p->accesses.at[i].buffer == buffer && is_away(p, &p->accesses.at[i]);
		any |= away[i];
	}
	return any && accesses_are_independent(p, buffer, away);
}
