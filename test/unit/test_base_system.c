/* Relations between sizes taken together: what is claimed holds wherever the sizes are tried, and
 * chains of relations are followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/size_eval.h"
#include "test/unit/size_world.h"

enum { NDIMS = 3, MOST = 7, TRIALS = 20000, NFACTS = 5 };

static int make_world(void **state)
{
	return world_setup(state, (const int64_t[NDIMS]){0, 0, 1}, NDIMS);
}

static Size number(World *w, int64_t value)
{
	return size_const(w->sizes, value);
}

static Size random_size(World *w)
{
	Size dims[NDIMS] = {w->n, w->m, w->k};
	Size sum = number(w, world_below(w, 9) - 4);
	for (int i = 0; i < NDIMS; i++)
		sum = size_add(w->sizes, sum, size_scale(w->sizes, dims[i], world_below(w, 7) - 3));
	if (world_below(w, 3) == 0)
		sum = size_add(w->sizes, sum, size_floor(w->sizes, dims[world_below(w, NDIMS)], 2 + world_below(w, 3)));
	if (world_below(w, 4) == 0)
		sum = size_add(w->sizes, sum, size_mul(w->sizes, w->n, w->m));
	return sum;
}

static SizeFact random_fact(World *w)
{
	Size dims[NDIMS] = {w->n, w->m, w->k};
	switch (world_below(w, 10)) {
	case 9: return (SizeFact){FACT_DIVIDES, random_size(w), dims[world_below(w, NDIMS)]};
	case 0: return (SizeFact){FACT_DIVIDES, number(w, 1 + world_below(w, 12)), dims[world_below(w, NDIMS)]};
	case 1:
	case 2: return (SizeFact){FACT_EQ, random_size(w), number(w, world_below(w, 5))};
	case 3:
	case 4: return (SizeFact){FACT_DIVIDES, random_size(w), number(w, 2 + world_below(w, 4))};
	default: return (SizeFact){FACT_GE, random_size(w), random_size(w)};
	}
}

static bool holds(World *w, const SizeFact *fact, const int64_t *values)
{
	int64_t a, b;
	assert_true(size_eval(w->sizes, fact->a, values, &a));
	assert_true(size_eval(w->sizes, fact->b, values, &b));
	switch (fact->kind) {
	case FACT_EQ: return a == b;
	case FACT_GE: return a >= b;
	case FACT_DIVIDES: return b == 0 ? a == 0 : a % b == 0;
	}
	return false;
}

/* Does some value in the box meet all facts, and `goal` as asked? */
static bool possible(World *w, const SizeFact *facts, size_t n, const SizeFact *goal, bool want)
{
	int64_t v[NDIMS];
	for (v[0] = 0; v[0] <= MOST; v[0]++) {
		for (v[1] = 0; v[1] <= MOST; v[1]++) {
			for (v[2] = 1; v[2] <= MOST; v[2]++) {
				bool all = holds(w, goal, v) == want;
				for (size_t i = 0; i < n && all; i++)
					all = holds(w, &facts[i], v);
				if (all)
					return true;
			}
		}
	}
	return false;
}

/* Most random systems are decided: what is possible is never excluded, and little else is
 * missed. */
static void test_random(void **state)
{
	World *w = *state;
	int excluded = 0, implied = 0, impossible = 0;
	for (int trial = 0; trial < TRIALS; trial++) {
		SizeFact facts[NFACTS], goal = random_fact(w);
		size_t n = (size_t)world_below(w, NFACTS + 1);
		bool used[NFACTS];
		for (size_t i = 0; i < n; i++)
			facts[i] = random_fact(w);
		if (trial % 100 == 0)
			w->system = size_system_new(w->sizes, w->arena);
		impossible += !possible(w, facts, n, &goal, true);
		if (size_system_excludes(w->system, facts, n, goal, used)) {
			size_t m = 0;
			for (size_t i = 0; i < n; i++) {
				if (used[i])
					facts[m++] = facts[i];
			}
			assert_false(possible(w, facts, m, &goal, true));
			excluded++;
		} else if (size_system_implies(w->system, facts, n, goal)) {
			assert_false(possible(w, facts, n, &goal, false));
			implied++;
		}
	}
	assert_true(excluded > 1000 && implied > 100);
	assert_true(excluded <= impossible);
}

