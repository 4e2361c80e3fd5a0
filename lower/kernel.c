/* One node's kernel, by its kind; kernels that fill, copy and check. */
#include <string.h>

#include "lower/kernel.h"
#include "lower/node_plan.h"
#include "lower/row_block.h"
#include "lower/tile/tile.h"

/* ---- a kernel's frame ---- */

void lower_add_kernel(Lower *lower, Kernel kernel)
{
	PUSH(lower->program->arena, lower->program->kernels, kernel);
	PUSH(lower->scratch, lower->kernels, (KernelId)lower->program->kernels.n - 1);
}

void kernel_over_shape(Gen *gen, NodeId node, NodeValue *value_at, StoreTarget to)
{
	const Shape *shape = lower_shape(gen->lower, node);
	IterVar *vars = ARENA_ARRAY(gen->arena, IterVar, shape_naxes(shape) + 1);
	SharedLocals shared = {0};
	Body body = {0};
	const Ix **axes = shape_indices(gen, shape, vars);
	gen_enter(gen, &shared);
	const Value *value = value_at(gen, node, axes);
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, flat_index(gen, node, axes), value));
	wrap_shape(gen, shape, vars, &body);
}

/* to[e] (acc)= element number e of a buffer or, if that is BUFFER_NONE, of a node that has none (a number, a range), for
 * every element. */
static void emit_flat(Gen *gen, BufferId from, NodeId node, StoreTarget to)
{
	Program *program = gen->program;
	IterVar e = gen_iter(gen, "e");
	const Ix *at = ix_iter(gen->arena, e);
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	const Value *value =
		from != BUFFER_NONE
			? value_load(program, from, at)
			: node_value(gen, node,
				     tables_unflatten(program, lower_shape(gen->lower, node), at));
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, at, value));
	gen_append(gen, &gen->top,
		   gen_over(gen, e, program->buffers.at[to.buffer].elements, body_block(&body)));
}

static void emit_flat_copy(Gen *gen, BufferId from, StoreTarget to)
{
	emit_flat(gen, from, NODE_NONE, to);
}

static void emit_fill(Lower *lower, BufferId buffer, Scalar value, Span span)
{
	Sym name = lower_unique(lower, sym_printf(lower->program->symbols, "clear_%s",
						  lower->program->buffers.at[buffer].name));
	Gen gen = gen_new(lower, name, span);
	nest_fill(&gen, buffer, value);
	lower_add_kernel(lower, kernel_finish(&gen));
}

void kernel_emit_copy(Lower *lower, NodeId node, BufferId to, Sym name)
{
	Gen gen = gen_new(lower, name, lower_node(lower, node)->span);
	const NodePlan *plan = &lower->plan[node];
	if (plan->buffer != BUFFER_NONE)
		emit_flat_copy(&gen, plan->buffer, (StoreTarget){to, OP_NONE});
	else
		kernel_over_shape(&gen, node, node_value, (StoreTarget){to, OP_NONE});
	lower_add_kernel(lower, kernel_finish(&gen));
}

/* ---- nodes ---- */

static void emit_kind(Gen *gen, const KernelPlan *plan)
{
	const Lower *lower = gen->lower;
	const Node *node = lower_node(lower, plan->node);
	switch (plan->kind) {
	case KERNEL_NESTS: nests_emit(gen, plan); break;
	case KERNEL_SCATTER: scatter_emit(gen, plan); break;
	case KERNEL_ARGMAX:
	case KERNEL_SORT:
	case KERNEL_CUMULATE: along_emit(gen, plan->node, plan->lines); break;
	case KERNEL_WORDS: random_emit(gen, plan->node, plan->to); break;
	case KERNEL_NUMBERS: random_emit_numbers(gen, plan->node, plan->to); break;
	case KERNEL_COPY: emit_flat_copy(gen, lower->plan[node->args[0]].buffer, plan->to); break;
	case KERNEL_HALVES:
		halves_pack(gen, plan->step, lower->plan[node->args[0]].buffer, plan->to.buffer);
		break;
	case KERNEL_BYTES:
		halves_unpack(gen, plan->step,
			      lower->plan[lower_node(lower, node->target)->like].buffer,
			      plan->to.buffer);
		break;
	case KERNEL_RESHAPED: emit_flat(gen, BUFFER_NONE, node->args[0], plan->to); break;
	case KERNEL_LEAF: kernel_over_shape(gen, plan->node, node_value, plan->to); break;
	}
}

static void clear_target(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	Dtype dtype = lower_node(lower, node->target)->dtype;
	emit_fill(lower, lower->plan[node->target].buffer, op_neutral(node->acc, dtype),
		  node->span);
}

/* May all elements of the target meet what is aside, those that the right side does not reach its
 * neutral element? */
static bool meets_all(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	Dtype dtype = lower_node(lower, node->target)->dtype;
	bool cleared = node->clear && dtype_is_float(dtype) == dtype_is_float(node->dtype);
	return !proj || proj->surjective || cleared || op_keeps_numbers(node->acc);
}

