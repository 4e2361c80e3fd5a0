/* How each kernel of a routine is computed, in the order in which they run: row blocks, and the nests of
 * all other kernels, those of the state's functions first.
 *
 * A kernel may compute an operand where it copies it, if the operand's own kernel comes before and makes
 * nothing else (`own`).
 */
#include "lower/kernel_plan.h"
#include "lower/node_plan.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"

static void plan_node(Lower *lower, NodeId id)
{
	if (lower_has_kernel(lower, id) && lower_node(lower, id)->kind != NODE_ZEROS)
		lower->plan[id].kernel = kernel_plan(lower, id);
}

/* Functions of parameters that are new in the routine. */
static void plan_values(Lower *lower)
{
	lower->packing = true;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		BufferId first = (BufferId)lower->program->buffers.n;
		if (!prepack_is_new(lower, id))
			continue;
		lower->plan[id].kernel = kernel_plan(lower, id);
		prepack_keep_temporaries(lower, first, lower->plan[id].buffer);
	}
	lower->packing = false;
}

static RowBlock *find_row_block(Lower *lower, NodeId id)
{
	RowBlock found, *row_block;
	if (!lower_has_kernel(lower, id) || !row_block_find(lower, id, &found))
		return NULL;
	row_block = ARENA_NEW(lower->arena, RowBlock);
	*row_block = found;
	return row_block;
}

/* Is it one kernel, which only stores the node? */
static bool is_own(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return lower_has_kernel(lower, id) && plan->kernel &&
	       lower_node(lower, id)->target == NODE_NONE && !plan->halo;
}

/* The kernel, or the row block that it begins and what comes before that; the last node that is planned
 * then. */
static NodeId plan_next(Lower *lower, NodeId id)
{
	RowBlock *row_block = lower->plan[id].row_block = find_row_block(lower, id);
	if (!row_block) {
		plan_node(lower, id);
		lower->plan[id].own = is_own(lower, id);
		return id;
	}
	for (uint32_t i = 0; i < row_block->nbefore; i++)
		plan_node(lower, row_block->before[i]);
	row_block_plan(lower, row_block);
	for (uint32_t i = 0; i < row_block->nafter; i++)
		plan_node(lower, row_block->after[i]);
	return row_block->roots[row_block->nroots - 1].root;
}

void routine_plan_kernels(Lower *lower)
{
	NodeId planned = 0; /* those before it are */
	plan_values(lower);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (lower->plan[lower->needed[k]].pre_check)
			plan_node(lower, lower->needed[k]);
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		if (id >= planned && !lower->plan[id].pre_check)
			planned = plan_next(lower, id) + 1;
	}
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (lower->plan[lower->needed[k]].row_block)
			row_block_find_passed(lower, lower->plan[lower->needed[k]].row_block);
}
