/* One node's kernel, by its kind; kernels that fill, copy and check. */
#include "lower/kernel.h"
#include "lower/nest_plan.h"
#include "lower/node_plan.h"
#include "lower/row_block.h"

/* ---- a kernel's frame ---- */

/* to[i] (acc)= the node's value, over its own shape. */
static void emit_over_shape(Gen *gen, NodeId node, StoreTarget to)
{
	const Shape *shape = lower_shape(gen->lower, node);
	IterVar *vars = ARENA_ARRAY(gen->arena, IterVar, shape_naxes(shape) + 1);
	SharedLocals shared = {0};
	Body body = {0};
	const Ix **axes = shape_indices(gen, shape, vars);
	gen_enter(gen, &shared);
	const Value *value = node_value(gen, node, axes);
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, flat_index(gen, node, axes), value));
	wrap_shape(gen, shape, vars, &body);
}

/* to[e] (acc)= from[e] for every element. */
static void emit_flat_copy(Gen *gen, BufferId from, StoreTarget to)
{
	Program *program = gen->program;
	IterVar e = gen_iter(gen, sym_cstr(program->symbols, "e"));
	const Ix *at = ix_iter(gen->arena, e);
	Body body = {0};
	PUSH(gen->arena, body.stmts, gen_store(gen, to, at, value_load(program, from, at)));
	const Ix *n = ix_size(gen->arena, program->buffers.at[to.buffer].elements);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, e, zero_ix(gen), n, body_block(&body)));
}

/* A reshape of a node without a buffer (a number, a range): to[e] = its element number e. */
static void emit_reshaped_leaf(Gen *gen, NodeId from, StoreTarget to)
{
	IterVar e = gen_iter(gen, sym_cstr(gen->program->symbols, "e"));
	const Ix *at = ix_iter(gen->arena, e);
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	const Value *value = node_value(
		gen, from, tables_unflatten(gen->program, lower_shape(gen->lower, from), at));
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, at, value));
	const Ix *n = ix_size(gen->arena, gen->program->buffers.at[to.buffer].elements);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, e, zero_ix(gen), n, body_block(&body)));
}

void kernel_emit_fill(Lower *lower, BufferId buffer, Scalar value, Span span)
{
	Sym name = lower_unique(lower, sym_printf(lower->program->symbols, "clear_%s",
						  lower->program->buffers.at[buffer].name));
	Gen gen = gen_new(lower, name, span);
	nest_fill(&gen, buffer, value);
	kernel_finish(&gen);
}

void kernel_emit_copy(Lower *lower, NodeId node, BufferId to, Sym name)
{
	Gen gen = gen_new(lower, name, lower_node(lower, node)->span);
	const NodePlan *plan = &lower->plan[node];
	if (plan->buffer != BUFFER_NONE)
		emit_flat_copy(&gen, plan->buffer, (StoreTarget){to, OP_NONE});
	else
		emit_over_shape(&gen, node, (StoreTarget){to, OP_NONE});
	kernel_finish(&gen);
}

/* ---- nodes ---- */

static void emit_along(Gen *gen, NodeId id, StoreTarget to)
{
	const Lines lines = along_lines(gen, id, to);
	if (lower_node(gen->lower, id)->kind == NODE_SORT)
		sort_lines(&lines);
	else
		cumulate_lines(&lines);
}

static void emit_node(Gen *gen, NodeId id, StoreTarget to)
{
	Lower *lower = gen->lower;
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj)
		emit_over_shape(gen, id, to);
	else if (proj->linear && proj->width > 1)
		random_emit_numbers(gen, id, to);
	else if (proj->linear && lower->plan[node->args[0]].fused)
		emit_reshaped_leaf(gen, node->args[0], to);
	else if (proj->linear)
		emit_flat_copy(gen, lower->plan[node->args[0]].buffer, to);
	else if (node->kind == NODE_ARGMAX)
		argmax_emit(gen, id, to);
	else if (node->along.letter)
		emit_along(gen, id, to);
	else if (node->kind == NODE_RANDOM)
		random_emit(gen, id, to);
	else if (node->kind == NODE_SCATTER)
		scatter_emit(gen, id, to.buffer);
	else
		nest_emit(gen, id, to);
}

