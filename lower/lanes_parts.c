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
#include "lower/lanes.h"

typedef struct Few {
	Lanes lanes;
	const Loop *elements; /* NULL: one element, of each member of a batch */
	uint32_t members;  /* loops over these */
	BufferId parts;	   /* the lanes of each part; BUFFER_NONE: there are none */
} Few;

static Program *program_of(const Few *f) { return f->lanes.nest->gen->program; }

/* acc[lane] += value, from the row on that `row` says. */
static Block add_rows(Few *f, const Ix *row, LocalId acc)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	const Ix *lane = ix_iter(gen->arena, l->lane);
	if (f->elements)
		l->nest->by_iter[f->elements->iter] = lane;
	else
		row = ix_add(gen->program, row, lane);
	return lanes_over(l, f->lanes.order.lanes, lanes_add(l, row, lanes_element(l, acc, lane)));
}

/* local[lane] = value in all lanes */
static Block set_lanes(const Few *f, LocalId local, Op acc, const Value *value)
{
	const Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	const Value *element = lanes_element(l, local, ix_iter(gen->arena, l->lane));
	return lanes_over(l, f->lanes.order.lanes,
			  block_of(gen, stmt_set_at(gen->arena, element, acc, value)));
}

/* for w in 0..hi step rows: acc += the row `first` + w */
static const Stmt *row_loop(Few *f, const Ix *first, const Ix *hi, LocalId acc)
{
	Gen *gen = f->lanes.nest->gen;
	IterVar w = f->lanes.along->var;
	const Ix *row = ix_add(gen->program, first, ix_iter(gen->arena, w));
	Block body = add_rows(f, row, acc);
	return stmt_step(gen->arena, stmt_for(gen->arena, w, zero_ix(gen), hi, body),
			 f->lanes.order.rows);
}

/* A part's place among those of all members. */
static const Ix *part_number(const Few *f, IterVar part)
{
	const Nest *nest = f->lanes.nest;
	Program *program = program_of(f);
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
	Gen *gen = l->nest->gen;
	Program *program = gen->program;
	Body body = {0};
	IterVar part = gen_iter(gen, "part");
	const Ix *number = ix_iter(gen->arena, part), *lane = ix_iter(gen->arena, l->lane);
	const Ix *first = ix_times(program, number, f->lanes.order.part_rows);
	const Ix *rest = ix_times(program, first, -1);
	rest = ix_add(program, ix_size(gen->arena, f->lanes.order.whole), rest);
	const Ix *at = ix_times(program, part_number(f, part), f->lanes.order.lanes);
	at = ix_add(program, at, lane);
	const Ix *end = ix_size(gen->arena, f->lanes.order.nparts);
	LocalId acc = lanes_declare(l, &body, "acc", f->lanes.order.lanes);
	const Ix *hi =
		ix_binary(program, IX_MIN, lanes_constant(l, f->lanes.order.part_rows), rest);
	PUSH(gen->arena, body.stmts, row_loop(f, first, hi, acc));
	const Stmt *store =
		stmt_store(gen->arena, f->parts, at, OP_NONE, lanes_element(l, acc, lane));
	gen_append(gen, &body, lanes_over(l, f->lanes.order.lanes, block_of(gen, store)));
	const Stmt *loop = stmt_for(gen->arena, part, zero_ix(gen), end, body_block(&body));
	gen_append(gen, before, over_members(f, block_of(gen, loop)));
	LocalId sum = lanes_declare(l, &gen->top, "sum", f->lanes.order.lanes);
	Block add = set_lanes(f, sum, l->reduce, value_load(program, f->parts, at));
	PUSH(gen->arena, gen->top.stmts, stmt_for(gen->arena, part, zero_ix(gen), end, add));
	return sum;
}

static LocalId sum_at_once(Few *f)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	LocalId acc = lanes_declare(l, &gen->top, "acc", f->lanes.order.lanes);
	PUSH(gen->arena, gen->top.stmts,
	     row_loop(f, zero_ix(gen), ix_size(gen->arena, f->lanes.order.whole), acc));
	return acc;
}

/* Loops over the elements around a body. */
static Block over_elements(const Few *f, Block body)
{
	return f->elements ? nest_wrap(f->lanes.nest, 0, 1, 2, body) : body;
}

static void enter_elements(Few *f)
{
	Nest *nest = f->lanes.nest;
	if (f->elements)
		nest->by_iter[f->elements->iter] = ix_iter(nest->gen->arena, f->elements->var);
}

/* rest[v] += the rows that fill no lanes */
static LocalId sum_rest(Few *f)
{
	Lanes *l = &f->lanes;
	Gen *gen = l->nest->gen;
	LocalId rest = lanes_declare(l, &gen->top, "rest", f->lanes.order.elements);
	enter_elements(f);
	const Ix *row = ix_iter(gen->arena, l->along->var);
	const Ix *element = f->elements ? ix_iter(gen->arena, f->elements->var) : zero_ix(gen);
	Block body = over_elements(f, lanes_add(l, row, lanes_element(l, rest, element)));
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, l->along->var, ix_size(gen->arena, f->lanes.order.whole),
		      ix_size(gen->arena, l->along->extent), body));
	return rest;
}

/* The lanes of each element combined, and stored. `total` is in memory: its index is no constant. */
static void finish(Few *f, LocalId acc, LocalId rest)
{
	Lanes *l = &f->lanes;
	Nest *nest = l->nest;
	Gen *gen = nest->gen;
	Body element = {0};
	LocalId total = lanes_declare(l, &gen->top, "total", f->lanes.order.lanes);
	const Value *lanes = lanes_element(l, acc, ix_iter(gen->arena, l->lane));
	gen_append(gen, &gen->top, set_lanes(f, total, OP_NONE, lanes));
	enter_elements(f);
	nest_values(nest);
	const Ix *at = f->elements ? ix_iter(gen->arena, f->elements->var) : zero_ix(gen);
	const Value *value =
		lanes_pairs(l, total, at, 0, f->lanes.order.rows, f->lanes.order.elements);
	if (rest != acc)
		value = lanes_combined(l, value, lanes_element(l, rest, at));
	lanes_store(l, "element", value, &element);
	gen_append(gen, &gen->top, over_elements(f, body_block(&element)));
}

void lanes_parts_emit(Nest *nest, Op reduce, SumOrder order, BufferId parts)
{
	Few f = {.lanes = {.nest = nest, .reduce = reduce, .order = order, .nelements = 1},
		 .members = nest->batched ? nest->nresult : 0,
		 .parts = parts};
	f.lanes.along = &nest->loops[nest->nloops - 1];
	f.elements = nest->nresult > f.members ? &nest->loops[0] : NULL;
	Lanes *l = &f.lanes;
	Gen *gen = nest->gen;
	l->lane = gen_iter(gen, "lane");
	l->wide = order.vectors;
	Body all = gen->top;
	gen->top = (Body){0};
	LocalId acc = parts == BUFFER_NONE ? sum_at_once(&f) : sum_parts(&f, &all);
	LocalId rest = size_same(f.lanes.order.whole, l->along->extent) ? acc : sum_rest(&f);
	finish(&f, acc, rest);
	gen_append(gen, &all, over_members(&f, body_block(&gen->top)));
	gen->top = all;
}
