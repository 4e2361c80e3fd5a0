/* Processors, child processes and the C texts of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codegen/cpu.h"
#include "codegen/module.h"
#include "codegen/subprocess.h"

static void processors(void **state)
{
	Arena *arena = *state;
	Cpu cpu;
	assert_true(cpu_find("x86-64", &cpu));
	assert_string_equal(cpu_feature_names(arena, &cpu), "");
	assert_true(cpu_find("x86-64-v2", &cpu));
	assert_string_equal(cpu_feature_names(arena, &cpu), "sse3 ssse3 sse4.1 sse4.2 popcnt");
	assert_true(cpu_find("haswell+avx512f", &cpu));
	assert_non_null(strstr(cpu_feature_names(arena, &cpu), "avx2 avx512f"));
	assert_true(cpu_find("native", &cpu));
	static const char *const unknown[] = {"",	 "+",		"pentium",	"x86-64-v5",
					      "x86-64+", "x86-64+sse9", "native+avx2+", "x86-64 "};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_false(target_known(unknown[i]));
}

static int shout(void *arg)
{
	(void)arg;
	for (int i = 0; i < 40000; i++)
		printf("many words\n");
	return 7;
}

static int crash(void *arg)
{
	(void)arg;
	fprintf(stderr, "before the end");
	signal(SIGSEGV, SIG_DFL); /* the test's own handler would catch it */
	raise(SIGSEGV);
	return 0;
}

static void children(void **state)
{
	Arena *arena = *state;
	ChildResult result = child_fork(arena, shout, NULL);
	assert_true(result.ran);
	assert_int_equal(result.status, 7);
	assert_true(strlen(result.text) > 60000 && strlen(result.text) <= 65536);
	result = child_fork(arena, crash, NULL);
	assert_int_equal(result.status, 128 + SIGSEGV);
	assert_string_equal(result.text, "before the end");
	Child both[] = {child_start(arena, shout, NULL), child_start(arena, crash, NULL)};
	assert_int_equal(child_end(arena, &both[1]).status, 128 + SIGSEGV);
	assert_int_equal(child_end(arena, &both[0]).status, 7);
	static const char *const missing[] = {"no-such-program-here", NULL}, *const fails[] = {
										     "false", NULL};
	result = child_run(arena, missing);
	assert_false(result.ran);
	assert_string_equal(result.text, "No such file or directory");
	result = child_run(arena, fails);
	assert_true(result.ran);
	assert_int_equal(result.status, 1);
	const char *dir = temp_dir_new(arena);
	assert_non_null(dir);
	temp_dir_remove(dir);
	assert_int_not_equal(access(dir, F_OK), 0);
}

static void names(void **state)
{
	Arena *arena = *state;
	Names taken = {0};
	assert_string_equal(name_unique(arena, &taken, "x"), "x");
	assert_string_equal(name_unique(arena, &taken, "x"), "x_");
	assert_string_equal(name_unique(arena, &taken, "x"), "x__");
	assert_string_equal(name_unique(arena, &taken, "int"), "int_");
	assert_string_equal(name_unique(arena, &taken, "int64_t"), "int64_t_");
	assert_string_equal(name_unique(arena, &taken, "state"), "state_");
	assert_string_equal(name_unique(arena, &taken, "c1.w"), "c1_w");
	assert_string_equal(name_unique(arena, &taken, "2x"), "_2x");
	assert_string_equal(name_unique(arena, &taken, "tsr_fail"), "tsr_fail_");
	assert_string_equal(c_string(arena, "a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
	assert_string_equal(c_string(arena, "what?"
					    "?/"),
			    "\"what?\\?/\"");
	assert_string_equal(c_comment(arena, "a */ b /* c\nd"), "a  / b  * c d");
}

static int start(void **state)
{
	*state = arena_new();
	return 0;
}

static int end(void **state)
{
	arena_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processors, start, end),
		cmocka_unit_test_setup_teardown(children, start, end),
		cmocka_unit_test_setup_teardown(names, start, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
