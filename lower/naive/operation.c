/* The loops of one operation, from its projection: piece by piece, the result's iterators in the
 * order of the projection and the reduced ones, K, inside them.
 *
 *   each element once      for R: y[R] = value
 *   sum of an element       for R: { acc = neutral; for K: acc += value; y[R] = acc }
 *   sums that scatter   for all elements: y = neutral; for R, K: y[index] += value; an index may be read
 *   greatest            for R: { best, at = -inf, 0; for k: best, at = value, k where greater }
 *   reshape             for e: y[e] = x[e]
 *
 * Terms are added one after another, in the order of the loops, so the last reduced iterator goes
 * fastest; in the node's type, which is wide where anything is added up. An index that may leave
 * its tensor is a condition around the step, which is skipped where it does.
 */
#include "lower/naive/builder.h"

typedef struct Guarded {
	const Index *index;
	Size size; /* of the axis */
} Guarded;

/* A piece of the projection over loops. */
typedef struct Loops {
	Builder *b;
	NodeReader reader;
	NodeId id;
	const Proj *proj;
	const Piece *piece;
	const Ix **iters; /* by IterId: the loop's iterator, or 0 where one iteration is all */
	IterVar *vars;	  /* by IterId */
	const Ix *at;	  /* of the result's element, in storage order */
	VEC(Guarded) guards;
} Loops;

static bool has_loop(const Loops *l, IterId iter)
{
	return !size_is(l->b->program->sizes, l->proj->iters[iter].extent, 1);
}

static void add_guards(Loops *l, const Access *access, NodeId tensor)
{
	const Shape *shape = tables_shape(l->b->t, tensor);
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (access->axes[i].guarded)
			PUSH(l->b->arena, l->guards,
			     ((Guarded){&access->axes[i], shape_axis(shape, i)->size}));
}

static Loops loops_of(Builder *b, NodeId id, const Piece *piece)
{
	const Proj *proj = tables_proj(b->t, id);
	Loops l = {.b = b, .id = id, .proj = proj, .piece = piece};
	l.iters = ARENA_ARRAY(b->arena, const Ix *, proj->niters + 1);
	l.vars = ARENA_ARRAY(b->arena, IterVar, proj->niters + 1);
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		l.iters[iter] = build_const(b, 0);
		if (!has_loop(&l, iter))
			continue;
		l.vars[iter] = build_iter(b, proj->iters[iter].name);
		l.iters[iter] = ix_iter(b->arena, l.vars[iter]);
	}
	l.reader = build_reader(b, NULL);
	l.at = storage_index(b, id,
			     expression_indices(&l.reader, id, piece, &piece->result, l.iters));
	add_guards(&l, &piece->result, id);
	return l;
}

