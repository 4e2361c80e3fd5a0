/* What of a row block goes in blocks, and of how many rows.
 *
 * Of the dims that are left, the last one that leaves an operand of each contraction where it is
 * goes in blocks.
 *
 * It pays where what every block reads again is not large: it stays in a near cache, or all rows of
 * what is between are several times as large. Then at least 32 rows go at a time, or 128, so that
 * what comes from farther away is used as often. Rows that are many of a contraction must fit a cache by that number:
 * without blocks they use what they read as often, and threads share them. Where roots sum over the
 * rows, these are what goes in blocks, and the other dims must be enough for threads.
 */
#include "base/diag.h"
#include "lower/row_block.h"

enum { BLOCK_MOST = 4096 };
/* Rows that are assumed; how often what is between is what each block reads again. */
enum { ROWS_LIKELY = 2048, AGAIN_TIMES = 4 };

/* Is the number of rows known, and small? */
static bool is_small(const Lower *lower, const RowBlock *row_block)
{
	int64_t rows;
	return size_is_const(lower->sizes, row_block->dims[row_block->rows].extent, &rows) &&
	       rows < lower->target->row_block_small;
}

/* Are the rows a batch axis of the first contraction's result? */
static bool is_batch(const Lower *lower, const RowBlock *row_block)
{
	const RowBlockRoot *root = &row_block->roots[0];
	uint32_t n = lower_shape(lower, root->root)->rows[ROW_BATCH].n;
	bool batch = row_block->single && n > 0;
	for (uint32_t axis = 0; axis < n; axis++)
		batch |= root->dims[axis] == (int)row_block->rows;
	return batch;
}

typedef struct Chooser {
	Lower *lower;
	RowBlock *row_block;
	const ScheduleClause *asked; /* of the last kernel; NULL: nothing is */
} Chooser;

/* ---- dims and sizes ---- */

/* Bytes; -1: not known. */
static int64_t bytes_of(const Chooser *c, Size elements, Dtype dtype)
{
	int64_t n;
	return size_is_const(c->lower->sizes, elements, &n) ? n * (int64_t)dtype_bytes(dtype) : -1;
}

/* Does the operand have columns, axes of the result that are no dims? */
static bool has_columns(const Chooser *c, const RowBlockEnd *end, const Seen *seen)
{
	const Proj *proj = lower_proj(c->lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node));
	for (uint32_t axis = 0; axis < naxes; axis++) {
		const Ix *ix = seen->axes[axis];
		if (ix->kind == IX_ITER && !proj->iters[ix->iter].reduced &&
		    (end->dims[ix->iter] < 0 || c->row_block->dims[end->dims[ix->iter]].dropped))
			return true;
	}
	return false;
}

/* Has the operand columns, which the first contraction's alone must, and fewer axes of one element
 * than the result? The single row is one of these, which no iterator shows. */
static bool may_rest(const Chooser *c, const RowBlockEnd *end, const Seen *seen)
{
	return (end != &c->row_block->ends[0] || has_columns(c, end, seen)) &&
	       row_block_ones(c->lower, seen->node, 0) < row_block_ones(c->lower, end->nest, 0);
}

/* The operand of a contraction that a dim leaves where it is; NULL: none. */
static const Seen *resting(const Chooser *c, const RowBlockEnd *end, uint32_t dim)
{
	const SeenList *seen = &end->seen;
	for (size_t i = 0; i < seen->n; i++) {
		uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->at[i].node));
		bool moves = row_block_root(c->row_block, seen->at[i].node) != NULL ||
			     (c->row_block->single && !may_rest(c, end, &seen->at[i]));
		for (uint32_t axis = 0; axis < naxes && !moves; axis++) {
			const Ix *ix = seen->at[i].axes[axis];
			moves = ix->kind != IX_SIZE &&
				(ix->kind != IX_ITER || end->dims[ix->iter] == (int)dim);
		}
		if (!moves)
			return &seen->at[i];
	}
	return NULL;
}

