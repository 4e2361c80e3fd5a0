/* The bounds of the reference: what is computed in the types themselves, in any order, from operands
 * anywhere within their errors, lies within them; and they are tight. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/threefry.h"
#include "reference/element.h"

static const Rules none;
static uint64_t seed = 1, next_word;

static uint32_t word(void) { return threefry_word(seed, 0, next_word++); }

static double unit(void) { return threefry_uniform(word()); }

/* Numbers of all sizes, often small whole ones and halves. */
static double number(Dtype dtype)
{
	static const double special[] = {0,	-0.0,	  1,   -1,	INFINITY,   -INFINITY,
					 NAN, 0x1.fffffep127, 0.5, 1e-45, 0x1p-126,	88.8};
	double x;
	switch (word() % 8) {
	case 0: x = special[word() % (sizeof special / sizeof *special)]; break;
	case 1: x = ldexp(unit() - 0.5, (int)(word() % 60) - 30); break;
	case 2:
	case 3: x = ((int)(word() % 33) - 16) / 2.0; break;
	default: x = 8 * unit() - 4;
	}
	return (double)element_round(dtype, x);
}

static Scalar evaluated(Op op, Dtype dtype, const double *x)
{
	Scalar args[3] = {{.f = x[0]}, {.f = x[1]}, {.f = x[2]}};
	return op_eval(op, dtype, args);
}

static void expect(Op op, Dtype dtype, const RefElement *args, const double *x)
{
	RefElement element = element_op(&none, op, dtype, args);
	Scalar got = evaluated(op, dtype, x);
	if (!ref_allows(&element, dtype, got))
		fail_msg("%s(%g, %g, %g) is %.17g, and %.17g +- %g is allowed", op_name(op), x[0],
			 x[1], x[2], got.f, (double)element.x, element.error);
}

static bool is_of_numbers(Op op) { return op != OP_THREEFRY && op != OP_ZIP && op != OP_ROTATE; }

static void operations_are_within_their_bounds(void **state)
{
	(void)state;
	for (Op op = 0; op < OP_COUNT; op++)
		for (int i = 0; i < 4000 && is_of_numbers(op); i++) {
			Dtype dtype = i % 2 ? DTYPE_F32 : DTYPE_F64;
			double x[3] = {number(dtype), number(dtype), number(dtype)};
			RefElement args[3] = {element_exact(x[0]), element_exact(x[1]),
					      element_exact(x[2])};
			expect(op, dtype, args, x);
			for (int k = 0; k < 3; k++) {
				double error = isfinite(x[k]) && word() % 2
						       ? fabs(x[k]) * ldexp(1, 3 - (int)(word() % 33))
						       : 0;
				args[k].error = error;
				x[k] = (double)element_round(dtype,
							     x[k] + (2 * unit() - 1) * error);
				args[k].error = fmax(error, (double)fabsl(x[k] - args[k].x));
			}
			expect(op, dtype, args, x);
		}
}

static void exact_arithmetic_has_no_error(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		double x = ((int)(word() % 257) - 128) / 64.0, y = ((int)(word() % 257) - 128) / 64.0;
		RefElement args[] = {element_exact(x), element_exact(y)};
		for (Op op = OP_ADD; op <= OP_MUL; op++) {
			RefElement element = element_op(&none, op, DTYPE_F32, args);
			assert_true(element.error == 0);
		}
		RefElement third = element_op(&none, OP_DIV, DTYPE_F32,
					      (RefElement[]){args[0], element_exact(3)});
		assert_true(third.error <= fabs(x) * 0x1p-25);
	}
}

/* ---- many terms ---- */

enum { TERMS = 200 };

/* Adds the terms in f32 in an order of its own: one after another, or the halves of what is left. */
static float folded(Op op, const float *terms, int n, int order)
{
	if (n == 1)
		return terms[0];
	int cut = order == 0 ? 1 : order == 1 ? n - 1 : 1 + (int)(word() % (uint32_t)(n - 1));
	float a = folded(op, terms, cut, order), b = folded(op, terms + cut, n - cut, order);
	return op == OP_ADD ? a + b : a * b;
}

static RefElement fold_of(Op op, const float *terms, int n)
{
	Fold fold;
	fold_start(&fold, op, DTYPE_F32);
	for (int i = 0; i < n; i++) {
		RefElement term = element_exact(terms[i]);
		fold_add(&fold, op, DTYPE_F32, &term);
	}
	return fold_end(&fold, op, DTYPE_F32);
}

static void expect_orders(Op op, const float *terms, int n)
{
	RefElement element = fold_of(op, terms, n);
	for (int order = 0; order < 6; order++) {
		Scalar got = {.f = folded(op, terms, n, order)};
		if (!ref_allows(&element, DTYPE_F32, got))
			fail_msg("%s of %d terms is %.9g, and %.9g +- %g is allowed", op_name(op),
				 n, got.f, (double)element.x, element.error);
	}
}

