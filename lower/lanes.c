/* A long sum in lanes: partial sums side by side in vectors, so that additions do not wait for each
 * other.
 *
 *   for o in 0..512                                  for o in 0..512 step 8
 *     local acc : f32 [64] = 0                         local acc : f32 [8, 16] = 0
 *     for i in 0..768 step 64                          for i in 0..784 step 16
 *       vector lane in 0..64                             for element in 0..8: for lane in 0..16
 *         acc[lane] += x[o*784 + i + lane]                 acc[element, lane] += exp(..)
 *     for i in 768..784 step 16                        for element in 0..8
 *       vector lane in 0..16                             part8[lane] = acc[element, lane] + acc[element, lane + 8]
 *         acc[lane] += x[o*784 + i + lane]               part4[lane] = part8[lane] + part8[lane + 4]
 *     part16[lane] = (acc[lane] + acc[lane + 16])        y[o + element] = (part4[0] + part4[1])
 *                 + (acc[lane + 32] + acc[lane + 48])                + (part4[2] + part4[3])
 *     part8, part4, y[o] as on the right
 *
 * On the left what vector instructions compute, in four vectors; on the right all else, several
 * elements at a time where they share loads, in loops that GCC makes vectors of. Single steps that are
 * left have a sum of their own. Elements that are not neighbours (a trace) are read one by one and
 * added to sums side by side, in registers (unroll). The order of additions is written down in the
 * loops and the same on every machine.
 */
#include "lower/lanes.h"

const Ix *lanes_constant(const Lanes *l, int64_t value)
{
	return ix_const(l->nest->gen->arena, l->nest->gen->program->sizes, value);
}

const Value *lanes_element(const Lanes *l, LocalId local, const Ix *lane)
{
	Gen *gen = l->nest->gen;
	const Ix *place[2];
	uint32_t n = 0;
	if (l->nelements > 1 && (local == l->acc || local == l->rest))
		place[n++] = ix_iter(gen->arena, l->element);
	if (lane)
		place[n++] = lane;
	return frame_value(&gen->frame, local, place);
}

static Block over_elements(const Lanes *l, Block body)
{
	Gen *gen = l->nest->gen;
	if (l->nelements == 1)
		return body;
	return block_of(gen, stmt_loop(gen->program, LOOP_SERIAL, l->element, l->nelements, body));
}

Block lanes_over(const Lanes *l, int64_t lanes, Block body)
{
	LoopKind kind = l->wide ? LOOP_VECTOR : l->order.far ? LOOP_UNROLL : LOOP_SERIAL;
	return block_of(l->nest->gen, stmt_loop(l->nest->gen->program, kind, l->lane, lanes, body));
}

Block lanes_add(Lanes *l, const Ix *along, const Value *element)
{
	Nest *nest = l->nest;
	nest->by_iter[l->along->iter] = along;
	nest_values(nest);
	return nest_step(nest, stmt_set_at(nest->gen->arena, element, l->reduce, nest->value));
}

/* Steps [from, to), `lanes` at a time. */
static Block lane_steps(Lanes *l, Size from, Size to, int64_t lanes)
{
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	const Ix *along = ix_add(gen->program, ix_iter(gen->arena, l->along->var), lane);
	Block body = lanes_over(l, lanes, lanes_add(l, along, lanes_element(l, l->acc, lane)));
	const Stmt *loop = stmt_for(gen->arena, l->along->var, ix_size(gen->arena, from),
				    ix_size(gen->arena, to), over_elements(l, body));
	return block_of(gen, stmt_step(gen->arena, loop, lanes));
}

static Block single_steps(Lanes *l)
{
	Gen *gen = l->nest->gen;
	Block body =
		lanes_add(l, ix_iter(gen->arena, l->along->var), lanes_element(l, l->rest, NULL));
	return block_of(gen,
			stmt_for(gen->arena, l->along->var, ix_size(gen->arena, l->order.whole),
				 ix_size(gen->arena, l->along->extent), over_elements(l, body)));
}

