/* A long sum in lanes: partial sums side by side in vectors, so that additions do not wait for each
 * other.
 *
 *   for o in 0..512
 *     local acc : f32 [64] = 0
 *     for i in 0..768 step 64: vector lane in 0..64: acc[lane] += x[o*784 + i + lane]
 *     for i in 768..784 step 16: vector lane in 0..16: acc[lane] += x[o*784 + i + lane]
 *     half16[lane] = (acc[lane] + acc[lane + 16]) + (acc[lane + 32] + acc[lane + 48])
 *     half8[lane] = half16[lane] + half16[lane + 8]
 *     half4[lane] = half8[lane] + half8[lane + 4]
 *     y[o] = (half4[0] + half4[1]) + (half4[2] + half4[3])
 *
 * What vector instructions compute goes so, in four vectors; all else in 16 lanes from the first step on, in
 * loops that GCC makes vectors of. Single steps that are left have a sum of their own. Elements that are not
 * neighbours (a trace) are read one by one and added to sums side by side, in registers (unroll). The order of
 * additions is written down in the loops and the same on every machine.
 */
#include "base/diag.h"
#include "lower/nest/lanes.h"
#include "lower/nest/mask.h"

enum { STEPS_FEW = 4 };

const Value *lanes_element(const Lanes *l, LocalId local, const Ix *lane)
{
	const KernelFrame *frame = &l->nest->gen->frame;
	uint32_t n = frame->locals.at[local].rank - (lane != NULL);
	const Ix *place[ELEMENT_AXES + 1];
	REQUIRE(n <= ELEMENT_AXES);
	for (uint32_t i = 0; i < n; i++)
		place[i] = l->at[i];
	place[n] = lane;
	return frame_value(frame, local, place);
}

Block lanes_over_elements(const Lanes *l, Block body)
{
	Gen *gen = l->nest->gen;
	LoopKind kind = l->unrolled ? LOOP_UNROLL : LOOP_SERIAL;
	for (uint32_t i = l->naxes; i-- > 0;)
		body = gen_loop(gen, kind, l->iters[i], l->extents[i], body);
	return body;
}

Block lanes_over(const Lanes *l, int64_t lanes, Block body)
{
	return gen_loop(l->nest->gen, l->kind, l->lane, lanes, body);
}

const Value *lanes_combined(const Lanes *l, const Value *a, const Value *b)
{
	if (!a || !b)
		return a ? a : b;
	return value_binary(l->nest->gen->arena, l->reduce, a, b);
}

LocalId lanes_declare(const Lanes *l, Body *body, const char *name, int64_t lanes)
{
	int64_t extents[ELEMENT_AXES + 1];
	for (uint32_t i = 0; i < l->naxes; i++)
		extents[i] = l->extents[i];
	extents[l->naxes] = lanes;
	return gen_declare(l->nest->gen, body, name, nest_neutral(l->nest), extents,
			   l->naxes + (lanes > 0));
}

/* ---- steps ---- */

Block lanes_add(Lanes *l, const Ix *along, const Value *element)
{
	Nest *nest = l->nest;
	nest->by_iter[l->along->iter] = along;
	nest_values(nest);
	return nest_step(nest, stmt_set_at(nest->gen->arena, element, l->reduce, nest->value));
}

/* `group` steps for each lane from `first` on, added up, added to the lanes of a local. */
static Block add_lanes(Lanes *l, const Ix *first, LocalId to, int64_t lanes, int64_t group)
{
	Nest *nest = l->nest;
	Program *program = nest->gen->program;
	const Ix *lane = ix_iter(program->arena, l->lane);
	const Ix *along = ix_add(program, first, ix_times(program, lane, group));
	const Value *sum = NULL;
	for (int64_t q = 0; q < group; q++) {
		nest->by_iter[l->along->iter] = ix_plus(program, along, q);
		nest_values(nest);
		sum = lanes_combined(l, sum, nest->value);
	}
	const Stmt *add = stmt_set_at(program->arena, lanes_element(l, to, lane), l->reduce, sum);
	return lanes_over_elements(l, lanes_over(l, lanes, nest_step(nest, add)));
}

static void loop_over(Lanes *l, Size lo, Size hi, int64_t step, Block body)
{
	Gen *gen = l->nest->gen;
	Stmt *loop = stmt_for(gen->arena, l->along->var, ix_size(gen->arena, lo),
			      ix_size(gen->arena, hi), body);
	loop->step = step;
	if (size_is(gen->program->sizes, lo, 0))
		loop->mask = l->mask;
	PUSH(gen->arena, l->loops.stmts, loop);
}

