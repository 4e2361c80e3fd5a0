/* Which loop is innermost: the one whose accesses are cheapest, counted over one step of it.
 *
 *   an operand   0 where the iterator does not move it, 1 where it moves to the next element (a vector
 *                load), 4 for any other stride (a gather), 8 where the index is not a sum
 *   the result   an iterator of the result: 2 at stride 1 (load and store), 8 otherwise
 *                a reduced iterator: 1, the sum stays in a register
 *                1 besides where all cells of a sum read the same (x[i] == k): registers hold several
 *
 * An iterator with a constant extent below 8 fills no vector: its cost is scaled by 8/extent. Ties
 * go to an iterator of the result (no reassociation), and there to the last one, which is
 * contiguous. Example: x[b, i] * w[o, i] runs over i (1 + 1 + 1), w[i, o] over o (0 + 1 + 2).
 */
#include "lower/lowering.h"

enum { COST_SUM = 1, COST_AGAIN = 1 };

typedef struct Order {
	Gen *gen;
	const Target *target;
	IterVar iter;
	uint64_t cost;
} Order;

static uint64_t stride_cost(const Order *o, const Ix *ix, int64_t next, int64_t far)
{
	Sizes *sizes = o->gen->program->sizes;
	Linear linear = ix_linear(o->gen->program, ix);
	uint64_t cost = 0;
	for (size_t i = 0; i < linear.terms.n; i++) {
		const LinearTerm *term = &linear.terms.at[i];
		if (!ix_uses(term->atom, o->iter) || size_is(sizes, term->coef, 0))
			continue;
		if (term->atom->kind != IX_ITER)
			return (uint64_t)o->target->order_unknown;
		cost = (uint64_t)(size_is(sizes, term->coef, 1) ? next : far);
	}
	return cost;
}

static void count_value(Order *o, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		o->cost += stride_cost(o, value->ix, o->target->order_next, o->target->order_far);
	for (uint32_t i = 0; i < value->nargs; i++)
		count_value(o, value->args[i]);
}

/* Sums are added up in the order that follows, so theirs is that of one member of a batch. */
static uint64_t scaled(const Order *o, const Loop *loop, bool of_sum)
{
	const Sizes *sizes = o->gen->program->sizes;
	int64_t lanes = o->target->order_lanes, n = loop_of_member(sizes, loop, lanes);
	if ((!of_sum && !size_is_const(sizes, loop->extent, &n)) || n >= lanes)
		return o->cost * (uint64_t)lanes;
	return o->cost * (uint64_t)(lanes * lanes) / (uint64_t)(n > 0 ? n : 1);
}

static uint64_t loop_cost(Gen *gen, const Loop *loop, const Body *body, const Value *value,
			  const Ix *store, bool of_sum)
{
	Order o = {.gen = gen, .target = gen->lower->target, .iter = loop->var};
	for (size_t i = 0; i < body->stmts.n; i++)
		count_value(&o, body->stmts.at[i]->value);
	count_value(&o, value);
	if (of_sum && !loop->reduced && o.cost == 0)
		o.cost += COST_AGAIN;
	if (loop->reduced)
		o.cost += COST_SUM;
	else if (ix_uses(store, loop->var))
		o.cost += stride_cost(&o, store, o.target->order_store, o.target->order_store_far);
	return scaled(&o, loop, of_sum);
}

uint32_t order_innermost(Gen *gen, const Loop *loops, uint32_t nloops, const Body *body,
			 const Value *value, const Ix *store, bool keep_local)
{
	uint32_t best = 0;
	uint64_t best_cost = UINT64_MAX;
	bool reduces = false;
	for (uint32_t i = 0; i < nloops; i++)
		reduces |= loops[i].reduced;
	for (uint32_t i = 0; i < nloops; i++) {
		if (keep_local && reduces && !loops[i].reduced)
			continue;
		uint64_t cost = loop_cost(gen, &loops[i], body, value, store, reduces);
		bool better = cost < best_cost || (cost == best_cost && !loops[i].reduced);
		if (better) {
			best = i;
			best_cost = cost;
		}
	}
	return best;
}
