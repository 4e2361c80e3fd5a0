/* A node's value at given indices: a load where the node has a buffer, else the expression that
 * computes it, its operands at the indices that its projection gives. This is how elementwise
 * producers end up in the loops of their consumers: no loop is merged, indices are substituted.
 *
 * A fused node that is read more than once at the same index becomes a local of the body at hand,
 * or, where the nest asks for it, stays one value that is part of several.
 */
#include <string.h>

#include "base/element.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "lower/row_block.h"

const Ix *flat_index(Gen *gen, NodeId node, const Ix *const *axes)
{
	Program *program = gen->program;
	const Shape *shape = lower_shape(gen->lower, node);
	const Margins *halo = gen->lower->plan[node].halo;
	const Ix *at = zero_ix(gen);
	Size stride = size_const(program->sizes, 1);
	for (uint32_t i = shape_naxes(shape); i-- > 0;) {
		Size before = halo ? halo->axes[i].before : size_const(program->sizes, 0);
		const Ix *place = ix_add(program, axes[i], ix_size(gen->arena, before));
		at = ix_add(program, ix_mul(program, place, ix_size(gen->arena, stride)), at);
		stride = size_mul(program->sizes, stride,
				  halo ? margins_extent(gen->lower, node, halo, i)
				       : shape_axis(shape, i)->size);
	}
	return at;
}

/* ---- indices of operands ---- */

static const Ix *gathered_index(Gen *gen, NodeId node, const Piece *piece, int32_t arg,
				const Ix *const *by_iter)
{
	NodeId ids = lower_node(gen->lower, node)->args[arg];
	const Ix **axes = access_indices(gen, ids, piece, &piece->args[arg], by_iter);
	const Value *value = node_value(gen, ids, axes);
	if (!dtype_is_integer(value->dtype))
		value = value_cast(gen->arena, DTYPE_I32, value);
	return ix_value(gen->arena, value);
}

static const Ix *affine_index(Gen *gen, const Index *index, const Ix *const *by_iter)
{
	Program *program = gen->program;
	const Ix *sum = ix_size(gen->arena, index->offset);
	for (uint32_t t = index->nterms; t-- > 0;) {
		const IndexTerm *term = &index->terms[t];
		const Ix *coef = ix_const(gen->arena, program->sizes, term->coef);
		sum = ix_add(program, ix_mul(program, by_iter[term->iter], coef), sum);
	}
	return sum;
}

const Ix *access_index(Gen *gen, NodeId node, const Piece *piece, const Index *index,
		       const Ix *const *by_iter)
{
	return index->gather >= 0 ? gathered_index(gen, node, piece, index->gather, by_iter)
				  : affine_index(gen, index, by_iter);
}

/* Elements of an axis of what the piece accesses there. */
static Size axis_size(const Gen *gen, NodeId node, const Piece *piece, const Access *access,
		      uint32_t axis)
{
	const Node *reader = lower_node(gen->lower, node);
	for (uint32_t i = 0; i < reader->nargs; i++)
		if (access == &piece->args[i])
			node = reader->args[i];
	return shape_axis(lower_shape(gen->lower, node), axis)->size;
}

const Ix **access_indices(Gen *gen, NodeId node, const Piece *piece, const Access *access,
			  const Ix *const *by_iter)
{
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, access->naxes + 1);
	for (uint32_t i = 0; i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		axes[i] = access_index(gen, node, piece, index, by_iter);
		bool clamps = gen->clamps && index->guarded;
		if (index->gather >= 0 || clamps)
			axes[i] = index_in_axis(gen->program, axes[i],
						clamps ? INDEX_CLAMPED : index->mode,
						axis_size(gen, node, piece, access, i));
	}
	return axes;
}

/* ---- operations ---- */

/* The type in which an operation computes: that of its result, except that comparisons join their
 * operands'. */