static bool all_rest(const Chooser *c, uint32_t dim)
{
	for (uint32_t i = 0; i < c->row_block->nends; i++)
		if (!resting(c, &c->row_block->ends[i], dim))
			return false;
	return true;
}

/* Is there another contraction of the first one's rows, which is computed before: the score of a
 * new key beside those of a cache? Each stays alone then, as has_rows has it. The keys themselves
 * may have other readers. */
static bool has_other_batch(const Chooser *c)
{
	const RowBlock *row_block = c->row_block;
	const RowBlockEnd *first = &row_block->ends[0];
	const SeenList *seen = &first->seen;
	for (uint32_t i = 0; i < row_block->nbefore; i++) {
		const Node *node =
			lower_node(c->lower, lower_nest_node(c->lower, row_block->before[i]));
		for (uint32_t k = 0; k < node->nargs; k++)
			for (size_t j = 0; j < seen->n && node->nargs > 1; j++)
				if (seen->at[j].node == node->args[k] &&
				    !may_rest(c, first, &seen->at[j]))
					return true;
	}
	return false;
}

/* One row as a number: an axis that no iterator runs along. */
static bool choose_single(Chooser *c)
{
	RowBlock *row_block = c->row_block;
	Sym row = sym_cstr(c->lower->program->symbols, "row");
	row_block->single = asks_name(c->asked, 0, row) &&
			    row_block_ones(c->lower, row_block->roots[0].root, 0) > 0;
	if (!row_block->single || row_block->ndims == ROW_BLOCK_DIMS || has_other_batch(c))
		return false;
	row_block->rows = row_block->ndims++;
	row_block->dims[row_block->rows] =
		(RowBlockDim){row, size_const(c->lower->sizes, 1), false};
	return all_rest(c, row_block->rows);
}

static bool choose_rows(Chooser *c)
{
	RowBlock *row_block = c->row_block;
	for (uint32_t dim = row_block->ndims; dim-- > 0;) {
		if (row_block->summed >= 0 && (uint32_t)row_block->summed != dim)
			continue;
		bool none = size_is(c->lower->sizes, row_block->dims[dim].extent, 0);
		if (row_block->dims[dim].dropped || none ||
		    !asks_name(c->asked, 0, row_block->dims[dim].name) || !all_rest(c, dim))
			continue;
		row_block->rows = dim;
		return true;
	}
	return row_block->summed < 0 && choose_single(c);
}

Size row_block_elements(const Lower *lower, const RowBlock *row_block, NodeId node, const int *dims)
{
	const Shape *shape = lower_shape(lower, node);
	Size elements = size_const(lower->sizes, 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if (dims[axis] == -1 || (dims[axis] >= 0 && row_block->dims[dims[axis]].dropped))
			elements = size_mul(lower->sizes, elements, shape_axis(shape, axis)->size);
	return elements;
}

Size row_block_steps(const Lower *lower, NodeId nest)
{
	const Proj *proj = lower_proj(lower, nest);
	Size steps = size_const(lower->sizes, 1);
	for (IterId i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced)
			steps = size_mul(lower->sizes, steps, proj->iters[i].extent);
	return steps;
}

/* Bytes of a tensor along the axes that are no dims; -1: not known. */
static int64_t bytes_inside(const Chooser *c, NodeId node, const int *dims)
{
	return bytes_of(c, row_block_elements(c->lower, c->row_block, node, dims),
			lower_node(c->lower, node)->dtype);
}

/* By axis of an operand: a dim, ROW_BLOCK_FIXED, or -1. */
static int *dims_of(const Chooser *c, const RowBlockEnd *end, const Seen *seen)
{
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node));
	int *dims = ARENA_ARRAY(c->lower->arena, int, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++) {
		const Ix *ix = seen->axes[axis];
		int dim = ix->kind == IX_ITER ? end->dims[ix->iter] : -1;
		bool left = dim >= 0 && !c->row_block->dims[dim].dropped;
		dims[axis] = ix->kind == IX_SIZE ? ROW_BLOCK_FIXED : left ? dim : -1;
	}
	return dims;
}

