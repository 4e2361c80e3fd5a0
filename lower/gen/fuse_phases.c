/* Which nodes write elements some apart (`i => 2*i + 1`), and are computed inside the elementwise kernel that
 * reads them: an element between is the neutral element there, and nothing is stored on the way. Loops go by
 * phases then (nest/phases.c), so that no step asks which it is at.
 */
#include "base/size_order.h"
#include "lower/gen/node_facts.h"

/* Is the axis as many times an iterator of its own as there are phases, its step one of them? */
static bool is_phase_axis(const Lower *lower, const Proj *proj, const Index *index, Size size)
{
	if (index->gather >= 0 || index->guarded || index->nterms > 1)
		return false;
	if (index->nterms == 0)
		return size_is(lower->sizes, size, 1);
	const IndexTerm *term = &index->terms[0];
	int64_t offset;
	return size_is_const(lower->sizes, index->offset, &offset) && offset >= 0 &&
	       offset < term->coef &&
	       size_same(size,
			 size_scale(lower->sizes, proj->iters[term->iter].extent, term->coef));
}

/* Is an iterator that of an earlier axis, too? Then elements of a diagonal are written. */
static bool is_of_earlier_axis(const Access *result, uint32_t axis)
{
	bool earlier = false;
	for (uint32_t i = 0; i < axis && result->axes[axis].nterms; i++)
		earlier |= result->axes[i].nterms &&
			   result->axes[i].terms[0].iter == result->axes[axis].terms[0].iter;
	return earlier;
}

int64_t phases_of_axis(const Proj *proj, uint32_t axis)
{
	const Index *index = &proj->pieces[0].result.axes[axis];
	return index->nterms ? index->terms[0].coef : 1;
}

bool fuse_has_phases(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (node->kind != NODE_SPEC || node->target != NODE_NONE || !node_suits_nest(node) ||
	    !proj || proj->linear || proj->npieces != 1 || !proj->injective || proj->surjective ||
	    proj_reduces(proj) || proj_is_guarded(proj))
		return false;
	const Access *result = &proj->pieces[0].result;
	int64_t phases = 1;
	for (uint32_t axis = 0; axis < result->naxes && phases <= PHASES_MOST; axis++) {
		if (is_of_earlier_axis(result, axis) ||
		    !is_phase_axis(lower, proj, &result->axes[axis],
				   shape_axis(lower_shape(lower, id), axis)->size))
			return false;
		int64_t step = phases_of_axis(proj, axis);
		phases = step <= PHASES_MOST ? phases * step : PHASES_MOST + 1;
	}
	return phases <= PHASES_MOST;
}

bool fuse_same_phases(const Lower *lower, NodeId a, NodeId b)
{
	const Proj *of_a = lower_proj(lower, a), *of_b = lower_proj(lower, b);
	for (uint32_t axis = 0; axis < of_a->pieces[0].result.naxes; axis++)
		if (phases_of_axis(of_a, axis) != phases_of_axis(of_b, axis))
			return false;
	return true;
}
