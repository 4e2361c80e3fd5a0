/* Scalar operations and element types. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/element.h"
#include "base/ops.h"

static double real(Op op, Dtype dtype, double x, double y, double z)
{
	Scalar args[3] = {{.f = x}, {.f = y}, {.f = z}};
	return op_eval(op, dtype, args).f;
}

static int64_t whole(Op op, Dtype dtype, int64_t x, int64_t y)
{
	Scalar args[3] = {{.i = x}, {.i = y}, {.i = 0}};
	return op_eval(op, dtype, args).i;
}

static int64_t to_int(double value, Dtype to)
{
	return scalar_convert((Scalar){.f = value}, DTYPE_F64, to).i;
}

static double to_real(double value, Dtype to)
{
	return scalar_convert((Scalar){.f = value}, DTYPE_F64, to).f;
}

static void names_lead_to_operations(void **state)
{
	(void)state;
	for (Op op = 0; op < OP_COUNT; op++) {
		Op found = op_from_name(op_name(op), strlen(op_name(op)));
		assert_true(found == op || found == OP_NONE);
		assert_in_range(op_arity(op), 1, 3);
	}
	assert_int_equal(op_from_name("relu", 4), OP_RELU);
	assert_int_equal(op_from_name("relu_gate", 4), OP_RELU);
	assert_int_equal(op_from_name("add", 3), OP_NONE); /* an infix operator is no function */
	assert_int_equal(op_from_name("", 0), OP_NONE);
	assert_string_equal(op_symbol(OP_MUL), ".*");
	assert_null(op_symbol(OP_RELU));
}

static void neutral_elements_change_nothing(void **state)
{
	(void)state;
	static const double reals[] = {0, 1, -1, 2.5, -1e30, INFINITY, -INFINITY};
	static const int64_t wholes[] = {0, 1, -1, 100, -100};
	static const Op ops[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN, OP_SUB, OP_DIV, OP_POW};
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
			for (Dtype d = DTYPE_F64; d <= DTYPE_F32; d++) {
				double x = to_real(reals[i], d);
				assert_true(real(ops[o], d, x, op_neutral(ops[o], d).f, 0) == x);
			}
		for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
			for (Dtype d = DTYPE_I64; d <= DTYPE_I8; d++)
				assert_int_equal(whole(ops[o], d, wholes[i], op_neutral(ops[o], d).i), wholes[i]);
	}
	assert_int_equal(op_neutral(OP_MAX, DTYPE_I32).i, INT32_MIN);
	assert_int_equal(op_neutral(OP_MAX, DTYPE_U8).i, 0);
	assert_int_equal(op_neutral(OP_MIN, DTYPE_U32).i, UINT32_MAX);
	assert_true(op_neutral(OP_AND, DTYPE_F32).f == 1);
	assert_true(op_neutral(OP_OR, DTYPE_F32).f == 0);
	assert_true(op_accumulates(OP_MAX));
	assert_false(op_accumulates(OP_SUB));
}

static void floats_round_after_each_operation(void **state)
{
	(void)state;
	assert_true(real(OP_ADD, DTYPE_F32, 16777216, 1, 0) == 16777216);
	assert_true(real(OP_ADD, DTYPE_F64, 16777216, 1, 0) == 16777217);
	assert_true(real(OP_DIV, DTYPE_F32, 1, 3, 0) == (double)(1.0f / 3.0f));
	assert_true(real(OP_EXP, DTYPE_F32, 1, 0, 0) == (double)expf(1.0f));
	assert_true(real(OP_EXP, DTYPE_F64, 1, 0, 0) == exp(1.0));
	double tiny = ldexp(1, -12);
	double fused = real(OP_FMA, DTYPE_F32, 1 + tiny, 1 + tiny, -1 - 2 * tiny);
	assert_true(fused == tiny * tiny);
	assert_true(real(OP_ADD, DTYPE_BF16, 256, 1, 0) == 256);
	assert_true(real(OP_ADD, DTYPE_F16, 2048, 1, 0) == 2048);
	assert_true(real(OP_MUL, DTYPE_F16, 300, 300, 0) == INFINITY);
}