/* Bytes of an operand that each block reads. */
static int64_t bytes_again(const Chooser *c, const RowBlockEnd *end)
{
	const Seen *seen = resting(c, end, c->row_block->rows);
	return bytes_inside(c, seen->node, dims_of(c, end, seen));
}

/* Bytes of sums that each block goes on with; 0: the root has none. */
static int64_t bytes_summed(const Chooser *c, const RowBlockRoot *root)
{
	return root->summed < 0 ? 0 : bytes_inside(c, root->root, root->dims);
}

/* Of the largest operand whose size is known; 0: none is. */
static int64_t most_again(const Chooser *c)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < c->row_block->nends; i++) {
		int64_t again = bytes_again(c, &c->row_block->ends[i]);
		most = most < again ? again : most;
	}
	for (uint32_t i = 0; i < c->row_block->nroots; i++) {
		int64_t again = bytes_summed(c, &c->row_block->roots[i]);
		most = most < again ? again : most;
	}
	return most;
}

static bool is_end(const RowBlock *row_block, const RowBlockRoot *root)
{
	for (uint32_t i = 0; i < row_block->nends; i++)
		if (row_block->ends[i].nest == root->nest)
			return true;
	return false;
}

/* Is there a sum, or another reduction, between the contractions? Else a block saves one pass. */
static bool has_row_sums(const Chooser *c)
{
	for (uint32_t i = 1; i + 1 < c->row_block->nroots; i++)
		if (proj_reduces(lower_proj(c->lower, c->row_block->roots[i].nest)) &&
		    !is_end(c->row_block, &c->row_block->roots[i]))
			return true;
	return false;
}

/* Bytes of the widest row of what is between; -1: not known. */
static int64_t bytes_row(const Chooser *c)
{
	int64_t most = 0;
	for (uint32_t i = 0; i + 1 < c->row_block->nroots; i++) {
		const RowBlockRoot *root = &c->row_block->roots[i];
		int64_t row = bytes_inside(c, root->root, root->dims);
		if (row < 0)
			return -1;
		most = most < row ? row : most;
	}
	return most;
}

/* Bytes of the largest tensor between; -1: not known. */
static int64_t bytes_whole(const Chooser *c)
{
	int64_t most = 0;
	for (uint32_t i = 0; i + 1 < c->row_block->nroots; i++) {
		NodeId root = c->row_block->roots[i].root;
		int64_t whole = bytes_of(c, node_elements(c->lower, root),
					 lower_node(c->lower, root)->dtype);
		if (whole < 0)
			return -1;
		most = most < whole ? whole : most;
	}
	return most;
}

/* From farther away, elements are read for more rows at a time. */
static int64_t rows_least(const Chooser *c)
{
	const Target *target = c->lower->target;
	int64_t again = most_again(c);
	return again > target->l3_bytes ? target->row_block_rows_memory : target->row_block_rows_far;
}

/* Does what each block reads again stay in a cache, or is it small beside all rows, of which many
 * are assumed? Additions are in another order in blocks, so it is nothing that depends on rows. */
static bool again_is_little(const Chooser *c)
{
	int64_t again = most_again(c), row = bytes_row(c);
	return again <= c->lower->target->l2_bytes ||
	       (row > 0 && ROWS_LIKELY >= AGAIN_TIMES * again / row);
}

/* Steps of the first contraction's sum; -1: not known. */
static int64_t first_steps(const Chooser *c)
{
	Size steps = row_block_steps(c->lower, c->row_block->ends[0].nest);
	int64_t n;
	return size_is_const(c->lower->sizes, steps, &n) ? n : -1;
}

/* Is a row of what is between far longer than what it is made of, or may it be? One of no known
 * length goes past as many numbers again for each of its elements as the first sum has steps, which
 * few rows that are no batch do not pay for: values of one head, which are a product of all
 * positions. */
