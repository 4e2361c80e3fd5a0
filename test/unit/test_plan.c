/* The verifiers of what is decided before kernels are made: a plan of a routine, and of its kernels, that is as it was
 * decided is accepted, and each kind of broken one refused (in a child process, which must end as a compiler
 * bug does). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lower/kernel_plan.h"
#include "lower/lower.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"
#include "lower/tile/tile.h"
#include "test/unit/lower_fixture.h"

/* softmax(q * k) * v, a product of a function of a parameter, and what follows from it. */
typedef struct Plans {
	Small s;
	LowerPlan *lower;
	RoutinePlan *plan;
	NodeId product, after, value,
		first;		    /* `after` finishes the product; the state's; begins a block */
	NodeId total, shares, mean; /* of rows; what reads those; of a long line, in parts */
	NodeId start;		    /* what a parameter starts with */
	NodeId edges;		    /* reads windows that leave their axes */
	NodeId grown;		    /* a function of many instructions of a product */
	NodeId own, own_set, own_read; /* of the routine, a step that sets it, and who reads it */
} Plans;

static NodeId attention(Small *s, NodeId *first)
{
	NodeId q = small_leaf(s, "4, 1024, 64"), k = small_leaf(s, "4, 1024, 64"),
	       v = small_leaf(s, "4, 1024, 64");
	NodeId scores = small_einsum(s, "h, a, d; h, b, d => h, a, b", "4, 1024, 1024", 2,
				     (NodeId[]){q, k});
	NodeId e = *first = small_pointwise(s, OP_EXP, "4, 1024, 1024", 1, (NodeId[]){scores});
	NodeId sum = small_einsum(s, "h, a, b => h, a", "4, 1024", 1, (NodeId[]){e});
	NodeId p =
		small_einsum(s, "h, a, b; h, a => h, a, b", "4, 1024, 1024", 2, (NodeId[]){e, sum});
	return small_einsum(s, "h, a, b; h, b, d => h, a, d", "4, 1024, 64", 2, (NodeId[]){p, v});
}

/* param = einsum of w and w */
static void start_with(Plans *p, NodeId param, NodeId w)
{
	Small *s = &p->s;
	Routine *init = &s->graph.init;
	p->start = small_einsum(s, "k, i; k, j => i, j", "70, 70", 2, (NodeId[]){w, w});
	assert_non_null(small_derive(s, p->start));
	small_assign(s, p->start, param, OP_NONE, false);
	init->name = sym_cstr(s->symbols, "init");
	init->order = ARENA_ARRAY(s->arena, NodeId, 1);
	init->order[init->norder++] = p->start;
}

/* own = -x; own_read = own + own */
static void assign_own(Plans *p, NodeId x)
{
	Small *s = &p->s;
	p->own = small_leaf(s, "48, 80");
	graph_node(&s->graph, p->own)->kind = NODE_ZEROS;
	graph_node(&s->graph, p->own)->name = sym_cstr(s->symbols, "own");
	p->own_set = small_pointwise(s, OP_NEG, "48, 80", 1, &x);
	small_assign(s, p->own_set, p->own, OP_NONE, false);
	p->own_read = small_pointwise(s, OP_ADD, "48, 80", 2, (NodeId[]){p->own, p->own});
}

/* Sums over three neighbours in either direction. */
static NodeId window_sums(Small *s, NodeId x)
{
	NodeId sums[] = {small_einsum(s, "i=+k, j => i, j", "48, 80", 1, &x),
			 small_einsum(s, "i, j=+k => i, j", "48, 80", 1, &x)};
	small_letter(s, sums[0], "k", "3");
	small_letter(s, sums[1], "k", "3");
	return small_pointwise(s, OP_ADD, "48, 80", 2, sums);
}

/* exp(x * w + bias) */
static NodeId grown_product(Small *s, NodeId x, NodeId w)
{
	NodeId terms[] = {small_einsum(s, "i, k; k, j => i, j", "48, 70", 2, (NodeId[]){x, w}),
			  small_leaf(s, "48, 70")};
	NodeId sum = small_pointwise(s, OP_ADD, "48, 70", 2, terms);
	return small_pointwise(s, OP_EXP, "48, 70", 1, &sum);
}

