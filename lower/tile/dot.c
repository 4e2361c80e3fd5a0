/* One tile whose lanes run along a sum.
 *
 *   for k in 0..96 step 16
 *     unroll r, c: vector lane in 0..16: acc[r, c, lane] += a[.., k + lane] * b[.., k + lane]
 *   unroll r, c: vector lane in 0..8: rest8[r, c, lane] += ... of the 8 steps from 96 on
 *   for k in 104..107: unroll r, c: rest[r, c] += ...
 *   unroll r, c
 *     half8[lane] = (acc[r, c, lane] + acc[r, c, lane + 8]) + rest8[r, c, lane]
 *     half4[lane] = half8[lane] + half8[lane + 4]
 *     sum[r, c] = ((half4[0] + half4[1]) + (half4[2] + half4[3])) + rest[r, c]
 *   for r: vector c: y[..] = relu(sum[r, c])
 *
 * Products of i8 and u8 come first in groups of four neighbours a lane, which are one instruction:
 *
 *   for k in 0..192 step 64
 *     unroll r, c: vector lane in 0..16: acc[r, c, lane] += a[.., k + 4*lane]*b[..] + ... + a[.., k + 4*lane + 3]*b[..]
 *
 * Lanes are those of sums_order, whatever the machine's vectors are, so the order of additions
 * depends on the extent of the sum alone.
 */
#include "lower/nest/lanes.h"
#include "lower/tile/emit.h"
#include "lower/tile/zeros.h"

#include "base/diag.h"

enum { ROW, COLUMN };

typedef struct Dot {
	Tile *tile;
	Lanes lanes; /* its elements are rows and columns of the tile */
} Dot;

static int64_t rows_of(const Dot *dot) { return dot->lanes.extents[ROW]; }
static int64_t columns_of(const Dot *dot) { return dot->lanes.extents[COLUMN]; }

/* sum[r, c] of each element by itself. */
static Block sum_elements(Dot *dot, const Value *sum)
{
	Gen *gen = dot->tile->nest->gen;
	Body element = {0};
	const Value *value = lanes_sum(&dot->lanes, &element);
	PUSH(gen->arena, element.stmts, stmt_set_at(gen->arena, sum, OP_NONE, value));
	return lanes_over_elements(&dot->lanes, body_block(&element));
}

/* As many columns at a time as lanes are left: these lie beside each other, transposed they are added.
 *
 *   unroll q in 0..4: square[q, lane] = half4[lane] of column c + q
 *   vector q in 0..4: sum[r, c + q] = (square[q, 0] + square[q, 1]) + (square[q, 2] + square[q, 3])
 */
static Block sum_squares(Dot *dot, LocalId sums)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	Lanes *l = &dot->lanes;
	int64_t n = l->order.least;
	Body columns = {0}, element = {0};
	const Ix *lane = ix_iter(gen->arena, tile->lane), *q = ix_iter(gen->arena, tile->q);
	const Ix *row = l->at[ROW], *column = l->at[COLUMN];
	LocalId square = tile_declare(tile, &columns, "square", (int64_t[]){n, n}, 2);
	l->at[COLUMN] = ix_times_plus(gen->program, column, n, q);
	const Value *from = lanes_element(l, lanes_tree(l, &element), lane);
	const Value *to = tile_local(tile, square, (const Ix *[]){q, lane}, 2);
	gen_append(gen, &element,
		   lanes_over(l, n, block_of(gen, stmt_set_at(gen->arena, to, OP_NONE, from))));
	gen_append(gen, &columns, gen_loop(gen, LOOP_UNROLL, tile->q, n, body_block(&element)));
	l->at[ROW] = q;
	const Value *value = lanes_pairs(l, square, NULL, n, 1);
	l->at[ROW] = row;
	const Stmt *set = stmt_set_at(gen->arena, lanes_element(l, sums, NULL), OP_NONE,
				      lanes_with_rest(l, value));
	gen_append(gen, &columns, gen_loop(gen, LOOP_VECTOR, tile->q, n, block_of(gen, set)));
	l->at[COLUMN] = column;
	Block body = gen_loop(gen, LOOP_UNROLL, tile->c, columns_of(dot) / n, body_block(&columns));
	return gen_loop(gen, LOOP_UNROLL, tile->r, rows_of(dot), body);
}

