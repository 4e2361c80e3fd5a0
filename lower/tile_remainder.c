/* Few columns behind the whole vectors, with lanes along the rows.
 *
 * A vector of four columns, or of one, costs as much as one of sixteen. Sixteen rows are transposed in
 * registers instead, sixteen steps of the sum at a time, and each column adds whole vectors of
 * rows:
 *
 *   local acc : f32 [4, 16] = 0                               columns 96..100 of 16 rows
 *   for k in 0..96 step 16
 *     unroll r, vector lane: transposed[r, lane] = a[(i + r)*100 + k + lane]
 *     unroll q in 0..16: unroll c in 0..4: vector lane in 0..16
 *       acc[c, lane] += transposed[lane, q] * b[(k + q)*100 + c + 96]
 *   the steps 84..100, of which q in 12..16 add                the last square ends with the sum
 *   elements = acc, in memory: for r: for lane in 0..4: y[(i + r)*100 + lane + 96] = elements[lane, r]
 *
 * An element adds its products in the order of the loops. Rows behind the last sixteen have tiles with
 * lanes across.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"

/* ---- its code ---- */

typedef struct Remainder {
	Tile *tile;
	int64_t side, cols;
	LocalId acc;
} Remainder;

/* Row by row, from elements in memory. */
static Block finish(const Remainder *t)
{
	Tile *tile = t->tile;
	Gen *gen = tile->nest->gen;
	LocalId elements = tile_declare(tile, "elements", (int64_t[]){t->cols, t->side}, 2);
	const Ix *lane = ix_iter(gen->arena, tile->lane), *r = ix_iter(gen->arena, tile->r);
	const Ix *column[] = {ix_iter(gen->arena, tile->c), lane}, *row[] = {lane, r};
	Body body = {0};
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, elements, nest_neutral(tile->nest)));
	const Stmt *keep = stmt_set_at(gen->arena, tile_local(tile, elements, column, 2), OP_NONE,
				       tile_local(tile, t->acc, column, 2));
	gen_append(gen, &body,
		   tile_unroll(tile, LOOP_UNROLL, tile->c, t->cols,
			       tile_in_lanes(tile, t->side, keep)));
	Block store = tile_unroll(tile, LOOP_VECTOR, tile->lane, t->cols,
				  tile_store(tile, tile_local(tile, elements, row, 2)));
	gen_append(gen, &body, tile_unroll(tile, LOOP_SERIAL, tile->r, t->side, store));
	return body_block(&body);
}

Block tile_remainder(Tile *tile, const TilePart *col)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Remainder t = {.tile = tile, .side = tile->lanes, .cols = col->step};
	const Ix *at_col = nest->by_iter[tile->col->iter];
	Body body = {0};
	tile->height = t.side;
	tile->width = t.cols;
	tile->at_col = col;
	t.acc = tile_declare(tile, "acc", (int64_t[]){t.cols, t.side}, 2);
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, t.acc, nest_neutral(nest)));
	nest->by_iter[tile->col->iter] = tile_plus(tile, tile_first(tile, tile->col, col), tile->c);
	gen_append(gen, &body, tile_squares(tile, tile->row, tile->transposed, t.cols, t.acc));
	nest->by_iter[tile->col->iter] = at_col;
	gen_append(gen, &body, finish(&t));
	return body_block(&body);
}
