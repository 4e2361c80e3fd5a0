/* What a block does with a slice of keys (decode.c). */
#include <math.h>

#include "loops/walk.h"
#include "transform/gpu/decode_slice.h"

/* ---- what is read ---- */

/* The value at a key of the slice and an element. */
static const Value *value_at(const Slices *p, const Value *value, const Ix *key, const Ix *element)
{
	const Ix **iters = kernel_iters(p->g.arena, p->g.kernel, 0);
	iters[p->s->key] = key;
	iters[p->s->step] = element;
	iters[p->d->column->iter] = element;
	Rewrite rewrite = {.program = p->g.program, .iters = iters};
	return rewrite_alone(&rewrite, value);
}

/* Blocks of a cluster have slices in turn. */
static const Ix *slice_number(const Slices *p)
{
	const Ix *slice = iter(&p->g, p->slice);
	return p->cut.blocks ? at_line(p, iter(&p->g, p->round), p->cut.blocks, slice) : slice;
}

static const Ix *key_at(const Slices *p, const Ix *in_slice)
{
	return at_line(p, slice_number(p), p->cut.keys, in_slice);
}

static Block if_key(const Slices *p, const Ix *key, Block body)
{
	return if_below(&p->g, key, sized(&p->g, p->s->keys), body);
}

typedef struct LaneIters {
	IterVar group, lane, time, element;
} LaneIters;

static LaneIters lane_iters(Slices *p)
{
	Tiling *g = &p->g;
	return (LaneIters){tiling_iter(g, "group"), tiling_iter(g, "lane"),
			   tiling_iter(g, "time"), tiling_iter(g, "element")};
}

static Block in_lanes(const Slices *p, const LaneIters *i, const Lanes *l, Block body)
{
	body = loop_of(&p->g, LOOP_BLOCK, i->lane, l->lanes, body);
	return loop_of(&p->g, LOOP_BLOCK, i->group, l->groups, body);
}

static const Ix *element_of(const Slices *p, const LaneIters *i, const Lanes *l)
{
	return plus(&p->g, times(&p->g, iter(&p->g, i->lane), l->width), iter(&p->g, i->element));
}

/* Of the keys of the slice. */
static const Ix *own_key(const Slices *p, const LaneIters *i, const Lanes *l)
{
	return plus(&p->g, times(&p->g, iter(&p->g, i->time), l->groups), iter(&p->g, i->group));
}

static const Value *next_at(const Slices *p, LocalId next, const LaneIters *i)
{
	const Tiling *g = &p->g;
	const Ix *at[] = {iter(g, i->group), iter(g, i->lane), iter(g, i->time),
			  iter(g, i->element)};
	return tiling_element(g, next, at);
}

static LocalId next_local(Slices *p, const Lanes *l)
{
	return tiling_local(&p->g, (KernelLocal){.name = "next",
						 .rank = 4,
						 .extent = {(uint32_t)l->groups, (uint32_t)l->lanes,
							    (uint32_t)l->times, (uint32_t)l->width},
						 .nthreads = 2});
}

/* next = the value at all keys of the thread, as far as there are any */
static Block load(Slices *p, const Value *value, const Lanes *l, LocalId next)
{
	LaneIters i = lane_iters(p);
	const Ix *key = key_at(p, own_key(p, &i, l));
	const Value *read = value_at(p, value, key, element_of(p, &i, l));
	Block body = block_one(p->g.arena,
			       stmt_set_at(p->g.arena, next_at(p, next, &i), OP_NONE, read));
	body = if_key(p, key, loop_of(&p->g, LOOP_VECTOR, i.element, l->width, body));
	body = loop_of(&p->g, LOOP_UNROLL, i.time, l->times, body);
	return in_lanes(p, &i, l, body);
}

/* ---- rows ---- */

Block slice_rows(const Slices *p, Block body)
{
	for (uint32_t i = p->d->nrows; i-- > 0;) {
		int64_t n = 0;
		size_is_const(p->g.program->sizes, p->d->rows[i]->hi->size, &n);
		body = loop_of(&p->g, LOOP_UNROLL, p->d->rows[i]->iter, n, body);
	}
	return body;
}

/* from + from at the places of an iterator from 0 to n, in its order; or the greatest */
static LocalId fold_of(Slices *p, Body *body, const char *name, Op op, IterVar i, int64_t n,
		       const Value *from)
{
	LocalId local = scalar(p, body, name, constant(p, op == OP_ADD ? 0 : -INFINITY));
	Block add_one = block_one(p->g.arena, stmt_set(p->g.arena, local, op, from));
	add(&p->g, body, loop_of(&p->g, LOOP_SERIAL, i, n, add_one));
	return local;
}

/* ---- scores ---- */

/* Where a lane's part of a score is; no two lanes of a warp meet in a bank. */
static const Ix *part_of_score(const Slices *p, const Ix *key, const Ix *lane)
{
	const Ix *line = at_line(p, row_of(p), p->cut.keys, key);
	return at_line(p, line, p->of_keys.lanes + 1, lane);
}