static void folds_are_within_their_bounds_in_any_order(void **state)
{
	(void)state;
	float terms[TERMS];
	for (int i = 0; i < 400; i++) {
		int n = 1 + (int)(word() % TERMS), size = (int)(word() % 40);
		for (int k = 0; k < n; k++)
			terms[k] = (float)ldexp(unit() - 0.5, size - 20 + (int)(word() % 8));
		expect_orders(OP_ADD, terms, n);
		expect_orders(OP_MUL, terms, n);
	}
	for (int i = 0; i < 400; i++) { /* infinities, NaN, overflows on the way */
		int n = 1 + (int)(word() % 6);
		for (int k = 0; k < n; k++)
			terms[k] = (float)number(DTYPE_F32);
		expect_orders(OP_ADD, terms, n);
		expect_orders(OP_MUL, terms, n);
	}
}

static void sums_of_small_multiples_are_exact(void **state)
{
	(void)state;
	float terms[TERMS];
	for (int i = 0; i < TERMS; i++)
		terms[i] = (float)((int)(word() % 4097) - 2048) / 4096;
	assert_true(fold_of(OP_ADD, terms, TERMS).error == 0);
	expect_orders(OP_ADD, terms, TERMS);
	terms[3] = 0x1p-40f;
	RefElement element = fold_of(OP_ADD, terms, TERMS);
	assert_true(element.error > 0 && element.error < 1e-3);
}

static void a_single_term_is_as_it_is(void **state)
{
	(void)state;
	static const Op ops[] = {OP_ADD, OP_MUL, OP_MAX};
	for (int i = 0; i < 3; i++) {
		Fold fold;
		RefElement term = {.x = 0.3L, .error = 1e-7};
		fold_start(&fold, ops[i], DTYPE_F32);
		fold_add(&fold, ops[i], DTYPE_F32, &term);
		RefElement same = fold_end(&fold, ops[i], DTYPE_F32);
		assert_true(same.x == term.x && same.error >= term.error && same.error < 1.1e-7);
	}
}

/* ---- what rounding decides ---- */

static void rounding_that_decides_shows(void **state)
{
	(void)state;
	RefElement near = {.x = 2, .error = 1e-6}, two = element_exact(2),
		   below = element_exact(1.5);
	RefElement whole = element_op(&none, OP_FLOOR, DTYPE_F32, &near);
	assert_true(whole.jumps && whole.error == 1);
	assert_true(ref_allows(&whole, DTYPE_F32, (Scalar){.f = 1}));
	assert_false(ref_allows(&whole, DTYPE_F32, (Scalar){.f = 4}));
	RefElement less = element_op(&none, OP_LT, DTYPE_F32, (RefElement[]){near, two});
	assert_true(less.jumps && less.error == 1);
	less = element_op(&none, OP_LT, DTYPE_F32, (RefElement[]){below, near});
	assert_true(less.x == 1 && less.error == 0);
	RefElement cast = element_convert(near, DTYPE_F32, DTYPE_I32);
	assert_true(cast.jumps && ref_allows(&cast, DTYPE_I32, (Scalar){.i = 1}));
	RefElement chosen =
		element_op(&none, OP_WHERE, DTYPE_F32, (RefElement[]){whole, below, two});
	assert_false(chosen.jumps && chosen.error == 0);
	RefElement zero = {.error = 1e-9};
	zero = element_op(&none, OP_RECIP, DTYPE_F32, &zero);
	assert_true(element_is_unknown(&zero));
}

static void conversions_are_those_of_the_types(void **state)
{
	(void)state;
	static const Dtype types[] = {DTYPE_F64, DTYPE_F32, DTYPE_BF16,	  DTYPE_F16,   DTYPE_I32,
				      DTYPE_I8,	 DTYPE_U8,  DTYPE_F8E4M3, DTYPE_F8E5M2};
	enum { NTYPES = sizeof types / sizeof *types };
	for (int i = 0; i < 20000; i++) {
		Dtype from = types[word() % NTYPES], to = types[word() % NTYPES];
		bool real = dtype_is_float(from);
		Scalar x = {.i = 0};
		if (real)
			x.f = (double)element_round(from, number(from));
		else
			x = scalar_convert((Scalar){.i = (int32_t)word()}, DTYPE_I32, from);
		RefElement element = element_exact(real ? (long double)x.f : (long double)x.i);
		element = element_convert(element, from, to);
		assert_true(element.error == 0 || from == to);
		assert_true(ref_allows(&element, to, scalar_convert(x, from, to)));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_are_within_their_bounds),
		cmocka_unit_test(exact_arithmetic_has_no_error),
		cmocka_unit_test(folds_are_within_their_bounds_in_any_order),
		cmocka_unit_test(sums_of_small_multiples_are_exact),
		cmocka_unit_test(a_single_term_is_as_it_is),
		cmocka_unit_test(rounding_that_decides_shows),
		cmocka_unit_test(conversions_are_those_of_the_types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
