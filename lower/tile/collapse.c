/* Columns that two loops of the result make together: a loop whose extent is no whole number of
 * vectors, with another one that the columns' operand walks through as one with it. The result does
 * not, so a tile's elements are stored in pieces.
 *
 *   y[a, b, c, d] from x[a, c, k] and w[k, b, d], with 24 steps of d:
 *   for d in 0..576 step 48                              b and d
 *     for c in 0..24 step 8
 *       local acc : f32 [8, 48] = 0
 *       for k in 0..576
 *         unroll r in 0..8: vector lane in 0..48: acc[r, lane] += x[..] * w[k*576 + d + lane]
 *       unroll r in 0..8
 *         vector lane in 0..16: y[.. + d/24*576 + (c + r)*24 + lane] = acc[r, lane]
 *         vector lane in 0..8: y[.. + d/24*576 + (c + r)*24 + 16 + lane] = acc[r, 16 + lane]
 *         vector lane in 0..8: y[.. + (d/24 + 1)*576 + (c + r)*24 + lane] = acc[r, 24 + lane]
 *         ...
 *
 * Tiles begin and end with whole rounds of the inner loop. A piece ends where a round or a register
 * does. Elements add up in the order of the sum's loops, as in tiles of either loop alone.
 */
#include "loops/linear.h"
#include "lower/tile/plan.h"

bool tile_wants_collapse(const Nest *nest, int64_t columns, int64_t steps, bool copied)
{
	int64_t bytes = nest_target(nest)->vector_bytes;
	int64_t lanes = bytes / dtype_bytes(nest->value->dtype);
	int64_t whole = (columns + lanes - 1) / lanes * lanes;
	bool few = steps < nest_target(nest)->tile_collapsed_steps && (copied || columns < lanes);
	return bytes == nest_target(nest)->masked_bytes && dtype_is_float(nest->value->dtype) &&
	       columns > 1 && !few && whole > columns;
}

/* Does every operand of the sum go past both loops as past one? */
static bool walk_as_one(const Planner *p, const Loop *outer, const Loop *inner)
{
	Sizes *sizes = p->program->sizes;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		Size by = ix_stride(p->program, p->sum.at.at[i], outer->var);
		Size step = ix_stride(p->program, p->sum.at.at[i], inner->var);
		if (size_is_bad(by) || size_is_bad(step) ||
		    !size_same(by, size_mul(sizes, step, inner->extent)))
			return false;
	}
	return true;
}

/* The loop that goes with the last one of the result, which is no batch's; NULL: there is none. */
static const Loop *outer_of(const Planner *p, const Loop *inner)
{
	const Nest *nest = p->tile->nest;
	for (const Loop *loop = inner; loop-- > nest->loops;)
		if (tile_extent(p, loop, 0) > 1 && size_same(loop->own, loop->extent) &&
		    tile_is_asked(p, p->collapses, 0, loop) && walk_as_one(p, loop, inner))
			return loop;
	return NULL;
}

static void collapse_loops(Nest *nest, const Loop *outer)
{
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	uint32_t last = nest->nresult - 1, at = (uint32_t)(outer - nest->loops);
	Loop *loops = ARENA_ARRAY(gen->arena, Loop, nest->nloops);
	for (uint32_t i = 0, n = 0; i < nest->nloops; i++)
		if (i != at)
			loops[n++] = nest->loops[i];
	loops[last - 1].extent = size_mul(sizes, outer->extent, loops[last - 1].extent);
	loops[last - 1].own = loops[last - 1].extent;
	const Ix **by_iter = ARENA_ARRAY(gen->arena, const Ix *, nest->proj->niters + 1);
	for (IterId i = 0; i < nest->proj->niters; i++)
		by_iter[i] = i == outer->iter ? zero_ix(gen) : nest->by_iter[i];
	PUSH(gen->arena, nest->merged,
	     ((Merged){outer->iter, nest->loops[last].iter, nest->loops[last].extent}));
	nest->by_iter = by_iter;
	nest->loops = loops;
	nest->nloops--;
	nest->nresult--;
}

bool tile_collapse(Planner *p, Nest *nest)
{
	Tile *tile = p->tile;
	const Loop *inner = &nest->loops[nest->nresult - 1];
	if (nest->nresult < 2 || nest->gen->lower->row_block || nest->guards.n > 0 ||
	    nest->epilogue.n > 0 || !tile_is_simple(nest->finished) ||
	    !(asks_on(p->collapses) ||
	      tile_wants_collapse(nest, tile_extent(p, inner, 0),
				  tile_known_steps(p, nest_target(nest)->tile_collapsed_steps),
				  false)) ||
	    !size_same(inner->own, inner->extent) || tile_stride(p, nest->at, inner) != 1)
		return false;
	const Loop *outer = outer_of(p, inner);
	if (!outer)
		return false;
	tile->collapse.name = nest->gen->frame.iters.at[outer->var].name;
	tile->collapse.round = tile_extent(p, inner, 0);
	tile->collapse.outer = outer->iter;
	collapse_loops(nest, outer);
	nest_values(nest);
	nest->finished = nest_finished(nest, nest_neutral(nest), &nest->epilogue);
	return true;
}

bool tile_has_collapsed(const Planner *p, const TileParts *cols)
{
	int64_t lo;
	if (p->tile->collapse.round && p->tile->collapse.round < p->native &&
	    cols->at[0].step % p->native != 0)
		return false;
	for (uint32_t i = 0; p->tile->collapse.round && i < cols->n; i++)
		if (cols->at[i].step % p->tile->collapse.round != 0 ||
		    !tile_is_const(p, cols->at[i].lo, &lo) || lo % p->tile->collapse.round != 0)
			return false;
	return true;
}
