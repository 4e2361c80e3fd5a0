/* Long sums of one element or of few neighbours, all elements side by side in lanes, in parts for
 * threads.
 *
 *   y[v] = sum of x[w*4 + v] over w, for v in 0..4, becomes
 *
 *   for part in 0..P                                      chunks of work (transform/parallel.c)
 *     local acc : f32 [64] = 0
 *     for w in 0..min(R, whole - part*R) step 16          rows of a part, as many as fill the lanes
 *       vector lane in 0..64
 *         acc[lane] += x[(part*R + w)*4 + lane]
 *     vector lane in 0..64
 *       parts[part*64 + lane] = acc[lane]
 *   local sum : f32 [64] = 0
 *   for part in 0..P
 *     vector lane in 0..64
 *       sum[lane] += parts[part*64 + lane]
 *   for w in whole..n: for v in 0..4: rest[v] += x[w*4 + v]
 *   for v in 0..4: y[v] = sum[v] + sum[v + 4] + ... + rest[v]      as a fixed tree
 *
 * Elements that are products of columns of short rows have lanes of their own, which go along the rows:
 *
 *   y[i, j] = sum of x[w*3 + i] * x[w*3 + j] over w, for i and j in 0..3, becomes
 *
 *   local acc : f32 [144] = 0
 *   for w in .. step 16
 *     vector lane in 0..16
 *       acc[lane] += x[(w + lane)*3] * x[(w + lane)*3]
 *       acc[lane + 16] += x[(w + lane)*3] * x[(w + lane)*3 + 1], ...
 *
 * whose rows loops/vector/row_loads.c loads as they lie.
 *
 * How many parts there are, and where they end, follows from the extents alone (sums/order.c). A sum
 * that fills no two parts has none: acc is the sum. What members of a batch sum follows from one of
 * them alone: they have parts where one is so long that it leaves the second cache, so that nothing is lost
 * where other kernels over the same rows go row by row with it,
 *
 *   for m in 0..n: for part in 0..P: ...  parts[(m*P + part)*64 + lane] = acc[lane]
 *   for m in 0..n: ...                    y[m] = ...
 *
 * and no others, or their bits would depend on how few they are.
 */
#include "lower/nest/lanes.h"

typedef struct Few {
	Lanes lanes;
	uint32_t members;  /* loops over these, */
	uint32_t nloops;   /* then over elements; none: one element, of each member of a batch */
	BufferId parts;	   /* the lanes of each part; BUFFER_NONE: there are none */
} Few;

/* local[lane] = value in all lanes */
static Block set_lanes(const Lanes *l, LocalId local, Op acc, const Value *value)
{
	Gen *gen = l->nest->gen;
	const Value *element = lanes_element(l, local, ix_iter(gen->arena, l->lane));
	return lanes_over(l, l->order.lanes,
			  block_of(gen, stmt_set_at(gen->arena, element, acc, value)));
}

/* acc[e*rows + lane] += step `row` of element e, for all e */
static Block add_in_own_lanes(Few *f, LocalId acc, const Ix *row)
{
	Lanes *l = &f->lanes;
	const Nest *nest = l->nest;
	Program *program = nest->gen->program;
	const Ix *lane = ix_iter(program->arena, l->lane);
	Body all = {0};
	for (int64_t e = 0; e < l->order.elements; e++) {
		int64_t left = e;
		for (uint32_t i = f->nloops; i-- > 0;) {
			int64_t extent = nest_known(nest, nest->loops[i].extent, 1);
			nest->by_iter[nest->loops[i].iter] = gen_const(nest->gen, left % extent);
			left /= extent;
		}
		const Ix *at = ix_plus(program, lane, e * l->order.rows);
		gen_append(nest->gen, &all, lanes_add(l, row, lanes_element(l, acc, at)));
	}
	return lanes_over(l, l->order.rows, body_block(&all));
}

/* acc[lane] of so many rows from `first` on; a new local. */
static LocalId sum_rows(Few *f, Body *body, const Ix *first, const Ix *rows)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	const Ix *row = ix_add(gen->program, first, ix_iter(gen->arena, l->along->var));
	LocalId acc = lanes_declare(l, body, "acc", l->order.lanes);
	Block add;
	if (l->order.own_lanes) {
		add = add_in_own_lanes(f, acc, ix_add(gen->program, row, lane));
	} else {
		if (f->nloops)
			l->nest->by_iter[l->nest->loops[0].iter] = lane;
		else
			row = ix_add(gen->program, row, lane);
		add = lanes_over(l, l->order.lanes, lanes_add(l, row, lanes_element(l, acc, lane)));
	}
	gen_append(gen, body,
		   gen_steps(gen, l->along->var, zero_ix(gen), rows, l->order.rows, add));
	return acc;
}

/* A part's place among those of all members. */
static const Ix *part_number(const Few *f, IterVar part)
{
	const Nest *nest = f->lanes.nest;
	Program *program = nest->gen->program;
	const Ix *number = zero_ix(nest->gen);
	for (uint32_t i = 0; i < f->members; i++) {
		number = ix_mul(program, number, ix_size(program->arena, nest->loops[i].extent));
		number = ix_add(program, number, ix_iter(program->arena, nest->loops[i].var));
	}
	number = ix_mul(program, number, ix_size(program->arena, f->lanes.order.nparts));
	return ix_add(program, number, ix_iter(program->arena, part));
}

