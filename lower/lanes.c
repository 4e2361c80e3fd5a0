/* A long sum in lanes: partial sums side by side in vectors, so that additions do not wait for each
 * other.
 *
 *   for o in 0..512                                  for o in 0..512 step 8
 *     local acc : f32 [64] = 0                         local acc : f32 [8, 16] = 0
 *     for i in 0..768 step 64                          for i in 0..784 step 16
 *       vector lane in 0..64                             for cell in 0..8: for lane in 0..16
 *         acc[lane] += x[o*784 + i + lane]                 acc[cell, lane] += exp(..)
 *     for i in 768..784 step 16                        for cell in 0..8
 *       vector lane in 0..16                             part8[lane] = acc[cell, lane] + acc[cell, lane + 8]
 *         acc[lane] += x[o*784 + i + lane]               part4[lane] = part8[lane] + part8[lane + 4]
 *     part16[lane] = (acc[lane] + acc[lane + 16])        y[o + cell] = (part4[0] + part4[1])
 *                 + (acc[lane + 32] + acc[lane + 48])                + (part4[2] + part4[3])
 *     part8, part4, y[o] as on the right
 *
 * On the left what vector instructions compute, in four vectors; on the right all else, several
 * cells at a time where they share loads, in loops that GCC makes vectors of. Single steps that are
 * left have a sum of their own. Elements that are not neighbours (a trace) are read one by one and
 * added to sums side by side, in registers (unroll). The order of additions is written down in the
 * loops and the same on every machine.
 */
#include "lower/lanes.h"

enum { LANES = 16, WIDE = 64, LEAST_SUM = 64, LEAST_BYTES = 16 };

/* ---- whether ---- */

typedef struct Steps {
	Gen *gen;
	IterVar iter;
	/* loads that step to the next element, to one further on, stay, do else */
	uint32_t next, far, fixed, other;
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
			bool next = size_is(s->gen->program->sizes, term->coef, 1);
			kind = term->atom->kind != IX_ITER ? &s->other : next ? &s->next : &s->far;
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

/* Do vector instructions compute it from what is read? */
static bool is_vector(const Value *value)
{
	if (value->kind == VALUE_CAST)
		return tile_is_converting(value);
	if (value->kind == VALUE_INDEX || (value->kind == VALUE_OP && !op_is_simple(value->op)) ||
	    (value->kind == VALUE_LOCAL && value->nixs))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_vector(value->args[i]))
			return false;
	return dtype_is_float(value->dtype);
}

static bool is_arithmetic(const Nest *nest)
{
	return nest->inner.stmts.n == 0 && is_vector(nest->value);
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
	return steps.next + steps.far > 0 && steps.other == 0 &&
	       (steps.far == 0 || is_arithmetic(nest));
}

/* As many cells of the innermost loop of the result as divide it, where they share a load. */
static int64_t cells_at_a_time(const Nest *nest)
{
	int64_t extent, n = nest_target(nest)->sum_cells;
	if (nest->nresult == 0)
		return 1;
	const Loop *loop = &nest->loops[nest->nresult - 1];
	if (nest_is_guarded(nest, loop))
		return 1;
	extent = loop_of_member(nest->gen->program->sizes, loop, 1);
	if (extent < 2)
		return 1;
	if (steps_of(nest, loop).fixed == 0)
		return 1;
	while (extent % n)
		n--;
	return n;
}

bool lanes_are_vectors(const Lanes *l)
{
	const Nest *nest = l->nest;
	for (size_t i = 0; i < nest->inner.stmts.n; i++)
		if (!is_vector(nest->inner.stmts.at[i]->value))
			return false;
	return l->ncells == 1 && !l->far && is_vector(nest->value) &&
	       tile_has_lanes(l->reduce, nest->value->dtype);
}

/* ---- how ---- */

const Ix *lanes_constant(const Lanes *l, int64_t value)
{
	return ix_const(l->nest->gen->arena, l->nest->gen->program->sizes, value);
}

