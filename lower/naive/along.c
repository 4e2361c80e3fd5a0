/* What goes along an axis, line by line:
 *
 *   cumulate   for R: { acc = neutral; for t: { acc += x[R, t]; y[R, t] = acc } }
 *              exclusive: y[R, t] = acc stands first; reverse: t runs from the last to the first
 *   sort       for R, t: { rank = 0
 *                          for u in 0..t:   rank += 1 where x[R, t] is not before x[R, u]
 *                          for u in t+1..n: rank += 1 where x[R, u] is before x[R, t]
 *                          if rank < k: y[R, rank] = x[R, t], or t }
 *
 * a is before b where a < b, or where b alone is no number; equal elements stay in their order. So
 * each rank is taken once, and is below n, which is what the minimum at the store says.
 */
#include "lower/naive/builder.h"

typedef struct Line {
	Builder *b;
	NodeId id;
	const Node *node;
	const Proj *proj;
	const Piece *piece;
	NodeReader reader;
	AlongIters along;
	const Ix **iters;  /* by IterId */
	IterVar *vars;	   /* by IterId: of the axes beside */
	Size extent, results; /* of the operand's axis, and the result's */
	BufferId to;
} Line;

static Line line_of(Builder *b, NodeId id, BufferId to)
{
	const Proj *proj = tables_proj(b->t, id);
	Line l = {.b = b,
		  .id = id,
		  .node = tables_node(b->t, id),
		  .proj = proj,
		  .piece = &proj->pieces[0],
		  .reader = build_reader(b, NULL),
		  .along = proj_along(proj),
		  .to = to};
	Size one = size_const(b->program->sizes, 1);
	l.iters = ARENA_ARRAY(b->arena, const Ix *, proj->niters + 1);
	l.vars = ARENA_ARRAY(b->arena, IterVar, proj->niters + 1);
	l.extent = l.along.from == UINT32_MAX ? one : proj->iters[l.along.from].extent;
	l.results = l.along.to == UINT32_MAX ? one : proj->iters[l.along.to].extent;
	for (uint32_t i = 0; i < l.piece->niters; i++) {
		IterId iter = l.piece->iters[i];
		if (iter == l.along.from || iter == l.along.to)
			continue;
		l.vars[iter] = build_iter(b, proj->iters[iter].name);
		l.iters[iter] = ix_iter(b->arena, l.vars[iter]);
	}
	return l;
}

/* The operand's element at a place along the axis. */
static const Value *element(const Line *l, const Ix *at)
{
	if (l->along.from != UINT32_MAX)
		l->iters[l->along.from] = at;
	const Ix **axes =
		expression_indices(&l->reader, l->id, l->piece, &l->piece->args[0], l->iters);
	return element_at(l->b, l->node->args[0], axes);
}

static const Stmt *store(const Line *l, const Ix *at, const Value *value)
{
	if (l->along.to != UINT32_MAX)
		l->iters[l->along.to] = at;
	const Ix **axes =
		expression_indices(&l->reader, l->id, l->piece, &l->piece->result, l->iters);
	return build_store(l->b, l->to, storage_index(l->b, l->id, axes), OP_NONE, value);
}

/* The body in the loops of the axes beside. */
static void finish(const Line *l, Body *body)
{
	for (uint32_t i = l->piece->niters; i-- > 0;) {
		IterId iter = l->piece->iters[i];
		if (iter != l->along.from && iter != l->along.to)
			build_wrap(l->b, body, l->vars[iter], l->proj->iters[iter].extent);
	}
	for (size_t i = 0; i < body->stmts.n; i++)
		build_add(l->b, &l->b->top, body->stmts.at[i]);
}

static Sym axis_name(const Line *l)
{
	return l->along.to == UINT32_MAX ? l->node->along.letter : l->proj->iters[l->along.to].name;
}

