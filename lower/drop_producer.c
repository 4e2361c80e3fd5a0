/* Kernels that are not made: nothing reads what they would, since the one kernel that reads it computes it
 * where it copies or reads it (inline_producer.c). Decided once that kernel is planned.
 */
#include "loops/walk.h"
#include "lower/kernel_plan.h"
#include "lower/tile/copies.h"

typedef struct Search {
	BufferId buffer;
	bool found;
} Search;

static void see(void *of, const Value *value)
{
	Search *search = of;
	search->found |= value->kind == VALUE_LOAD && value->buffer == search->buffer;
}

static void search_locals(Search *search, const SharedLocals *shared)
{
	for (size_t i = 0; i < shared->n; i++)
		value_each(shared->at[i].value, see, search);
}

static void search_copies(Search *search, const CopyLoops *loops, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (loops[i].value)
			value_each(loops[i].value, see, search);
		search_copies(search, loops[i].inner, loops[i].ninner);
	}
}

/* The sum, but for an operand that is packed as what computes it. */
static const Value *read_value(const PlannedNest *planned)
{
	const Nest *nest = &planned->nest;
	if (planned->plan.form != NEST_TILES || !planned->plan.tile->inlined)
		return nest->value;
	const Value *load = tile_packed_load(planned->plan.tile);
	const Value *none = value_number(nest->gen->arena, load->dtype, 0);
	return tile_replaced(nest->gen->arena, nest->value, load, none);
}

bool kernel_plan_reads(const KernelPlan *plan, BufferId buffer)
{
	Search search = {.buffer = buffer};
	for (uint32_t i = 0; i < plan->nnests && !search.found; i++) {
		const Nest *nest = &plan->nests[i].nest;
		value_each(read_value(&plan->nests[i]), see, &search);
		value_each(nest->finished, see, &search);
		search_locals(&search, &nest->inner);
		search_locals(&search, &nest->epilogue);
		ix_each_value(nest->at, see, &search);
		for (size_t k = 0; k < nest->copies.n; k++)
			search_copies(&search, nest->copies.at[k].loops, nest->copies.at[k].nloops);
	}
	return search.found;
}

void producers_drop(Lower *lower, const KernelPlan *plan)
{
	for (size_t i = 0; i < plan->gen.inlined.n; i++) {
		NodePlan *node = &lower->plan[plan->gen.inlined.at[i]];
		if (!node->own || kernel_plan_reads(plan, node->buffer))
			continue;
		node->own = false;
		node->inlined = plan->node;
	}
}
