/* Row blocks (gen/row_block_place.h): which there are, what they copy, and their kernels. */
#ifndef TSR_LOWER_ROW_BLOCK_H
#define TSR_LOWER_ROW_BLOCK_H

#include "lower/gen/row_block_place.h"
#include "lower/nest/nest.h"
#include "transform/transform.h"

/* The longest row block that begins with a root; false: none. */
bool row_block_find(Lower *lower, NodeId root, RowBlock *row_block);
/* What goes in blocks of how many rows, and what is copied; false: it does not pay. */
bool row_block_choose(Lower *lower, RowBlock *row_block, const ScheduleClause *asked);
/* Elements of a node along the axes that are no dims of the row block; steps of the sum of a nest. */
Size row_block_elements(const Lower *lower, const RowBlock *row_block, NodeId node, const int *dims);
Size row_block_steps(const Lower *lower, NodeId nest);
/* row_block_transpose.c: adds the operand of a contraction that rows leave where it is to those
 * that are transposed, where that pays; its axes are `dims` of the row block, as in RowBlockTransposed. */
void row_block_choose_transposed(Lower *lower, RowBlock *row_block, const RowBlockEnd *end,
				 const Seen *seen, int *dims);
/* Axes of a node of one element, from axis `first` on. */
uint32_t row_block_ones(const Lower *lower, NodeId node, uint32_t first);
/* Writes down which copies there are. */
void row_block_describe_transposed(const Lower *lower, const RowBlock *row_block,
				   ScheduleEntry *entry);
/* Is the operand a parameter along the sum that a dim moves? Its panels are for tiles of no row
 * block, which add up in another order than those that read the parameter. */
bool row_block_hides_panels(const Lower *lower, const RowBlockEnd *end, const Seen *seen,
			    const int *dims);
/* row_block_readers.c: has each element of the dims that are left one element of the root? */
bool row_block_is_narrow(const Lower *lower, const RowBlock *row_block, const RowBlockRoot *root);
/* Is what is between read by the row block alone, but for totals of rows, which are kept, and results? */
bool row_block_is_private(const Lower *lower, RowBlock *row_block);
/* Does the node read a tensor of the row block, through nodes that have no kernel of their own, or results
 * of it, also by way of what is computed behind it? Written to its plan. Requires that the nodes
 * between the row block's first root and it were asked. */
void row_block_find_dependence(const Lower *lower, const RowBlock *row_block, NodeId id);
/* row_block_plan.c: fills in its parts. Requires that row_block_find found it, and that what comes before it
 * is planned. */
void row_block_plan(Lower *lower, RowBlock *row_block);
/* Finds those that could have begun a planned row block and did not. */
void row_block_find_passed(Lower *lower, RowBlock *row_block);
/* Its kernels, appended to the routine in place of those of its roots, as they are planned. */
void row_block_emit(Lower *lower, RowBlock *row_block);

/* Writes down that the kernel of a root is asked to be in no row block, where it is. */
void row_block_describe_off(Lower *lower, NodeId root);
/* Writes `row_block off` down for those that could have begun the row block and did not. */
void row_block_describe_passed(Lower *lower, const RowBlock *row_block);

/* row_block_copies.c: a place for a block of rows of a root, laid out; its buffer. */
RowBlockPlace *row_block_lay_out(Lower *lower, const RowBlockRoot *root);
void row_block_declare(Lower *lower, RowBlockPlace *place, Sym name);
/* The place of a copy; the kernel that fills it. */
void row_block_place_transposed(Lower *lower, const RowBlockTransposed *transposed);
Kernel row_block_transposing(Lower *lower, const RowBlockTransposed *transposed,
			     const RowBlockPlace *place);
/* The kernel that sets the sums of a root to 0, in a round of the dims. */
Kernel row_block_zeros(Lower *lower, const RowBlockRoot *root);

/* row_block_masks.c: loops that a mask ends are cut there. */
Block row_block_cut_masked(Program *program, Block block);

/* For passes that run on a part of what is emitted. */
static inline Transform lower_transform(const Lower *lower)
{
	return (Transform){.program = lower->program,
			   .asked = lower->asked,
			   .options = lower->options,
			   .diags = lower->diags,
			   .scratch = lower->scratch};
}

#endif
