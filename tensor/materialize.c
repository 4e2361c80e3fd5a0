/* Operands of elementwise operations that are written out in other axes than their own.
 *
 * Over a short last axis, along it or beside it:
 *
 *   y[i, g, c] = x[i, g, c] - m[g]                 4 channels c in each of 32 groups g
 *   y[i, w, c] = x[i, w, c] - m[c]                 3 colours c of 224 places w
 * have as many neighbours in a row as there are c; with
 *   broadcast_m[g, c] = m[g]                       broadcast_m[w, c] = m[c]
 *   y[i, g, c] = x[i, g, c] - broadcast_m[g, c]
 * lanes run along both axes. It pays where what is written out is read for many i, and no epilogue
 * of a contraction reads it, whose lanes are others.
 *
 * Of a function of parameters that a product reads, with the product's columns o last:
 *
 *   y[n, o] += (w[o, g, k] - z[o, g]) * x[n, g, k]       transpose_z[g, o] = z[o, g]
 *
 * Then w alone lies otherwise, and can have panels (lower/tile/choose_pack.c).
 */
#include "sums/sums.h"
#include "tensor/split.h"

enum { ROUNDS_LEAST = 8 }; /* that read it again, where they are known */
enum { CHAIN_MOST = 8 };   /* operations behind a contraction */

typedef struct Materialize {
	const TensorProgram *program;
	const Node *node; /* the operation, with operands of new numbers */
	const Proj *proj; /* of it */
	const Access *arg, *result;
	int64_t before, last; /* iterators of the result's last two axes */
	bool along;	      /* the operand has the one before the last alone; else the last alone */
} Materialize;

/* ---- whether ---- */

/* The iterator that an axis is, by itself; -1: it is none. */
static int64_t axis_iter(const Materialize *e, const Access *access, uint32_t axis)
{
	const Index *index = &access->axes[axis];
	bool plain = index->nterms == 1 && index->gather < 0 && !index->guarded &&
		     index->terms[0].coef == 1 && size_is(e->program->sizes, index->offset, 0);
	return plain ? (int64_t)index->terms[0].iter : -1;
}

/* How many axes of the operand it is. */
static uint32_t count_iter(const Materialize *e, int64_t iter)
{
	uint32_t n = 0;
	for (uint32_t axis = 0; axis < e->arg->naxes; axis++)
		n += axis_iter(e, e->arg, axis) == iter;
	return n;
}

static bool has_iter(const Materialize *e, int64_t iter) { return count_iter(e, iter) > 0; }

/* The last axis of the operand that is more than one element; -1: there is none, or an axis that is
 * no iterator. */
static int64_t last_iter(const Materialize *e)
{
	int64_t last = -1;
	for (uint32_t axis = 0; axis < e->arg->naxes; axis++) {
		const Index *index = &e->arg->axes[axis];
		int64_t iter = axis_iter(e, e->arg, axis);
		if (iter >= 0)
			last = iter;
		else if (index->nterms > 0 || index->gather >= 0 ||
			 !size_is(e->program->sizes, index->offset, 0))
			return -1;
	}
	return last;
}

/* Are there fewer elements than `lanes`, and more than one? */
static bool is_short_axis(const Materialize *e, int64_t iter, int64_t lanes)
{
	int64_t n;
	return size_is_const(e->program->sizes, e->proj->iters[iter].extent, &n) && n > 1 &&
	       n < lanes;
}

/* Do iterators of neither the operand nor the last two axes read it many times? Dims may be one:
 * then half a line of neighbours is as good as what is written out. */
static bool is_read_again(const Materialize *e, int64_t lanes)
{
	int64_t rounds = 1, n;
	bool dims = false;
	for (uint32_t axis = 0; axis + 2 < e->result->naxes; axis++) {
		int64_t iter = axis_iter(e, e->result, axis);
		if (iter < 0 || has_iter(e, iter))
			continue;
		if (!size_is_const(e->program->sizes, e->proj->iters[iter].extent, &n))
			dims = true;
		else
			rounds = n < ROUNDS_LEAST ? rounds * n : ROUNDS_LEAST;
	}
	return rounds >= ROUNDS_LEAST || (dims && is_short_axis(e, e->last, lanes / 2));
}

