/* Lowering of hand-made graphs: the text of the loops where their form matters, and for all of them
 * the interpreter against the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lower/lower.h"
#include "test/unit/lower_fixture.h"
#include "test/unit/small_program.h"

/* ---- the form of the loops ---- */

static void test_matrix_product_over_inputs(void **state)
{
	Small *s = *state;
	NodeId x = small_named(s, small_leaf(s, "n | 3"), "x"), w = small_param(s, "w", "3 -> 2");
	NodeId y =
		small_named(s, small_op(s, NODE_COMPOSE, "n | 2", 2, (NodeId[]){w, x}), "logits");
	const Program *program = small_lower(s, 1, &y);
	expect_kernel(s, program,
		      "kernel logits(x f32 in, w f32 param -> out0 f32 out)\n"
		      "  for i0 in 0..n\n"
		      "    local invariant : f32 = x[i0*3]\n"
		      "    local invariant1 : f32 = x[i0*3 + 1]\n"
		      "    local invariant2 : f32 = x[i0*3 + 2]\n"
		      "    for i1 in 0..2\n"
		      "      out0[i0*2 + i1] = ((w[i1*3] * invariant) + "
		      "(w[i1*3 + 1] * invariant1)) + (w[i1*3 + 2] * invariant2)\n");
	expect_right(s, program);
	assert_int_equal(program->routines.at[0].ndims, 1);
}

static void test_long_sums_run_in_lanes(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 71"), w = small_param(s, "w", "71 -> 6"),
	       b = small_param(s, "b", "6");
	NodeId y = small_op(s, NODE_COMPOSE, "n | 6", 2, (NodeId[]){w, x});
	NodeId z = small_pointwise(s, OP_ADD, "n | 6", 2, (NodeId[]){y, b});
	NodeId m = small_einsum(s, "b | i => b | 0", "n | ~1", 1, &x);
	graph_node(&s->graph, m)->reduce = OP_MAX;
	NodeId t = small_einsum(s, "b | i => i", "71", 1, &x),
	       u = small_einsum(s, "b | i => i", "6", 1, &z);
	NodeId out[] = {z, m, t, u};
	const Program *program = small_lower(s, 4, out);
	expect_kernel(s, program, "  for i0 in 0..4*floor(n/4) step 4 independent\n"
				  "    local acc : f32 [4, 4, 16] = 0\n"
				  "    local rest4 : f32 [4, 4, 4] = 0\n"
				  "    local rest : f32 [4, 4] = 0\n"
				  "    local sum : f32 [4, 4] = 0\n"
				  "    for i2 in 0..64 step 16\n"
				  "      unroll r in 0..4\n"
				  "        unroll c in 0..4\n"
				  "          vector lane in 0..16\n"
				  "            acc[r, c, lane] += w[c*71 + i2 + lane] * t0[i0*71 + r*71 + i2 + lane]\n");
	expect_kernel(s, program, "    unroll i2 in 68..71\n"
				  "      unroll r in 0..4\n"
				  "        unroll c in 0..4\n"
				  "          rest[r, c] += w[c*71 + i2] * t0[i0*71 + r*71 + i2]\n"
				  "    unroll r in 0..4\n"
				  "      unroll c in 0..1\n"
				  "        local square : f32 [4, 4] = 0\n"
				  "        unroll q in 0..4\n"
				  "          local half8 : f32 [8] = 0\n"
				  "          vector lane in 0..8\n"
				  "            half8[lane] = acc[r, c*4 + q, lane] + acc[r, c*4 + q, lane + 8]\n"
				  "          local half4 : f32 [4] = 0\n"
				  "          vector lane in 0..4\n"
				  "            half4[lane] = (half8[lane] + half8[lane + 4]) + rest4[r, c*4 + q, lane]\n"
				  "          vector lane in 0..4\n"
				  "            square[q, lane] = half4[lane]\n"
				  "        vector q in 0..4\n"
				  "          sum[r, c*4 + q] = ((square[q, 0] + square[q, 1]) + "
				  "(square[q, 2] + square[q, 3])) + rest[r, c*4 + q]\n");
	expect_right(s, program);
}

static void test_matrix_product_over_outputs(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), w = small_leaf(s, "3, 4");
	NodeId y = small_einsum(s, "b | i; i, o => b | o", "n | 4", 2, (NodeId[]){x, w});
	const Program *program = small_lower(s, 1, &y);
	expect_kernel(s, program,
		      "    for o in 0..4\n"
		      "      out0[b*4 + o] = ((invariant * t1[o]) + (invariant1 * t1[o + 4])) + "
		      "(invariant2 * t1[o + 8])\n");
	expect_right(s, program);
}

