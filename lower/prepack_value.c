/* Functions of parameters alone, computed once, when the state is packed.
 *
 *   y = exp(w) * x        exp[i] = exp(w[i])           in the state, by Program.pack
 *                         packed_exp[..] = exp(w[..])  ... in panels, where a product reads these: then
 *                                                      nothing else is stored
 *
 * Such a function has parameters that no routine assigns to, constants, ranges and numbers for
 * operands, and known sizes. One of constants alone is in the state where the program has such a
 * parameter; else it is computed while compiling, and the module holds it, if it is small
 * (transform/evaluate.c). It pays where a product reads it, which would compute it again for each tile
 * or wait for a copy at every call, and where it is more than a cheap operation wherever it is read. A
 * parameter that is stored narrower, or that others read too, stays as it is under one or two cheap
 * operations: these are computed as its panels are loaded (conversions.c).
 *
 * What the kernel of such a function reads is a parameter, a constant, another one, or what it
 * stored on its way.
 */
#include "base/diag.h"
#include "lower/fuse_worth.h"
#include "lower/gen/lane_values.h"
#include "lower/node_plan.h"
#include "lower/tile/copies.h"
#include "transform/transform.h"

/* TABLE_MOST: elements of a function of constants, for which the state would not be expected to
 * grow. */
enum { TABLE_MOST = 1 << 22 };

/* ---- which ---- */

static bool is_known_size(const Lower *lower, const Node *node)
{
	int64_t n;
	return size_is_const(lower->sizes, infer_size(lower->inference, node->size_expr), &n);
}

/* Is it computed from operands at known places, or are its elements those of its operand? */
static bool is_computed(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	return proj && node->target == NODE_NONE && node->nargs > 0 && proj->width <= 1 &&
	       node_suits_nest(node) && node->kind != NODE_GATHER && node->kind != NODE_SCATTER;
}

/* Is it a sum, padded, made of pieces or written out by tensor/materialize.c, which nothing computes where it reads it? */
static bool stands_alone(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear &&
	       (proj_reduces(proj) || !proj_is_plain(proj) || proj_is_guarded(proj) ||
		node_is_copy(lower_node(lower, id)));
}

static bool access_is_known(const Lower *lower, const Access *access)
{
	int64_t offset;
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (!size_is_const(lower->sizes, access->axes[i].offset, &offset))
			return false;
	return true;
}

/* Is all of it known, so that it reads the same elements for all dims, and in all steps of a loop? */
static bool reads_known_elements(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	bool known = lower_node(lower, id)->loop == 0;
	for (uint32_t p = 0; known && proj && p < proj->npieces; p++) {
		known = access_is_known(lower, &proj->pieces[p].result);
		for (uint32_t i = 0; known && i < proj->nargs; i++)
			known = access_is_known(lower, &proj->pieces[p].args[i]);
	}
	return known;
}

static bool is_constant(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	int64_t n;
	if (plan->mutated || plan->output ||
	    !size_is_const(lower->sizes, node_elements(lower, id), &n))
		return false;
	switch (node->kind) {
	case NODE_PARAM:
		return !lower->program->params
				.at[lower->program->buffers.at[lower->tables.shared[id]].arg]
				.changes;
	case NODE_CONST:
	case NODE_NUMBER:
	case NODE_OFFSETS:
	case NODE_RANGE: return true;
	case NODE_SIZE: return is_known_size(lower, node);
	default: break;
	}
	for (uint32_t i = 0; i < node->nargs; i++)
		if (!lower->plan[node->args[i]].constant)
			return false;
	return is_computed(lower, id) && reads_known_elements(lower, id);
}

/* Does it sum, in as many steps as are worth a copy? */
static bool sums_up(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear && proj_reduces(proj) &&
	       prepack_suits_size(lower, node_steps(lower, id, 0));
}

