/* Which nodes sum over small windows, and which of these can be written out term by term inside an
 * elementwise kernel (window_value.c): those of one operand whose loops are cut where they leave it.
 */
#include "base/size_order.h"
#include "lower/gen/node_facts.h"

/* Steps of the sum of each element of a piece, at most WINDOW_FEW of them; 0: there are more, or they are not known. */
static uint32_t steps_of(const Lower *lower, const Proj *proj, const Piece *piece)
{
	int64_t steps = 1, n;
	for (uint32_t i = 0; i < piece->niters && steps < WINDOW_FEW; i++) {
		const Iter *iter = &proj->iters[piece->iters[i]];
		if (!iter->reduced)
			continue;
		if (!size_is_const(lower->sizes, iter->extent, &n) || n >= WINDOW_FEW)
			return 0;
		steps *= n;
	}
	return steps < WINDOW_FEW ? (uint32_t)steps : 0;
}

/* Sums, or copies of what may be read outside, which are sums of one term. */
static bool is_window(const Proj *proj)
{
	return proj && (proj_reduces(proj) || proj_is_guarded(proj));
}

bool fuse_is_small_window(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return is_window(proj) && proj_is_plain(proj) &&
	       steps_of(lower, proj, &proj->pieces[0]) > 0;
}

/* Is a bounded index a multiple of an iterator, and a number, in a loop that goes as far as the axis but for a
 * number? Then the loop is cut where it leaves the axis (nest/border_plan.c). Of an empty axis no element is nearest
 * to one that is outside: where there may be none, there is no iteration either. */
static bool is_cut(const Lower *lower, const Proj *proj, const Index *index, Size size)
{
	uint32_t moved = 0;
	int64_t longer;
	for (uint32_t t = 0; t < index->nterms; t++) {
		const Iter *iter = &proj->iters[index->terms[t].iter];
		int64_t step = index->terms[t].coef;
		if (iter->reduced)
			continue;
		Size more =
			size_sub(lower->sizes, size_scale(lower->sizes, iter->extent, step), size);
		if (step <= 0 || !size_is_const(lower->sizes, more, &longer) ||
		    (longer > 0 && !size_ge(lower->sizes, size, size_const(lower->sizes, 1))))
			return false;
		moved++;
	}
	return moved == 1 && size_is_const(lower->sizes, index->offset, &longer);
}

static bool is_cut_everywhere(const Lower *lower, NodeId id, const Piece *piece)
{
	const Access *read = &piece->args[0];
	const Shape *shape = lower_shape(lower, lower_node(lower, id)->args[0]);
	for (uint32_t axis = 0; axis < read->naxes; axis++)
		if (read->axes[axis].guarded &&
		    !is_cut(lower, lower_proj(lower, id), &read->axes[axis],
			    shape_axis(shape, axis)->size))
			return false;
	return true;
}

uint32_t fuse_window_terms(const Lower *lower, NodeId id, const Piece *piece)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	bool sums = node->kind == NODE_SPEC && node->nargs == 1 && node->target == NODE_NONE &&
		    !node->along.letter && is_window(proj) &&
		    (proj_is_plain(proj) || proj->disjoint);
	return sums && is_cut_everywhere(lower, id, piece) ? steps_of(lower, proj, piece) : 0;
}