static void test_epilogue(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), w = small_param(s, "w", "3 -> 4"),
	       b = small_param(s, "b", "4");
	NodeId y = small_op(s, NODE_COMPOSE, "n | 4", 2, (NodeId[]){w, x});
	NodeId z = small_pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){y, b});
	NodeId r = small_named(s, small_pointwise(s, OP_RELU, "n | 4", 1, &z), "h");
	const Program *program = small_lower(s, 1, &r);
	assert_int_equal(program->kernels.n, 1);
	expect_kernel(s, program, "w[i1*3 + 2] * invariant2)) + b[i1])\n");
	expect_right(s, program);
}

static void test_softmax(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 5");
	NodeId m = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &x);
	graph_node(&s->graph, m)->reduce = OP_MAX;
	NodeId d = small_pointwise(s, OP_SUB, "n | 5", 2, (NodeId[]){x, m});
	NodeId e = small_pointwise(s, OP_EXP, "n | 5", 1, &d);
	NodeId t = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &e);
	NodeId y = small_pointwise(s, OP_DIV, "n | 5", 2, (NodeId[]){e, t});
	const Program *program = small_lower(s, 1, &y);
	assert_int_equal(program->kernels.n, 4);
	expect_kernel(s, program, "= exp(t0[i0*5 + i1] - invariant)\n");
}

static int verifies(const Program *program)
{
	loops_verify(program);
	return 0;
}

/* Each store of the block at an index that is one greater, then one less: refused. */
static int break_stores(const Program *program, Block block)
{
	int broken = 0;
	for (uint32_t i = 0; i < block.n; i++) {
		Stmt *stmt = (Stmt *)block.stmts[i];
		broken += break_stores(program, stmt->body);
		for (int by = -1; by <= 1 && stmt->kind == LOOP_STORE; by += 2, broken++) {
			const Ix *right = stmt->ix, *off = ix_const(program, by);
			stmt->ix = ix_add((Program *)program, right, off);
			assert_int_equal(status_in_child(verifies, program), BUG_STATUS);
			stmt->ix = right;
		}
	}
	return broken;
}

static void test_broken_indices_are_refused(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 5"), m = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &x);
	NodeId d = small_pointwise(s, OP_SUB, "n | 5", 2, (NodeId[]){x, m});
	NodeId t = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &d);
	NodeId y = small_pointwise(s, OP_DIV, "n | 5", 2, (NodeId[]){d, t});
	const Program *program = small_lower(s, 1, &y);
	int broken = 0;
	assert_int_equal(status_in_child(verifies, program), 0);
	for (size_t k = 0; k < program->kernels.n; k++)
		broken += break_stores(program, program->kernels.at[k].body);
	assert_true(broken >= 6);
}

static void test_padded_bounds(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 6, 1"), w = small_leaf(s, "3, 1 -> 2");
	NodeId y = small_einsum(s, "b | o=+k, ic; k, ic -> oc => b | o, oc", "n | 6, 2", 2,
				(NodeId[]){x, w});
	graph_node(&s->graph, w)->name = sym_cstr(s->symbols, "w");
	s->shapes[w] = small_shape(s, "3, 1 -> 2");
	const Program *program = small_lower(s, 1, &y);
	assert_null(strstr(lowered_dump(s, program), "if "));
	expect_right(s, program);
}

static void test_shared_value(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 4");
	NodeId a = small_pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){x, small_number(s, 1)});
	NodeId b = small_pointwise(s, OP_MUL, "n | 4", 2, (NodeId[]){a, a});
	const Program *program = small_lower(s, 1, &b);
	assert_int_equal(program->kernels.n, 1);
	expect_kernel(s, program, "  for i1 in 0..4*n\n"
				  "    local t : f32 = t0[i1] + 1\n"
				  "    out0[i1] = t * t\n");
	expect_right(s, program);
}

static void test_long_chain_is_cut(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 4"), one = small_number(s, 1);
	for (int i = 0; i < 60; i++)
		x = small_pointwise(s, OP_MAX, "n | 4", 2, (NodeId[]){x, one});
	const Program *program = small_lower(s, 1, &x);
	assert_true(program->kernels.n >= 1 && program->kernels.n <= 3);
	expect_right(s, program);
}