static void plans_init(Plans *p)
{
	Small *s = &p->s;
	small_init(s);
	NodeId x = small_leaf(s, "48, 80"), w = small_param(s, "w", "80, 70");
	NodeId param = small_param(s, "param", "70, 70");
	NodeId heads = attention(s, &p->first);
	p->value = small_pointwise(s, OP_EXP, "80, 70", 1, (NodeId[]){w});
	p->product = small_einsum(s, "i, k; k, j => i, j", "48, 70", 2, (NodeId[]){x, p->value});
	p->after = small_pointwise(s, OP_RELU, "48, 70", 1, (NodeId[]){p->product});
	NodeId line = small_leaf(s, "1000000, 2");
	p->total = small_einsum(s, "i, k => i", "48", 1, (NodeId[]){x});
	p->shares = small_einsum(s, "i, k; i => i, k", "48, 80", 2, (NodeId[]){x, p->total});
	p->mean = small_einsum(s, "i, j => j", "2", 1, (NodeId[]){line});
	p->edges = window_sums(s, x);
	p->grown = grown_product(s, x, w);
	assign_own(p, x);
	small_routine(s, 8,
		      (NodeId[]){heads, p->after, p->shares, p->mean, p->edges, p->grown, p->own,
				 p->own_read});
	start_with(p, param, w);
	LowerOptions *options = ARENA_NEW(s->arena, LowerOptions);
	*options = (LowerOptions){.target = small_target(s), .prepack = true};
	p->lower = lower_plan(tensor_run_all(&s->inference, s->arena), &s->sources, s->arena,
			      &s->diags, options, NULL);
	assert_non_null(p->lower);
	p->plan = &p->lower->routines[0];
}

static NodePlan *node_of(Plans *p, NodeId id)
{
	NodePlan *node = (NodePlan *)routine_plan_node(p->plan, id);
	assert_non_null(node);
	return node;
}

static PlannedNest *nest_of(Plans *p, NodeId id)
{
	KernelPlan *kernel = node_of(p, id)->kernel;
	assert_non_null(kernel);
	assert_int_equal(kernel->nnests, 1);
	return kernel->nests;
}

static Tile *tile_of(Plans *p)
{
	assert_int_equal(nest_of(p, p->after)->plan.form, NEST_TILES);
	return nest_of(p, p->after)->plan.tile;
}

/* ---- broken plans of a routine ---- */

static void inside_itself(Plans *p) { node_of(p, p->product)->root = p->product; }
static void inside_what_is_inside(Plans *p)
{
	node_of(p, p->after)->fused = true;
	node_of(p, p->after)->root = p->after;
}
static void inside_what_comes_before(Plans *p) { node_of(p, p->product)->root = p->value; }
static void inside_and_a_result(Plans *p) { node_of(p, p->product)->output = true; }
static void inside_and_assigned_to(Plans *p) { node_of(p, p->product)->mutated = true; }
static void finishes_what_is_elsewhere(Plans *p) { node_of(p, p->first)->reduction = p->product; }
static void in_the_state_of_a_call(Plans *p) { node_of(p, p->after)->hoisted = true; }
static void before_its_operand(Plans *p) { node_of(p, p->after)->pre_check = true; }
static void used_by_another(Plans *p)
{
	uint32_t k = ids_from(p->plan->ids, p->plan->n, p->value);
	p->plan->uses[p->plan->first_use[k]].user = p->after;
}
static void operand_is_not_needed(Plans *p)
{
	p->plan->ids[ids_from(p->plan->ids, p->plan->n, p->value)]--;
}

static void no_zeros_before_a_sum(Plans *p) { graph_node(&p->s.graph, p->own_set)->acc = OP_ADD; }
static void no_zeros_before_a_step_that_may_not_run(Plans *p)
{
	graph_node(&p->s.graph, p->own_set)->loop = 1;
}
static void no_zeros_before_a_reader(Plans *p)
{
	graph_node(&p->s.graph, p->own_set)->target = NODE_NONE;
}
static void zeros_in_an_operation(Plans *p) { node_of(p, p->after)->cleared = true; }

static NodePlan *start_of(Plans *p)
{
	assert_int_equal(p->lower->nroutines, 2);
	NodePlan *node = (NodePlan *)routine_plan_node(&p->lower->routines[1], p->start);
	assert_non_null(node);
	return node;
}
static void start_is_in_the_state(Plans *p) { start_of(p)->hoisted = true; }
static void start_finishes_nothing(Plans *p) { start_of(p)->reduction = p->product; }

/* ---- broken plans of kernels ---- */

static void start_stores_each_step(Plans *p)
{
	assert_non_null(start_of(p)->kernel);
	start_of(p)->kernel->nests[0].plan.form = NEST_STORES;
}
static void start_has_kernel_of_another(Plans *p) { start_of(p)->kernel->node = p->product; }