/* parts = the sum of the products of the lane's elements, for each row and key of the thread */
static Block multiply(Slices *p)
{
	LaneIters i = lane_iters(p);
	const Lanes *l = &p->of_keys;
	Tiling *g = &p->g;
	Body row = {0}, key = {0};
	IterVar lane = tiling_iter(g, "element");
	LocalId query = tiling_local(g, (KernelLocal){.name = "query",
						      .rank = 1,
						      .extent = {(uint32_t)l->width}});
	const Ix *of_lane[] = {iter(g, lane)}, *of_element[] = {iter(g, i.element)};
	const Ix *element = plus(g, times(g, iter(g, i.lane), l->width), of_lane[0]);
	push(p, &row, stmt_local(g->arena, query, constant(p, 0)));
	Block set = block_one(g->arena,
			      stmt_set_at(g->arena, tiling_element(g, query, of_lane), OP_NONE,
					  value_at(p, p->s->query, number(g, 0), element)));
	add(g, &row, loop_of(g, LOOP_VECTOR, lane, l->width, set));
	const Value *product = binary(p, OP_MUL, tiling_element(g, query, of_element),
				      next_at(p, p->next_keys, &i));
	LocalId part = scalar(p, &key, "part", constant(p, 0));
	Block sum = block_one(g->arena, stmt_set(g->arena, part, OP_ADD, product));
	add(g, &key, loop_of(g, LOOP_UNROLL, i.element, l->width, sum));
	push(p, &key, stmt_store(g->arena, p->parts,
				 part_of_score(p, own_key(p, &i, l), iter(g, i.lane)), OP_NONE,
				 read(p, part)));
	add(g, &row, loop_of(g, LOOP_UNROLL, i.time, l->times, body_block(&key)));
	return in_lanes(p, &i, l, slice_rows(p, body_block(&row)));
}

/* seen = what the row sees of the sum of all lanes' parts */
static Block see(Slices *p)
{
	Tiling *g = &p->g;
	IterVar key = tiling_iter(g, "key"), lane = tiling_iter(g, "lane");
	const Ix *in_slice = iter(g, key), *whole = key_at(p, in_slice);
	Body body = {0};
	LocalId score = fold_of(p, &body, "score", OP_ADD, lane, p->of_keys.lanes,
				loaded(p, p->parts, part_of_score(p, in_slice, iter(g, lane))));
	LocalId seen = scalar(p, &body, "seen", constant(p, -INFINITY));
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	iters[p->s->key] = whole;
	ValueTwin twin = {read(p, p->s->score), read(p, score)};
	Rewrite rewrite = {.program = g->program, .iters = iters, .values = &twin, .nvalues = 1};
	Block own = block_one(g->arena, stmt_set(g->arena, seen, OP_NONE,
						 rewrite_alone(&rewrite, p->s->seen)));
	add(g, &body, if_key(p, whole, own));
	push(p, &body, stmt_store(g->arena, p->seen, at_line(p, row_of(p), p->cut.keys, in_slice),
				  OP_NONE, read(p, seen)));
	return loop_of(g, LOOP_BLOCK, key, p->cut.keys, slice_rows(p, body_block(&body)));
}

/* ---- weights ---- */

const Value *slice_base(const Slices *p, const Value *top)
{
	const Value *args[] = {top, constant(p, -INFINITY)};
	const Value *hidden = value_op(p->g.arena, OP_EQ, DTYPE_F32, args, 2);
	return value_where(p->g.arena, hidden, constant(p, 0), top);
}

static const Stmt *store_top(const Slices *p, const Value *top)
{
	const Ix *place = place_of(p, iter(&p->g, p->slice), 1, number(&p->g, 0));
	return p->cut.blocks ? stmt_store(p->g.arena, p->top, row_of(p), OP_NONE, top)
			     : stmt_store(p->g.arena, p->tops, place, OP_NONE, top);
}

/* weights = exp(seen - the greatest of the slice), which the first thread stores */
static Block weigh(Slices *p)
{
	Tiling *g = &p->g;
	IterVar key = tiling_iter(g, "key"), other = tiling_iter(g, "other");
	const Ix *row = row_of(p), *at = at_line(p, row, p->cut.keys, iter(g, key));
	Body body = {0};
	LocalId top = fold_of(p, &body, "most", OP_MAX, other, p->cut.keys,
			      loaded(p, p->seen, at_line(p, row, p->cut.keys, iter(g, other))));
	LocalId base = scalar(p, &body, "base", slice_base(p, read(p, top)));
	const Value *below = binary(p, OP_SUB, loaded(p, p->seen, at), read(p, base));
	push(p, &body, stmt_store(g->arena, p->weights, at, OP_NONE, exponent(p, below)));
	Block store = block_one(g->arena, store_top(p, read(p, top)));
	add(g, &body, if_below(g, iter(g, key), number(g, 1), store));
	return loop_of(g, LOOP_BLOCK, key, p->cut.keys, slice_rows(p, body_block(&body)));
}

/* ---- sums ---- */

/* Elements of a row, from a group of threads. */
static const Ix *group_of_row(const Slices *p, const Ix *group)
{
	return at_line(p, row_of(p), p->of_values.groups, group);
}