bool lanes_are_few(const Lanes *l)
{
	const Nest *nest = l->nest;
	int64_t steps;
	return l->unrolled && l->order.group == 1 && nest->nloops - nest->nresult >= 2 &&
	       size_is_const(nest->gen->program->sizes, l->order.whole, &steps) &&
	       steps <= STEPS_FEW * l->order.lanes;
}

/* The whole lanes from a step on. */
static void add_whole(Lanes *l, Size from)
{
	Gen *gen = l->nest->gen;
	const SumOrder *order = &l->order;
	int64_t end = lanes_are_few(l) ? nest_known(l->nest, order->whole, 0) : 0;
	for (int64_t at = 0; at < end; at += order->lanes)
		gen_append(gen, &l->loops,
			   add_lanes(l, gen_const(l->nest->gen, at), l->acc, order->lanes, 1));
	if (end > 0) {
		gen_append(gen, &l->loops, l->ahead);
		return;
	}
	Body step = {0};
	gen_append(gen, &step,
		   add_lanes(l, ix_iter(gen->arena, l->along->var), l->acc, order->lanes, 1));
	gen_append(gen, &step, l->ahead);
	loop_over(l, from, order->whole, order->lanes, body_block(&step));
}

/* In groups, or of more lanes, first. */
static void add_lane_steps(Lanes *l)
{
	Gen *gen = l->nest->gen;
	const SumOrder *order = &l->order;
	int64_t lanes = order->wide ? order->wide : order->lanes, step = lanes * order->group;
	Size from = size_const(gen->program->sizes, 0);
	const Ix *first = ix_iter(gen->arena, l->along->var);
	if (size_same(order->whole, from))
		return;
	l->has_acc = true;
	l->acc = lanes_declare(l, &l->top, "acc", lanes);
	if (step > order->lanes) {
		Size end = sums_whole(gen->program->sizes, l->along->extent, step);
		Block add = add_lanes(l, first, l->acc, lanes, order->group);
		if (!size_same(from, end))
			loop_over(l, from, end, step, add);
		from = end;
	}
	if (!size_same(from, order->whole))
		add_whole(l, from);
}

/* Halves, quarters, ... of the lanes that are left of a known extent. Where single steps begin. */
static Size add_halves(Lanes *l)
{
	Gen *gen = l->nest->gen;
	int64_t at = nest_known(l->nest, l->order.whole, -1),
		extent = nest_known(l->nest, l->along->extent, -1);
	if (!l->order.halves || extent < 0)
		return l->order.whole;
	for (int64_t lanes = l->order.lanes / 2; lanes >= l->order.least; lanes /= 2) {
		if (!((extent - at) & lanes))
			continue;
		int log = __builtin_ctzll((unsigned long long)lanes);
		const char *name = arena_printf(gen->arena, "rest%d", (int)lanes);
		l->has_half[log] = true;
		l->halves[log] = lanes_declare(l, &l->top, name, lanes);
		gen_append(gen, &l->loops,
			   add_lanes(l, gen_const(l->nest->gen, at), l->halves[log], lanes, 1));
		at += lanes;
	}
	return size_const(gen->program->sizes, at);
}

/* Single steps. Few that are known are straight lines in tiles: a loop over them might be compiled to products in
 * lanes that are rounded before they are added, in one tile and not in another. */
static void add_single(Lanes *l, Size from)
{
	Gen *gen = l->nest->gen;
	int64_t extent;
	bool known = size_is_const(gen->program->sizes, l->along->extent, &extent);
	l->has_rest = !size_same(from, l->along->extent);
	if (!l->has_rest)
		return;
	l->rest = lanes_declare(l, &l->top, "rest", 0);
	const Ix *at = ix_iter(gen->arena, l->along->var);
	Stmt *loop =
		stmt_for(gen->arena, l->along->var, ix_size(gen->arena, from),
			 ix_size(gen->arena, l->along->extent),
			 lanes_over_elements(l, lanes_add(l, at, lanes_element(l, l->rest, NULL))));
	loop->loop = known && l->unrolled ? LOOP_UNROLL : LOOP_SERIAL;
	PUSH(gen->arena, l->loops.stmts, loop);
}

void lanes_steps(Lanes *l)
{
	for (uint32_t i = 0; i < l->naxes; i++)
		l->at[i] = ix_iter(l->nest->gen->arena, l->iters[i]);
	add_lane_steps(l);
	add_single(l, add_halves(l));
}

/* ---- adding up ---- */

