/* Whether tiles go along another loop of the result before they go on. */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

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

/* Do all operands' elements that each element of the result has of its own overlap? */
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

/* Rows of a block; 0: there would be too few, and the columns are one part, which is work for threads; -1: they are not. */
static int64_t block_of_rows(const Planner *p, int64_t extent)
{
	for (int64_t block = p->target->traversal_block; block >= p->target->traversal_block_least;
	     block--) {
		int64_t blocks = (extent + block - 1) / block;
		if (blocks >= p->target->traversal_blocks && blocks % 2 == 0)
			return block;
	}
	return p->tile->cols.n == 1 && tile_extent(p, p->tile->col, 0) > 0 ? 0 : -1;
}

static bool may_traversal(const Tile *tile)
{
	return tile->form == TILE_ACROSS && tile->row && tile->col && tile_sets(tile) &&
	       tile->pack < 0 && tile->over_read < 0 && tile->prefetched < 0 &&
	       !tile->remainder.n && !tile->blocks.rows && !tile->blocks.cols &&
	       !tile->blocks.steps;
}

static bool take_loop(Planner *p, const Loop *down, int64_t extent)
{
	Sym name = p->tile->nest->gen->frame.iters.at[down->var].name;
	int64_t block = block_of_rows(p, extent), asked = asks_number(p->traversals, name);
	if (!asks_name(p->traversals, 0, name))
		return false;
	if (extent < p->target->traversal_rows)
		block = -1;
	if (asks_on(p->traversals))
		block = asked > 0 && asked < extent ? asked : 0;
	if (block < 0)
		return false;
	p->tile->traversal.loop = down;
	p->tile->traversal.rows = block;
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
		    take_loop(p, loop, extent))
			return;
	}
}
