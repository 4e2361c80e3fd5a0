/* The sum of a tile at the edge of a padded picture. */
#include "base/integer.h"
#include "lower/tile_emit.h"

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
		const IndexTerm *row = nest_term_of(guard->index, tile->row->iter);
		if (!row)
			continue;
		REQUIRE(size_is_const(sizes, guard->size, &size) &&
			size_is_const(sizes, guard->index->offset, &offset) && row->coef > 0);
		int64_t at = offset + row->coef * first +
			     nest_term_of(guard->index, tile->cut)->coef * k;
		int64_t lo = divide_up(-at, row->coef), hi = divide_up(size - at, row->coef);
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
	const Ix *r = ix_plus(gen->program, ix_iter(gen->arena, tile->r), rows.lo);
	const Ix *place[] = {r, ix_iter(gen->arena, tile->lane)};
	nest->by_iter[tile->row->iter] = ix_add(gen->program, ix_size(gen->arena, part->lo), r);
	const Value *element = tile_local(tile, acc, place, 2);
	if (tile->group > 1)
		return tile_group_along(tile, element, rows.hi - rows.lo, prefetch);
	Block add = tile_add(tile, element);
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
