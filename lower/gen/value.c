/* A node's value at given indices: a load where the node has a buffer, else the expression that
 * computes it, its operands at the indices that its projection gives. This is how elementwise
 * producers end up in the loops of their consumers: no loop is merged, indices are substituted.
 *
 * A fused node that is read more than once at the same index becomes a local of the body at hand,
 * or, where the nest asks for it, stays one value that is part of several.
 */
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "lower/gen/row_block_place.h"

const Ix *flat_index(Gen *gen, NodeId node, const Ix *const *axes)
{
	Program *program = gen->program;
	const Shape *shape = lower_shape(gen->lower, node);
	const Margins *halo = gen->lower->plan[node].halo;
	const Ix *at = zero_ix(gen);
	if (!halo)
		return tables_flatten(program, shape, axes);
	for (uint32_t i = shape_naxes(shape); i-- > 0;) {
		const Ix *place =
			ix_add(program, axes[i], ix_size(gen->arena, halo->axes[i].before));
		Size stride = margins_stride(gen->lower, node, halo, i);
		at = ix_add(program, ix_mul(program, place, ix_size(gen->arena, stride)), at);
	}
	return at;
}

/* ---- expressions ---- */

static const Value *read_node(void *of, NodeId node, const Ix *const *axes)
{
	return node_value(of, node, axes);
}

static const Value *hold_value(void *of, void *locals, const char *name, const Value *value)
{
	Gen *gen = of;
	SharedLocals *shared = locals;
	LocalId local = gen_local(gen, name, value->dtype);
	PUSH(gen->arena, *shared, ((SharedLocal){local, value, SPAN_NONE}));
	return gen_local_value(gen, local);
}

NodeReader gen_reader(Gen *gen)
{
	return (NodeReader){.tables = &gen->lower->tables,
			    .program = gen->program,
			    .clamps = gen->clamps,
			    .of = gen,
			    .read = read_node,
			    .hold = hold_value,
			    .locals = gen->locals_of};
}

const Ix *access_index(Gen *gen, NodeId node, const Piece *piece, const Index *index,
		       const Ix *const *by_iter)
{
	NodeReader r = gen_reader(gen);
	return expression_index(&r, node, piece, index, by_iter);
}

const Ix **access_indices(Gen *gen, NodeId node, const Piece *piece, const Access *access,
			  const Ix *const *by_iter)
{
	NodeReader r = gen_reader(gen);
	return expression_indices(&r, node, piece, access, by_iter);
}

const Value *piece_value(Gen *gen, NodeId node, const Piece *piece, const Ix *const *by_iter)
{
	NodeReader r = gen_reader(gen);
	return expression_of_piece(&r, node, piece, by_iter);
}

/* ---- nodes ---- */

const Value *node_compute(Gen *gen, NodeId id, const Ix *const *axes)
{
	NodeReader r = gen_reader(gen);
	if (gen->lower->plan[id].window)
		return window_value(gen, id, &lower_proj(gen->lower, id)->pieces[0],
				    expression_iters(&r, id, axes));
	return expression_of_node(&r, id, axes);
}

static bool is_simple(const Value *value)
{
	return value->kind == VALUE_CONST || value->kind == VALUE_LOCAL ||
	       value->kind == VALUE_SCALAR;
}

/* How often the kernel at hand reads a node that is fused, at most: what is computed inside several kernels may read
 * it in each. */
static uint32_t uses_here(const Gen *gen, NodeId id)
{
	const Lower *lower = gen->lower;
	uint32_t n = 0;
	if (lower->plan[id].root != NODE_NONE || gen->root == NODE_NONE)
		return lower->plan[id].nuses;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId reader = lower->plan[lower->uses[i].user].root;
		n += reader == gen->root || reader == NODE_NONE;
	}
	return n;
}

const Value *node_value(Gen *gen, NodeId id, const Ix *const *axes)
{
	const NodePlan *plan = &gen->lower->plan[id];
	if (id == gen->bound)
		return gen->bound_value;
	if (id == gen->inside)
		return value_cast(gen->arena, lower_node(gen->lower, id)->dtype,
				  node_compute(gen, id, axes));
	if (!plan->fused) {
		const RowBlockPlace *place = row_block_place(gen->lower, id, axes);
		REQUIRE(plan->buffer != BUFFER_NONE);
		if (gen->seen)
			PUSH(gen->arena, *gen->seen, ((Seen){id, axes}));
		if (place)
			return value_load(gen->program, place->buffer,
					  row_block_index(gen, place, axes));
		return value_load(gen->program, plan->buffer, flat_index(gen, id, axes));
	}
	if (plan->cost == 0 || uses_here(gen, id) < 2)
		return node_compute(gen, id, axes);
	const Value *value = shared_value(&gen->lower->tables, &gen->shared, id, axes);
	if (value)
		return value;
	value = node_compute(gen, id, axes);
	if (!is_simple(value) && !gen->in_line) {
		const Node *node = lower_node(gen->lower, id);
		bool names = node->name && !gen->looks;
		LocalId local =
			gen_local(gen, names ? lower_name(gen->lower, id) : "t", value->dtype);
		PUSH(gen->arena, *gen->locals_of, ((SharedLocal){local, value, node->span}));
		value = gen_local_value(gen, local);
	}
	PUSH(gen->arena, gen->shared, ((SharedValue){id, axes, value}));
	return value;
}
