/* Diagnostics: the exact text of messages and carets, limits, warning switches, JSON and SARIF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/diag.h"

typedef struct World {
	Arena *arena;
	Sources sources;
	Diags ds;
	char *printed;
} World;

static int make_world(void **state)
{
	World *w = calloc(1, sizeof *w);
	w->arena = arena_new();
	sources_init(&w->sources, w->arena);
	diags_init(&w->ds, w->arena, &w->sources);
	*state = w;
	return 0;
}

static int free_world(void **state)
{
	World *w = *state;
	free(w->printed);
	arena_free(w->arena);
	free(w);
	return 0;
}

static const char *printed(World *w)
{
	size_t len;
	free(w->printed);
	FILE *out = open_memstream(&w->printed, &len);
	diags_print(&w->ds, out);
	fclose(out);
	return w->printed;
}

static uint32_t add(World *w, const char *text)
{
	return source_add(&w->sources, "f.tsr", text, strlen(text));
}

/* What is printed for one error with the span in a file of that text, without the first line. */
static void assert_excerpt(const char *text, uint32_t start, uint32_t end, const char *excerpt)
{
	void *state;
	make_world(&state);
	World *w = state;
	uint32_t file = add(w, text);
	diag(&w->ds, E0601, (Span){file, start, end}, "x");
	const char *rest = strchr(printed(w), '\n') + 1;
	assert_string_equal(rest, excerpt);
	free_world(&state);
}

static void messages_have_place_excerpt_notes_and_repairs(void **state)
{
	World *w = *state;
	uint32_t file = add(w, "input x : [2]\nlet y = w * x\n");
	diag(&w->ds, E0601, (Span){file, 22, 27}, "axis %d is %s", 1, "odd");
	diag_note(&w->ds, (Span){file, 6, 7}, "it is 2 here");
	diag_fix(&w->ds, (Span){file, 24, 25}, ".*", "write '.*'");
	diag(&w->ds, E0601, SPAN_NONE, "no place");
	diag_note(&w->ds, SPAN_NONE, "none either");
	assert_string_equal(printed(w), "f.tsr:2:9: error: axis 1 is odd [E0601]\n"
	                                "    2 | let y = w * x\n"
	                                "      |         ^~~~~\n"
	                                "f.tsr:1:7: note: it is 2 here\n"
	                                "    1 | input x : [2]\n"
	                                "      |       ^\n"
	                                "f.tsr:2:11: help: write '.*'\n"
	                                "    2 | let y = w .* x\n"
	                                "      |           ++\n"
	                                "tsrc: error: no place [E0601]\n"
	                                "tsrc: note: none either\n");
}

static void carets_stand_under_what_they_mark(void **state)
{
	(void)state;
	assert_excerpt("", 0, 0, "    1 | \n      | ^\n");
	assert_excerpt("ab", 2, 2, "    1 | ab\n      |   ^\n");
	assert_excerpt("ab", 1, 1, "    1 | ab\n      |  ^\n");
	assert_excerpt("ab\n", 3, 3, "    1 | ab\n      |   ^\n");
	assert_excerpt("a\nbc\r\nd", 2, 4, "    2 | bc\n      | ^~\n");
	assert_excerpt("ab\ncd\nef", 1, 7, "    1 | ab\n      |  ^\n");
	assert_excerpt("\tab", 1, 3, "    1 |         ab\n      |         ^~\n");
	assert_excerpt("a\tb", 2, 3, "    1 | a       b\n      |         ^\n");
	assert_excerpt("\xE6\xBC\xA2=x", 3, 4, "    1 | \xE6\xBC\xA2=x\n      |   ^\n");
	assert_excerpt("\xE6\xBC\xA2", 0, 3, "    1 | \xE6\xBC\xA2\n      | ^~\n");
	assert_excerpt("e\xCC\x81z", 3, 4, "    1 | e\xCC\x81z\n      |  ^\n");
	assert_excerpt("ab", 7, 90, "    1 | ab\n      |   ^\n");
	assert_excerpt("ab", 1, 0, "    1 | ab\n      |  ^\n");
}

