/* Sizes: the normal form against evaluation on random expressions, the printed form, and the
 * soundness of what is claimed for all values. */
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
#include "base/size_root.h"
#include "base/size_dims.h"
#include "test/unit/size_world.h"

enum { NDIMS = 4, VALUES = 40 };

static const int64_t at_least[NDIMS] = {0, 0, 1, 3};

static int make_world(void **state) { return world_setup(state, at_least, NDIMS); }

static void draw(World *w, int64_t values[NDIMS])
{
	for (int i = 0; i < NDIMS; i++)
		values[i] = at_least[i] + world_below(w, VALUES);
}

static void assert_text(World *w, Size size, const char *text)
{
	assert_string_equal(size_text(w->arena, w->sizes, size), text);
}

/* a*n + b */
static Size affine(World *w, int64_t a, int64_t b)
{
	return size_plus(w->sizes, size_scale(w->sizes, w->n, a), b);
}

static void sizes_print_as_they_are_written(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	Size two = size_const(s, 2), nm = size_mul(s, w->n, w->m);
	assert_text(w, SIZE_BAD, "?");
	assert_text(w, size_const(s, 0), "0");
	assert_text(w, size_const(s, -7), "-7");
	assert_text(w, affine(w, 2, 1), "2*n + 1");
	assert_text(w, affine(w, 1, -1), "n - 1");
	assert_text(w, affine(w, -1, 5), "-n + 5");
	assert_text(w, affine(w, -3, 0), "-3*n");
	assert_text(w, nm, "n*m");
	assert_text(w, size_mul(s, nm, w->n), "n*n*m");
	assert_text(w, size_add(s, w->m, size_add(s, w->one, nm)), "n*m + m + 1");
	assert_text(w, size_add(s, w->k, size_add(s, w->m, w->n)), "n + m + k");
	assert_text(w, size_div(s, affine(w, 1, -1), two), "(n - 1)/2");
	assert_text(w, size_div(s, affine(w, 1, 1), two), "(n + 1)/2");
	assert_text(w, size_div(s, w->n, two), "n/2");
	assert_text(w, size_plus(s, size_div(s, w->n, two), 1), "n/2 + 1");
	assert_text(w, size_scale(s, size_div(s, w->n, two), 3), "3*n/2");
	assert_text(w, size_div(s, w->n, w->m), "n/m");
	assert_text(w, size_div(s, w->n, nm), "1/m");
	assert_text(w, size_div(s, affine(w, 1, 1), size_plus(s, w->m, 2)), "(n + 1)/(m + 2)");
	assert_text(w, size_div(s, w->n, size_scale(s, w->m, 2)), "n/(2*m)");
	assert_text(w, size_div(s, size_const(s, 7), two), "7/2");
	assert_text(w, size_floor(s, affine(w, 1, 1), 2), "floor((n + 1)/2)");
	assert_text(w, size_floor(s, affine(w, 1, -1), 2), "floor((n - 1)/2)");
	assert_text(w, size_plus(s, size_floor(s, affine(w, 1, -3), 2), 1), "floor((n - 1)/2)");
	assert_text(w, size_floor(s, w->n, 2), "floor(n/2)");
	assert_text(w, size_ceil(s, w->n, 2), "floor((n + 1)/2)");
	assert_text(w, size_plus(s, size_floor(s, w->n, 2), -1), "floor(n/2) - 1");
	assert_text(w, size_floor(s, size_sub(s, w->m, w->n), 2), "floor((-n + m)/2)");
	assert_text(w, size_mul(s, size_floor(s, w->n, 2), w->m), "m*floor(n/2)");
}

static void roots_are_those_for_all_values(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	Size n1 = affine(w, 1, 1), nm = size_mul(s, w->n, w->m);
	assert_text(w, size_root(s, size_const(s, 0), 2), "0");
	assert_text(w, size_root(s, size_const(s, 144), 2), "12");
	assert_text(w, size_root(s, size_const(s, 145), 2), "?");
	assert_text(w, size_root(s, size_const(s, -4), 2), "?");
	assert_text(w, size_root(s, size_const(s, 27), 3), "3");
	assert_text(w, size_root(s, w->n, 1), "n");
	assert_text(w, size_root(s, size_scale(s, size_mul(s, nm, nm), 9), 2), "3*n*m");
	assert_text(w, size_root(s, size_scale(s, w->n, 4), 2), "?");
	assert_text(w, size_root(s, size_mul(s, n1, n1), 2), "n + 1");
	assert_text(w, size_root(s, size_mul(s, size_mul(s, n1, n1), n1), 3), "n + 1");
	assert_text(w, size_root(s, size_plus(s, size_mul(s, n1, n1), 1), 2), "?");
	Size sum = size_add(s, size_scale(s, nm, 2), size_plus(s, w->k, 7));
	assert_true(size_same(size_root(s, size_mul(s, sum, sum), 2), sum));
	assert_int_equal(integer_root(INT64_MAX, 2), 3037000499);
	for (int64_t i = 0; i < 200; i++)
		assert_true(integer_root(i * i, 2) == i && integer_root(i * i + 2 * i, 2) == i);
}

