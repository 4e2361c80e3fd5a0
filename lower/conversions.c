/* Which operands that are cast or gathered are copied before the products that read them, and which
 * are read where they are.
 *
 *   cast[i] = f32(x[i])        where each element is used often: a load of f32 is cheaper
 *   acc += f32(x[i]) * w[j]    else, and of a parameter, of which the state has panels
 *   acc += f32(w[j]) * 0.02 * x[k]   of a parameter's panels: a copy would be made at every call
 *   rows[i] = table[ids[i]]    before a product, as tiles read no indices and do not convert all types;
 *   cast[i] = f32(i32(x[i]))   where it has a batch, always: its rows have the bits that one alone has
 *
 * Products of bf16 that go in pairs (tile/groups.c) read both operands as they are stored. Whether
 * they will is told from the graph, with the rules of tile/choose_pack.c: the operand that the last
 * axis of the result moves is copied for it, a parameter, or what many rows use, whose number is
 * known; the other one is used by many columns, or by a dim of them.
 */
#include "base/size_order.h"
#include "lower/gen/lane_values.h"
#include "lower/node_plan.h"
#include "lower/tile/copies.h"

/* Has the operand the columns: does the last axis of the result move it? */
static bool has_columns(const Piece *piece, uint32_t arg)
{
	const Access *result = &piece->result;
	const Index *last = result->naxes ? &result->axes[result->naxes - 1] : NULL;
	return last && last->nterms == 1 && access_mentions(&piece->args[arg], last->terms[0].iter);
}

/* Do enough elements of the result, batch axes not counted, read each element of the operand? */
static bool is_used(const Lower *lower, NodeId product, uint32_t arg)
{
	const Proj *proj = lower_proj(lower, product);
	const Piece *piece = &proj->pieces[0];
	uint32_t batch = lower_shape(lower, product)->rows[ROW_BATCH].n;
	bool by_columns = !has_columns(piece, arg) && has_columns(piece, !arg);
	int64_t uses = 1;
	for (uint32_t i = 0; i < piece->niters && uses < lower->target->pair_uses; i++) {
		IterId iter = piece->iters[i];
		int64_t n;
		if (!size_is_const(lower->sizes, proj->iters[iter].extent, &n))
			n = by_columns ? lower->target->pair_uses : 1;
		if (!proj->iters[iter].reduced && !access_term(&piece->result, batch, iter) &&
		    !access_mentions(&piece->args[arg], iter))
			uses *= n;
	}
	return uses >= lower->target->pair_uses;
}

static bool is_paired(const Lower *lower, NodeId product, uint32_t arg)
{
	const Node *cast = lower_node(lower, lower_node(lower, product)->args[arg]);
	if (cast->kind != NODE_CAST || lower_node(lower, cast->args[0])->dtype != DTYPE_BF16)
		return false;
	NodeKind kind = lower_node(lower, cast->args[0])->kind;
	bool packed = lower->options->prepack && (kind == NODE_PARAM || kind == NODE_CONST);
	return packed || prepack_may_compute(lower, cast->args[0]) || is_used(lower, product, arg);
}

/* Is each reader a product of two operands that goes in pairs? */
static bool is_read_in_pairs(const Lower *lower, NodeId id)
{
	uint32_t from = lower->first_use[id], to = uses_end(lower, id);
	for (uint32_t i = from; i < to; i++) {
		NodeId user = lower->uses[i].user;
		const Proj *proj = lower_proj(lower, user);
		if (!proj || !proj_reduces(proj) || proj->npieces != 1 ||
		    lower_node(lower, user)->nargs != 2 || !is_paired(lower, user, 0) ||
		    !is_paired(lower, user, 1))
			return false;
	}
	return from < to && lower->options->pairs;
}

/* Is it a parameter or a constant that products read from panels, as it is stored? */
static bool is_stored(const Lower *lower, NodeId id)
{
	NodeKind kind = lower_node(lower, id)->kind;
	return kind == NODE_PARAM
		       ? prepack_suits(lower, lower->tables.shared[id])
		       : kind == NODE_CONST && prepack_suits_size(lower, node_elements(lower, id));
}

/* ... or a function of parameters? */
static bool is_in_panels(const Lower *lower, NodeId id)
{
	return is_stored(lower, id) || prepack_may_compute(lower, id);
}

/* Is it read through an index that is read, or cast to what no lanes convert it to? */
static bool is_over_read_tiles(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (node->kind == NODE_GATHER)
		return true;
	if (node->kind != NODE_CAST)
		return false;
	const Node *from = lower_node(lower, node->args[0]);
	return (from->kind == NODE_CAST && !prepack_may_compute(lower, node->args[0])) ||
	       from->kind == NODE_GATHER || !conversion_in_lanes(from->dtype, node->dtype);
}

