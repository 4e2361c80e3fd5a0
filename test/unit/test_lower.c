/* Lowering of hand-made graphs: the text of the loops where their form matters, and for all of them
 * the interpreter against graph_eval on small integers, where sums are exact in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "lower/lower.h"
#include "test/unit/graph_eval.h"
#include "test/unit/small_graph.h"

enum { MAX_ARGS = 16 };

static NodeId pointwise(Small *s, Op op, const char *shape, uint32_t nargs, const NodeId *args)
{
	NodeId id = small_op(s, NODE_POINTWISE, shape, nargs, args);
	graph_node(&s->graph, id)->op = op;
	return id;
}

static NodeId spec(Small *s, const char *text, const char *shape, uint32_t nargs, const NodeId *args)
{
	NodeId id = small_spec(s, NODE_SPEC, text, shape, nargs, args);
	if (nargs == 1)
		graph_node(&s->graph, id)->op = OP_ID;
	return id;
}

static NodeId number(Small *s, double value)
{
	NodeId id = small_leaf(s, "");
	Node *node = graph_node(&s->graph, id);
	node->kind = NODE_NUMBER;
	node->name = NULL;
	node->number = value;
	return id;
}

static NodeId param(Small *s, const char *name, const char *shape)
{
	NodeId id = small_leaf(s, shape);
	graph_node(&s->graph, id)->kind = NODE_PARAM;
	graph_node(&s->graph, id)->name = sym_cstr(s->symbols, name);
	PUSH(s->arena, s->graph.params, id);
	return id;
}

static NodeId name(Small *s, NodeId id, const char *text)
{
	graph_node(&s->graph, id)->name = sym_cstr(s->symbols, text);
	return id;
}

/* `forward` with every input leaf, these outputs, and every node in order. */
static const Program *lower(Small *s, uint32_t noutputs, const NodeId *outputs)
{
	Routine r = {.name = sym_cstr(s->symbols, "forward"), .noutputs = noutputs};
	r.inputs = ARENA_ARRAY(s->arena, NodeId, SMALL_NODES);
	r.order = ARENA_ARRAY(s->arena, NodeId, SMALL_NODES);
	r.outputs = ARENA_ARRAY(s->arena, NodeId, noutputs);
	r.output_names = ARENA_ARRAY(s->arena, Sym, noutputs);
	for (uint32_t i = 0; i < noutputs; i++) {
		r.outputs[i] = outputs[i];
		r.output_names[i] = sym_printf(s->symbols, "out%u", i);
	}
	s->graph.symbols = s->symbols;
	s->graph.sizes = s->inference.sizes;
	for (NodeId id = 0; id < s->graph.nodes.n; id++) {
		const Node *node = graph_node(&s->graph, id);
		if (node->kind == NODE_INPUT)
			r.inputs[r.ninputs++] = id;
		else if (node->nargs > 0) {
			assert_non_null(small_derive(s, id));
			r.order[r.norder++] = id;
		}
	}
	PUSH(s->arena, s->graph.routines, r);
	static const Machine machine = {.vector_bytes = 64, .registers = 32};
	const Program *program = lower_program(&s->inference, &s->sources, s->arena, &s->diags, &machine, NULL);
	if (program)
		loops_verify(program);
	return program;
}

static const char *dump(Small *s, const Program *program)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	loops_dump(out, program);
	fclose(out);
	const char *copy = arena_strndup(s->arena, text, n);
	free(text);
	return copy;
}

/* The text of one kernel, from its head. */
static void expect_kernel(Small *s, const Program *program, const char *text)
{
	const char *all = dump(s, program);
	if (!strstr(all, text))
		fail_msg("not found:\n%s\nin:\n%s", text, all);
}

/* ---- running ---- */

typedef struct Run {
	Small *s;
	const Program *program;
	GraphEval eval;
	const void *inputs[MAX_ARGS];
	void *outputs[MAX_ARGS];
	float *state;
	int64_t dims[8];
	Scalar scalars[4];
} Run;

static void write_elements(Dtype dtype, void *to, const double *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (dtype == DTYPE_I32)
			((int32_t *)to)[i] = (int32_t)from[i];
		else
			((float *)to)[i] = (float)from[i];
}

static double read_element(Dtype dtype, const void *from, int64_t i)
{
	return dtype == DTYPE_I32 ? (double)((const int32_t *)from)[i] : (double)((const float *)from)[i];
}