static void quotients_are_carried_out(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	Size two = size_const(s, 2), half = size_div(s, w->n, two);
	assert_text(w, size_div(s, affine(w, 2, 4), two), "n + 2");
	assert_text(w, size_floor(s, affine(w, 2, 3), 2), "n + 1");
	assert_text(w, size_floor(s, affine(w, 2, 1), 4), "floor(n/2)");
	assert_text(w, size_div(s, affine(w, 2, 2), size_const(s, 4)), "(n + 1)/2");
	assert_text(w, size_div(s, affine(w, 2, 2), size_const(s, -2)), "-n - 1");
	assert_text(w, size_scale(s, half, 2), "n");
	assert_text(w, size_add(s, half, half), "n");
	assert_text(w, size_scale(s, size_div(s, w->n, size_const(s, 4)), 2), "n/2");
	assert_text(w, size_mul(s, size_div(s, w->n, w->m), w->m), "n");
	assert_text(w, size_div(s, size_mul(s, w->n, w->m), w->m), "n");
	assert_text(w, size_div(s, half, two), "n/4");
	assert_text(w, size_div(s, size_plus(s, half, 1), two), "(n + 2)/4");
	assert_text(w, size_plus(s, size_div(s, affine(w, 1, -3), two), 1), "(n - 1)/2");
	assert_text(w, size_sub(s, w->m, half), "m - n/2");
	assert_text(w, size_sub(s, w->n, size_div(s, w->m, two)), "n - m/2");
	assert_text(w, size_mul(s, half, half), "n*n/4");
	assert_text(w, size_mul(s, half, w->m), "n*m/2");
	assert_text(w, size_add(s, half, size_div(s, w->m, size_const(s, 3))), "(3*n + 2*m)/6");
	assert_text(w, size_div(s, affine(w, 2, 1), two), "n + 1/2");
	assert_text(w, size_floor(s, size_plus(s, size_floor(s, w->n, 2), 1), 3), "floor((n + 2)/6)");
	Size a = size_add(s, w->n, w->m), b = size_sub(s, w->n, w->m);
	assert_true(size_same(size_div(s, size_mul(s, a, b), a), b));
	assert_true(size_same(size_div(s, a, a), w->one));
	assert_text(w, size_div(s, size_const(s, 0), w->m), "0");
	assert_true(size_is_bad(size_div(s, w->n, size_const(s, 0))));
	assert_true(size_is_bad(size_floor(s, w->n, 0)));
	assert_true(size_is_bad(size_floor(s, w->n, -2)));
}

static void order_of_construction_does_not_show(void **state)
{
	World *w = *state;
	Size texts[2];
	for (int round = 0; round < 2; round++) {
		Sizes *s = sizes_new(w->arena);
		sizes_add_dim(s, (Dim){.name = "a"});
		sizes_add_dim(s, (Dim){.name = "b"});
		Size first = size_floor(s, size_dim(s, (DimId)round), 3);
		Size second = size_floor(s, size_dim(s, (DimId)(1 - round)), 3);
		assert_string_equal(size_text(w->arena, s, size_add(s, first, second)),
		                    "floor(a/3) + floor(b/3)");
		texts[round] = size_mul(s, first, second);
		assert_string_equal(size_text(w->arena, s, texts[round]), "floor(a/3)*floor(b/3)");
	}
}