static void kernel_of_another(Plans *p) { node_of(p, p->after)->kernel->node = p->product; }
static void kernel_inside_another(Plans *p)
{
	node_of(p, p->product)->kernel = node_of(p, p->after)->kernel;
}
static void stores_each_step_of_a_sum(Plans *p) { nest_of(p, p->after)->plan.form = NEST_STORES; }
static void lanes_along_elements(Plans *p)
{
	nest_of(p, p->after)->nest.nloops = nest_of(p, p->after)->nest.nresult;
	nest_of(p, p->after)->plan.form = NEST_LANES;
}
/* Columns are cut where whole vectors begin, too. */
static LoopCut *cut_of(Plans *p, uint32_t loop)
{
	const NestPlan *plan = &nest_of(p, p->edges)->plan;
	assert_non_null(plan->cuts);
	assert_int_equal(plan->cuts[loop].parts.n, 3 + loop);
	return (LoopCut *)&plan->cuts[loop];
}
static void cut_leaves_a_gap(Plans *p)
{
	cut_of(p, 0)->parts.at[1].first = size_const(p->s.inference.sizes, 2);
}
static void cut_ends_early(Plans *p) { cut_of(p, 1)->parts.n--; }
static void cut_has_no_inside(Plans *p) { cut_of(p, 1)->inside = 4; }
static void windows_without_cuts(Plans *p)
{
	cut_of(p, 0);
	nest_of(p, p->edges)->plan.cuts = NULL;
}
static void cuts_without_windows(Plans *p)
{
	nest_of(p, p->shares)->plan.cuts = nest_of(p, p->edges)->plan.cuts;
}
static void rows_are_columns(Plans *p) { tile_of(p)->col = tile_of(p)->row; }
static void rows_of_another_nest(Plans *p)
{
	static Loop other;
	tile_of(p)->row = &other;
}
static void tiles_leave_a_gap(Plans *p)
{
	TilePart *part = &tile_of(p)->cols.at[0];
	part->lo = size_const(p->s.inference.sizes, 1);
}
static void tiles_end_early(Plans *p) { tile_of(p)->rows.n--; }
static void tile_of_no_columns(Plans *p) { tile_of(p)->cols.at[0].step = 0; }
static void tile_of_many_registers(Plans *p) { tile_of(p)->rows.at[0].step *= 8; }
static void copy_that_is_not_planned(Plans *p) { nest_of(p, p->after)->nest.gen->buffers.n = 0; }
static void copy_without_room(Plans *p)
{
	Buffer *packed = &p->lower->program->buffers.at[tile_of(p)->packed];
	packed->elements = size_const(p->s.inference.sizes, 64);
}
static void copy_in_no_buffer(Plans *p) { tile_of(p)->packed = BUFFER_NONE; }
static Tile *tile_of_functions(Plans *p)
{
	assert_int_equal(nest_of(p, p->grown)->plan.form, NEST_TILES);
	assert_true(nest_of(p, p->grown)->plan.tile->finish.fission);
	return nest_of(p, p->grown)->plan.tile;
}
static void functions_in_vectors(Plans *p) { tile_of_functions(p)->finish.fission = false; }
static void functions_without_lanes(Plans *p) { tile_of_functions(p)->form = TILE_ALONG; }
static void vectors_across_the_result(Plans *p) { tile_of_functions(p)->finish.vectors = true; }
static void parts_without_room(Plans *p)
{
	assert_int_equal(nest_of(p, p->mean)->plan.form, NEST_PARTS);
	nest_of(p, p->mean)->plan.parts = tile_of(p)->packed;
}
static void buffer_of_two_kernels(Plans *p)
{
	gen_owns(nest_of(p, p->total)->nest.gen, tile_of(p)->packed);
}
static void block_of_no_rows(Plans *p) { node_of(p, p->first)->row_block->block = 0; }
static void block_of_one_kernel(Plans *p) { node_of(p, p->first)->row_block->nroots = 1; }
static RowBlockPart *part_of(Plans *p, uint32_t i)
{
	RowBlock *row_block = node_of(p, p->first)->row_block;
	assert_non_null(row_block);
	assert_true(i < row_block->nparts);
	return &row_block->parts[i];
}
static void block_leaves_a_gap(Plans *p)
{
	part_of(p, 0)->lo = size_const(p->s.inference.sizes, 1);
}
static void block_ends_early(Plans *p) { part_of(p, 0)->hi = size_const(p->s.inference.sizes, 64); }
static void block_without_parts(Plans *p) { node_of(p, p->first)->row_block->nparts = 0; }
static void block_with_kernel_of_another(Plans *p)
{
	part_of(p, 0)->kernels[0] = part_of(p, 0)->kernels[1];
}
static void block_without_kernel(Plans *p) { part_of(p, 0)->kernels[1] = NULL; }
static void block_with_broken_nest(Plans *p)
{
	part_of(p, 0)->kernels[0]->nests[0].plan.form = NEST_STORES;
}
static void block_without_place(Plans *p) { part_of(p, 0)->nplaces = 0; }
static void block_stores_elsewhere(Plans *p)
{
	part_of(p, 0)->kernels[0]->to.buffer = p->lower->plan[p->after].buffer;
}
static void block_with_small_place(Plans *p)
{
	const RowBlockPart *part = part_of(p, 0);
	Buffer *place = &p->lower->program->buffers.at[part->kernels[0]->to.buffer];
	place->elements = size_const(p->s.inference.sizes, 1);
}
/* The last kernel of a block: nothing follows from its sums. */
static Tile *tile_of_sums(Plans *p)
{
	uint32_t last = node_of(p, p->first)->row_block->nroots - 1;
	const PlannedNest *nest = part_of(p, 0)->kernels[last]->nests;
	assert_int_equal(nest->plan.form, NEST_TILES);
	assert_int_equal(nest->nest.root, nest->nest.node);
	return nest->plan.tile;
}
static void mask_of_nothing(Plans *p) { tile_of_sums(p)->finish.masked = true; }
static void functions_of_nothing(Plans *p) { tile_of_sums(p)->finish.fission = true; }
static void block_and_kernel(Plans *p)
{
	node_of(p, p->first)->kernel = node_of(p, p->after)->kernel;
}