static Dtype compute_dtype(const Node *node, Op op, const Value *const *args, uint32_t nargs)
{
	Dtype dtype = DTYPE_NONE;
	if (!op_gives_truth(op))
		return node->dtype;
	for (uint32_t i = 0; i < nargs; i++)
		dtype = dtype_join(dtype, args[i]->dtype);
	return dtype;
}

/* x of `x != 0`, which is true where x is: vectors of floats have no comparison of integers. */
static const Value *without_test(const Value *value)
{
	const Value *test = value->kind == VALUE_CAST ? value->args[0] : value;
	bool tests = test->kind == VALUE_OP && test->op == OP_NE && value_is_zero(test->args[1]);
	return tests ? test->args[0] : value;
}

/* A truth value in another type: 0.5 is true, and must not become the integer 0. No integer but 0
 * becomes 0. */
static const Value *truth(Gen *gen, const Value *value, Dtype dtype)
{
	value = without_test(value);
	if (!dtype_is_float(value->dtype) && dtype_is_float(dtype))
		return value_cast(gen->arena, dtype, value);
	value = value_cast(gen->arena, dtype_wide(value->dtype), value);
	if (value->dtype == dtype)
		return value;
	const Value *zero = value_number(gen->arena, value->dtype, 0);
	const Value *differs =
		value_op(gen->arena, OP_NE, value->dtype, (const Value *[]){value, zero}, 2);
	return value_cast(gen->arena, dtype, differs);
}

static const Value *apply(Gen *gen, const Node *node, Op op, const Value *const *args,
			  uint32_t nargs)
{
	Dtype dtype = compute_dtype(node, op, args, nargs);
	const Value *same[3];
	for (uint32_t i = 0; i < nargs; i++)
		same[i] = op == OP_WHERE && i == 0 ? truth(gen, args[i], dtype)
						   : value_cast(gen->arena, dtype, args[i]);
	return value_cast(gen->arena, node->dtype, value_op(gen->arena, op, dtype, same, nargs));
}

/* What a node's operation makes of the operands that are present. */
static const Value *combine(Gen *gen, const Node *node, const Value *const *args, uint32_t nargs)
{
	Op op = node->kind == NODE_COMPOSE ? OP_MUL : node->op;
	bool plain = node->kind != NODE_POINTWISE && node->kind != NODE_COMPOSE &&
		     node->kind != NODE_SPEC;
	if (plain || op == OP_NONE || op == OP_ID || (nargs == 1 && op_arity(op) != 1))
		return value_cast(gen->arena, node->dtype, args[0]);
	if ((uint32_t)op_arity(op) == nargs)
		return apply(gen, node, op, args, nargs);
	REQUIRE(op_arity(op) == 2 && nargs > 2);
	const Value *value = args[0];
	for (uint32_t i = 1; i < nargs; i++)
		value = apply(gen, node, op, (const Value *[]){value, args[i]}, 2);
	return value;
}

/* The operation's place, for debuggers. */
static const Value *placed(Gen *gen, const Node *node, const Value *value)
{
	if (value->kind != VALUE_OP || !span_is_none(value->span))
		return value;
	Value *copy = value_copy(gen->arena, value);
	copy->span = node->span;
	return copy;
}

const Value *piece_value(Gen *gen, NodeId id, const Piece *piece, const Ix *const *by_iter)
{
	const Node *node = lower_node(gen->lower, id);
	const Value *args[OPERANDS_MOST];
	uint32_t nargs = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool index_only = node_kind_indexes(node->kind) && i > 0;
		if (!piece->args[i].present || index_only)
			continue;
		REQUIRE(nargs < OPERANDS_MOST);
		const Ix **axes = access_indices(gen, id, piece, &piece->args[i], by_iter);
		args[nargs++] = node_value(gen, node->args[i], axes);
	}
	REQUIRE(nargs > 0);
	return placed(gen, node, combine(gen, node, args, nargs));
}

/* ---- nodes ---- */