static void what_is_too_large_is_bad(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	int64_t limit = (int64_t)1 << 62;
	Size large = size_const(s, limit), power = w->n, sum = w->one;
	assert_false(size_is_bad(large));
	assert_true(size_is_bad(size_const(s, limit + 1)));
	assert_true(size_is_bad(size_const(s, INT64_MIN)));
	assert_true(size_is_bad(size_plus(s, large, 1)));
	assert_true(size_is_bad(size_scale(s, large, 2)));
	assert_true(size_is_bad(size_scale(s, w->n, INT64_MIN)));
	assert_true(size_is_bad(size_mul(s, large, large)));
	assert_true(size_is_bad(size_add(s, SIZE_BAD, w->n)));
	assert_true(size_is_bad(size_sub(s, w->n, SIZE_BAD)));
	assert_true(size_is_bad(size_mul(s, size_const(s, 0), SIZE_BAD)));
	assert_true(size_is_bad(size_scale(s, SIZE_BAD, 0)));
	assert_true(size_is_bad(size_div(s, SIZE_BAD, w->n)));
	assert_true(size_is_bad(size_floor(s, SIZE_BAD, 2)));
	assert_true(size_is_bad(size_ceil(s, w->n, INT64_MAX)));
	for (int i = 1; i < 16; i++)
		power = size_mul(s, power, w->n);
	assert_false(size_is_bad(power));
	assert_true(size_is_bad(size_mul(s, power, w->n)));
	assert_string_equal(sizes_limit_text(s), "a term of it is a product of more than 16 dims");
	for (int i = 0; i < 12; i++)
		sum = size_mul(s, sum, size_add(s, size_add(s, w->n, w->m), size_plus(s, w->k, 1)));
	assert_false(size_is_bad(sum));
	Size deep = w->n;
	for (int i = 0; i < 100; i++)
		deep = size_floor(s, size_scale(s, size_plus(s, deep, 1), 2), 3);
	assert_true(size_is_bad(deep));
	assert_string_equal(sizes_limit_text(s), "quotients in it are nested more than 32 deep");
	assert_false(size_ge(s, SIZE_BAD, SIZE_BAD));
	assert_false(size_divides(s, SIZE_BAD, w->n));
}

/* A random size together with its value under several assignments, computed in plain integers. */
enum { SAMPLES = 6 };
typedef struct Pair {
	Size size;
	int64_t at[SAMPLES];
	bool valid[SAMPLES]; /* no quotient on the way failed to divide */
} Pair;

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static Pair random_leaf(World *w, int64_t values[SAMPLES][NDIMS])
{
	Pair leaf;
	int64_t constant = world_below(w, 9) - 4;
	DimId dim = (DimId)world_below(w, NDIMS);
	bool is_dim = world_below(w, 3) > 0;
	leaf.size = is_dim ? size_dim(w->sizes, dim) : size_const(w->sizes, constant);
	for (int i = 0; i < SAMPLES; i++) {
		leaf.at[i] = is_dim ? values[i][dim] : constant;
		leaf.valid[i] = true;
	}
	return leaf;
}

static Pair random_size(World *w, int depth, int64_t values[SAMPLES][NDIMS])
{
	if (depth == 0)
		return random_leaf(w, values);
	Pair a = random_size(w, depth - 1, values), b = random_size(w, depth - 1, values), r;
	int choice = (int)world_below(w, 7);
	int64_t k = 1 + world_below(w, 6);
	Sizes *s = w->sizes;
	r.size = choice < 2   ? size_add(s, a.size, b.size)
	         : choice < 3 ? size_sub(s, a.size, b.size)
	         : choice < 4 ? size_mul(s, a.size, b.size)
	         : choice < 5 ? size_floor(s, a.size, k)
	         : choice < 6 ? size_div(s, a.size, size_const(s, k))
	                      : size_div(s, a.size, b.size);
	for (int i = 0; i < SAMPLES; i++) {
		int64_t x = a.at[i], y = b.at[i], by = choice == 6 ? y : k;
		bool divides = choice < 5 || (by != 0 && x % by == 0);
		r.valid[i] = a.valid[i] && (choice >= 4 && choice < 6 ? true : b.valid[i]) && divides;
		r.at[i] = !r.valid[i]   ? 0
		          : choice < 2 ? x + y
		          : choice < 3 ? x - y
		          : choice < 4 ? x * y
		          : choice < 5 ? floor_div(x, k)
		                       : x / by;
	}
	return r;
}

