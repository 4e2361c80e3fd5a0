/* Operands of elementwise operations over a short last axis, written out along it or beside it.
 *
 *   y[i, g, c] = x[i, g, c] - m[g]                 4 channels c in each of 32 groups g
 *   y[i, w, c] = x[i, w, c] - m[c]                 3 colours c of 224 places w
 * have as many neighbours in a row as there are c; with
 *   wide_m[g, c] = m[g]                            wide_m[w, c] = m[c]
 *   y[i, g, c] = x[i, g, c] - wide_m[g, c]
 * lanes run along both axes. It pays where what is written out is read for many i, and no epilogue
 * of a contraction reads it, whose lanes are others.
 */
#include "sums/sums.h"
#include "tensor/split.h"

enum { ROUNDS_LEAST = 8 }; /* that read it again, where they are known */
enum { CHAIN_MOST = 8 };   /* operations behind a contraction */

typedef struct Materialize {
	const TensorProgram *program;
	const Proj *proj; /* of the operation */
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

static bool has_iter(const Materialize *e, int64_t iter)
{
	for (uint32_t axis = 0; axis < e->arg->naxes; axis++)
		if (axis_iter(e, e->arg, axis) == iter)
			return true;
	return false;
}

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
	e->along = own == e->before;
	return ((e->along && !has_iter(e, e->last)) ||
		(own == e->last && !has_iter(e, e->before))) &&
	       is_read_again(e, lanes);
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

static NodeId add_expanded(Split *g, const Materialize *e, const Access *access, const Node *node,
			   uint32_t arg)
{
	const Node *operand = &g->graph->nodes.at[node->args[arg]];
	Proj *proj = split_proj(e->program, e->proj, access, &e->arg, 1);
	Node wide = *node;
	proj->surjective = true;
	proj->injective = true;
	wide.kind = NODE_SPEC;
	wide.op = OP_ID;
	wide.reduce = OP_NONE;
	wide.dtype = operand->dtype;
	wide.name = operand->name;
	return split_first(g, &wide, "broadcast", &node->args[arg], 1, shape_of(e, access), proj);
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

Proj *materialize_args(Split *g, NodeId id, Node *node)
{
	const TensorProgram *program = g->program;
	Proj *proj = program->inference->projs[id];
	if (node->kind != NODE_POINTWISE || !node->used || node->target != NODE_NONE || !proj ||
	    proj->linear || proj->npieces != 1 || follows_contraction(program, id, CHAIN_MOST))
		return proj;
	for (uint32_t arg = 0; arg < node->nargs; arg++) {
		Materialize e = {.program = program,
				 .proj = proj,
				 .arg = &proj->pieces[0].args[arg],
				 .result = &proj->pieces[0].result};
		if (!suits(&e, node->dtype))
			continue;
		Access access = expanded(&e);
		node->args[arg] = add_expanded(g, &e, &access, node, arg);
		proj = with_access(program, proj, arg, access);
	}
	return proj;
}
