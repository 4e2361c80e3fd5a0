/* The order of a nest's loops, where a schedule asks for one, and as it was made.
 *
 *   i, j, k    loops of the result, then reduced ones: the sum of an element is kept in a local
 *   i, k, j    the last loop is the result's: sums of a row grow in place, in lanes where j is contiguous
 *
 * No other order of a reduction is taken: a sum that is left and come back to would have to be kept
 * somewhere. Without a reduction any order will do where each element is written once; scattered sums
 * take any as well, and add up in it.
 */
#include "lower/nest_plan.h"

/* Sums stay sums: result, then reduced, for a sum in a local; a last loop of the result for one in
 * place. Elsewhere any order is legal where elements are written once or accumulated. */
static bool order_is_legal(const Nest *nest, const Loop *loops, bool scattered, bool *local)
{
	uint32_t n = nest->nresult, last = nest->nloops - 1;
	if (scattered || n == nest->nloops)
		return scattered || nest->proj->injective || nest->proj->disjoint;
	*local = loops[last].reduced;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		bool reduced = *local ? i >= n : i + 1 >= n && i < last;
		if (loops[i].reduced != reduced)
			return false;
	}
	return *local || nest_sums_in_place(nest);
}

/* Copies of operands give a nest other loops, of other names: an order that names those is made
 * past the copies. */
void nest_copy_for_order(Nest *nest)
{
	const ScheduleClause *asked = gen_asked(nest->gen, CHOICE_ORDER);
	bool here = true;
	for (size_t i = 0; asks_on(asked) && i < asked->items.n; i++)
		here &= nest_loop_named(nest, asked->items.at[i].name) != NULL;
	if (!here && !nest_pad(nest) && !nest_pack_operands(nest, false))
		nest_pack_operands(nest, true);
}

bool nest_take_order(Nest *nest, bool scattered, bool local)
{
	const ScheduleClause *asked = gen_asked(nest->gen, CHOICE_ORDER);
	bool in_local = local;
	if (!asks_on(asked) || asked->items.n != nest->nloops)
		return local;
	Loop *loops = ARENA_ARRAY(nest->gen->arena, Loop, nest->nloops);
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Loop *loop = nest_loop_named(nest, asked->items.at[i].name);
		for (uint32_t k = 0; k < i; k++)
			if (loop && loops[k].var == loop->var)
				loop = NULL;
		if (!loop)
			return local;
		loops[i] = *loop;
	}
	if (!order_is_legal(nest, loops, scattered, &in_local))
		return local;
	nest->loops = loops;
	return in_local;
}

void nest_describe_order(const Nest *nest)
{
	if (nest->nloops == 1 && nest->nresult == 1)
		return;
	ScheduleClause *made = gen_make(nest->gen, CHOICE_ORDER, false);
	for (uint32_t i = 0; i < nest->nloops; i++)
		clause_add(nest->gen->arena, made, nest->gen->frame.iters.at[nest->loops[i].var].name,
			   NULL, 0);
}