const Value *lanes_element(const Lanes *l, LocalId local, const Ix *lane)
{
	Gen *gen = l->nest->gen;
	Kernel view = {.locals = gen->locals.at, .nlocals = (uint32_t)gen->locals.n};
	const Ix **place = ARENA_ARRAY(gen->arena, const Ix *, 2);
	uint32_t n = 0;
	if (l->ncells > 1 && (local == l->acc || local == l->rest))
		place[n++] = ix_iter(gen->arena, l->cell);
	if (lane)
		place[n++] = lane;
	return value_local(gen->arena, &view, local, place, n);
}

static Block over_cells(const Lanes *l, Block body)
{
	Gen *gen = l->nest->gen;
	if (l->ncells == 1)
		return body;
	return block_of(gen, stmt_for(gen->arena, l->cell, lanes_constant(l, 0),
				      lanes_constant(l, l->ncells), body));
}

Block lanes_over(const Lanes *l, int64_t lanes, Block body)
{
	LoopKind kind = l->wide ? LOOP_VECTOR : l->far ? LOOP_UNROLL : LOOP_SERIAL;
	return block_of(l->nest->gen, stmt_loop(l->nest->gen->program, kind, l->lane, lanes, body));
}

Block lanes_add(Lanes *l, const Ix *along, const Value *cell)
{
	Nest *nest = l->nest;
	nest->by_iter[l->along->iter] = along;
	nest_values(nest);
	PUSH(nest->gen->arena, nest->inner.stmts,
	     stmt_set_at(nest->gen->arena, cell, l->reduce, nest->value));
	return body_block(&nest->inner);
}

/* Steps [from, to), `lanes` at a time. */
static Block lane_steps(Lanes *l, Size from, Size to, int64_t lanes)
{
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	const Ix *along = ix_add(gen->program, ix_iter(gen->arena, l->along->var), lane);
	Block body = lanes_over(l, lanes, lanes_add(l, along, lanes_element(l, l->acc, lane)));
	const Stmt *loop = stmt_for(gen->arena, l->along->var, ix_size(gen->arena, from),
				    ix_size(gen->arena, to), over_cells(l, body));
	return block_of(gen, stmt_step(gen->arena, loop, lanes));
}

static Block single_steps(Lanes *l)
{
	Gen *gen = l->nest->gen;
	Block body =
		lanes_add(l, ix_iter(gen->arena, l->along->var), lanes_element(l, l->rest, NULL));
	return block_of(gen, stmt_for(gen->arena, l->along->var, ix_size(gen->arena, l->whole),
				      ix_size(gen->arena, l->along->extent), over_cells(l, body)));
}

static Block steps(Lanes *l)
{
	Gen *gen = l->nest->gen;
	Sizes *sizes = gen->program->sizes;
	Body body = {0};
	Size none = size_const(sizes, 0), wide = none;
	if (l->wide)
		wide = size_scale(sizes, size_floor(sizes, l->along->extent, WIDE), WIDE);
	if (!size_same(wide, none))
		gen_append(gen, &body, lane_steps(l, none, wide, WIDE));
	if (!size_same(wide, l->whole))
		gen_append(gen, &body, lane_steps(l, wide, l->whole, LANES));
	if (l->has_rest)
		gen_append(gen, &body, single_steps(l));
	return body_block(&body);
}

const Value *lanes_combined(const Lanes *l, const Value *a, const Value *b)
{
	return value_op(l->nest->gen->arena, l->reduce, a->dtype, (const Value *[]){a, b}, 2);
}

const Value *lanes_pairs(const Lanes *l, LocalId local, const Ix *lane, int64_t from, int64_t parts,
			 int64_t n)
{
	if (parts == 1) {
		const Ix *at = lanes_constant(l, from);
		return lanes_element(l, local, lane ? ix_add(l->nest->gen->program, lane, at) : at);
	}
	int64_t half = parts / 2;
	return lanes_combined(l, lanes_pairs(l, local, lane, from, half, n),
			      lanes_pairs(l, local, lane, from + half * n, half, n));
}