static void normal_forms_keep_the_value(void **state)
{
	World *w = *state;
	int64_t values[SAMPLES][NDIMS];
	int checked = 0, programs = 0;
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < SAMPLES; i++)
			draw(w, values[i]);
		Pair p = random_size(w, (int)world_below(w, 4), values);
		if (size_is_bad(p.size))
			continue;
		SizeOp *ops;
		size_t nops = size_program(w->arena, w->sizes, p.size, &ops);
		for (int i = 0; i < SAMPLES; i++) {
			int64_t got;
			if (!p.valid[i])
				continue;
			bool known = size_eval(w->sizes, p.size, values[i], &got);
			assert_true(known);
			assert_int_equal(got, p.at[i]);
			assert_int_equal(run_program(ops, nops, values[i]), p.at[i]);
			programs += nops > 8;
			checked++;
		}
	}
	assert_true(checked > 20000);
	assert_true(programs > 1000);
}

static void algebra_holds(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	int64_t values[SAMPLES][NDIMS];
	for (int i = 0; i < SAMPLES; i++)
		draw(w, values[i]);
	for (int round = 0; round < 3000; round++) {
		Size a = random_size(w, 2, values).size, b = random_size(w, 2, values).size;
		Size c = random_size(w, 1, values).size;
		if (size_is_bad(a) || size_is_bad(b) || size_is_bad(c))
			continue;
		assert_true(size_same(size_add(s, a, b), size_add(s, b, a)));
		assert_true(size_same(size_mul(s, a, b), size_mul(s, b, a)));
		assert_true(size_same(size_add(s, size_add(s, a, b), c), size_add(s, a, size_add(s, b, c))));
		assert_true(size_same(size_sub(s, size_add(s, a, b), b), a));
		assert_true(size_same(size_mul(s, a, w->one), a));
		assert_true(size_same(size_scale(s, a, 3), size_add(s, a, size_add(s, a, a))));
		Size shifted = size_floor(s, size_plus(s, a, 6), 3);
		assert_true(size_same(shifted, size_plus(s, size_floor(s, a, 3), 2)));
	}
}

static void claims_for_all_values_are_true(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	int64_t values[SAMPLES][NDIMS];
	int claims = 0, divisions = 0;
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < SAMPLES; i++)
			draw(w, values[i]);
		for (int i = 0; i < NDIMS; i++)
			values[0][i] = at_least[i];
		Pair a = random_size(w, (int)world_below(w, 3), values), b = random_size(w, (int)world_below(w, 3), values);
		bool ge = size_ge(s, a.size, b.size), divides = size_divides(s, b.size, a.size);
		claims += ge;
		divisions += divides;
		for (int i = 0; i < SAMPLES; i++) {
			int64_t x, y;
			if (!a.valid[i] || !b.valid[i])
				continue;
			if (size_is_bad(a.size) || size_is_bad(b.size) || !size_eval(s, a.size, values[i], &x) ||
			    !size_eval(s, b.size, values[i], &y))
				continue;
			if (ge)
				assert_true(x >= y);
			if (divides)
				assert_true(y == 0 ? x == 0 : x % y == 0);
		}
	}
	assert_true(claims > 1000);
	assert_true(divisions > 1000);
}

/* A sum of multiples of floors and of dims, with its least value while dims are small. */
static Size random_floors(World *w, int64_t *least)
{
	enum { FLOORS = 3, MOST = 24 };
	Sizes *s = w->sizes;
	int64_t times[FLOORS], plus[FLOORS], by[FLOORS], single = world_below(w, 9) - 4;
	int n = 1 + (int)world_below(w, FLOORS);
	Size sum = size_scale(s, w->n, single);
	for (int i = 0; i < n; i++) {
		times[i] = world_below(w, 17) - 6;
		plus[i] = world_below(w, 9);
		by[i] = 1 + world_below(w, 7);
		Size of = size_plus(s, i == 1 ? size_add(s, w->n, w->m) : w->n, plus[i]);
		sum = size_add(s, sum, size_scale(s, size_floor(s, of, by[i]), times[i]));
	}
	*least = INT64_MAX;
	for (int64_t at = 0; at < MOST * MOST; at++) {
		int64_t value = single * (at / MOST);
		for (int i = 0; i < n; i++)
			value +=
				times[i] * ((at / MOST + (i == 1) * (at % MOST) + plus[i]) / by[i]);
		*least = value < *least ? value : *least;
	}
	return sum;
}

static void bounds_of_floors_are_no_greater_than_these(void **state)
{
	World *w = *state;
	int exact = 0;
	for (int round = 0; round < 4000; round++) {
		int64_t least;
		Size sum = random_floors(w, &least);
		exact += size_ge(w->sizes, sum, size_const(w->sizes, least));
		assert_false(size_ge(w->sizes, sum, size_const(w->sizes, least + 1)));
	}
	assert_true(exact > 1000);
}

