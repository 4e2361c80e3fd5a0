/* What follows from the sums of a tile whose columns are two loops, stored in pieces. */
#include "lower/tile/emit.h"

/* The lanes of a piece, row by row. */
static Block store_piece(Tile *tile, const Value *element, int64_t from, int64_t to)
{
	Gen *gen = tile->nest->gen;
	Stmt *vector = stmt_for(gen->arena, tile->lane, tile_const(tile, from),
				tile_const(tile, to), tile_store(tile, element));
	vector->loop = LOOP_VECTOR;
	return gen_loop(gen, LOOP_UNROLL, tile->r, tile->now.height, block_of(gen, vector));
}

Block tile_finish_pieces(Tile *tile, const TilePart *col, const Value *element)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix **outer = &nest->by_iter[tile->collapse.outer],
		 **inner = &nest->by_iter[tile->col->iter];
	const Ix *outer_was = *outer, *inner_was = *inner, *lane = ix_iter(gen->arena, tile->lane);
	const Ix *first = ix_binary(gen->program, IX_DIV, tile_first(tile, tile->col, col),
				    tile_const(tile, tile->collapse.round));
	Body body = {0};
	for (int64_t from = 0, to; from < tile->now.width; from = to) {
		int64_t round = from / tile->collapse.round;
		to = tile_piece_end(tile, from);
		*outer = ix_plus(gen->program, first, round);
		*inner = ix_plus(gen->program, lane, -round * tile->collapse.round);
		gen_append(gen, &body, store_piece(tile, element, from, to));
	}
	*outer = outer_was;
	*inner = inner_was;
	return body_block(&body);
}
