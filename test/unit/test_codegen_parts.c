/* Processors, child processes, the bound of the cache and the C texts of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"
#include "codegen/cache.h"
#include "codegen/cpu.h"
#include "codegen/module.h"
#include "codegen/nvrtc_process.h"
#include "codegen/subprocess.h"

static void processors(void **state)
{
	Arena *arena = *state;
	Target cpu;
	assert_true(target_find("x86-64", &cpu));
	assert_string_equal(cpu_feature_names(arena, &cpu), "");
	assert_true(target_find("x86-64-v2", &cpu));
	assert_string_equal(cpu_feature_names(arena, &cpu), "sse3 ssse3 sse4.1 sse4.2 popcnt");
	assert_true(target_find("haswell+avx512f", &cpu));
	assert_non_null(strstr(cpu_feature_names(arena, &cpu), "avx2 avx512f"));
	assert_true(target_find("native", &cpu));
	static const char *const unknown[] = {"",	 "+",		"pentium",	"x86-64-v5",
					      "x86-64+", "x86-64+sse9", "native+avx2+", "x86-64 "};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_false(target_find(unknown[i], &cpu));
}

static void widths_of_vectors(void **state)
{
	(void)state;
	static const struct {
		const char *march;
		int bytes, registers;
	} of[] = {
		{"x86-64", 16, 16},
		{"x86-64-v2+avx", 32, 16},
		{"znver1", 32, 16},
		{"haswell", 32, 16},
		{"haswell+avx512f", 32, 16},
		{"haswell+avx512f+avx512vl", 32, 32},
		{"haswell+avx512f+avx512dq+avx512bw+avx512vl", 64, 32},
		{"x86-64-v4", 64, 32},
		{"skylake-avx512", 64, 32},
		{"cascadelake", 64, 32},
		{"icelake-server", 64, 32},
		{"tigerlake", 64, 32},
		{"sapphirerapids", 64, 32},
		{"znver5", 64, 32},
	};
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		Target target;
		assert_true(target_find(of[i].march, &target));
		assert_int_equal(target.vector_bytes, of[i].bytes);
		assert_int_equal(target.registers, of[i].registers);
	}
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
	result = child_run(arena, missing, "/tmp");
	assert_false(result.ran);
	assert_string_equal(result.text, "No such file or directory");
	result = child_run(arena, fails, "/tmp");
	assert_true(result.ran);
	assert_int_equal(result.status, 1);
}

enum { ENTRIES = 6, TEXT = 1000 };

/* Adds an entry of TEXT bytes, last used i seconds after 1970. */
static void put_entry(Arena *arena, Cache *cache, uint64_t i, const char *file)
{
	char text[TEXT];
	memset(text, 'a' + (int)i, sizeof text);
	FILE *out = fopen(file, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, sizeof text, out), sizeof text);
	fclose(out);
	cache_put(cache, (Digest){i, 1}, file);
	const char *entry = arena_printf(arena, "%s/%016x%016x", cache->dir, 1, (unsigned)i);
	struct timespec used[2] = {{.tv_sec = (time_t)i}, {.tv_sec = (time_t)i}};
	assert_int_equal(utimensat(AT_FDCWD, entry, used, 0), 0);
}

/* Beyond its bound a cache forgets what was used longest ago, and nothing that is not its own. */
static void cache_is_bounded(void **state)
{
	Arena *arena = *state;
	const char *place = temporary_dir();
	const char *file = arena_printf(arena, "%s/text", place);
	const char *own = arena_printf(arena, "%s/cache/mine", place);
	Cache cache = cache_open(arena, arena_printf(arena, "%s/cache", place));
	assert_non_null(cache.dir);
	for (uint64_t i = 0; i < ENTRIES; i++)
		put_entry(arena, &cache, i, file);
	FILE *mine = fopen(own, "w");
	assert_non_null(mine);
	fclose(mine);
	cache.most = ENTRIES * (TEXT + 200);
	cache_close(&cache);
	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_true(cache_get(&cache, (Digest){i, 1}, file));
	for (uint64_t i = 0; i < ENTRIES; i++)
		put_entry(arena, &cache, i, file);
	assert_true(cache_get(&cache, (Digest){1, 1}, file)); /* the newest from now on */
	cache.most = 4 * (TEXT + 200);
	cache.low_water = 3 * (TEXT + 200);
	cache_close(&cache);
	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_int_equal(cache_get(&cache, (Digest){i, 1}, file),
				 i == 1 || i >= ENTRIES - 2);
	assert_int_equal(access(own, F_OK), 0);
	temporary_remove(place);
}