/* Sums and products of dims and floors; the parts of a sum and the bounds that are told of it. */
static void parts_and_bounds_are_true(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	int64_t values[SAMPLES][NDIMS], found = 0, most, value;
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < SAMPLES; i++)
			draw(w, values[i]);
		Size a = random_size(w, (int)world_below(w, 4), values).size, b, c;
		Size atom = size_dim(s, (DimId)world_below(w, NDIMS)), floors[8];
		if (size_is_bad(a))
			continue;
		size_t n = size_floors(s, a, floors, 8);
		if (n)
			atom = floors[world_below(w, (int64_t)n)];
		if (size_split(s, a, atom, &b, &c)) {
			assert_true(size_same(size_add(s, size_mul(s, b, atom), c), a));
			found++;
		}
		DimId last = 0, dim;
		bool any = size_last_dim(s, a, &last);
		for (dim = 0; dim < NDIMS; dim++)
			assert_true(!size_uses_dim(s, a, dim) || (any && dim <= last));
		assert_true(!any || size_uses_dim(s, a, last));
		bool bounded = size_most(s, a, &most);
		for (int i = 0; i < SAMPLES; i++)
			if (bounded && size_eval(s, a, values[i], &value))
				assert_true(value <= most);
		found += bounded;
	}
	assert_true(found > 4000);
}

/* Floors of one sum by a number and by a multiple of it. */
static Size nested_floors(World *w, int64_t *least)
{
	Sizes *s = w->sizes;
	int64_t by = 2 + world_below(w, 3), of = world_below(w, 4);
	Size fine = size_floor(s, size_plus(s, w->n, of), by);
	of += by * world_below(w, 3);
	Size coarse = size_floor(s, size_plus(s, w->n, of), by * (2 + world_below(w, 3)));
	*least = 0;
	return size_sub(s, size_scale(s, fine, 1 + world_below(w, 8)),
			size_scale(s, coarse, 1 + world_below(w, 20)));
}

static void what_is_left_without_a_floor_is_no_greater_claim(void **state)
{
	enum { MOST = 24 };
	World *w = *state;
	Sizes *s = w->sizes;
	int used[FLOOR_WAYS] = {0};
	for (int round = 0; round < 4000; round++) {
		int64_t least, x, y, values[NDIMS] = {0, 0, 1, 3};
		Size a = world_below(w, 2) ? random_floors(w, &least) : nested_floors(w, &least);
		Size floors[4], less;
		size_t n = size_floors(s, a, floors, 4);
		FloorWay way = (FloorWay)world_below(w, FLOOR_WAYS);
		if (world_below(w, 2))
			a = size_plus(s, a, -least);
		if (n == 0 ||
		    !size_without_floor(s, a, floors[world_below(w, (int64_t)n)], way, &less))
			continue;
		bool holds = false;
		for (int64_t at = 0; at < MOST * MOST; at++) {
			values[0] = at / MOST;
			values[1] = at % MOST;
			assert_true(size_eval(s, a, values, &x) && size_eval(s, less, values, &y));
			assert_true(x >= 0 || y < 0);
			holds |= y >= 0;
		}
		used[way] += holds;
	}
	for (FloorWay way = 0; way < FLOOR_WAYS; way++)
		assert_true(used[way] > 20);
}

