/* Nodes that the members of a batch share: those that are computed for all of them at once.
 *
 *   y[n, j] = sum over k of x[n, k] * exp(w[k, j])
 *
 * For several members exp(w) is computed before, as each would compute it again. A batch of one
 * would not, but numbers may depend on that: the order in which the sum adds up, and whether a
 * product is rounded before something is added. There it has such a node apart as any other batch.
 */
#include "lower/lowering.h"

bool fuse_root_reduces(const Lower *lower, NodeId root)
{
	return proj_reduces(lower_proj(lower, root)) || lower->plan[root].reduction != NODE_NONE;
}

static bool has_batch_of_one(const Lower *lower, const Row *batch)
{
	for (uint32_t i = 0; i < batch->n; i++)
		if (size_is(lower->sizes, batch->axes[i].size, 1))
			return true;
	return false;
}

bool fuse_is_shared(const Lower *lower, NodeId id, NodeId root)
{
	const Node *node = lower_node(lower, id);
	if (root == NODE_NONE || !dtype_is_float(node->dtype))
		return false;
	const Row *batch = &lower_shape(lower, root)->rows[ROW_BATCH];
	return lower_shape(lower, id)->rows[ROW_BATCH].n < batch->n &&
	       has_batch_of_one(lower, batch) &&
	       (node->op == OP_MUL || fuse_root_reduces(lower, root));
}
