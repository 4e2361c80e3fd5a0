/* Which operands of a row block are copied, with their columns last (row_block_copies.c).
 *
 * Those are that lie along the sum, where tiles of many rows would like lanes along the columns.
 * Few rows would wait for a copy, and how many there are is nothing that the order of additions may
 * depend on: so operands stay as they are where tiles with lanes along the sum are nearly as fast.
 */
#include "lower/nest_plan.h"
#include "lower/node_plan.h"
#include "lower/row_block.h"
#include "lower/tile/copies.h"
#include "lower/tile/plan.h"

/* Is the axis of an operand one of columns, which the copy has last? */
static bool is_column(const Proj *proj, const Ix *ix)
{
	return ix->kind == IX_ITER && !proj->iters[ix->iter].reduced;
}

/* Gives those axes of an operand that its copy has, and are columns or not, the next positions. */
static int order_axes(const Proj *proj, RowBlockTransposed *transposed, uint32_t naxes,
		      bool columns, int next)
{
	for (uint32_t axis = 0; axis < naxes; axis++)
		if (transposed->dims[axis] == -1 &&
		    is_column(proj, transposed->axes[axis]) == columns)
			transposed->order[axis] = next++;
	return next;
}

/* The copy of an operand: sums, then columns. False: it is good as it is, since its own last axis
 * is no sum, or it has no columns. */
