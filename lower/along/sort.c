/* The elements of an axis in order, or their places.
 *
 * Equal elements stay in the order that they have, and what is no number comes last, so each
 * element has a rank of its own: how many stand before it. Short lines are sorted by counting that:
 *
 *   for R, t
 *     local rank : i32 = 0
 *     for u in 0..t:   rank += 1 where x[R, t] does not come before x[R, u]
 *     for u in t+1..n: rank += 1 where x[R, u] comes before x[R, t]
 *     if rank < k: y[R, rank] = x[R, t], or t
 *
 * Longer lines are sorted by the digits of their keys (radix.c); digits have more bits, so that they are
 * fewer, where a line is long enough for their counts. Of a line of which few are kept, these are
 * selected first (select.c). Of dims there are all ways, of which their sizes decide. Of many short lines vectors
 * have an element each (exchange.c).
 */
#include "lower/along/exchange.h"
#include "lower/along/network.h"
#include "lower/along/radix.h"

/* ---- ranks ---- */

const Value *sort_comes_before(const Lines *l, const Value *a, const Value *b)
{
	const Value *less = value_binary(l->arena, l->descending ? OP_GT : OP_LT, a, b);
	if (!dtype_is_float(a->dtype))
		return less;
	const Value *alone = value_binary(l->arena, OP_AND, value_binary(l->arena, OP_EQ, a, a),
					  value_binary(l->arena, OP_NE, b, b));
	return value_binary(l->arena, OP_OR, less, alone);
}

/* rank += 1 for each of the elements in [lo, hi) that comes before `own`; those in front of it do
 * so where it does not come before them. */
static const Stmt *count(const Lines *l, LocalId rank, const Value *own, const Ix *lo, const Ix *hi,
			 bool in_front)
{
	Body body = {0};
	IterVar u = lines_iter(l, "u");
	const Value *other = value_cast(l->arena, own->dtype, l->element(l, lines_at(l, u), &body));
	const Value *is =
		in_front ? sort_comes_before(l, own, other) : sort_comes_before(l, other, own);
	const Value *counts = value_where(l->arena, is, lines_number(l, own->dtype, !in_front),
					  lines_number(l, own->dtype, in_front));
	lines_set(l, &body, rank, OP_ADD, value_cast(l->arena, DTYPE_I32, counts));
	return lines_loop(l, u, lo, hi, 1, &body);
}

/* The store where it is among those that are kept; the minimum says that it is, for the bounds. */
static const Stmt *store_ranked(const Lines *l, LocalId rank, const Value *value)
{
	const Ix *at = lines_read_ix(l, rank), *none = lines_const(l, 0);
	const Ix *results = lines_size(l, l->results);
	const Ix *last = lines_last(l, l->results);
	Cond *conds = ARENA_ARRAY(l->arena, Cond, 2);
	conds[0] = (Cond){COND_LT, none, results};
	conds[1] = (Cond){COND_LT, at, results};
	Body body = {0};
	at = lines_inside(l, at, last);
	lines_push(l, &body, lines_store(l, at, value));
	return stmt_if(l->arena, conds, 2, body_block(&body));
}

static void by_ranks(const Lines *l, Body *line)
{
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t), *end = lines_size(l, l->extent);
	const Value *own = l->element(l, at, &body);
	const Value *wide = value_cast(l->arena, dtype_wide(own->dtype), own);
	const Value *value = l->ids ? value_index(l->arena, l->dtype, at) : own;
	LocalId rank = lines_local(l, &body, "rank", lines_number(l, DTYPE_I32, 0));
	lines_push(l, &body, count(l, rank, wide, lines_const(l, 0), at, true));
	lines_push(l, &body, count(l, rank, wide, lines_add(l, at, lines_const(l, 1)), end, false));
	lines_push(l, &body, store_ranked(l, rank, value));
	lines_times(l, line, t, end, &body);
}

/* ---- as it is planned ---- */

static void sort_line(const Lines *l, SortBy by, Body *line)
{
	if (by == BY_RANKS)
		by_ranks(l, line);
	else if (by == BY_SELECTION)
		select_first(l, &l->sort[by], line);
	else if (by == BY_NETWORK)
		sort_by_network(l, &l->sort[by], line);
	else if (by == BY_PARTS)
		sort_by_parts(l, &l->sort[by], line);
	else
		sort_by_digits(l, &l->sort[by], line);
}

static void one_line(const Lines *l, Body *line)
{
	for (SortBy by = BY_RANKS; by < BY_EXCHANGES; by++) {
		const SortWay *way = &l->sort[by];
		Body body = {0};
		if (way->never)
			continue;
		sort_line(l, by, way->nconds ? &body : line);
		if (way->nconds)
			lines_push(l, line,
				   stmt_if(l->arena, way->conds, way->nconds, body_block(&body)));
	}
}

void sort_lines(const Lines *l)
{
	Body line = {0}, all = {0};
	const SortWay *exchanges = &l->sort[BY_EXCHANGES];
	one_line(l, &line);
	if (exchanges->never) {
		lines_wrap(l, l->nouter, &line);
		lines_finish(l, &line);
		return;
	}
	sort_by_exchanges(l, exchanges, &all);
	lines_behind(l, exchanges->lanes, &line, &all);
	lines_wrap(l, l->nouter - 1, &all);
	lines_finish(l, &all);
}
