/* Lanes of several elements added up at a time, so that no vector has lanes of nothing.
 *
 * A vector of V lanes, of E in each 16 bytes, holds V/w elements of w partial sums each: w = V as the
 * steps leave them, 1 when all is added. In each round two vectors become one of half as many
 * partial sums, twice as many elements:
 *
 *   w > E, whole parts of 16 bytes     lane e and lane e + w/2 of every element
 *     folded8[u, lane] = acc[2u + lane/8][lane%8] + acc[2u + lane/8][lane%8 + 8]
 *     folded4[u, lane] = folded8[2u + lane/8, lane%8/4*8 + lane%4] + folded8[.. + 4]
 *   w <= E, within parts               lanes 2e and 2e + 1
 *     folded2[u, lane] = folded4[2u + lane%4/2, lane/4*4 + lane%2*2] + folded4[.. + 1]
 *     folded1[0, lane] = folded2[lane%4/2, lane/4*4 + lane%2*2] + folded2[.. + 1]
 *
 * which is the order in which an element alone adds its lanes (tile/dot.c); where these are more than a
 * vector, its halves are added first. Vectors that are read first
 * are those for which element m ends in lane m: vector n has element n%P*E + n/P, of P parts.
 */
#include "lower/tile/emit.h"

typedef struct LaneTree {
	Tile *tile;
	LocalId from;	    /* that the round at hand reads */
	int64_t cols, base; /* of the elements; -1: vectors of an earlier round */
	int64_t part;	    /* E */
} LaneTree;

static int64_t part_lanes(const Tile *tile) { return tile->order.least; }

/* ---- indices ---- */

static const Ix *over(const LaneTree *f, const Ix *ix, int64_t by)
{
	return ix_binary(f->tile->nest->gen->program, IX_DIV, ix, tile_const(f->tile, by));
}

static const Ix *rest(const LaneTree *f, const Ix *ix, int64_t by)
{
	return ix_binary(f->tile->nest->gen->program, IX_MOD, ix, tile_const(f->tile, by));
}

static const Ix *times(const LaneTree *f, const Ix *ix, int64_t by)
{
	return ix_times(f->tile->nest->gen->program, ix, by);
}

static const Ix *sum_of(const LaneTree *f, const Ix *a, const Ix *b)
{
	return ix_add(f->tile->nest->gen->program, a, b);
}

/* ---- what a round reads ---- */

/* A lane of the nth element's vector as the steps leave it; with `lanes` fewer than that, of its
 * halves, quarters added up. */
static const Value *of_element(const LaneTree *f, const Ix *n, const Ix *at, int64_t lanes)
{
	const Tile *tile = f->tile;
	int64_t parts = tile_native(tile) / f->part, parts_of_row = f->cols / f->part;
	if (lanes < tile->lanes)
		return value_binary(
			f->tile->nest->gen->arena, OP_ADD, of_element(f, n, at, 2 * lanes),
			of_element(f, n, sum_of(f, at, tile_const(tile, lanes)), 2 * lanes));
	const Ix *part = sum_of(f, rest(f, n, parts), tile_const(tile, f->base / f->part));
	const Ix *column =
		sum_of(f, times(f, rest(f, part, parts_of_row), f->part), over(f, n, parts));
	const Ix *place[] = {over(f, part, parts_of_row), column, at};
	return tile_local(tile, f->from, place, 3);
}

static const Value *partial(const LaneTree *f, const Ix *vector, const Ix *at)
{
	const Ix *place[] = {vector, at};
	return f->base < 0 ? tile_local(f->tile, f->from, place, 2)
			   : of_element(f, vector, at, f->tile->lanes);
}

/* A lane of a round that leaves half of w partial sums, in its uth vector. */
static const Value *added(const LaneTree *f, const Ix *u, const Ix *lane, int64_t w)
{
	int64_t native = tile_native(f->tile), half = w / 2;
	bool parts = w > f->part;
	const Ix *which =
		parts ? over(f, lane, native / 2) : over(f, rest(f, lane, f->part), f->part / 2);
	const Ix *vector = sum_of(f, times(f, u, 2), which);
	int64_t lanes = parts ? native / 2 : f->part / 2; /* that come from one vector */
	const Ix *at = tile_const(f->tile, 0);
	if (lanes > half)
		at = times(f, over(f, rest(f, lane, lanes), half), w);
	if (parts) {
		at = sum_of(f, at, rest(f, lane, half));
	} else {
		at = sum_of(f, at, times(f, rest(f, lane, half), 2));
		at = sum_of(f, at, times(f, over(f, lane, f->part), f->part));
	}
	const Ix *other = sum_of(f, at, tile_const(f->tile, parts ? half : 1));
	return value_binary(f->tile->nest->gen->arena, OP_ADD, partial(f, vector, at),
			    partial(f, vector, other));
}

/* ---- all rounds ---- */

/* A round of which vector u, of w partial sums an element, is `value`. */
static void add_round(LaneTree *f, Body *body, int64_t w, const Value *value)
{
	Tile *tile = f->tile;
	Gen *gen = tile->nest->gen;
	const char *name = arena_printf(gen->arena, "tree%d", (int)w);
	LocalId to = tile_declare(tile, body, name, (int64_t[]){w, tile_native(tile)}, 2);
	const Ix *place[] = {ix_iter(gen->arena, tile->q), ix_iter(gen->arena, tile->lane)};
	const Value *element = tile_local(tile, to, place, 2);
	Block set = block_of(gen, stmt_set_at(gen->arena, element, OP_NONE, value));
	set = gen_loop(gen, LOOP_VECTOR, tile->lane, tile_native(tile), set);
	gen_append(gen, body, gen_loop(gen, LOOP_UNROLL, tile->q, w, set));
	f->from = to;
	f->base = -1;
}

LocalId tile_lane_tree(Tile *tile, Body *body, LocalId acc, int64_t cols, int64_t base)
{
	Arena *arena = tile->nest->gen->arena;
	const Ix *u = ix_iter(arena, tile->q), *lane = ix_iter(arena, tile->lane);
	LaneTree f = {
		.tile = tile, .from = acc, .cols = cols, .base = base, .part = part_lanes(tile)};
	if (tile_native(tile) < tile->lanes)
		add_round(&f, body, tile_native(tile), of_element(&f, u, lane, tile_native(tile)));
	for (int64_t w = tile_native(tile); w > 1; w /= 2)
		add_round(&f, body, w / 2, added(&f, u, lane, w));
	return f.from;
}