static bool transpose(const Lower *lower, const RowBlockEnd *end, const Seen *seen, int *dims,
		      RowBlockTransposed *transposed)
{
	const Proj *proj = lower_proj(lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
	*transposed = (RowBlockTransposed){.node = seen->node,
					   .axes = seen->axes,
					   .dims = dims,
					   .order = ARENA_ARRAY(lower->arena, int, naxes + 1)};
	for (uint32_t axis = 0; axis < naxes; axis++)
		transposed->order[axis] = -1;
	transposed->nsums = order_axes(proj, transposed, naxes, false, 0);
	transposed->naxes = order_axes(proj, transposed, naxes, true, transposed->nsums);
	return transposed->naxes > transposed->nsums && transposed->dims[naxes - 1] < 0 &&
	       !is_column(proj, seen->axes[naxes - 1]);
}

static Sym operand_name(const Lower *lower, NodeId node)
{
	return lower_identifier(lower, lower->program->buffers.at[lower->plan[node].buffer].name);
}

static bool is_transposed(const RowBlock *row_block, NodeId node)
{
	for (uint32_t i = 0; i < row_block->ntransposed; i++)
		if (row_block->transposed[i].node == node)
			return true;
	return false;
}

/* Do all operands lie along a sum of whole lanes (tile/lane_tree.c)? */
static bool has_whole_lanes(const Lower *lower, const RowBlockEnd *end)
{
	const Proj *proj = lower_proj(lower, end->nest);
	int64_t lanes = SUM_LANES_BYTES / (int64_t)dtype_bytes(lower_node(lower, end->nest)->dtype);
	bool whole = end->seen.n > 0;
	for (size_t i = 0; i < end->seen.n && whole; i++) {
		const Seen *seen = &end->seen.at[i];
		uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
		const Ix *last = naxes ? seen->axes[naxes - 1] : NULL;
		int64_t steps;
		whole = last && last->kind == IX_ITER && proj->iters[last->iter].reduced &&
			size_is_const(lower->sizes, proj->iters[last->iter].extent, &steps) &&
			steps > 0 && steps % lanes == 0;
	}
	return whole;
}

uint32_t row_block_ones(const Lower *lower, NodeId node, uint32_t first)
{
	const Shape *shape = lower_shape(lower, node);
	uint32_t n = 0;
	for (uint32_t axis = first; axis < shape_naxes(shape); axis++)
		n += size_is(lower->sizes, shape_axis(shape, axis)->size, 1);
	return n;
}

/* Has the result an axis of one element behind the rows, and the operand fewer of these? With more
 * elements it would be the rows. */
static bool hides_rows(const Lower *lower, const RowBlock *row_block, const RowBlockEnd *end,
		       const Seen *seen)
{
	uint32_t root = 0, axis = 0;
	while (row_block->roots[root].nest != end->nest) /* falls: each is one of them */
		root++;
	uint32_t naxes = shape_naxes(lower_shape(lower, row_block->roots[root].root));
	while (axis < naxes && row_block->roots[root].dims[axis] != (int)row_block->rows)
		axis++;
	return row_block_ones(lower, end->nest, 0) > row_block_ones(lower, seen->node, 0) &&
	       row_block_ones(lower, row_block->roots[root].root, axis) > 0;
}

/* Has the operand as many keys, columns of what is between, as there are rows? */
static bool has_as_many(const Lower *lower, const RowBlock *row_block, const RowBlockEnd *end,
			const Seen *seen)
{
	const Proj *proj = lower_proj(lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
	bool sums = end != &row_block->ends[0]; /* what is between has them as a sum's steps */
	if (hides_rows(lower, row_block, end, seen))
		return false;
	for (uint32_t axis = 0; axis < naxes; axis++) {
		const Ix *ix = seen->axes[axis];
		int dim = ix->kind == IX_ITER ? end->dims[ix->iter] : -1;
		if (ix->kind == IX_ITER && (dim < 0 || row_block->dims[dim].dropped) &&
		    proj->iters[ix->iter].reduced == sums &&
		    size_same(proj->iters[ix->iter].extent,
			      row_block->dims[row_block->rows].extent))
			return true;
	}
	return false;
}

/* Is the operand good as it is, whatever the number of rows? One of them would wait for copies of
 * past keys and of new ones, and for one of keys that may be more than the rows, where lanes can
 * run along the sum: many rows are a tenth slower so. */
static bool stays_as_is(const Lower *lower, const RowBlock *row_block, const RowBlockEnd *end,
			const Seen *seen)
{
	return row_block->nends > 2 ||
	       (has_whole_lanes(lower, end) && !has_as_many(lower, row_block, end, seen));
}

bool row_block_hides_panels(const Lower *lower, const RowBlockEnd *end, const Seen *seen,
			    const int *dims)
{
	const Proj *proj = lower_proj(lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
	const Ix *last = naxes ? seen->axes[naxes - 1] : NULL;
	bool along = last && last->kind == IX_ITER && proj->iters[last->iter].reduced;
	bool moves = false;
	for (uint32_t axis = 0; axis < naxes; axis++)
		moves |= dims[axis] >= 0;
	return along && moves && prepack_suits(lower, lower->plan[seen->node].buffer);
}

/* Is the operand converted as it is read, or would it be if fewer rows read it? */
static bool is_converted(const Lower *lower, const RowBlockEnd *end, const Seen *seen)
{
	return lower_node(lower, seen->node)->dtype != lower_node(lower, end->nest)->dtype ||
	       conversion_as_used(lower, seen->node);
}

/* Is there a copy of it, as the clause has it or as it pays? */
static bool is_chosen(const Lower *lower, const RowBlock *row_block, const RowBlockEnd *end,
		      const Seen *seen)
{
	if (row_block->copies)
		return asks_on(row_block->copies) &&
		       asks_any(row_block->copies, operand_name(lower, seen->node));
	return !is_converted(lower, end, seen) && !stays_as_is(lower, row_block, end, seen);
}

void row_block_describe_transposed(const Lower *lower, const RowBlock *row_block,
				   ScheduleEntry *entry)
{
	ScheduleClause *made = NULL;
	for (uint32_t i = 0; i < row_block->ntransposed; i++) {
		made = made ? made : entry_make(lower->arena, entry, CHOICE_TRANSPOSE, false);
		clause_add(lower->arena, made, operand_name(lower, row_block->transposed[i].node), NULL,
			   0);
	}
}

void row_block_choose_transposed(Lower *lower, RowBlock *row_block, const RowBlockEnd *end,
				 const Seen *seen, int *dims)
{
	if (!is_chosen(lower, row_block, end, seen))
		return;
	if (!row_block->copies && prepack_suits(lower, lower->plan[seen->node].buffer))
		return; /* tiles read its panels: nothing is copied at a call */
	if (!is_transposed(row_block, seen->node) &&
	    transpose(lower, end, seen, dims, &row_block->transposed[row_block->ntransposed]))
		row_block->ntransposed++;
}
