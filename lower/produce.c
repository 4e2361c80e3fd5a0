/* Operands that are computed where they are copied, instead of in a buffer that the copy reads:
 *
 *   exp[e] = exp(w[e]); packed[k*64 + lane] = exp[(j + lane)*768 + k]
 *   becomes packed[k*64 + lane] = exp(w[(j + lane)*768 + k])
 *
 * A copy reads each element once, so nothing is computed twice, and the numbers are the same: the
 * buffer would have held them in the type that the copy casts from.
 */
#include "lower/band.h"

enum { PRODUCED_LIMIT = 64 };

/* Has the value few operations, those that are read several times counted as often? */
static bool is_small(const Value *value, uint32_t *left)
{
	bool small = *left > 0;
	*left -= small;
	for (uint32_t i = 0; i < value->nargs && small; i++)
		small = is_small(value->args[i], left);
	return small;
}

static bool may_produce(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->ahead && lower->shared[id] == plan->buffer;
}

/* Where the nest's value reads the buffer: the node that is there, and its index. */
static const Seen *find_read(Gen *gen, const SeenList *seen, const Value *load)
{
	for (size_t i = 0; i < seen->n; i++) {
		const Seen *read = &seen->at[i];
		if (gen->lower->plan[read->node].buffer == load->buffer &&
		    ix_same(flat_index(gen, read->node, read->axes), load->ix))
			return read;
	}
	return NULL;
}

static SeenList reads_of(Nest *nest)
{
	Gen *gen = nest->gen;
	SeenList seen = {0}, *outer = gen->seen;
	gen->seen = &seen;
	gen_enter(gen, gen->body);
	piece_value(gen, nest->node, nest->piece, band_whole(nest));
	gen->seen = outer;
	return seen;
}

const Value *nest_produced(Nest *nest, const Value *load)
{
	Gen *gen = nest->gen;
	bool in_line = gen->in_line;
	gen->in_line = true;
	SeenList seen = reads_of(nest);
	const Seen *read = find_read(gen, &seen, load);
	uint32_t left = PRODUCED_LIMIT;
	const Value *value = read && may_produce(gen->lower, read->node)
				     ? node_compute(gen, read->node, read->axes)
				     : load;
	gen->in_line = in_line;
	return is_small(value, &left) ? value : load;
}
