/* The naive stage alone: the loops of each kind of operation as text, and in the interpreter
 * against the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/lower_fixture.h"

/* The kernel as unscheduled loops, all of it, and the program's numbers. */
static void expect_loops(Small *s, NodeId node, const char *text)
{
	const Program *program = small_naive(s, 1, &node);
	expect_kernel(s, program, text);
	expect_right(s, program);
}

static void elements_that_are_computed_once_are_stored(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n, 3"), b = small_leaf(s, "3");
	NodeId y = small_pointwise(s, OP_SUB, "n, 3", 2, (NodeId[]){x, b});
	expect_loops(s, y,
		     "kernel sub(t0 f32 in, t1 f32 in -> out0 f32 out)\n"
		     "  for i0 in 0..n\n"
		     "    for i1 in 0..3\n"
		     "      out0[i0*3 + i1] = t0[i0*3 + i1] - t1[i1]\n\n");
}

static void a_sum_is_added_up_in_a_local_term_by_term(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n, 3, 4"), w = small_leaf(s, "5, 4, 3");
	NodeId y = small_einsum(s, "b, i, j; o, j, i => b, o", "n, 5", 2, (NodeId[]){x, w});
	expect_loops(s, y,
		     "  for b in 0..n\n"
		     "    for o in 0..5\n"
		     "      local acc : f32 = 0\n"
		     "      for i in 0..3\n"
		     "        for j in 0..4\n"
		     "          acc += t0[b*12 + i*4 + j] * t1[o*12 + j*3 + i]\n"
		     "      out0[b*5 + o] = acc\n\n");
}

static void every_operation_has_a_kernel_and_a_buffer(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 5");
	NodeId m = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &x);
	graph_node(&s->graph, m)->reduce = OP_MAX;
	NodeId d = small_pointwise(s, OP_SUB, "n | 5", 2, (NodeId[]){x, m});
	NodeId y = small_pointwise(s, OP_RELU, "n | 5", 1, &d);
	NodeId z = small_pointwise(s, OP_MUL, "n | 5", 2, (NodeId[]){y, small_number(s, 2)});
	const Program *program = small_naive(s, 1, &z);
	assert_int_equal(program->kernels.n, 4);
	assert_int_equal(program->buffers.n, 5);
	expect_kernel(s, program,
		      "    local acc : f32 = -inf\n"
		      "    for v in 0..5\n"
		      "      acc max= t0[b*5 + v]\n");
	expect_kernel(s, program, "out0[i0*5 + i1] = relu[i0*5 + i1] * 2\n");
	expect_right(s, program);
}

static void a_padded_read_is_a_condition(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n");
	NodeId y = small_einsum(s, "o=+k => o", "n", 1, &x);
	small_letter(s, y, "k", "3");
	expect_loops(s, y,
		     "  for o in 0..n\n"
		     "    local acc : f32 = 0\n"
		     "    for k in 0..3\n"
		     "      if 0 <= o + k - 1 && o + k - 1 < n\n"
		     "        acc += t0[o + k - 1]\n"
		     "    out0[o] = acc\n\n");
}

static void elements_that_are_not_reached_are_neutral(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n");
	NodeId y = small_einsum(s, "i => i, i", "n, n", 1, &x);
	expect_loops(s, y,
		     "  for e in 0..n*n\n"
		     "    out0[e] = 0\n"
		     "  for i in 0..n\n"
		     "    out0[i*(n + 1)] = t0[i]\n\n");
}

static void pieces_go_one_after_another(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n | 3"), c = small_leaf(s, "n | 2");
	NodeId y =
		small_spec(s, NODE_BLOCK, "b | x; b | y => b | x^y", "n | 5", 2, (NodeId[]){a, c});
	small_letter(s, y, "x", "3");
	small_letter(s, y, "y", "2");
	expect_loops(s, y,
		     "  for b in 0..n\n"
		     "    for x in 0..3\n"
		     "      out0[b*5 + x] = t0[b*3 + x]\n"
		     "  for b1 in 0..n\n"
		     "    for y in 0..2\n"
		     "      out0[b1*5 + y + 3] = t1[b1*2 + y]\n\n");
}

static void the_greatest_is_the_first_of_equals(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 7");
	NodeId y = small_spec(s, NODE_ARGMAX, "b | v => b |", "n |", 1, &x);
	graph_node(&s->graph, y)->dtype = DTYPE_I32;
	expect_loops(s, y,
		     "  for b in 0..n\n"
		     "    local best : f32 = -inf\n"
		     "    local at : i32 = 0\n"
		     "    for v in 0..7\n"
		     "      at = where(i32(t0[b*7 + v] > best), i32(v), at)\n"
		     "      best = where(t0[b*7 + v] > best, t0[b*7 + v], best)\n"
		     "    out0[b] = at\n\n");
}

static void a_step_is_computed_whole_before_its_target_takes_it_in(void **state)
{
	Small *s = *state;
	NodeId p = small_param(s, "p", "4, 4");
	small_assign(s, small_einsum(s, "i, j => j, i", "4, 4", 1, &p), p, OP_ADD, true);
	NodeId y = small_pointwise(s, OP_NEG, "4, 4", 1, &p);
	const Program *program = small_naive(s, 1, &y);
	expect_kernel(s, program, "kernel value(p f32 param -> value f32 temp)\n");
	expect_kernel(s, program,
		      "kernel clear_p(-> p f32 param)\n"
		      "  for e in 0..16\n"
		      "    p[e] = 0\n");
	expect_kernel(s, program,
		      "kernel set_p(value f32 temp -> p f32 param)\n"
		      "  for j in 0..4\n"
		      "    for i in 0..4\n"
		      "      p[j*4 + i] += value[j*4 + i]\n");
	expect_right(s, program);
}

static void only_elements_that_a_step_reaches_meet_its_value(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "3"), t = small_param(s, "t", "6");
	small_assign(s, small_einsum(s, "i => 2*i", "6", 1, &x), t, OP_MAX, false);
	NodeId y = small_pointwise(s, OP_NEG, "6", 1, &t);
	const Program *program = small_naive(s, 1, &y);
	expect_kernel(s, program,
		      "  for i in 0..3\n"
		      "    t[i*2] max= value[i*2]\n");
	expect_right(s, program);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, small_setup, small_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(elements_that_are_computed_once_are_stored),
		TEST(a_sum_is_added_up_in_a_local_term_by_term),
		TEST(every_operation_has_a_kernel_and_a_buffer),
		TEST(a_padded_read_is_a_condition),
		TEST(elements_that_are_not_reached_are_neutral),
		TEST(pieces_go_one_after_another),
		TEST(the_greatest_is_the_first_of_equals),
		TEST(a_step_is_computed_whole_before_its_target_takes_it_in),
		TEST(only_elements_that_a_step_reaches_meet_its_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
