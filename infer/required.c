/* Sizes that a require says are equal, put for one another where totals are divided:
 *
 *   require n*m == 12     n*m elements are 12, of which [n, _] is [n, m]
 *
 * Only whole factors of a size are replaced. That the two are equal is a guard of its own, so what
 * follows holds wherever the routine runs. */
#include "base/size_order.h"
#include "infer/cells.h"
#include "infer/solver.h"

enum { MOST_REQUIRED = 64 }; /* are put for others: each total goes through all of them */

void required_add(Solver *s, Size a, Size b, ConId con)
{
	int64_t x, y;
	if (s->required.n == MOST_REQUIRED || size_same(a, b) ||
	    (size_is_const(s->sizes, a, &x) && size_is_const(s->sizes, b, &y)))
		return;
	bool first = size_before(s, a, b);
	PUSH(s->arena, s->required, ((Required){first ? b : a, first ? a : b, con}));
}

/* The size with `to` in the place of the factor `from`; SIZE_BAD: it has none. */
static Size with_factor(Solver *s, Size size, Size from, Size to)
{
	if (size_is(s->sizes, from, 0) || !size_divides(s->sizes, from, size))
		return SIZE_BAD;
	return size_mul(s->sizes, size_div(s->sizes, size, from), to);
}

Size required_name(Solver *s, Size size, ConId *con)
{
	if (size_is_bad(size))
		return size;
	for (size_t i = 0; i < s->required.n; i++) {
		const Required *r = &s->required.at[i];
		Size name = with_factor(s, size, r->size, r->name);
		/* falls: the order of names */
		while (!size_is_bad(name) && size_before(s, name, size)) {
			size = name;
			*con = r->con;
			name = with_factor(s, size, r->size, r->name);
		}
	}
	return size;
}

Size required_multiple(Solver *s, Size size, Size by)
{
	if (size_is_bad(size) || size_is(s->sizes, size, 0) || size_divides(s->sizes, by, size))
		return size;
	for (size_t i = 0; i < s->required.n; i++) {
		const Required *r = &s->required.at[i];
		Size other = with_factor(s, size, r->name, r->size);
		if (!size_is_bad(other) && size_divides(s->sizes, by, other))
			return other;
		other = with_factor(s, size, r->size, r->name);
		if (!size_is_bad(other) && size_divides(s->sizes, by, other))
			return other;
	}
	return size;
}
