/* The table of diagnostics: what holds for every row of base/diag.def. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Row {
	const char *code;
	bool warning;
	const char *name, *title, *text, *bad, *good;
} Row;

#define IS_ERROR   false
#define IS_WARNING true
static const Row rows[] = {
#define DIAG(code, severity, name, title, text, bad, good)                                         \
	{#code, IS_##severity, name, title, text, bad, good},
#include "base/diag.def"
#undef DIAG
};
enum { NROWS = sizeof rows / sizeof *rows };

/* Asserts the condition for a row, and says which row it is. */
#define HOLDS(row, condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("%s: %s does not hold", (row)->code, #condition);                     \
	} while (0)

static bool is_prefix(const char *head, const char *text)
{
	return strncmp(head, text, strlen(head)) == 0;
}

static void codes_belong_to_a_range(void **state)
{
	static const char *const ranges[] = {"01", "02", "03", "04", "05", "06", "09"};
	(void)state;
	for (const Row *row = rows; row < rows + NROWS; row++) {
		bool known = false;
		HOLDS(row, strlen(row->code) == 5);
		HOLDS(row, row->code[0] == (row->warning ? 'W' : 'E'));
		for (int i = 1; i < 5; i++)
			HOLDS(row, isdigit((unsigned char)row->code[i]));
		for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
			known |= is_prefix(ranges[i], row->code + 1);
		HOLDS(row, known);
	}
}

/* Codes ascend within a range, errors and warnings each; the ranges stand in order. */
static void codes_are_unique_and_in_order(void **state)
{
	(void)state;
	for (int i = 0; i < NROWS; i++)
		for (int k = 0; k < i; k++) {
			int order = strncmp(rows[k].code + 1, rows[i].code + 1, 2);
			HOLDS(&rows[i], order <= 0);
			if (order == 0 && rows[i].code[0] == rows[k].code[0])
				HOLDS(&rows[i], strcmp(rows[k].code, rows[i].code) < 0);
		}
}

static void titles_are_phrases(void **state)
{
	(void)state;
	for (const Row *row = rows; row < rows + NROWS; row++) {
		size_t len = row->title ? strlen(row->title) : 0;
		HOLDS(row, len > 0 && len < 90);
		HOLDS(row, !strchr(row->title, '\n'));
		HOLDS(row, row->title[len - 1] != '.' && row->title[len - 1] != ' ');
		for (const Row *other = rows; other < row; other++)
			HOLDS(row, strcmp(other->title, row->title) != 0);
	}
}

static void texts_are_paragraphs(void **state)
{
	(void)state;
	for (const Row *row = rows; row < rows + NROWS; row++) {
		size_t len = row->text ? strlen(row->text) : 0;
		HOLDS(row, len > 20);
		HOLDS(row, row->text[len - 1] != '\n' && row->text[len - 1] != ' ');
		HOLDS(row, !strchr(row->text, '\t'));
	}
}

static void warnings_have_names_and_errors_have_none(void **state)
{
	(void)state;
	for (const Row *row = rows; row < rows + NROWS; row++) {
		HOLDS(row, (row->name != NULL) == row->warning);
		if (!row->name)
			continue;
		HOLDS(row, strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(row->name));
		HOLDS(row, !is_prefix("no-", row->name) && !is_prefix("error", row->name));
		HOLDS(row, strcmp(row->name, "all") != 0);
	}
}

static void examples_are_whole_programs(void **state)
{
	(void)state;
	for (const Row *row = rows; row < rows + NROWS; row++) {
		HOLDS(row, !row->good || row->bad);
		HOLDS(row, !row->bad || row->bad[strlen(row->bad) - 1] == '\n');
		HOLDS(row, !row->good || row->good[strlen(row->good) - 1] == '\n');
		HOLDS(row, !row->good || strcmp(row->good, row->bad) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_belong_to_a_range),
		cmocka_unit_test(codes_are_unique_and_in_order),
		cmocka_unit_test(titles_are_phrases),
		cmocka_unit_test(texts_are_paragraphs),
		cmocka_unit_test(warnings_have_names_and_errors_have_none),
		cmocka_unit_test(examples_are_whole_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