static void names(void **state)
{
	Arena *arena = *state;
	const Module m = {.arena = arena, .prefix = "net"};
	Names taken = {0};
	assert_string_equal(name_unique(&m, &taken, "x"), "x");
	assert_string_equal(name_unique(&m, &taken, "x"), "x_");
	assert_string_equal(name_unique(&m, &taken, "x"), "x__");
	assert_string_equal(name_unique(&m, &taken, "int"), "int_");
	assert_string_equal(name_unique(&m, &taken, "int64_t"), "int64_t_");
	assert_string_equal(name_unique(&m, &taken, "state"), "state_");
	assert_string_equal(name_unique(&m, &taken, "c1.w"), "c1_w");
	assert_string_equal(name_unique(&m, &taken, "2x"), "_2x");
	assert_string_equal(name_unique(&m, &taken, "tsr_fail"), "tsr_fail_");
	assert_string_equal(name_unique(&m, &taken, "INT_MAX"), "INT_MAX_");
	assert_string_equal(name_unique(&m, &taken, "T_MAX"), "T_MAX");
	assert_string_equal(name_unique(&m, &taken, "_Pragma"), "x_Pragma");
	assert_string_equal(name_unique(&m, &taken, "net_pack"), "xnet_pack");
	assert_string_equal(name_unique(&m, &taken, "net__k_y"), "xnet__k_y");
	assert_string_equal(name_unique(&m, &taken, "net_width"), "net_width");
	assert_string_equal(name_unique(&m, &taken, "network"), "network");
	assert_string_equal(c_string(arena, "a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
	assert_string_equal(c_string(arena, "what?"
					    "?/"),
			    "\"what?\\?/\"");
	assert_string_equal(c_comment(arena, "a */ b /* c\nd"), "a  / b  * c d");
}

static void *load_again_and_again(void *stop)
{
	while (!atomic_load((atomic_bool *)stop)) {
		void *library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
		if (library)
			dlclose(library);
	}
	return NULL;
}

/* What a thread holds of the loader when another one forks stays held in the child, which must not load anything. */
static void nvrtc_beside_loads(void **state)
{
	Arena *arena = *state;
	atomic_bool stop = false;
	pthread_t threads[2];
	const NvrtcJob job = {"", "sm_80", 2, arena_printf(arena, "%s/tsrc", getenv("TSR_BUILD"))};
	setenv("TSRC_NVRTC", "libresolv.so.2", 1);
	setenv("TSRC_NVRTC_SECONDS", "5", 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_again_and_again, &stop), 0);
	NvrtcAnswer answer = {.end = NVRTC_ABSENT};
	for (int i = 0; i < 100 && answer.end == NVRTC_ABSENT; i++)
		answer = nvrtc_run(arena, &job);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	unsetenv("TSRC_NVRTC");
	unsetenv("TSRC_NVRTC_SECONDS");
	if (answer.end != NVRTC_ABSENT)
		fail_msg("%s", answer.why);
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
		cmocka_unit_test(widths_of_vectors),
		cmocka_unit_test_setup_teardown(processors, start, end),
		cmocka_unit_test_setup_teardown(children, start, end),
		cmocka_unit_test_setup_teardown(cache_is_bounded, start, end),
		cmocka_unit_test_setup_teardown(names, start, end),
		cmocka_unit_test_setup_teardown(nvrtc_beside_loads, start, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