static bool grows(const Chooser *c)
{
	int64_t steps = first_steps(c), row = bytes_row(c), rows;
	bool known = !is_batch(c->lower, c->row_block) &&
		     size_is_const(c->lower->sizes, c->row_block->dims[c->row_block->rows].extent,
				   &rows);
	if (row < 0)
		return steps >= 0 && (!known || rows >= AGAIN_TIMES * steps);
	const Target *target = c->lower->target;
	return steps >= 0 && row >= target->row_block_long &&
	       row > target->line_bytes * steps;
}

/* Is what is between large, or of a batch? How many members that has is nothing that the order of
 * additions, which is another one in blocks, may depend on. */
static bool is_large(const Chooser *c)
{
	int64_t whole = bytes_whole(c);
	return whole < 0 || whole > c->lower->target->l2_between ||
	       lower_shape(c->lower, c->row_block->roots[0].root)->rows[ROW_BATCH].n > 0;
}

/* Do operands of several contractions go past a small constant number of rows? Each contraction stays alone
 * then. */
static bool has_rows(const Chooser *c)
{
	return c->row_block->nends == 2 || !is_small(c->lower, c->row_block);
}

static bool hides_panels(const Chooser *c)
{
	for (uint32_t i = 0; i < c->row_block->nends; i++) {
		const RowBlockEnd *end = &c->row_block->ends[i];
		const Seen *seen = resting(c, end, c->row_block->rows);
		if (row_block_hides_panels(c->lower, end, seen, dims_of(c, end, seen)))
			return true;
	}
	return false;
}

/* Does the iterator move the operand? */
static bool moves_by(const Chooser *c, const Seen *seen, IterId iter)
{
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node));
	for (uint32_t axis = 0; axis < naxes; axis++)
		if (seen->axes[axis]->kind == IX_ITER && (IterId)seen->axes[axis]->iter == iter)
			return true;
	return false;
}

/* Is a row of the result many rows itself, all of which read again what each block does: the positions of a
 * picture? */
static bool has_rows_inside(const Chooser *c, const RowBlockEnd *end)
{
	const Seen *seen = resting(c, end, c->row_block->rows);
	const Proj *proj = lower_proj(c->lower, end->nest);
	for (IterId i = 0; i < proj->niters; i++) {
		bool dim = end->dims[i] >= 0 && !c->row_block->dims[end->dims[i]].dropped;
		if (!dim && !proj->iters[i].reduced && !moves_by(c, seen, i) &&
		    !size_is(c->lower->sizes, proj->iters[i].extent, 1))
			return true;
	}
	return false;
}

/* Does what is between of the fewest rows that pay stay in a cache? A row that is one of each contraction may be long:
 * the scores of one position. */
static bool stays_near(const Chooser *c)
{
	int64_t row = bytes_row(c);
	for (uint32_t i = 0; i < c->row_block->nends; i++)
		if (has_rows_inside(c, &c->row_block->ends[i]))
			return row >= 0 && row <= c->lower->target->l2_bytes / rows_least(c);
	return true;
}

/* The owners of sums that an axis of the first contraction's result gives. A batch has many, also of one member. */
static int64_t owners_along(const Chooser *c, uint32_t axis)
{
	const RowBlock *row_block = c->row_block;
	const RowBlockRoot *first = &row_block->roots[0];
	int dim = first->dims[axis];
	int64_t most = c->lower->target->row_block_owners, extent = most;
	bool batch = axis < lower_shape(c->lower, first->root)->rows[ROW_BATCH].n;
	if (dim == (int)row_block->rows || (dim < 0 ? !batch : row_block->dims[dim].dropped))
		return 1;
	if (!batch)
		size_is_const(c->lower->sizes, row_block->dims[dim].extent, &extent);
	return extent < most ? extent : most;
}

/* Have threads enough of them, where blocks of rows add to one sum one after another? */
static bool has_owners(const Chooser *c)
{
	const Shape *shape = lower_shape(c->lower, c->row_block->roots[0].root);
	int64_t owners = 1, most = c->lower->target->row_block_owners;
	for (uint32_t axis = 0; axis < shape_naxes(shape) && owners < most; axis++)
		owners *= owners_along(c, axis);
	return c->row_block->summed < 0 || owners >= most;
}

