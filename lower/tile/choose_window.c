/* Whether the rows of a tile share what they read of a picture. */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

/* Steps of the window. Of more of them tiles are half as fast again, and the code takes many times as long to compile. */
enum { STEPS_MAX = 24 };

/* Is each load that lanes run along moved alike by the row and the loop? */
static bool walks_alike(const Tile *tile, const Value *value, const Loop *loop, bool *any)
{
	Program *program = tile->nest->gen->program;
	if (value->kind == VALUE_LOAD && ix_uses(value->ix, tile->col->var)) {
		Size row = ix_stride(program, value->ix, tile->row->var);
		Size step = ix_stride(program, value->ix, loop->var);
		if (size_is_bad(row) || size_is_bad(step) || size_is(program->sizes, row, 0) ||
		    !size_same(row, step))
			return false;
		*any = true;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!walks_alike(tile, value->args[i], loop, any))
			return false;
	return true;
}

/* Do tiles run across, each step of the sum on its own, from the picture where it is? */
static bool reads_in_place(const Tile *tile)
{
	return tile->form == TILE_ACROSS && tile->row && tile->rows.at[0].step > 1 &&
	       tile->pack < 0 && tile->over_read < 0 && tile->prefetched < 0 && tile->group == 1 &&
	       tile->guards.n == 0 && !tile->blocks.steps;
}

static bool is_window(const Tile *tile, const Loop *loop, int64_t *extent)
{
	bool any = false;
	return size_is_const(tile->nest->gen->program->sizes, loop->extent, extent) &&
	       *extent > 1 && *extent < STEPS_MAX &&
	       walks_alike(tile, tile->nest->value, loop, &any) && any;
}

void tile_choose_window(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	int64_t extent, vectors = tile->cols.at[0].step / tile->lanes;
	for (uint32_t i = nest->nresult; reads_in_place(tile) && i < nest->nloops; i++) {
		Loop *loop = &nest->loops[i];
		if (!asks_off(p->windows) && is_window(tile, loop, &extent) &&
		    asks_name(p->windows, 0, nest->gen->frame.iters.at[loop->var].name) &&
		    (extent * vectors >= p->target->tile_window_products || asks_on(p->windows))) {
			tile->window = loop;
			return;
		}
	}
}