/* The loops of the kernel, as they are planned. */
static void emit_planned(Gen *gen, const KernelPlan *plan)
{
	if (plan->fill != UINT32_MAX && !plan->scatter.fills)
		nest_fill_over(gen, plan->fill, plan->to.buffer, plan->neutral);
	emit_kind(gen, plan);
}

/* Does the nest read a copy in the state that it is the first to read? */
static bool is_packed_for(const PlannedNest *planned)
{
	const Tile *tile = planned->plan.tile;
	return planned->plan.form == NEST_TILES && tile->fills && tile->prepacked;
}

/* The kernels that fill copies in the state, which are the packing routine's. */
static void add_packing(Lower *lower, const KernelPlan *plan)
{
	for (uint32_t i = 0; i < plan->nnests; i++)
		if (is_packed_for(&plan->nests[i]))
			PUSH(lower->arena, lower->packs, nest_packing(plan, &plan->nests[i]));
}

/* The target takes in what is aside. */
static void emit_taking(Lower *lower, const KernelPlan *plan)
{
	const Node *node = lower_node(lower, plan->node);
	StoreTarget to = {lower->plan[node->target].buffer, node->acc};
	Gen gen = gen_new(lower, lower_name(lower, plan->node), node->span);
	gen_make_operand(&gen, CHOICE_TEMPORARY, plan->to.buffer);
	bool halves = dtype_is_packed(lower->program->buffers.at[to.buffer].dtype);
	if (halves)
		halves_pack(&gen, NODE_NONE, plan->to.buffer, to.buffer);
	else if (meets_all(lower, plan->node))
		emit_flat_copy(&gen, plan->to.buffer, to);
	else
		nest_emit_reached(&gen, plan->node, plan->to.buffer, to);
	Kernel kernel = kernel_finish(&gen);
	kernel.alone = halves; /* it stores two elements at a time */
	lower_add_kernel(lower, kernel);
}

/* target ACC= node: at once, or by way of a tensor that is computed before. */
static void emit_assignment(Lower *lower, const KernelPlan *plan)
{
	if (lower_node(lower, plan->node)->clear && !plan->clears_later)
		clear_target(lower, plan->node);
	add_packing(lower, plan);
	Gen gen = gen_emit(&plan->gen);
	emit_planned(&gen, plan);
	Kernel kernel = kernel_finish(&gen);
	kernel.alone |= plan->kind == KERNEL_HALVES; /* it stores two elements at a time */
	lower_add_kernel(lower, kernel);
	if (plan->clears_later)
		clear_target(lower, plan->node);
	if (plan->aside)
		emit_taking(lower, plan);
}

Kernel kernel_of_tensor(Lower *lower, const KernelPlan *plan)
{
	REQUIRE(lower_node(lower, plan->node)->target == NODE_NONE);
	add_packing(lower, plan);
	Gen gen = gen_emit(&plan->gen);
	emit_planned(&gen, plan);
	if (!row_block_place(lower, plan->node, NULL))
		halo_describe(&gen, plan->node);
	fuse_describe_node(&gen, plan->node);
	return kernel_finish(&gen);
}

static void emit_kernels(Lower *lower, const KernelPlan *plan)
{
	if (lower_node(lower, plan->node)->target != NODE_NONE)
		emit_assignment(lower, plan);
	else
		lower_add_kernel(lower, kernel_of_tensor(lower, plan));
}

/* ---- checks of gathered indices ---- */

void kernel_emit_check(Lower *lower, NodeId id, uint32_t arg)
{
	Program *program = lower->program;
	const Node *node = lower_node(lower, id);
	Size size;
	CheckId check = tables_index_check(&lower->tables, id, arg, &size);
	Sym name = lower_unique(
		lower, sym_printf(program->symbols, "check_%s", node->name ? node->name : "index"));
	Gen gen = gen_new(lower, name, node->span);
	const Shape *shape = lower_shape(lower, node->args[arg]);
	IterVar *vars = ARENA_ARRAY(gen.arena, IterVar, shape_naxes(shape) + 1);
	SharedLocals shared = {0};
	Body body = {0};
	const Ix **axes = shape_indices(&gen, shape, vars);
	gen_enter(&gen, &shared);
	const Value *value = node_value(&gen, node->args[arg], axes);
	gen_set_shared(&gen, &body, &shared);
	if (!dtype_is_integer(value->dtype))
		value = value_cast(gen.arena, DTYPE_I32, value);
	PUSH(gen.arena, body.stmts,
	     stmt_check(program, ix_value(gen.arena, value), ix_size(gen.arena, size), check));
	wrap_shape(&gen, shape, vars, &body);
	lower_add_kernel(lower, kernel_finish(&gen));
}

void kernel_emit_frame(Lower *lower, NodeId id)
{
	if (lower->plan[id].halo)
		lower_add_kernel(lower, halo_frame(lower, id));
}

void lower_emit_node(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (!lower_has_kernel(lower, id))
		return;
	if (node->kind != NODE_ZEROS)
		emit_kernels(lower, lower->plan[id].kernel);
	else if (lower->plan[id].cleared)
		emit_fill(lower, lower->plan[id].buffer, scalar_of(node->dtype, 0), node->span);
	kernel_emit_frame(lower, id);
}
