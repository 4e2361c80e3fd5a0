/* The plan of one kernel (kernel_plan.h): whether an assignment stores at once, whether elements are filled
 * first, and the nests, one for each piece, in the kernel's own Gen: emission goes on with their loops,
 * values and copies as they are.
 *
 * Nests are planned in the order in which they run, all before any of them is emitted.
 */
#include "lower/kernel_plan.h"

#include "lower/node_plan.h"
#include "lower/row_block.h"
#include "lower/tile/copies.h"
#include "lower/tile/plan.h"

/* ---- assignments ---- */

/* Does an operand stand in the target's own buffer? */
static bool reads_target(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	bool reads = false;
	for (uint32_t i = 0; i < node->nargs; i++)
		reads |= lower->plan[node->args[i]].buffer == lower->plan[node->target].buffer;
	return reads;
}

/* Is each element that it reaches computed in one place, so that it may be stored there? A sum is, in
 * the type that it is computed in. */
static bool is_direct(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj || proj->linear || node->kind == NODE_ARGMAX)
		return true;
	if (node->along.letter) /* what it has stored is read again */
		return false;
	Dtype dtype = lower_node(lower, node->target)->dtype;
	bool sums = proj_reduces(proj) || lower->plan[id].reduction != NODE_NONE;
	bool plain = node->dtype == dtype && (node->acc == OP_NONE || dtype_wide(dtype) == dtype);
	return nest_is_direct(lower, id) && (plain || !sums);
}

/* Are two elements of its target a byte? Then it stores all of them, from a tensor with a byte for each. */
static bool writes_halves(const Lower *lower, NodeId id)
{
	NodeId target = lower_node(lower, id)->target;
	return target != NODE_NONE && lower_node(lower, target)->kind == NODE_PARAM &&
	       dtype_is_packed(lower_node(lower, target)->dtype);
}

/* Does that tensor stand in memory already? */
static bool copies_halves(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (!writes_halves(lower, id) || node->kind != NODE_POINTWISE || node->op != OP_ID ||
	    node->acc != OP_NONE || node->clear)
		return false;
	NodeId from = node->args[0];
	bool bytes = !lower->plan[from].fused && !dtype_is_packed(lower_node(lower, from)->dtype);
	return bytes && lower_node(lower, from)->like == node->target;
}

/* Are they copied for a step that changes some of them? */
static bool unpacks_halves(const Lower *lower, NodeId id)
{
	NodeId target = lower_node(lower, id)->target;
	return target != NODE_NONE && lower_node(lower, target)->like != NODE_NONE &&
	       halves_step(lower, id) != NODE_NONE;
}

static KernelKind kind_of(const Lower *lower, NodeId id)
{
	if (copies_halves(lower, id))
		return KERNEL_HALVES;
	if (unpacks_halves(lower, id))
		return KERNEL_BYTES;
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj)
		return KERNEL_LEAF;
	if (proj->linear && proj->width > 1)
		return KERNEL_NUMBERS;
	if (proj->linear)
		return lower->plan[node->args[0]].fused ? KERNEL_RESHAPED : KERNEL_COPY;
	if (node->along.letter)
		return node->kind == NODE_SORT ? KERNEL_SORT : KERNEL_CUMULATE;
	return node->kind == NODE_ARGMAX    ? KERNEL_ARGMAX
	       : node->kind == NODE_RANDOM  ? KERNEL_WORDS
	       : node->kind == NODE_SCATTER ? KERNEL_SCATTER
					    : KERNEL_NESTS;
}

/* Does what the node's kernel computes, inside it too, read the buffer? */
static bool reads_buffer(const Lower *lower, NodeId id, BufferId buffer)
{
	bool *reads = ARENA_ARRAY(lower->scratch, bool, id + 1); /* by NodeId */
	for (uint32_t k = 0; k < lower->nneeded && lower->needed[k] <= id; k++) {
		const Node *node = lower_node(lower, lower->needed[k]);
		for (uint32_t i = 0; i < node->nargs; i++) {
			const NodePlan *arg = &lower->plan[node->args[i]];
			reads[lower->needed[k]] |=
				arg->fused ? reads[node->args[i]] : arg->buffer == buffer;
		}
	}
	return reads[id];
}

/* Would a piece of an assignment read elements of its target that it has stored: others than the one
 * that is stored next, or that one behind a part of its sum? */
static bool piece_reads_stored(Lower *lower, NodeId id, uint32_t piece, StoreTarget to)
{
	NestLook look;
	NestPlan plan;
	nest_look_at(&look, lower, id, piece, lower_name(lower, id), to);
	ReadPlace place = nest_reads_target(&look.nest);
	if (place != READ_AT || look.nest.nloops == look.nest.nresult)
		return place == READ_ELSEWHERE;
	nest_plan(&look.nest, &plan);
	return !nest_stores_once(&plan);
}

/* Would an assignment that stores at once read elements of its target that it has stored? A copy reads
 * each element where it is stored. */
static bool reads_stored(Lower *lower, NodeId id, StoreTarget to)
{
	const Proj *proj = lower_proj(lower, lower_nest_node(lower, id));
	KernelKind kind = kind_of(lower, id);
	if (kind != KERNEL_NESTS && kind != KERNEL_SCATTER)
		return kind != KERNEL_COPY && reads_buffer(lower, id, to.buffer);
	bool reads = false;
	for (uint32_t i = 0; i < proj->npieces && !reads; i++)
		reads = piece_reads_stored(lower, id, i, to);
	return reads;
}

static bool asks_temporary(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	return asks_on(schedule_asked(lower->asked, lower->program, lower_name(lower, id),
				      node->span, CHOICE_TEMPORARY));
}

