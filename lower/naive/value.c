/* What a node is at an index: a load from its buffer or, where it has none, an expression of the
 * index.
 *
 * An operation applies to its operands at the indices that its projection gives them. Its type is
 * the node's, but comparisons compare in what their operands join to; each operand is converted
 * first. A condition is true where it is not 0 in its own type.
 */
#include "base/element.h"
#include "loops/walk.h"
#include "lower/naive/builder.h"

/* ---- indices ---- */

const Ix *storage_index(const Builder *b, NodeId node, const Ix *const *axes)
{
	Program *program = b->program;
	const Shape *shape = tables_shape(b->t, node);
	const Ix *at = build_const(b, 0);
	Size stride = size_const(program->sizes, 1);
	for (uint32_t i = shape_naxes(shape); i-- > 0;) {
		const Ix *step = ix_mul(program, axes[i], ix_size(b->arena, stride));
		at = ix_add(program, step, at);
		stride = size_mul(program->sizes, stride, shape_axis(shape, i)->size);
	}
	return at;
}

const Ix *index_of(const Builder *b, const Value *value)
{
	if (!dtype_is_integer(value->dtype))
		value = value_cast(b->arena, DTYPE_I32, value);
	return ix_value(b->arena, value);
}

static const Ix *affine_index(const Builder *b, const Index *index, const Ix *const *iters)
{
	Program *program = b->program;
	const Ix *sum = ix_size(b->arena, index->offset);
	for (uint32_t i = index->nterms; i-- > 0;) {
		const IndexTerm *term = &index->terms[i];
		const Ix *step = ix_mul(program, iters[term->iter], build_const(b, term->coef));
		sum = ix_add(program, step, sum);
	}
	return sum;
}

const Ix *step_index(Builder *b, NodeId id, const Piece *piece, const Index *index,
		     const Ix *const *iters)
{
	if (index->gather < 0)
		return affine_index(b, index, iters);
	NodeId ids = tables_node(b->t, id)->args[index->gather];
	const Ix **at = step_indices(b, id, piece, &piece->args[index->gather], iters);
	return index_of(b, element_at(b, ids, at));
}

const Ix **step_indices(Builder *b, NodeId id, const Piece *piece, const Access *access,
			const Ix *const *iters)
{
	NodeId tensor = id;
	for (uint32_t i = 0; i < tables_node(b->t, id)->nargs; i++)
		if (access == &piece->args[i])
			tensor = tables_node(b->t, id)->args[i];
	const Shape *shape = tables_shape(b->t, tensor);
	const Ix **axes = ARENA_ARRAY(b->arena, const Ix *, access->naxes + 1);
	for (uint32_t i = 0; i < access->naxes; i++)
		axes[i] = index_in_axis(b->program,
					step_index(b, id, piece, &access->axes[i], iters),
					access->axes[i].mode, shape_axis(shape, i)->size);
	return axes;
}

/* ---- operations ---- */

/* Converting 0.5 to an integer would make it false. */
static const Value *truth(const Builder *b, const Value *value, Dtype dtype)
{
	Dtype wide = dtype_wide(value->dtype);
	if (value->dtype == dtype)
		return value;
	const Value *args[] = {value_cast(b->arena, wide, value), value_number(b->arena, wide, 0)};
	return value_cast(b->arena, dtype, value_op(b->arena, OP_NE, wide, args, 2));
}

static const Value *apply(const Builder *b, const Node *node, Op op, const Value *const *args,
			  uint32_t nargs)
{
	Dtype dtype = op_gives_truth(op) ? DTYPE_NONE : node->dtype;
	const Value *same[3];
	for (uint32_t i = 0; i < nargs && op_gives_truth(op); i++)
		dtype = dtype_join(dtype, args[i]->dtype);
	for (uint32_t i = 0; i < nargs; i++)
		same[i] = op == OP_WHERE && i == 0 ? truth(b, args[i], dtype)
						   : value_cast(b->arena, dtype, args[i]);
	return value_cast(b->arena, node->dtype, value_op(b->arena, op, dtype, same, nargs));
}

/* OP_ID: operands are moved, as they are. */
static Op operation_of(const Node *node)
{
	switch (node->kind) {
	case NODE_COMPOSE: return OP_MUL;
	case NODE_POINTWISE:
	case NODE_SPEC: return node->op == OP_NONE ? OP_ID : node->op;
	default: return OP_ID;
	}
}

/* Of more operands than the operation takes, the first two, then that and the third. */
static const Value *combine(const Builder *b, const Node *node, const Value *const *args,
			    uint32_t nargs)
{
	Op op = operation_of(node);
	if (op == OP_ID || (nargs == 1 && op_arity(op) != 1))
		return value_cast(b->arena, node->dtype, args[0]);
	if ((uint32_t)op_arity(op) == nargs)
		return apply(b, node, op, args, nargs);
	REQUIRE(op_arity(op) == 2 && nargs > 2);
	const Value *value = args[0];
	for (uint32_t i = 1; i < nargs; i++)
		value = apply(b, node, op, (const Value *[]){value, args[i]}, 2);
	return value;
}

