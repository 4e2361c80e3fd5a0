/* Who reads what is made in a row block: its own kernels alone, those that are computed behind it, or
 * others, which need it whole.
 */
#include "lower/row_block.h"

static bool is_read_inside(const Lower *lower, const RowBlock *row_block, NodeId node)
{
	for (uint32_t i = lower->first_use[node]; i < uses_end(lower, node); i++) {
		NodeId user = lower->uses[i].user;
		NodeId root = lower->plan[user].root;
		bool inside = root == NODE_NONE ? is_read_inside(lower, row_block, user)
						: row_block_root(row_block, root) != NULL;
		if (!inside)
			return false;
	}
	return true;
}

bool row_block_is_narrow(const Lower *lower, const RowBlock *row_block, const RowBlockRoot *root)
{
	const Shape *shape = lower_shape(lower, root->root);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if ((root->dims[axis] < 0 || row_block->dims[root->dims[axis]].dropped) &&
		    !size_is(lower->sizes, shape_axis(shape, axis)->size, 1))
			return false;
	return true;
}

bool row_block_is_private(const Lower *lower, RowBlock *row_block)
{
	for (uint32_t i = 0; i + 1 < row_block->nroots; i++) {
		RowBlockRoot *root = &row_block->roots[i];
		root->read_outside = lower->plan[root->root].output ||
				     !is_read_inside(lower, row_block, root->root);
		if (root->read_outside && !root->result &&
		    !row_block_is_narrow(lower, row_block, root))
			return false;
	}
	return true;
}

void row_block_find_dependence(const Lower *lower, const RowBlock *row_block, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plan->reads_row_block = plan->follows_row_block = false;
	for (uint32_t i = 0; i < node->nargs; i++) {
		NodeId arg = node->args[i];
		const RowBlockRoot *root = row_block_root(row_block, arg);
		bool asked = !root && arg > row_block->roots[0].root;
		plan->reads_row_block |= root ? !root->result
					      : asked && !lower_has_kernel(lower, arg) &&
							 lower->plan[arg].reads_row_block;
		plan->follows_row_block |=
			root ? root->result : asked && lower->plan[arg].follows_row_block;
	}
}