/* Each element is met once, and read at its own place or nowhere. */
static bool stores_at_once(Lower *lower, NodeId id, StoreTarget to)
{
	if (writes_halves(lower, id))
		return copies_halves(lower, id);
	return is_direct(lower, id) && !asks_temporary(lower, id) && !reads_stored(lower, id, to);
}

/* A tensor of the target's shape for the right side. */
static BufferId declare_aside(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	return lower_buffer(lower, (Buffer){.kind = BUFFER_TEMP,
					    .name = lower_unique(lower, "value"),
					    .dtype = node->dtype,
					    .elements = node_elements(lower, id)});
}

/* ---- nests ---- */

/* Are there elements that no iteration reaches, or that are added to? They begin with the neutral
 * element. */
static bool fills_first(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj || proj->linear || node->along.letter)
		return false;
	return node->kind == NODE_ARGMAX
		       ? !proj->surjective
		       : nest_needs_fill(lower, id) && !nest_stores_between(lower, id);
}

/* What is aside is added where the target takes it in: -0 + 0 is 0, -0 + -0 is -0. */
static Scalar neutral_of(const Lower *lower, NodeId id, bool aside)
{
	const Node *node = lower_node(lower, id);
	if (aside && node->acc == OP_ADD && dtype_is_float(node->dtype) &&
	    node_reduce_op(node) == OP_ADD)
		return (Scalar){.f = -0.0};
	return node->kind == NODE_ARGMAX ? scalar_of(node->dtype, 0)
					 : op_neutral(node_reduce_op(node), node->dtype);
}

static void plan_nest(KernelPlan *plan, uint32_t piece)
{
	Gen *gen = &plan->gen;
	NodeId node = lower_nest_node(gen->lower, plan->node);
	const Proj *proj = lower_proj(gen->lower, node);
	PlannedNest *planned = &plan->nests[piece];
	planned->nest = (Nest){.gen = gen,
			       .node = node,
			       .root = plan->node,
			       .target = plan->to,
			       .proj = proj,
			       .piece = &proj->pieces[piece]};
	gen->inside = NODE_NONE;
	nest_set_up(&planned->nest);
	compute_at_begin(&planned->nest);
	nest_plan(&planned->nest, &planned->plan);
	if (planned->plan.form == NEST_TILES) {
		tile_plan_copies(planned->plan.tile);
		tile_choose_finish(planned->plan.tile);
		tile_choose_zeros(planned->plan.tile);
		tile_choose_unused(planned->plan.tile);
		compute_at_end(&planned->nest);
	}
	planned->entry = gen->entry;
	planned->inside = gen->inside;
}

static void plan_nests(Lower *lower, KernelPlan *plan)
{
	const Proj *proj = lower_proj(lower, lower_nest_node(lower, plan->node));
	plan->nests = ARENA_ARRAY(lower->arena, PlannedNest, proj->npieces + 1);
	plan->nnests = proj->npieces;
	for (uint32_t i = 0; i < plan->nnests; i++)
		plan_nest(plan, i);
}

static KernelPlan *plan_as(Lower *lower, NodeId id, Sym name, StoreTarget to)
{
	KernelPlan *plan = ARENA_NEW(lower->arena, KernelPlan);
	*plan = (KernelPlan){.gen = gen_new(lower, name, lower_node(lower, id)->span),
			     .node = id,
			     .to = to,
			     .fill = UINT32_MAX};
	return plan;
}

static KernelPlan *plan_assignment(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	StoreTarget to = {lower->plan[node->target].buffer, node->acc};
	bool clears_later = node->clear && reads_target(lower, id);
	Sym name = lower_name(lower, id);
	if (!clears_later && stores_at_once(lower, id, to))
		return plan_as(lower, id, name, to);
	to = (StoreTarget){declare_aside(lower, id), OP_NONE};
	KernelPlan *plan = plan_as(lower, id, lower->program->buffers.at[to.buffer].name, to);
	plan->aside = true;
	gen_owns(&plan->gen, to.buffer);
	plan->clears_later = clears_later;
	return plan;
}

static KernelPlan *plan_tensor(Lower *lower, NodeId id)
{
	const RowBlockPlace *place = row_block_place(lower, id, NULL);
	BufferId to = place ? place->buffer : lower->plan[id].buffer;
	Sym name = lower->row_block ? row_block_name(lower->row_block, id) : kernel_name(lower, id);
	return plan_as(lower, id, name, (StoreTarget){to, OP_NONE});
}

/* ---- kernels ---- */

static void plan_kind(Lower *lower, KernelPlan *plan)
{
	Gen *gen = &plan->gen;
	switch (plan->kind) {
	case KERNEL_NESTS: plan_nests(lower, plan); break;
	case KERNEL_SCATTER: plan->scatter = scatter_plan(gen, plan); break;
	case KERNEL_ARGMAX:
	case KERNEL_SORT:
	case KERNEL_CUMULATE: plan->lines = along_plan(gen, plan->node, plan->to); break;
	case KERNEL_HALVES:
	case KERNEL_BYTES: plan->step = halves_step(lower, plan->node); break;
	case KERNEL_WORDS:
	case KERNEL_NUMBERS:
	case KERNEL_COPY:
	case KERNEL_RESHAPED:
	case KERNEL_LEAF: break;
	}
}

KernelPlan *kernel_plan(Lower *lower, NodeId id)
{
	bool assigns = lower_node(lower, id)->target != NODE_NONE;
	KernelPlan *plan = assigns ? plan_assignment(lower, id) : plan_tensor(lower, id);
	bool fills = (!assigns || plan->aside) && fills_first(lower, id);
	plan->kind = kind_of(lower, id);
	plan->neutral = neutral_of(lower, id, plan->aside);
	if (fills)
		plan->fill = gen_iter(&plan->gen, "e");
	plan_kind(lower, plan);
	return plan;
}