static Scalar neutral_of(const Gen *gen, NodeId id)
{
	const Node *node = lower_node(gen->lower, id);
	return node->kind == NODE_ARGMAX ? scalar_of(node->dtype, 0)
					 : op_neutral(node_reduce_op(node), node->dtype);
}

/* Cells that no iteration reaches, or that are added to, begin with the neutral element. */
static void fill_first(Gen *gen, NodeId id, BufferId to, Scalar neutral)
{
	const Node *node = lower_node(gen->lower, id);
	const Proj *proj = lower_proj(gen->lower, id);
	if (!proj || proj->linear || node->along.letter)
		return;
	if (node->kind == NODE_ARGMAX ? proj->surjective : !nest_needs_fill(gen->lower, id))
		return;
	nest_fill(gen, to, neutral);
}

/* Does an operand stand in the target's own buffer? */
static bool reads_target(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	bool reads = false;
	for (uint32_t i = 0; i < node->nargs; i++)
		reads |= lower->plan[node->args[i]].buffer == lower->plan[node->target].buffer;
	return reads;
}

static void clear_target(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	Dtype dtype = lower_node(lower, node->target)->dtype;
	kernel_emit_fill(lower, lower->plan[node->target].buffer, op_neutral(node->acc, dtype),
			 node->span);
}

