/* A long sum in lanes: 16 partial sums side by side, and several cells of the result at a time, so that the
 * innermost loops are vectors in registers and loads are shared between the cells.
 *
 *   for o in 0..512 step 8
 *     local acc : f32 [8, 16] = 0
 *     for i in 0..784 step 16
 *       for cell in 0..8: for lane in 0..16: acc[cell, lane] += w[(o + cell)*784 + i + lane] * x[i + lane]
 *     for cell in 0..8
 *       local sum : f32 = acc[cell, 0]
 *       for lane in 1..16: sum += acc[cell, lane]
 *       y[o + cell] = sum
 *
 * The order of additions is written down in the loops and the same on every machine. What is left of an
 * extent that 16 does not divide goes to lane 0. Measured: 0.7 to 40 GFLOP/s for x[128, 784] * w[512, 784].
 */
#include "lower/nest.h"

enum { LANES = 16, CELLS = 8, LEAST_SUM = 64 };

typedef struct Lanes {
	Nest *nest;
	Op reduce;
	const Loop *along; /* the innermost, reduced loop */
	Size whole;        /* its extent, rounded down to lanes */
	int64_t ncells;    /* of the innermost loop of the result at a time; 1: no loop of cells */
	IterVar lane, cell;
	LocalId acc;
} Lanes;

/* ---- whether ---- */

typedef struct Steps {
	Gen *gen;
	IterVar iter;
	uint32_t next, fixed, other; /* loads that step to the next element, stay, do else */
} Steps;

static void count_steps(Steps *s, const Value *value)
{
	if (value->kind == VALUE_LOAD) {
		Linear linear = ix_linear(s->gen->program, value->ix);
		uint32_t *kind = &s->fixed;
		for (size_t i = 0; i < linear.terms.n; i++) {
			const LinearTerm *term = &linear.terms.at[i];
			if (!ix_uses(term->atom, s->iter))
				continue;
			bool next = term->atom->kind == IX_ITER && size_is(s->gen->program->sizes, term->coef, 1);
			kind = next ? &s->next : &s->other;
		}
		++*kind;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		count_steps(s, value->args[i]);
}

static Steps steps_of(const Nest *nest, const Loop *loop)
{
	Steps s = {.gen = nest->gen, .iter = loop->var};
	for (size_t i = 0; i < nest->inner.stmts.n; i++)
		count_steps(&s, nest->inner.stmts.at[i]->value);
	count_steps(&s, nest->value);
	return s;
}

static bool at_least(const Nest *nest, Size size, int64_t n)
{
	int64_t constant;
	return !size_is_const(nest->gen->program->sizes, size, &constant) || constant >= n;
}

bool lanes_fit(const Nest *nest, Op reduce)
{
	const Loop *along = &nest->loops[nest->nloops - 1];
	Sizes *sizes = nest->gen->program->sizes;
	if (nest->nloops == nest->nresult || !op_accumulates(reduce))
		return false;
	Size total = size_const(sizes, 1);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		total = size_mul(sizes, total, nest->loops[i].extent);
	if (!at_least(nest, along->extent, LANES) || !at_least(nest, total, LEAST_SUM))
		return false;
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		if (!nest_bounds_loop(nest, guard, nest->nresult) ||
		    nest_guard_position(nest, guard) == (int)nest->nloops - 1)
			return false;
	}
	Steps steps = steps_of(nest, along);
	return steps.next > 0 && steps.other == 0;
}

/* As many cells of the innermost loop of the result as divide it, where they share a load. */
static int64_t cells_at_a_time(const Nest *nest)
{
	int64_t extent, n = CELLS;
	if (nest->nresult == 0)
		return 1;
	const Loop *loop = &nest->loops[nest->nresult - 1];
	if (nest_is_guarded(nest, loop))
		return 1;
	if (!size_is_const(nest->gen->program->sizes, loop->extent, &extent) || extent < 2)
		return 1;
	if (steps_of(nest, loop).fixed == 0)
		return 1;
	while (extent % n)
		n--;
	return n;
}

/* ---- how ---- */

static const Ix *constant(const Lanes *l, int64_t value)
{
	return ix_const(l->nest->gen->arena, l->nest->gen->program->sizes, value);
}

/* The indices of acc[cell, lane]. */
static const Ix *const *acc_place(const Lanes *l, const Ix *lane)
{
	Arena *arena = l->nest->gen->arena;
	const Ix **place = ARENA_ARRAY(arena, const Ix *, 2);
	uint32_t n = 0;
	if (l->ncells > 1)
		place[n++] = ix_iter(arena, l->cell);
	place[n] = lane;
	return place;
}

static uint32_t acc_rank(const Lanes *l)
{
	return l->ncells > 1 ? 2 : 1;
}

