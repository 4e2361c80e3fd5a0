/* Which loops of a nest become lanes, rows and columns of a register tile.
 *
 * Strides decide. Lanes run across the result where a loop of it moves the store and at least one
 * operand by one element and no operand by more; else along a sum that moves every operand by one
 * element or none. Rows and columns are loops of the result that leave an operand where it is: its
 * elements, once loaded, serve the whole tile. Guarded rows are tiled where they read inside.
 */
#include "base/diag.h"
#include "loops/linear.h"
#include "lower/tile/plan.h"

bool tile_may_be_rows(const Planner *p, const Loop *loop)
{
	TilePart inside;
	return tile_find_inside(p, loop, &inside);
}

int tile_stride(const Planner *p, const Ix *ix, const Loop *loop)
{
	Size size = ix_stride(p->program, ix, loop->var);
	if (size_is_bad(size))
		return -1;
	return size_is(p->program->sizes, size, 0)   ? 0
	       : size_is(p->program->sizes, size, 1) ? 1
						     : -1;
}

bool tile_moves_by_one(const Planner *p, const Loop *loop)
{
	bool moves = true;
	for (size_t i = 0; i < p->store.at.n && moves; i++)
		moves = tile_stride(p, p->store.at.at[i], loop) >= 0;
	return moves;
}

uint64_t tile_stays(const Planner *p, const Loop *loop)
{
	uint64_t set = 0;
	for (size_t i = 0; i < p->sum.at.n && i < 64; i++)
		if (tile_stride(p, p->sum.at.at[i], loop) == 0)
			set |= (uint64_t)1 << i;
	return set;
}

static bool keeps_order(const Planner *p, const Loop *loop)
{
	return sums_keeps(&p->facts, tile_place(p, loop));
}

static bool runs(const Planner *p, SumWay way, const Loop *loop)
{
	return sums_runs(&p->facts, way, tile_place(p, loop));
}

static bool runs_across(const Planner *p, const Loop *loop)
{
	return runs(p, SUM_WAY_ACROSS, loop) && tile_stores_along(p, loop);
}

bool tile_is_asked(const Planner *p, const ScheduleClause *asked, uint32_t item, const Loop *loop)
{
	return asks_name(asked, item, p->tile->nest->gen->frame.iters.at[loop->var].name);
}

/* A loop whose extent is known is better: its tiles are exact; then the longest. */
static bool is_better(const Planner *p, const Loop *loop, const Loop *than)
{
	int64_t a = tile_extent(p, loop, 1), b = tile_extent(p, than, 1);
	return !than || a >= b;
}

Loop *tile_reusing_loop(const Planner *p, const Loop * not, uint64_t but, uint32_t item)
{
	Nest *nest = p->tile->nest;
	Loop *best = NULL;
	for (uint32_t i = 0; i < nest->nresult; i++) {
		Loop *loop = &nest->loops[i];
		if (loop == not || (tile_stays(p, loop) & ~but) == 0 || !keeps_order(p, loop) ||
		    !tile_is_asked(p, p->tiles, item, loop))
			continue;
		if (item == TILE_ROWS ? !tile_may_be_rows(p, loop) : nest_is_guarded(nest, loop))
			continue;
		if (is_better(p, loop, best))
			best = loop;
	}
	return best;
}

/* Rows that share the vectors of a column where their loop is long enough; else those that share
 * elements. */
static Loop *rows_across(const Planner *p)
{
	Loop *sharing = tile_reusing_loop(p, p->tile->col, tile_stays(p, p->tile->col), TILE_ROWS);
	bool enough = sharing && !p->replays &&
		      tile_extent(p, sharing, TILE_ASSUMED) >= p->target->least_rows;
	return enough ? sharing : tile_reusing_loop(p, p->tile->col, 0, TILE_ROWS);
}

/* Columns of tiles with lanes along a sum: those that are stored beside each other, or the longest
 * loop. */
static Loop *columns_along(const Planner *p)
{
	Loop *longest = tile_reusing_loop(p, NULL, 0, TILE_COLUMNS);
	for (uint32_t i = 0; longest && i < p->tile->nest->nresult; i++) {
		Loop *loop = &p->tile->nest->loops[i];
		if (loop != longest && tile_stays(p, loop) && keeps_order(p, loop) &&
		    tile_is_asked(p, p->tiles, TILE_COLUMNS, loop) &&
		    !nest_is_guarded(p->tile->nest, loop) &&
		    (p->replays || tile_extent(p, loop, TILE_ASSUMED) >= p->target->least_lanes) &&
		    tile_may_be_rows(p, longest) &&
		    tile_is_asked(p, p->tiles, TILE_ROWS, longest) &&
		    tile_stride(p, p->tile->nest->at, loop) == 1 && tile_moves_by_one(p, loop))
			return loop;
	}
	return longest;
}

bool tile_find_loops(Planner *p)
{
	Tile *tile = p->tile;
	Nest *nest = tile->nest;
	for (uint32_t i = nest->nresult; i-- > 0 && !tile->col;)
		if (tile_is_asked(p, p->lanes, 0, &nest->loops[i]) &&
		    tile_is_asked(p, p->tiles, TILE_COLUMNS, &nest->loops[i]) &&
		    runs_across(p, &nest->loops[i]))
			tile->col = &nest->loops[i];
	if (tile->col) {
		tile->form = TILE_ACROSS;
		tile->row = rows_across(p);
		return true;
	}
	tile->form = TILE_ALONG;
	for (uint32_t i = nest->nloops; i-- > nest->nresult && !tile->along;)
		if ((asks_on(p->packs) || tile_is_asked(p, p->lanes, 0, &nest->loops[i])) &&
		    runs(p, SUM_WAY_ALONG, &nest->loops[i]))
			tile->along = &nest->loops[i];
	if (!tile->along)
		return false;
	tile->col = columns_along(p);
	if (tile->col)
		tile->row = tile_reusing_loop(p, tile->col, tile_stays(p, tile->col), TILE_ROWS);
	return true;
}

void tile_find_guards(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	if (tile->row && !tile_find_inside(p, tile->row, &tile->inside))
		BUG("rows of a tile without an inside");
	tile_find_cut(p);
	tile->guards = nest->guards;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!tile->row || !nest_guard_mentions(nest, &nest->guards.at[g], tile->row->iter))
			PUSH(nest->gen->arena, tile->inner, nest->guards.at[g]);
}
