/* Tiles of windows whose rows overlap: a vector of the picture is loaded once for all rows that
 * read it.
 *
 *   y[i, j] = sum over a, b of x[i + a, j + b] * k[a, b], a tile of rows r in 0..6, a in 0..3:
 *   at 0: for b: unroll r in 0..1: acc[r, lane] += x[i + 0, j + lane + b] * k[0 - r, b]
 *   at 1: for b: unroll r in 0..2: acc[r, lane] += x[i + 1, j + lane + b] * k[1 - r, b]
 *   ..
 *   at 7: for b: unroll r in 0..1: acc[r + 5, lane] += x[i + 7, j + lane + b] * k[2 - r, b]
 *
 * The loop of the sum that moves the picture as far as the rows do is gone: it is the place less
 * the row. Places grow, so a cell adds its products in the order of that loop, as without this.
 */
#include "base/diag.h"
#include "lower/tile.h"

/* Steps of the window. */
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
static bool is_plain(const Tile *tile)
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
	for (uint32_t i = nest->nresult; is_plain(tile) && i < nest->nloops; i++) {
		Loop *loop = &nest->loops[i];
		if (!asks_off(p->windows) && is_window(tile, loop, &extent) &&
		    asks_name(p->windows, 0, nest->gen->iters.at[loop->var].name) &&
		    (extent * vectors >= p->target->tile_window_products || asks_on(p->windows))) {
			tile->window = loop;
			return;
		}
	}
}

/* What the rows that read a place of the window add. */
static Block add_place(Tile *tile, const Ix *first, int64_t place, int64_t extent, LocalId acc)
{
	Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	int64_t lo = place < extent ? 0 : place - extent + 1;
	int64_t hi = place < tile->height ? place + 1 : tile->height;
	const Ix *r = ix_add(program, ix_iter(program->arena, tile->r), tile_const(tile, lo));
	const Ix *minus = ix_mul(program, r, tile_const(tile, -1));
	const Ix *cell[] = {r, ix_iter(program->arena, tile->lane)};
	nest->by_iter[tile->row->iter] = ix_add(program, first, r);
	nest->by_iter[tile->window->iter] = ix_add(program, tile_const(tile, place), minus);
	Block add = tile_add(tile, tile_local(tile, acc, cell, 2));
	add = tile_unroll(tile, LOOP_VECTOR, tile->lane, tile_width(tile, tile->width), add);
	return tile_unroll(tile, LOOP_UNROLL, tile->r, hi - lo, add);
}

Block tile_window_steps(Tile *tile, const TilePart *row, LocalId acc)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix *first = tile_first(tile, tile->row, row);
	const Ix *at_row = nest->by_iter[tile->row->iter],
		 *at_window = nest->by_iter[tile->window->iter];
	uint32_t at = (uint32_t)(tile->window - nest->loops);
	Body places = {0};
	int64_t extent = 0;
	REQUIRE(size_is_const(gen->program->sizes, tile->window->extent, &extent));
	for (int64_t place = 0; place < tile->height + extent - 1; place++)
		gen_append(gen, &places,
			   nest_wrap(nest, at + 1, nest->nloops, nest->nresult,
				     add_place(tile, first, place, extent, acc)));
	nest->by_iter[tile->row->iter] = at_row;
	nest->by_iter[tile->window->iter] = at_window;
	return nest_wrap(nest, nest->nresult, at, nest->nresult, body_block(&places));
}
