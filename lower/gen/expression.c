/* Indices of operands, and what an operation makes of these.
 *
 * An operation applies to its operands at the indices that its projection gives them. Its type is
 * the node's, but comparisons compare in what their operands join to; each operand is converted
 * first. A condition is true where it is not 0 in its own type.
 */
#include "lower/gen/expression.h"

#include "base/element.h"
#include "loops/build.h"
#include "loops/walk.h"

const Value *shared_value(const Tables *t, const SharedValues *shared, NodeId node,
			  const Ix *const *axes)
{
	uint32_t naxes = shape_naxes(tables_shape(t, node));
	for (size_t i = 0; i < shared->n; i++) {
		const SharedValue *own = &shared->at[i];
		bool same = own->node == node;
		for (uint32_t axis = 0; axis < naxes && same; axis++)
			same = ix_same(own->axes[axis], axes[axis]);
		if (same)
			return own->value;
	}
	return NULL;
}

/* ---- indices of operands ---- */

const Ix *expression_as_index(Arena *arena, const Value *value)
{
	if (!dtype_is_integer(value->dtype))
		value = value_cast(arena, DTYPE_I32, value);
	return ix_value(arena, value);
}

static const Ix *gathered_index(const NodeReader *r, NodeId node, const Piece *piece, int32_t arg,
				const Ix *const *by_iter)
{
	NodeId ids = tables_node(r->tables, node)->args[arg];
	const Ix **axes = expression_indices(r, node, piece, &piece->args[arg], by_iter);
	return expression_as_index(r->program->arena, r->read(r->of, ids, axes));
}

static const Ix *affine_index(Program *program, const Index *index, const Ix *const *by_iter)
{
	const Ix *sum = ix_size(program->arena, index->offset);
	for (uint32_t t = index->nterms; t-- > 0;) {
		const IndexTerm *term = &index->terms[t];
		sum = ix_times_plus(program, by_iter[term->iter], term->coef, sum);
	}
	return sum;
}

const Ix *expression_index(const NodeReader *r, NodeId node, const Piece *piece, const Index *index,
			   const Ix *const *by_iter)
{
	return index->gather >= 0 ? gathered_index(r, node, piece, index->gather, by_iter)
				  : affine_index(r->program, index, by_iter);
}

/* Elements of an axis of what the piece accesses there. */
static Size axis_size(const NodeReader *r, NodeId node, const Piece *piece, const Access *access,
		      uint32_t axis)
{
	const Node *reader = tables_node(r->tables, node);
	for (uint32_t i = 0; i < reader->nargs; i++)
		if (access == &piece->args[i])
			node = reader->args[i];
	return shape_axis(tables_shape(r->tables, node), axis)->size;
}

