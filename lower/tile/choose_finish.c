/* What follows from the sums of tiles, asked of a tile at any place of the result: whether a mask may hide it,
 * whether functions of many instructions have loops of their own, and whether vectors compute it.
 */
#include <string.h>

#include "lower/tile/plan.h"

/* What is stored of an element, and the locals that it reads. */
typedef struct Stored {
	const Value *value;
	SharedLocals locals;
} Stored;

/* Is what is stored no function of many instructions? */
static bool stays_in_vectors(const Tile *tile, const Stored *stored)
{
	bool simple = tile_computes_in_lanes(stored->value, true, tile);
	for (size_t i = 0; i < stored->locals.n; i++)
		simple = simple && tile_computes_in_lanes(stored->locals.at[i].value, true, tile);
	return simple;
}

static bool names_index(const Value *value)
{
	bool names = value->kind == VALUE_INDEX;
	for (uint32_t i = 0; i < value->nargs; i++)
		names |= names_index(value->args[i]);
	return names;
}

static bool is_flat(const Stored *stored)
{
	bool flat = !names_index(stored->value);
	for (size_t i = 0; i < stored->locals.n; i++)
		flat &= !names_index(stored->locals.at[i].value);
	return flat;
}

/* The rows and columns of the tile go along these iterators. */
static void place(const Tile *tile, IterVar row, IterVar col)
{
	const Ix **by_iter = tile->nest->by_iter;
	Arena *arena = tile->nest->gen->arena;
	if (tile->row)
		by_iter[tile->row->iter] = tile_plus(tile, ix_iter(arena, tile->row->var), row);
	if (tile->col)
		by_iter[tile->col->iter] = tile_plus(tile, ix_iter(arena, tile->col->var), col);
}

/* A tile as its code will have it, in a copy of the kernel. */
typedef struct Look {
	Gen gen;
	Nest nest;
	Tile tile;
} Look;

static void look_at(Look *look, const Tile *tile)
{
	const Nest *nest = tile->nest;
	*look = (Look){gen_look(nest->gen), *nest, *tile};
	look->gen.frame = frame_copy(&nest->gen->frame, true);
	look->nest.gen = &look->gen;
	look->nest.by_iter = ARENA_ARRAY(look->gen.arena, const Ix *, nest->proj->niters + 1);
	memcpy(look->nest.by_iter, nest->by_iter, nest->proj->niters * sizeof *nest->by_iter);
	look->tile.nest = &look->nest;
	look->tile.r = gen_iter(&look->gen, "r");
	look->tile.lane = gen_iter(&look->gen, "lane");
	look->tile.now.height = tile->rows.at[0].step;
	look->tile.now.width = tile->cols.at[0].step;
}

void tile_choose_finish(Tile *tile)
{
	Look look;
	Cond conds[TILE_MASKS];
	Stored stored = {0};
	if (tile->nest->root == tile->nest->node)
		return;
	look_at(&look, tile);
	place(&look.tile, look.tile.r, look.tile.lane);
	tile->finish.masked = tile_masks(&look.tile, conds) > 0;
	if (tile->stores_rows)
		place(&look.tile, look.tile.lane, look.tile.r);
	const Value sum = {.kind = VALUE_LOCAL, .dtype = nest_neutral(tile->nest)->dtype};
	stored.value = tile_numbers(&look.tile, nest_look_stored(&look.nest, &sum, &stored.locals));
	tile->finish.fission = tile->form == TILE_ACROSS && !tile->collapse.round &&
			       !stays_in_vectors(&look.tile, &stored);
	tile->finish.flat = tile->finish.fission && is_flat(&stored);
	tile->finish.vectors &=
		stored.locals.n == 0 && tile_is_in_vectors(&look.tile, stored.value);
}