/* Loops over the members around all of a body. */
static Block over_members(const Few *f, Block body)
{
	const Nest *nest = f->lanes.nest;
	return nest_wrap(nest, 0, f->members, nest->nloops, body);
}

/* Each part's lanes stored, in `before`, then all added up in a local. */
static LocalId sum_parts(Few *f, Body *before)
{
	Lanes *l = &f->lanes;
	const SumOrder *order = &l->order;
	Gen *gen = l->nest->gen;
	Program *program = gen->program;
	Body body = {0};
	IterVar part = gen_iter(gen, "part");
	const Ix *lane = ix_iter(gen->arena, l->lane), *end = ix_size(gen->arena, order->nparts);
	const Ix *first = ix_times(program, ix_iter(gen->arena, part), order->part_rows);
	const Ix *rest = ix_minus(program, ix_size(gen->arena, order->whole), first);
	const Ix *at = ix_times(program, part_number(f, part), order->lanes);
	at = ix_add(program, at, lane);
	LocalId acc = sum_rows(f, &body, first,
			       ix_binary(program, IX_MIN, gen_const(gen, order->part_rows), rest));
	const Stmt *store =
		stmt_store(gen->arena, f->parts, at, OP_NONE, lanes_element(l, acc, lane));
	gen_append(gen, &body, lanes_over(l, order->lanes, block_of(gen, store)));
	gen_append(gen, before,
		   over_members(f, gen_steps(gen, part, zero_ix(gen), end, 1, body_block(&body))));
	LocalId sum = lanes_declare(l, &gen->top, "sum", order->lanes);
	Block add = set_lanes(l, sum, l->reduce, value_load(program, f->parts, at));
	gen_append(gen, &gen->top, gen_steps(gen, part, zero_ix(gen), end, 1, add));
	return sum;
}

/* Loops over the elements around a body. */
static Block over_elements(const Few *f, Block body)
{
	return nest_wrap(f->lanes.nest, f->members, f->members + f->nloops, f->lanes.nest->nloops,
			 body);
}

/* The number of the element at hand in loops over them. */
static const Ix *enter_elements(Few *f)
{
	Nest *nest = f->lanes.nest;
	Program *program = nest->gen->program;
	const Ix *number = zero_ix(nest->gen);
	for (uint32_t i = f->members; i < f->members + f->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		const Ix *at = ix_iter(program->arena, loop->var);
		number = ix_times(program, number, nest_known(nest, loop->extent, 1));
		number = ix_add(program, number, at);
		nest->by_iter[loop->iter] = at;
	}
	return number;
}

/* rest[v] += the rows that fill no lanes */
static void sum_rest(Few *f)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	l->has_rest = true;
	l->rest = lanes_declare(l, &gen->top, "rest", l->order.elements);
	const Ix *element = enter_elements(f), *row = ix_iter(gen->arena, l->along->var);
	Block add = over_elements(f, lanes_add(l, row, lanes_element(l, l->rest, element)));
	gen_append(gen, &gen->top,
		   gen_steps(gen, l->along->var, ix_size(gen->arena, l->order.whole),
			     ix_size(gen->arena, l->along->extent), 1, add));
}

/* The lanes of each element combined, and stored. `total` is in memory: its index is no constant. */
static void finish(Few *f, LocalId acc)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	Body element = {0};
	LocalId total = lanes_declare(l, &gen->top, "total", l->order.lanes);
	const Value *lanes = lanes_element(l, acc, ix_iter(gen->arena, l->lane));
	gen_append(gen, &gen->top, set_lanes(l, total, OP_NONE, lanes));
	const Ix *at = enter_elements(f);
	nest_values(l->nest);
	bool own = l->order.own_lanes;
	const Ix *first = own ? ix_times(gen->program, at, l->order.rows) : at;
	const Value *value =
		lanes_pairs(l, total, first, l->order.rows, own ? 1 : l->order.elements);
	if (l->has_rest)
		value = lanes_combined(l, value, lanes_element(l, l->rest, at));
	lanes_store(l, "element", value, &element);
	gen_append(gen, &gen->top, over_elements(f, body_block(&element)));
}

void lanes_parts_emit(Nest *nest, Op reduce, SumOrder order, BufferId parts)
{
	Gen *gen = nest->gen;
	uint32_t members = nest->batched ? nest->nresult : 0;
	Few f = {.lanes = {.nest = nest,
			   .reduce = reduce,
			   .order = order,
			   .along = &nest->loops[nest->nloops - 1],
			   .kind = order.vectors ? LOOP_VECTOR : LOOP_SERIAL,
			   .lane = gen_iter(gen, "lane")},
		 .members = members,
		 .nloops = nest->nresult - members,
		 .parts = parts};
	const Ix *whole = ix_size(gen->arena, order.whole);
	Body all = gen->top;
	gen->top = (Body){0};
	LocalId acc = parts == BUFFER_NONE ? sum_rows(&f, &gen->top, zero_ix(gen), whole)
					   : sum_parts(&f, &all);
	if (!size_same(order.whole, f.lanes.along->extent))
		sum_rest(&f);
	finish(&f, acc);
	gen_append(gen, &all, over_members(&f, body_block(&gen->top)));
	gen->top = all;
}