static void nothing_steers_the_terminal(void **state)
{
	World *w = *state;
	assert_excerpt("a\x1b[31m", 1, 2, "    1 | a<U+001B>[31m\n      |  ^~~~~~~~\n");
	assert_excerpt("\xFFz", 1, 2, "    1 | <ff>z\n      |     ^\n");
	assert_excerpt("\xE2\x80\xAEz", 3, 4, "    1 | <U+202E>z\n      |         ^\n");
	uint32_t file = source_add(&w->sources, "n\nl", "a\0b", 3);
	diag(&w->ds, E0601, (Span){file, 2, 3}, "bell %s", "\a");
	assert_string_equal(printed(w), "n<U+000A>l:1:3: error: bell <U+0007> [E0601]\n"
	                                "    1 | a<U+0000>b\n"
	                                "      |          ^\n");
}

static void long_lines_are_cropped(void **state)
{
	World *w = *state;
	enum { LEN = 100000 };
	char *text = malloc(LEN + 1);
	memset(text, 'a', LEN);
	text[LEN] = 0;
	memcpy(text + 50000, "MARK", 4);
	uint32_t file = add(w, text);
	static const uint32_t spans[][2] = {{0, 4}, {50000, 50004}, {LEN - 3, LEN}, {LEN, LEN}, {7, LEN}};
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		w->ds.list.n = 0;
		w->ds.nseen = 0;
		diag(&w->ds, E0601, (Span){file, spans[i][0], spans[i][1]}, "x");
		diag_fix(&w->ds, (Span){file, spans[i][0], spans[i][1]}, "FIX", "y");
		const char *line = strchr(printed(w), '\n') + 1, *marks = strchr(line, '\n') + 1;
		assert_true(marks - line < 120);
		assert_true(strchr(marks, '\n') - marks < 120);
		const char *caret = strchr(marks, '^');
		if (i == 1)
			assert_memory_equal(line + (caret - marks), "MARK", 4);
		assert_non_null(strstr(marks, "FIX"));
	}
	free(text);
}

/* Random bytes, spans and repairs: what is printed is UTF-8 without control characters, in lines of
 * bounded width, and the JSON form reads back. */
static void any_bytes_and_any_span_print_cleanly(void **state)
{
	static const char alphabet[] = "ab \t\n\r\0\x1b\x7f\xC3\xA9\xE2\x80\xAE\xFF\xF0\x9F\x98\x80";
	uint32_t seed = 12345;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		char text[700], repair[20];
		void *fresh;
		make_world(&fresh);
		World *w = fresh;
		size_t len = (seed = seed * 1664525 + 1013904223) >> (round % 2 ? 27 : 23);
		for (size_t i = 0; i < len; i++)
			text[i] = alphabet[((seed = seed * 1664525 + 1013904223) >> 8) % (sizeof alphabet - 1)];
		snprintf(repair, sizeof repair, "%.*s", (int)(len < 8 ? len : 8), text);
		uint32_t file = source_add(&w->sources, "f", text, len);
		uint32_t start = (seed >> 7) % (uint32_t)(len + 3), end = (seed >> 3) % (uint32_t)(len + 9);
		diag(&w->ds, E0601, (Span){file, start, end}, "%s", repair);
		diag_fix(&w->ds, (Span){file, start, end}, repair, "%s", repair);
		const char *p = printed(w);
		for (size_t width = 0; *p; p++) {
			width = *p == '\n' ? 0 : width + 1;
			assert_true(width < 4 * 130);
			assert_true(*p == '\n' || ((unsigned char)*p >= ' ' && *p != 0x7f));
		}
		json_t *json = json_string(w->printed); /* refuses what is no UTF-8 */
		assert_non_null(json);
		json_decref(json);
		w->ds.options.format = round % 3 ? DIAG_JSON : DIAG_SARIF;
		json = json_loads(printed(w), 0, NULL);
		assert_non_null(json);
		json_decref(json);
		free_world(&fresh);
	}
}

