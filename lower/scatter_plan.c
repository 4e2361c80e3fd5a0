/* Who takes the steps of a scatter, decided from sizes, the type and the target.
 *
 * In turn where a loop outside goes over elements of its own, which threads share, where there is too
 * little work for two threads, and for a GPU. Else
 *
 *   PRIVATE   integers that add up to few elements of a known number: their order makes no difference,
 *             so parts of the steps have a target each, which are added up
 *   BUCKETS   rows long enough that counting and listing the steps costs little beside them, where
 *             more threads share the lists than making and following them costs
 */
#include "base/size_dims.h"
#include "base/size_order.h"
#include "lower/node_plan.h"
#include "lower/scatter.h"

static bool is_at_least(const Scatter *s, Size size, int64_t least)
{
	const Sizes *sizes = s->gen->program->sizes;
	int64_t n;
	return size_is_bad(size) ? false : !size_is_const(sizes, size, &n) || n >= least;
}

/* Does each thread find enough to do, as far as sizes are known? */
static bool is_worth_threads(const Scatter *s)
{
	const LowerOptions *options = s->gen->lower->options;
	Size work = size_mul(s->gen->program->sizes, s->steps, s->row);
	return options->grain > 0 && is_at_least(s, work, 2 * options->grain);
}

static bool may_share(const Scatter *s)
{
	const Lower *lower = s->gen->lower;
	return s->first == 0 && s->behind > 0 && s->inner == s->behind && !lower->options->gpu &&
	       !lower->row_block && !size_is_bad(s->steps) && !size_is_bad(s->rows) &&
	       size_is_of_args(s->gen->program->sizes, s->steps);
}

/* ---- private targets ---- */

static bool is_wide_integer(Dtype dtype)
{
	return !dtype_is_float(dtype) && dtype == dtype_wide(dtype);
}

static bool may_be_private(const Scatter *s)
{
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	int64_t elements;
	return may_share(s) && s->to.acc != OP_NONE && is_wide_integer(to->dtype) &&
	       size_is_const(s->gen->program->sizes, to->elements, &elements);
}

/* Few elements beside the steps, of which private targets stay in the second cache. */
static bool private_pays(const Scatter *s)
{
	const Target *target = s->gen->lower->target;
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	int64_t elements = 0;
	size_is_const(s->gen->program->sizes, to->elements, &elements);
	return elements * (int64_t)dtype_bytes(to->dtype) <= target->l2_between &&
	       is_worth_threads(s) &&
	       is_at_least(s, size_mul(s->gen->program->sizes, s->steps, s->row),
			   target->scatter_steps * elements);
}

/* ---- buckets ---- */

static bool buckets_pay(const Scatter *s)
{
	const Target *target = s->gen->lower->target;
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	return is_worth_threads(s) && 10 * target->scatter_threads > target->scatter_lists &&
	       is_at_least(s, s->row, target->scatter_row / (int64_t)dtype_bytes(to->dtype)) &&
	       is_at_least(s, s->rows, 2 * target->scatter_bucket);
}

/* ---- who checks the indices ---- */

enum { GIVEN_DEPTH = 6 };

/* Is it there before the routine writes anything: what the caller gives, or a value of that which is computed
 * where it is read? */
static bool is_given(const Lower *lower, NodeId id, int depth)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	bool given = !plan->mutated && node->loop == 0 && depth > 0;
	given = given && (node->nargs == 0 || (plan->fused && !node_kind_indexes(node->kind)));
	for (uint32_t i = 0; given && i < node->nargs; i++)
		given = is_given(lower, node->args[i], depth - 1);
	return given;
}

/* Single elements that add up in few, whose steps' indices leave the second cache: there reading them twice
 * costs more than a temporary. */
static bool check_pays(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Target *target = lower->target;
	int64_t n, elements, bytes = (int64_t)dtype_bytes(node->dtype);
	Size steps = node_elements(lower, node->args[1]);
	if (!size_is_const(lower->sizes, node_elements(lower, id), &elements) ||
	    elements * bytes > target->l2_between ||
	    !size_ge(lower->sizes, steps, node_elements(lower, node->args[0])))
		return false;
	return !size_is_const(lower->sizes, steps, &n) ||
	       (n >= target->scatter_steps * elements && n * 4 > target->l2_between);
}

