/* Tiles that go down a picture before they go along its rows.
 *
 *   for oh in 0..14: for c: for ow: tile      becomes      for c: for ow: for oh in 0..14: tile
 *
 * Of a depthwise convolution every cell reads elements of its own, so that a row of the picture is
 * read again by the rows of the result whose windows hold it, from the second cache where all
 * channels go by in between. Rows of the result that follow each other at once find it in the
 * first.
 *
 * Rows go by in blocks (`first` in loops), which are work for threads; where these would be few,
 * and the columns' tiles are work enough, all at once. A cell is computed by the same tile as
 * without.
 */
#include "lower/tile.h"

#include "base/diag.h"

/* Does a loop of the sum move the element by less than the loop does in as many steps as it has,
 * so that neighbours of the loop share some of what they read? */
static bool overlaps(const Planner *p, const Ix *ix, const Loop *down)
{
	const Nest *nest = p->tile->nest;
	int64_t stride, step, extent;
	Size size = ix_stride(p->program, ix, down->var);
	if (size_is_bad(size) || !tile_is_const(p, size, &stride) || stride <= 0)
		return false;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		Size of_sum = ix_stride(p->program, ix, nest->loops[i].var);
		if (!size_is_bad(of_sum) && tile_is_const(p, of_sum, &step) && step > 0 &&
		    tile_is_const(p, nest->loops[i].extent, &extent) && stride % step == 0 &&
		    stride / step < extent)
			return true;
	}
	return false;
}

/* Do all elements that every cell has of its own overlap? */
static bool goes_down(const Planner *p, const Loop *down)
{
	const Tile *tile = p->tile;
	bool any = false;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		const Ix *ix = p->sum.at.at[i];
		if (!ix_uses(ix, tile->row->var) || !ix_uses(ix, tile->col->var))
			continue;
		if (!overlaps(p, ix, down))
			return false;
		any = true;
	}
	return any;
}

/* Rows of a block; 0: there would be too few, and the columns are work enough; -1: they are not. */
static int64_t block_of_rows(const Planner *p, int64_t extent)
{
	const TileParts *cols = &p->tile->cols;
	for (int64_t block = p->target->traversal_block; block >= p->target->traversal_block_least;
	     block--) {
		int64_t blocks = (extent + block - 1) / block;
		if (blocks >= p->target->traversal_blocks && blocks % 2 == 0)
			return block;
	}
	bool columns = cols->n == 1 && tile_extent(p, p->tile->col, 0) >=
					       p->target->traversal_parts * cols->at[0].step;
	return columns ? 0 : -1;
}

static bool may_traversal(const Tile *tile)
{
	return tile->form == TILE_ACROSS && tile->row && tile->col && tile->apart &&
	       tile->pack < 0 && tile->over_read < 0 && tile->prefetched < 0 &&
	       !tile->remainder.n && !tile->blocks.rows && !tile->blocks.cols &&
	       !tile->blocks.steps;
}

static bool take(Planner *p, const Loop *down, int64_t extent)
{
	Sym name = p->tile->nest->gen->iters.at[down->var].name;
	int64_t block = block_of_rows(p, extent), asked = asks_number(p->traversals, name);
	if (!asks_name(p->traversals, 0, name))
		return false;
	if (extent < p->target->traversal_rows)
		block = -1;
	if (asks_on(p->traversals))
		block = asked > 0 && asked < extent ? asked : 0;
	if (block < 0)
		return false;
	p->tile->traversal = down;
	p->tile->traversal_rows = block;
	return true;
}

void tile_choose_traversal(Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t extent;
	for (uint32_t i = nest->nresult;
	     may_traversal(p->tile) && !asks_off(p->traversals) && i-- > 0;) {
		const Loop *loop = &nest->loops[i];
		if (loop != p->tile->row && loop != p->tile->col &&
		    tile_is_const(p, loop->extent, &extent) && extent > 1 && goes_down(p, loop) &&
		    take(p, loop, extent))
			return;
	}
}

/* ---- its loops ---- */

static const Ix *extent_of(const Tile *tile)
{
	return ix_size(tile->nest->gen->arena, tile->traversal->extent);
}

static Block loop_of(const Tile *tile, IterVar iter, const Ix *lo, const Ix *hi, int64_t step,
		     Block body)
{
	Gen *gen = tile->nest->gen;
	Stmt *loop = (Stmt *)stmt_step(gen->arena, stmt_for(gen->arena, iter, lo, hi, body), step);
	loop->independent = tile->apart;
	return block_of(gen, loop);
}

Block tile_traversal(const Tile *tile, Block one)
{
	Gen *gen = tile->nest->gen;
	if (!tile->traversal)
		return one;
	const Ix *first = tile_const(tile, 0), *end = extent_of(tile);
	if (tile->traversal_rows) {
		first = ix_iter(gen->arena, tile->first_row);
		end = ix_binary(
			gen->program, IX_MIN, end,
			ix_add(gen->program, first, tile_const(tile, tile->traversal_rows)));
	}
	return loop_of(tile, tile->traversal->var, first, end, 1, one);
}

Block tile_traversal_blocks(const Tile *tile, Block all)
{
	if (!tile->traversal || !tile->traversal_rows)
		return all;
	return loop_of(tile, tile->first_row, tile_const(tile, 0), extent_of(tile),
		       tile->traversal_rows, all);
}
