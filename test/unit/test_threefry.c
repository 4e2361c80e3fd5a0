/* Threefry-4x32-20 against its published known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/threefry.h"

static void expect(const uint32_t key[4], const uint32_t counter[4], const uint32_t want[4])
{
	uint32_t got[4];
	threefry4x32(key, counter, got);
	assert_memory_equal(got, want, sizeof got);
}

static void published_answers(void **state)
{
	(void)state;
	const uint32_t zero[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
	expect(zero, zero, (uint32_t[]){0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8});
	expect(ones, ones, (uint32_t[]){0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732});
	expect((uint32_t[]){0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
	       (uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
	       (uint32_t[]){0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84});
}

static void words_of_a_stream(void **state)
{
	(void)state;
	assert_int_equal(threefry_word(0, 0, 0), 0x9c6ca96a);
	assert_int_equal(threefry_word(0, 0, 3), 0x5256a7d8);
	assert_int_not_equal(threefry_word(0, 0, 4), threefry_word(0, 0, 0));
	assert_int_not_equal(threefry_word(1, 0, 0), threefry_word(0, 1, 0));
}

static void uniform_range(void **state)
{
	(void)state;
	assert_true(threefry_uniform(0) == 0.0f);
	assert_true(threefry_uniform(~0u) < 1.0f);
	assert_true(threefry_uniform(0x80000000u) == 0.5f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_answers),
		cmocka_unit_test(words_of_a_stream),
		cmocka_unit_test(uniform_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