const Value *step_value(Builder *b, NodeId id, const Piece *piece, const Ix *const *iters)
{
	const Node *node = tables_node(b->t, id);
	const Value *args[OPERANDS_MOST];
	uint32_t nargs = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool index = node_kind_indexes(node->kind) && i > 0;
		if (!piece->args[i].present || index)
			continue;
		REQUIRE(nargs < OPERANDS_MOST);
		const Ix **axes = step_indices(b, id, piece, &piece->args[i], iters);
		args[nargs++] = element_at(b, node->args[i], axes);
	}
	REQUIRE(nargs > 0);
	return combine(b, node, args, nargs);
}

/* ---- nodes ---- */

static const Value *number_value(const Builder *b, const Node *node)
{
	Scalar value = node->is_integer ? scalar_convert((Scalar){.i = node->integer}, DTYPE_I64,
							 node->dtype)
					: scalar_of(node->dtype, node->number);
	return value_const(b->arena, node->dtype, value);
}

static const Value *size_value(const Builder *b, const Node *node)
{
	Size size = infer_size(b->t->inference, node->size_expr);
	if (!size_is_bad(size))
		return value_index(b->arena, node->dtype, ix_size(b->arena, size));
	diag(b->t->diags, E0347, node->span, "this size is too large: %s",
	     sizes_limit_text(b->program->sizes));
	return value_number(b->arena, node->dtype, 0);
}

static const Value *scalar_value(const Builder *b, const Node *node)
{
	Dtype dtype = b->t->routine->scalars[node->scalar_index].dtype;
	return value_cast(b->arena, node->dtype, value_scalar(b->arena, dtype, node->scalar_index));
}

/* The index of the result gives the iterators back. */
static const Value *operation_value(Builder *b, NodeId id, const Ix *const *axes)
{
	const Proj *proj = tables_proj(b->t, id);
	REQUIRE(proj && proj_is_plain(proj));
	const Access *result = &proj->pieces[0].result;
	const Ix **iters = ARENA_ARRAY(b->arena, const Ix *, proj->niters + 1);
	for (uint32_t i = 0; i < result->naxes; i++)
		if (result->axes[i].nterms == 1)
			iters[result->axes[i].terms[0].iter] = axes[i];
	return step_value(b, id, &proj->pieces[0], iters);
}

const Value *element_expression(Builder *b, NodeId id, const Ix *const *axes)
{
	const Node *node = tables_node(b->t, id);
	switch (node->kind) {
	case NODE_NUMBER: return number_value(b, node);
	case NODE_SIZE: return size_value(b, node);
	case NODE_SCALAR: return scalar_value(b, node);
	case NODE_RANGE: return value_index(b->arena, node->dtype, axes[0]);
	case NODE_OFFSETS: return value_index(b->arena, node->dtype, storage_index(b, id, axes));
	case NODE_RANDOM: return stream_number(b, id, storage_index(b, id, axes), b->holds);
	default: return operation_value(b, id, axes);
	}
}

/* In an initialiser, a local of the element: what several operations read is computed once. */
static const Value *held_value(Builder *b, NodeId id, const Ix *const *axes)
{
	uint32_t naxes = shape_naxes(tables_shape(b->t, id));
	for (size_t i = 0; i < b->held.n; i++) {
		const Held *held = &b->held.at[i];
		bool same = held->node == id;
		for (uint32_t axis = 0; axis < naxes && same; axis++)
			same = ix_same(held->axes[axis], axes[axis]);
		if (same)
			return held->value;
	}
	const Value *value = element_expression(b, id, axes);
	const Node *node = tables_node(b->t, id);
	LocalId local = build_local(b, node->name ? tables_name(b->t, id) : "t", value->dtype);
	build_add(b, b->holds, stmt_local(b->arena, local, value));
	value = build_read(b, local);
	PUSH(b->arena, b->held, ((Held){id, axes, value}));
	return value;
}

const Value *element_at(Builder *b, NodeId id, const Ix *const *axes)
{
	BufferId buffer = b->naive->buffers[id];
	if (buffer != BUFFER_NONE)
		return value_load(b->program, buffer, storage_index(b, id, axes));
	if (b->holds && tables_node(b->t, id)->nargs > 0)
		return held_value(b, id, axes);
	return element_expression(b, id, axes);
}

const Value *element_flat(Builder *b, NodeId id, const Ix *at)
{
	BufferId buffer = b->naive->buffers[id];
	if (buffer != BUFFER_NONE)
		return value_load(b->program, buffer, at);
	return element_expression(b, id, tables_unflatten(b->program, tables_shape(b->t, id), at));
}