static const Value *number_value(Gen *gen, const Node *node)
{
	Dtype dtype = node->dtype == DTYPE_NONE ? DTYPE_F32 : node->dtype;
	if (node->kind == NODE_ZEROS)
		return value_number(gen->arena, dtype, 0);
	Scalar value = node->is_integer
			       ? scalar_convert((Scalar){.i = node->integer}, DTYPE_I64, dtype)
			       : scalar_of(dtype, node->number);
	return value_const(gen->arena, dtype, value);
}

static const Value *size_value(Gen *gen, const Node *node)
{
	Dtype dtype = node->dtype == DTYPE_NONE ? DTYPE_F32 : node->dtype;
	Size size = infer_size(gen->lower->inference, node->size_expr);
	int64_t constant = 0;
	if (size_is_bad(size))
		diag(gen->lower->diags, E0347, node->span, "this size is too large: %s",
		     sizes_limit_text(gen->program->sizes));
	if (size_is_bad(size) || size_is_const(gen->program->sizes, size, &constant))
		return value_const(gen->arena, dtype,
				   scalar_convert((Scalar){.i = constant}, DTYPE_I64, dtype));
	return value_index(gen->arena, dtype, ix_size(gen->arena, size));
}

/* The iterators of a plain projection at a given index of the result. */
static const Ix **iters_at(Gen *gen, const Proj *proj, const Ix *const *axes)
{
	const Access *result = &proj->pieces[0].result;
	const Ix **by_iter = ARENA_ARRAY(gen->arena, const Ix *, proj->niters + 1);
	for (uint32_t i = 0; i < result->naxes; i++)
		if (result->axes[i].nterms == 1)
			by_iter[result->axes[i].terms[0].iter] = axes[i];
	return by_iter;
}

const Value *node_compute(Gen *gen, NodeId id, const Ix *const *axes)
{
	const Node *node = lower_node(gen->lower, id);
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_ZEROS: return number_value(gen, node);
	case NODE_SIZE: return size_value(gen, node);
	case NODE_SCALAR:
		return value_cast(
			gen->arena, node->dtype,
			value_scalar(gen->arena,
				     gen->lower->tables.routine->scalars[node->scalar_index].dtype,
				     node->scalar_index));
	case NODE_RANGE: return value_index(gen->arena, node->dtype, axes[0]);
	case NODE_OFFSETS: return value_index(gen->arena, node->dtype, flat_index(gen, id, axes));
	case NODE_RANDOM: return random_value(gen, id, flat_index(gen, id, axes));
	case NODE_CONST:
		if (node->data->count == 1)
			return value_const(gen->arena, node->dtype,
					   scalar_read(node->dtype, node->data->bytes, 0));
		break;
	default: break;
	}
	const Proj *proj = lower_proj(gen->lower, id);
	REQUIRE(proj && proj_is_plain(proj));
	const Ix **by_iter = iters_at(gen, proj, axes);
	return gen->lower->plan[id].window ? window_value(gen, id, by_iter)
					   : piece_value(gen, id, &proj->pieces[0], by_iter);
}

static const Value *find_shared(const Gen *gen, NodeId node, const Ix *const *axes)
{
	uint32_t naxes = shape_naxes(lower_shape(gen->lower, node));
	for (size_t i = 0; i < gen->shared.n; i++) {
		const SharedValue *shared = &gen->shared.at[i];
		bool same = shared->node == node;
		for (uint32_t axis = 0; axis < naxes && same; axis++)
			same = ix_same(shared->axes[axis], axes[axis]);
		if (same)
			return shared->value;
	}
	return NULL;
}

static bool is_simple(const Value *value)
{
	return value->kind == VALUE_CONST || value->kind == VALUE_LOCAL ||
	       value->kind == VALUE_SCALAR;
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
	if (plan->nuses < 2 || plan->cost == 0)
		return node_compute(gen, id, axes);
	const Value *value = find_shared(gen, id, axes);
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