void along_cumulate(Builder *b, NodeId id, BufferId to)
{
	Line l = line_of(b, id, to);
	Program *program = b->program;
	Body step = {0}, line = {0};
	IterVar var = build_iter(b, axis_name(&l));
	const Ix *at = ix_iter(b->arena, var);
	const Ix *last = ix_size(b->arena, size_plus(program->sizes, l.extent, -1));
	if (l.node->along.reverse)
		at = ix_minus(program, last, at);
	LocalId acc = build_local(b, "acc", l.node->dtype);
	const Value *value = value_cast(b->arena, l.node->dtype, element(&l, at));
	const Stmt *result = store(&l, at, build_read(b, acc));
	if (l.node->along.exclusive)
		build_add(b, &step, result);
	build_add(b, &step, stmt_set(b->arena, acc, l.node->reduce, value));
	if (!l.node->along.exclusive)
		build_add(b, &step, result);
	build_wrap(b, &step, var, l.extent);
	Scalar neutral = op_neutral(l.node->reduce, l.node->dtype);
	build_add(b, &line,
		  stmt_local(b->arena, acc, value_const(b->arena, l.node->dtype, neutral)));
	build_add(b, &line, step.stmts.at[0]);
	finish(&l, &line);
}

/* ---- sort ---- */

/* 1 where x stands before y. */
static const Value *before(const Line *l, const Value *x, const Value *y)
{
	const Builder *b = l->b;
	const Value *less = value_binary(b->arena, l->node->along.descending ? OP_GT : OP_LT, x, y);
	if (!dtype_is_float(x->dtype))
		return less;
	const Value *alone = value_binary(b->arena, OP_AND, value_binary(b->arena, OP_EQ, x, x),
					  value_binary(b->arena, OP_NE, y, y));
	return value_binary(b->arena, OP_OR, less, alone);
}

/* rank += 1 for all u in [lo, hi) whose elements come before. */
static const Stmt *count(const Line *l, LocalId rank, const Value *own, const Ix *lo, const Ix *hi,
			 bool behind)
{
	Builder *b = l->b;
	IterVar u = build_iter(b, axis_name(l));
	const Value *other = value_cast(b->arena, own->dtype, element(l, ix_iter(b->arena, u)));
	const Value *is = behind ? before(l, other, own) : before(l, own, other);
	const Value *one = value_number(b->arena, own->dtype, 1),
		    *none = value_number(b->arena, own->dtype, 0);
	const Value *n = behind ? value_where(b->arena, is, one, none)
				: value_where(b->arena, is, none, one);
	Body body = {0};
	build_add(b, &body, stmt_set(b->arena, rank, OP_ADD, value_cast(b->arena, DTYPE_I32, n)));
	return stmt_for(b->arena, u, lo, hi, body_block(&body));
}

/* y[R, rank] = x[R, t], or t, where that is among the first. */
static void place(const Line *l, LocalId rank, const Value *value, Body *body)
{
	Builder *b = l->b;
	Program *program = b->program;
	const Ix *at = ix_value(b->arena, build_read(b, rank)), *none = build_const(b, 0);
	const Ix *results = ix_size(b->arena, l->results);
	const Ix *last = ix_size(b->arena, size_plus(program->sizes, l->results, -1));
	Cond *conds = ARENA_ARRAY(b->arena, Cond, 2);
	conds[0] = (Cond){COND_LT, none, results};
	conds[1] = (Cond){COND_LT, at, results};
	Body inner = {0};
	at = ix_binary(program, IX_MIN, ix_binary(program, IX_MAX, at, none), last);
	build_add(b, &inner, store(l, at, value));
	build_add(b, body, stmt_if(b->arena, conds, 2, body_block(&inner)));
}

void along_sort(Builder *b, NodeId id, BufferId to)
{
	Line l = line_of(b, id, to);
	Program *program = b->program;
	Body step = {0};
	IterVar var = build_iter(b, axis_name(&l));
	const Ix *at = ix_iter(b->arena, var);
	LocalId rank = build_local(b, "rank", DTYPE_I32);
	const Value *own = element(&l, at);
	const Value *wide = value_cast(b->arena, dtype_wide(own->dtype), own);
	const Value *value = l.node->along.ids ? value_index(b->arena, l.node->dtype, at) : own;
	build_add(b, &step, stmt_local(b->arena, rank, value_number(b->arena, DTYPE_I32, 0)));
	build_add(b, &step, count(&l, rank, wide, build_const(b, 0), at, false));
	build_add(b, &step,
		  count(&l, rank, wide, ix_add(program, at, build_const(b, 1)),
			ix_size(b->arena, l.extent), true));
	place(&l, rank, value, &step);
	build_wrap(b, &step, var, l.extent);
	finish(&l, &step);
}
