/* Arenas, symbols and sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/symbol.h"

static int all_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return 0;
	return 1;
}

static void arena_memory_is_zero_and_aligned(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	for (int round = 0; round < 3; round++) {
		for (size_t size = 0; size < 300; size += 7) {
			unsigned char *item = arena_alloc(arena, size);
			assert_non_null(item);
			assert_int_equal((uintptr_t)item % 16, 0);
			assert_true(all_zero(item, size));
			memset(item, 0xA5, size);
		}
		unsigned char *large = arena_alloc(arena, 10 << 20);
		assert_true(all_zero(large, 10 << 20));
		large[0] = large[(10 << 20) - 1] = 1;
		arena_reset(arena);
	}
	arena_free(arena);
	arena_free(NULL);
}

static void arena_arrays_grow(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	VEC(int) xs = {0}, ys = {0};
	for (int i = 0; i < 100000; i++) {
		PUSH(arena, xs, i);
		if (i % 3 == 0)
			PUSH(arena, ys, -i);
	}
	assert_int_equal(xs.n, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(xs.at[i], i);
	for (size_t i = 0; i < ys.n; i++)
		assert_int_equal(ys.at[i], -3 * (int)i);
	assert_string_equal(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
	assert_memory_equal(arena_strndup(arena, "a\0b", 3), "a\0b", 4);
	assert_string_equal(arena_strndup(arena, NULL, 0), "");
	arena_free(arena);
}

/* Runs the allocation in a child: an arena that is full ends the process with status 1. */
static int status_of_alloc(size_t limit, size_t n, size_t size)
{
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(9);
		Arena *arena = arena_new();
		arena_limit(arena, limit);
		arena_alloc_n(arena, n, size);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void arena_limits_end_the_process(void **state)
{
	(void)state;
	assert_int_equal(status_of_alloc(1 << 20, 1 << 19, 1), 0);
	assert_int_equal(status_of_alloc(1 << 10, 1 << 9, 1), 0);
	assert_int_equal(status_of_alloc(1 << 20, 1 << 21, 1), 1);
	assert_int_equal(status_of_alloc(0, SIZE_MAX / 2, 3), 1);
	assert_int_equal(status_of_alloc(0, SIZE_MAX, 1), 1);
}

static void symbols_are_equal_when_their_texts_are(void **state)
{
	(void)state;
	Symbols *symbols = symbols_new();
	Sym names[5000];
	for (int i = 0; i < 5000; i++)
		names[i] = sym_printf(symbols, "name%d", i);
	for (int i = 0; i < 5000; i++) {
		char text[32];
		int len = snprintf(text, sizeof text, "name%dtail", i) - 4;
		assert_ptr_equal(sym_intern(symbols, text, (size_t)len), names[i]);
		text[len] = 0;
		assert_string_equal(names[i], text);
	}
	assert_ptr_equal(sym_cstr(symbols, ""), sym_intern(symbols, NULL, 0));
	assert_ptr_not_equal(sym_intern(symbols, "a\0b", 3), sym_cstr(symbols, "a"));
	symbols_free(symbols);
	symbols_free(NULL);
}

typedef struct Case {
	const char *text;
	size_t len;
	uint32_t offset, line, column;
} Case;

static void places_count_lines_and_code_points(void **state)
{
	(void)state;
	static const Case cases[] = {
		{"", 0, 0, 1, 1},
		{"", 0, 7, 1, 1},
		{"ab", 2, 1, 1, 2},
		{"ab", 2, 2, 1, 3},
		{"ab\ncd", 5, 2, 1, 3},
		{"ab\ncd", 5, 3, 2, 1},
		{"ab\ncd\n", 6, 6, 2, 3},
		{"ab\r\ncd\r\n", 8, 4, 2, 1},
		{"\n\n\n", 3, 1, 2, 1},
		{"\xC3\xA9\xE6\xBC\xA2x", 6, 5, 1, 3},
		{"\xFF\xFE!", 3, 2, 1, 3},
		{"a\0b\nc", 5, 4, 2, 1},
	};
	Arena *arena = arena_new();
	Sources sources;
	sources_init(&sources, arena);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const Case *c = &cases[i];
		uint32_t file = source_add(&sources, "t.tsr", c->text, c->len);
		const Source *source = source_at(&sources, file);
		assert_int_equal(source->text[c->len], 0);
		assert_int_equal(source->text[c->len + 1], 0);
		Place place = source_place(&sources, file, c->offset);
		assert_int_equal(place.line, c->line);
		assert_int_equal(place.column, c->column);
		assert_string_equal(place.path, "t.tsr");
	}
	assert_null(source_at(&sources, 0));
	assert_null(source_at(&sources, 999));
	assert_int_equal(source_place(&sources, 0, 5).line, 0);
	arena_free(arena);
}

static void files_are_read_or_refused_with_a_reason(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Sources sources;
	const char *why;
	char path[] = "/tmp/tsr-test-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	for (int i = 0; i < 30000; i++)
		assert_int_equal(write(fd, "x\n", 2), 2);
	close(fd);
	sources_init(&sources, arena);
	uint32_t file = source_read(&sources, path, &why);
	assert_int_equal(file, 1);
	assert_null(why);
	assert_int_equal(source_at(&sources, file)->len, 60000);
	assert_int_equal(source_at(&sources, file)->nlines, 30000);
	assert_int_equal(truncate(path, (off_t)SOURCE_LIMIT + 1), 0);
	assert_int_equal(source_read(&sources, path, &why), 0);
	assert_string_equal(why, "it is larger than 64 MiB");
	unlink(path);
	assert_int_equal(source_read(&sources, path, &why), 0);
	assert_string_equal(why, "No such file or directory");
	assert_int_equal(source_read(&sources, "/tmp", &why), 0);
	assert_string_equal(why, "it is a directory");
	arena_free(arena);
}

static void spans_join(void **state)
{
	(void)state;
	Span a = {1, 5, 9}, b = {1, 2, 6}, other = {2, 0, 1};
	Span joined = span_join(a, b);
	assert_int_equal(joined.start, 2);
	assert_int_equal(joined.end, 9);
	assert_int_equal(span_join(SPAN_NONE, b).start, 2);
	assert_int_equal(span_join(a, SPAN_NONE).start, 5);
	assert_int_equal(span_join(a, other).file, 1);
	assert_true(span_is_none(span_join(SPAN_NONE, SPAN_NONE)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_memory_is_zero_and_aligned),
		cmocka_unit_test(arena_arrays_grow),
		cmocka_unit_test(arena_limits_end_the_process),
		cmocka_unit_test(symbols_are_equal_when_their_texts_are),
		cmocka_unit_test(places_count_lines_and_code_points),
		cmocka_unit_test(files_are_read_or_refused_with_a_reason),
		cmocka_unit_test(spans_join),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
