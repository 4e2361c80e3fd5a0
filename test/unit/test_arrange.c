/* Arrangements of a file's axes against a walk over all indices, on random ones; texts that are
 * none; and what is offered for a shape is accepted for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/arrange.h"

enum { MOST = 6 };

static unsigned seed = 1;

static int below(int n)
{
	seed = seed * 1103515245u + 12345u;
	return (int)((seed >> 8) % (unsigned)n);
}

/* Factors of one side: sizes, the letter or the place of each, and how many begin an axis. */
typedef struct Side {
	int n, letter[2 * MOST], place[2 * MOST];
	int64_t size[2 * MOST];
	bool begins[2 * MOST];
} Side;

static int64_t extents_of(const Side *side, int64_t *extents)
{
	int rank = 0;
	for (int i = 0; i < side->n; i++) {
		if (side->begins[i])
			extents[rank++] = 1;
		extents[rank - 1] *= side->size[i];
	}
	return rank;
}

static void print_side(const Side *side, char *text)
{
	for (int i = 0; i < side->n; i++) {
		bool more = i + 1 < side->n && !side->begins[i + 1];
		text += sprintf(text, "%s", side->begins[i] && more ? " (" : " ");
		if (side->letter[i] < 0)
			text += sprintf(text, "%d/%d", side->place[i], (int)side->size[i]);
		else
			text += sprintf(text, "%c", 'p' + side->letter[i]);
		text += sprintf(text, "%s", !more && !side->begins[i] ? ")" : "");
	}
}

static void shuffle(int *order, int n)
{
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int k = below(i + 1), t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
}

/* n letters in order, with places between them. */
static Side random_theirs(int n)
{
	Side side = {.n = 0};
	for (int i = 0; i < n;) {
		bool place = side.n < MOST && below(4) == 0;
		side.letter[side.n] = place ? -1 : i;
		side.size[side.n] = below(5) == 0 ? 1 : 2 + below(3);
		side.place[side.n] = below((int)side.size[side.n]);
		side.begins[side.n] = side.n == 0 || below(2);
		i += !place;
		side.n++;
	}
	return side;
}

static Side random_ours(const Side *theirs, int n)
{
	Side side = {.n = n};
	shuffle(side.letter, n);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < theirs->n; k++)
			if (theirs->letter[k] == side.letter[i])
				side.size[i] = theirs->size[k];
		side.begins[i] = i == 0 || below(2);
	}
	return side;
}

/* The flat index in theirs of the element that stands at `flat` in ours. */
static int64_t source(const Side *theirs, const Side *ours, int64_t flat)
{
	int64_t index[MOST] = {0}, at = 0;
	for (int i = ours->n - 1; i >= 0; i--) {
		index[ours->letter[i]] = flat % ours->size[i];
		flat /= ours->size[i];
	}
	for (int i = 0; i < theirs->n; i++)
		at = at * theirs->size[i] +
		     (theirs->letter[i] < 0 ? theirs->place[i] : index[theirs->letter[i]]);
	return at;
}

static Array counted(int rank, const int64_t *extents)
{
	Array array;
	ArrayError why;
	assert_true(array_new(&array, DTYPE_I32, rank, extents, &why));
	for (size_t i = 0; i < array.nelements; i++)
		((int32_t *)array.data)[i] = (int32_t)i;
	return array;
}

