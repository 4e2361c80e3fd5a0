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
 * the row. Places grow, so an element adds its products in the order of that loop, as without this.
 */
#include "base/diag.h"
#include "lower/tile_emit.h"

/* What the rows that read a place of the window add. */
static Block add_place(Tile *tile, const Ix *first, int64_t place, int64_t extent, LocalId acc)
{
	Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	int64_t lo = place < extent ? 0 : place - extent + 1;
	int64_t hi = place < tile->height ? place + 1 : tile->height;
	const Ix *r = ix_plus(program, ix_iter(program->arena, tile->r), lo);
	const Ix *minus = ix_times(program, r, -1);
	const Ix *element[] = {r, ix_iter(program->arena, tile->lane)};
	nest->by_iter[tile->row->iter] = ix_add(program, first, r);
	nest->by_iter[tile->window->iter] = ix_add(program, tile_const(tile, place), minus);
	Block add = tile_add(tile, tile_local(tile, acc, element, 2));
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