/* As many elements at a time as a vector of the machine has lanes.
 *
 *   vector q in 0..4: sum[0, q] = tree1[0, q]       and of further parts of 16 bytes
 */
static Block sum_lane_sum(Dot *dot, LocalId sums)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t n = dot->lanes.order.least, cols = columns_of(dot);
	Body all = {0};
	for (int64_t base = 0; base < rows_of(dot) * cols; base += tile_native(tile)) {
		LocalId lane_sum = tile_lane_tree(tile, &all, dot->lanes.acc, cols, base);
		for (int64_t at = 0; at < tile_native(tile); at += n) {
			const Ix *from[] = {tile_const(tile, 0),
					    tile_plus(tile, tile_const(tile, at), tile->q)};
			dot->lanes.at[ROW] = tile_const(tile, (base + at) / cols);
			dot->lanes.at[COLUMN] =
				tile_plus(tile, tile_const(tile, (base + at) % cols), tile->q);
			const Value *value =
				lanes_with_rest(&dot->lanes, tile_local(tile, lane_sum, from, 2));
			const Stmt *set = stmt_set_at(
				gen->arena, lanes_element(&dot->lanes, sums, NULL), OP_NONE, value);
			gen_append(gen, &all,
				   gen_loop(gen, LOOP_VECTOR, tile->q, n, block_of(gen, set)));
		}
	}
	return body_block(&all);
}

/* The tile with its columns as lanes, as they are where sums are stored. */
static Tile with_columns(const Dot *dot)
{
	Tile across = *dot->tile;
	across.lane = across.c;
	across.now.height = rows_of(dot);
	across.now.width = columns_of(dot);
	return across;
}

/* Are whole vectors of a row's sums made? */
static bool has_squares(const Dot *dot)
{
	return lanes_are_partial(&dot->lanes) && columns_of(dot) % dot->lanes.order.least == 0;
}

static Block add_up(Dot *dot, LocalId sums, const Value *sum)
{
	if (tile_may_lane_tree(dot->tile, rows_of(dot), columns_of(dot)))
		return sum_lane_sum(dot, sums);
	return has_squares(dot) ? sum_squares(dot, sums) : sum_elements(dot, sum);
}

/* What follows from the sums, in vectors along the columns or one piece of code for all elements:
 * copies of it would be most of a kernel's text. */
static Block finish(const Dot *dot, Tile *across, const Value *sum)
{
	Block store = tile_store(across, sum);
	bool vectors = across->finish.vectors && across->now.width > 1;
	bool registers = vectors && has_squares(dot) && across->now.width == dot->lanes.order.least;
	store = gen_loop(across->nest->gen, vectors ? LOOP_VECTOR : LOOP_SERIAL, across->c,
			 across->now.width, store);
	return gen_loop(across->nest->gen, registers ? LOOP_UNROLL : LOOP_SERIAL, across->r,
			across->now.height, store);
}

Block tile_along(Tile *tile, const TilePart *row, const TilePart *col)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Dot dot = {.tile = tile,
		   .lanes = {.nest = nest,
			     .reduce = tile->reduce,
			     .order = tile->order,
			     .along = tile->along,
			     .kind = LOOP_VECTOR,
			     .unrolled = true,
			     .naxes = 2,
			     .extents = {row->step, col->step},
			     .iters = {tile->r, tile->c},
			     .lane = tile->lane}};
	Lanes *l = &dot.lanes;
	nest->by_iter[tile->along->iter] = lanes_are_few(l)
						   ? tile_const(tile, 0)
						   : ix_iter(nest->gen->arena, tile->along->var);
	l->ahead = tile_prefetch_along(tile, row, col);
	lanes_steps(l);
	Tile across = with_columns(&dot);
	LocalId sums = lanes_declare(l, &l->top, "sum", 0);
	const Value *sum = lanes_element(l, sums, NULL);
	Body inner = {0};
	gen_append(gen, &inner,
		   nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nresult,
			     body_block(&l->loops)));
	gen_append(gen, &inner, add_up(&dot, sums, sum));
	Block steps = tile_unless_unused(tile, row, col, body_block(&inner));
	gen_append(gen, &l->top, tile_unless_masked(&across, steps));
	gen_append(gen, &l->top, finish(&dot, &across, sum));
	return body_block(&l->top);
}
