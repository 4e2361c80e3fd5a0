/* Sums of tiles to which some rows add at a time: at the edge of a padded picture (tile/edge.c), and tiles of
 * windows whose rows overlap, for all of which a vector of the picture is loaded once.
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
#include "base/integer.h"
#include "lower/tile/emit.h"

/* Rows of a tile, counted from its first. */
typedef struct Range {
	int64_t lo, hi;
} Range;

/* Those that read inside at step k of the cut loop. */
static Range rows_inside(const Tile *tile, const TilePart *part, int64_t k)
{
	Sizes *sizes = tile->nest->gen->program->sizes;
	int64_t first = 0, size = 0, offset = 0;
	REQUIRE(part->single && size_is_const(sizes, part->lo, &first));
	Range rows = {0, part->step};
	for (size_t g = 0; g < tile->guards.n; g++) {
		const Guarded *guard = &tile->guards.at[g];
		const IndexTerm *row = nest_term_of(guard->index, tile->row->iter);
		if (!row)
			continue;
		REQUIRE(size_is_const(sizes, guard->size, &size) &&
			size_is_const(sizes, guard->index->offset, &offset) && row->coef > 0);
		int64_t at = offset + row->coef * first +
			     nest_term_of(guard->index, tile->cut->iter)->coef * k;
		int64_t lo = divide_up(-at, row->coef), hi = divide_up(size - at, row->coef);
		rows.lo = lo > rows.lo ? lo : rows.lo;
		rows.hi = hi < rows.hi ? hi : rows.hi;
	}
	return rows;
}

/* What these rows add in one step of the sum, in all steps of the innermost loop where they go in groups. */
static Block add_rows(Tile *tile, LocalId acc, Range rows, Block prefetch)
{
	Gen *gen = tile->nest->gen;
	const Ix **row = &tile->nest->by_iter[tile->row->iter], *was = *row;
	const Ix *r = ix_plus(gen->program, ix_iter(gen->arena, tile->r), rows.lo);
	const Ix *place[] = {r, ix_iter(gen->arena, tile->lane)};
	const Value *element = tile_local(tile, acc, place, 2);
	Body all = {0};
	*row = ix_plus(gen->program, was, rows.lo);
	if (tile->group > 1) {
		gen_append(gen, &all, tile_group_along(tile, element, rows.hi - rows.lo, prefetch));
	} else {
		gen_append(gen, &all, tile_over_rows(tile, rows.hi - rows.lo, tile_add(tile, element)));
		gen_append(gen, &all, prefetch);
	}
	*row = was;
	return body_block(&all);
}

/* Steps of one loop of the sum, one part of it after another: the loops around it, and those inside it around what a
 * part adds, but for the last one where this goes along it. */
static Block around(const Tile *tile, const Loop *loop, const Body *parts)
{
	return tile_steps_before(tile, (uint32_t)(loop - tile->nest->loops), body_block(parts));
}

static Block inside(const Tile *tile, const Loop *loop, Block add)
{
	const Nest *nest = tile->nest;
	uint32_t at = (uint32_t)(loop - nest->loops), end = nest->nloops - (tile->group > 1);
	return nest_wrap(nest, at + 1, end, nest->nresult, add);
}

Block tile_cut_steps(Tile *tile, const TilePart *part, LocalId acc, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body parts = {0};
	int64_t extent = nest_known(nest, tile->cut->extent, 0);
	nest->guards = tile->inner;
	for (int64_t k = 0, end; k < extent; k = end) {
		Range rows = rows_inside(tile, part, k), next = rows;
		for (end = k + 1; end < extent; end++) {
			next = rows_inside(tile, part, end);
			if (next.lo != rows.lo || next.hi != rows.hi)
				break;
		}
		if (rows.lo >= rows.hi)
			continue;
		Block add = inside(tile, tile->cut, add_rows(tile, acc, rows, prefetch));
		gen_append(gen, &parts,
			   gen_steps(gen, tile->cut->var, tile_const(tile, k), tile_const(tile, end), 1,
				     add));
	}
	return around(tile, tile->cut, &parts);
}

/* The loop of the sum is the place of the window less the row. */
Block tile_window_steps(Tile *tile, LocalId acc)
{
	Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix **step = &nest->by_iter[tile->window->iter], *was = *step;
	const Ix *minus = ix_times(program, ix_iter(program->arena, tile->r), -1);
	int64_t extent = nest_known(nest, tile->window->extent, 0);
	Body places = {0};
	for (int64_t place = 0; place < tile->now.height + extent - 1; place++) {
		Range rows = {place < extent ? 0 : place - extent + 1,
			      place < tile->now.height ? place + 1 : tile->now.height};
		*step = ix_plus(program, minus, place - rows.lo);
		gen_append(nest->gen, &places,
			   inside(tile, tile->window, add_rows(tile, acc, rows, (Block){0})));
	}
	*step = was;
	return around(tile, tile->window, &places);
}
