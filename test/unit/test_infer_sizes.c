/* Sizes, bounds, affine axes, concatenations and totals on the level of constraints. */
#include "infer/cells.h"
#include "test/unit/infer_fixture.h"

static const char *const orders[][3] = {
	{"3<a", "a<b", "5<b"},
	{"5<b", "a<b", "3<a"},
	{"a<b", "5<b", "3<a"},
	{"a<b", "3<a", "5<b"},
};

static void edge(Set *t, const char *text)
{
	char res[2] = {text[0], 0}, opnd[2] = {text[2], 0};
	set_refines(t, res, opnd);
}

static void bounds_close_alike_in_every_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		Set *t = set_new();
		set_tensor(t, "a", LEAF);
		set_tensor(t, "b", LEAF);
		for (int k = 0; k < 3; k++)
			edge(t, orders[i][k]);
		set_solve(t);
		expect_size(t, "a", "3");
		expect_size(t, "b", "1");
		set_free(t);
	}
}

static void leaves_do_not_give_way_to_each_other(void **state)
{
	(void)state;
	static const char *const cons[] = {"3<a", "5<b", "c<a", "c<b"};
	for (int first = 0; first < 4; first++) {
		Set *t = set_new();
		set_tensor(t, "a", LEAF);
		set_tensor(t, "b", LEAF);
		set_tensor(t, "c", RESULT);
		for (int k = 0; k < 4; k++)
			edge(t, cons[(first + k) % 4]);
		expect_error(t, E0301);
		set_free(t);
	}
}

static void circles_are_one_size(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "a", LEAF);
	set_tensor(t, "b", RESULT);
	set_tensor(t, "c", RESULT);
	edge(t, "a<b");
	edge(t, "b<c");
	edge(t, "c<a");
	edge(t, "4<b");
	set_solve(t);
	expect_size(t, "a", "4");
	expect_size(t, "c", "4");
	set_free(t);
}

static SpecAxis affine(int64_t stride, int64_t dilation, int64_t offset, const char *kernel,
		       SpecMark mark)
{
	return (SpecAxis){.kind = SPEC_AFFINE,
			  .letter = "o",
			  .stride = stride,
			  .dilation = dilation,
			  .offset = offset,
			  .kernel = kernel,
			  .mark = mark};
}