static double *random_values(Small *s, int64_t n, Dtype dtype)
{
	double *values = ARENA_ARRAY(s->arena, double, (size_t)n + 1);
	for (int64_t i = 0; i < n; i++)
		values[i] = dtype == DTYPE_I32 ? (double)(rand() % 3) : (double)(rand() % 7 - 3);
	return values;
}

static void set_up(Run *run)
{
	Small *s = run->s;
	const ProgramRoutine *routine = &run->program->routines.at[0];
	run->eval = (GraphEval){&s->inference, s->arena, run->dims, run->scalars,
				ARENA_ARRAY(s->arena, double *, s->graph.nodes.n)};
	uint32_t input = 0;
	for (NodeId id = 0; id < s->graph.nodes.n; id++) {
		const Node *node = graph_node(&s->graph, id);
		int64_t n = graph_eval_elements(&run->eval, id);
		if (node->kind != NODE_INPUT && node->kind != NODE_PARAM)
			continue;
		run->eval.values[id] = random_values(s, n, node->dtype);
		if (node->kind == NODE_INPUT) {
			void *bytes = arena_alloc(s->arena, (size_t)n * 8 + 8);
			write_elements(node->dtype, bytes, run->eval.values[id], n);
			run->inputs[input++] = bytes;
		}
	}
	run->state = arena_alloc(s->arena, (size_t)graph_eval_size(&run->eval, run->program->state) + 8);
	for (size_t i = 0; i < s->graph.params.n; i++) {
		NodeId id = s->graph.params.at[i];
		int64_t offset = graph_eval_size(&run->eval, run->program->params.at[i].offset);
		write_elements(DTYPE_F32, run->state + offset / 4, run->eval.values[id],
			       graph_eval_elements(&run->eval, id));
	}
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		int64_t n = graph_eval_elements(&run->eval, s->graph.routines.at[0].outputs[i]);
		run->outputs[i] = arena_alloc(s->arena, (size_t)n * 8 + 8);
		memset(run->outputs[i], 0xee, (size_t)n * 8 + 8);
	}
}

static int interpret(Run *run)
{
	InterpArgs args = {.dims = run->dims, .scalars = run->scalars, .inputs = run->inputs,
			   .outputs = run->outputs, .state = run->state};
	return interp_run(run->program, 0, &args);
}

static void compare(Run *run)
{
	const Routine *routine = &run->s->graph.routines.at[0];
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		NodeId id = routine->outputs[i];
		Dtype dtype = graph_node(&run->s->graph, id)->dtype;
		for (int64_t k = 0; k < graph_eval_elements(&run->eval, id); k++)
			if (read_element(dtype, run->outputs[i], k) != run->eval.values[id][k])
				fail_msg("output %u, element %d: %g, expected %g\n%s", i, (int)k,
					 read_element(dtype, run->outputs[i], k), run->eval.values[id][k],
					 dump(run->s, run->program));
	}
}

/* Interprets and compares with all symbolic dims 0, 1, 3 and 5. */
static void expect_right(Small *s, const Program *program)
{
	static const int64_t extents[] = {0, 1, 3, 5};
	assert_non_null(program);
	for (int i = 0; i < 4; i++) {
		Run run = {.s = s, .program = program};
		for (int d = 0; d < 8; d++)
			run.dims[d] = extents[i];
		set_up(&run);
		assert_true(graph_eval(&run.eval, (NodeId)s->graph.nodes.n));
		assert_int_equal(interpret(&run), 0);
		compare(&run);
	}
}

/* ---- the form of the loops ---- */

static void test_matrix_product_over_inputs(void **state)
{
	Small *s = *state;
	NodeId x = name(s, small_leaf(s, "n | 3"), "x"), w = param(s, "w", "3 -> 2");
	NodeId y = name(s, small_op(s, NODE_COMPOSE, "n | 2", 2, (NodeId[]){w, x}), "logits");
	const Program *program = lower(s, 1, &y);
	expect_kernel(s, program, "kernel logits(w f32 param, x f32 in -> out0 f32 out)\n"
				  "  for i0 in 0..n\n"
				  "    for i1 in 0..2\n"
				  "      local acc : f32 = 0\n"
				  "      for i2 in 0..3\n"
				  "        acc += w[i1*3 + i2] * x[i0*3 + i2]\n"
				  "      out0[i0*2 + i1] = acc\n");
	expect_right(s, program);
	assert_int_equal(program->routines.at[0].ndims, 1);
}

