/* A scatter: elements of the result that operands of integers name take in the first operand, in the
 * order of that operand, whoever takes them. The elements begin with the neutral element.
 *
 * In turn:
 *
 *   for R before the last axis that is indexed so       each of its own elements
 *     for K
 *       local at = ids[R, K]
 *       for R behind it: result[R, at, R'] ACC= x[R, K, R']
 *
 * Of integers threads may share K (scatter_private.c).
 */
#include <string.h>

#include "lower/scatter.h"

#include "loops/linear.h"

/* ---- loops ---- */

/* Behind the last axis that is indexed by what is read. */
static uint32_t last_indexed(const Access *access)
{
	uint32_t end = 0;
	for (uint32_t i = 0; i < access->naxes; i++)
		if (access->axes[i].gather >= 0)
			end = i + 1;
	return end;
}

static void add_loop(Scatter *s, IterId id)
{
	const Iter *iter = &s->proj->iters[id];
	s->by_iter[id] = zero_ix(s->gen);
	if (!size_is(s->gen->program->sizes, iter->extent, 1))
		s->loops[s->nloops++] = (ScatterLoop){id, iter->name, iter->extent};
}

static void add_loops(Scatter *s)
{
	const Access *to = &s->piece->result;
	uint32_t indexed = last_indexed(to);
	for (int step = 0; step < 3; step++) { /* R before, K, R behind */
		if (step == 1)
			s->first = s->nloops;
		if (step == 2)
			s->behind = s->nloops;
		for (uint32_t i = 0; i < s->piece->niters; i++) {
			IterId id = s->piece->iters[i];
			bool before = access_term(to, indexed, id) != NULL;
			if (s->proj->iters[id].reduced ? step == 1 : step == (before ? 0 : 2))
				add_loop(s, id);
		}
	}
}

static Size extents(const Scatter *s, uint32_t from, uint32_t to)
{
	Sizes *sizes = s->gen->program->sizes;
	Size all = size_const(sizes, 1);
	for (uint32_t i = from; i < to; i++)
		all = size_mul(sizes, all, s->loops[i].extent);
	return all;
}

static Size count_rows(const Scatter *s)
{
	Sizes *sizes = s->gen->program->sizes;
	const Shape *shape = lower_shape(s->gen->lower, s->id);
	Size all = size_const(sizes, 1);
	for (uint32_t i = 0; i < s->piece->result.naxes; i++)
		if (s->piece->result.axes[i].gather >= 0)
			all = size_mul(sizes, all, shape_axis(shape, i)->size);
	return all;
}

/* Is an index one that the loops behind the indexed axes move along? */
static bool indices_vary(const Scatter *s)
{
	bool vary = false;
	for (uint32_t arg = 1; arg < s->node->nargs; arg++)
		for (uint32_t i = s->behind; i < s->nloops; i++)
			vary |= access_mentions(&s->piece->args[arg], s->loops[i].id);
	return vary;
}

/* The body in new loops. */
static Block wrap(Scatter *s, uint32_t from, uint32_t to, Block body, bool independent)
{
	Gen *gen = s->gen;
	for (uint32_t i = to; i-- > from;) {
		const Ix *end = ix_size(gen->arena, s->loops[i].extent);
		Stmt *loop = stmt_for(gen->arena, s->by_iter[s->loops[i].id]->iter, zero_ix(gen),
				      end, body);
		loop->independent = independent;
		body = block_of(gen, loop);
	}
	return body;
}

static void open_loops(Scatter *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		s->by_iter[s->loops[i].id] =
			ix_iter(s->gen->arena, gen_iter(s->gen, s->loops[i].name));
}

/* ---- for all forms ---- */

const Stmt *scatter_loop(Scatter *s, IterVar var, const Ix *end, const Body *body, bool independent)
{
	Stmt *loop = stmt_for(s->gen->arena, var, zero_ix(s->gen), end, body_block(body));
	loop->independent = independent;
	return loop;
}

void scatter_set_steps(Scatter *s, const Ix *at)
{
	Program *program = s->gen->program;
	for (uint32_t i = s->behind; i-- > s->first;) {
		const Ix *extent = ix_size(program->arena, s->loops[i].extent);
		bool outer = i == s->first;
		s->by_iter[s->loops[i].id] = outer ? at : ix_binary(program, IX_MOD, at, extent);
		at = outer ? at : ix_binary(program, IX_DIV, at, extent);
	}
}

/* The integer that operand `arg` holds, read once. */
static const Ix *read_index(Scatter *s, uint32_t arg, Body *body)
{
	Gen *gen = s->gen;
	NodeId ids = s->node->args[arg];
	const Ix **axes = access_indices(gen, ids, s->piece, &s->piece->args[arg], s->by_iter);
	SharedLocals shared = {0};
	gen_enter(gen, &shared);
	const Value *value = node_value(gen, ids, axes);
	if (value->kind == VALUE_INDEX)
		return value->ix;
	gen_set_shared(gen, body, &shared);
	value = value_cast(gen->arena, dtype_wide(value->dtype), value);
	return ix_value(gen->arena, gen_let(gen, body, "at", value));
}

static void add_conds(const Scatter *s, ScatterStep *step, const Ix *index, Size size)
{
	Arena *arena = s->gen->arena;
	PUSH(arena, step->conds, ((Cond){COND_LE, zero_ix(s->gen), index}));
	PUSH(arena, step->conds, ((Cond){COND_LT, index, ix_size(arena, size)}));
}

static void add_check(Scatter *s, ScatterStep *step, uint32_t arg, const Ix *at)
{
	Gen *gen = s->gen;
	Size size;
	CheckId check = tables_index_check(&gen->lower->tables, s->id, arg, &size);
	PUSH(gen->arena, step->body.stmts,
	     stmt_check(gen->program, at, ix_size(gen->arena, size), check));
}