static void test_chains(void **state)
{
	World *w = *state;
	Sizes *sizes = w->sizes;
	enum { LONG = 40 };
	SizeFact chain[LONG];
	Size at[LONG + 1];
	bool used[LONG];
	for (int i = 0; i <= LONG; i++)
		at[i] = size_dim(sizes, sizes_add_dim(sizes, (Dim){.name = "x"}));
	for (int i = 0; i < LONG; i++)
		chain[i] = (SizeFact){FACT_GE, at[i], size_plus(sizes, at[i + 1], 1)};
	SizeFact back = {FACT_GE, at[LONG], at[0]}, far = {FACT_GE, at[0], number(w, LONG)};
	SizeFact farther = {FACT_GE, at[0], number(w, LONG + 1)};
	w->system = size_system_new(sizes, w->arena);
	assert_true(size_system_excludes(w->system, chain, LONG, back, used));
	for (int i = 0; i < LONG; i++)
		assert_true(used[i]);
	assert_true(size_system_implies(w->system, chain, LONG, far));
	assert_false(size_system_implies(w->system, chain, LONG, farther));
}

static void test_integers(void **state)
{
	World *w = *state;
	Sizes *sizes = w->sizes;
	SizeFact by4 = {FACT_DIVIDES, w->n, number(w, 4)}, by2 = {FACT_DIVIDES, w->n, number(w, 2)};
	SizeFact odd = {FACT_EQ, size_scale(sizes, w->n, 2), size_plus(sizes, size_scale(sizes, w->m, 4), 1)};
	SizeFact few = {FACT_GE, number(w, 3), w->n}, some = {FACT_GE, w->n, number(w, 1)};
	SizeFact half = {FACT_GE, size_floor(sizes, w->n, 2), number(w, 3)}, six = {FACT_GE, w->n, number(w, 6)};
	SizeFact both[2] = {by4, few};
	SizeFact thirds = {FACT_EQ, size_scale(sizes, w->n, 2), size_scale(sizes, w->m, 3)};
	SizeFact odd_thirds = {FACT_EQ, size_scale(sizes, w->m, 3), size_plus(sizes, size_scale(sizes, w->k, 2), 1)};
	assert_true(size_system_implies(w->system, &by4, 1, by2));
	assert_false(size_system_implies(w->system, &by2, 1, by4));
	assert_true(size_system_excludes(w->system, NULL, 0, odd, NULL));
	assert_true(size_system_excludes(w->system, both, 2, some, NULL));
	assert_true(size_system_excludes(w->system, &thirds, 1, odd_thirds, NULL));
	assert_true(size_system_implies(w->system, &half, 1, six));
	assert_true(size_system_implies(w->system, &six, 1, half));
}

/* What a power of a dim equals, and lower powers: the roots are among the divisors of the last number. */
static void test_roots(void **state)
{
	World *w = *state;
	Sizes *sizes = w->sizes;
	for (int64_t b = -6; b <= 6; b++) {
		for (int64_t c = -40; c <= 40; c++) {
			Size square = size_mul(sizes, w->n, w->n);
			Size left = size_add(sizes, square, size_scale(sizes, w->n, b));
			bool has_root = false;
			for (int64_t n = 0; n <= 50; n++)
				has_root |= n * n + b * n == c;
			w->system = size_system_new(sizes, w->arena);
			assert_int_equal(has_root, !size_system_excludes(w->system, NULL, 0,
									  (SizeFact){FACT_EQ, left, number(w, c)}, NULL));
		}
	}
}