static void test_long_sums_run_in_lanes(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 71"), w = param(s, "w", "71 -> 6"), b = param(s, "b", "6");
	NodeId y = small_op(s, NODE_COMPOSE, "n | 6", 2, (NodeId[]){w, x});
	NodeId z = pointwise(s, OP_ADD, "n | 6", 2, (NodeId[]){y, b});
	NodeId m = spec(s, "b | i => b | 0", "n | ~1", 1, &x);
	graph_node(&s->graph, m)->reduce = OP_MAX;
	NodeId t = spec(s, "b | i => i", "71", 1, &x), u = spec(s, "b | i => i", "6", 1, &z);
	NodeId out[] = {z, m, t, u};
	const Program *program = lower(s, 4, out);
	expect_kernel(s, program, "  for i0 in 0..4*floor(n/4) step 4\n"
				  "    local acc : f32 [4, 4, 16] = 0\n"
				  "    local rest4 : f32 [4, 4, 4] = 0\n"
				  "    local rest : f32 [4, 4] = 0\n"
				  "    for i2 in 0..64 step 16\n"
				  "      unroll r in 0..4\n"
				  "        unroll c in 0..4\n"
				  "          vector lane in 0..16\n"
				  "            acc[r, c, lane] += w[c*71 + i2 + lane] * t0[i0*71 + r*71 + i2 + lane]\n");
	expect_kernel(s, program, "    unroll i2 in 68..71\n"
				  "      unroll r in 0..4\n"
				  "        unroll c in 0..4\n"
				  "          rest[r, c] += w[c*71 + i2] * t0[i0*71 + r*71 + i2]\n"
				  "    local sum : f32 [4, 4] = 0\n"
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
				  "(square[q, 2] + square[q, 3])) + rest[r, c*4 + q]\n"
				  "    unroll r in 0..4\n"
				  "      vector c in 0..4\n"
				  "        out0[i0*6 + r*6 + c] = sum[r, c] + b[c]\n");
	expect_right(s, program);
}

static void test_matrix_product_over_outputs(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 6"), w = small_leaf(s, "6, 3");
	NodeId y = spec(s, "b | i; i, o => b | o", "n | 3", 2, (NodeId[]){x, w});
	const Program *program = lower(s, 1, &y);
	expect_kernel(s, program, "  for b in 0..n\n"
				  "    for o in 0..3\n"
				  "      out0[b*3 + o] = 0\n"
				  "    for i in 0..6\n"
				  "      for o in 0..3\n"
				  "        out0[b*3 + o] += t0[b*6 + i] * t1[i*3 + o]\n");
	expect_right(s, program);
}

static void test_epilogue(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), w = param(s, "w", "3 -> 4"), b = param(s, "b", "4");
	NodeId y = small_op(s, NODE_COMPOSE, "n | 4", 2, (NodeId[]){w, x});
	NodeId z = pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){y, b});
	NodeId r = name(s, pointwise(s, OP_RELU, "n | 4", 1, &z), "h");
	const Program *program = lower(s, 1, &r);
	assert_int_equal(program->kernels.n, 1);
	expect_kernel(s, program, "out0[i0*4 + i1] = relu(acc + b[i1])\n");
	expect_right(s, program);
}

static void test_softmax(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 5");
	NodeId m = spec(s, "b | v => b | 0", "n | ~1", 1, &x);
	graph_node(&s->graph, m)->reduce = OP_MAX;
	NodeId d = pointwise(s, OP_SUB, "n | 5", 2, (NodeId[]){x, m});
	NodeId e = pointwise(s, OP_EXP, "n | 5", 1, &d);
	NodeId t = spec(s, "b | v => b | 0", "n | ~1", 1, &e);
	NodeId y = pointwise(s, OP_DIV, "n | 5", 2, (NodeId[]){e, t});
	const Program *program = lower(s, 1, &y);
	assert_int_equal(program->kernels.n, 4);
	expect_kernel(s, program, "= exp(t0[i0*5 + i1] - max[i0])\n");
}

static void test_padded_bounds(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 6, 1"), w = small_leaf(s, "3, 1 -> 2");
	NodeId y = spec(s, "b | o=+k, ic; k, ic -> oc => b | o, oc", "n | 6, 2", 2, (NodeId[]){x, w});
	graph_node(&s->graph, w)->name = sym_cstr(s->symbols, "w");
	s->shapes[w] = small_shape(s, "3, 1 -> 2");
	const Program *program = lower(s, 1, &y);
	assert_null(strstr(dump(s, program), "if "));
	expect_right(s, program);
}

