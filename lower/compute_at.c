/* Sums that are computed in the steps of the sum that reads them (transform/compute_at.c), as of groups of weights that
 * share a scale:
 *
 *   p[b, g, o] = sum of w[g, k, o]*x[b, g, k] over k          y[b, o] = sum of p[b, g, o]*s[g, o] over g
 *
 * Found here from how one node reads the other, so that both get the same tiles, and that the panels of w have the steps of
 * g beside those of k, one panel behind the other.
 */
#include "base/size_order.h"
#include "lower/fuse_readers.h"
#include "lower/kernel_plan.h"

/* The one iterator that an axis is; UINT32_MAX: it is none. */
static IterId iter_of(const Lower *lower, const Index *index)
{
	bool plain = index->nterms == 1 && index->terms[0].coef == 1 && index->gather < 0 &&
		     !index->guarded && size_is(lower->sizes, index->offset, 0);
	return plain ? index->terms[0].iter : UINT32_MAX;
}

/* Is it a sum in one piece, of nothing that is outside? */
static bool is_plain_sum(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear && proj->npieces == 1 && proj_reduces(proj) &&
	       proj_is_plain(proj) && !proj_is_guarded(proj) &&
	       node_reduce_op(lower_node(lower, id)) == OP_ADD;
}

/* Is each element read in one step of the other sum, which has no other loops? Then `steps` are the iterators of the node that
 * it adds up. */
static bool is_read_by_steps(const Lower *lower, NodeId id, const Frame *frame, uint64_t *steps)
{
	const Proj *proj = lower_proj(lower, id), *reader = lower_proj(lower, frame->owner);
	const Access *result = &proj->pieces[0].result, *read = &reader->pieces[0].args[frame->arg];
	uint64_t seen = 0;
	*steps = 0;
	for (uint32_t axis = 0; axis < result->naxes; axis++) {
		IterId from = iter_of(lower, &result->axes[axis]),
		       to = iter_of(lower, &read->axes[axis]);
		bool one = result->axes[axis].nterms == 0 && read->axes[axis].nterms == 0;
		if (one)
			continue;
		if (from >= 64 || to >= 64 || (seen >> to & 1))
			return false;
		seen |= (uint64_t)1 << to;
		if (reader->iters[to].reduced)
			*steps |= (uint64_t)1 << from;
	}
	for (uint32_t i = 0; i < reader->niters; i++)
		if (!(seen >> i & 1) && !size_is(lower->sizes, reader->iters[i].extent, 1))
			return false;
	return *steps != 0;
}

/* The kernel in the steps of whose sum the node's may be computed; NODE_NONE: there is none. */
static NodeId reader_of(const Lower *lower, NodeId id, uint64_t *steps)
{
	const NodePlan *plan = &lower->plan[id];
	if (lower->options->gpu || lower->row_block || plan->output || plan->mutated ||
	    plan->reduction != NODE_NONE || plan->hoisted ||
	    lower_node(lower, id)->target != NODE_NONE || !is_plain_sum(lower, id))
		return NODE_NONE;
	Reader reader = fuse_readers(lower, id);
	bool one = !reader.never && !reader.only_free && reader.root != NODE_NONE &&
		   reader.root != id && reader.frame.owner != NODE_NONE;
	if (!one || reader.frame.owner != lower_nest_node(lower, reader.root) ||
	    !is_plain_sum(lower, reader.frame.owner) ||
	    lower_proj(lower, reader.frame.owner)->niters > 64 ||
	    !is_read_by_steps(lower, id, &reader.frame, steps))
		return NODE_NONE;
	return reader.root;
}

void compute_at_begin(Nest *nest)
{
	Lower *lower = nest->gen->lower;
	NodeId inner = lower->plan[nest->root].inner;
	const KernelPlan *kernel = inner == NODE_NONE ? NULL : lower->plan[inner].kernel;
	uint64_t steps;
	bool off = says_off(gen_asked(nest->gen, CHOICE_COMPUTE_AT));
	if (!off && reader_of(lower, nest->root, &steps) != NODE_NONE)
		nest->reader_steps = steps;
	if (kernel && kernel->nests[0].plan.form == NEST_TILES)
		nest->inner_tile = kernel->nests[0].plan.tile;
}

void compute_at_end(const Nest *nest)
{
	Lower *lower = nest->gen->lower;
	uint64_t steps;
	if (nest->reader_steps)
		lower->plan[reader_of(lower, nest->root, &steps)].inner = nest->root;
}
