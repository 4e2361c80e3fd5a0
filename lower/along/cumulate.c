/* At each place of an axis, a sum (a product, the greatest, the least) of the elements up to it.
 *
 * In which order it adds says sums_cumulate: one after another, or in runs that begin anew, to each
 * of whose places is added what all runs before it come to. Of a sum of one place after another each
 * waits for the one before, so several go on side by side: those of neighbouring lines, or runs of
 * one line.
 *
 *   lines     for r in 0..R step 4: acc[4] = neutral
 *               for t in 0..n: unroll l in 0..4: acc[l] += x[r + l, t]; y[r + l, t] = acc[l]
 *   columns   for c in 0..C step 256: for t in 0..n: for v in c..min(c + 256, C):
 *               y[t, v] = y[t - 1, v] + x[t, v]
 *
 * `reverse` counts places from the end, `exclusive` stores before it adds.
 */
#include "lower/along/cumulate.h"

/* ---- elements ---- */

const Ix *cumulate_place(const Lines *l, const Ix *i)
{
	const Ix *last = lines_last(l, l->extent);
	return l->reverse ? lines_sub(l, last, i) : i;
}

const Value *cumulate_element(const Lines *l, const Ix *i, Body *body)
{
	return value_cast(l->arena, l->dtype, l->element(l, cumulate_place(l, i), body));
}

const Stmt *cumulate_store(const Lines *l, const Ix *i, const Value *value)
{
	return lines_store(l, cumulate_place(l, i), value);
}

const Value *cumulate_stored(const Lines *l, const Ix *i)
{
	return value_load(l->program, l->to, l->result_index(l, cumulate_place(l, i)));
}

const Value *cumulate_neutral(const Lines *l)
{
	return value_const(l->arena, l->dtype, op_neutral(l->reduce, l->dtype));
}

/* ---- in turn ---- */

/* A local of so many elements, each neutral; 0: a single one. */
static LocalId new_sums(const Lines *l, Body *body, uint32_t n)
{
	int64_t extent = n;
	LocalId id = frame_local(l->frame, "acc", l->dtype, &extent, n > 0);
	lines_push(l, body, stmt_local(l->arena, id, cumulate_neutral(l)));
	return id;
}

/* acc += x[i]; y[i] = acc, or the other way round. */
static void take(const Lines *l, Body *body, const Value *acc, const Ix *i)
{
	const Stmt *sum = stmt_set_at(l->arena, acc, l->reduce, cumulate_element(l, i, body));
	const Stmt *store = cumulate_store(l, i, acc);
	lines_push(l, body, l->exclusive ? store : sum);
	lines_push(l, body, l->exclusive ? sum : store);
}

const Value *cumulate_range(const Lines *l, const Ix *lo, const Ix *n, Body *body)
{
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	const Value *acc = lines_read(l, new_sums(l, body, 0));
	take(l, &step, acc, lines_add(l, lo, lines_at(l, t)));
	lines_times(l, body, t, n, &step);
	return acc;
}

/* All places of one line. */
static void one_line(const Lines *l, Body *body)
{
	cumulate_range(l, lines_const(l, 0), lines_size(l, l->extent), body);
}

/* SIDE lines side by side, which follow one another along the last outer axis. */
static void side_by_side(const Lines *l, Body *body)
{
	Body step = {0}, lanes = {0};
	IterVar t = lines_iter(l, "t"), lane = lines_iter(l, "lane");
	const Ix **last = &l->outer[l->nouter - 1], *first = *last;
	LocalId acc = new_sums(l, body, SIDE);
	*last = lines_add(l, first, lines_at(l, lane));
	take(l, &lanes, frame_element(l->frame, acc, lines_at(l, lane)), lines_at(l, t));
	*last = first;
	lines_push(l, &step, stmt_loop(l->program, LOOP_UNROLL, lane, SIDE, body_block(&lanes)));
	lines_each(l, body, t, l->extent, &step);
}