static void test_shared_value(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 4");
	NodeId a = pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){x, number(s, 1)});
	NodeId b = pointwise(s, OP_MUL, "n | 4", 2, (NodeId[]){a, a});
	const Program *program = lower(s, 1, &b);
	assert_int_equal(program->kernels.n, 1);
	expect_kernel(s, program, "  for i1 in 0..4*n\n"
				  "    local t : f32 = t0[i1] + 1\n"
				  "    out0[i1] = t * t\n");
	expect_right(s, program);
}

static void test_long_chain_is_cut(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 4"), one = number(s, 1);
	for (int i = 0; i < 60; i++)
		x = pointwise(s, OP_MAX, "n | 4", 2, (NodeId[]){x, one});
	const Program *program = lower(s, 1, &x);
	assert_true(program->kernels.n >= 1 && program->kernels.n <= 3);
	expect_right(s, program);
}

static void test_temporaries_share_places(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "16"), y = x;
	for (int i = 0; i < 4; i++) { /* sums in between keep them apart */
		NodeId t = spec(s, "v => 0", "~1", 1, &y);
		y = pointwise(s, OP_ADD, "16", 2, (NodeId[]){y, t});
	}
	const Program *program = lower(s, 1, &y);
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
		NodeId t = spec(s, "b | v => b | 0", "n | ~1", 1, &y);
		y = pointwise(s, OP_ADD, "n | 16", 2, (NodeId[]){y, t});
	}
	const Program *program = lower(s, 1, &y);
	assert_string_equal(size_text(s->arena, program->sizes, program->routines.at[0].workspace),
			    "64*n + 128*floor((n + 15)/16)"); /* one tensor, the sums of two */
	expect_right(s, program);
}

/* ---- every kind of node ---- */

static void test_stack_concat_slice(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n | 3"), b = small_leaf(s, "n | 3"), c = small_leaf(s, "n | 2");
	NodeId r = pointwise(s, OP_RELU, "n | 3", 1, &a);
	NodeId st = small_op(s, NODE_STACK, "2, n | 3", 2, (NodeId[]){r, b});
	NodeId sl = small_op(s, NODE_SLICE, "n | 3", 1, &st);
	graph_node(&s->graph, sl)->slice_index = 1;
	NodeId cc = small_spec(s, NODE_BLOCK, "b | x; b | y => b | x^y", "n | 5", 2, (NodeId[]){sl, c});
	small_letter(s, cc, "x", "3");
	small_letter(s, cc, "y", "2");
	NodeId out[] = {st, sl, cc};
	expect_right(s, lower(s, 3, out));
}

static void test_transposes_and_reshape(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n | 3 -> 4");
	NodeId t = small_op(s, NODE_TRANSPOSE, "n | 4 -> 3", 1, &a);
	NodeId p = pointwise(s, OP_NEG, "n | 4 -> 3", 1, &t);
	NodeId r = small_op(s, NODE_RESHAPE, "n | 12", 1, &p);
	NodeId q = pointwise(s, OP_ADD, "n | 12", 2, (NodeId[]){r, number(s, 2)});
	NodeId out[] = {q, r};
	expect_right(s, lower(s, 2, out));
}

static void test_leaves_as_outputs(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), w = param(s, "w", "3 -> 2"), one = number(s, 1);
	NodeId o = small_leaf(s, "n | 2");
	graph_node(&s->graph, o)->kind = NODE_OFFSETS;
	graph_node(&s->graph, o)->name = NULL;
	NodeId out[] = {x, w, one, x, o};
	expect_right(s, lower(s, 5, out));
}

static void test_argmax(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 7");
	NodeId y = small_spec(s, NODE_ARGMAX, "b | v => b |", "n |", 1, &x);
	graph_node(&s->graph, y)->dtype = DTYPE_I32;
	expect_right(s, lower(s, 1, &y));
}

static void test_diagonal_is_cleared(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n");
	NodeId y = spec(s, "i => i, i", "n, n", 1, &x);
	NodeId z = spec(s, "i, j => j", "n", 1, &y);
	NodeId out[] = {y, z};
	expect_right(s, lower(s, 2, out));
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
	NodeId y = pointwise(s, OP_ADD, "n | 4", 2, (NodeId[]){g, g});
	NodeId out[] = {y, table};
	expect_right(s, lower(s, 2, out));
}

