/* Hand-made graphs through lowering: see lower_fixture.h. */
#include "test/unit/lower_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lower/lower.h"

/* ---- graphs ---- */

NodeId small_pointwise(Small *s, Op op, const char *shape, uint32_t nargs, const NodeId *args)
{
	NodeId id = small_op(s, NODE_POINTWISE, shape, nargs, args);
	graph_node(&s->graph, id)->op = op;
	return id;
}

NodeId small_einsum(Small *s, const char *text, const char *shape, uint32_t nargs,
		    const NodeId *args)
{
	NodeId id = small_spec(s, NODE_SPEC, text, shape, nargs, args);
	if (nargs == 1)
		graph_node(&s->graph, id)->op = OP_ID;
	return id;
}

NodeId small_number(Small *s, double value)
{
	NodeId id = small_leaf(s, "");
	Node *node = graph_node(&s->graph, id);
	node->kind = NODE_NUMBER;
	node->name = NULL;
	node->number = value;
	return id;
}

NodeId small_param(Small *s, const char *name, const char *shape)
{
	NodeId id = small_leaf(s, shape);
	graph_node(&s->graph, id)->kind = NODE_PARAM;
	graph_node(&s->graph, id)->name = sym_cstr(s->symbols, name);
	PUSH(s->arena, s->graph.params, id);
	return id;
}

NodeId small_named(Small *s, NodeId id, const char *text)
{
	graph_node(&s->graph, id)->name = sym_cstr(s->symbols, text);
	return id;
}

const Program *small_lower(Small *s, uint32_t noutputs, const NodeId *outputs)
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
	const Program *program =
		lower_program(&s->inference, &s->sources, s->arena, &s->diags, &machine, NULL);
	if (program)
		loops_verify(program);
	return program;
}

const char *lowered_dump(Small *s, const Program *program)
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

void expect_kernel(Small *s, const Program *program, const char *text)
{
	const char *all = lowered_dump(s, program);
	if (!strstr(all, text))
		fail_msg("not found:\n%s\nin:\n%s", text, all);
}

/* ---- running ---- */

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
	return dtype == DTYPE_I32 ? (double)((const int32_t *)from)[i]
				  : (double)((const float *)from)[i];
}

static double *random_values(Small *s, int64_t n, Dtype dtype)
{
	double *values = ARENA_ARRAY(s->arena, double, (size_t)n + 1);
	for (int64_t i = 0; i < n; i++)
		values[i] = dtype == DTYPE_I32 ? (double)(rand() % 3) : (double)(rand() % 7 - 3);
	return values;
}

void run_set_up(Run *run)
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
	run->state =
		arena_alloc(s->arena, (size_t)graph_eval_size(&run->eval, run->program->state) + 8);
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

int run_interpret(Run *run)
{
	InterpArgs args = {.dims = run->dims,
			   .scalars = run->scalars,
			   .inputs = run->inputs,
			   .outputs = run->outputs,
			   .state = run->state};
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
					 read_element(dtype, run->outputs[i], k),
					 run->eval.values[id][k],
					 lowered_dump(run->s, run->program));
	}
}

void expect_right(Small *s, const Program *program)
{
	static const int64_t extents[] = {0, 1, 3, 5};
	assert_non_null(program);
	for (int i = 0; i < 4; i++) {
		Run run = {.s = s, .program = program};
		for (int d = 0; d < 8; d++)
			run.dims[d] = extents[i];
		run_set_up(&run);
		assert_true(graph_eval(&run.eval, (NodeId)s->graph.nodes.n));
		assert_int_equal(run_interpret(&run), 0);
		compare(&run);
	}
}
