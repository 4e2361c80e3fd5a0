/* Attention of few rows by clusters: a head is a cluster's, whose blocks have slices of keys in turn and read what the
 * others have summed.
 *
 *   grid head
 *     cluster slice in 0..8
 *       local own_tops = -inf, own_totals, own_sums = 0               of a thread's column, of all rows
 *       for round in 0..ceil(keys/(8*64))
 *         the slice number round*8 + slice (decode_slice.c), but for its end:
 *         block column: own_sums = own_sums*exp(own_tops - top) + sums of the slice*exp(its top - top), where top is the greater
 *       block column: tops, totals, sums[slice, row, column] = the thread's own
 *     barrier cluster
 *     cluster rank in 0..8
 *       block row, lane: what is done with the element of the column rank*columns/8 + lane, of what all blocks have
 *     barrier cluster
 *
 * A block without a slice has the top -inf, and adds nothing. The order of additions follows from the number of keys, the
 * blocks and the keys of a slice.
 */
#include <math.h>

#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/gpu/decode_slice.h"
#include "transform/gpu/elements.h"

/* ---- slices ---- */

static LocalId own_local(Slices *p, const char *name)
{
	uint32_t columns = (uint32_t)p->d->columns, rows = (uint32_t)p->rows;
	KernelLocal local = {.name = name, .rank = 2, .extent = {columns, rows}, .nthreads = 1};
	return tiling_local(&p->g, local);
}

static const Value *own(const Slices *p, LocalId local, IterVar column)
{
	const Ix *at[] = {iter(&p->g, column), row_of(p)};
	return tiling_element(&p->g, local, at);
}

/* exp(top - base) */
static LocalId factor(Slices *p, Body *body, const Value *top, LocalId base)
{
	return scalar(p, body, "factor", exponent(p, binary(p, OP_SUB, top, read(p, base))));
}

/* own = own*before + of the slice*now */
static void merge(const Slices *p, Body *body, const Value *own, const Value *before, const Value *now)
{
	const Value *sum = binary(p, OP_ADD, binary(p, OP_MUL, own, before), now);
	push(p, body, stmt_set_at(p->g.arena, own, OP_NONE, sum));
}

Block decode_merge(Slices *p)
{
	Tiling *g = &p->g;
	IterVar column = tiling_iter(g, "column");
	Body body = {0};
	LocalId sum = slice_sum(p, &body, iter(g, column)), total = slice_total(p, &body);
	const Value *own_top = own(p, p->own_tops, column), *top = loaded(p, p->top, row_of(p));
	LocalId most = scalar(p, &body, "most", binary(p, OP_MAX, own_top, top));
	LocalId base = scalar(p, &body, "base", slice_base(p, read(p, most)));
	LocalId before = factor(p, &body, own_top, base), now = factor(p, &body, top, base);
	merge(p, &body, own(p, p->own_sums, column), read(p, before),
	      binary(p, OP_MUL, read(p, sum), read(p, now)));
	merge(p, &body, own(p, p->own_totals, column), read(p, before),
	      binary(p, OP_MUL, read(p, total), read(p, now)));
	push(p, &body, stmt_set_at(g->arena, own_top, OP_NONE, read(p, most)));
	return loop_of(g, LOOP_BLOCK, column, p->d->columns, slice_rows(p, body_block(&body)));
}

/* Where the other blocks read it. */
static Block keep(Slices *p)
{
	Tiling *g = &p->g;
	IterVar column = tiling_iter(g, "column");
	const Ix *block = iter(g, p->slice), *at = place_of(p, block, p->d->columns, iter(g, column)),
		 *first = place_of(p, block, 1, number(g, 0));
	Body body = {0}, row = {0};
	push(p, &body, stmt_store(g->arena, p->sums, at, OP_NONE, own(p, p->own_sums, column)));
	push(p, &row, stmt_store(g->arena, p->tops, first, OP_NONE, own(p, p->own_tops, column)));
	push(p, &row, stmt_store(g->arena, p->totals, first, OP_NONE, own(p, p->own_totals, column)));
	add(g, &body, if_below(g, iter(g, column), number(g, 1), body_block(&row)));
	return loop_of(g, LOOP_BLOCK, column, p->d->columns, slice_rows(p, body_block(&body)));
}

/* All slices of a segment that the block has. */
static void add_segment(Slices *p, Body *body)
{
	Tiling *g = &p->g;
	Size rounds = size_ceil(g->program->sizes, p->s->keys, p->cut.keys * p->cut.blocks);
	Body round = {0};
	p->round = tiling_iter(g, "round");
	p->own_tops = own_local(p, "own_tops");
	p->own_totals = own_local(p, "own_totals");
	p->own_sums = own_local(p, "own_sums");
	push(p, body, stmt_local(g->arena, p->own_tops, constant(p, -INFINITY)));
	push(p, body, stmt_local(g->arena, p->own_totals, constant(p, 0)));
	push(p, body, stmt_local(g->arena, p->own_sums, constant(p, 0)));
	add(g, &round, decode_slice(p));
	add_barrier(g, &round);
	push(p, body, stmt_for(g->arena, p->round, number(g, 0), sized(g, rounds), body_block(&round)));
	add(g, body, keep(p));
}

/* ---- what they come to ---- */

/* The statements for each row and each column of the block's, which are as many for each. */
static Block in_columns(Slices *p, IterVar rank, Block body)
{
	Tiling *g = &p->g;
	const Decode *d = p->d;
	int64_t columns = (d->columns + p->cut.blocks - 1) / p->cut.blocks, n = 0;
	IterVar lane = tiling_iter(g, "lane");
	const Ix *column = at_line(p, iter(g, rank), columns, iter(g, lane));
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	iters[d->column->iter] = column;
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	body = rewrite_block(&rewrite, body);
	if (columns * p->cut.blocks > d->columns)
		body = if_below(g, column, number(g, d->columns), body);
	body = loop_of(g, LOOP_BLOCK, lane, columns, body);
	for (uint32_t i = d->nrows; i-- > 0;) {
		size_is_const(g->program->sizes, d->rows[i]->hi->size, &n);
		body = loop_of(g, LOOP_BLOCK, d->rows[i]->iter, n, body);
	}
	return body;
}

/* ---- all ---- */

/* The grid of all heads. */
static Block in_heads(Slices *p, Block body)
{
	const Decode *d = p->d;
	if (d->nbatch == 0) {
		Stmt *loop = stmt_with(p->g.arena, d->column, body);
		loop->iter = tiling_iter(&p->g, "head");
		loop->hi = number(&p->g, 1);
		loop->threads = 1;
		return block_one(p->g.arena, loop);
	}
	for (uint32_t i = d->nbatch; i-- > 0;) {
		Stmt *loop = stmt_with(p->g.arena, d->batch[i], body);
		loop->threads = 1;
		body = block_one(p->g.arena, loop);
	}
	return body;
}

Block decode_cluster(Slices *all, Block last)
{
	Slices *p = &all[0];
	IterVar slice = tiling_iter(&p->g, "slice"), rank = tiling_iter(&p->g, "rank");
	Body slices = {0}, both = {0};
	for (uint32_t i = 0; i < p->d->nsegments; i++) {
		all[i].slice = slice;
		add_segment(&all[i], &slices);
	}
	cluster_add(&p->g, &both, slice, p->cut.blocks, body_block(&slices));
	cluster_add(&p->g, &both, rank, p->cut.blocks, in_columns(p, rank, last));
	return in_heads(p, body_block(&both));
}