static void functions_have_their_meaning(void **state)
{
	(void)state;
	const Dtype d = DTYPE_F64;
	assert_true(real(OP_RELU, d, -2, 0, 0) == 0 && real(OP_RELU, d, 2, 0, 0) == 2);
	assert_true(real(OP_SAT01, d, -2, 0, 0) == 0 && real(OP_SAT01, d, 3, 0, 0) == 1);
	assert_true(real(OP_SAT01, d, 0.25, 0, 0) == 0.25);
	assert_true(real(OP_RELU_GATE, d, 0, 7, 0) == 0 && real(OP_RELU_GATE, d, 1e-9, 7, 0) == 7);
	assert_true(real(OP_SAT01_GATE, d, 1, 7, 0) == 0 && real(OP_SAT01_GATE, d, 0.5, 7, 0) == 7);
	assert_true(real(OP_SIGN, d, -0.0, 0, 0) == 0 && real(OP_SIGN, d, -3, 0, 0) == -1);
	assert_true(real(OP_ROUND, d, 2.5, 0, 0) == 2 && real(OP_ROUND, d, -3.5, 0, 0) == -4);
	assert_true(real(OP_MOD, d, -7, 3, 0) == 2 && real(OP_MOD, d, 7, -3, 0) == -2);
	assert_true(real(OP_MOD, d, 6, 3, 0) == 0 && real(OP_MOD, DTYPE_F32, -1, 4, 0) == 3);
	assert_true(real(OP_WHERE, d, 0, 1, 2) == 2 && real(OP_WHERE, d, -1, 1, 2) == 1);
	assert_true(real(OP_AND, d, 2, 0, 0) == 0 && real(OP_OR, d, 2, 0, 0) == 1);
	assert_true(real(OP_NOT, d, 0, 0, 0) == 1 && real(OP_LE, d, 1, 1, 0) == 1);
	assert_true(real(OP_SIGMOID, d, 0, 0, 0) == 0.5 && real(OP_SIGMOID, d, -1000, 0, 0) == 0);
	assert_true(real(OP_GELU, d, 0, 0, 0) == 0);
	assert_true(fabs(real(OP_GELU, d, 1, 0, 0) - 0.84134474606854293) < 1e-15);
	assert_true(real(OP_RSQRT, d, 4, 0, 0) == 0.5 && real(OP_RECIP, d, 4, 0, 0) == 0.25);
	assert_true(real(OP_POW, d, 2, 10, 0) == 1024);
	assert_true(real(OP_TF32, DTYPE_F32, 0x1.001p0, 0, 0) == 1);
	assert_true(real(OP_TF32, DTYPE_F32, -0x1.002p0, 0, 0) == -0x1.004p0);
	assert_true(real(OP_TF32, DTYPE_F32, 0x1.8p-137, 0, 0) == 0x1p-136);
	assert_true(real(OP_TF32, DTYPE_F32, 0x1.ffep127, 0, 0) == (double)INFINITY);
	assert_true(real(OP_TF32, DTYPE_F32, -(double)INFINITY, 0, 0) == -(double)INFINITY);
}

static void nan_passes_on(void **state)
{
	(void)state;
	static const Op ops[] = {OP_ADD,   OP_MUL, OP_MAX, OP_MIN, OP_RELU,
	                         OP_SAT01, OP_EXP, OP_ABS, OP_MOD};
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		assert_true(isnan(real(ops[o], DTYPE_F64, (double)NAN, 1, 0)));
		assert_true(isnan(real(ops[o], DTYPE_F32, (double)NAN, 1, 0)));
		if (op_arity(ops[o]) == 2)
			assert_true(isnan(real(ops[o], DTYPE_F64, 1, (double)NAN, 0)));
	}
	assert_true(real(OP_EQ, DTYPE_F64, (double)NAN, (double)NAN, 0) == 0);
	assert_true(real(OP_SIGN, DTYPE_F64, (double)NAN, 0, 0) == 0);
}