/* The same, and the conditions under which the operands are inside. */
static Loops steps_of(Builder *b, NodeId id, const Piece *piece)
{
	Loops l = loops_of(b, id, piece);
	const Node *node = tables_node(b->t, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		add_guards(&l, &piece->args[i], node->args[i]);
	return l;
}

/* The body where all indices are inside. */
static void guard_body(Loops *l, Body *body)
{
	Arena *arena = l->b->arena;
	if (l->guards.n == 0)
		return;
	Cond *conds = ARENA_ARRAY(arena, Cond, 2 * l->guards.n);
	for (size_t i = 0; i < l->guards.n; i++) {
		const Ix *index = expression_index(&l->reader, l->id, l->piece,
						   l->guards.at[i].index, l->iters);
		const Ix *size = ix_size(arena, l->guards.at[i].size);
		conds[2 * i] = (Cond){COND_LE, build_const(l->b, 0), index};
		conds[2 * i + 1] = (Cond){COND_LT, index, size};
	}
	Block inner = body_block(body);
	*body = (Body){0};
	build_add(l->b, body, stmt_if(arena, conds, 2 * (uint32_t)l->guards.n, inner));
}

/* The body in the loops of the iterators that are reduced, or are not. */
static void wrap(const Loops *l, Body *body, bool reduced)
{
	for (uint32_t i = l->piece->niters; i-- > 0;) {
		IterId iter = l->piece->iters[i];
		if (has_loop(l, iter) && l->proj->iters[iter].reduced == reduced)
			build_wrap(l->b, body, l->vars[iter], l->proj->iters[iter].extent);
	}
}

static void append(Builder *b, const Body *body)
{
	for (size_t i = 0; i < body->stmts.n; i++)
		build_add(b, &b->top, body->stmts.at[i]);
}

/* ---- which form ---- */

/* Do steps meet in an element? Words are only moved. */
static bool adds_up(const Node *node, const Proj *proj)
{
	return node->kind == NODE_SCATTER ||
	       (!proj->injective && node->dtype != DTYPE_U4X32);
}

Scalar operation_neutral(const Node *node)
{
	return node->kind == NODE_ARGMAX ? scalar_of(node->dtype, 0)
					 : op_neutral(node_reduce_op(node), node->dtype);
}

/* Does a step store each element, or a sum that starts with what it stores? */
static bool needs_fill(const Node *node, const Proj *proj)
{
	if (!proj || proj->linear || node->along.letter || node->kind == NODE_RANDOM)
		return false;
	if (node->kind == NODE_ARGMAX)
		return !proj->surjective;
	return adds_up(node, proj) ? !proj_computes_elements(proj)
				   : !proj->surjective || proj_is_guarded(proj);
}

/* ---- the forms ---- */

/* acc NONE: each element once; else sums that scatter. */
static void emit_stores(Builder *b, NodeId id, const Piece *piece, BufferId to, Op acc)
{
	acc = acc == OP_ID ? OP_NONE : acc; /* the last one stays */
	Loops l = steps_of(b, id, piece);
	Body body = {0};
	const Value *value = expression_of_piece(&l.reader, id, piece, l.iters);
	build_add(b, &body, build_store(b, to, l.at, acc, value));
	guard_body(&l, &body);
	wrap(&l, &body, true);
	wrap(&l, &body, false);
	append(b, &body);
}

static void emit_sum(Builder *b, NodeId id, const Piece *piece, BufferId to)
{
	const Node *node = tables_node(b->t, id);
	Loops l = steps_of(b, id, piece);
	LocalId acc = build_local(b, "acc", node->dtype);
	Body step = {0}, element = {0};
	const Value *value = expression_of_piece(&l.reader, id, piece, l.iters);
	const Value *neutral = value_const(b->arena, node->dtype, operation_neutral(node));
	build_add(b, &step, stmt_set(b->arena, acc, node_reduce_op(node), value));
	guard_body(&l, &step);
	wrap(&l, &step, true);
	build_add(b, &element, stmt_local(b->arena, acc, neutral));
	for (size_t i = 0; i < step.stmts.n; i++)
		build_add(b, &element, step.stmts.at[i]);
	build_add(b, &element, build_store(b, to, l.at, OP_NONE, build_read(b, acc)));
	wrap(&l, &element, false);
	append(b, &element);
}

/* The reduced iterator's value; an axis of size 1 has index 0. */
static const Ix *place_along(const Loops *l)
{
	for (uint32_t i = 0; i < l->piece->niters; i++)
		if (l->proj->iters[l->piece->iters[i]].reduced)
			return l->iters[l->piece->iters[i]];
	return build_const(l->b, 0);
}

/* A later index only where its value is greater, or less: the first of equals, and never NaN. */
static void emit_argmax(Builder *b, NodeId id, const Piece *piece, BufferId to)
{
	const Node *node = tables_node(b->t, id), *from = tables_node(b->t, node->args[0]);
	Arena *arena = b->arena;
	Dtype dtype = dtype_wide(from->dtype);
	Loops l = steps_of(b, id, piece);
	LocalId best = build_local(b, "best", dtype), at = build_local(b, "at", node->dtype);
	Body step = {0}, element = {0};
	const Ix **axes = expression_indices(&l.reader, id, piece, &piece->args[0], l.iters);
	const Value *value = value_cast(arena, dtype, element_at(b, node->args[0], axes));
	const Value *here = value_index(arena, node->dtype, place_along(&l));
	Op than = node->reduce == OP_MIN ? OP_LT : OP_GT;
	const Value *better = value_binary(arena, than, value, build_read(b, best));
	build_add(
		b, &step,
		stmt_set(arena, at, OP_NONE, value_where(arena, better, here, build_read(b, at))));
	build_add(b, &step,
		  stmt_set(arena, best, OP_NONE,
			   value_where(arena, better, value, build_read(b, best))));
	wrap(&l, &step, true);
	build_add(b, &element,
		  stmt_local(arena, best,
			     value_const(arena, dtype, op_neutral(node->reduce, dtype))));
	build_add(b, &element, stmt_local(arena, at, value_number(arena, node->dtype, 0)));
	for (size_t i = 0; i < step.stmts.n; i++)
		build_add(b, &element, step.stmts.at[i]);
	build_add(b, &element, build_store(b, to, l.at, OP_NONE, build_read(b, at)));
	wrap(&l, &element, false);
	append(b, &element);
}

static void emit_pieces(Builder *b, NodeId id, BufferId to)
{
	const Node *node = tables_node(b->t, id);
	const Proj *proj = tables_proj(b->t, id);
	for (uint32_t i = 0; i < proj->npieces; i++) {
		const Piece *piece = &proj->pieces[i];
		if (node->kind == NODE_ARGMAX)
			emit_argmax(b, id, piece, to);
		else if (!adds_up(node, proj))
			emit_stores(b, id, piece, to, OP_NONE);
		else if (proj_computes_elements(proj))
			emit_sum(b, id, piece, to);
		else
			emit_stores(b, id, piece, to, node_reduce_op(node));
	}
}

/* Element `at` of the operand of a reshape, of an expression, of a stream. */
static const Value *flat_value(Builder *b, NodeId id, const Ix *at, Body *locals)
{
	NodeReader r = build_reader(b, locals);
	if (tables_node(b->t, id)->kind == NODE_RANDOM)
		return expression_of_stream(&r, id, at);
	if (tables_proj(b->t, id))
		return element_flat(b, tables_node(b->t, id)->args[0], at);
	return expression_of_node(&r, id, tables_unflatten(b->program, tables_shape(b->t, id), at));
}

/* to[e] = element e */
static void emit_flat(Builder *b, NodeId id, BufferId to)
{
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(b, &e);
	const Value *value = flat_value(b, id, at, &body);
	build_add(b, &body, build_store(b, to, at, OP_NONE, value));
	build_wrap_flat(b, e, b->program->buffers.at[to].elements, &body);
}

/* to[4*e + 0 .. 3] = the numbers of the words that operand 0 holds. */
static void emit_uniforms(Builder *b, NodeId id, BufferId to)
{
	NodeId from = tables_node(b->t, id)->args[0];
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(b, &e);
	const Ix *first = ix_times(b->program, at, RANDOM_WORDS);
	const Value *numbers[RANDOM_WORDS];
	NodeReader r = build_reader(b, &body);
	words_uniform(b->arena, r.hold(b, &body, "words", element_flat(b, from, at)), numbers);
	for (int i = 0; i < RANDOM_WORDS; i++)
		build_add(b, &body,
			  build_store(b, to, ix_plus(b->program, first, i), OP_NONE, numbers[i]));
	build_wrap_flat(b, e, tables_elements(b->t, from), &body);
}

void whole_fill(Builder *b, NodeId id, BufferId to, Scalar neutral)
{
	if (needs_fill(tables_node(b->t, id), tables_proj(b->t, id)))
		build_fill(b, to, neutral);
}

void operation_emit(Builder *b, NodeId id, BufferId to)
{
	const Node *node = tables_node(b->t, id);
	const Proj *proj = tables_proj(b->t, id);
	if (proj && proj->linear && proj->width > 1)
		emit_uniforms(b, id, to);
	else if (!proj || proj->linear || node->kind == NODE_RANDOM)
		emit_flat(b, id, to);
	else if (node->kind == NODE_CUMULATE)
		along_cumulate(b, id, to);
	else if (node->kind == NODE_SORT)
		along_sort(b, id, to);
	else
		emit_pieces(b, id, to);
}

/* ---- elements that the projection reaches ---- */

/* Of one piece: to[i] ACC= from[i], or a constant where `from` is BUFFER_NONE. */
typedef struct Take {
	BufferId from, to;
	Op acc;
	Scalar constant;
} Take;

static void take_piece(Builder *b, NodeId id, const Piece *piece, const Take *take)
{
	Loops l = loops_of(b, id, piece);
	Body body = {0};
	Dtype dtype = b->program->buffers.at[take->to].dtype;
	const Value *value = take->from == BUFFER_NONE
				     ? value_const(b->arena, dtype, take->constant)
				     : value_load(b->program, take->from, l.at);
	build_add(b, &body, build_store(b, take->to, l.at, take->acc, value));
	guard_body(&l, &body);
	wrap(&l, &body, false);
	append(b, &body);
}

void reached_emit(Builder *b, NodeId id, BufferId from, BufferId to, Op acc)
{
	const Proj *proj = tables_proj(b->t, id);
	const Take take = {.from = from, .to = to, .acc = acc};
	for (uint32_t i = 0; i < proj->npieces; i++)
		take_piece(b, id, &proj->pieces[i], &take);
}

/* Do steps leave out one that is reached, or add to what is there? */
static bool reached_needs_fill(const Node *node, const Proj *proj)
{
	if (node->kind == NODE_ARGMAX)
		return false;
	return adds_up(node, proj) ? !proj_computes_elements(proj) : proj_is_guarded(proj);
}

void reached_fill(Builder *b, NodeId id, BufferId to, Scalar neutral)
{
	const Proj *proj = tables_proj(b->t, id);
	const Take take = {.from = BUFFER_NONE, .to = to, .acc = OP_NONE, .constant = neutral};
	for (uint32_t i = 0; i < proj->npieces && reached_needs_fill(tables_node(b->t, id), proj);
	     i++)
		take_piece(b, id, &proj->pieces[i], &take);
}
