/* The orders that loops were made in, by operation, for the reference to add in. */
#include "infer/infer.h"
#include "schedule/schedule.h"
#include "verify/verify.h"

static bool same_order(const SumMade *a, const SumMade *b)
{
	const SumOrder *x = &a->order, *y = &b->order;
	bool same = a->niters == b->niters && a->last == b->last && x->form == y->form &&
		    x->wide == y->wide && x->lanes == y->lanes && x->halves == y->halves &&
		    x->part_rows == y->part_rows && x->group == y->group && x->run == y->run;
	for (uint32_t i = 0; same && i < a->niters; i++)
		same = a->iters[i] == b->iters[i];
	return same;
}

const SumMade *const *verify_orders(const Program *program, const Inference *inference,
				    Arena *arena)
{
	size_t n = inference->graph->nodes.n;
	const SumMade **orders = ARENA_ARRAY(arena, const SumMade *, n + 1);
	bool *several = ARENA_ARRAY(arena, bool, n + 1);
	const Schedule *made = program->made;
	for (size_t i = 0; made && i < made->entries.n; i++)
		for (size_t k = 0; k < made->entries.at[i].sums.n; k++) {
			const SumMade *sum = &made->entries.at[i].sums.at[k];
			REQUIRE(sum->node < n);
			several[sum->node] |=
				orders[sum->node] && !same_order(orders[sum->node], sum);
			orders[sum->node] = sum;
		}
	for (size_t i = 0; i < n; i++)
		orders[i] = several[i] ? NULL : orders[i];
	return orders;
}