static bool pays(const Chooser *c)
{
	return has_owners(c) && has_rows(c) && !hides_panels(c) && is_large(c) &&
	       again_is_little(c) && stays_near(c) && (has_row_sums(c) || grows(c));
}

static void choose_block(Chooser *c)
{
	RowBlock *row_block = c->row_block;
	int64_t row = bytes_row(c), rows, least = rows_least(c);
	row_block->block =
		least > c->lower->target->row_block_rows ? least : c->lower->target->row_block_rows;
	for (; row > 0 && row_block->block > least; row_block->block /= 2)
		if (row_block->block * row <= c->lower->target->l2_rows)
			break;
	bool known = size_is_const(c->lower->sizes, row_block->dims[row_block->rows].extent, &rows);
	if (known && rows > 0) {
		int64_t blocks = (rows + row_block->block - 1) / row_block->block;
		row_block->block = (rows + blocks - 1) / blocks;
	}
	const ScheduleItem *item = c->asked && c->asked->items.n ? &c->asked->items.at[0] : NULL;
	if (item && item->n && item->numbers[0] > 0 && item->numbers[0] <= BLOCK_MOST)
		row_block->block = item->numbers[0];
}

/* ---- all of it ---- */

static void renumber_of(const Lower *lower, NodeId node, int *dims, const int *number)
{
	uint32_t naxes = shape_naxes(lower_shape(lower, node));
	for (uint32_t axis = 0; axis < naxes; axis++)
		if (dims[axis] >= 0)
			dims[axis] = number[dims[axis]];
}

/* Gives the dims that are left new numbers. */
static void renumber(const Lower *lower, RowBlock *row_block)
{
	int number[ROW_BLOCK_DIMS];
	uint32_t n = 0;
	for (uint32_t dim = 0; dim < row_block->ndims; dim++) {
		number[dim] = row_block->dims[dim].dropped ? -1 : (int)n;
		if (dim == row_block->rows)
			row_block->rows = n;
		if (!row_block->dims[dim].dropped)
			row_block->dims[n++] = row_block->dims[dim];
	}
	row_block->ndims = n;
	row_block->summed = row_block->summed < 0 ? -1 : (int)row_block->rows;
	for (uint32_t i = 0; i < row_block->ntransposed; i++)
		renumber_of(lower, row_block->transposed[i].node, row_block->transposed[i].dims,
			    number);
	for (uint32_t i = 0; i < row_block->nroots; i++)
		renumber_of(lower, row_block->roots[i].root, row_block->roots[i].dims, number);
}

/* What more rows would have computed before the row block begins none of its own for few rows
 * either. */
static void leave_alone(Lower *lower, const RowBlock *row_block)
{
	for (uint32_t i = 0; i < row_block->nbefore; i++)
		lower->plan[row_block->before[i]].no_row_block = true;
}

static bool pass(Lower *lower, const RowBlock *row_block)
{
	PUSH(lower->arena, lower->passed,
	     ((RowBlockPassed){row_block->roots[0].root,
			       row_block->roots[row_block->nroots - 1].root}));
	return false;
}

bool row_block_choose(Lower *lower, RowBlock *row_block, const ScheduleClause *asked)
{
	Chooser c = {lower, row_block, asked};
	if (!choose_rows(&c))
		return false;
	if (!asks_on(asked) && (lower->plan[row_block->roots[0].root].no_row_block || !pays(&c)))
		return pass(lower, row_block);
	choose_block(&c);
	for (uint32_t i = 0; i < row_block->nends; i++) {
		const Seen *seen = resting(&c, &row_block->ends[i], row_block->rows);
		row_block_choose_transposed(lower, row_block, &row_block->ends[i], seen,
					    dims_of(&c, &row_block->ends[i], seen));
	}
	if (row_block->ntransposed == 0 && !asks_on(asked) &&
	    is_small(lower, row_block)) {
		leave_alone(lower, row_block);
		return pass(lower, row_block);
	}
	renumber(lower, row_block);
	return true;
}
