/* Hand-made graphs through lowering: see lower_fixture.h. */
#include "test/unit/lower_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/element.h"
#include "base/size_eval.h"
#include "lower/lower.h"
#include "lower/naive/naive.h"
#include "transform/transform.h"

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

NodeId small_assign(Small *s, NodeId id, NodeId target, Op acc, bool clear)
{
	Node *node = graph_node(&s->graph, id);
	node->target = target;
	node->acc = acc;
	node->clear = clear;
	return id;
}

void small_routine(Small *s, uint32_t noutputs, const NodeId *outputs)
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
		else if (node->nargs > 0)
			assert_non_null(small_derive(s, id));
		r.order[r.norder++] = id;
	}
	PUSH(s->arena, s->graph.routines, r);
	const char *path = "small.tsr";
	PUSH(s->arena, s->graph.files, path);
}

const Target *small_target(Small *s)
{
	Target *target = ARENA_NEW(s->arena, Target);
	assert_true(target_find("x86-64-v4", target));
	target->row_columns = 0; /* short rows stay loops: test/lit/transform/unroll.test */
	return target;
}

const Program *small_lower(Small *s, uint32_t noutputs, const NodeId *outputs)
{
	small_routine(s, noutputs, outputs);
	const LowerOptions options = {.target = small_target(s)};
	const Program *program = lower_program(tensor_run_all(&s->inference, s->arena), &s->sources,
					       s->arena, &s->diags, &options, NULL);
	if (program)
		loops_verify(program);
	return program;
}

const Program *small_naive(Small *s, uint32_t noutputs, const NodeId *outputs)
{
	small_routine(s, noutputs, outputs);
	const LowerOptions options = {.target = small_target(s)};
	const Program *program = naive_kernels(tensor_run_all(&s->inference, s->arena), &s->sources,
					       s->arena, &s->diags, &options);
	assert_non_null(program);
	program = transform_run(TRANSFORM_PASSES - 1, program, NULL, &s->diags);
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

static int64_t value_of(const Run *run, Size size)
{
	int64_t value;
	assert_true(size_eval(run->program->sizes, size, run->dims, &value));
	return value;
}

static int64_t elements_of(const Run *run, NodeId id)
{
	return value_of(run, shape_elements(run->s->inference.sizes, &run->s->shapes[id]));
}

static void draw(void *to, Dtype dtype, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		scalar_write(dtype, to, i,
			     dtype == DTYPE_I32 ? (Scalar){.i = rand() % 3}
						: (Scalar){.f = rand() % 7 - 3});
}

void run_set_up(Run *run)
{
	Small *s = run->s;
	const ProgramRoutine *routine = &run->program->routines.at[0];
	for (uint32_t i = 0; i < routine->ninputs; i++) {
		NodeId id = s->graph.routines.at[0].inputs[i];
		int64_t n = elements_of(run, id);
		void *bytes = arena_alloc(s->arena, (size_t)n * 8 + 8);
		draw(bytes, graph_node(&s->graph, id)->dtype, n);
		run->inputs[i] = bytes;
	}
	run->state = arena_alloc(s->arena, (size_t)value_of(run, run->program->state) + 8);
	for (size_t i = 0; i < s->graph.params.n; i++) {
		char *bytes = run->state + value_of(run, run->program->params.at[i].offset);
		draw(bytes, DTYPE_F32, elements_of(run, s->graph.params.at[i]));
		run->params[i] = bytes;
	}
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		int64_t n = elements_of(run, s->graph.routines.at[0].outputs[i]);
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

RefResult *run_reference(Run *run)
{
	RefCall call = {.inference = &run->s->inference,
			.dims = run->dims,
			.scalars = run->scalars,
			.inputs = run->inputs,
			.params = run->params,
			.most_elements = 1 << 20};
	return reference_run(&call, 0);
}

static void compare(const Run *run, const RefResult *right)
{
	assert_int_equal(right->outcome, REF_DONE);
	for (uint32_t i = 0; i < right->noutputs; i++)
		for (int64_t k = 0; k < right->outputs[i].n; k++) {
			const RefElement *element = &right->outputs[i].elements[k];
			Dtype dtype = right->outputs[i].dtype;
			Scalar got = scalar_read(dtype, run->outputs[i], k);
			if (!ref_allows(element, dtype, got))
				fail_msg("output %u, element %d: expected %g\n%s", i, (int)k,
					 (double)element->x, lowered_dump(run->s, run->program));
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
		RefResult *right = run_reference(&run);
		assert_int_equal(run_interpret(&run), 0);
		compare(&run, right);
		reference_free(right);
	}
}

int plan_verdict(const LowerPlan *plan, void (*verify)(const LowerPlan *))
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		verify(plan);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