static bool suits(Materialize *e, Dtype dtype)
{
	uint32_t n = e->result->naxes;
	int64_t lanes = SUM_LANES_BYTES / (int64_t)dtype_bytes(dtype);
	if (!e->arg->present || n < 2 || e->proj->niters > SPLIT_ITERS)
		return false;
	e->last = axis_iter(e, e->result, n - 1);
	e->before = axis_iter(e, e->result, n - 2);
	if (e->last < 0 || e->before < 0 || !is_short_axis(e, e->last, lanes))
		return false;
	int64_t own = last_iter(e);
	e->along = own == e->before && !has_iter(e, e->last);
	bool last = own == e->last && !has_iter(e, e->before) && count_iter(e, e->last) == 1;
	return (e->along || last) && is_read_again(e, lanes);
}

/* Is it a contraction, or what follows one element by element? */
static bool follows_contraction(const TensorProgram *program, NodeId id, uint32_t depth)
{
	const Node *node = tensor_node(program, id);
	const Proj *proj = tensor_proj(program, id);
	if (!proj || depth == 0 || proj_reduces(proj))
		return proj && proj_reduces(proj) && node->nargs > 1;
	bool follows = false;
	for (uint32_t i = 0; i < node->nargs && node->kind != NODE_SPEC; i++)
		follows |= follows_contraction(program, node->args[i], depth - 1);
	return follows;
}

/* ---- what is written out ---- */

/* Its axes: the operand's, without those of one element, and the one that it does not have. */
static Access expanded(const Materialize *e)
{
	Access access = {true, ARENA_ARRAY(e->program->arena, Index, e->arg->naxes + 1), 0};
	uint32_t n = e->result->naxes;
	for (uint32_t axis = 0; axis < e->arg->naxes; axis++) {
		int64_t iter = axis_iter(e, e->arg, axis);
		if (iter == e->last)
			access.axes[access.naxes++] = e->result->axes[n - 2];
		if (iter >= 0)
			access.axes[access.naxes++] = e->arg->axes[axis];
	}
	if (e->along)
		access.axes[access.naxes++] = e->result->axes[n - 1];
	return access;
}

static Shape shape_of(const Materialize *e, const Access *access)
{
	Shape shape = {0};
	Row *row = &shape.rows[ROW_OUTPUT];
	row->axes = ARENA_ARRAY(e->program->arena, Axis, access->naxes);
	for (; row->n < access->naxes; row->n++)
		row->axes[row->n] = (Axis){
			.size = e->proj->iters[access->axes[row->n].terms[0].iter].extent};
	return shape;
}

static Proj *moving_proj(const Materialize *e, const Access *to, const Access *from)
{
	Proj *proj = split_proj(e->program, e->proj, to, &from, 1);
	proj->surjective = true;
	proj->injective = true;
	return proj;
}

/* The elements of a node, of new numbers, that the operand's axes say, in other axes. */
static NodeId add_copy(Rebuild *g, const Materialize *e, const Access *access, NodeId of,
		       const char *prefix)
{
	const Node *operand = &g->graph->nodes.at[of];
	Node copy = *e->node;
	copy.kind = NODE_SPEC;
	copy.op = OP_ID;
	copy.reduce = OP_NONE;
	copy.dtype = operand->dtype;
	copy.name = operand->name;
	return split_first(g, &copy, prefix, &of, 1, shape_of(e, access),
			   moving_proj(e, access, e->arg));
}

/* ---- operations ---- */

/* The projection with another access of one operand. */
static Proj *with_access(const TensorProgram *program, const Proj *old, uint32_t arg, Access access)
{
	Proj *proj = ARENA_NEW(program->arena, Proj);
	Piece *piece = ARENA_NEW(program->arena, Piece);
	*proj = *old;
	*piece = old->pieces[0];
	proj->pieces = piece;
	piece->args = ARENA_ARRAY(program->arena, Access, proj->nargs);
	for (uint32_t i = 0; i < proj->nargs; i++)
		piece->args[i] = i == arg ? access : old->pieces[0].args[i];
	return proj;
}

