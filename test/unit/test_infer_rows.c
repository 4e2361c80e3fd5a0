/* Rows, sizes and stages on the level of constraints, for what no program reaches.
 *
 * A row is written as words: a number (a size), a letter (an unknown size), <r> (a row variable),
 * and
 * `|` where a closed row broadcasts. Tensors are nodes whose output row is the row under test.
 */
#include "test/unit/infer_fixture.h"

static void flanks_compose(void **state)
{
	(void)state;
	Set *t = set_new();
	set_equal(t, "<r>", "4");
	set_solve(t);
	expect_row(t, "3 <r>", "[3, 4]");
	expect_row(t, "3 <r> 7", "[3, 4, 7]");
	set_free(t);
}

static void open_rows_close_to_their_flanks(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "7 <r>", RESULT);
	set_solve(t);
	expect_row(t, "7 <r>", "[7]");
	set_free(t);
}

static void bounds_of_leaves_join(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<r>", LEAF);
	set_tensor(t, "<q>", LEAF);
	set_tensor(t, "<p>", LEAF);
	set_refines(t, "3 | 7", "<r>");
	set_refines(t, "5 | 7", "<r>");
	set_refines(t, "3 | 7", "<q>");
	set_refines(t, "3 | 11", "<q>");
	set_refines(t, "3 5 | 7", "<p>");
	set_refines(t, "3 | 8 7", "<p>");
	set_solve(t);
	expect_row(t, "<r>", "[1, 7]");
	expect_row(t, "<q>", "[3, 1]");
	expect_row(t, "<p>", "[3, 7]");
	set_free(t);
}

static void a_bounded_row_may_be_solved(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<r>", LEAF);
	set_refines(t, "4 | 7", "<r>");
	set_equal(t, "<r>", "4 <s>");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	set_free(t);
}

static void a_bound_rejects_a_later_solution(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<r>", LEAF);
	set_refines(t, "4 7", "<r>");
	set_equal(t, "<r>", "5");
	expect_error(t, E0301);
	set_free(t);
}

static void shifted_rows_get_least_material(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<r>", RESULT);
	set_equal(t, "3 <r>", "<r> 3");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	expect_row(t, "<r>", "[]");
	set_free(t);
}

static void cross_surplus_waits(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<a>", RESULT);
	set_tensor(t, "<b>", RESULT);
	set_equal(t, "5 <a>", "<b> 5 3");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	expect_row(t, "<a>", "[3]");
	expect_row(t, "<b>", "[]");
	set_free(t);
}

static void aligned_flanks_must_agree(void **state)
{
	(void)state;
	Set *t = set_new();
	set_equal(t, "<r> 3", "<r> 5");
	expect_error(t, E0301);
	set_free(t);
	t = set_new();
	set_equal(t, "<r> 3", "<r> 3");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	set_free(t);
}

static void closed_rows_broadcast_at_their_marker(void **state)
{
	(void)state;
	Set *t = set_new();
	set_refines(t, "3", "3");
	set_refines(t, "3 | 5", "5");
	set_refines(t, "3 5 4", "3 | 4");
	set_refines(t, "5 3 4", "3 4");
	set_solve(t);
	assert_int_equal(t->s->conflicts.n, 0);
	set_free(t);
	t = set_new();
	set_refines(t, "5", "3 |");
	expect_error(t, E0301);
	set_free(t);
}

static void rank_cycles_end(void **state)
{
	(void)state;
	Set *t = set_new();
	set_refines(t, "<a>", "<b> 2");
	set_refines(t, "<b>", "<a> 3");
	expect_error(t, E0305);
	set_free(t);
	t = set_new();
	set_refines(t, "<a>", "<b> 2");
	set_refines(t, "<b>", "<c> 3");
	set_refines(t, "<c>", "<a> 4");
	expect_error(t, E0305);
	set_free(t);
	t = set_new();
	set_refines(t, "<a>", "x <a>");
	expect_error(t, E0305);
	set_free(t);
	t = set_new();
	set_equal(t, "<a>", "<a> 2");
	expect_error(t, E0305);
	set_free(t);
}

static void operands_have_no_more_axes(void **state)
{
	(void)state;
	Set *t = set_new();
	set_refines(t, "x", "3 x");
	expect_error(t, E0302);
	set_free(t);
}

static void a_result_grows_to_its_operands(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<c>", RESULT);
	set_refines(t, "<c>", "3 1");
	set_refines(t, "<c>", "4");
	set_solve(t);
	expect_row(t, "<c>", "[3, 4]");
	set_free(t);
}

static void a_leaf_takes_a_bound_through_results(void **state)
{
	(void)state;
	Set *t = set_new();
	set_tensor(t, "<w>", LEAF);
	set_tensor(t, "<c>", RESULT);
	set_refines(t, "<c>", "<w>");
	set_refines(t, "2 3", "<c>");
	set_solve(t);
	expect_row(t, "<w>", "[2, 3]");
	expect_row(t, "<c>", "[2, 3]");
	set_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flanks_compose),
		cmocka_unit_test(open_rows_close_to_their_flanks),
		cmocka_unit_test(bounds_of_leaves_join),
		cmocka_unit_test(a_bounded_row_may_be_solved),
		cmocka_unit_test(a_bound_rejects_a_later_solution),
		cmocka_unit_test(shifted_rows_get_least_material),
		cmocka_unit_test(cross_surplus_waits),
		cmocka_unit_test(aligned_flanks_must_agree),
		cmocka_unit_test(closed_rows_broadcast_at_their_marker),
		cmocka_unit_test(rank_cycles_end),
		cmocka_unit_test(operands_have_no_more_axes),
		cmocka_unit_test(a_result_grows_to_its_operands),
		cmocka_unit_test(a_leaf_takes_a_bound_through_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