static void test_temporaries_share_places(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "16"), y = x;
	for (int i = 0; i < 4; i++) { /* sums in between keep them apart */
		NodeId t = small_einsum(s, "v => 0", "~1", 1, &y);
		y = small_pointwise(s, OP_ADD, "16", 2, (NodeId[]){y, t});
	}
	const Program *program = small_lower(s, 1, &y);
	int64_t bytes;
	assert_true(size_is_const(program->sizes, program->routines.at[0].workspace, &bytes));
	assert_in_range(bytes, 128, 192);
	expect_right(s, program);
}

static void test_symbolic_workspace(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 16"), y = x;
	for (int i = 0; i < 3; i++) {
		NodeId t = small_einsum(s, "b | v => b | 0", "n | ~1", 1, &y);
		y = small_pointwise(s, OP_ADD, "n | 16", 2, (NodeId[]){y, t});
	}
	const Program *program = small_lower(s, 1, &y);
	assert_string_equal(size_text(s->arena, program->sizes, program->routines.at[0].workspace),
			    "64*n + 64*floor((n + 15)/16)"); /* one tensor, the sums of one */
	expect_right(s, program);
}

/* ---- every kind of node ---- */

static void test_stack_concat_slice(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n | 3"), b = small_leaf(s, "n | 3"), c = small_leaf(s, "n | 2");
	NodeId r = small_pointwise(s, OP_RELU, "n | 3", 1, &a);
	NodeId st = small_op(s, NODE_STACK, "2, n | 3", 2, (NodeId[]){r, b});
	NodeId sl = small_op(s, NODE_SLICE, "n | 3", 1, &st);
	graph_node(&s->graph, sl)->slice_index = 1;
	NodeId cc = small_spec(s, NODE_BLOCK, "b | x; b | y => b | x^y", "n | 5", 2, (NodeId[]){sl, c});
	small_letter(s, cc, "x", "3");
	small_letter(s, cc, "y", "2");
	NodeId out[] = {st, sl, cc};
	expect_right(s, small_lower(s, 3, out));
}

static void test_transposes_and_reshape(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n | 3 -> 4");
	NodeId t = small_op(s, NODE_TRANSPOSE, "n | 4 -> 3", 1, &a);
	NodeId p = small_pointwise(s, OP_NEG, "n | 4 -> 3", 1, &t);
	NodeId r = small_op(s, NODE_RESHAPE, "n | 12", 1, &p);
	NodeId q = small_pointwise(s, OP_ADD, "n | 12", 2, (NodeId[]){r, small_number(s, 2)});
	NodeId out[] = {q, r};
	expect_right(s, small_lower(s, 2, out));
}

static void test_leaves_as_outputs(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), w = small_param(s, "w", "3 -> 2"),
	       one = small_number(s, 1);
	NodeId o = small_leaf(s, "n | 2");
	graph_node(&s->graph, o)->kind = NODE_OFFSETS;
	graph_node(&s->graph, o)->name = NULL;
	NodeId out[] = {x, w, one, x, o};
	expect_right(s, small_lower(s, 5, out));
}

static void test_argmax(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 7");
	NodeId y = small_spec(s, NODE_ARGMAX, "b | v => b |", "n |", 1, &x);
	graph_node(&s->graph, y)->dtype = DTYPE_I32;
	expect_right(s, small_lower(s, 1, &y));
}

static void test_diagonal_is_cleared(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n");
	NodeId y = small_einsum(s, "i => i, i", "n, n", 1, &x);
	NodeId z = small_einsum(s, "i, j => j", "n", 1, &y);
	NodeId out[] = {y, z};
	expect_right(s, small_lower(s, 2, out));
}

static NodeId gathered(Small *s, NodeId table, NodeId *ids)
{
	*ids = small_leaf(s, "n |");
	graph_node(&s->graph, *ids)->dtype = DTYPE_I32;
	return small_op(s, NODE_GATHER, "n | 4", 2, (NodeId[]){table, *ids});
}

static void test_gather(void **state)
{
	Small *s = *state;
	NodeId table = small_leaf(s, "3, 4"), ids;
	NodeId g = gathered(s, table, &ids);
	NodeId y = small_pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){g, g});
	NodeId out[] = {y, table};
	expect_right(s, small_lower(s, 2, out));
}

static void test_gather_out_of_range(void **state)
{
	Small *s = *state;
	NodeId table = small_leaf(s, "3, 4"), ids;
	NodeId first = small_pointwise(s, OP_NEG, "3, 4", 1, &table);
	NodeId g = gathered(s, table, &ids);
	NodeId out[] = {first, g};
	Run run = {.s = s, .program = small_lower(s, 2, out), .dims = {5, 5, 5, 5}};
	run_set_up(&run);
	((int32_t *)run.inputs[1])[4] = 3;
	RefResult *right = run_reference(&run);
	assert_int_equal(right->outcome, REF_OUTSIDE);
	reference_free(right);
	assert_int_equal(run_interpret(&run), 16);
	for (int i = 0; i < 2; i++) /* nothing was written */
		assert_int_equal(*(unsigned char *)run.outputs[i], 0xee);
}

