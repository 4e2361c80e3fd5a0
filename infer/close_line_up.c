/* How two ways to write an axis as parts line up: their parts are paired by place, from the first
 * or from the last; known parts that others add up to are taken together, and what is left of one
 * must be allowed to be empty. No part may stand elsewhere in the other, none may be asked for
 * different sizes, and together they must not be more or less than an axis that is known. */
#include "base/size_order.h"
#include "infer/close_parts.h"

bool same_part(const Part *a, const Part *b)
{
	return (a->cell == b->cell && a->cell != NONE) ||
	       (!part_is_open(a) && size_same(a->known, b->known));
}

/* A split as it is gone through, from its first part or from its last. */
typedef struct Way {
	const Split *split;
	uint32_t taken;
	bool back;
} Way;

static uint32_t place_of(const Way *way)
{
	return way->taken == way->split->n ? NONE
	       : way->back		   ? way->split->n - 1 - way->taken
					   : way->taken;
}

static const Part *part_of(const Way *way)
{
	uint32_t place = place_of(way);
	return place == NONE ? NULL : &way->split->at[place];
}

static void add_pair(Pairs *pairs, Way *x, Way *y)
{
	pairs->of_x[pairs->n] = place_of(x);
	pairs->of_y[pairs->n++] = place_of(y);
	x->taken += x->taken < x->split->n;
	y->taken += y->taken < y->split->n;
}

static bool can_pair(const Part *p, const Part *q)
{
	return same_part(p, q) || size_is_bad(p->asked) || size_is_bad(q->asked) ||
	       size_same(p->asked, q->asked);
}

/* Takes the fewest known parts of both that have the same sum; false: there are none. */
static bool sums_meet(Solver *s, Way *x, Way *y)
{
	Size a = size_const(s->sizes, 0), b = a;
	do { /* falls: parts of both */
		bool from_x = size_ge(s->sizes, b, a);
		const Part *part = part_of(from_x ? x : y);
		if (!part || part_is_open(part))
			return false;
		Size *sum = from_x ? &a : &b;
		*sum = size_add(s->sizes, *sum, part->known);
		(from_x ? x : y)->taken++;
	} while (!size_same(a, b));
	return true;
}

/* What is left of one of the two is empty: it may be, or nothing says anything of either. */
static bool rest_is_empty(Solver *s, Way *x, Way *y, bool blank, Pairs *pairs)
{
	while (x->taken < x->split->n || y->taken < y->split->n) { /* falls: parts of either */
		const Part *part = part_of(x) ? part_of(x) : part_of(y);
		if (!size_is_bad(part->asked) || !(blank || s->cells.at[part->cell].may_be_empty))
			return false;
		add_pair(pairs, x, y);
	}
	return true;
}

static bool stands_in(const Split *split, const Part *part)
{
	bool stands = false;
	for (uint32_t i = 0; i < split->n; i++)
		stands |= split->at[i].cell == part->cell;
	return stands;
}

/* Does an open part stand elsewhere in the other split? */
static bool is_elsewhere(const Pairs *pairs)
{
	for (uint32_t i = 0; i < pairs->n; i++) {
		const Part *p = pairs->of_x[i] == NONE ? NULL : &pairs->x->at[pairs->of_x[i]];
		const Part *q = pairs->of_y[i] == NONE ? NULL : &pairs->y->at[pairs->of_y[i]];
		if (p && q && same_part(p, q))
			continue;
		if ((p && part_is_open(p) && stands_in(pairs->y, p)) ||
		    (q && part_is_open(q) && stands_in(pairs->x, q)))
			return true;
	}
	return false;
}

Size pairs_ask(Sizes *sizes, const Pairs *pairs, uint32_t place)
{
	for (uint32_t i = 0; i < pairs->n; i++) {
		if (pairs->of_x[i] == place)
			return pairs->of_y[i] == NONE ? size_const(sizes, 0)
						      : pairs->y->at[pairs->of_y[i]].asked;
	}
	return SIZE_BAD;
}

/* Has the axis, where it is known, the elements that the parts would have? */
static bool fits_whole(const Whole *whole, const Pairs *pairs)
{
	Sizes *sizes = whole->s->sizes;
	bool open = false;
	int64_t rest;
	if (size_is_bad(whole->size))
		return true;
	Size left = whole->size;
	for (uint32_t i = 0; i < pairs->x->n; i++) {
		Size size = pairs->x->at[i].asked;
		size = size_is_bad(size) ? pairs_ask(sizes, pairs, i) : size;
		open |= size_is_bad(size);
		left = size_is_bad(size) ? left : size_sub(sizes, left, size);
	}
	return open ? !size_is_const(sizes, left, &rest) || rest >= 0 : size_is(sizes, left, 0);
}

static bool line_up_from(const Whole *whole, bool back, Pairs *pairs)
{
	Way x = {pairs->x, 0, back}, y = {pairs->y, 0, back};
	bool blank = !pairs->x->says && !pairs->y->says;
	pairs->n = 0;
	while (x.taken < x.split->n && y.taken < y.split->n) { /* falls: parts of both */
		if (can_pair(part_of(&x), part_of(&y)))
			add_pair(pairs, &x, &y);
		else if (!sums_meet(whole->s, &x, &y))
			return false;
	}
	return rest_is_empty(whole->s, &x, &y, blank, pairs) && !is_elsewhere(pairs) &&
	       fits_whole(whole, pairs);
}

bool line_up(const Whole *whole, uint32_t i, uint32_t k, Pairs *pairs)
{
	pairs->x = &whole->splits[i];
	pairs->y = &whole->splits[k];
	return line_up_from(whole, false, pairs) || line_up_from(whole, true, pairs);
}
