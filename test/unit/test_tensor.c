/* The passes over the tensor program: what they make, and that the checker sees what is wrong with
 * a projection that a pass has made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "infer/check.h"
#include "tensor/tensor.h"
#include "test/unit/lower_fixture.h"

/* A program on which each pass has something to do. */
static const TensorProgram *small_program(Small *s)
{
	NodeId a = small_leaf(s, "40, 60"), b = small_leaf(s, "60, 50"), c = small_leaf(s, "50, 30");
	NodeId x = small_leaf(s, "n, 8, 32, 4"), g = small_leaf(s, "m, n"), w = small_leaf(s, "3, n");
	NodeId image = small_leaf(s, "n, 50, 50, 3"), m = small_leaf(s, "3");
	NodeId chain = small_einsum(s, "i, j; j, k; k, l => i, l", "40, 30", 3, (NodeId[]){a, b, c});
	NodeId sums = small_einsum(s, "n, h, g, c => n, g", "n, 32", 1, (NodeId[]){x});
	NodeId window = small_einsum(s, "y, i; k, i => 2*y=+k", "2*m", 2, (NodeId[]){g, w});
	NodeId first = small_pointwise(s, OP_EXP, "2*m", 1, (NodeId[]){window});
	NodeId second = small_pointwise(s, OP_EXP, "2*m", 1, (NodeId[]){window});
	NodeId both = small_pointwise(s, OP_ADD, "2*m", 2, (NodeId[]){first, second});
	NodeId colours = small_pointwise(s, OP_SUB, "n, 50, 50, 3", 2, (NodeId[]){image, m});
	for (NodeId id = 0; id < s->graph.nodes.n; id++)
		if (graph_node(&s->graph, id)->nargs > 0)
			assert_non_null(small_derive(s, id));
	(void)chain, (void)sums, (void)both, (void)colours;
	s->graph.symbols = s->symbols;
	s->graph.sizes = s->inference.sizes;
	return tensor_program(&s->inference, s->arena);
}

static void each_pass_makes_something(void **state)
{
	const TensorProgram *program = small_program(*state);
	static const size_t made[TENSOR_PASSES] = {[TENSOR_REASSOCIATE] = 2,
						   [TENSOR_TWO_STAGE] = 2,
						   [TENSOR_MATERIALIZE] = 2,
						   [TENSOR_GATHER] = 1,
						   [TENSOR_COMMON] = 1};
	for (int pass = 0; pass < TENSOR_PASSES; pass++) {
		const TensorProgram *next = tensor_run(program, pass);
		assert_int_equal(next->changed, made[pass] > 0);
		assert_int_equal(next->made.n, made[pass]);
		assert_ptr_equal(next->inference->graph, next->graph);
		tensor_verify(next);
		/* what it was made from is as it was */
		assert_int_equal(tensor_run(program, pass)->changed, made[pass] > 0);
		/* what nobody reads any more is still there, and found equal again */
		assert_int_equal(tensor_run(next, pass)->changed, pass == TENSOR_COMMON);
		program = next;
	}
}

/* ---- damage ---- */

static const char *answer(const TensorProgram *program, NodeId id)
{
	Checker c;
	checker_init(&c, program->inference, program->arena);
	return check_projection(&c, id);
}

static void expect_refused(const TensorProgram *program, NodeId id, const char *what)
{
	if (!answer(program, id))
		fail_msg("%%%u with %s is accepted", id, what);
}

static void damage_extents(const TensorProgram *program, NodeId id)
{
	Proj *proj = program->inference->projs[id];
	bool *runs = ARENA_ARRAY(program->arena, bool, proj->niters + 1);
	for (uint32_t p = 0; p < proj->npieces; p++)
		for (uint32_t i = 0; i < proj->pieces[p].niters; i++)
			runs[proj->pieces[p].iters[i]] = true;
	for (IterId i = 0; i < proj->niters; i++) {
		Size *extent = &proj->iters[i].extent, was = *extent;
		*extent = size_plus(program->sizes, was, 1);
		if (runs[i])
			expect_refused(program, id, "an iterator that runs on");
		*extent = size_plus(program->sizes, was, -1);
		if (runs[i] && !proj->iters[i].reduced && proj->surjective)
			expect_refused(program, id, "an iterator that ends before");
		*extent = was;
	}
}

static void damage_pieces(const TensorProgram *program, NodeId id)
{
	Proj *proj = program->inference->projs[id];
	Index *index = &proj->pieces[0].result.axes[0];
	Size was = index->offset;
	index->offset = size_plus(program->sizes, was, 1);
	expect_refused(program, id, "a result that is shifted");
	index->offset = was;
	proj->clear = !proj->clear;
	expect_refused(program, id, "a result that is cleared for nothing, or is not");
	proj->clear = !proj->clear;
	proj->npieces--;
	expect_refused(program, id, "a piece that is missing");
	proj->npieces++;
	for (uint32_t p = 1; p < proj->npieces; p++) {
		Access access = proj->pieces[p].result;
		proj->pieces[p].result = proj->pieces[p - 1].result;
		expect_refused(program, id, "a piece that is written to another's place");
		proj->pieces[p].result = access;
	}
}