/* ---- what the verifiers say ---- */

typedef void (*Break)(Plans *p);

/* NULL: as it is decided. */
static int verdict_on(Break breaks, bool kernels)
{
	Plans p;
	plans_init(&p);
	if (kernels)
		lower_plan_kernels(p.lower);
	if (breaks)
		breaks(&p);
	int said = plan_verdict(p.lower, kernels ? lower_nests_verify : lower_plan_verify);
	tables_free(&p.lower->tables);
	schedule_free(p.lower->program->made);
	small_free(&p.s);
	return said;
}

static void refuses(const Break *breaks, size_t n, bool kernels)
{
	assert_int_equal(verdict_on(NULL, kernels), 0);
	for (size_t k = 0; k < n; k++)
		if (verdict_on(breaks[k], kernels) != 3)
			fail_msg("broken plan %zu is not refused", k);
}

static void broken_plans_of_routines_are_refused(void **state)
{
	static const Break breaks[] = {
		inside_itself,
		inside_what_is_inside,
		inside_what_comes_before,
		inside_and_a_result,
		inside_and_assigned_to,
		finishes_what_is_elsewhere,
		in_the_state_of_a_call,
		before_its_operand,
		used_by_another,
		operand_is_not_needed,
		start_is_in_the_state,
		start_finishes_nothing,
		no_zeros_before_a_sum,
		no_zeros_before_a_reader,
		zeros_in_an_operation,
		no_zeros_before_a_step_that_may_not_run,
	};
	(void)state;
	refuses(breaks, sizeof breaks / sizeof *breaks, false);
}

static void broken_plans_of_kernels_are_refused(void **state)
{
	static const Break breaks[] = {
		kernel_of_another,	   kernel_inside_another,
		stores_each_step_of_a_sum, lanes_along_elements,
		cut_leaves_a_gap,	   cut_ends_early,
		cut_has_no_inside,	   windows_without_cuts,
		cuts_without_windows,	   rows_are_columns,
		rows_of_another_nest,	   tiles_leave_a_gap,
		tiles_end_early,	   tile_of_no_columns,
		tile_of_many_registers,	   functions_in_vectors,
		functions_without_lanes,   vectors_across_the_result,
		mask_of_nothing,	   functions_of_nothing,
		block_of_no_rows,	   block_of_one_kernel,
		start_stores_each_step,	   start_has_kernel_of_another,
		block_leaves_a_gap,	   block_ends_early,
		block_without_parts,	   block_with_kernel_of_another,
		block_without_kernel,	   block_with_broken_nest,
		block_without_place,	   block_stores_elsewhere,
		block_with_small_place,	   block_and_kernel,
		copy_that_is_not_planned,  copy_without_room,
		copy_in_no_buffer,	   parts_without_room,
		buffer_of_two_kernels,
	};
	(void)state;
	refuses(breaks, sizeof breaks / sizeof *breaks, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_plans_of_routines_are_refused),
		cmocka_unit_test(broken_plans_of_kernels_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
