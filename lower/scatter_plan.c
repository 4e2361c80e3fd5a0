/* Who takes the steps of a scatter, decided from sizes, the type and the target.
 *
 * In turn, but for integers that add up to few elements of a known number, of which there is work for two threads and
 * none of whose loops outside threads share: their order makes no difference, so parts of the steps have a target each,
 * which are added up (PRIVATE).
 */
#include "base/size_dims.h"
#include "base/size_order.h"
#include "lower/node_plan.h"
#include "lower/scatter.h"

enum { PARTS_MOST = 1 << 16 }; /* that are asked for */

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

static bool is_wide_integer(Dtype dtype)
{
	return !dtype_is_float(dtype) && dtype == dtype_wide(dtype);
}

static bool may_be_private(const Scatter *s)
{
	const Lower *lower = s->gen->lower;
	const Sizes *sizes = s->gen->program->sizes;
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	int64_t elements;
	return s->first == 0 && s->behind > 0 && s->inner == s->behind && !lower->options->gpu &&
	       !lower->row_block && !size_is_bad(s->steps) && size_is_of_args(sizes, s->steps) &&
	       s->to.acc != OP_NONE && is_wide_integer(to->dtype) &&
	       size_is_const(sizes, to->elements, &elements);
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
		   lower_has_kernel(lower, id) && !plan->mutated && !lower->options->gpu;
	for (uint32_t i = 0; may && i < node->nargs; i++)
		may = is_given(lower, node->args[i], GIVEN_DEPTH);
	return may && check_pays(lower, id);
}

/* ---- which ---- */

/* As many as are asked for, or as pay; 0: the steps go in turn. */
static int64_t choose_parts(const Scatter *s)
{
	const ScheduleClause *asked = gen_asked(s->gen, CHOICE_PRIVATE);
	int64_t likely = s->gen->lower->target->thread_slots;
	if (!may_be_private(s) || asks_off(asked) || !asks_name(asked, 0, s->loops[0].name))
		return 0;
	int64_t number = asks_number(asked, s->loops[0].name);
	if (asks_on(asked))
		return number > 0 && number <= PARTS_MOST ? number : likely;
	return private_pays(s) ? likely : 0;
}

static ScatterPlan plan_private(const Scatter *s, int64_t parts)
{
	Gen *gen = s->gen;
	const Buffer *to = &gen->program->buffers.at[s->to.buffer];
	Buffer all = {.dtype = to->dtype,
		      .elements = size_scale(gen->program->sizes, to->elements, parts)};
	clause_add(gen->arena, gen_make(gen, CHOICE_PRIVATE, false), s->loops[0].name, &parts, 1);
	return (ScatterPlan){.parts = parts,
			     .targets = gen_temporary(gen, "private", gen->name, all)};
}

static ScatterPlan plan_in_turn(const Scatter *s, const KernelPlan *kernel)
{
	bool carries = scatter_choose_carry(s);
	return (ScatterPlan){.carries = carries,
			     .fills = carries && kernel->fill != UINT32_MAX && scatter_may_fill(s)};
}

ScatterPlan scatter_plan(Gen *gen, const KernelPlan *kernel)
{
	const Scatter s = scatter_of(gen, kernel->node, kernel->to);
	gen_nest(gen);
	int64_t parts = choose_parts(&s);
	return parts ? plan_private(&s, parts) : plan_in_turn(&s, kernel);
}
