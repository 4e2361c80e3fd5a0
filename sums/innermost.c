/* Which loop is innermost: the one whose accesses are cheapest, counted over one step of it.
 *
 *   an operand   0 where the iterator does not move it, 1 where it moves to the next element (a vector
 *                load), 4 for any other stride (a gather), 8 where the index is not a sum
 *   the result   an iterator of the result: 2 at stride 1 (load and store), 8 otherwise
 *                a reduced iterator: 1, the sum stays in a register
 *                1 besides where all elements of a sum read the same (x[i] == k): registers hold several
 *
 * An iterator with a constant extent below 8 fills no vector: its cost is scaled by 8/extent, but for the
 * contiguous one of a few columns without a sum, which are unrolled (transform/unroll.c). Ties
 * go to an iterator of the result (no reassociation), and there to the last one, which is
 * contiguous. Example: x[b, i] * w[o, i] runs over i (1 + 1 + 1), w[i, o] over o (0 + 1 + 2).
 */
#include "sums/sums.h"

enum { COST_SUM = 1, COST_AGAIN = 1 };

static uint64_t cost_by(const SumFacts *f, Size by, int64_t next, int64_t far)
{
	if (size_is_bad(by))
		return (uint64_t)f->target->order_unknown;
	if (size_is(f->sizes, by, 0))
		return 0;
	return (uint64_t)(size_is(f->sizes, by, 1) ? next : far);
}

static uint64_t scaled(const SumFacts *f, uint32_t loop, uint64_t cost)
{
	int64_t lanes = f->target->order_lanes, n = sums_extent(f, loop, lanes);
	bool unrolled = f->nloops == f->nresult && n <= f->target->row_columns &&
			size_is(f->sizes, f->store.by[loop], 1);
	if (n >= lanes || unrolled)
		return cost * (uint64_t)lanes;
	return cost * (uint64_t)(lanes * lanes) / (uint64_t)(n > 0 ? n : 1);
}

static uint64_t loop_cost(const SumFacts *f, uint32_t loop)
{
	const Target *target = f->target;
	bool sums = f->nloops > f->nresult, reduced = f->loops[loop].reduced;
	uint64_t cost = 0;
	for (uint32_t i = 0; i < f->nreads; i++)
		cost += cost_by(f, f->reads[i].by[loop], target->order_next, target->order_far);
	if (sums && !reduced && cost == 0)
		cost += COST_AGAIN;
	cost += reduced ? COST_SUM
			: cost_by(f, f->store.by[loop], target->order_store,
				  target->order_store_far);
	return scaled(f, loop, cost);
}

/* Does the loop go over members of a batch alone, which lie beside each other in nothing that is
 * added up? A member alone as a number has no such loop, and its sum the same order. */
static bool goes_over_members(const SumFacts *f, uint32_t loop)
{
	bool contiguous = f->nloops == f->nresult || f->loops[loop].reduced ||
			  !size_is(f->sizes, f->loops[loop].extent, 1);
	for (uint32_t i = 0; i < f->nreads && !contiguous; i++)
		contiguous = !size_is_bad(f->reads[i].by[loop]) &&
			     size_is(f->sizes, f->reads[i].by[loop], 1);
	return !contiguous;
}

uint32_t sums_innermost(const SumFacts *facts, bool reduced)
{
	uint32_t best = 0;
	uint64_t best_cost = UINT64_MAX;
	for (uint32_t i = 0; i < facts->nloops; i++) {
		if (reduced && facts->nloops > facts->nresult && !facts->loops[i].reduced)
			continue;
		if (goes_over_members(facts, i))
			continue;
		uint64_t cost = loop_cost(facts, i);
		if (cost < best_cost || (cost == best_cost && !facts->loops[i].reduced)) {
			best = i;
			best_cost = cost;
		}
	}
	return best;
}
