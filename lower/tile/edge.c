/* Tiles over padded rows.
 *
 * Where one loop of the sum decides which rows of a tile read inside, that loop is cut where the
 * rows change, and the tile keeps its size:
 *
 *   local acc : f32 [7, 32] = 0                        rows ow in 0..7 of a kernel of width 3
 *   for kh in ..
 *     for kw in 0..1: for i: unroll r in 0..6: acc[r + 1, lane] += x[.., r + 1 + kw - 1] * w[kw, ..]
 *     for kw in 1..2: for i: unroll r in 0..7: acc[r, lane] += ..
 *     for kw in 2..3: for i: unroll r in 0..6: acc[r, lane] += ..
 *
 * Where the extent of the rows is not known, neither is where they read inside: tiles go from a
 * bound that is computed to another, and the rows around them go one by one.
 *
 * An element adds its products in the order of the loops, as in a tile of its own.
 */
#include "lower/tile/plan.h"

#include "base/diag.h"
#include "base/integer.h"

/* The only loop of the sum that a guard of the rows mentions; NULL: there are more, or none. */
static const Loop *deciding_loop(const Nest *nest, const Guarded *guard, IterId row)
{
	const Loop *only = NULL;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		if (nest->loops[i].iter == row || !nest_term_of(guard->index, nest->loops[i].iter))
			continue;
		if (only || !nest->loops[i].reduced)
			return NULL;
		only = &nest->loops[i];
	}
	return only;
}

void tile_find_cut(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const Loop *cut = NULL;
	int64_t n;
	if (tile->form != TILE_ACROSS || !tile->row)
		return;
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		if (!nest_term_of(guard->index, tile->row->iter))
			continue;
		const Loop *loop = deciding_loop(nest, guard, tile->row->iter);
		if (!loop || (cut && loop != cut) || !tile_is_const(p, loop->extent, &n))
			return;
		cut = loop;
	}
	for (size_t g = 0; cut && g < nest->guards.n; g++)
		if (!nest_term_of(nest->guards.at[g].index, tile->row->iter) &&
		    nest_term_of(nest->guards.at[g].index, cut->iter))
			return;
	tile->cut = cut;
}

/* Tiles at the edges one by one, those that read inside as one part, then what is left. */
TileParts tile_cut_parts(const Planner *p, int64_t extent, int64_t step)
{
	const Tile *tile = p->tile;
	Sizes *sizes = p->program->sizes;
	TileParts parts = {0};
	int64_t lo, hi, end;
	REQUIRE(tile_is_const(p, tile->inside.lo, &lo) && tile_is_const(p, tile->inside.hi, &hi));
	for (int64_t first = 0; first < extent; first = end) {
		int64_t inside = first >= lo ? (hi - first) / step * step : 0;
		end = first + (inside > step ? inside : step);
		end = end < extent ? end : extent;
		if (parts.n == sizeof parts.at / sizeof *parts.at)
			return (TileParts){0};
		int64_t height = end - first < step ? end - first : step;
		parts.at[parts.n++] = (TilePart){.lo = size_const(sizes, first),
						 .hi = size_const(sizes, end),
						 .step = height,
						 .single = end - first == height,
						 .edge = first < lo || end > hi};
	}
	return parts;
}

/* ---- rows whose number is not known ---- */

int64_t tile_smaller_step(int64_t step)
{
	if (step > 14)
		return step / 2;
	return step % 2 == 0 && step > 4 ? (step == 6 ? 2 : 4) : step / 2;
}

/* How far the loops of the sum move a guarded index down and up; false: not known. */
static bool reach_of(const Planner *p, const Guarded *guard, IterId row, int64_t reach[2])
{
	reach[0] = reach[1] = 0;
	for (uint32_t t = 0; t < guard->index->nterms; t++) {
		const IndexTerm *term = &guard->index->terms[t];
		const Iter *iter = &p->tile->nest->proj->iters[term->iter];
		int64_t extent;
		if (term->iter == row)
			continue;
		if (!iter->reduced || !tile_is_const(p, iter->extent, &extent))
			return false;
		reach[term->coef > 0] += term->coef * (extent - 1);
	}
	return true;
}

/* Rows for which a guarded index is inside whatever the sum's loops are at; false: unknown. */
static bool inside_of(const Planner *p, const Guarded *guard, const IndexTerm *row,
		      TilePart *inside)
{
	Program *program = p->program;
	int64_t reach[2], offset;
	if (row->coef <= 0 || !tile_is_const(p, guard->index->offset, &offset) ||
	    !reach_of(p, guard, row->iter, reach))
		return false;
	int64_t first = divide_up(-offset - reach[0], row->coef);
	int64_t more = row->coef - 1 - offset - reach[1];
	const Ix *end = ix_plus(program, ix_size(program->arena, guard->size), more);
	end = ix_binary(program, IX_DIV, end, tile_const(p->tile, row->coef));
	inside->from = ix_binary(program, IX_MAX, inside->from, tile_const(p->tile, first));
	inside->to = ix_binary(program, IX_MIN, inside->to, end);
	return true;
}

bool tile_find_inside(const Planner *p, const Loop *row, TilePart *inside)
{
	const Nest *nest = p->tile->nest;
	Program *program = p->program;
	const Ix *extent = ix_size(program->arena, row->extent);
	int64_t lo, hi;
	*inside = (TilePart){.lo = size_const(program->sizes, 0), .hi = row->extent};
	if (!nest_is_guarded(nest, row))
		return true;
	inside->from = tile_const(p->tile, 0);
	inside->to = extent;
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		const IndexTerm *term = nest_term_of(guard->index, row->iter);
		if (nest_guard_mentions(nest, guard, row->iter) &&
		    (!term || !inside_of(p, guard, term, inside)))
			return false;
	}
	if (!tile_is_const(p, row->extent, &hi)) {
		inside->from = ix_binary(program, IX_MIN, inside->from, extent);
		inside->to = ix_binary(program, IX_MAX, inside->from, inside->to);
		return true;
	}
	if (inside->to->kind != IX_SIZE)
		return false;
	*inside = (TilePart){.lo = inside->from->size, .hi = inside->to->size};
	return tile_is_const(p, inside->lo, &lo) && tile_is_const(p, inside->hi, &hi) && lo < hi;
}

TileParts tile_inside_parts(const Planner *p, int64_t step)
{
	Program *program = p->program;
	const TilePart *inside = &p->tile->inside;
	const Ix *length = ix_minus(program, inside->to, inside->from), *done = inside->from;
	TilePart part = {.lo = inside->lo, .hi = inside->hi};
	TileParts parts = {0};
	for (; step > 0; step = tile_smaller_step(step)) {
		const Ix *n = ix_binary(program, IX_DIV, length, tile_const(p->tile, step));
		part.step = step;
		part.from = done;
		part.to = step == 1 ? inside->to
				    : ix_add(program, inside->from, ix_times(program, n, step));
		done = part.to;
		parts.at[parts.n++] = part;
	}
	part.edge = true;
	part.from = tile_const(p->tile, 0);
	part.to = inside->from;
	parts.at[parts.n++] = part;
	part.from = inside->to;
	part.to = ix_size(program->arena, inside->hi);
	parts.at[parts.n++] = part;
	return parts;
}