/* Of an axis of one place there is nothing to read. */
static void read_axis(Scatter *s, ScatterStep *step, uint32_t axis)
{
	Program *program = s->gen->program;
	const Index *index = &s->piece->result.axes[axis];
	Size size = shape_axis(lower_shape(s->gen->lower, s->id), axis)->size;
	bool own = s->gen->lower->plan[s->id].own_check;
	bool one = !own && !index->guarded && size_is(program->sizes, size, 1);
	const Ix *at = one ? zero_ix(s->gen) : read_index(s, (uint32_t)index->gather, &step->body);
	if (own)
		add_check(s, step, (uint32_t)index->gather, at);
	step->axes[axis] = index_in_axis(program, at, index->mode, size);
	if (index->guarded)
		add_conds(s, step, at, size);
}

void scatter_step(Scatter *s, ScatterStep *step)
{
	const Access *to = &s->piece->result;
	step->axes = ARENA_ARRAY(s->gen->arena, const Ix *, to->naxes + 1);
	for (uint32_t i = 0; i < to->naxes; i++)
		if (to->axes[i].gather >= 0)
			read_axis(s, step, i);
}

void scatter_end_step(Scatter *s, ScatterStep *step, Block inside, Body *body)
{
	Gen *gen = s->gen;
	if (step->conds.n)
		inside = block_of(
			gen, stmt_if(gen->arena, step->conds.at, (uint32_t)step->conds.n, inside));
	gen_append(gen, &step->body, inside);
	gen_append(gen, body, body_block(&step->body));
}

/* The store of an element, whose loops are open. */
static Block store_element(Scatter *s, ScatterStep *step, StoreTarget to, const Ix *offset)
{
	Gen *gen = s->gen;
	const Access *access = &s->piece->result;
	SharedLocals shared = {0};
	Body body = {0};
	for (uint32_t i = 0; i < access->naxes; i++)
		if (access->axes[i].gather < 0)
			step->axes[i] =
				access_index(gen, s->id, s->piece, &access->axes[i], s->by_iter);
	gen_enter(gen, &shared);
	const Value *value = piece_value(gen, s->id, s->piece, s->by_iter);
	const Ix *at = ix_add(gen->program, offset, flat_index(gen, s->id, step->axes));
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, at, value));
	return body_block(&body);
}

Block scatter_row(Scatter *s, ScatterStep *step, StoreTarget to, const Ix *offset)
{
	if (s->carries)
		return scatter_carry_row(s, step);
	open_loops(s, s->inner, s->nloops);
	Block element = store_element(s, step, to, offset);
	return wrap(s, s->inner, s->nloops, element, false);
}

void scatter_open_row(Scatter *s) { open_loops(s, s->behind, s->nloops); }

const Value *scatter_element(Scatter *s, SharedLocals *shared, IterVar *var)
{
	scatter_open_row(s);
	*var = s->by_iter[s->loops[s->nloops - 1].id]->iter;
	gen_enter(s->gen, shared);
	return piece_value(s->gen, s->id, s->piece, s->by_iter);
}

ScatterLook *scatter_look(const Scatter *scatter)
{
	ScatterLook *look = ARENA_NEW(scatter->gen->arena, ScatterLook);
	*look = (ScatterLook){gen_look(scatter->gen), *scatter};
	Scatter *s = &look->scatter;
	look->gen.frame = frame_copy(&scatter->gen->frame, true);
	s->gen = &look->gen;
	s->by_iter = ARENA_ARRAY(look->gen.arena, const Ix *, s->proj->niters + 1);
	memcpy(s->by_iter, scatter->by_iter, s->proj->niters * sizeof *s->by_iter);
	open_loops(s, 0, s->behind);
	return look;
}

/* ---- in turn ---- */

static void in_turn(Scatter *s)
{
	ScatterStep step = {0};
	Body body = {0}, steps = {0};
	open_loops(s, 0, s->inner);
	scatter_begin_carried(s, &steps);
	scatter_step(s, &step);
	Block row = scatter_row(s, &step, s->to, zero_ix(s->gen));
	scatter_end_step(s, &step, row, &body);
	gen_append(s->gen, &steps, wrap(s, s->first, s->inner, body_block(&body), false));
	scatter_end_carried(s, &steps);
	gen_append(s->gen, &s->gen->top, wrap(s, 0, s->first, body_block(&steps), true));
}

Scatter scatter_of(Gen *gen, NodeId id, StoreTarget to)
{
	const Proj *proj = lower_proj(gen->lower, id);
	const Piece *piece = &proj->pieces[0];
	Scatter s = {.gen = gen,
		     .id = id,
		     .node = lower_node(gen->lower, id),
		     .proj = proj,
		     .piece = piece,
		     .loops = ARENA_ARRAY(gen->arena, ScatterLoop, piece->niters + 1),
		     .by_iter = ARENA_ARRAY(gen->arena, const Ix *, proj->niters + 1)};
	Op reduce = node_reduce_op(s.node);
	s.to = (StoreTarget){to.buffer, reduce == OP_ID ? OP_NONE : reduce};
	add_loops(&s);
	s.steps = extents(&s, s.first, s.behind);
	s.row = extents(&s, s.behind, s.nloops);
	s.rows = count_rows(&s);
	s.inner = indices_vary(&s) ? s.nloops : s.behind;
	return s;
}

void scatter_emit(Gen *gen, const KernelPlan *plan)
{
	Scatter s = scatter_of(gen, plan->node, plan->to);
	s.carries = plan->scatter.carries;
	s.filling = plan->scatter.fills ? plan : NULL;
	if (plan->scatter.parts)
		scatter_private(&s, &plan->scatter);
	else
		in_turn(&s);
}