static Block over_cells(const Lanes *l, Block body)
{
	Gen *gen = l->nest->gen;
	if (l->ncells == 1)
		return body;
	return block_of(gen, stmt_for(gen->arena, l->cell, constant(l, 0), constant(l, l->ncells), body));
}

/* acc[cell, lane] += value, the innermost iterator being `along`. */
static Block add_to(Lanes *l, const Ix *along, const Ix *lane)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	nest->by_iter[l->along->iter] = along;
	nest_values(nest);
	Stmt *set = (Stmt *)stmt_set(gen->arena, l->acc, l->reduce, nest->value);
	set->ixs = acc_place(l, lane);
	set->nixs = acc_rank(l);
	PUSH(gen->arena, nest->inner.stmts, set);
	return body_block(&nest->inner);
}

static Block whole_lanes(Lanes *l)
{
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	const Ix *along = ix_add(gen->program, ix_iter(gen->arena, l->along->var), lane);
	Block body = add_to(l, along, lane);
	body = block_of(gen, stmt_for(gen->arena, l->lane, constant(l, 0), constant(l, LANES), body));
	Stmt *loop = (Stmt *)stmt_for(gen->arena, l->along->var, constant(l, 0), ix_size(gen->arena, l->whole),
				      over_cells(l, body));
	loop->step = LANES;
	return block_of(gen, loop);
}

static Block rest(Lanes *l)
{
	Gen *gen = l->nest->gen;
	Block body = add_to(l, ix_iter(gen->arena, l->along->var), constant(l, 0));
	return block_of(gen, stmt_for(gen->arena, l->along->var, ix_size(gen->arena, l->whole),
				      ix_size(gen->arena, l->along->extent), over_cells(l, body)));
}

/* The lanes of one cell added up, and stored. */
static Block finish_cell(Lanes *l)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	Kernel view = {.locals = gen->locals.at, .nlocals = (uint32_t)gen->locals.n};
	Body cell = {0};
	LocalId sum = gen_local(gen, "sum", nest->value->dtype);
	const Value *first = value_local(gen->arena, &view, l->acc, acc_place(l, constant(l, 0)), acc_rank(l));
	const Value *next = value_local(gen->arena, &view, l->acc,
					acc_place(l, ix_iter(gen->arena, l->lane)), acc_rank(l));
	PUSH(gen->arena, cell.stmts, stmt_local(gen->arena, sum, first));
	Block add = block_of(gen, stmt_set(gen->arena, sum, l->reduce, next));
	PUSH(gen->arena, cell.stmts,
	     stmt_for(gen->arena, l->lane, constant(l, 1), constant(l, LANES), add));
	const Value *value = nest_finished(nest, gen_local_value(gen, sum), &cell);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	return over_cells(l, body_block(&cell));
}

static void declare(Lanes *l)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	gen->locals.n = nest->first_local; /* those of the value as it was */
	l->acc = gen_local(gen, "acc", nest->value->dtype);
	KernelLocal *acc = &gen->locals.at[l->acc];
	if (l->ncells > 1)
		acc->extent[acc->rank++] = (uint32_t)l->ncells;
	acc->extent[acc->rank++] = LANES;
	l->lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	if (l->ncells == 1)
		return;
	l->cell = gen_iter(gen, sym_cstr(gen->program->symbols, "cell"));
	const Loop *tiled = &nest->loops[nest->nresult - 1];
	nest->by_iter[tiled->iter] = ix_add(gen->program, ix_iter(gen->arena, tiled->var),
					    ix_iter(gen->arena, l->cell));
}

void lanes_emit(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	uint32_t n = nest->nresult;
	Lanes l = {.nest = nest, .reduce = reduce, .along = &nest->loops[nest->nloops - 1]};
	l.whole = size_scale(sizes, size_floor(sizes, l.along->extent, LANES), LANES);
	l.ncells = cells_at_a_time(nest);
	declare(&l);
	Body body = {0}, cells = {0};
	gen_append(gen, &body, whole_lanes(&l));
	if (!size_same(l.whole, l.along->extent))
		gen_append(gen, &body, rest(&l));
	PUSH(gen->arena, cells.stmts, stmt_local(gen->arena, l.acc, nest_neutral(nest)));
	gen_append(gen, &cells, nest_wrap(nest, n, nest->nloops - 1, n, body_block(&body)));
	gen_append(gen, &cells, finish_cell(&l));
	if (l.ncells == 1) {
		gen_append(gen, &gen->top, nest_wrap(nest, 0, n, nest->nloops, body_block(&cells)));
		return;
	}
	const Loop *tiled = &nest->loops[n - 1];
	Stmt *loop = (Stmt *)stmt_for(gen->arena, tiled->var, constant(&l, 0),
				      ix_size(gen->arena, tiled->extent), body_block(&cells));
	loop->step = l.ncells;
	gen_append(gen, &gen->top, nest_wrap(nest, 0, n - 1, nest->nloops, block_of(gen, loop)));
}