/* sums += weights*values over the keys of the thread, and total += weights */
static Block add_values(Slices *p, const LaneIters *i, LocalId sums, LocalId total)
{
	Tiling *g = &p->g;
	const Ix *at[] = {iter(g, i->element)};
	const Ix *key = at_line(p, row_of(p), p->cut.keys, own_key(p, i, &p->of_values));
	Body body = {0};
	LocalId weight = scalar(p, &body, "weight", loaded(p, p->weights, key));
	push(p, &body, stmt_set(g->arena, total, OP_ADD, read(p, weight)));
	const Value *factor = value_cast(g->arena, p->s->weights, read(p, weight));
	factor = value_cast(g->arena, DTYPE_F32, factor);
	const Value *product = binary(p, OP_MUL, factor, next_at(p, p->next_values, i));
	Block one = block_one(g->arena, stmt_set_at(g->arena, tiling_element(g, sums, at), OP_ADD,
						    product));
	add(g, &body, loop_of(g, LOOP_UNROLL, i->element, p->of_values.width, one));
	return loop_of(g, LOOP_UNROLL, i->time, p->of_values.times, body_block(&body));
}

/* parts = the group's sums, for each row */
static Block mix(Slices *p)
{
	LaneIters i = lane_iters(p);
	Tiling *g = &p->g;
	const Lanes *l = &p->of_values;
	Body row = {0};
	IterVar element = tiling_iter(g, "element");
	LocalId sums = tiling_local(g, (KernelLocal){.name = "sums",
						     .rank = 1,
						     .extent = {(uint32_t)l->width}});
	push(p, &row, stmt_local(g->arena, sums, constant(p, 0)));
	LocalId total = scalar(p, &row, "total", constant(p, 0));
	add(g, &row, add_values(p, &i, sums, total));
	const Ix *line = group_of_row(p, iter(g, i.group)), *at[] = {iter(g, element)};
	const Ix *column = plus(g, times(g, iter(g, i.lane), l->width), at[0]);
	Block store = block_one(g->arena, stmt_store(g->arena, p->parts,
						     at_line(p, line, p->d->columns, column),
						     OP_NONE, tiling_element(g, sums, at)));
	add(g, &row, loop_of(g, LOOP_UNROLL, element, l->width, store));
	store = block_one(g->arena,
			  stmt_store(g->arena, p->totals_parts, line, OP_NONE, read(p, total)));
	add(g, &row, if_below(g, iter(g, i.lane), number(g, 1), store));
	return in_lanes(p, &i, l, slice_rows(p, body_block(&row)));
}

LocalId slice_sum(Slices *p, Body *body, const Ix *column)
{
	IterVar group = tiling_iter(&p->g, "group");
	const Ix *at = at_line(p, group_of_row(p, iter(&p->g, group)), p->d->columns, column);
	return fold_of(p, body, "sum", OP_ADD, group, p->of_values.groups, loaded(p, p->parts, at));
}

LocalId slice_total(Slices *p, Body *body)
{
	IterVar group = tiling_iter(&p->g, "group");
	const Ix *at = group_of_row(p, iter(&p->g, group));
	return fold_of(p, body, "total", OP_ADD, group, p->of_values.groups,
		       loaded(p, p->totals_parts, at));
}

/* The sums of all groups. */
static Block add_groups(Slices *p)
{
	Tiling *g = &p->g;
	IterVar column = tiling_iter(g, "column");
	const Ix *slice = iter(g, p->slice);
	Body body = {0}, first = {0};
	LocalId sum = slice_sum(p, &body, iter(g, column));
	const Ix *to = place_of(p, slice, p->d->columns, iter(g, column));
	push(p, &body, stmt_store(g->arena, p->sums, to, OP_NONE, read(p, sum)));
	LocalId total = slice_total(p, &first);
	to = place_of(p, slice, 1, number(g, 0));
	push(p, &first, stmt_store(g->arena, p->totals, to, OP_NONE, read(p, total)));
	add(g, &body, if_below(g, iter(g, column), number(g, 1), body_block(&first)));
	return loop_of(g, LOOP_BLOCK, column, p->d->columns, slice_rows(p, body_block(&body)));
}

/* ---- all ---- */

Block decode_slice(Slices *p)
{
	Tiling *g = &p->g;
	Body body = {0};
	p->next_keys = next_local(p, &p->of_keys);
	p->next_values = next_local(p, &p->of_values);
	push(p, &body, stmt_local(g->arena, p->next_keys, constant(p, 0)));
	push(p, &body, stmt_local(g->arena, p->next_values, constant(p, 0)));
	add(g, &body, load(p, p->s->key_value, &p->of_keys, p->next_keys));
	add(g, &body, load(p, p->s->value, &p->of_values, p->next_values));
	add(g, &body, multiply(p));
	add_barrier(g, &body);
	add(g, &body, see(p));
	add_barrier(g, &body);
	add(g, &body, weigh(p));
	add_barrier(g, &body);
	add(g, &body, mix(p));
	add_barrier(g, &body);
	add(g, &body, p->cut.blocks ? decode_merge(p) : add_groups(p));
	return body_block(&body);
}