static Block steps(Lanes *l)
{
	Gen *gen = l->nest->gen;
	Sizes *sizes = gen->program->sizes;
	Body body = {0};
	Size none = size_const(sizes, 0), wide = none;
	if (l->wide)
		wide = sums_whole(sizes, l->along->extent, l->order.wide);
	if (!size_same(wide, none))
		gen_append(gen, &body, lane_steps(l, none, wide, l->order.wide));
	if (!size_same(wide, l->order.whole))
		gen_append(gen, &body, lane_steps(l, wide, l->order.whole, l->order.lanes));
	if (l->has_rest)
		gen_append(gen, &body, single_steps(l));
	return body_block(&body);
}

const Value *lanes_combined(const Lanes *l, const Value *a, const Value *b)
{
	return value_binary(l->nest->gen->arena, l->reduce, a, b);
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
	LocalId part = gen_lanes(gen, arena_printf(gen->arena, "part%d", (int)n), sum->dtype, n);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, part, nest_neutral(l->nest)));
	const Stmt *set = stmt_set_at(gen->arena, lanes_element(l, part, lane), OP_NONE, sum);
	gen_append(gen, body, lanes_over(l, n, block_of(gen, set)));
	return part;
}

void lanes_store(const Lanes *l, const char *name, const Value *sum, Body *body)
{
	Gen *gen = l->nest->gen;
	LocalId local = gen_local(gen, name, sum->dtype);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, local, sum));
	nest_store_finished(l->nest, gen_local_value(gen, local), body);
}

/* The lanes of one element combined, and stored. */
static Block finish_element(Lanes *l)
{
	Body element = {0};
	int64_t n = l->order.lanes;
	LocalId lane_sum = l->wide ? lane_tree(l, &element, l->acc, l->order.wide, n) : l->acc;
	for (; n > l->order.least; n /= 2)
		lane_sum = lane_tree(l, &element, lane_sum, n, n / 2);
	const Value *value = lanes_pairs(l, lane_sum, NULL, 0, n, 1);
	if (l->has_rest)
		value = lanes_combined(l, value, lanes_element(l, l->rest, NULL));
	lanes_store(l, "sum", value, &element);
	return over_elements(l, body_block(&element));
}

LocalId lanes_declare(const Lanes *l, Body *body, const char *name, int64_t lanes)
{
	Gen *gen = l->nest->gen;
	int64_t extents[2];
	uint32_t rank = 0;
	if (l->nelements > 1)
		extents[rank++] = l->nelements;
	if (lanes)
		extents[rank++] = lanes;
	LocalId id = frame_local(&gen->frame, name, l->nest->value->dtype, extents, rank);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, id, nest_neutral(l->nest)));
	return id;
}

static void declare(Lanes *l, Body *body)
{
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	l->acc = lanes_declare(l, body, "acc", l->wide ? l->order.wide : l->order.lanes);
	l->rest = l->has_rest ? lanes_declare(l, body, "rest", 0) : l->acc;
	l->lane = gen_iter(gen, "lane");
	if (l->nelements == 1)
		return;
	l->element = gen_iter(gen, "element");
	const Loop *tiled = &nest->loops[nest->nresult - 1];
	nest->by_iter[tiled->iter] = ix_add(gen->program, ix_iter(gen->arena, tiled->var),
					    ix_iter(gen->arena, l->element));
}

void lanes_emit(Nest *nest, Op reduce, SumOrder order)
{
	Gen *gen = nest->gen;
	uint32_t n = nest->nresult;
	Lanes l = {.nest = nest,
		   .reduce = reduce,
		   .order = order,
		   .along = &nest->loops[nest->nloops - 1],
		   .nelements = order.together,
		   .wide = order.wide > 0};
	l.has_rest = !size_same(order.whole, l.along->extent);
	Body elements = {0};
	declare(&l, &elements);
	gen_append(gen, &elements, nest_wrap(nest, n, nest->nloops - 1, n, steps(&l)));
	gen_append(gen, &elements, finish_element(&l));
	if (l.nelements == 1) {
		gen_append(gen, &gen->top,
			   nest_wrap(nest, 0, n, nest->nloops, body_block(&elements)));
		return;
	}
	const Loop *tiled = &nest->loops[n - 1];
	const Stmt *loop = stmt_for(gen->arena, tiled->var, lanes_constant(&l, 0),
				    ix_size(gen->arena, tiled->extent), body_block(&elements));
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, n - 1, nest->nloops,
			     block_of(gen, stmt_step(gen->arena, loop, l.nelements))));
}