/* Divisors of a number and values between bounds are tried one by one. */
static void test_finite(void **state)
{
	World *w = *state;
	Size two_n = size_plus(w->sizes, size_scale(w->sizes, w->n, 2), 1);
	SizeFact of7 = {FACT_DIVIDES, number(w, 7), w->n}, of12 = {FACT_DIVIDES, number(w, 12), w->n};
	SizeFact by3 = {FACT_DIVIDES, w->n, number(w, 3)}, by5 = {FACT_DIVIDES, w->n, number(w, 5)};
	SizeFact some = {FACT_GE, w->n, number(w, 6)}, few = {FACT_GE, number(w, 9), w->n};
	SizeFact odd = {FACT_DIVIDES, number(w, 8), two_n}, other = {FACT_GE, w->m, number(w, 2)};
	SizeFact several[3] = {of7, other, some}, between[2] = {some, few};
	bool used[3];
	assert_true(size_system_excludes(w->system, several, 3, by3, used));
	assert_true(used[0] && !used[1]);
	assert_false(size_system_excludes(w->system, &of12, 1, by3, NULL));
	assert_true(size_system_excludes(w->system, &of12, 1, by5, NULL));
	assert_true(size_system_excludes(w->system, between, 2, by5, NULL));
	assert_false(size_system_excludes(w->system, between, 2, by3, NULL));
	assert_true(size_system_excludes(w->system, &odd, 1, (SizeFact){FACT_GE, w->n, number(w, 1)}, NULL));
	assert_false(size_system_excludes(w->system, NULL, 0, odd, NULL));
}

/* A quotient is exact because a guard says so, never because it occurs. */
static void test_quotients(void **state)
{
	World *w = *state;
	Size half = size_div(w->sizes, w->n, number(w, 2));
	SizeFact equal = {FACT_EQ, half, w->m}, even = {FACT_DIVIDES, w->n, number(w, 2)};
	SizeFact twice = {FACT_EQ, w->n, size_scale(w->sizes, w->m, 2)};
	assert_true(size_system_implies(w->system, &equal, 1, twice));
	assert_false(size_system_implies(w->system, &equal, 1, even));
	assert_true(size_system_implies(w->system, &twice, 1, even));
}

/* What divides by a size is implied by the same and by multiples, and a quotient is no more than
 * its numerator. */
static void test_sizes_divide(void **state)
{
	World *w = *state;
	Sizes *sizes = w->sizes;
	Size quotient = size_div(sizes, w->n, w->k), both = size_mul(sizes, w->m, w->k);
	SizeFact by_k = {FACT_DIVIDES, w->n, w->k}, by_both = {FACT_DIVIDES, w->n, both};
	SizeFact sum_by_k = {FACT_DIVIDES, size_add(sizes, w->n, w->k), w->k};
	SizeFact other = {FACT_DIVIDES, w->m, w->k}, by_m = {FACT_DIVIDES, w->n, w->m};
	assert_true(size_system_implies(w->system, &by_k, 1, by_k));
	assert_true(size_system_implies(w->system, &by_k, 1, sum_by_k));
	assert_true(size_system_implies(w->system, &by_both, 1, by_k));
	assert_false(size_system_implies(w->system, &by_k, 1, by_both));
	assert_false(size_system_implies(w->system, &by_k, 1, other));
	assert_false(size_system_implies(w->system, &by_k, 1, by_m));
	assert_true(size_system_implies(w->system, NULL, 0, (SizeFact){FACT_GE, w->n, quotient}));
	assert_false(size_system_implies(w->system, NULL, 0, (SizeFact){FACT_GE, w->m, quotient}));
	assert_true(size_system_excludes(w->system, NULL, 0,
					 (SizeFact){FACT_GE, quotient, size_plus(sizes, w->n, 1)},
					 NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_chains, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_integers, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_roots, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_finite, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_quotients, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(test_sizes_divide, make_world, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