static bool is_product(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	const Node *node = lower_node(lower, id);
	return proj && proj_reduces(proj) && proj->npieces == 1 && node->nargs > 1 &&
	       !node_kind_indexes(node->kind); /* what a scatter adds up is one operand's */
}

void conversion_find_products(Lower *lower, NodeId id)
{
	NodePlan *plan = &lower->plan[id];
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId reader = lower->uses[i].user;
		const NodePlan *user = &lower->plan[reader];
		bool product = is_product(lower, reader);
		plan->in_product |= product || (user->fused && user->in_product);
		plan->in_batch |= product ? lower_shape(lower, reader)->rows[ROW_BATCH].n > 0
					  : user->fused && user->in_batch;
	}
}

/* ---- operations on panels ---- */

/* Adds up what operands cost, one that is read twice once. */
static uint32_t operands_cost(const Lower *lower, const Node *node)
{
	uint64_t cost = 0;
	bool found = false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		const Node *operand = lower_node(lower, node->args[i]);
		uint32_t arg = lower->plan[node->args[i]].panel_cost;
		bool other = operand->kind == NODE_NUMBER || operand->kind == NODE_PARAM ||
			     operand->kind == NODE_CONST || node_is_copy(operand);
		bool again = false;
		for (uint32_t j = 0; j < i; j++)
			again |= node->args[j] == node->args[i];
		if (arg == UINT32_MAX && !other)
			return UINT32_MAX;
		found |= arg != UINT32_MAX;
		cost += arg == UINT32_MAX || again ? 0 : arg;
	}
	return found && cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}

static uint32_t panel_cost(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (is_stored(lower, id))
		return 0;
	if (node->kind == NODE_CAST) {
		NodeId from = node->args[0];
		bool lanes = conversion_in_lanes(lower_node(lower, from)->dtype, node->dtype);
		return lanes && is_in_panels(lower, from) ? 0 : UINT32_MAX;
	}
	if (node->kind != NODE_POINTWISE)
		return UINT32_MAX;
	uint32_t cost = operands_cost(lower, node), own = node_cost(node);
	return cost < UINT32_MAX - own ? cost + own : UINT32_MAX;
}

void conversion_find_panels(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++)
		lower->plan[lower->needed[k]].panel_cost = panel_cost(lower, lower->needed[k]);
}

bool conversion_from_panels(const Lower *lower, NodeId id)
{
	return lower_node(lower, id)->kind == NODE_POINTWISE && lower->plan[id].in_product &&
	       lower->plan[id].panel_cost <= lower->target->conversion_cost;
}

bool conversion_gathered(const Lower *lower, NodeId id, Size elements, Size uses)
{
	const NodePlan *plan = &lower->plan[id];
	return is_over_read_tiles(lower, id) && plan->in_product &&
	       (plan->in_batch ||
		size_ge(lower->sizes, uses,
			size_scale(lower->sizes, elements, lower->target->conversion_gathered)));
}

/* Is it a floating type of storage as its wide type, or any other cast that products use, unless
 * they read a parameter's panels as they are stored? */
static bool may_be_first(const Lower *lower, NodeId id, Dtype from)
{
	bool in_product = lower->plan[id].in_product;
	bool widens = dtype_is_float(from) && dtype_wide(from) == lower_node(lower, id)->dtype;
	return (widens || in_product) &&
	       !(in_product && is_in_panels(lower, lower_node(lower, id)->args[0]));
}

bool conversion_as_used(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	if (node->kind != NODE_CAST || !dtype_is_float(node->dtype))
		return false;
	Dtype from = lower_node(lower, node->args[0])->dtype;
	bool always = is_over_read_tiles(lower, id) && plan->in_product && plan->in_batch;
	return from != node->dtype && conversion_in_lanes(from, node->dtype) && !always &&
	       may_be_first(lower, id, from) && !is_read_in_pairs(lower, id);
}

bool conversion_first(const Lower *lower, NodeId id, Size elements, Size uses)
{
	int64_t n;
	if (!conversion_as_used(lower, id))
		return false;
	bool few =
		size_is_const(lower->sizes, elements, &n) && n <= lower->target->conversion_small;
	return size_ge(lower->sizes, uses,
		       size_scale(lower->sizes, elements,
				  few ? lower->target->conversion_uses
				      : lower->target->conversion_uses_large));
}