/* ---- operands of a product's operand ---- */

enum { TRANSPOSED_LEAST = 2048 }; /* elements: of fewer no copy is in the state */

/* What a node of new numbers is, before it was cast. */
static NodeId before_cast(const Rebuild *g, NodeId id)
{
	const Node *node = &g->graph->nodes.at[id];
	return node->kind == NODE_CAST ? node->args[0] : id;
}

/* The operand's access of what a node of new numbers only reads in other axes, or as a wider type; false: it is no such
 * node. */
static bool access_through(const Rebuild *g, const Materialize *e, NodeId id, Access *through)
{
	const Node *node = &g->graph->nodes.at[id];
	const Proj *proj = g->inference->projs[id];
	if (node->kind != NODE_SPEC || node->op != OP_ID || node->nargs != 1 || !proj ||
	    proj->npieces != 1 || proj->linear || proj_reduces(proj) || !e->arg->present ||
	    !proj->pieces[0].args[0].present ||
	    node->dtype != dtype_wide(g->graph->nodes.at[node->args[0]].dtype))
		return false;
	const Access *from = &proj->pieces[0].args[0], *to = &proj->pieces[0].result;
	*through = (Access){true, ARENA_ARRAY(e->program->arena, Index, from->naxes + 1), 0};
	for (uint32_t axis = 0; axis < from->naxes; axis++) {
		int64_t iter = axis_iter(e, from, axis);
		for (uint32_t at = 0; at < to->naxes && through->naxes == axis && iter >= 0; at++)
			if (axis_iter(e, to, at) == iter)
				through->axes[through->naxes++] = e->arg->axes[at];
		if (through->naxes == axis)
			return false;
	}
	return true;
}

/* Is the operand a parameter that is stored as another type than it is computed in? Others are computed when the state
 * is packed. */
static bool is_stored_narrow(const Rebuild *g, NodeId id)
{
	const Node *node = &g->graph->nodes.at[before_cast(g, id)];
	return node->kind == NODE_PARAM && dtype_wide(node->dtype) != node->dtype;
}

/* The first node that reads the old one, and which of its operands that is. */
static NodeId first_user(const TensorProgram *program, NodeId id, uint32_t *arg)
{
	for (NodeId user = id + 1; user < program->graph->nodes.n; user++) {
		const Node *node = tensor_node(program, user);
		for (*arg = 0; *arg < node->nargs; ++*arg)
			if (node->args[*arg] == id)
				return user;
	}
	return NODE_NONE;
}

static bool is_product_sum(const TensorProgram *program, NodeId id)
{
	const Node *node = tensor_node(program, id);
	const Proj *proj = tensor_proj(program, id);
	return (node->kind == NODE_SPEC || node->kind == NODE_COMPOSE) && proj &&
	       proj->npieces == 1 && !proj->linear && proj_reduces(proj) && node->nargs == 2;
}

/* Which axis of the old node are the columns of the product that reads it, as it is or cast: the product's last axis; -1:
 * no product reads it first, or that axis is not the node's. */
static int64_t column_axis(const TensorProgram *program, NodeId id)
{
	uint32_t arg;
	NodeId user = first_user(program, id, &arg);
	while (user != NODE_NONE && tensor_node(program, user)->kind == NODE_CAST)
		user = first_user(program, user, &arg);
	if (user == NODE_NONE || !is_product_sum(program, user))
		return -1;
	const Piece *piece = &tensor_proj(program, user)->pieces[0];
	Materialize e = {.program = program, .arg = &piece->args[arg], .result = &piece->result};
	int64_t col = piece->result.naxes == 0
			      ? -1
			      : axis_iter(&e, &piece->result, piece->result.naxes - 1);
	for (uint32_t axis = 0; col >= 0 && axis < e.arg->naxes; axis++)
		if (axis_iter(&e, e.arg, axis) == col)
			return axis;
	return -1;
}