static const Value *pairs_from(const Lanes *l, LocalId local, const Ix *lane, int64_t from,
			       int64_t parts, int64_t n)
{
	if (parts == 1) {
		const Ix *at = gen_const(l->nest->gen, from);
		return lanes_element(l, local, lane ? ix_add(l->nest->gen->program, lane, at) : at);
	}
	int64_t half = parts / 2;
	return lanes_combined(l, pairs_from(l, local, lane, from, half, n),
			      pairs_from(l, local, lane, from + half * n, half, n));
}

const Value *lanes_pairs(const Lanes *l, LocalId local, const Ix *lane, int64_t parts, int64_t n)
{
	return pairs_from(l, local, lane, 0, parts, n);
}

/* `lanes` of a local, NULL: of none, and what is left in n of them: a new local of n lanes. */
static LocalId fewer_lanes(const Lanes *l, Body *body, const LocalId *from, int64_t lanes,
			   int64_t n)
{
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	int log = __builtin_ctzll((unsigned long long)n);
	const Value *sum = from ? lanes_pairs(l, *from, lane, lanes / n, n) : NULL;
	if (log < HALVES_MOST && l->has_half[log])
		sum = lanes_combined(l, sum, lanes_element(l, l->halves[log], lane));
	const char *name = arena_printf(gen->arena, "half%d", (int)n);
	LocalId to = gen_declare(gen, body, name, nest_neutral(l->nest), &n, 1);
	const Stmt *set = stmt_set_at(gen->arena, lanes_element(l, to, lane), OP_NONE, sum);
	gen_append(gen, body, lanes_over(l, n, block_of(gen, set)));
	return to;
}

bool lanes_are_partial(const Lanes *l)
{
	bool partial = l->has_acc;
	for (int log = 0; log < HALVES_MOST; log++)
		partial |= l->has_half[log];
	return partial;
}

LocalId lanes_tree(const Lanes *l, Body *body)
{
	const LocalId *from = l->has_acc ? &l->acc : NULL;
	LocalId sum = l->acc;
	int64_t lanes = l->order.wide ? l->order.wide : l->order.lanes;
	for (int64_t n = l->order.wide ? l->order.lanes : lanes / 2; n >= l->order.least; n /= 2) {
		if (!from && !l->has_half[__builtin_ctzll((unsigned long long)n)])
			continue;
		sum = fewer_lanes(l, body, from, lanes, n);
		from = &sum;
		lanes = n;
	}
	return sum;
}

const Value *lanes_with_rest(const Lanes *l, const Value *sum)
{
	return l->has_rest ? lanes_combined(l, sum, lanes_element(l, l->rest, NULL)) : sum;
}

const Value *lanes_sum(const Lanes *l, Body *body)
{
	const Value *sum = NULL;
	if (lanes_are_partial(l))
		sum = lanes_pairs(l, lanes_tree(l, body), NULL, l->order.least, 1);
	return lanes_with_rest(l, sum);
}

/* ---- element by element ---- */

void lanes_store(const Lanes *l, const char *name, const Value *sum, Body *body)
{
	nest_store_finished(l->nest, gen_let(l->nest->gen, body, name, sum), body);
}

/* What a mask leaves of the steps: all of them where what it hides is not neutral. */
static void see_mask(Lanes *l, const Masked *masked)
{
	Gen *gen = l->nest->gen;
	LoopMask *mask = nest_mask(l->nest, masked);
	l->mask = mask;
	if (masked->value->kind == VALUE_CONST)
		return;
	const Value *other = value_binary(gen->arena, OP_NE, masked->value, nest_neutral(l->nest));
	nest_mask_unless(l->nest,
			 gen_let(gen, &l->top, "whole", value_cast(gen->arena, DTYPE_I32, other)),
			 mask);
}

void lanes_emit(Nest *nest, const NestPlan *plan)
{
	Op reduce = plan->reduce;
	SumOrder order = plan->order;
	Gen *gen = nest->gen;
	uint32_t n = nest->nresult;
	Lanes l = {.nest = nest,
		   .reduce = reduce,
		   .order = order,
		   .along = &nest->loops[nest->nloops - 1],
		   .kind = order.wide  ? LOOP_VECTOR
			   : order.far ? LOOP_UNROLL
				       : LOOP_SERIAL,
		   .lane = gen_iter(gen, "lane")};
	Body element = {0};
	if (plan->masked)
		see_mask(&l, plan->masked);
	lanes_steps(&l);
	lanes_store(&l, "sum", lanes_sum(&l, &element), &element);
	gen_append(gen, &l.top, nest_wrap(nest, n, nest->nloops - 1, n, body_block(&l.loops)));
	gen_append(gen, &l.top, body_block(&element));
	gen_append(gen, &gen->top, nest_wrap(nest, 0, n, nest->nloops, body_block(&l.top)));
}
