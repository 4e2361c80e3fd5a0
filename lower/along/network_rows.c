/* Comparisons of rows of a network: in memory, and of as many at once as there are registers for. */
#include "lower/along/network.h"

/* a < b ? a : b, or what is left over: instructions have just these. */
const Value *network_first(const Network *n, const Value *a, const Value *b, bool other)
{
	const Value *less = value_binary(n->l->arena, OP_LT, a, b);
	return value_where(n->l->arena, less, other ? b : a, other ? a : b);
}

/* The first to row a of the tile, the other to row b. */
static void order_registers(const Network *n, const Ix *a, const Ix *b, Body *into)
{
	Body body = {0};
	const Value *x = network_of_row(n, n->tile, a, network_lane(n)),
		    *y = network_of_row(n, n->tile, b, network_lane(n));
	const Value *low = network_at(n, n->low, network_lane(n));
	network_set(n, &body, low, network_first(n, x, y, false));
	network_set(n, &body, y, network_first(n, x, y, true));
	network_set(n, &body, x, low);
	network_each_lane(n, into, &body);
}

static void order_rows(const Network *n, const Ix *a, const Ix *b, Body *into)
{
	Body body = {0};
	const Value *x = network_row(n, a), *y = network_row(n, b);
	const Value *low = network_at(n, n->low, network_lane(n));
	network_set(n, &body, low, network_first(n, x, y, false));
	lines_push(n->l, &body, network_store(n, b, network_first(n, x, y, true)));
	lines_push(n->l, &body, network_store(n, a, low));
	network_each_lane(n, into, &body);
}

/* So many registers, with a stride that is a power of two. */
static void order_strided(const Network *n, int64_t stride, int64_t rows, Body *into)
{
	Body body = {0};
	const Ix *q = lines_at(n->l, n->q);
	const Ix *a = lines_add(n->l, lines_scale(n->l, lines_div(n->l, q, stride), 2 * stride),
				lines_mod(n->l, q, stride));
	order_registers(n, a, lines_add(n->l, a, network_ix(n, stride)), &body);
	network_each_register(n, into, rows / 2, &body);
}

/* The first registers of each `run` with the last of the next one. */
static void order_across(const Network *n, int64_t run, Body *into)
{
	Body body = {0};
	const Lines *l = n->l;
	const Ix *q = lines_at(l, n->q), *at = lines_mod(l, q, run);
	const Ix *first = lines_scale(l, lines_div(l, q, run), 2 * run);
	const Ix *last = lines_sub(l, lines_add(l, first, network_ix(n, 2 * run - 1)), at);
	order_registers(n, lines_add(l, first, at), last, &body);
	network_each_register(n, into, n->way->tile / 2, &body);
}

/* ---- rows ---- */

/* So many rows first, first + stride, ... to the tile, or from it. */
static void move_rows(const Network *n, const Ix *first, int64_t stride, int64_t rows, bool back,
		      Body *into)
{
	Body row = {0}, body = {0};
	const Ix *q = lines_at(n->l, n->q),
		 *at = lines_add(n->l, first, lines_scale(n->l, q, stride));
	const Value *tile = network_of_row(n, n->tile, q, network_lane(n));
	if (back)
		lines_push(n->l, &body, network_store(n, at, tile));
	else
		network_set(n, &body, tile, network_row(n, at));
	network_each_lane(n, &row, &body);
	network_each_register(n, into, rows, &row);
}

void network_sort_tiles(const Network *n, Body *into)
{
	Body body = {0};
	IterVar block = lines_iter(n->l, "block");
	int64_t tile = n->way->tile;
	const Ix *first = lines_scale(n->l, lines_at(n->l, block), tile);
	move_rows(n, first, 1, tile, false, &body);
	for (int64_t run = 1; run < tile; run *= 2) {
		order_across(n, run, &body);
		for (int64_t stride = run / 2; stride > 0; stride /= 2)
			order_strided(n, stride, tile, &body);
	}
	move_rows(n, first, 1, tile, true, &body);
	lines_times(n->l, into, block, lines_div(n->l, n->rows, tile), &body);
}

/* Rows that are stride * rows/2, ..., 2*stride and stride apart. */
static void order_strided_rows(const Network *n, int64_t stride, int64_t rows, Body *into)
{
	Body body = {0}, blocks = {0};
	const Lines *l = n->l;
	IterVar block = lines_iter(l, "block"), at = lines_iter(l, "at");
	const Ix *first = lines_scale(l, lines_at(l, block), rows * stride);
	if (stride > 1)
		first = lines_add(l, first, lines_at(l, at));
	move_rows(n, first, stride, rows, false, &body);
	for (int64_t of = rows / 2; of > 0; of /= 2)
		order_strided(n, of, rows, &body);
	move_rows(n, first, stride, rows, true, &body);
	if (stride > 1)
		lines_times(l, &blocks, at, network_ix(n, stride), &body);
	lines_times(l, into, block, lines_div(l, n->rows, rows * stride),
		    stride > 1 ? &blocks : &body);
}

void network_order_strides(const Network *n, int64_t above, int64_t least, Body *into)
{
	while (above > least) {
		int64_t rows = 2;
		while (rows < n->way->tile && rows * least < above)
			rows *= 2;
		above /= rows;
		order_strided_rows(n, above, rows, into);
	}
}

void network_order_runs(const Network *n, int64_t run, Body *into)
{
	Body body = {0}, runs = {0};
	const Lines *l = n->l;
	IterVar pair = lines_iter(l, "pair"), at = lines_iter(l, "at");
	const Ix *first = lines_scale(l, lines_at(l, pair), 2 * run);
	const Ix *last =
		lines_sub(l, lines_add(l, first, network_ix(n, 2 * run - 1)), lines_at(l, at));
	order_rows(n, lines_add(l, first, lines_at(l, at)), last, &body);
	lines_times(l, &runs, at, network_ix(n, run), &body);
	lines_times(l, into, pair, lines_div(l, n->rows, 2 * run), &runs);
}