static void what_should_be_known_is_known(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	Size zero = size_const(s, 0), wide = size_dim(s, 3); /* wide >= 3 */
	assert_true(size_ge(s, w->n, zero));
	assert_false(size_ge(s, w->n, w->one));
	assert_true(size_ge(s, w->k, w->one));
	assert_true(size_ge(s, size_mul(s, w->n, w->k), w->n));
	assert_false(size_ge(s, size_mul(s, w->n, w->m), w->n));
	assert_true(size_ge(s, size_plus(s, wide, -2), w->one));
	assert_true(size_ge(s, w->n, size_floor(s, w->n, 2)));
	int64_t most;
	assert_true(
		size_most(s, size_sub(s, w->n, size_scale(s, size_floor(s, w->n, 64), 64)), &most));
	assert_int_equal(most, 63);
	assert_false(size_most(s, w->n, &most));
	assert_int_equal(size_content(s, affine(w, -6, 4)), 2);
	assert_int_equal(size_content(s, zero), 0);
	assert_true(size_only_adds(s, affine(w, 2, 3)) && !size_only_adds(s, affine(w, 2, -3)));
	assert_true(size_ge(s, w->k, size_ceil(s, w->k, 2)));
	Size whole = size_scale(s, size_ceil(s, w->n, 32), 32);
	assert_true(size_ge(s, whole, w->n));
	assert_false(size_ge(s, whole, size_plus(s, w->n, 1)));
	assert_true(size_ge(s, size_plus(s, size_scale(s, size_floor(s, w->n, 32), 32), 31), w->n));
	assert_false(
		size_ge(s, size_plus(s, size_scale(s, size_floor(s, w->n, 32), 32), 30), w->n));
	assert_true(size_ge(s, w->n, size_div(s, w->n, size_const(s, 2))));
	assert_true(size_ge(s, size_floor(s, size_plus(s, wide, -3), 2), zero));
	assert_false(size_ge(s, size_floor(s, size_plus(s, wide, -4), 2), zero));
	assert_true(size_ge(s, size_div(s, w->n, w->k), zero));
	assert_true(size_divides(s, size_const(s, 2), affine(w, 4, 6)));
	assert_false(size_divides(s, size_const(s, 2), affine(w, 4, 5)));
	assert_true(size_divides(s, w->m, size_mul(s, w->n, w->m)));
	assert_false(size_divides(s, w->m, w->n));
	assert_false(size_divides(s, zero, w->n));
	assert_true(size_divides(s, zero, zero));
}

static void questions_and_substitution(void **state)
{
	World *w = *state;
	Sizes *s = w->sizes;
	Size floor = size_floor(s, affine(w, 1, 1), 2);
	Size by_dim[NDIMS] = {size_const(s, 9), w->n, w->k, w->m};
	int64_t value;
	DimId dim;
	assert_true(size_is_const(s, size_const(s, 5), &value) && value == 5);
	assert_true(size_is_const(s, size_sub(s, w->n, w->n), &value) && value == 0);
	assert_false(size_is_const(s, w->n, &value));
	assert_false(size_is_const(s, SIZE_BAD, &value));
	assert_true(size_is(s, w->one, 1));
	assert_true(size_is_dim(s, w->m, &dim) && dim == 1);
	assert_false(size_is_dim(s, size_scale(s, w->m, 2), &dim));
	assert_false(size_is_dim(s, floor, &dim));
	assert_false(size_is_dim(s, SIZE_BAD, &dim));
	assert_true(size_uses_dim(s, floor, 0));
	assert_false(size_uses_dim(s, floor, 1));
	assert_text(w, size_substitute(s, floor, by_dim), "5");
	assert_text(w, size_substitute(s, size_add(s, w->n, size_mul(s, w->m, w->m)), by_dim), "n*n + 9");
	assert_text(w, size_substitute(s, size_div(s, w->m, w->k), by_dim), "n/k");
	assert_true(size_is_bad(size_substitute(s, SIZE_BAD, by_dim)));
	assert_true(size_is_bad(size_dim(s, 77)));
	int64_t values[NDIMS] = {3, INT64_MAX, 1, 1};
	assert_false(size_eval(s, size_div(s, w->n, size_const(s, 2)), values, &value));
	assert_false(size_eval(s, size_plus(s, w->m, 1), values, &value));
	assert_false(size_eval(s, size_mul(s, w->m, w->n), values, &value));
	assert_false(size_eval(s, SIZE_BAD, values, &value));
	assert_int_equal(sizes_ndims(s), NDIMS);
	assert_string_equal(sizes_dim(s, 1)->name, "m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes_print_as_they_are_written, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(roots_are_those_for_all_values, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(quotients_are_carried_out, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(order_of_construction_does_not_show, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(what_is_too_large_is_bad, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(normal_forms_keep_the_value, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(algebra_holds, make_world, world_teardown),
		cmocka_unit_test_setup_teardown(claims_for_all_values_are_true, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(bounds_of_floors_are_no_greater_than_these,
						make_world, world_teardown),
		cmocka_unit_test_setup_teardown(parts_and_bounds_are_true, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(what_is_left_without_a_floor_is_no_greater_claim,
						make_world, world_teardown),
		cmocka_unit_test_setup_teardown(what_should_be_known_is_known, make_world,
						world_teardown),
		cmocka_unit_test_setup_teardown(questions_and_substitution, make_world,
						world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