static void affine_axes_solve_for_any_unknown(void **state)
{
	(void)state;
	static const struct {
		int64_t stride, dilation, offset;
		SpecMark mark;
		const char *words, *letter, *want;
	} cases[] = {
		{2, 1, 0, MARK_VALID, "9 o 3", "o", "4"},
		{2, 1, 0, MARK_PADDED, "6 o 3", "o", "3"},
		{1, 1, 0, MARK_VALID, "5 o 3", "o", "3"},
		{1, 1, 0, MARK_VALID, "i 4 3", "i", "6"},
		{2, 1, 0, MARK_VALID, "9 4 k", "k", "3"},
		{1, 2, 0, MARK_VALID, "9 5 k", "k", "3"},
		{2, 1, 1, MARK_VALID, "10 o 3", "o", "4"},
		{2, 1, 0, MARK_VALID_FLOOR, "8 o 3", "o", "3"},
		{2, 1, 0, MARK_PADDED_CEIL, "7 o 3", "o", "4"},
		{2, 1, 0, MARK_PADDED, "i 3 3", "i", "6"},
		{2, 1, 0, MARK_VALID_FLOOR, "i 3 3", "i", "7"},
		{2, 1, 0, MARK_PADDED_CEIL, "i 3 3", "i", "6"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Set *t = set_new();
		SpecAxis axis = affine(cases[i].stride, cases[i].dilation, cases[i].offset, "k",
				       cases[i].mark);
		set_tensor(t, cases[i].letter, RESULT);
		set_relation(t, CON_AFFINE, cases[i].words, &axis);
		set_solve(t);
		assert_int_equal(t->s->conflicts.n, 0);
		expect_size(t, cases[i].letter, cases[i].want);
		set_free(t);
	}
}

static void affine_axes_without_a_window(void **state)
{
	(void)state;
	static const struct {
		int64_t stride, offset;
		const char *words, *letter, *want;
	} cases[] = {
		{2, 0, "8 o", "o", "4"}, {2, 0, "i 4", "i", "8"}, {2, 1, "i 4", "i", "8"},
		{1, 1, "i 4", "i", "5"}, {1, 1, "5 o", "o", "4"}, {2, 3, "i 4", "i", "10"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Set *t = set_new();
		SpecAxis axis = affine(cases[i].stride, 1, cases[i].offset, NULL, MARK_NONE);
		set_tensor(t, cases[i].letter, RESULT);
		set_relation(t, CON_AFFINE, cases[i].words, &axis);
		set_solve(t);
		expect_size(t, cases[i].letter, cases[i].want);
		set_free(t);
	}
}

static void affine_errors(void **state)
{
	(void)state;
	static const struct {
		SpecMark mark;
		const char *words;
		DiagCode code;
	} cases[] = {
		{MARK_VALID, "8 o 3", E0341}, {MARK_PADDED, "7 o 3", E0341},
		{MARK_VALID, "2 o 3", E0342}, {MARK_VALID, "5 4 k", E0343},
		{MARK_VALID, "9 5 3", E0301},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Set *t = set_new();
		SpecAxis axis = affine(2, 1, 0, "k", cases[i].mark);
		set_relation(t, CON_AFFINE, cases[i].words, &axis);
		expect_error(t, cases[i].code);
		set_free(t);
	}
}

static void unknown_parts_are_paired(void **state)
{
	(void)state;
	Set *t = set_new();
	set_relation(t, CON_CONCAT, "w a b c", NULL);
	set_relation(t, CON_CONCAT, "w d e", NULL);
	solver_run(t->s, 4, 0);
	assert_int_equal(cell_root(t->s, set_cell(t, "a")), cell_root(t->s, set_cell(t, "d")));
	assert_int_equal(cell_root(t->s, set_cell(t, "b")), cell_root(t->s, set_cell(t, "e")));
	expect_size(t, "c", "0");
	set_free(t);
}

static void parts_take_what_is_left(void **state)
{
	(void)state;
	Set *t = set_new();
	set_relation(t, CON_CONCAT, "7 2 b 1", NULL);
	set_relation(t, CON_CONCAT, "w 2 3 2", NULL);
	set_relation(t, CON_CONCAT, "6 d d", NULL);
	set_solve(t);
	expect_size(t, "b", "4");
	expect_size(t, "w", "7");
	expect_size(t, "d", "3");
	set_free(t);
	t = set_new();
	set_relation(t, CON_CONCAT, "3 2 2 e", NULL);
	expect_error(t, E0344);
	set_free(t);
}

static void products_scale_both_ways(void **state)
{
	(void)state;
	Set *t = set_new();
	set_relation(t, CON_MUL, "h 2 8", NULL);
	set_relation(t, CON_MUL, "16 2 i", NULL);
	set_solve(t);
	expect_size(t, "h", "16");
	expect_size(t, "i", "8");
	set_free(t);
	t = set_new();
	set_relation(t, CON_MUL, "15 2 i", NULL);
	expect_error(t, E0341);
	set_free(t);
}

static void numerators_wait_for_what_divides_them(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "v a b", LEAF);
	set_tensor(t, "c", RESULT);
	set_relation(t, CON_MUL, "v a b", NULL);
	set_refines(t, "4", "a");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	expect_size(t, "a", "4");
	expect_size(t, "b", "1");
	expect_size(t, "v", "4");
	set_free(t);
}

static void least_sizes(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "a", RESULT);
	set_relation(t, CON_AT_LEAST, "a", NULL);
	t->s->cons.at[0].number = 3;
	set_solve(t);
	expect_size(t, "a", "3");
	set_free(t);
	t = set_new();
	set_relation(t, CON_AT_LEAST, "2", NULL);
	t->s->cons.at[0].number = 3;
	expect_error(t, E0306);
	set_free(t);
}

static void undetermined_parameters_are_errors(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "a", PARAMETER);
	expect_error(t, E0307);
	set_free(t);
	t = set_new();
	set_tensor(t, "a", PARAMETER);
	set_refines(t, "a", "1");
	set_solve(t);
	expect_size(t, "a", "1");
	set_free(t);
}

static void symbols_are_sizes(void **state)
{
	(void)state;
	Set *t = set_new();
	DimId n = sizes_add_dim(t->s->sizes, (Dim){.name = sym_cstr(t->symbols, "n")});
	CellId cn = cell_written(t->s, size_dim(t->s->sizes, n), true, SPAN_NONE);
	CellId cn1 = cell_written(t->s, size_plus(t->s->sizes, size_dim(t->s->sizes, n), 1), true,
				  SPAN_NONE);
	CellId three = set_cell(t, "3");
	cells_equal(t->s, cn, three, NONE);
	assert_int_equal(t->s->conflicts.n, 0);
	assert_string_equal(cell_size_text(t->s, cn), "3");
	cells_equal(t->s, cn1, set_cell(t, "7"), NONE);
	assert_int_equal(t->s->conflicts.n, 0);
	assert_true(sizes_differ(t->s->sizes, size_dim(t->s->sizes, n),
				 size_plus(t->s->sizes, size_dim(t->s->sizes, n), 1)));
	set_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_close_alike_in_every_order),
		cmocka_unit_test(leaves_do_not_give_way_to_each_other),
		cmocka_unit_test(circles_are_one_size),
		cmocka_unit_test(affine_axes_solve_for_any_unknown),
		cmocka_unit_test(affine_axes_without_a_window),
		cmocka_unit_test(affine_errors),
		cmocka_unit_test(unknown_parts_are_paired),
		cmocka_unit_test(parts_take_what_is_left),
		cmocka_unit_test(products_scale_both_ways),
		cmocka_unit_test(numerators_wait_for_what_divides_them),
		cmocka_unit_test(least_sizes),
		cmocka_unit_test(undetermined_parameters_are_errors),
		cmocka_unit_test(symbols_are_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