static void elements_stand_where_a_walk_finds_them(void **state)
{
	(void)state;
	int refused = 0;
	for (int trial = 0; trial < 4000; trial++) {
		int n = 1 + below(MOST);
		Side theirs = random_theirs(n), ours = random_ours(&theirs, n);
		int64_t extents[2 * MOST] = {0}, wanted[MOST], whole[MOST] = {0};
		int rank = (int)extents_of(&theirs, extents), made = (int)extents_of(&ours, whole);
		char text[200] = "[", right[100] = "";
		print_side(&theirs, text + 1);
		print_side(&ours, right);
		strcat(strcat(strcat(text, " =>"), right), "]");
		Array array = counted(rank, extents);
		Arrangement how;
		ArrayError why = {""};
		for (int i = 0; i < made; i++)
			wanted[i] = below(6) == 0 ? -1 : whole[i];
		if (!arrangement_parse(text, &how, &why))
			fail_msg("%s: %s", text, why.text);
		if (!arrangement_apply(&how, wanted, made, &array, &why)) {
			if (!strstr(why.text, "nothing says"))
				fail_msg("%s: %s", text, why.text);
			refused++;
		} else {
			assert_int_equal(array.rank, made);
			assert_memory_equal(array.extents, whole, sizeof *whole * (size_t)made);
			for (size_t i = 0; i < array.nelements; i++)
				if (((int32_t *)array.data)[i] !=
				    source(&theirs, &ours, (int64_t)i))
					fail_msg("%s: element %zu", text, i);
		}
		array_free(&array);
	}
	assert_in_range(refused, 1, 3000);
}

static void fits(const char *text, int rank, const int64_t *extents, int made,
		 const int64_t *wanted)
{
	Array array = counted(rank, extents);
	Arrangement how;
	ArrayError why = {""};
	if (!arrangement_parse(text, &how, &why) ||
	    !arrangement_apply(&how, wanted, made, &array, &why))
		fail_msg("%s: %s", text, why.text);
	array_free(&array);
}

static void what_is_offered_fits(void **state)
{
	(void)state;
	int offered = 0;
	for (int trial = 0; trial < 2000; trial++) {
		int n = 1 + below(4);
		Side theirs = random_theirs(n), ours = random_ours(&theirs, n);
		int64_t extents[2 * MOST] = {0}, wanted[MOST] = {0};
		int rank = (int)extents_of(&theirs, extents), made = (int)extents_of(&ours, wanted);
		Array array = counted(rank, extents);
		char text[200];
		arrangement_suggest(&array, wanted, made, text, sizeof text);
		char *second = strstr(text, " or ");
		if (second) {
			fits(second + 4, rank, extents, made, wanted);
			*second = '\0';
		}
		if (*text)
			fits(text, rank, extents, made, wanted);
		offered += *text != '\0';
		array_free(&array);
	}
	assert_in_range(offered, 1000, 2000);
}

static void offers(const char *expected, int rank, const int64_t *extents, int made,
		   const int64_t *wanted)
{
	char text[200];
	Array array = counted(rank, extents);
	arrangement_suggest(&array, wanted, made, text, sizeof text);
	assert_string_equal(text, expected);
	array_free(&array);
}

static void known_layers_are_offered_their_arrangement(void **state)
{
	(void)state;
	offers("[a d b c => a b c d] or [a d c b => a b c d]", 4, (int64_t[]){8, 3, 7, 7}, 4,
	       (int64_t[]){8, 7, 7, 3});
	offers("[(a b) (0/3 c) => a b c] or [c (0/3 a b) => a b c]", 2, (int64_t[]){16, 48}, 3,
	       (int64_t[]){2, 8, 16});
	offers("[(a b) c => a b c] or [c (a b) => a b c]", 2, (int64_t[]){24, 24}, 3,
	       (int64_t[]){3, 8, 24});
	offers("[a (b c d) => a b c d]", 2, (int64_t[]){10, 400}, 4, (int64_t[]){10, 5, 5, 16});
	offers("[a b c d => (c d) (a b)]", 4, (int64_t[]){2, 5, 3, 7}, 2, (int64_t[]){21, 10});
	offers("", 2, (int64_t[]){7, 9}, 2, (int64_t[]){9, 8});
	offers("", 2, (int64_t[]){7, 0}, 2, (int64_t[]){7, -1});
}

