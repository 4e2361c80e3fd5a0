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
 * A cell adds its products in the order of the loops, as in a tile of its own.
 */
#include "lower/tile.h"

#include "base/diag.h"

static const IndexTerm *term_of(const Guarded *guard, IterId iter)
{
	for (uint32_t t = 0; t < guard->index->nterms; t++)
		if (guard->index->terms[t].iter == iter)
			return &guard->index->terms[t];
	return NULL;
}

/* The only loop of the sum that a guard of the rows mentions; NULL: there are more, or none. */
static const Loop *deciding_loop(const Nest *nest, const Guarded *guard, IterId row)
{
	const Loop *only = NULL;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		if (nest->loops[i].iter == row || !term_of(guard, nest->loops[i].iter))
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
		if (!term_of(guard, tile->row->iter))
			continue;
		const Loop *loop = deciding_loop(nest, guard, tile->row->iter);
		if (!loop || (cut && loop != cut) || !tile_is_const(p, loop->extent, &n))
			return;
		cut = loop;
	}
	for (size_t g = 0; cut && g < nest->guards.n; g++)
		if (!term_of(&nest->guards.at[g], tile->row->iter) &&
		    term_of(&nest->guards.at[g], cut->iter))
			return;
	tile->cuts = cut != NULL;
	tile->cut = cut ? cut->iter : 0;
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

static int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/* ---- rows whose number is not known ---- */

int64_t tile_smaller_step(int64_t step)
{
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

bool tile_find_inside(const Planner *p, const Loop *row, TilePart *inside)
{
	const Nest *nest = p->tile->nest;
	Program *program = p->program;
	const Ix *extent = ix_size(program->arena, row->extent), *from = tile_const(p->tile, 0);
	const Ix *to = extent;
	int64_t reach[2], offset;
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		const IndexTerm *term = term_of(guard, row->iter);
		if (!term)
			continue;
		if (term->coef <= 0 || !tile_is_const(p, guard->index->offset, &offset) ||
		    !reach_of(p, guard, row->iter, reach))
			return false;
		int64_t first = ceil_div(-offset - reach[0], term->coef);
		int64_t more = term->coef - 1 - offset - reach[1];
		const Ix *end = ix_add(program, ix_size(program->arena, guard->size),
				       tile_const(p->tile, more));
		if (term->coef > 1)
			end = ix_binary(program, IX_DIV, end, tile_const(p->tile, term->coef));
		from = ix_binary(program, IX_MAX, from, tile_const(p->tile, first));
		to = ix_binary(program, IX_MIN, to, end);
	}
	inside->from = ix_binary(program, IX_MIN, from, extent);
	inside->to = ix_binary(program, IX_MAX, inside->from, to);
	return true;
}

TileParts tile_inside_parts(const Planner *p, int64_t step)
{
	Program *program = p->program;
	const TilePart *inside = &p->tile->inside;
	const Ix *minus = ix_mul(program, inside->from, tile_const(p->tile, -1));
	const Ix *length = ix_add(program, inside->to, minus), *done = inside->from;
	TilePart part = {.lo = inside->lo, .hi = inside->hi};
	TileParts parts = {0};
	for (; step > 0; step = tile_smaller_step(step)) {
		const Ix *n = ix_binary(program, IX_DIV, length, tile_const(p->tile, step));
		part.step = step;
		part.from = done;
		part.to = step == 1 ? inside->to
				    : ix_add(program, inside->from,
					     ix_mul(program, n, tile_const(p->tile, step)));
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

/* ---- a tile at the edge ---- */

typedef struct Range {
	int64_t lo, hi;
} Range;

/* The rows of a tile, counted from its first, that read inside at step k of the cut loop. */
static Range rows_inside(const Tile *tile, const TilePart *part, int64_t k)
{
	Sizes *sizes = tile->nest->gen->program->sizes;
	int64_t first = 0, size = 0, offset = 0;
	REQUIRE(part->single && size_is_const(sizes, part->lo, &first));
	Range rows = {0, part->step};
	for (size_t g = 0; g < tile->guards.n; g++) {
		const Guarded *guard = &tile->guards.at[g];
		const IndexTerm *row = term_of(guard, tile->row->iter);
		if (!row)
			continue;
		REQUIRE(size_is_const(sizes, guard->size, &size) &&
			size_is_const(sizes, guard->index->offset, &offset) && row->coef > 0);
		int64_t at = offset + row->coef * first + term_of(guard, tile->cut)->coef * k;
		int64_t lo = ceil_div(-at, row->coef), hi = ceil_div(size - at, row->coef);
		rows.lo = lo > rows.lo ? lo : rows.lo;
		rows.hi = hi < rows.hi ? hi : rows.hi;
	}
	return rows;
}

/* One step of the sum for some rows; all steps of the innermost loop, where they go in groups. */
static Block add_rows(Tile *tile, const TilePart *part, LocalId acc, Range rows, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix *r = ix_add(gen->program, ix_iter(gen->arena, tile->r), tile_const(tile, rows.lo));
	const Ix *place[] = {r, ix_iter(gen->arena, tile->lane)};
	nest->by_iter[tile->row->iter] = ix_add(gen->program, ix_size(gen->arena, part->lo), r);
	const Value *cell = tile_local(tile, acc, place, 2);
	if (tile->group > 1)
		return tile_group_along(tile, cell, rows.hi - rows.lo, prefetch);
	Block add = tile_add(tile, cell);
	add = tile_unroll(tile, LOOP_VECTOR, tile->lane, tile_width(tile, tile->width), add);
	Body all = {0};
	gen_append(gen, &all, tile_unroll(tile, LOOP_UNROLL, tile->r, rows.hi - rows.lo, add));
	gen_append(gen, &all, prefetch);
	return body_block(&all);
}

Block tile_cut_steps(Tile *tile, const TilePart *part, LocalId acc, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix *row = nest->by_iter[tile->row->iter];
	Body parts = {0};
	int64_t extent = 0;
	uint32_t at = nest->nresult;
	while (nest->loops[at].iter != tile->cut)
		at++;
	REQUIRE(size_is_const(gen->program->sizes, nest->loops[at].extent, &extent));
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
		Block add = nest_wrap(nest, at + 1, nest->nloops - (tile->group > 1), nest->nresult,
				      add_rows(tile, part, acc, rows, prefetch));
		PUSH(gen->arena, parts.stmts,
		     stmt_for(gen->arena, nest->loops[at].var, tile_const(tile, k),
			      tile_const(tile, end), add));
	}
	nest->by_iter[tile->row->iter] = row;
	return nest_wrap(nest, nest->nresult, at, nest->nresult, body_block(&parts));
}
