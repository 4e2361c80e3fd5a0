/* What a node costs where it is evaluated, and whether it pays to compute it there rather than in a kernel of its own. */
#include "lower/fuse_worth.h"

#include "base/size_order.h"
#include "lower/node_plan.h"

enum { INDEX_ONLY_DEPTH = 6, INDEX_ONLY_COST = 6, COST_LIMIT = 1000 };

bool fuse_is_leaf(const Node *node)
{
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_SIZE:
	case NODE_SCALAR:
	case NODE_RANGE:
	case NODE_OFFSETS: return true;
	case NODE_CONST: return node->data->count == 1;
	default: return false;
	}
}

bool fuse_may_inside(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj || proj->linear || node->target != NODE_NONE || !node_suits_nest(node) ||
	    node_is_copy(node))
		return false;
	return proj_is_plain(proj) && !proj_reduces(proj) && !proj_is_guarded(proj);
}

uint32_t fuse_cost(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (fuse_is_leaf(node) || !fuse_may_inside(lower, id) ||
	    (node->kind == NODE_CAST && prepack_may_compute(lower, node->args[0])))
		return 0;
	uint32_t cost = node_cost(node);
	bool constant = true;
	for (uint32_t i = 0; i < node->nargs; i++) {
		const NodePlan *arg = &lower->plan[node->args[i]];
		constant = constant && lower_node(lower, node->args[i])->kind == NODE_NUMBER;
		if (arg->nuses < 2)
			cost += arg->cost;
	}
	return constant ? 0 : cost < COST_LIMIT ? cost : COST_LIMIT;
}

/* Will the operand have a buffer, whatever is decided about its user? */
static bool stays_in_memory(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	if (!proj || lower->plan[id].output)
		return true;
	return !fuse_may_inside(lower, id) && (lower->plan[id].nuses > 1 || !proj_reduces(proj));
}

/* The operation that makes each element of one element of each operand: x - y, einsum("i; j => i, j", x, y, op = sub). */
static bool is_elementwise(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	return node->kind == NODE_POINTWISE ||
	       (node->kind == NODE_SPEC && node->nargs == 2 && fuse_may_inside(lower, id));
}

/* Is one cheap operation better computed in each of several roots, from the one operand of its
 * size, or from smaller ones alone, than stored and read by them? */
static bool is_worth_repeating(const Lower *lower, NodeId id, const Reader *reader)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	Size elements = node_elements(lower, id);
	uint32_t large = 0;
	if (reader->often || plan->nuses > lower->target->repeated_uses ||
	    !is_elementwise(lower, id) || op_cost(node->op) > COST_CHEAP)
		return false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		if (!size_same(node_elements(lower, node->args[i]), elements))
			continue;
		large++;
		if (!stays_in_memory(lower, node->args[i]))
			return false;
	}
	return large <= 1;
}

/* The operand that the node follows element by element, and alone; NODE_NONE: there is none. */
static NodeId followed(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		if (lower->plan[node->args[i]].nuses == 1 && lower_proj(lower, node->args[i]) &&
		    proj_is_identity(&proj->pieces[0], i) &&
		    size_same(node_elements(lower, id), node_elements(lower, node->args[i])))
			return node->args[i];
	return NODE_NONE;
}

/* Is it a function that a contraction, whose epilogue it can be, computes in whole tiles, where the
 * loop over a window would have few elements at a time? */
static bool suits_its_operand(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	if (plan->cost < OP_COST_FUNCTION || plan->nuses != 1 ||
	    !fuse_is_small_window(lower, lower->uses[lower->first_use[id]].user))
		return false;
	while (id != NODE_NONE && fuse_may_inside(lower, id)) /* falls: an operand stands before */
		id = followed(lower, id);
	const Proj *proj = id == NODE_NONE ? NULL : lower_proj(lower, id);
	return proj && !proj->linear && proj_is_plain(proj) && proj_reduces(proj) &&
	       lower_node(lower, id)->nargs > 1;
}

/* Is it a function whose elements are written some apart, which no vectors are? */
static bool is_written_strided(const Lower *lower, NodeId id)
{
	bool strided = false;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++)
		strided |= fuse_has_phases(lower, lower->uses[i].user);
	return strided && lower->plan[id].cost >= OP_COST_FUNCTION;
}

/* Is it computed from indices and numbers alone, in few operations? */
static bool reads_nothing(const Lower *lower, NodeId id, uint32_t depth)
{
	const Node *node = lower_node(lower, id);
	if (fuse_is_leaf(node))
		return true;
	bool plain = depth > 0 && fuse_may_inside(lower, id) && !lower->plan[id].output;
	for (uint32_t i = 0; plain && i < node->nargs; i++)
		plain = reads_nothing(lower, node->args[i], depth - 1);
	return plain && node->nargs > 0;
}

/* Is it a truth value or a whole number, which is the same however it is rounded? */
static bool is_exact(const Node *node)
{
	return dtype_is_integer(node->dtype) ||
	       (node->kind == NODE_POINTWISE && op_gives_truth(node->op));
}

bool fuse_is_of_indices(const Lower *lower, NodeId id)
{
	return is_exact(lower_node(lower, id)) && lower->plan[id].cost <= INDEX_ONLY_COST &&
	       reads_nothing(lower, id, INDEX_ONLY_DEPTH);
}

bool fuse_is_index_only(const Lower *lower, NodeId id)
{
	if (!fuse_is_of_indices(lower, id))
		return false;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		Reader reader = fuse_reader(lower, lower->uses[i]);
		const NodePlan *user = &lower->plan[lower->uses[i].user];
		if (user->index_only && user->fused)
			continue;
		if (reader.never || reader.only_free)
			return false;
		const Proj *root = lower_proj(lower, reader.root);
		if (!root || proj_reduces(root) ||
		    !size_same(reader.space, node_elements(lower, reader.root)))
			return false;
	}
	return true;
}

/* Is it a cheap function of a parameter of two elements a byte, in a product? In memory it would have
 * eight times the parameter's bytes, and another order of additions than beside a dim of rows. */
static bool unpacks_in_registers(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->param != NODE_NONE && plan->in_product && plan->cost <= COST_CHEAP &&
	       dtype_is_packed(lower_node(lower, plan->param)->dtype);
}

bool fuse_pays(const Lower *lower, NodeId id, const Reader *reader)
{
	const NodePlan *plan = &lower->plan[id];
	if (plan->cost == COST_FREE || plan->index_only)
		return true;
	if (reader->only_free)
		return false;
	if (reader->root == NODE_NONE)
		return is_worth_repeating(lower, id, reader);
	if (plan->nuses > 1 && reader->frame.owner == NODE_NONE)
		return false;
	if (suits_its_operand(lower, id) || is_written_strided(lower, id))
		return false;
	if (conversion_from_panels(lower, id) || unpacks_in_registers(lower, id))
		return true;
	if (size_ge(lower->sizes, node_elements(lower, id), reader->space) &&
	    !fuse_is_shared(lower, id, reader->root))
		return true;
	return !fuse_root_reduces(lower, reader->root) && plan->cost <= COST_CHEAP;
}
