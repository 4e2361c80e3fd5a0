/* The parts of rows and of columns: whole tiles, and the tiles of what is left of an extent.
 *
 * Remainders: exact smaller tiles where an extent is known, none where it is a multiple whatever
 * the dims are, else halves down to 1. An element's order of additions is the same in all of them, so a
 * row alone and a row in a batch give the same bits.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "lower/tile/plan.h"

/* PANEL_ROWS: that are assumed to use a parameter's panel. */
enum { LEAST_LANES = 4, PANEL_ROWS = 96 };

bool tile_is_const(const Planner *p, Size size, int64_t *n)
{
	return size_is_const(p->program->sizes, size, n);
}

int64_t tile_extent(const Planner *p, const Loop *loop, int64_t otherwise)
{
	int64_t n;
	return !loop ? 1 : tile_is_const(p, loop->extent, &n) ? n : otherwise;
}

int64_t tile_known_steps(const Planner *p, int64_t most)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1;
	for (uint32_t i = nest->nresult; i < nest->nloops && steps < most; i++)
		steps *= tile_extent(p, &nest->loops[i], most);
	return steps;
}

bool tile_is_whole(const Planner *p, Size extent, int64_t step)
{
	return size_divides(p->program->sizes, size_const(p->program->sizes, step), extent);
}

static TilePart part_of(const Planner *p, Size lo, Size hi, int64_t step)
{
	int64_t a, b;
	bool single = tile_is_const(p, lo, &a) && tile_is_const(p, hi, &b) && b - a == step;
	return (TilePart){.lo = lo, .hi = hi, .step = step, .single = single};
}

void tile_add_part(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step)
{
	Sizes *sizes = p->program->sizes;
	if (lo < hi)
		parts->at[parts->n++] =
			part_of(p, size_const(sizes, lo), size_const(sizes, hi), step);
}

/* Exact tiles of a known range: whole ones, then what is left. `join`: what is left is added to the
 * last whole one. */
static void add_exact(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step,
		      bool join)
{
	step = step < hi - lo ? step : hi - lo;
	int64_t whole = lo + (hi - lo) / step * step;
	if (join && hi > whole)
		whole -= step;
	tile_add_part(p, parts, lo, whole, step);
	tile_add_part(p, parts, whole, hi, hi - whole);
}

/* Padded rows: tiles of which those at the edges cut a loop of the sum; else rows where reads may
 * fall outside one by one, around tiles of the others. */
static TileParts padded_parts(const Planner *p, int64_t extent, int64_t step)
{
	TileParts parts = {0};
	int64_t lo, hi;
	if (p->tile->cut)
		parts = tile_cut_parts(p, extent, step);
	if (parts.n)
		return parts;
	REQUIRE(tile_is_const(p, p->tile->inside.lo, &lo) &&
		tile_is_const(p, p->tile->inside.hi, &hi));
	tile_add_part(p, &parts, 0, lo, 1);
	uint32_t first = parts.n;
	add_exact(p, &parts, lo, hi, step, false);
	uint32_t end = parts.n;
	tile_add_part(p, &parts, hi, extent, 1);
	for (uint32_t i = 0; i < parts.n; i++)
		parts.at[i].edge = i < first || i >= end;
	return parts;
}

/* Tiles of a symbolic extent: `step`, then ever smaller ones, each a divisor of the one before. */
static TileParts halved_parts(const Planner *p, Size extent, int64_t step, bool lanes)
{
	Sizes *sizes = p->program->sizes;
	TileParts parts = {0};
	Size done = size_const(sizes, 0);
	while (step > 0) {
		bool whole = step == 1 || (!lanes && tile_is_whole(p, extent, step));
		Size hi = whole ? extent : size_scale(sizes, size_floor(sizes, extent, step), step);
		parts.at[parts.n++] = (TilePart){.lo = done, .hi = hi, .step = step};
		done = hi;
		if (whole)
			step = 0;
		else if (lanes)
			step = step > p->native	    ? p->native
			       : step > LEAST_LANES ? LEAST_LANES
						    : step > 1;
		else
			step = tile_smaller_step(step);
	}
	return parts;
}

TileParts tile_parts_of(const Planner *p, const Loop *loop, int64_t step, bool join)
{
	int64_t extent;
	TileParts parts = {0};
	if (loop && loop == p->tile->row && tile_is_const(p, loop->extent, &extent))
		return padded_parts(p, extent, step);
	if (loop && loop == p->tile->row && p->tile->inside.from)
		return tile_inside_parts(p, step);
	if (!loop || tile_is_const(p, loop->extent, &extent)) {
		add_exact(p, &parts, 0, loop ? extent : 1, step, join);
		return parts;
	}
	bool lanes = p->tile->form == TILE_ACROSS && loop == p->tile->col;
	return halved_parts(p, loop->extent, step, lanes);
}

/* What is assumed of a symbolic extent: what is known to be a factor of it, if that is more. */
static int64_t assumed(const Planner *p, const Loop *loop)
{
	int64_t n, least = p->tile->prepacked ? PANEL_ROWS : TILE_ASSUMED;
	return loop && tile_is_const(p, loop->own, &n) && n > least ? n : least;
}

int64_t tile_part_count(const Planner *p, const TileParts *parts, uint32_t i, const Loop *loop)
{
	const TilePart *part = &parts->at[i];
	int64_t lo, hi;
	if (tile_is_const(p, part->lo, &lo) && tile_is_const(p, part->hi, &hi))
		return (hi - lo) / part->step;
	return i == 0 ? (assumed(p, loop) + part->step - 1) / part->step : 0;
}
