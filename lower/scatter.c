/* A scatter: cells of the result that operands of integers name take in the first operand.
 *
 *   for R before the last axis that is indexed so
 *     for K
 *       local at = ids[R, K]
 *       for R behind it: result[R, at, R'] ACC= x[R, K, R']
 *
 * R are the iterators of the result, K the others, in the order of the operand: what meets in a cell
 * does so in that order, whatever runs around it. The cells begin with the neutral element.
 */
#include "lower/kernel.h"
#include "lower/nest.h"

typedef struct Scatter {
	Gen *gen;
	NodeId id;
	const Node *node;
	const Proj *proj;
	const Piece *piece;
	Loop *loops; /* outermost first */
	uint32_t nloops, nouter; /* the others are of the result, behind the axes that are indexed */
	const Ix **by_iter;	 /* by IterId */
	const Ix **axes;	 /* of the result */
	VEC(Cond) conds;	 /* that indices are inside */
} Scatter;

/* ---- loops ---- */

static bool mentions(const Access *access, uint32_t from, uint32_t to, IterId iter)
{
	bool found = false;
	for (uint32_t i = from; i < to; i++)
		for (uint32_t t = 0; t < access->axes[i].nterms; t++)
			found |= access->axes[i].terms[t].iter == iter;
	return found;
}

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
	Program *program = s->gen->program;
	const Iter *iter = &s->proj->iters[id];
	s->by_iter[id] = zero_ix(s->gen);
	if (size_is(program->sizes, iter->extent, 1))
		return;
	Loop *loop = &s->loops[s->nloops++];
	*loop = (Loop){.iter = id, .extent = iter->extent, .reduced = iter->reduced};
	loop->var = gen_iter(s->gen, iter->name);
	s->by_iter[id] = ix_iter(s->gen->arena, loop->var);
}

static void add_loops(Scatter *s)
{
	const Access *to = &s->piece->result;
	uint32_t indexed = last_indexed(to);
	for (int step = 0; step < 3; step++) { /* R before, K, R behind */
		if (step == 2)
			s->nouter = s->nloops;
		for (uint32_t i = 0; i < s->piece->niters; i++) {
			IterId id = s->piece->iters[i];
			bool before = mentions(to, 0, indexed, id);
			if (s->proj->iters[id].reduced ? step == 1 : step == (before ? 0 : 2))
				add_loop(s, id);
		}
	}
}

static Block wrap(const Scatter *s, uint32_t from, uint32_t to, Block body)
{
	Gen *gen = s->gen;
	for (uint32_t i = to; i-- > from;) {
		const Ix *end = ix_size(gen->arena, s->loops[i].extent);
		body = block_of(gen, stmt_for(gen->arena, s->loops[i].var, zero_ix(gen), end, body));
	}
	return body;
}

/* ---- indices ---- */

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
	LocalId local = gen_local(gen, "at", dtype_wide(value->dtype));
	value = value_cast(gen->arena, dtype_wide(value->dtype), value);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, local, value));
	return ix_value(gen->arena, gen_local_value(gen, local));
}

static void add_conds(Scatter *s, const Ix *index, Size size)
{
	Arena *arena = s->gen->arena;
	PUSH(arena, s->conds, ((Cond){COND_LE, zero_ix(s->gen), index}));
	PUSH(arena, s->conds, ((Cond){COND_LT, index, ix_size(arena, size)}));
}

/* The result's axes, those that are read with locals in the body, and the conditions of theirs. */
static void read_indices(Scatter *s, Body *body)
{
	Program *program = s->gen->program;
	const Access *to = &s->piece->result;
	const Shape *shape = lower_shape(s->gen->lower, s->id);
	s->axes = ARENA_ARRAY(s->gen->arena, const Ix *, to->naxes + 1);
	for (uint32_t i = 0; i < to->naxes; i++) {
		const Index *index = &to->axes[i];
		Size size = shape_axis(shape, i)->size;
		if (index->gather < 0) {
			s->axes[i] = access_index(s->gen, s->id, s->piece, index, s->by_iter);
			continue;
		}
		const Ix *at = read_index(s, (uint32_t)index->gather, body);
		s->axes[i] = index_in_axis(program, at, index->mode, size);
		if (index->guarded)
			add_conds(s, at, size);
	}
}

/* Is an index one that the loops behind the indexed axes move along? */
static bool indices_vary(const Scatter *s)
{
	bool vary = false;
	for (uint32_t arg = 1; arg < s->node->nargs; arg++)
		for (uint32_t i = s->nouter; i < s->nloops; i++)
			vary |= mentions(&s->piece->args[arg], 0, s->piece->args[arg].naxes,
					 s->loops[i].iter);
	return vary;
}

/* ---- the whole ---- */

static Block guarded(const Scatter *s, Block body)
{
	if (s->conds.n == 0)
		return body;
	const Stmt *stmt = stmt_if(s->gen->arena, s->conds.at, (uint32_t)s->conds.n, body);
	return block_of(s->gen, stmt);
}

static Block emit_store(Scatter *s, StoreTarget to)
{
	Gen *gen = s->gen;
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	const Value *value = piece_value(gen, s->id, s->piece, s->by_iter);
	const Ix *at = flat_index(gen, s->id, s->axes);
	gen_set_shared(gen, &body, &shared);
	PUSH(gen->arena, body.stmts, gen_store(gen, to, at, value));
	return body_block(&body);
}

void scatter_emit(Gen *gen, NodeId id, BufferId buffer)
{
	const Proj *proj = lower_proj(gen->lower, id);
	const Piece *piece = &proj->pieces[0];
	Scatter s = {.gen = gen,
		     .id = id,
		     .node = lower_node(gen->lower, id),
		     .proj = proj,
		     .piece = piece,
		     .loops = ARENA_ARRAY(gen->arena, Loop, piece->niters + 1),
		     .by_iter = ARENA_ARRAY(gen->arena, const Ix *, proj->niters + 1)};
	Op reduce = node_reduce_op(s.node);
	StoreTarget to = {buffer, reduce == OP_ID ? OP_NONE : reduce};
	Body step = {0};
	gen_nest(gen);
	add_loops(&s);
	uint32_t inner = indices_vary(&s) ? s.nloops : s.nouter;
	read_indices(&s, &step);
	Block store = emit_store(&s, to);
	gen_append(gen, &step, guarded(&s, wrap(&s, inner, s.nloops, store)));
	gen_append(gen, &gen->top, wrap(&s, 0, inner, body_block(&step)));
}
