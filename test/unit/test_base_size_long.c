/* Sizes of many terms: long sums, running totals, and what is refused before it takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_program.h"
#include "test/unit/size_world.h"

enum { NDIMS = 4 };

static const int64_t at_least[NDIMS] = {0, 0, 1, 3};

static int make_world(void **state) { return world_setup(state, at_least, NDIMS); }

/* The sum of times[d] * d for the dims from a step to a step: by hundreds, since every partial sum is
 * kept. */
static Size sum_of_dims(Sizes *s, const int64_t *times, DimId ndims, DimId step)
{
	Size sum = size_const(s, 0), part = sum;
	for (DimId d = 0; d < ndims; d += step) {
		part = size_add(s, part, size_scale(s, size_dim(s, d), times[d]));
		if (d / step % 100 == 99 || d + step >= ndims) {
			sum = size_add(s, sum, part);
			part = size_const(s, 0);
		}
	}
	return sum;
}

/* Sums of 10,000 dims and more against sums of their values. */
static void long_sums_are_sums(void **state)
{
	World *w = *state;
	enum { MANY = 20000 };
	Sizes *s = sizes_new(w->arena);
	int64_t *values = ARENA_ARRAY(w->arena, int64_t, MANY), got, want = 0, rest = 0;
	int64_t *times = ARENA_ARRAY(w->arena, int64_t, MANY);
	for (DimId d = 0; d < MANY; d++) {
		sizes_add_dim(s, (Dim){.name = "d"});
		values[d] = (int64_t)world_below(w, 1000);
		times[d] = (int64_t)world_below(w, 9) - 4;
		want += d % 2 ? 0 : times[d] * values[d];
		rest += d % 6 ? 0 : times[d] * values[d];
	}
	Size sum = sum_of_dims(s, times, MANY, 2), less = sum_of_dims(s, times, MANY, 6);
	assert_true(size_eval(s, sum, values, &got));
	assert_int_equal(got, want);
	SizeOp *ops;
	size_t nops = size_program(w->arena, s, sum, &ops);
	assert_int_equal(run_program(ops, nops, values), want);
	assert_true(strlen(size_text(w->arena, s, sum)) < 1000);
	Size difference = size_sub(s, sum, less);
	assert_true(size_eval(s, difference, values, &got));
	assert_int_equal(got, want - rest);
	assert_true(size_same(size_add(s, less, difference), sum));
	/* a product of few terms and many: a third of the dims is used, and is even */
	assert_true(size_same(size_div(s, size_mul(s, less, size_dim(s, 1)), less), size_dim(s, 1)));
	for (DimId d = 0; d < MANY; d++)
		times[d] = 1;
	assert_true(size_is_bad(sum_of_dims(s, times, MANY, 1)));
	assert_string_equal(sizes_limit_text(s), "it has more than 16384 terms");
}

/* n totals, each of one term more: the last is the sum, and each knows the one before it. */
static void totals_know_what_came_before(void **state)
{
	World *w = *state;
	enum { MANY = 6000 };
	Sizes *s = sizes_new(w->arena);
	Size total = size_const(s, 64), before, added;
	int n = 0;
	for (DimId d = 0; d < MANY && !size_is_bad(total); d++, n++) {
		sizes_add_dim(s, (Dim){.name = "d"});
		Size last = total, dim = size_dim(s, d);
		total = size_total(s, last, dim);
		if (size_is_total(s, total, &before, &added)) {
			assert_true(d >= 15 && size_same(before, last) && size_same(added, dim));
			assert_true(size_same(total, size_add(s, last, dim)));
		} else {
			assert_true(d < 15 || size_is_bad(total));
		}
	}
	assert_in_range(n, 4000, 4200);
	assert_string_equal(sizes_limit_text(s),
			    "all sizes of the program have more than 8388608 terms together");
}

/* Large constants, high powers and deep nesting: everything ends soon in a size or in SIZE_BAD. */
static void hostile_sizes_end_soon(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	enum { KEPT = 64 };
	Size kept[KEPT];
	int64_t values[NDIMS] = {INT64_MAX, 1, INT64_MAX, 3}, value;
	for (int i = 0; i < KEPT; i++)
		kept[i] = size_plus(s, size_dim(s, (DimId)(i % NDIMS)), (int64_t)1 << (i % 63));
	for (int round = 0; round < 20000; round++) {
		Size a = kept[world_below(w, KEPT)], b = kept[world_below(w, KEPT)], r;
		int64_t k = (int64_t)(world_next(w) >> world_below(w, 64));
		switch (world_below(w, 7)) {
		case 0: r = size_add(s, a, b); break;
		case 1: r = size_sub(s, a, b); break;
		case 2: r = size_mul(s, a, b); break;
		case 3: r = size_div(s, a, b); break;
		case 4: r = size_floor(s, a, k); break;
		case 5: r = size_scale(s, a, k); break;
		default: r = size_div(s, a, size_const(s, k)); break;
		}
		size_ge(s, a, b);
		size_divides(s, a, b);
		size_eval(s, r, values, &value);
		if (!size_is_bad(r))
			kept[world_below(w, KEPT)] = r;
		if (round % 16 == 0)
			assert_true(strlen(size_text(w->arena, s, r)) < 2000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hostile_sizes_end_soon, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(long_sums_are_sums, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(totals_know_what_came_before, make_world, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