static void find(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plan->constant = is_constant(lower, id);
	plan->param = node->kind == NODE_PARAM ? id : NODE_NONE;
	plan->summed = plan->constant && sums_up(lower, id);
	plan->costly = plan->constant && node->nargs > 0 &&
		       (stands_alone(lower, id) || node_cost(node) > COST_CHEAP);
	for (uint32_t i = 0; plan->constant && i < node->nargs; i++) {
		NodeId param = lower->plan[node->args[i]].param;
		plan->summed |= lower->plan[node->args[i]].summed;
		plan->costly |= lower->plan[node->args[i]].costly;
		bool whole = param != NODE_NONE &&
			     size_same(node_elements(lower, param), node_elements(lower, id));
		if (plan->param == NODE_NONE || whole)
			plan->param = param;
	}
}

/* The elements of a constant, if they are few. */
static bool is_small(const Lower *lower, NodeId id, int64_t *n)
{
	int64_t width = (int64_t)dtype_bytes(lower_node(lower, id)->dtype);
	return size_is_const(lower->sizes, node_elements(lower, id), n) && *n > 0 &&
	       *n <= EVALUATED_BYTES / width;
}

/* About how many operations its own elements take; more than there is room for where that is not known. */
static int64_t own_work(const Lower *lower, NodeId id, int64_t n)
{
	const Proj *proj = lower_proj(lower, id);
	int64_t steps = n, cost = 1 + node_cost(lower_node(lower, id));
	bool known = !proj || proj->linear ||
		     size_is_const(lower->sizes, node_steps(lower, id, 0), &steps);
	steps = steps > n ? steps : n;
	return known && steps <= EVALUATED_WORK ? steps * cost : EVALUATED_WORK + 1;
}

/* Does one that is no constant read it, for which the module has to hold it? */
static bool is_held(const Lower *lower, NodeId id)
{
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++)
		if (!lower->plan[lower->uses[i].user].constant)
			return true;
	return false;
}

/* Is what it is computed from small, too? Else each of few elements might take a long time. */
static bool is_of_evaluable(const Lower *lower, const Node *node)
{
	bool all = true;
	for (uint32_t i = 0; i < node->nargs && all; i++)
		all = lower_node(lower, node->args[i])->nargs == 0 ||
		      lower->plan[node->args[i]].evaluable;
	return all;
}

/* Which constants of the routine may be computed while compiling: the first ones, as far as those of all routines are few. */
static void find_evaluable(Lower *lower)
{
	int64_t n;
	bool may = lower->options->prepack && lower->options->interpret_pack &&
		   lower->read_only == NODE_NONE;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		NodePlan *plan = &lower->plan[id];
		const Node *node = lower_node(lower, id);
		plan->evaluable =
			may && plan->constant && plan->param == NODE_NONE && node->nargs > 0 &&
			is_of_evaluable(lower, node) && is_small(lower, id, &n) &&
			evaluation_add(&lower->evaluation, own_work(lower, id, n),
				       is_held(lower, id) ? n * (int64_t)dtype_bytes(node->dtype)
							  : 0);
	}
}

/* May the state, or the module, have room for it? Masks of indices are compared where they are read, which tells more, and
 * single numbers are computed there. */
static bool has_room(const Lower *lower, NodeId id)
{
	int64_t n;
	bool known = size_is_const(lower->sizes, node_elements(lower, id), &n);
	bool few = known && n <= TABLE_MOST;
	if (lower_node(lower, id)->dtype == DTYPE_U4X32)
		return false;
	return lower->read_only == NODE_NONE ? lower->plan[id].evaluable && known && n > 1 &&
						       !fuse_is_of_indices(lower, id)
					     : few || lower->plan[id].param != NODE_NONE;
}

void prepack_find(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++)
		find(lower, lower->needed[k]);
	find_evaluable(lower);
}