static void what_a_pass_gets_wrong_is_seen(void **state)
{
	const TensorProgram *program = small_program(*state);
	for (int pass = 0; pass < TENSOR_PASSES; pass++) {
		program = tensor_run(program, pass);
		for (size_t i = 0; i < program->made.n; i++) {
			damage_extents(program, program->made.at[i]);
			damage_pieces(program, program->made.at[i]);
			assert_null(answer(program, program->made.at[i]));
		}
	}
}

/* ---- tensors that are said to be equal ---- */

typedef struct Merge {
	TensorProgram *before, *after;
	Node *first, *second,
		*reader; /* the two in `before`, and what reads one of them in `after` */
	NodeId second_id;
} Merge;

static NodeId leaves[2]; /* the first of all, twice */

static void other_operation(Merge *m) { m->second->op = OP_LOG; }
static void other_type(Merge *m) { m->second->dtype = DTYPE_F64; }
static void other_operand(Merge *m) { m->second->args = leaves; }
static void more_operands(Merge *m) { m->second->nargs = 0; }
static void other_loop(Merge *m) { m->second->loop = 1; }
static void other_place_of_bytes(Merge *m) { m->second->packs = 0; }
static void other_direction(Merge *m) { m->second->along.reverse = true; }
static void random_numbers(Merge *m) { m->first->kind = m->second->kind = NODE_RANDOM; }
static void inputs(Merge *m) { m->first->kind = m->second->kind = NODE_INPUT; }
static void assignment(Merge *m) { m->second->target = 0; }
static void of_an_initialiser(Merge *m) { m->second->like = 0; }
static void not_computed(Merge *m) { m->first->used = false; }
static void reader_of_another(Merge *m) { m->reader->args = leaves; }
static void reader_is_another(Merge *m) { m->reader->op = OP_MUL; }

static void other_numbers(Merge *m)
{
	m->first->kind = m->second->kind = NODE_NUMBER;
	m->second->number = m->first->number + 1;
}

static void other_index(Merge *m)
{
	Proj **proj = &m->before->inference->projs[m->second_id];
	Index *index = &(*proj)->pieces[0].args[0].axes[0];
	index->offset = size_plus(m->before->sizes, index->offset, 1);
}

static void other_extent(Merge *m)
{
	Iter *iter = &m->before->inference->projs[m->second_id]->iters[0];
	iter->extent = size_plus(m->before->sizes, iter->extent, 1);
}

static void other_shape(Merge *m)
{
	Row *row = m->before->inference->shapes[m->second_id].rows;
	while (row->n == 0)
		row++;
	Axis *axis = row->axes;
	axis->size = size_plus(m->before->sizes, axis->size, 1);
}

static void margins(Merge *m)
{
	m->before->inference->margins[m->second_id] = ARENA_NEW(m->before->arena, Margins);
}

static Merge merge_of(Small *s)
{
	const TensorProgram *program = small_program(s);
	for (int pass = 0; pass < TENSOR_COMMON; pass++)
		program = tensor_run(program, pass);
	Merge m = {.before = (TensorProgram *)(uintptr_t)program};
	m.after = (TensorProgram *)(uintptr_t)tensor_run(program, TENSOR_COMMON);
	NodeId reader = m.after->made.at[0], first = tensor_node(m.after, reader)->args[0];
	m.second_id = tensor_node(program, reader)->args[1];
	m.first = graph_node((Graph *)(uintptr_t)program->graph, first);
	m.second = graph_node((Graph *)(uintptr_t)program->graph, m.second_id);
	m.reader = graph_node((Graph *)(uintptr_t)m.after->graph, reader);
	return m;
}

static void what_is_not_equal_is_seen(void **state)
{
	static void (*const faults[])(Merge *) = {other_operation,
						  other_type,
						  other_operand,
						  more_operands,
						  other_loop,
						  other_place_of_bytes,
						  other_direction,
						  random_numbers,
						  inputs,
						  assignment,
						  of_an_initialiser,
						  not_computed,
						  reader_of_another,
						  reader_is_another,
						  other_numbers,
						  other_index,
						  other_extent,
						  other_shape,
						  margins};
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		small_teardown(state);
		small_setup(state);
		Merge m = merge_of(*state);
		assert_null(equal_tensors_refused(m.before, m.after));
		faults[i](&m);
		if (!equal_tensors_refused(m.before, m.after))
			fail_msg("fault %zu is accepted", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_pass_makes_something, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(what_a_pass_gets_wrong_is_seen, small_setup,
						small_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_equal_is_seen, small_setup,
						small_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
