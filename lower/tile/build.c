/* What the code of tiles is made of: numbers, locals, and loops over the elements of a tile. */
#include "lower/tile/build.h"

const Value *tile_local(const Tile *tile, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const KernelFrame *frame = &tile->nest->gen->frame;
	REQUIRE(frame->locals.at[local].rank == nixs);
	return frame_value(frame, local, ixs);
}

LocalId tile_declare(const Tile *tile, Body *body, const char *name, const int64_t *extents,
		     uint32_t rank)
{
	return gen_declare(tile->nest->gen, body, name, nest_neutral(tile->nest), extents, rank);
}

Block tile_in_lanes(const Tile *tile, int64_t lanes, const Stmt *stmt)
{
	return gen_loop(tile->nest->gen, LOOP_VECTOR, tile->lane, lanes,
			block_of(tile->nest->gen, stmt));
}

LoopKind tile_rows_kind(const Tile *tile) { return tile->matrix ? LOOP_SERIAL : LOOP_UNROLL; }

Block tile_over(const Tile *tile, LoopKind rows, LoopKind lanes, Block body)
{
	body = gen_loop(tile->nest->gen, lanes, tile->lane, tile->now.width, body);
	return gen_loop(tile->nest->gen, rows, tile->r, tile->now.height, body);
}

Block tile_over_rows(const Tile *tile, int64_t rows, Block body)
{
	body = gen_loop(tile->nest->gen, LOOP_VECTOR, tile->lane,
			tile_width(tile, tile->now.col->step), body);
	return gen_loop(tile->nest->gen, tile_rows_kind(tile), tile->r, rows, body);
}

Block tile_over_elements(const Tile *tile, Block body)
{
	return tile_over_rows(tile, tile->now.height, body);
}
