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
		if (index->gather >= 0)
			axes[i] = index_in_axis(gen->program, axes[i], index->mode,
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
	const Value *zero = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
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
	Value *copy = ARENA_NEW(gen->arena, Value);
	*copy = *value;
	copy->span = node->span;
	return copy;
}

const Value *piece_value(Gen *gen, NodeId id, const Piece *piece, const Ix *const *by_iter)
{
	const Node *node = lower_node(gen->lower, id);
	const Value *args[3];
	uint32_t nargs = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool index_only = node_kind_indexes(node->kind) && i > 0;
		if (!piece->args[i].present || index_only)
			continue;
		REQUIRE(nargs < 3);
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
		return value_const(gen->arena, dtype, scalar_of(dtype, 0));
	Scalar value = node->is_integer
			       ? scalar_convert((Scalar){.i = node->integer}, DTYPE_I64, dtype)
			       : scalar_of(dtype, node->number);
	return value_const(gen->arena, dtype, value);
}

static const Value *size_value(Gen *gen, const Node *node)
{
	Dtype dtype = node->dtype == DTYPE_NONE ? DTYPE_F32 : node->dtype;
	Size size = tensor_size(gen->lower->inference, node->size_expr);
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
	return piece_value(gen, id, &proj->pieces[0], iters_at(gen, proj, axes));
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

/* ---- lines along an axis ---- */

typedef struct LineSource {
	Gen *gen;
	NodeId node;
	const Proj *proj;
	AlongIters along;
	const Ix **by_iter;
	IterId *beside; /* which iterators Lines.beside are */
} LineSource;

static const Ix **line_indices(const Lines *lines, IterId along, const Ix *at, const Access *access)
{
	const LineSource *from = lines->of;
	for (uint32_t i = 0; i < lines->nbeside; i++)
		from->by_iter[from->beside[i]] = lines->beside[i];
	if (along != UINT32_MAX)
		from->by_iter[along] = at;
	return access_indices(from->gen, from->node, &from->proj->pieces[0], access, from->by_iter);
}

static const Value *line_element(const Lines *lines, const Ix *at, Body *body)
{
	const LineSource *from = lines->of;
	const Access *access = &from->proj->pieces[0].args[0];
	SharedLocals shared = {0};
	gen_enter(from->gen, &shared);
	const Ix **axes = line_indices(lines, from->along.from, at, access);
	const Value *value = node_value(
		from->gen, lower_node(from->gen->lower, from->node)->args[0], axes);
	gen_set_shared(from->gen, body, &shared);
	return value;
}

static const Ix *line_cell(const Lines *lines, const Ix *at)
{
	const LineSource *from = lines->of;
	const Access *access = &from->proj->pieces[0].result;
	return flat_index(from->gen, from->node, line_indices(lines, from->along.to, at, access));
}

static IterVar line_iter(void *of, const char *name)
{
	Gen *gen = ((LineSource *)of)->gen;
	return gen_iter(gen, sym_cstr(gen->program->symbols, name));
}

static LocalId line_local(void *of, const char *name, Dtype dtype, uint32_t n)
{
	Gen *gen = ((LineSource *)of)->gen;
	LocalId id = gen_local(gen, name, dtype);
	if (n)
		gen->locals.at[id].extent[gen->locals.at[id].rank++] = n;
	return id;
}

static const Value *line_read(void *of, LocalId local, const Ix *at)
{
	Gen *gen = ((LineSource *)of)->gen;
	const Ix **ixs = ARENA_ARRAY(gen->arena, const Ix *, 1);
	Kernel view = {.locals = gen->locals.at, .nlocals = (uint32_t)gen->locals.n};
	ixs[0] = at;
	return value_local(gen->arena, &view, local, ixs, gen->locals.at[local].rank);
}

static BufferId line_temporary(void *of, const char *name, Dtype dtype, Size elements)
{
	Gen *gen = ((LineSource *)of)->gen;
	Sym unique = lower_unique(gen->lower,
				  sym_printf(gen->program->symbols, "%s_%s", name, gen->name));
	return lower_buffer(gen->lower, (Buffer){.kind = BUFFER_TEMP,
						 .name = unique,
						 .dtype = dtype,
						 .elements = elements});
}

static Size line_extent(const LineSource *from, IterId iter)
{
	return iter == UINT32_MAX ? size_const(from->gen->program->sizes, 1)
				  : from->proj->iters[iter].extent;
}

static void find_beside(LineSource *from, Lines *lines)
{
	Gen *gen = from->gen;
	const Piece *piece = &from->proj->pieces[0];
	from->beside = ARENA_ARRAY(gen->arena, IterId, piece->niters + 1);
	lines->beside = ARENA_ARRAY(gen->arena, const Ix *, piece->niters + 1);
	lines->extents = ARENA_ARRAY(gen->arena, Size, piece->niters + 1);
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		if (iter == from->along.from || iter == from->along.to)
			continue;
		from->beside[lines->nbeside] = iter;
		lines->beside[lines->nbeside] =
			ix_iter(gen->arena, gen_iter(gen, from->proj->iters[iter].name));
		lines->extents[lines->nbeside++] = from->proj->iters[iter].extent;
	}
}

Lines along_lines(Gen *gen, NodeId id, StoreTarget to)
{
	const Node *node = lower_node(gen->lower, id);
	LineSource *from = ARENA_NEW(gen->arena, LineSource);
	REQUIRE(to.acc == OP_NONE);
	*from = (LineSource){.gen = gen, .node = id, .proj = lower_proj(gen->lower, id)};
	from->along = proj_along(from->proj);
	from->by_iter = ARENA_ARRAY(gen->arena, const Ix *, from->proj->niters + 1);
	Lines lines = {.program = gen->program,
		       .arena = gen->arena,
		       .sizes = gen->program->sizes,
		       .of = from,
		       .element = line_element,
		       .cell = line_cell,
		       .iter = line_iter,
		       .local = line_local,
		       .read = line_read,
		       .temporary = line_temporary};
	lines.extent = line_extent(from, from->along.from);
	lines.kept = line_extent(from, from->along.to);
	lines.from = lower_node(gen->lower, node->args[0])->dtype;
	lines.dtype = node->dtype;
	lines.to = to.buffer;
	lines.top = &gen->top;
	lines.reduce = node->reduce;
	lines.exclusive = node->along.exclusive;
	lines.reverse = node->along.reverse;
	lines.descending = node->along.descending;
	lines.ids = node->along.ids;
	find_beside(from, &lines);
	return lines;
}