static void integers_wrap_and_never_trap(void **state)
{
	(void)state;
	assert_int_equal(whole(OP_ADD, DTYPE_I32, INT32_MAX, 1), INT32_MIN);
	assert_int_equal(whole(OP_ADD, DTYPE_U8, 255, 1), 0);
	assert_int_equal(whole(OP_SUB, DTYPE_U32, 0, 1), UINT32_MAX);
	assert_int_equal(whole(OP_MUL, DTYPE_I8, 100, 3), 44);
	assert_int_equal(whole(OP_NEG, DTYPE_I64, INT64_MIN, 0), INT64_MIN);
	assert_int_equal(whole(OP_ABS, DTYPE_I32, INT32_MIN, 0), INT32_MIN);
	assert_int_equal(whole(OP_DIV, DTYPE_I64, INT64_MIN, -1), INT64_MIN);
	assert_int_equal(whole(OP_DIV, DTYPE_I32, INT32_MIN, -1), INT32_MIN);
	assert_int_equal(whole(OP_DIV, DTYPE_I32, 7, 0), 0);
	assert_int_equal(whole(OP_DIV, DTYPE_I32, -7, 2), -3);
	assert_int_equal(whole(OP_MOD, DTYPE_I32, 7, 0), 0);
	assert_int_equal(whole(OP_MOD, DTYPE_I64, INT64_MIN, -1), 0);
	for (int64_t a = -9; a <= 9; a++)
		for (int64_t b = -4; b <= 4; b++) {
			if (b == 0)
				continue;
			int64_t r = whole(OP_MOD, DTYPE_I32, a, b);
			assert_int_equal(r, a - b * (int64_t)floor((double)a / (double)b));
		}
	assert_int_equal(whole(OP_POW, DTYPE_I32, 3, 4), 81);
	assert_int_equal(whole(OP_POW, DTYPE_I32, 2, 32), 0);
	assert_int_equal(whole(OP_POW, DTYPE_I32, -1, -3), -1);
	assert_int_equal(whole(OP_POW, DTYPE_I32, 2, -1), 0);
	assert_int_equal(whole(OP_POW, DTYPE_I32, 0, 0), 1);
	assert_int_equal(whole(OP_POW, DTYPE_I64, 3, INT64_MAX), whole(OP_POW, DTYPE_I64, 3, INT64_MAX));
}

static void conversions_saturate_or_wrap(void **state)
{
	(void)state;
	assert_int_equal(to_int(2.9, DTYPE_I32), 2);
	assert_int_equal(to_int(-2.9, DTYPE_I32), -2);
	assert_int_equal(to_int(1e30, DTYPE_I32), INT32_MAX);
	assert_int_equal(to_int(-1e30, DTYPE_I64), INT64_MIN);
	assert_int_equal(to_int((double)INFINITY, DTYPE_I64), INT64_MAX);
	assert_int_equal(to_int(9223372036854774784.0, DTYPE_I64), 9223372036854774784);
	assert_int_equal(to_int(-1, DTYPE_U8), 0);
	assert_int_equal(to_int(300, DTYPE_U8), 255);
	assert_int_equal(to_int((double)NAN, DTYPE_I32), 0);
	assert_int_equal(scalar_convert((Scalar){.i = 300}, DTYPE_I32, DTYPE_U8).i, 44);
	assert_int_equal(scalar_convert((Scalar){.i = -1}, DTYPE_I64, DTYPE_U32).i, UINT32_MAX);
	assert_true(scalar_convert((Scalar){.i = 16777217}, DTYPE_I32, DTYPE_F32).f == 16777216);
	/* by way of double it would round twice, and up */
	assert_true(scalar_convert((Scalar){.i = (1LL << 54) + (1LL << 30) + 1}, DTYPE_I64, DTYPE_F32).f ==
	            (double)((1LL << 54) + (1LL << 31)));
	assert_true(to_real(0.1, DTYPE_F32) == (double)0.1f);
}