/* Is each cell that it reaches computed in one place, so that it may be stored there? A sum is, in
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

/* Has the node loops of a nest? */
static bool has_nest(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear && node->kind != NODE_ARGMAX && node->kind != NODE_RANDOM &&
	       !node->along.letter;
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

/* Would a piece of an assignment read cells of its target that it has stored: others than the one
 * that is stored next, or that one behind a part of its sum? The nest is planned, and what the plan
 * takes is given back. */
static bool piece_reads_stored(Lower *lower, NodeId id, uint32_t piece, StoreTarget to)
{
	BufferId nbuffers = (BufferId)lower->program->buffers.n;
	NestLook look;
	NestPlan plan;
	nest_look_at(&look, lower, id, piece, lower_name(lower, id), to);
	ReadPlace place = nest_reads_target(&look.nest);
	if (place != READ_AT || look.nest.nloops == look.nest.nresult)
		return place == READ_ELSEWHERE;
	nest_plan(&look.nest, &plan);
	lower_forget_from(lower, nbuffers);
	return !nest_stores_once(&plan);
}

/* Would an assignment that stores at once read cells of its target that it has stored? A copy reads
 * each element where it is stored. */
static bool reads_stored(Lower *lower, NodeId id, StoreTarget to)
{
	NodeId reduction = lower->plan[id].reduction;
	const Proj *proj = lower_proj(lower, reduction != NODE_NONE ? reduction : id);
	if (!has_nest(lower, id)) {
		const Node *node = lower_node(lower, id);
		bool copies = proj && proj->linear && proj->width == 1 &&
			      !lower->plan[node->args[0]].fused;
		return !copies && reads_buffer(lower, id, to.buffer);
	}
	bool reads = false;
	for (uint32_t i = 0; i < proj->npieces && !reads; i++)
		reads = piece_reads_stored(lower, id, i, to);
	return reads;
}

/* The kernel that computes and stores at once. */
static void emit_directly(Lower *lower, NodeId id, StoreTarget to)
{
	Gen gen = gen_new(lower, lower_name(lower, id), lower_node(lower, id)->span);
	emit_node(&gen, id, to);
	kernel_finish(&gen);
}

/* The right side in a tensor of the target's shape, the neutral element where it reaches no
 * cell. */
static BufferId emit_aside(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	Sym name = lower_unique(lower, "value");
	BufferId aside = lower_buffer(lower, (Buffer){.kind = BUFFER_TEMP,
						      .name = name,
						      .dtype = node->dtype,
						      .elements = node_elements(lower, id)});
	Gen gen = gen_new(lower, name, node->span);
	bool adds = node->acc == OP_ADD && dtype_is_float(node->dtype) &&
		    node_reduce_op(node) == OP_ADD; /* -0 + 0 is 0, -0 + -0 is -0 */
	fill_first(&gen, id, aside, adds ? (Scalar){.f = -0.0} : neutral_of(&gen, id));
	emit_node(&gen, id, (StoreTarget){aside, OP_NONE});
	kernel_finish(&gen);
	return aside;
}

/* Does every number stay as it is that meets the neutral element, in every type? 3 && 1 is 1, and
 * the least integer is more than -inf. */
static bool keeps_numbers(Op acc)
{
	return acc == OP_ADD || acc == OP_SUB || acc == OP_MUL || acc == OP_DIV || acc == OP_POW;
}

/* May all cells of the target meet what is aside, those that the right side does not reach its
 * neutral element? */
static bool meets_all(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	Dtype dtype = lower_node(lower, node->target)->dtype;
	bool cleared = node->clear && dtype_is_float(dtype) == dtype_is_float(node->dtype);
	return !proj || proj->surjective || cleared || keeps_numbers(node->acc);
}

static bool asks_temporary(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	return asks_on(schedule_asked(lower->asked, lower->program, lower_name(lower, id),
				      node->span, CHOICE_TEMPORARY));
}

/* By way of a tensor that is computed before. A target that is cleared first is read before that. */
static void emit_by_temporary(Lower *lower, NodeId id, StoreTarget to, bool clears_later)
{
	BufferId aside = emit_aside(lower, id);
	if (clears_later)
		clear_target(lower, id);
	Gen gen = gen_new(lower, lower_name(lower, id), lower_node(lower, id)->span);
	gen_make_operand(&gen, CHOICE_TEMPORARY, aside);
	if (meets_all(lower, id))
		emit_flat_copy(&gen, aside, to);
	else
		nest_emit_reached(&gen, id, aside, to);
	kernel_finish(&gen);
}

/* target ACC= node. At once where each cell is met once and read at its own place or nowhere; else
 * the right side is computed aside. */
static void emit_assignment(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	StoreTarget to = {lower->plan[node->target].buffer, node->acc};
	bool clears_later = node->clear && reads_target(lower, id);
	if (node->clear && !clears_later)
		clear_target(lower, id);
	if (!clears_later && is_direct(lower, id) && !asks_temporary(lower, id) &&
	    !reads_stored(lower, id, to))
		emit_directly(lower, id, to);
	else
		emit_by_temporary(lower, id, to, clears_later);
}

void kernel_emit(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (node->target != NODE_NONE) {
		emit_assignment(lower, id);
		return;
	}
	const RowBlockPlace *place = row_block_place(lower, id, NULL);
	BufferId to = place ? place->buffer : lower->plan[id].buffer;
	const RowBlockRoot *root = lower->row_block ? row_block_root(lower->row_block, id) : NULL;
	Sym name = place  ? lower->program->buffers.at[to].name
		   : root ? root->name
			  : kernel_name(lower, id);
	Gen gen = gen_new(lower, name, node->span);
	fill_first(&gen, id, to, neutral_of(&gen, id));
	emit_node(&gen, id, (StoreTarget){to, OP_NONE});
	if (!place)
		halo_describe(&gen, id);
	fuse_describe_node(&gen, id);
	kernel_finish(&gen);
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
	kernel_finish(&gen);
}

/* Is all of a routine's own tensor set, or cleared by an assignment, before anything reads it? Then
 * it need not be cleared where it begins. */
static bool is_set_first(const Lower *lower, NodeId own)
{
	if (graph_sets_whole(lower->graph, own))
		return true;
	for (uint32_t k = needed_from(lower, own + 1); k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		const Node *node = lower_node(lower, id);
		bool reads = false;
		for (uint32_t i = 0; i < node->nargs; i++)
			reads |= node->args[i] == own;
		if (reads)
			return false;
		if (node->target != own)
			continue;
		if (node->loop != lower_node(lower, own)->loop)
			return false; /* there may be no step */
		const Proj *proj = lower_proj(lower, id);
		bool whole = node->acc == OP_NONE && (!proj || proj->surjective) &&
			     size_same(node_elements(lower, id), node_elements(lower, own));
		return whole || node->clear;
	}
	return false;
}

void lower_emit_node(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (!lower_has_kernel(lower, id))
		return;
	if (node->kind != NODE_ZEROS)
		kernel_emit(lower, id);
	else if (!is_set_first(lower, id))
		kernel_emit_fill(lower, lower->plan[id].buffer, scalar_of(node->dtype, 0),
				 node->span);
	halo_emit_frame(lower, id);
}