const Ix **expression_indices(const NodeReader *r, NodeId node, const Piece *piece,
			      const Access *access, const Ix *const *by_iter)
{
	const Ix **axes = ARENA_ARRAY(r->program->arena, const Ix *, access->naxes + 1);
	for (uint32_t i = 0; i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		axes[i] = expression_index(r, node, piece, index, by_iter);
		bool clamps = r->clamps && index->guarded;
		if (index->gather >= 0 || clamps)
			axes[i] = index_in_axis(r->program, axes[i],
						clamps ? INDEX_CLAMPED : index->mode,
						axis_size(r, node, piece, access, i));
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
static const Value *truth(Arena *arena, const Value *value, Dtype dtype)
{
	value = without_test(value);
	if (!dtype_is_float(value->dtype) && dtype_is_float(dtype))
		return value_cast(arena, dtype, value);
	value = value_cast(arena, dtype_wide(value->dtype), value);
	if (value->dtype == dtype)
		return value;
	const Value *zero = value_number(arena, value->dtype, 0);
	return value_cast(arena, dtype, value_binary(arena, OP_NE, value, zero));
}

static const Value *apply(Arena *arena, const Node *node, Op op, const Value *const *args,
			  uint32_t nargs)
{
	Dtype dtype = compute_dtype(node, op, args, nargs);
	const Value *same[3];
	for (uint32_t i = 0; i < nargs; i++)
		same[i] = op == OP_WHERE && i == 0 ? truth(arena, args[i], dtype)
						   : value_cast(arena, dtype, args[i]);
	return value_cast(arena, node->dtype, value_op(arena, op, dtype, same, nargs));
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

/* What a node's operation makes of the operands that are present; of more than it takes, the first two,
 * then that and the third. */
static const Value *combine(Arena *arena, const Node *node, const Value *const *args,
			    uint32_t nargs)
{
	Op op = operation_of(node);
	if (op == OP_ID || (nargs == 1 && op_arity(op) != 1))
		return value_cast(arena, node->dtype, args[0]);
	if ((uint32_t)op_arity(op) == nargs)
		return apply(arena, node, op, args, nargs);
	REQUIRE(op_arity(op) == 2 && nargs > 2);
	const Value *value = args[0];
	for (uint32_t i = 1; i < nargs; i++)
		value = apply(arena, node, op, (const Value *[]){value, args[i]}, 2);
	return value;
}

/* The operation's place, for debuggers. */
static const Value *placed(Arena *arena, const Node *node, const Value *value)
{
	if (value->kind != VALUE_OP || !span_is_none(value->span))
		return value;
	Value *copy = value_copy(arena, value);
	copy->span = node->span;
	return copy;
}

const Value *expression_of_piece(const NodeReader *r, NodeId id, const Piece *piece,
				 const Ix *const *by_iter)
{
	const Node *node = tables_node(r->tables, id);
	Arena *arena = r->program->arena;
	const Value *args[OPERANDS_MOST];
	uint32_t nargs = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool index_only = node_kind_indexes(node->kind) && i > 0;
		if (!piece->args[i].present || index_only)
			continue;
		REQUIRE(nargs < OPERANDS_MOST);
		const Ix **axes = expression_indices(r, id, piece, &piece->args[i], by_iter);
		args[nargs++] = r->read(r->of, node->args[i], axes);
	}
	REQUIRE(nargs > 0);
	return placed(arena, node, combine(arena, node, args, nargs));
}

/* ---- nodes ---- */

static Dtype number_dtype(const Node *node)
{
	return node->dtype == DTYPE_NONE ? DTYPE_F32 : node->dtype;
}

static const Value *number(Arena *arena, const Node *node)
{
	Dtype dtype = number_dtype(node);
	if (node->kind == NODE_ZEROS)
		return value_number(arena, dtype, 0);
	Scalar value = node->is_integer
			       ? scalar_convert((Scalar){.i = node->integer}, DTYPE_I64, dtype)
			       : scalar_of(dtype, node->number);
	return value_const(arena, dtype, value);
}

static const Value *size_number(const NodeReader *r, const Node *node)
{
	Arena *arena = r->program->arena;
	Dtype dtype = number_dtype(node);
	Size size = infer_size(r->tables->inference, node->size_expr);
	int64_t constant = 0;
	if (size_is_bad(size))
		diag(r->tables->diags, E0347, node->span, "this size is too large: %s",
		     sizes_limit_text(r->program->sizes));
	if (size_is_bad(size) || size_is_const(r->program->sizes, size, &constant))
		return value_const(arena, dtype,
				   scalar_convert((Scalar){.i = constant}, DTYPE_I64, dtype));
	return value_index(arena, dtype, ix_size(arena, size));
}

static const Value *scalar(const NodeReader *r, const Node *node)
{
	Arena *arena = r->program->arena;
	Dtype dtype = r->tables->routine->scalars[node->scalar_index].dtype;
	return value_cast(arena, node->dtype, value_scalar(arena, dtype, node->scalar_index));
}

const Ix **expression_iters(const NodeReader *r, NodeId id, const Ix *const *axes)
{
	const Proj *proj = tables_proj(r->tables, id);
	REQUIRE(proj && proj->npieces == 1);
	const Access *result = &proj->pieces[0].result;
	const Ix **by_iter = ARENA_ARRAY(r->program->arena, const Ix *, proj->niters + 1);
	for (uint32_t i = 0; i < result->naxes; i++)
		if (result->axes[i].nterms == 1) {
			const IndexTerm *term = &result->axes[i].terms[0];
			const Ix *step = ix_const(r->program, term->coef);
			by_iter[term->iter] = ix_binary(r->program, IX_DIV, axes[i], step);
		}
	return by_iter;
}

/* ---- elements some apart ---- */

/* Is the index the axis's offset and a multiple of its step? NULL: it is, whatever iterators are; *never: it is not. */
static const Value *phase_test(const NodeReader *r, const Index *index, const Ix *at, bool *never)
{
	Program *program = r->program;
	int64_t step = index->nterms ? index->terms[0].coef : 1;
	const Ix *rest = ix_binary(program, IX_MOD, at, ix_const(program, step));
	if (step == 1 || rest->kind == IX_SIZE) {
		*never |= step > 1 && !size_same(rest->size, index->offset);
		return NULL;
	}
	const Value *ends[] = {
		value_index(program->arena, DTYPE_I64, rest),
		value_index(program->arena, DTYPE_I64, ix_size(program->arena, index->offset))};
	return value_op(program->arena, OP_EQ, DTYPE_I64, ends, 2);
}

/* The one piece at an index an axis, or what the reduction begins with where no step writes. */
static const Value *expression_of_element(const NodeReader *r, NodeId id, const Ix *const *axes)
{
	const Node *node = tables_node(r->tables, id);
	const Piece *piece = &tables_proj(r->tables, id)->pieces[0];
	Arena *arena = r->program->arena;
	const Value *neutral =
		value_const(arena, node->dtype, op_neutral(node_reduce_op(node), node->dtype));
	const Value **tests = ARENA_ARRAY(arena, const Value *, piece->result.naxes + 1);
	bool never = false;
	for (uint32_t i = 0; i < piece->result.naxes; i++)
		tests[i] = phase_test(r, &piece->result.axes[i], axes[i], &never);
	if (never)
		return neutral;
	const Value *value = expression_of_piece(r, id, piece, expression_iters(r, id, axes));
	for (uint32_t i = 0; i < piece->result.naxes; i++)
		if (tests[i])
			value = value_where(arena, tests[i], value, neutral);
	return value;
}

const Value *expression_of_node(const NodeReader *r, NodeId id, const Ix *const *axes)
{
	const Node *node = tables_node(r->tables, id);
	const Shape *shape = tables_shape(r->tables, id);
	Arena *arena = r->program->arena;
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_ZEROS: return number(arena, node);
	case NODE_SIZE: return size_number(r, node);
	case NODE_SCALAR: return scalar(r, node);
	case NODE_RANGE: return value_index(arena, node->dtype, axes[0]);
	case NODE_OFFSETS:
		return value_index(arena, node->dtype, tables_flatten(r->program, shape, axes));
	case NODE_RANDOM:
		return expression_of_stream(r, id, tables_flatten(r->program, shape, axes));
	case NODE_CONST:
		if (node->data->count == 1)
			return value_const(arena, node->dtype,
					   scalar_read(node->dtype, node->data->bytes, 0));
		break;
	default: break;
	}
	return expression_of_element(r, id, axes);
}