static void small_floats_round_to_even(void **state)
{
	(void)state;
	assert_true(to_real(65504, DTYPE_F16) == 65504);
	assert_true(to_real(65519.99, DTYPE_F16) == 65504);
	assert_true(to_real(65520, DTYPE_F16) == INFINITY);
	assert_true(to_real(2049, DTYPE_F16) == 2048);
	assert_true(to_real(2051, DTYPE_F16) == 2052);
	assert_true(to_real(ldexp(1, -24), DTYPE_F16) == ldexp(1, -24));
	assert_true(to_real(ldexp(1, -25), DTYPE_F16) == 0);
	assert_true(to_real(ldexp(3, -25), DTYPE_F16) == ldexp(1, -23));
	assert_true(to_real(257, DTYPE_BF16) == 256);
	assert_true(to_real(259, DTYPE_BF16) == 260);
	assert_true(to_real(3.4e38, DTYPE_BF16) == INFINITY);
	assert_true(to_real(ldexp(1, -133), DTYPE_BF16) == ldexp(1, -133));
	assert_true(signbit(to_real(-0.0, DTYPE_F16)));
	assert_true(isnan(to_real((double)NAN, DTYPE_BF16)));
}

/* Every pattern of 16 bits is its value's, and what lies between two neighbours goes to the nearer
 * one, or to the even one. */
static void check_halves(uint16_t (*bits_of)(float), float (*value_of)(uint16_t), uint16_t infinity)
{
	for (uint32_t bits = 0; bits <= 0xffff; bits++) {
		float value = value_of((uint16_t)bits), next = value_of((uint16_t)(bits + 1));
		if ((bits & 0x7fff) > infinity) {
			assert_true(isnan(value) && isnan(value_of(bits_of(value))));
			continue;
		}
		assert_int_equal(bits_of(value), bits);
		if ((bits & 0x7fff) == infinity || (bits & 0x7fff) == infinity - 1u)
			continue;
		float middle = (float)(((double)value + (double)next) / 2);
		assert_int_equal(bits_of(middle), bits & 1 ? bits + 1 : bits);
		assert_int_equal(bits_of(nextafterf(middle, value)), bits);
		assert_int_equal(bits_of(nextafterf(middle, next)), bits + 1);
	}
}

static void halves_round_to_nearest(void **state)
{
	(void)state;
	check_halves(bf16_bits, bf16_value, 0x7f80);
	check_halves(f16_bits, f16_value, 0x7c00);
	assert_true(f16_value(0x3c01) == 1 + 0x1p-10f && f16_value(1) == 0x1p-24f);
	assert_true(bf16_value(0x3f81) == 1 + 0x1p-7f && bf16_value(0x8001) == -0x1p-133f);
	assert_int_equal(f16_bits(65519.996f), 0x7bff);
	assert_int_equal(f16_bits(-65520.0f), 0xfc00);
	assert_int_equal(bf16_bits(FLT_MAX), 0x7f80);
}

/* Every pattern of 8 bits, and what lies between neighbours. */
static void check_eighths(uint8_t (*bits_of)(float), float (*value_of)(uint8_t), uint8_t greatest)
{
	for (int bits = 0; bits <= greatest; bits++) {
		float value = value_of((uint8_t)bits), next = value_of((uint8_t)(bits + 1));
		assert_int_equal(bits_of(value), bits);
		assert_int_equal(bits_of(-value), bits | 0x80);
		assert_true(value_of((uint8_t)(bits | 0x80)) == -value);
		if (bits == greatest)
			continue;
		float middle = (value + next) / 2;
		assert_int_equal(bits_of(middle), bits & 1 ? bits + 1 : bits);
		assert_int_equal(bits_of(nextafterf(middle, value)), bits);
		assert_int_equal(bits_of(nextafterf(middle, next)), bits + 1);
	}
}