static void repetitions_are_dropped_and_errors_limited(void **state)
{
	World *w = *state;
	uint32_t file = add(w, "abcdef");
	for (int i = 0; i < 3; i++) {
		diag(&w->ds, E0601, (Span){file, 1, 2}, "same");
		diag_note(&w->ds, (Span){file, 0, 1}, "note %d", i);
	}
	assert_int_equal(w->ds.list.n, 1);
	assert_int_equal(w->ds.list.at[0].notes.n, 1);
	diag(&w->ds, E0601, (Span){file, 1, 3}, "same");
	diag(&w->ds, E0601, (Span){file, 1, 2}, "other");
	assert_int_equal(w->ds.nerrors, 3);
	assert_false(w->ds.overflow);
	for (int i = 0; i < 100; i++)
		diag(&w->ds, E0601, (Span){file, 1, 2}, "number %d", i);
	assert_int_equal(w->ds.nerrors, 20);
	assert_true(w->ds.overflow);
	diag_note(&w->ds, SPAN_NONE, "to nothing");
	assert_int_equal(w->ds.list.at[19].notes.n, 0);
	assert_non_null(strstr(printed(w), "tsrc: note: stopped after 20 errors;"
	                                   " -ferror-limit=0 shows all\n"));
	w->ds.options.error_limit = 0;
	for (int i = 0; i < 1000; i++)
		diag(&w->ds, E0601, (Span){file, 1, 2}, "more %d", i);
	assert_int_equal(w->ds.nerrors, 1020);
}

static void warnings_are_switched(void **state)
{
	World *w = *state;
	const DiagCode code = W0202;
	DiagOptions *options = &w->ds.options;
	assert_false(diag_set_warning(options, "-Wno-such-warning-at-all"));
	assert_false(diag_set_warning(options, "-Werror=no-such-warning-at-all"));
	diag(&w->ds, code, SPAN_NONE, "1");
	assert_int_equal(w->ds.nwarnings, 1);
	assert_true(diag_set_warning(options, "-Wno-shadow-builtin"));
	diag(&w->ds, code, SPAN_NONE, "2");
	diag_note(&w->ds, SPAN_NONE, "dropped with it");
	assert_int_equal(w->ds.list.n, 1);
	assert_int_equal(w->ds.list.at[0].notes.n, 0);
	assert_true(diag_set_warning(options, "-Werror"));
	assert_true(diag_set_warning(options, "-Wall"));
	diag(&w->ds, code, SPAN_NONE, "3");
	assert_int_equal(w->ds.nerrors, 1);
	assert_true(diag_set_warning(options, "no-error=shadow-builtin"));
	diag(&w->ds, code, SPAN_NONE, "4");
	assert_int_equal(w->ds.nerrors, 1);
	assert_true(diag_set_warning(options, "no-error"));
	assert_true(diag_set_warning(options, "error=shadow-builtin"));
	assert_true(diag_set_warning(options, "-Wshadow-builtin"));
	diag(&w->ds, code, SPAN_NONE, "5");
	assert_int_equal(w->ds.nerrors, 2);
	assert_true(diag_set_warning(options, "no-all"));
	diag(&w->ds, code, SPAN_NONE, "6");
	assert_int_equal(w->ds.nerrors + w->ds.nwarnings, 4);
}

static void colours_come_only_when_asked(void **state)
{
	World *w = *state;
	diag(&w->ds, E0601, (Span){add(w, "abc"), 0, 1}, "x");
	assert_null(strchr(printed(w), '\33'));
	w->ds.options.color = true;
	assert_non_null(strstr(printed(w), "\33[1;31merror: "));
}

static json_t *parsed(World *w, DiagFormat format)
{
	json_error_t error;
	w->ds.options.format = format;
	json_t *root = json_loads(printed(w), 0, &error);
	assert_non_null(root);
	return root;
}

static void report_two(World *w)
{
	uint32_t file = source_add(&w->sources, "a b\xFF.tsr", "let \xE6\xBC\xA2 = 1\nx", 11);
	diag(&w->ds, E0601, (Span){file, 8, 9}, "bad \xC3 byte");
	diag_note(&w->ds, (Span){file, 10, 11}, "there");
	diag_fix(&w->ds, (Span){file, 4, 7}, "y", "a plain name");
	diag(&w->ds, E0601, SPAN_NONE, "no place");
}

