/* Many long lines, each in one go over its runs:
 *
 *   runs      for i in 0..n step 4*run: acc[4] = neutral
 *               for t in 0..run: unroll l in 0..4: acc[l] += x[i + l*run + t]; y[..] = acc[l]
 *               unroll l in 0..4: for t in 0..run: y[..] = before + y[..]
 *                                 before += acc[l]; prefetch a run further on
 *   columns   for c in 0..C step 64: before[64] = neutral
 *               for first in 0..n step run: acc[64] = neutral
 *                 for t in the run: for v in c..min(c + 64, C): acc[v - c] += x[t, v]; y[t, v] = acc[v - c]
 *                 for t in the run: for v: y[t, v] = before[v - c] + y[t, v]
 *                 for v: before[v - c] += acc[v - c]
 *
 * Adding the neutral element to the first run changes none of its bits.
 */
#include "lower/along/cumulate.h"

/* ---- runs of a line ---- */

/* SIDE whole runs from `lo` on, side by side. */
static void runs_side_by_side(const Lines *l, LocalId before, const Ix *lo, Body *body)
{
	Body each = {0};
	IterVar run = lines_iter(l, "run");
	int64_t size = l->order.run;
	const Ix *first = lines_add(l, lo, lines_scale(l, lines_at(l, run), size));
	LocalId acc = cumulate_side(l, lo, body);
	cumulate_raise(l, lines_read(l, before), first, lines_const(l, size), &each);
	lines_push(l, &each,
		   stmt_set(l->arena, before, l->reduce,
			    frame_element(l->frame, acc, lines_at(l, run))));
	cumulate_prefetch(l, first, &each);
	lines_push(l, body, stmt_loop(l->program, LOOP_UNROLL, run, SIDE, body_block(&each)));
}

/* The runs behind those, one by one, the last of which may be short. */
static void last_runs(const Lines *l, LocalId before, const Ix *whole, Body *body)
{
	Body run = {0};
	IterVar first = lines_iter(l, "first");
	const Ix *n = lines_size(l, l->extent), *lo = lines_add(l, whole, lines_at(l, first));
	const Ix *size = lines_min(l, lines_const(l, l->order.run), lines_sub(l, n, lo));
	const Value *acc = cumulate_range(l, lo, size, &run);
	cumulate_raise(l, lines_read(l, before), lo, size, &run);
	lines_push(l, &run, stmt_set(l->arena, before, l->reduce, acc));
	lines_push(l, body,
		   lines_loop(l, first, lines_const(l, 0), lines_sub(l, n, whole), l->order.run,
			      &run));
}

static void line_runs(const Lines *l, Body *body)
{
	Body block = {0};
	int64_t size = SIDE * l->order.run;
	IterVar lo = lines_iter(l, "lo");
	LocalId before = cumulate_sums(l, body, "before", 0);
	const Ix *whole =
		lines_size(l, size_scale(l->sizes, size_floor(l->sizes, l->extent, size), size));
	runs_side_by_side(l, before, lines_at(l, lo), &block);
	lines_push(l, body, lines_loop(l, lo, lines_const(l, 0), whole, size, &block));
	last_runs(l, before, whole, body);
}

/* ---- runs of columns ---- */

/* A row of columns from `lo` on: what their sums are kept in. */
typedef struct Columns {
	const Lines *l;
	const Ix *lo, *n; /* n of them, at most CUMULATE_COLUMNS */
	BufferId before, acc;
} Columns;

typedef void EachColumn(const Columns *c, const Ix *u, const Ix *i, Body *body);

/* The body for each column, at place i: u is its number in the block. */
static void each_column(const Columns *c, const Ix *i, EachColumn *each, Body *into)
{
	const Lines *l = c->l;
	Body body = {0};
	const Ix **last = &l->outer[l->nouter - 1];
	IterVar v = lines_iter(l, "v");
	*last = lines_add(l, c->lo, lines_at(l, v));
	each(c, lines_at(l, v), i, &body);
	*last = c->lo;
	lines_push(l, into, lines_independent(lines_loop(l, v, lines_const(l, 0), c->n, 1, &body)));
}

static void push_sum(const Columns *c, BufferId to, const Ix *u, const Value *value, Body *body)
{
	lines_push(c->l, body, stmt_store(c->l->arena, to, u, OP_NONE, value));
}

static void column_begin(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	push_sum(c, c->before, u, cumulate_neutral(c->l), body);
}

static void column_run_begin(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	push_sum(c, c->acc, u, cumulate_neutral(c->l), body);
}

static void column_take(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	const Lines *l = c->l;
	const Value *acc = value_load(l->program, c->acc, u);
	const Value *sum = value_binary(l->arena, l->reduce, acc, cumulate_element(l, i, body));
	lines_push(l, body, cumulate_store(l, i, l->exclusive ? acc : sum));
	push_sum(c, c->acc, u, sum, body);
}

static void column_raise(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	const Lines *l = c->l;
	const Value *before = value_load(l->program, c->before, u);
	lines_push(l, body,
		   cumulate_store(
			   l, i, value_binary(l->arena, l->reduce, before, cumulate_stored(l, i))));
}

static void column_run_end(const Columns *c, const Ix *u, const Ix *i, Body *body)
{
	(void)i;
	const Lines *l = c->l;
	const Value *before = value_load(l->program, c->before, u);
	const Value *acc = value_load(l->program, c->acc, u);
	push_sum(c, c->before, u, value_binary(l->arena, l->reduce, before, acc), body);
}

/* For each place of the run and each column. */
static void each_in_run(const Columns *c, const Ix *first, const Ix *size, EachColumn *each,
			Body *run)
{
	const Lines *l = c->l;
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	each_column(c, lines_add(l, first, lines_at(l, t)), each, &step);
	lines_push(l, run, lines_loop(l, t, lines_const(l, 0), size, 1, &step));
}

static void column_runs(const Lines *l, Body *body)
{
	Body block = {0}, run = {0};
	const Ix *lo = l->outer[l->nouter - 1], *n = lines_size(l, l->extent);
	Columns c = {.l = l, .lo = lo, .before = l->cumulate.before, .acc = l->cumulate.acc};
	const Ix *end = lines_size(l, l->extents[l->nouter - 1]);
	c.n = lines_min(l, lines_const(l, CUMULATE_COLUMNS), lines_sub(l, end, lo));
	IterVar at = lines_iter(l, "first");
	const Ix *first = lines_at(l, at);
	const Ix *size = lines_min(l, lines_const(l, l->order.run), lines_sub(l, n, first));
	each_column(&c, NULL, column_begin, &block);
	each_column(&c, NULL, column_run_begin, &run);
	each_in_run(&c, first, size, column_take, &run);
	each_in_run(&c, first, size, column_raise, &run);
	each_column(&c, NULL, column_run_end, &run);
	lines_push(l, &block, lines_loop(l, at, lines_const(l, 0), n, l->order.run, &run));
	lines_push(l, body, lines_blocks(l, CUMULATE_COLUMNS, &block));
}

void cumulate_runs(const Lines *l, Body *body)
{
	bool columns = l->cumulate.runs_columns;
	if (columns)
		column_runs(l, body);
	else
		line_runs(l, body);
	lines_wrap(l, columns ? l->nouter - 1 : l->nouter, body);
}