static void eighths_round_to_nearest(void **state)
{
	(void)state;
	check_eighths(f8e4m3_bits, f8e4m3_value, 0x7e);
	check_eighths(f8e5m2_bits, f8e5m2_value, 0x7b);
	assert_true(f8e4m3_value(0x7e) == 448 && f8e4m3_value(1) == 0x1p-9f);
	assert_true(f8e5m2_value(0x7b) == 57344 && f8e5m2_value(0xfc) == -INFINITY);
	assert_int_equal(f8e4m3_bits(-INFINITY), 0xfe);
	assert_int_equal(f8e4m3_bits(FLT_MAX), 0x7e);
	assert_int_equal(f8e5m2_bits(61439.996f), 0x7b);
	assert_int_equal(f8e5m2_bits(61440), 0x7c);
	assert_int_equal(f8e5m2_bits(-FLT_MAX), 0xfc);
	assert_true(isnan(f8e4m3_value(0x7f)) && isnan(f8e5m2_value(0x7d)));
	assert_int_equal(f8e4m3_bits(NAN) & 0x7f, 0x7f);
	assert_int_equal(f8e5m2_bits(NAN) & 0x7f, 0x7f);
}

static void types_join(void **state)
{
	(void)state;
	static const struct {
		Dtype a, b, joined;
	} cases[] = {
		{DTYPE_F64, DTYPE_F32, DTYPE_F64},  {DTYPE_F32, DTYPE_BF16, DTYPE_F32},
		{DTYPE_BF16, DTYPE_F16, DTYPE_F32}, {DTYPE_F16, DTYPE_F16, DTYPE_F32},
		{DTYPE_I32, DTYPE_F16, DTYPE_F32},  {DTYPE_I64, DTYPE_F32, DTYPE_F32},
		{DTYPE_I8, DTYPE_I32, DTYPE_I32},   {DTYPE_I32, DTYPE_U32, DTYPE_I64},
		{DTYPE_BOOL, DTYPE_I8, DTYPE_I32},  {DTYPE_BOOL, DTYPE_F32, DTYPE_F32},
		{DTYPE_NONE, DTYPE_I8, DTYPE_I32},   {DTYPE_NONE, DTYPE_NONE, DTYPE_NONE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(dtype_join(cases[i].a, cases[i].b), cases[i].joined);
		assert_int_equal(dtype_join(cases[i].b, cases[i].a), cases[i].joined);
	}
	for (Dtype d = 0; d < DTYPE_COUNT; d++) {
		assert_int_equal(dtype_in_loops(dtype_name(d), strlen(dtype_name(d))), d);
		assert_int_equal(dtype_join(d, d), dtype_wide(d));
		assert_true(dtype_bytes(d) > 0);
	}
	assert_int_equal(dtype_from_name("u8", 2), DTYPE_U8);
	assert_int_equal(dtype_from_name("i16", 3), DTYPE_NONE);
	assert_int_equal(dtype_from_name("f3", 2), DTYPE_NONE);
	assert_int_equal(dtype_from_name("", 0), DTYPE_NONE);
	assert_true(dtype_is_float(DTYPE_BF16) && !dtype_is_float(DTYPE_U8));
	assert_true(dtype_is_integer(DTYPE_U8) && !dtype_is_integer(DTYPE_U4X32));
}

static Dtype result(Op op, Dtype a, Dtype b)
{
	Dtype args[2] = {a, b};
	return op_result_dtype(op, args, op_arity(op) < 2 ? op_arity(op) : 2);
}

static void results_have_their_types(void **state)
{
	(void)state;
	assert_int_equal(result(OP_ADD, DTYPE_I32, DTYPE_I8), DTYPE_I32);
	assert_int_equal(result(OP_ADD, DTYPE_I32, DTYPE_F32), DTYPE_F32);
	assert_int_equal(result(OP_DIV, DTYPE_I32, DTYPE_I32), DTYPE_F32);
	assert_int_equal(result(OP_DIV, DTYPE_F64, DTYPE_I32), DTYPE_F64);
	assert_int_equal(result(OP_MOD, DTYPE_I32, DTYPE_I32), DTYPE_I32);
	assert_int_equal(result(OP_LT, DTYPE_I32, DTYPE_I32), DTYPE_F32);
	assert_int_equal(result(OP_AND, DTYPE_F64, DTYPE_F64), DTYPE_F32);
	assert_int_equal(result(OP_NOT, DTYPE_I32, DTYPE_NONE), DTYPE_F32);
	assert_int_equal(result(OP_EXP, DTYPE_I32, DTYPE_NONE), DTYPE_F32);
	assert_int_equal(result(OP_EXP, DTYPE_F64, DTYPE_NONE), DTYPE_F64);
	assert_int_equal(result(OP_ABS, DTYPE_I32, DTYPE_NONE), DTYPE_I32);
	assert_int_equal(result(OP_ADD, DTYPE_NONE, DTYPE_NONE), DTYPE_NONE);
}

static void words(void **state)
{
	(void)state;
	Scalar x = scalar_convert((Scalar){.i = -2}, DTYPE_I32, DTYPE_U4X32);
	assert_memory_equal(x.w, ((uint32_t[]){0xfffffffe, 0xffffffff, 0, 0}), 16);
	Scalar y = {.w = {5, 6, 7, 0x80000000}}, args[2] = {x, y};
	assert_memory_equal(op_eval(OP_ZIP, DTYPE_U4X32, args).w,
			    ((uint32_t[]){0xfffffffe, 5, 0xffffffff, 6}), 16);
	y = op_eval(OP_ROTATE, DTYPE_U4X32, &y);
	assert_memory_equal(y.w, ((uint32_t[]){6, 7, 0x80000000, 5}), 16);
	Scalar half = {.w = {0x80000000, 1, 2, 3}};
	assert_true(scalar_convert(half, DTYPE_U4X32, DTYPE_F32).f == 0.5);
	Scalar none[2] = {{.w = {0}}, {.w = {0}}};
	assert_memory_equal(op_eval(OP_THREEFRY, DTYPE_U4X32, none).w,
			    ((uint32_t[]){0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}), 16);
	uint32_t memory[8];
	scalar_write(DTYPE_U4X32, memory, 1, half);
	assert_memory_equal(scalar_read(DTYPE_U4X32, memory, 1).w, half.w, 16);
}

static int64_t key(Dtype dtype, double value) { return scalar_key((Scalar){.f = value}, dtype).i; }

static void keys_are_in_the_order_of_numbers(void **state)
{
	const Dtype types[] = {DTYPE_F32, DTYPE_F64};
	const double x[] = {-INFINITY, -0x1p127, -1.5, -1,	-0x1p-149, 0,
			    0x1p-149,  1,	 1.5,  0x1p127, INFINITY,  NAN};
	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 1; i < sizeof x / sizeof *x; i++)
			assert_true(key(types[t], x[i - 1]) < key(types[t], x[i]));
		assert_int_equal(key(types[t], -0.0), 0);
		assert_int_equal(key(types[t], -NAN), key(types[t], NAN));
	}
	assert_int_equal(key(DTYPE_F32, 1), 0x3f800000);
	assert_int_equal(key(DTYPE_F32, NAN), INT32_MAX);
	assert_int_equal(dtype_of_key(DTYPE_F32), DTYPE_I32);
	assert_int_equal(dtype_of_key(DTYPE_F64), DTYPE_I64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_to_operations),
		cmocka_unit_test(neutral_elements_change_nothing),
		cmocka_unit_test(floats_round_after_each_operation),
		cmocka_unit_test(functions_have_their_meaning),
		cmocka_unit_test(nan_passes_on),
		cmocka_unit_test(integers_wrap_and_never_trap),
		cmocka_unit_test(conversions_saturate_or_wrap),
		cmocka_unit_test(small_floats_round_to_even),
		cmocka_unit_test(halves_round_to_nearest),
		cmocka_unit_test(eighths_round_to_nearest),
		cmocka_unit_test(types_join),
		cmocka_unit_test(results_have_their_types),
		cmocka_unit_test(words),
		cmocka_unit_test(keys_are_in_the_order_of_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