bool scatter_checks(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	bool may = node->kind == NODE_SCATTER && node->mode == INDEX_CHECKED &&
		   dtype_is_float(node->dtype) && node->loop == 0 && node->target == NODE_NONE &&
		   lower_has_kernel(lower, id) && !plan->mutated && !lower->options->gpu &&
		   !asks_on(fuse_asked(lower, id, CHOICE_BUCKET));
	for (uint32_t i = 0; may && i < node->nargs; i++)
		may = is_given(lower, node->args[i], GIVEN_DEPTH);
	return may && check_pays(lower, id);
}

/* ---- which ---- */

/* The number that is asked for of the first of K, or what the policy says; 0: neither. */
static int64_t choose(const Scatter *s, Choice choice, bool may, bool pays, int64_t by)
{
	const ScheduleClause *asked = gen_asked(s->gen, choice);
	if (!may || asks_off(asked) || !asks_name(asked, 0, s->loops[0].name))
		return 0;
	int64_t number = asks_number(asked, s->loops[0].name);
	if (asks_on(asked))
		return number > 0 && number <= SCATTER_MOST ? number : by;
	return pays ? by : 0;
}

static void describe(const Scatter *s, Choice choice, int64_t by)
{
	clause_add(s->gen->arena, gen_make(s->gen, choice, false), s->loops[0].name, &by, 1);
}

static BufferId declare(const Scatter *s, const char *name, Dtype dtype, Size elements)
{
	return gen_temporary(s->gen, name, s->gen->name,
			     (Buffer){.dtype = dtype, .elements = elements});
}

static ScatterPlan plan_private(const Scatter *s, int64_t parts)
{
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	describe(s, CHOICE_PRIVATE, parts);
	Size all = size_scale(s->gen->program->sizes, to->elements, parts);
	return (ScatterPlan){.form = SCATTER_PRIVATE,
			     .by = parts,
			     .targets = declare(s, "private", to->dtype, all)};
}

static ScatterPlan plan_buckets(const Scatter *s, int64_t rows)
{
	Sizes *sizes = s->gen->program->sizes;
	Size n = size_ceil(sizes, s->rows, rows);
	ScatterPlan plan = {.form = SCATTER_BUCKETS, .by = rows};
	describe(s, CHOICE_BUCKET, rows);
	plan.counts = declare(s, "counts", DTYPE_I64,
			      size_scale(sizes, n, s->gen->lower->target->thread_slots));
	plan.starts = declare(s, "starts", DTYPE_I64, size_plus(sizes, n, 1));
	plan.list = declare(s, "steps", DTYPE_I64, s->steps);
	plan.prefetches = scatter_reads_rows(s);
	plan.carries = scatter_choose_carry(s);
	return plan;
}

static ScatterPlan plan_in_turn(const Scatter *s, const KernelPlan *kernel)
{
	bool carries = scatter_choose_carry(s);
	return (ScatterPlan){.form = SCATTER_IN_TURN,
			     .carries = carries,
			     .fills = carries && kernel->fill != UINT32_MAX && scatter_may_fill(s)};
}

ScatterPlan scatter_plan(Gen *gen, const KernelPlan *kernel)
{
	const Scatter s = scatter_of(gen, kernel->node, kernel->to);
	const Target *target = gen->lower->target;
	gen_nest(gen);
	bool may = may_be_private(&s);
	int64_t parts =
		choose(&s, CHOICE_PRIVATE, may, may && private_pays(&s), target->thread_slots);
	if (parts)
		return plan_private(&s, parts);
	may = may_share(&s);
	int64_t rows =
		choose(&s, CHOICE_BUCKET, may, may && buckets_pay(&s), target->scatter_bucket);
	if (rows)
		return plan_buckets(&s, rows);
	return plan_in_turn(&s, kernel);
}