LocalId cumulate_side(const Lines *l, const Ix *lo, Body *body)
{
	Body step = {0}, lanes = {0};
	IterVar t = lines_iter(l, "t"), lane = lines_iter(l, "lane");
	LocalId acc = new_sums(l, body, SIDE);
	const Ix *first = lines_add(l, lo, lines_scale(l, lines_at(l, lane), l->order.run));
	take(l, &lanes, frame_element(l->frame, acc, lines_at(l, lane)),
	     lines_add(l, first, lines_at(l, t)));
	lines_push(l, &step, stmt_loop(l->program, LOOP_UNROLL, lane, SIDE, body_block(&lanes)));
	lines_times(l, body, t, lines_const(l, l->order.run), &step);
	return acc;
}

/* ---- columns ---- */

/* y[i] = y[i - 1] + x[i]; `before` is i - 1, NULL: there is none. */
static void column_step(const Lines *l, const Ix *i, const Ix *before, Body *body)
{
	const Value *sum = before ? cumulate_stored(l, before) : cumulate_neutral(l);
	if (before || !l->exclusive)
		sum = value_binary(l->arena, l->reduce, sum,
				   cumulate_element(l, l->exclusive ? before : i, body));
	lines_push(l, body, cumulate_store(l, i, sum));
}

void cumulate_columns(const Lines *l, const Ix *end, const Ix *lo, const Ix *n, Body *body)
{
	Body top = {0}, rest = {0}, step = {0};
	const Ix **last = &l->outer[l->nouter - 1], *first = *last, *one = lines_const(l, 1);
	IterVar u = lines_iter(l, "v"), v = lines_iter(l, "v"), t = lines_iter(l, "t");
	const Ix *i = lines_add(l, lo, lines_at(l, t));
	*last = lines_at(l, u);
	column_step(l, lo, NULL, &top);
	*last = lines_at(l, v);
	column_step(l, i, lines_sub(l, i, one), &rest);
	*last = first;
	lines_for(l, body, u, first, end, 1, &top);
	lines_push(l, &step, lines_independent(lines_loop(l, v, first, end, 1, &rest)));
	lines_for(l, body, t, one, n, 1, &step);
}

static void columns(const Lines *l, Body *body)
{
	Body block = {0}, some = {0};
	const Ix *none = lines_const(l, 0), *n = lines_size(l, l->extent);
	cumulate_columns(l, lines_block_end(l, COLUMNS), none, n, &some);
	lines_if(l, &block, COND_LT, none, n, &some);
	lines_push(l, body, lines_blocks(l, COLUMNS, &block));
}

/* ---- as it is planned ---- */

/* Lines in turn, in the loop of the last outer axis. */
static void lines_in_turn(const Lines *l, Body *body)
{
	Body some = {0}, one = {0};
	if (l->nouter == 0) {
		one_line(l, body);
		return;
	}
	if (l->cumulate.columns) {
		columns(l, body);
		return;
	}
	Size rows = l->extents[l->nouter - 1];
	Size whole = size_scale(l->sizes, size_floor(l->sizes, rows, SIDE), SIDE);
	IterVar var = l->outer[l->nouter - 1]->iter;
	side_by_side(l, &some);
	lines_for(l, body, var, lines_const(l, 0), lines_size(l, whole), SIDE, &some);
	one_line(l, &one);
	lines_for(l, body, var, lines_size(l, whole), lines_size(l, rows), 1, &one);
}

static void in_turn(const Lines *l, Body *body)
{
	lines_in_turn(l, body);
	lines_wrap(l, l->nouter ? l->nouter - 1 : 0, body);
}

void cumulate_lines(const Lines *l)
{
	Body some = {0}, all = {0};
	const Ix *places = lines_size(l, l->extent), *most = lines_const(l, l->order.turn_most);
	switch (l->cumulate.form) {
	case CUMULATE_IN_TURN: in_turn(l, &all); break;
	case CUMULATE_IN_RUNS: cumulate_runs(l, &all); break;
	case CUMULATE_BY_LENGTH:
		in_turn(l, &some);
		lines_if(l, &all, COND_LE, places, most, &some);
		some = (Body){0};
		cumulate_runs(l, &some);
		lines_if(l, &all, COND_LT, most, places, &some);
		break;
	}
	lines_finish(l, &all);
}