static void test_gather_out_of_range(void **state)
{
	Small *s = *state;
	NodeId table = small_leaf(s, "3, 4"), ids;
	NodeId first = pointwise(s, OP_NEG, "3, 4", 1, &table);
	NodeId g = gathered(s, table, &ids);
	NodeId out[] = {first, g};
	Run run = {.s = s, .program = lower(s, 2, out), .dims = {5, 5, 5, 5}};
	set_up(&run);
	((int32_t *)run.inputs[1])[4] = 3;
	assert_int_equal(interpret(&run), 16);
	for (int i = 0; i < 2; i++) /* nothing was written */
		assert_int_equal(*(unsigned char *)run.outputs[i], 0xee);
}

static NodeId assign(Small *s, NodeId id, NodeId target, Op acc, bool clear)
{
	Node *node = graph_node(&s->graph, id);
	node->target = target;
	node->acc = acc;
	node->clear = clear;
	return id;
}

static void test_assignments(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 3"), t = small_leaf(s, "n | 6"), p = param(s, "p", "3");
	graph_node(&s->graph, t)->kind = NODE_ZEROS;
	graph_node(&s->graph, t)->name = sym_cstr(s->symbols, "t");
	assign(s, spec(s, "b | i => b | 2*i", "n | 6", 1, &x), t, OP_ADD, true);
	assign(s, spec(s, "b | i => b | 2*i+1", "n | 6", 1, &x), t, OP_ADD, false);
	assign(s, spec(s, "b | i => i", "3", 1, &x), p, OP_SUB, false);
	NodeId q = pointwise(s, OP_ADD, "3", 2, (NodeId[]){p, number(s, 1)});
	assign(s, pointwise(s, OP_MUL, "3", 2, (NodeId[]){q, p}), p, OP_NONE, false);
	NodeId u = pointwise(s, OP_ADD, "n | 6", 2, (NodeId[]){t, t});
	NodeId out[] = {t, p, u, q};
	expect_right(s, lower(s, 4, out));
}

static void test_transposed_self_assignment(void **state)
{
	Small *s = *state;
	NodeId p = param(s, "p", "4, 4");
	assign(s, spec(s, "i, j => j, i", "4, 4", 1, &p), p, OP_ADD, false);
	NodeId y = pointwise(s, OP_NEG, "4, 4", 1, &p);
	expect_right(s, lower(s, 1, &y));
}

/* ---- random graphs ---- */

static NodeId random_node(Small *s, NodeId *square, int n)
{
	static const Op ops[] = {OP_ADD, OP_SUB, OP_MAX, OP_MIN, OP_MUL};
	NodeId a = square[rand() % n], b = square[rand() % n];
	const char *shape = "n, n";
	switch (rand() % 8) {
	case 0: return spec(s, "i, j => j, i", shape, 1, &a);
	case 1: return pointwise(s, OP_RELU, shape, 1, &a);
	case 2: return spec(s, "i, k; k, j => i, j", shape, 2, (NodeId[]){a, b});
	case 3: return pointwise(s, OP_SIGN, shape, 1, &a);
	case 4: {
		NodeId row = spec(s, "i, j => j", "n", 1, &a);
		graph_node(&s->graph, row)->reduce = rand() % 2 ? OP_MAX : OP_ADD;
		return pointwise(s, OP_SIGN, shape, 1,
				 (NodeId[]){pointwise(s, OP_ADD, shape, 2, (NodeId[]){b, row})});
	}
	case 5: return spec(s, "i, j => i, i", shape, 1, &a);
	default: {
		NodeId y = pointwise(s, ops[rand() % 5], shape, 2, (NodeId[]){a, b});
		return pointwise(s, OP_SIGN, shape, 1, &y);
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
		expect_right(s, lower(s, 3, outputs));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_matrix_product_over_inputs, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_long_sums_run_in_lanes, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_matrix_product_over_outputs, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_epilogue, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_softmax, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_padded_bounds, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_shared_value, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_long_chain_is_cut, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_temporaries_share_places, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_symbolic_workspace, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_stack_concat_slice, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_transposes_and_reshape, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_leaves_as_outputs, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_argmax, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_diagonal_is_cleared, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_gather, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_gather_out_of_range, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_assignments, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_transposed_self_assignment, small_setup, small_teardown),
		cmocka_unit_test_setup_teardown(test_random_graphs, small_setup, small_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
