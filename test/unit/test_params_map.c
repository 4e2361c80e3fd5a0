/* Lines of maps: numbered names, prefixes, and what is no line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/params_map.h"

/* "" or the message, less what stands before its second colon. */
static const char *try_map(const char *text, ParamsMap *map)
{
	static tsr_error error;
	char path[] = "/tmp/tsr_map_XXXXXX";
	size_t len = strlen(text);
	int fd = mkstemp(path);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	int code = params_map_read(path, map, &error);
	unlink(path);
	if (code == TSR_OK)
		return "";
	assert_int_equal(error.code, TSR_FAIL_FILE);
	assert_memory_equal(error.text, path, strlen(path));
	return error.text + strlen(path) + 1;
}

/* The name that a map of one line has for a parameter, "" for none. */
static const char *theirs(const char *line, const char *name)
{
	static char found[MAP_NAME_BYTES];
	ParamsMap map;
	assert_string_equal(try_map(line, &map), "");
	assert_int_equal(map.n, 1);
	if (!map_line_matches(&map.lines[0], name, found))
		found[0] = '\0';
	params_map_free(&map);
	return found;
}

static void numbers_are_carried_over(void **state)
{
	(void)state;
	assert_string_equal(theirs("h.{i}.w = layer.{i}.weight", "h.11.w"), "layer.11.weight");
	assert_string_equal(theirs("s{s}.{i}.w = f.{i+14}.{s}", "s6.2.w"), "f.16.6");
	assert_string_equal(theirs("a{i}.b{i} = {i}{i}", "a3.b3"), "33");
	assert_string_equal(theirs("a{i}.b{i} = c", "a3.b4"), "");
	assert_string_equal(theirs("h.{i}.w = w", "h.w"), "");
	assert_string_equal(theirs("h.{i}.w = w", "h.x.w"), "");
	assert_string_equal(theirs("h.{i} = w", "h.1.w"), "");
	assert_string_equal(theirs("h.{i}.w = w", "h.1"), "");
	assert_string_equal(theirs("h.{i} = w{i}", "h.1234567890"), "");
	assert_string_equal(theirs("h.{i} = w.{i+999999999}", "h.999999999"), "w.1999999998");
	assert_string_equal(theirs("  w=['a']{b}  [1 0] # c", "w"), "['a']{b}");
}

static void a_prefix_is_that_of_the_lines_below(void **state)
{
	(void)state;
	ParamsMap map;
	assert_string_equal(try_map("a = b\nprefix x. # all\n\na = c\nprefix y.\na = d", &map), "");
	assert_int_equal(map.n, 5);
	assert_string_equal(map.lines[0].prefix, "");
	assert_null(map.lines[1].ours);
	assert_string_equal(map.lines[2].prefix, "x.");
	assert_string_equal(map.lines[4].prefix, "y.");
	assert_int_equal(map.lines[4].number, 6);
	params_map_free(&map);
}

static void what_is_no_line_is_told(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"a b", "1: expected `ours = theirs [axes]`"},
		{"\n= b", "2: expected"},
		{"a =", "1: expected"},
		{"a a = b", "1: expected"},
		{"a == b", "1: expected"},
		{"prefix", "1: expected"},
		{"prefix a b", "1: expected"},
		{"prefixed a", "1: expected"},
		{"a = b c", "1: in the axes: it is no order of axes, and has no =>"},
		{"a = b [c => d]", "1: in the axes: 'd' stands right of => alone"},
		{"a{i = b", "1: a number in 'a{i' is written {i}"},
		{"a{} = b", "1: a number in 'a{}' is written {i}"},
		{"a{i+1} = b", "1: a number in 'a{i+1}' is written {i}"},
		{"a{abcdefgh} = b", "1: a number in"},
		{"{a}{b}{c}{d}{e} = b", "1: a number in"},
		{"a{i} = b{j}", "1: a number in 'b{j}' is {i} or {i+2}, and {i} stands in 'a{i}'"},
		{"a{i} = b{i+}", "1: a number in 'b{i+}' is"},
		{"a{i} = b{i+1234567890}", "1: a number in"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ParamsMap map;
		const char *why = try_map(bad[i][0], &map);
		if (!strstr(why, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], why);
		params_map_free(&map);
	}
}

static void lines_are_as_long_as_is_said(void **state)
{
	(void)state;
	ParamsMap map;
	for (int bytes = 1022; bytes <= 1023; bytes++) {
		char text[1100] = "a = b #";
		memset(text + 7, 'x', (size_t)bytes - 7);
		strcpy(text + bytes, "\nc = d\n");
		const char *why = try_map(text, &map);
		if (bytes == 1022)
			assert_string_equal(why, "");
		else
			assert_non_null(strstr(why, "1: the line has more than 1022 bytes"));
		params_map_free(&map);
	}
}

static void long_names_are_refused(void **state)
{
	(void)state;
	char text[900] = "a{i} = ";
	ParamsMap map;
	for (int i = 0; i < 60; i++)
		strcat(text, "{i+999999999}");
	assert_non_null(strstr(try_map(text, &map), "expected"));
	params_map_free(&map);
	text[7 + 13 * 19] = '\0'; /* shorter than a name, longer with its numbers */
	assert_string_equal(try_map(text, &map), "");
	char found[MAP_NAME_BYTES];
	assert_true(map_line_matches(&map.lines[0], "a0", found));
	params_map_free(&map);
	strcpy(text, "a{i} = ");
	for (int i = 0; i < 60; i++)
		strcat(text, "{i}");
	assert_string_equal(try_map(text, &map), "");
	assert_false(map_line_matches(&map.lines[0], "a123456", found));
	params_map_free(&map);
}

static unsigned below(unsigned n)
{
	static unsigned seed = 1;
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

/* Changes a byte, takes some out, or says some twice. */
static void damage(char *text)
{
	static const char junk[] = "{}()[]=>/+#\n 09iz";
	size_t len = strlen(text), at = below((unsigned)len), n = 1 + below(8);
	if (below(3) == 0)
		text[at] = junk[below(sizeof junk - 1)];
	else if (below(2) == 0 && at + n < len)
		memmove(text + at, text + at + n, len + 1 - at - n);
	else if (at >= n)
		memmove(text + at, text + at - n, len + 1 - (at - n));
}

/* Read or refused; what is read is matched, and arranges an array or does not. */
static void damaged_lines_are_survived(void **state)
{
	(void)state;
	for (int trial = 0; trial < 3000; trial++) {
		char text[200] = "prefix t.\nh.{i}.w{j} = a.{i+2}.b{j} [e (0/3 h d) () => h, d e]\n"
				 "b = b [2, 1, 0]\n";
		for (int n = 0; n < 1 + trial % 4; n++)
			damage(text);
		ParamsMap map;
		try_map(text, &map);
		for (int i = 0; i < map.n; i++) {
			const MapLine *line = &map.lines[i];
			char theirs[MAP_NAME_BYTES];
			Arrangement how;
			ArrayError why;
			Array array;
			assert_true(array_new(&array, DTYPE_F32, 3, (int64_t[]){4, 6, 1}, &why));
			if (line->ours)
				map_line_matches(line, "h.10.w3", theirs);
			if (line->ours && line->axes && arrangement_parse(line->axes, &how, &why))
				arrangement_apply(&how, (int64_t[]){2, -1, 4}, 3, &array, &why);
			array_free(&array);
		}
		params_map_free(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_carried_over),
		cmocka_unit_test(a_prefix_is_that_of_the_lines_below),
		cmocka_unit_test(what_is_no_line_is_told),
		cmocka_unit_test(lines_are_as_long_as_is_said),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(damaged_lines_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