NodeId prepack_read_only(const Lower *lower)
{
	const Graph *graph = lower->graph;
	for (size_t i = 0; i < graph->params.n; i++) {
		BufferId id = lower->tables.shared[graph->params.at[i]];
		const Buffer *buffer = id == BUFFER_NONE ? NULL : &lower->program->buffers.at[id];
		int64_t n;
		if (buffer && !lower->program->params.at[buffer->arg].changes &&
		    size_is_const(lower->sizes, buffer->elements, &n) && n > 0)
			return graph->params.at[i];
	}
	return NODE_NONE;
}

/* Does the node compute, rather than read its operand at other places or as a wider type? */
static bool computes(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (lower->plan[id].evaluable && lower->plan[id].costly)
		return true;
	if (node->kind == NODE_CAST)
		return !conversion_in_lanes(lower_node(lower, node->args[0])->dtype, node->dtype);
	return stands_alone(lower, id) || node_cost(node) > 0;
}

/* Is it large, or small behind a large sum? In the module whatever takes more than cheap operations. */
static bool saves_much(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return prepack_suits_size(lower, node_elements(lower, id)) || plan->summed ||
	       (plan->evaluable && plan->costly);
}

bool prepack_may_compute(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->constant && plan->param != id && has_room(lower, id) && computes(lower, id) &&
	       saves_much(lower, id);
}

/* Does a kernel of such a function read the node, or do all its readers? Falls: users stand behind
 * what they read. */
static bool is_read_ahead(const Lower *lower, NodeId id, bool all)
{
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId user = lower->uses[i].user, root = lower->plan[user].root;
		bool hoisted = root == NODE_NONE ? is_read_ahead(lower, user, all)
						 : lower->plan[root].hoisted;
		if (hoisted != all)
			return hoisted;
	}
	return all;
}

/* Is it as large as a parameter of two elements a byte, whose few bytes are why it is one? */
static bool is_of_halves(const Lower *lower, NodeId id)
{
	NodeId param = lower->plan[id].param;
	return param != NODE_NONE && !node_is_copy(lower_node(lower, id)) &&
	       dtype_is_packed(lower_node(lower, param)->dtype) &&
	       prepack_suits_size(lower, node_elements(lower, id));
}

bool prepack_computes(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	if (lower_replays(lower))
		return plan->constant && plan->param != id && has_room(lower, id) &&
		       asks_on(fuse_asked(lower, id, CHOICE_PREPACK));
	if (!prepack_may_compute(lower, id) || is_read_ahead(lower, id, true) ||
	    asks_off(fuse_asked(lower, id, CHOICE_PREPACK)) ||
	    (is_of_halves(lower, id) && !asks_on(fuse_asked(lower, id, CHOICE_PREPACK))))
		return false;
	bool narrow =
		plan->param == NODE_NONE || dtype_bytes(lower_node(lower, plan->param)->dtype) <
						    dtype_bytes(lower_node(lower, id)->dtype);
	bool stays =
		(narrow || lower->plan[plan->param].nuses > 1) && conversion_from_panels(lower, id);
	bool small = !prepack_suits_size(lower, node_elements(lower, id));
	return !stays &&
	       (small || plan->in_product || plan->cost > COST_CHEAP || stands_alone(lower, id));
}

bool prepack_is_read(const Lower *lower, NodeId id)
{
	return lower->plan[id].constant && is_read_ahead(lower, id, false);
}

bool prepack_is_new(const Lower *lower, NodeId id)
{
	BufferId buffer = lower->plan[id].hoisted ? lower->tables.shared[id] : BUFFER_NONE;
	return buffer != BUFFER_NONE &&
	       lower->program->buffers.at[buffer].routine == lower->tables.routine_id;
}

void prepack_keep_temporaries(Lower *lower, BufferId first, BufferId value)
{
	for (BufferId b = first; b < lower->program->buffers.n; b++) {
		Buffer *buffer = &lower->program->buffers.at[b];
		if (buffer->kind != BUFFER_TEMP)
			continue;
		buffer->kind = BUFFER_PACKED;
		buffer->arg = lower->program->buffers.at[value].arg;
	}
}