/* Lanes of a local in one of n lanes. */
static LocalId lane_tree(const Lanes *l, Body *body, LocalId from, int64_t lanes, int64_t n)
{
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	const Value *sum = lanes_pairs(l, from, lane, 0, lanes / n, n);
	LocalId part = gen_local(gen, arena_printf(gen->arena, "part%d", (int)n), sum->dtype);
	gen->locals.at[part].extent[gen->locals.at[part].rank++] = (uint32_t)n;
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, part, nest_neutral(l->nest)));
	const Stmt *set = stmt_set_at(gen->arena, lanes_element(l, part, lane), OP_NONE, sum);
	gen_append(gen, body, lanes_over(l, n, block_of(gen, set)));
	return part;
}

/* The lanes of one cell combined, and stored. */
static Block finish_cell(Lanes *l)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	Body cell = {0};
	LocalId lane_sum = l->wide ? lane_tree(l, &cell, l->acc, WIDE, LANES) : l->acc;
	int64_t n = LANES;
	for (; n * dtype_bytes(nest->value->dtype) > LEAST_BYTES; n /= 2)
		lane_sum = lane_tree(l, &cell, lane_sum, n, n / 2);
	const Value *value = lanes_pairs(l, lane_sum, NULL, 0, n, 1);
	if (l->has_rest)
		value = lanes_combined(l, value, lanes_element(l, l->rest, NULL));
	LocalId sum = gen_local(gen, "sum", value->dtype);
	PUSH(gen->arena, cell.stmts, stmt_local(gen->arena, sum, value));
	value = nest_finished(nest, gen_local_value(gen, sum), &cell);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	return over_cells(l, body_block(&cell));
}

LocalId lanes_declare(const Lanes *l, Body *body, const char *name, int64_t lanes)
{
	Gen *gen = l->nest->gen;
	LocalId id = gen_local(gen, name, l->nest->value->dtype);
	KernelLocal *local = &gen->locals.at[id];
	if (l->ncells > 1)
		local->extent[local->rank++] = (uint32_t)l->ncells;
	if (lanes)
		local->extent[local->rank++] = (uint32_t)lanes;
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, id, nest_neutral(l->nest)));
	return id;
}

static void declare(Lanes *l, Body *body)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	gen->locals.n = nest->first_local; /* those of the value as it was */
	l->acc = lanes_declare(l, body, "acc", l->wide ? WIDE : LANES);
	l->rest = l->has_rest ? lanes_declare(l, body, "rest", 0) : l->acc;
	l->lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	if (l->ncells == 1)
		return;
	l->cell = gen_iter(gen, sym_cstr(gen->program->symbols, "cell"));
	const Loop *tiled = &nest->loops[nest->nresult - 1];
	nest->by_iter[tiled->iter] =
		ix_add(gen->program, ix_iter(gen->arena, tiled->var), ix_iter(gen->arena, l->cell));
}

void lanes_emit(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	uint32_t n = nest->nresult;
	Lanes l = {.nest = nest, .reduce = reduce, .along = &nest->loops[nest->nloops - 1]};
	l.whole = size_scale(sizes, size_floor(sizes, l.along->extent, LANES), LANES);
	l.has_rest = !size_same(l.whole, l.along->extent);
	l.far = steps_of(nest, l.along).far > 0;
	l.ncells = l.far ? 1 : cells_at_a_time(nest);
	l.wide = lanes_are_vectors(&l);
	Body cells = {0};
	declare(&l, &cells);
	gen_append(gen, &cells, nest_wrap(nest, n, nest->nloops - 1, n, steps(&l)));
	gen_append(gen, &cells, finish_cell(&l));
	if (l.ncells == 1) {
		gen_append(gen, &gen->top, nest_wrap(nest, 0, n, nest->nloops, body_block(&cells)));
		return;
	}
	const Loop *tiled = &nest->loops[n - 1];
	const Stmt *loop = stmt_for(gen->arena, tiled->var, lanes_constant(&l, 0),
				    ix_size(gen->arena, tiled->extent), body_block(&cells));
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, n - 1, nest->nloops,
			     block_of(gen, stmt_step(gen->arena, loop, l.ncells))));
}