static void what_is_no_arrangement_is_told(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"a b => a", "'b' stands left of => alone"},
		{"a => a b", "'b' stands right of => alone"},
		{"a a => a", "'a' stands twice"},
		{"a => a a", "'a' stands twice"},
		{"a => 0/1 a", "a number stands right of =>"},
		{"3 a => a", "a number is a part as in 0/3"},
		{"3/3 a => a", "a number is a part as in 0/3"},
		{"0/0 a => a", "a number is a part as in 0/3"},
		{"0/99999999999999999999 a => a", "a number is a part as in 0/3"},
		{"(a b => a b", "a ) is missing"},
		{"a) => a", "')' stands where a letter should"},
		{"((a)) => a", "'(' stands where a letter should"},
		{"a * b => a b", "'*' stands where a letter should"},
		{"seventeen_letters => seventeen_letters", "more than 15 bytes"},
		{"a b", "no order of axes, and has no =>"},
		{"0 0", "no order of axes"},
		{"1 2", "no order of 2 axes"},
		{"-1", "no order of axes"},
		{"99999999999", "no order of axes"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		Arrangement how;
		ArrayError why = {""};
		assert_false(arrangement_parse(bad[i][0], &how, &why));
		if (!strstr(why.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], why.text);
	}
}

static void long_texts_are_refused(void **state)
{
	(void)state;
	char text[1024] = "";
	Arrangement how;
	ArrayError why;
	for (int i = 0; i < 33; i++)
		sprintf(text + strlen(text), "a%d ", i);
	strcat(text, "=> a0");
	assert_false(arrangement_parse(text, &how, &why));
	for (int i = 0; i < 300; i++)
		strcpy(text + 2 * i, "()");
	strcat(text, "=>");
	assert_false(arrangement_parse(text, &how, &why));
}

static void sizes_that_disagree_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
		int64_t wanted[3];
		int made;
	} bad[] = {
		{"(a b) c => a b c",
		 "axis 1 of the array is 8, and its letters make 9",
		 {2, 3, 9},
		 3},
		{"(a b) c => a b c",
		 "axis 0 of the array is 6, which 4 does not divide",
		 {4, -1, -1},
		 3},
		{"(0/4 a) c => a c",
		 "axis 0 of the array is 6, which 4 does not divide",
		 {-1, -1},
		 2},
		{"(a b) c => a b c", "nothing says how long 'a' is", {-1, -1, 8}, 3},
		{"a b c => a b c", "the array has 2 axes, and 3 are arranged", {1, 1, 1}, 3},
		{"a b => b a", "the parameter has 3 axes, and 2 are made", {1, 1, 1}, 3},
		{"(a b) c => a b c",
		 "axis 0 of the array is 6, and its letters make 0",
		 {0, 3, 8},
		 3},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		Array array = counted(2, (int64_t[]){6, 8});
		Arrangement how;
		ArrayError why = {""};
		assert_true(arrangement_parse(bad[i].text, &how, &why));
		assert_false(arrangement_apply(&how, bad[i].wanted, bad[i].made, &array, &why));
		if (!strstr(why.text, bad[i].why))
			fail_msg("%s: %s", bad[i].text, why.text);
		assert_int_equal(array.rank, 2);
		array_free(&array);
	}
}

static void arrays_without_elements_are_arranged(void **state)
{
	(void)state;
	Array array = counted(2, (int64_t[]){0, 6});
	Arrangement how;
	ArrayError why = {""};
	assert_true(arrangement_parse("a (1/2 b) => b a", &how, &why));
	assert_true(arrangement_apply(&how, (int64_t[]){-1, -1}, 2, &array, &why));
	assert_int_equal(array.extents[0], 3);
	assert_int_equal(array.extents[1], 0);
	array_free(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_stand_where_a_walk_finds_them),
		cmocka_unit_test(what_is_offered_fits),
		cmocka_unit_test(known_layers_are_offered_their_arrangement),
		cmocka_unit_test(what_is_no_arrangement_is_told),
		cmocka_unit_test(long_texts_are_refused),
		cmocka_unit_test(sizes_that_disagree_are_told),
		cmocka_unit_test(arrays_without_elements_are_arranged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
