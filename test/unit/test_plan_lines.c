/* The verifier of plans of kernels along an axis: what was decided is accepted, and each kind of broken one refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lower/kernel_plan.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"
#include "test/unit/lower_fixture.h"

/* The place of the greatest and sums of a long line; rows in order, and the first few of longer ones; many rows of a few. */
typedef struct Plans {
	Small s;
	LowerPlan *lower;
	NodeId greatest, sums, rows, first, few;
} Plans;

static NodeId along(Small *s, NodeKind kind, const char *spec, const char *shape,
		    const char *letter, NodeId x)
{
	NodeId id = small_einsum(s, spec, shape, 1, &x);
	Node *node = graph_node(&s->graph, id);
	node->kind = kind;
	if (kind == NODE_ARGMAX) {
		node->dtype = DTYPE_I32;
		node->reduce = OP_MAX;
	} else {
		node->along.letter = sym_cstr(s->symbols, letter);
	}
	return id;
}

static void plans_init(Plans *p)
{
	Small *s = &p->s;
	small_init(s);
	NodeId line = small_leaf(s, "1000000"), x = small_leaf(s, "48, 80"),
	       wide = small_leaf(s, "4, 100000");
	p->greatest = along(s, NODE_ARGMAX, "i => 0", "1", NULL, line);
	p->sums = along(s, NODE_CUMULATE, "i => i", "1000000", "i", line);
	graph_node(&s->graph, x)->dtype = DTYPE_I8;
	p->rows = along(s, NODE_SORT, "i, j => i, j", "48, 80", "j", x);
	graph_node(&s->graph, p->rows)->dtype = DTYPE_I8;
	p->first = along(s, NODE_SORT, "i, j => i, k", "4, 10", "j", wide);
	small_letter(s, p->first, "k", "10");
	p->few = along(s, NODE_SORT, "i, j => i, j", "100, 5", "j", small_leaf(s, "100, 5"));
	small_routine(s, 5, (NodeId[]){p->greatest, p->sums, p->rows, p->first, p->few});
	LowerOptions *options = ARENA_NEW(s->arena, LowerOptions);
	*options = (LowerOptions){.target = small_target(s)};
	p->lower = lower_plan(tensor_run_all(&s->inference, s->arena), &s->sources, s->arena,
			      &s->diags, options, NULL);
	assert_non_null(p->lower);
	lower_plan_kernels(p->lower);
}

static KernelPlan *kernel_of(const Plans *p, NodeId id)
{
	const NodePlan *node = routine_plan_node(&p->lower->routines[0], id);
	assert_non_null(node);
	assert_non_null(node->kernel);
	return node->kernel;
}

static ArgmaxPlan *greatest(const Plans *p)
{
	ArgmaxPlan *plan = &kernel_of(p, p->greatest)->lines->argmax;
	assert_true(plan->in_lanes && plan->in_parts);
	return plan;
}
static void parts_of_no_lanes(Plans *p) { greatest(p)->in_lanes = false; }
static void columns_of_one_line(Plans *p) { greatest(p)->columns = true; }
static void parts_in_no_buffer(Plans *p) { greatest(p)->parts = BUFFER_NONE; }
static void parts_of_another(Plans *p)
{
	greatest(p)->parts = kernel_of(p, p->sums)->lines->cumulate.sums;
}

static CumulatePlan *sums(const Plans *p)
{
	CumulatePlan *plan = &kernel_of(p, p->sums)->lines->cumulate;
	assert_int_equal(plan->form, CUMULATE_IN_RUNS);
	assert_false(plan->whole);
	return plan;
}
static void runs_in_turn(Plans *p) { sums(p)->form = CUMULATE_IN_TURN; }
static void runs_along_no_columns(Plans *p) { sums(p)->runs_columns = true; }
static void sums_of_another(Plans *p) { sums(p)->sums = greatest(p)->parts; }
static void sums_without_room(Plans *p)
{
	p->lower->program->buffers.at[sums(p)->sums].elements = size_const(p->s.inference.sizes, 8);
}

/* Of constant lengths there is one way. */
static SortWay *way_of(const Plans *p, NodeId id, SortBy by)
{
	SortWay *way = &kernel_of(p, id)->lines->sort[by];
	assert_false(way->never);
	assert_int_equal(way->nconds, 0);
	return way;
}
static void no_way_of_sorting(Plans *p) { way_of(p, p->rows, BY_SHORT_DIGITS)->never = true; }
static void no_digits(Plans *p) { way_of(p, p->rows, BY_SHORT_DIGITS)->ndigits = 0; }
static void more_digits_than_counts(Plans *p) { way_of(p, p->rows, BY_SHORT_DIGITS)->ncounts *= 2; }
static void items_in_no_buffer(Plans *p)
{
	way_of(p, p->rows, BY_SHORT_DIGITS)->items = BUFFER_NONE;
}
static void groups_without_room(Plans *p) { way_of(p, p->first, BY_SELECTION)->group = 1; }

static SortWay *exchanges(const Plans *p) { return way_of(p, p->few, BY_EXCHANGES); }
static void exchanges_of_no_lines(Plans *p) { exchanges(p)->lanes = 0; }
static void no_way_for_the_last_lines(Plans *p)
{
	exchanges(p)->lanes = 16;
	way_of(p, p->few, BY_RANKS)->never = true;
}

typedef void (*Break)(Plans *p);

static int verdict_on(Break breaks)
{
	Plans p;
	plans_init(&p);
	if (breaks)
		breaks(&p);
	int said = plan_verdict(p.lower, lower_nests_verify);
	tables_free(&p.lower->tables);
	schedule_free(p.lower->program->made);
	small_free(&p.s);
	return said;
}

static void broken_plans_of_lines_are_refused(void **state)
{
	static const Break breaks[] = {
		parts_of_no_lanes,
		columns_of_one_line,
		parts_in_no_buffer,
		parts_of_another,
		runs_in_turn,
		runs_along_no_columns,
		sums_of_another,
		sums_without_room,
		no_way_of_sorting,
		no_digits,
		more_digits_than_counts,
		items_in_no_buffer,
		groups_without_room,
		exchanges_of_no_lines,
		no_way_for_the_last_lines,
	};
	(void)state;
	assert_int_equal(verdict_on(NULL), 0);
	for (size_t k = 0; k < sizeof breaks / sizeof *breaks; k++)
		if (verdict_on(breaks[k]) != 3)
			fail_msg("broken plan %zu is not refused", k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_plans_of_lines_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