static void test_assignments(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), t = small_leaf(s, "n | 6"), p = small_param(s, "p", "3");
	graph_node(&s->graph, t)->kind = NODE_ZEROS;
	graph_node(&s->graph, t)->name = sym_cstr(s->symbols, "t");
	small_assign(s, small_einsum(s, "b | i => b | 2*i", "n | 6", 1, &x), t, OP_ADD, true);
	small_assign(s, small_einsum(s, "b | i => b | 2*i+1", "n | 6", 1, &x), t, OP_ADD, false);
	small_assign(s, small_einsum(s, "b | i => i", "3", 1, &x), p, OP_SUB, false);
	NodeId q = small_pointwise(s, OP_ADD, "3", 2, (NodeId[]){p, small_number(s, 1)});
	small_assign(s, small_pointwise(s, OP_MUL, "3", 2, (NodeId[]){q, p}), p, OP_NONE, false);
	NodeId u = small_pointwise(s, OP_ADD, "n | 6", 2, (NodeId[]){t, t});
	NodeId out[] = {t, p, u, q};
	expect_right(s, small_lower(s, 4, out));
}

static void test_transposed_self_assignment(void **state)
{
	Small *s = *state;
	NodeId p = small_param(s, "p", "4, 4");
	small_assign(s, small_einsum(s, "i, j => j, i", "4, 4", 1, &p), p, OP_ADD, false);
	NodeId y = small_pointwise(s, OP_NEG, "4, 4", 1, &p);
	expect_right(s, small_lower(s, 1, &y));
}

/* ---- random graphs ---- */

static NodeId random_node(Small *s, NodeId *square, int n)
{
	static const Op ops[] = {OP_ADD, OP_SUB, OP_MAX, OP_MIN, OP_MUL};
	NodeId a = square[rand() % n], b = square[rand() % n];
	const char *shape = "n, n";
	switch (rand() % 8) {
	case 0: return small_einsum(s, "i, j => j, i", shape, 1, &a);
	case 1: return small_pointwise(s, OP_RELU, shape, 1, &a);
	case 2: return small_einsum(s, "i, k; k, j => i, j", shape, 2, (NodeId[]){a, b});
	case 3: return small_pointwise(s, OP_SIGN, shape, 1, &a);
	case 4: {
		NodeId row = small_einsum(s, "i, j => j", "n", 1, &a);
		graph_node(&s->graph, row)->reduce = rand() % 2 ? OP_MAX : OP_ADD;
		return small_pointwise(
			s, OP_SIGN, shape, 1,
			(NodeId[]){small_pointwise(s, OP_ADD, shape, 2, (NodeId[]){b, row})});
	}
	case 5: return small_einsum(s, "i, j => i, i", shape, 1, &a);
	default: {
		NodeId y = small_pointwise(s, ops[rand() % 5], shape, 2, (NodeId[]){a, b});
		return small_pointwise(s, OP_SIGN, shape, 1, &y);
	}
	}
}

static void test_random_graphs(void **state)
{
	Small *s = *state;
	for (int round = 0; round < 150; round++) {
		srand((unsigned)round);
		small_teardown(state);
		small_setup(state);
		NodeId square[24], outputs[3];
		int n = 2;
		square[0] = small_leaf(s, "n, n");
		square[1] = small_leaf(s, "n, n");
		while (n < 14) {
			square[n] = random_node(s, square, n);
			n++;
		}
		outputs[0] = square[n - 1];
		outputs[1] = square[n - 2];
		outputs[2] = square[2 + rand() % (n - 2)];
		expect_right(s, small_lower(s, 3, outputs));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_matrix_product_over_inputs, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_long_sums_run_in_lanes, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_matrix_product_over_outputs, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_epilogue, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_softmax, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_broken_indices_are_refused, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_padded_bounds, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_shared_value, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_long_chain_is_cut, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_temporaries_share_places, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_symbolic_workspace, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_stack_concat_slice, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_transposes_and_reshape, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_leaves_as_outputs, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_argmax, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_diagonal_is_cleared, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_gather, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_gather_out_of_range, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_assignments, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_transposed_self_assignment, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(test_random_graphs, small_setup, small_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