/* Is the operand read again for each of eight elements or more, and no row of memory along the columns? */
static bool suits_columns(const Materialize *e, int64_t col)
{
	int64_t elements = 1, rounds = 1, n;
	if (!e->arg->present || last_iter(e) < 0 || last_iter(e) == col || !has_iter(e, col))
		return false;
	for (uint32_t axis = 0; axis < e->result->naxes; axis++) {
		int64_t iter = axis_iter(e, e->result, axis);
		if (iter < 0 || !size_is_const(e->program->sizes, e->proj->iters[iter].extent, &n))
			return false;
		int64_t *product = has_iter(e, iter) ? &elements : &rounds;
		if (__builtin_mul_overflow(*product, n, product))
			return false;
	}
	return elements >= TRANSPOSED_LEAST && rounds >= ROUNDS_LEAST;
}

/* The operand's axes of more than one element, that of the columns last. */
static Access columns_last(const Materialize *e, int64_t col)
{
	Access access = {true, ARENA_ARRAY(e->program->arena, Index, e->arg->naxes + 1), 0};
	for (int last = 0; last < 2; last++)
		for (uint32_t axis = 0; axis < e->arg->naxes; axis++) {
			int64_t iter = axis_iter(e, e->arg, axis);
			if (iter >= 0 && (iter == col) == last)
				access.axes[access.naxes++] = e->arg->axes[axis];
		}
	return access;
}

/* Copies the parameter of which the operand has elements, in its order or another, with the columns last, and casts
 * the copy where the operand is a cast; false: there is no such parameter, or its rows lie along the columns. */
static bool transpose(Rebuild *g, Materialize *e, int64_t col, NodeId *operand, Access *access)
{
	const Node cast = g->graph->nodes.at[*operand];
	NodeId from = before_cast(g, *operand);
	Access through;
	if (access_through(g, e, from, &through)) {
		e->arg = &through;
		from = g->graph->nodes.at[from].args[0];
	}
	if (g->graph->nodes.at[from].kind != NODE_PARAM || !suits_columns(e, col))
		return false;
	*access = columns_last(e, col);
	*operand = add_copy(g, e, access, from, "transpose");
	if (cast.kind == NODE_CAST)
		*operand = split_first(g, &cast, "cast", operand, 1, shape_of(e, access),
				       moving_proj(e, access, access));
	return true;
}

/* ---- both ---- */

/* Writes an operand out where that is better, and says how it is read then. */
static bool write_out(Rebuild *g, Materialize *e, int64_t col, NodeId *operand, Access *access)
{
	if (suits(e, e->node->dtype)) {
		*access = expanded(e);
		*operand = add_copy(g, e, access, *operand, "broadcast");
		return true;
	}
	return col >= 0 && transpose(g, e, col, operand, access);
}

/* The iterator of the columns of a product that reads the operation, where an operand is a parameter of a type of
 * storage; -1: there is none. */
static int64_t column_iter(const Rebuild *g, NodeId id, const Node *node, const Proj *proj)
{
	bool narrow = false;
	for (uint32_t arg = 0; arg < node->nargs; arg++)
		narrow |= is_stored_narrow(g, node->args[arg]);
	int64_t axis = narrow && node->nargs == 2 ? column_axis(g->program, id) : -1;
	const Materialize e = {.program = g->program, .proj = proj};
	return axis < 0 ? -1 : axis_iter(&e, &proj->pieces[0].result, (uint32_t)axis);
}

Proj *materialize_args(Rebuild *g, NodeId id, Node *node)
{
	const TensorProgram *program = g->program;
	Proj *proj = program->inference->projs[id];
	if (node->kind != NODE_POINTWISE || !node->used || node->target != NODE_NONE || !proj ||
	    proj->linear || proj->npieces != 1 || follows_contraction(program, id, CHAIN_MOST))
		return proj;
	int64_t col = column_iter(g, id, node, proj);
	for (uint32_t arg = 0; arg < node->nargs; arg++) {
		Access access;
		Materialize e = {.program = program,
				 .node = node,
				 .proj = proj,
				 .arg = &proj->pieces[0].args[arg],
				 .result = &proj->pieces[0].result};
		if (write_out(g, &e, col, &node->args[arg], &access))
			proj = with_access(program, proj, arg, access);
	}
	return proj;
}