static void json_reads_back(void **state)
{
	World *w = *state;
	json_t *empty = parsed(w, DIAG_JSON);
	assert_int_equal(json_array_size(empty), 0);
	json_decref(empty);
	report_two(w);
	json_t *root = parsed(w, DIAG_JSON), *first = json_array_get(root, 0);
	static const char *const keys[] = {"code",   "title",   "severity",  "message", "file", "line",
	                                   "column", "endLine", "endColumn", "notes",   "fixes"};
	size_t n = 0;
	const char *key;
	json_t *value;
	assert_int_equal(json_array_size(root), 2);
	json_object_foreach(first, key, value)
		assert_string_equal(key, keys[n++]);
	assert_int_equal(n, sizeof keys / sizeof *keys);
	assert_string_equal(json_string_value(json_object_get(first, "code")), "E0601");
	assert_string_equal(json_string_value(json_object_get(first, "file")), "a b\xEF\xBF\xBD.tsr");
	assert_string_equal(json_string_value(json_object_get(first, "message")), "bad \xEF\xBF\xBD byte");
	assert_int_equal(json_integer_value(json_object_get(first, "column")), 7);
	json_t *note = json_array_get(json_object_get(first, "notes"), 0);
	json_t *fix = json_array_get(json_object_get(first, "fixes"), 0);
	assert_int_equal(json_integer_value(json_object_get(note, "line")), 1);
	assert_string_equal(json_string_value(json_object_get(fix, "replacement")), "y");
	assert_int_equal(json_integer_value(json_object_get(fix, "endColumn")), 6);
	assert_true(json_is_null(json_object_get(json_array_get(root, 1), "line")));
	json_decref(root);
}

static void sarif_reads_back(void **state)
{
	World *w = *state;
	json_t *root;
	const char *version, *name, *uri, *rule, *inserted;
	int line, column, index;
	report_two(w);
	root = parsed(w, DIAG_SARIF);
	json_t *run = json_array_get(json_object_get(root, "runs"), 0);
	json_t *result = json_array_get(json_object_get(run, "results"), 0);
	json_t *place = json_array_get(json_object_get(result, "locations"), 0);
	json_t *fix = json_array_get(json_object_get(result, "fixes"), 0);
	assert_int_equal(json_unpack(root, "{s:s}", "version", &version), 0);
	assert_string_equal(version, "2.1.0");
	assert_int_equal(json_unpack(run, "{s:{s:{s:s}}}", "tool", "driver", "name", &name), 0);
	assert_string_equal(name, "tsrc");
	assert_int_equal(json_unpack(place, "{s:{s:{s:s},s:{s:i,s:i}}}", "physicalLocation",
	                             "artifactLocation", "uri", &uri, "region", "startLine", &line,
	                             "startColumn", &column),
	                 0);
	assert_string_equal(uri, "a%20b%FF.tsr");
	assert_int_equal(line, 1);
	assert_int_equal(column, 7);
	assert_int_equal(json_unpack(result, "{s:s,s:i}", "ruleId", &rule, "ruleIndex", &index), 0);
	json_t *rules = json_object_get(json_object_get(json_object_get(run, "tool"), "driver"), "rules");
	assert_int_equal(json_array_size(rules), 1);
	json_t *id = json_object_get(json_array_get(rules, (size_t)index), "id");
	assert_string_equal(rule, json_string_value(id));
	json_t *change = json_array_get(json_object_get(fix, "artifactChanges"), 0);
	json_t *replacement = json_array_get(json_object_get(change, "replacements"), 0);
	assert_int_equal(json_unpack(replacement, "{s:{s:s}}", "insertedContent", "text", &inserted), 0);
	assert_string_equal(inserted, "y");
	json_decref(root);
}

static void codes_are_explained(void **state)
{
	(void)state;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_true(diag_explain(out, "e0601"));
	assert_false(diag_explain(out, "E9999"));
	assert_false(diag_explain(out, ""));
	fclose(out);
	assert_memory_equal(text, "E0601: ", 7);
	assert_non_null(strstr(text, diag_code_title(E0601)));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 130);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_have_place_excerpt_notes_and_repairs, make_world,
	                                        free_world),
		cmocka_unit_test(carets_stand_under_what_they_mark),
		cmocka_unit_test_setup_teardown(nothing_steers_the_terminal, make_world, free_world),
		cmocka_unit_test_setup_teardown(long_lines_are_cropped, make_world, free_world),
		cmocka_unit_test(any_bytes_and_any_span_print_cleanly),
		cmocka_unit_test_setup_teardown(repetitions_are_dropped_and_errors_limited, make_world,
	                                        free_world),
		cmocka_unit_test_setup_teardown(warnings_are_switched, make_world, free_world),
		cmocka_unit_test_setup_teardown(colours_come_only_when_asked, make_world, free_world),
		cmocka_unit_test_setup_teardown(json_reads_back, make_world, free_world),
		cmocka_unit_test_setup_teardown(sarif_reads_back, make_world, free_world),
		cmocka_unit_test(codes_are_explained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
