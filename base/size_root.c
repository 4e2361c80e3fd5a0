/* Roots of sizes: the side of a square that has so many elements; fractions, which are no sizes.
 *
 * The root of a polynomial is found term by term. Its first term is the root of the first term of
 * the polynomial; each further one is the first term of what is left, divided by the derivative of
 * the power at the first. What is left is then smaller in the order of terms, so few steps are
 * tried; a root is one only where nothing is left. */
#include "base/size_order.h"
#include "base/size_poly.h"
#include "base/size_root.h"

int64_t integer_root(int64_t value, uint32_t power)
{
	int64_t low = 0, high = value;
	while (low < high) { /* falls: high - low */
		int64_t mid = high - (high - low) / 2, product = 1;
		bool over = false;
		for (uint32_t i = 0; i < power && !over; i++)
			over = __builtin_mul_overflow(product, mid, &product);
		if (over || product > value)
			high = mid - 1;
		else
			low = mid;
	}
	return low;
}

static Size power_of(Sizes *sizes, Size a, uint32_t power)
{
	Size product = size_const(sizes, 1);
	for (uint32_t i = 0; i < power; i++)
		product = size_mul(sizes, product, a);
	return product;
}

static Size first_term(Sizes *sizes, Size a)
{
	Term term = poly_at(sizes, a)->terms[0];
	return size_intern(sizes, &term, 1);
}

/* Of a coefficient times powers of dims. */
static Size root_of_term(Sizes *sizes, Size a, uint32_t power)
{
	Term term = poly_at(sizes, a)->terms[0];
	Mono mono = *mono_at(sizes, term.mono);
	int64_t coef = term.coef > 0 ? integer_root(term.coef, power) : 0;
	Size root = size_const(sizes, coef);
	for (uint32_t i = 0; i < mono.n; i++) {
		if (mono.factors[i].power % power)
			return SIZE_BAD;
		Term atom = {1, mono_of_atom(sizes, mono.factors[i].atom), 0};
		root = size_mul(sizes, root,
				power_of(sizes, size_intern(sizes, &atom, 1),
					 mono.factors[i].power / power));
	}
	return size_same(power_of(sizes, root, power), a) ? root : SIZE_BAD;
}

Size size_root(Sizes *sizes, Size a, uint32_t power)
{
	int64_t value;
	if (power == 1 || size_is_bad(a) || (size_is_const(sizes, a, &value) && value == 0))
		return a;
	if (size_is_const(sizes, a, &value) && value < 0)
		return SIZE_BAD;
	uint32_t steps = poly_at(sizes, a)->n;
	Size root = root_of_term(sizes, first_term(sizes, a), power);
	Size slope = size_scale(sizes, power_of(sizes, root, power - 1), power);
	for (; steps > 0 && !size_is_bad(root); steps--) {
		Size rest = size_sub(sizes, a, power_of(sizes, root, power)), term;
		if (size_is(sizes, rest, 0))
			return size_ge(sizes, root, size_const(sizes, 0)) ? root : SIZE_BAD;
		if (size_is_bad(rest) ||
		    !size_div_exact(sizes, first_term(sizes, rest), slope, &term))
			return SIZE_BAD;
		root = size_add(sizes, root, term);
	}
	return SIZE_BAD;
}

bool size_is_fraction(const Sizes *sizes, Size a)
{
	int64_t value;
	bool fraction = !size_is_bad(a) && !size_is_const(sizes, a, &value);
	for (DimId d = 0; d < sizes_ndims(sizes) && fraction; d++)
		fraction = !size_uses_dim(sizes, a, d);
	return fraction;
}
