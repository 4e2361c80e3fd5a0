/* Sizes that are never below 0: see bounds_prove.h.
 *
 *   shown: 3*n + 2 - 3*b - 4*c                  known: n - b - c >= 0, 2 - c >= 0, ...
 *   less 3 times the one, once the other:  0
 *
 * The symbol that was made last is got rid of first: where it only adds, it is dropped; else a fact
 * that takes it away, times what makes the two meet, is subtracted, one fact after another. What is
 * left is asked of base/size.h, for which every symbol is at least 0. max(0, x) is a symbol too,
 * and is got rid of in two cases: it is 0 and x at most 0, or it is x and that at least 0. Where dims
 * of the program alone are left, facts about these and bounds of floors take one part away and may
 * add others: to a depth. The number of steps is bounded; what takes more is not shown.
 */
#include "base/size_dims.h"
#include "loops/bounds_facts.h"

#include <stb/stb_ds.h>

#include "base/hash.h"
#include "base/size_order.h"

enum { STEPS = 200, SHALLOW = 2, DEEP = 6, FLOORS_MOST = 8 };

static bool shows(Prover *p, Size goal);

static const Symbol *symbol_of(const Prover *p, DimId dim)
{
	return dim < p->first ? NULL : &p->symbols.at[dim - p->first];
}

/* May be seen to exclude what is known. */
static void assume_in_case(Prover *p, Size a)
{
	prover_assume(p, a);
	p->empty |= size_ge(p->sizes, prover_number(p, -1), a);
}

/* With max(0, x) replaced in the goal and in what is known of it, where x is at least 0 or at most. */
static bool shows_case(Prover *p, Size goal, DimId dim, bool positive)
{
	Size x = symbol_of(p, dim)->a, by = positive ? x : prover_number(p, 0);
	ProverScope scope = prover_open(p);
	p->failed.n = 0;
	assume_in_case(p, positive ? x : size_scale(p->sizes, x, -1));
	for (size_t i = 0; i < scope.facts; i++)
		if (p->facts.at[i].last == dim)
			assume_in_case(p, prover_replaced(p, p->facts.at[i].size, dim, by));
	bool shown = p->empty || shows(p, prover_replaced(p, goal, dim, by));
	p->failed.n = 0;
	prover_close(p, scope);
	return shown;
}

/* The fact as a sum of the goal's atom, with some of it. */
static bool fact_sum(Prover *p, const Fact *fact, Size atom, Sum *sum)
{
	if (!size_same(fact->sum.atom, atom))
		return prover_sum(p, fact->size, atom, sum) && !size_is(p->sizes, sum->coef, 0);
	*sum = fact->sum;
	return true;
}

/* Is the goal shown less as many times the fact as take the atom away, if that is at least 0? */
static bool shows_less(Prover *p, const Sum *goal, const Fact *fact)
{
	Sizes *sizes = p->sizes;
	Sum sum;
	int64_t c, b;
	if (!fact_sum(p, fact, goal->atom, &sum))
		return false;
	if (size_is_const(sizes, goal->coef, &c) && size_is_const(sizes, sum.coef, &b)) {
		if ((c < 0) != (b < 0))
			return false;
		Size scaled = b == 1 || b == -1 ? goal->rest
						: size_scale(sizes, goal->rest, b < 0 ? -b : b);
		return shows(p, size_add_scaled(sizes, scaled, sum.rest, c < 0 ? c : -c));
	}
	if (!size_divides(sizes, sum.coef, goal->coef))
		return false;
	Size times = size_div(sizes, goal->coef, sum.coef);
	return prover_at_least_0(p, times) &&
	       shows(p, size_sub(sizes, goal->rest, size_mul(sizes, times, sum.rest)));
}

static bool shows_by_facts(Prover *p, const Sum *goal, DimId first, DimId last)
{
	for (size_t i = p->facts.n; i-- > 0;)
		if (p->facts.at[i].last >= first && p->facts.at[i].last <= last &&
		    shows_less(p, goal, &p->facts.at[i]))
			return true;
	return false;
}

static bool shows_without_floors(Prover *p, Size goal)
{
	Size floors[FLOORS_MOST], less;
	Sum sum;
	size_t n = size_floors(p->sizes, goal, floors, FLOORS_MOST);
	for (size_t i = 0; i < n; i++)
		if (prover_sum(p, goal, floors[i], &sum) &&
		    shows_by_facts(p, &sum, 0, p->first - 1))
			return true;
	for (FloorWay way = 0; way < FLOOR_WAYS; way++)
		for (size_t i = 0; i < n; i++)
			if (size_without_floor(p->sizes, goal, floors[i], way, &less) &&
			    shows(p, less))
				return true;
	return false;
}

static bool reduces_dims(Prover *p, Size goal, DimId last)
{
	Sum sum;
	if (shows_without_floors(p, goal))
		return true;
	for (DimId d = 0; d <= last; d++)
		if (size_uses_dim(p->sizes, goal, d) &&
		    prover_sum(p, goal, size_dim(p->sizes, d), &sum) &&
		    shows_by_facts(p, &sum, 0, last))
			return true;
	return false;
}

/* Nothing but the program's dims is left: each step may add what another takes away. Many goals come
 * down to the same. */
static bool shows_of_dims(Prover *p, Size goal, DimId last)
{
	uint64_t key = hash_mix(hash_mix(p->of_dims, goal.id), (uint64_t)p->depth);
	ptrdiff_t asked = hmgeti(p->answers, key);
	if (asked >= 0)
		return p->answers[asked].value;
	if (prover_below_0(p, goal, p->samples, true))
		return false;
	p->depth--;
	bool shown = prover_at_least_0(p, goal) || (p->depth >= 0 && reduces_dims(p, goal, last));
	p->depth++;
	if (shown || p->steps >= 0)
		hmput(p->answers, key, shown);
	return shown;
}

static bool reduces(Prover *p, Size goal)
{
	DimId last;
	Sum sum;
	if (!size_last_dim(p->sizes, goal, &last))
		return prover_at_least_0(p, goal);
	const Symbol *symbol = symbol_of(p, last);
	if (!symbol)
		return shows_of_dims(p, goal, last);
	if (symbol->kind == POSITIVE)
		return prover_at_least_0(p, goal) ||
		       (shows_case(p, goal, last, false) && shows_case(p, goal, last, true));
	return prover_sum(p, goal, size_dim(p->sizes, last), &sum) &&
	       ((prover_at_least_0(p, sum.coef) && shows(p, sum.rest)) ||
		shows_by_facts(p, &sum, last, last));
}

static bool shows(Prover *p, Size goal)
{
	if (size_is_bad(goal) || --p->steps < 0)
		return false;
	for (size_t i = 0; i < p->failed.n; i++)
		if (size_same(p->failed.at[i], goal))
			return false;
	if ((size_only_adds(p->sizes, goal) && prover_at_least_0(p, goal)) || reduces(p, goal))
		return true;
	PUSH(p->arena, p->failed, goal);
	return false;
}

static bool shows_within(Prover *p, Size a, int depth)
{
	p->steps = STEPS;
	p->depth = depth;
	p->failed.n = 0;
	return shows(p, a);
}

bool prover_shows(Prover *p, Size a)
{
	uint64_t key = hash_mix(p->state, a.id);
	ptrdiff_t asked = hmgeti(p->answers, key);
	if (asked >= 0)
		return p->answers[asked].value;
	bool shown = p->empty || prover_is_fact(p, a) || shows_within(p, a, SHALLOW) ||
		     shows_within(p, a, DEEP);
	hmput(p->answers, key, shown);
	return shown;
}
