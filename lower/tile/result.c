/* Tiles whose result lies along the rows, while lanes run across columns that are packed:
 * convolutions with the channels first.
 *
 *   local acc : f32 [14, 32]                    14 places of a row of the picture, 32 channels
 *   ...                                         the sum, as with the channels last
 *   local transposed : f32 [16, 16] = 0             for each 16 channels
 *   unroll r in 0..14: vector lane in 0..16: transposed[r, lane] = acc[r, lane]
 *   unroll r in 0..16: vector lane in 0..16: elements[r, lane] = transposed[lane, r]
 *   unroll r in 0..16: vector lane in 0..14: y[(o + r)*3136 + ow + lane] = elements[r, lane] + b[o + r]
 *
 * The picture is read where it is, one element for all channels at a time, whatever its strides and
 * margins. Squares are transposed in registers. An element adds its products in the order of the loops. Of
 * a transposed convolution in steps of 2 a tile has every second element: y[... + 2*(x + lane)].
 */
#include "lower/tile/emit.h"

#include "base/diag.h"

typedef struct Result {
	Tile *tile;
	LocalId acc;
	int64_t side;
	const Ix *row, *col; /* of the square's first element */
} Result;

static LocalId declare_square(const Result *t, const char *name, Body *body)
{
	return tile_declare(t->tile, body, name, (int64_t[]){t->side, t->side}, 2);
}

/* unroll r in 0..rows: vector lane in 0..side: to[r, lane] = value */
static void set_rows(const Result *t, LocalId to, int64_t rows, const Value *value, Body *body)
{
	Tile *tile = t->tile;
	Gen *gen = tile->nest->gen;
	const Ix *place[] = {ix_iter(gen->arena, tile->r), ix_iter(gen->arena, tile->lane)};
	const Stmt *set = stmt_set_at(gen->arena, tile_local(tile, to, place, 2), OP_NONE, value);
	Block lanes = gen_loop(gen, LOOP_VECTOR, tile->lane, t->side, block_of(gen, set));
	gen_append(gen, body, gen_loop(gen, LOOP_UNROLL, tile->r, rows, lanes));
}

/* The square of the tile's elements from (r, c) on, transposed and finished with lanes along the rows. */
static Block square(const Result *t, int64_t r, int64_t c)
{
	Tile *tile = t->tile;
	Nest *nest = tile->nest;
	int64_t rows = tile->now.height - r < t->side ? tile->now.height - r : t->side;
	int64_t cols = tile->now.width - c < t->side ? tile->now.width - c : t->side;
	Tile outer = *tile;
	Body body = {0};
	Program *program = nest->gen->program;
	const Ix *at_r = ix_iter(program->arena, tile->r),
		 *at_lane = ix_iter(program->arena, tile->lane);
	const Ix *element[] = {ix_plus(program, at_r, r), ix_plus(program, at_lane, c)};
	const Ix *transpose[] = {at_lane, at_r}, *place[] = {at_r, at_lane};
	LocalId transposed = declare_square(t, "transposed", &body);
	set_rows(t, transposed, rows, tile_local(tile, t->acc, element, 2), &body);
	LocalId elements = declare_square(t, "elements", &body);
	set_rows(t, elements, cols, tile_local(tile, transposed, transpose, 2), &body);
	nest->by_iter[tile->row->iter] = ix_add(program, ix_plus(program, t->row, r), at_lane);
	nest->by_iter[tile->col->iter] = ix_add(program, ix_plus(program, t->col, c), at_r);
	tile->now.height = cols;
	tile->now.width = rows;
	gen_append(nest->gen, &body, tile_finish(tile, tile_local(tile, elements, place, 2)));
	tile->now.height = outer.now.height;
	tile->now.width = outer.now.width;
	return body_block(&body);
}

Block tile_finish_transposed(Tile *tile, const TilePart *row, const TilePart *col, LocalId acc)
{
	Nest *nest = tile->nest;
	const Ix *at_row = nest->by_iter[tile->row->iter], *at_col = nest->by_iter[tile->col->iter];
	Result t = {.tile = tile,
		    .acc = acc,
		    .side = tile->lanes,
		    .row = tile_first(tile, tile->row, row),
		    .col = tile_first(tile, tile->col, col)};
	Body body = {0};
	for (int64_t r = 0; r < tile->now.height; r += t.side)
		for (int64_t c = 0; c < tile->now.width; c += t.side)
			gen_append(nest->gen, &body, square(&t, r, c));
	nest->by_iter[tile->row->iter] = at_row;
	nest->by_iter[tile->col->iter] = at_col;
	return body_block(&body);
}
