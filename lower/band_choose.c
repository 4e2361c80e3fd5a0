/* What of a band goes in blocks, and of how many rows.
 *
 * Of the dims that are left, the last one that leaves an operand of each contraction where it is
 * goes in blocks.
 *
 * It pays where what every block reads again is not large: it stays in a near cache, or all rows of
 * what is between are several times as large. Then at least 32 rows go at a time, or 128, so that
 * what comes from farther away is used as often.
 */
#include "base/diag.h"
#include "lower/band.h"

enum { BLOCK_MOST = 4096 };
/* Rows that are assumed; how often what is between is what each block reads again. */
enum { ROWS_LIKELY = 2048, AGAIN_TIMES = 4 };

bool band_has_few(const Lower *lower, const Band *band)
{
	int64_t rows;
	return size_is_const(lower->sizes, band->dims[band->rows].extent, &rows) &&
	       rows < lower->target->band_few;
}

bool band_is_batch(const Lower *lower, const Band *band)
{
	const BandRoot *root = &band->roots[0];
	uint32_t n = lower_shape(lower, root->root)->rows[ROW_BATCH].n;
	bool batch = band->single && n > 0;
	for (uint32_t axis = 0; axis < n; axis++)
		batch |= root->dims[axis] == (int)band->rows;
	return batch;
}

typedef struct Chooser {
	Lower *lower;
	Band *band;
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
static bool has_columns(const Chooser *c, const BandEnd *end, const Seen *seen)
{
	const Proj *proj = lower_proj(c->lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node));
	for (uint32_t axis = 0; axis < naxes; axis++) {
		const Ix *ix = seen->axes[axis];
		if (ix->kind == IX_ITER && !proj->iters[ix->iter].reduced &&
		    (end->dims[ix->iter] < 0 || c->band->dims[end->dims[ix->iter]].dropped))
			return true;
	}
	return false;
}

static uint32_t count_ones(const Chooser *c, NodeId node)
{
	const Shape *shape = lower_shape(c->lower, node);
	uint32_t n = 0;
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		n += size_is(c->lower->sizes, shape_axis(shape, axis)->size, 1);
	return n;
}

/* Has the operand columns, which the first contraction's alone must, and fewer axes of one element than
 * the result? The single row is one of these, which no iterator shows. */
static bool may_rest(const Chooser *c, const BandEnd *end, const Seen *seen)
{
	return (end != &c->band->ends[0] || has_columns(c, end, seen)) &&
	       count_ones(c, seen->node) < count_ones(c, end->nest);
}

/* The operand of a contraction that a dim leaves where it is; NULL: none. */
static const Seen *resting(const Chooser *c, const BandEnd *end, uint32_t dim)
{
	const SeenList *seen = &end->seen;
	for (size_t i = 0; i < seen->n; i++) {
		uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->at[i].node));
		bool moves = band_root(c->band, seen->at[i].node) != NULL ||
			     (c->band->single && !may_rest(c, end, &seen->at[i]));
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
	for (uint32_t i = 0; i < c->band->nends; i++)
		if (!resting(c, &c->band->ends[i], dim))
			return false;
	return true;
}

/* Is there another contraction of the first one's rows, which is computed before: the score of a
 * new key beside those of a cache? Each stays alone then, as has_rows has it. The keys themselves
 * may have other readers. */
static bool has_beside(const Chooser *c)
{
	const Band *band = c->band;
	const BandEnd *first = &band->ends[0];
	const SeenList *seen = &first->seen;
	for (uint32_t i = 0; i < band->nbefore; i++) {
		NodeId reduction = c->lower->plan[band->before[i]].reduction;
		const Node *node =
			lower_node(c->lower, reduction != NODE_NONE ? reduction : band->before[i]);
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
	Band *band = c->band;
	Sym row = sym_cstr(c->lower->program->symbols, "row");
	band->single = asks_name(c->asked, 0, row) && count_ones(c, band->roots[0].root) > 0;
	if (!band->single || band->ndims == BAND_DIMS || has_beside(c))
		return false;
	band->rows = band->ndims++;
	band->dims[band->rows] = (BandDim){row, size_const(c->lower->sizes, 1), false};
	return all_rest(c, band->rows);
}

static bool choose_rows(Chooser *c)
{
	Band *band = c->band;
	for (uint32_t dim = band->ndims; dim-- > 0;) {
		bool none = size_is(c->lower->sizes, band->dims[dim].extent, 0);
		if (band->dims[dim].dropped || none ||
		    !asks_name(c->asked, 0, band->dims[dim].name) || !all_rest(c, dim))
			continue;
		band->rows = dim;
		return true;
	}
	return choose_single(c);
}

/* The elements of a tensor over the axes that are no dims. */
static Size elements_inside(const Chooser *c, NodeId node, const int *dims)
{
	const Shape *shape = lower_shape(c->lower, node);
	Size elements = size_const(c->lower->sizes, 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if (dims[axis] == -1 || (dims[axis] >= 0 && c->band->dims[dims[axis]].dropped))
			elements =
				size_mul(c->lower->sizes, elements, shape_axis(shape, axis)->size);
	return elements;
}

/* By axis of an operand: a dim, BAND_FIXED, or -1. */
static int *dims_of(const Chooser *c, const BandEnd *end, const Seen *seen)
{
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node));
	int *dims = ARENA_ARRAY(c->lower->arena, int, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++) {
		const Ix *ix = seen->axes[axis];
		int dim = ix->kind == IX_ITER ? end->dims[ix->iter] : -1;
		bool left = dim >= 0 && !c->band->dims[dim].dropped;
		dims[axis] = ix->kind == IX_SIZE ? BAND_FIXED : left ? dim : -1;
	}
	return dims;
}

/* Bytes of an operand that each block reads. */
static int64_t bytes_again(const Chooser *c, const BandEnd *end)
{
	const Seen *seen = resting(c, end, c->band->rows);
	return bytes_of(c, elements_inside(c, seen->node, dims_of(c, end, seen)),
			lower_node(c->lower, seen->node)->dtype);
}

/* Of the largest operand whose size is known; 0: none is. */
static int64_t most_again(const Chooser *c)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < c->band->nends; i++) {
		int64_t again = bytes_again(c, &c->band->ends[i]);
		most = most < again ? again : most;
	}
	return most;
}

static bool is_end(const Band *band, const BandRoot *root)
{
	for (uint32_t i = 0; i < band->nends; i++)
		if (band->ends[i].nest == root->nest)
			return true;
	return false;
}

/* Is there a sum, or another reduction, between the contractions? Else a block saves one pass. */
static bool has_row_sums(const Chooser *c)
{
	for (uint32_t i = 1; i + 1 < c->band->nroots; i++)
		if (proj_reduces(lower_proj(c->lower, c->band->roots[i].nest)) &&
		    !is_end(c->band, &c->band->roots[i]))
			return true;
	return false;
}

/* Bytes of the widest row of what is between; -1: not known. */
static int64_t bytes_row(const Chooser *c)
{
	int64_t most = 0;
	for (uint32_t i = 0; i + 1 < c->band->nroots; i++) {
		const BandRoot *root = &c->band->roots[i];
		int64_t row = bytes_of(c, elements_inside(c, root->root, root->dims),
				       lower_node(c->lower, root->root)->dtype);
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
	for (uint32_t i = 0; i + 1 < c->band->nroots; i++) {
		NodeId root = c->band->roots[i].root;
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
	return again > target->l3_bytes	  ? target->band_rows_memory
	       : again > target->l2_bytes ? target->band_rows_far
					  : target->band_rows_least;
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
	const Proj *proj = lower_proj(c->lower, c->band->ends[0].nest);
	Size steps = size_const(c->lower->sizes, 1);
	int64_t n;
	for (IterId i = 0; i < proj->niters; i++)
		if (proj->iters[i].reduced)
			steps = size_mul(c->lower->sizes, steps, proj->iters[i].extent);
	return size_is_const(c->lower->sizes, steps, &n) ? n : -1;
}

/* Is a row of what is between far longer than what it is made of, or may it be? One of no known
 * length goes past as many numbers again for each of its cells as the first sum has steps, which
 * few rows that are no batch do not pay for: values of one head, which are a product of all
 * positions. */
static bool grows(const Chooser *c)
{
	int64_t steps = first_steps(c), row = bytes_row(c), rows;
	bool known = !band_is_batch(c->lower, c->band) &&
		     size_is_const(c->lower->sizes, c->band->dims[c->band->rows].extent, &rows);
	if (row < 0)
		return steps >= 0 && (!known || rows >= AGAIN_TIMES * steps);
	const Target *target = c->lower->target;
	return steps >= 0 && row >= target->band_long && row > target->band_long_step * steps;
}

/* Is what is between large, or of a batch? How many members that has is nothing that the order of
 * additions, which is another one in blocks, may depend on. */
static bool is_large(const Chooser *c)
{
	int64_t whole = bytes_whole(c);
	return whole < 0 || whole > c->lower->target->l2_between ||
	       lower_shape(c->lower, c->band->roots[0].root)->rows[ROW_BATCH].n > 0;
}

/* Do operands of several contractions go past few rows, as a number? Each contraction stays alone
 * then. */
static bool has_rows(const Chooser *c)
{
	return c->band->nends == 2 || !band_has_few(c->lower, c->band);
}

static bool hides_panels(const Chooser *c)
{
	for (uint32_t i = 0; i < c->band->nends; i++) {
		const BandEnd *end = &c->band->ends[i];
		const Seen *seen = resting(c, end, c->band->rows);
		if (band_hides_panels(c->lower, end, seen, dims_of(c, end, seen)))
			return true;
	}
	return false;
}

static bool pays(const Chooser *c)
{
	return has_rows(c) && !hides_panels(c) && is_large(c) && again_is_little(c) &&
	       (has_row_sums(c) || grows(c));
}

static void choose_block(Chooser *c)
{
	Band *band = c->band;
	int64_t row = bytes_row(c), rows, least = rows_least(c);
	band->block = least > c->lower->target->band_rows ? least : c->lower->target->band_rows;
	for (; row > 0 && band->block > least; band->block /= 2)
		if (band->block * row <= c->lower->target->l2_rows)
			break;
	bool known = size_is_const(c->lower->sizes, band->dims[band->rows].extent, &rows);
	if (known && rows > 0) {
		int64_t blocks = (rows + band->block - 1) / band->block;
		band->block = (rows + blocks - 1) / blocks;
	}
	const ScheduleItem *item = c->asked && c->asked->items.n ? &c->asked->items.at[0] : NULL;
	if (item && item->n && item->numbers[0] > 0 && item->numbers[0] <= BLOCK_MOST)
		band->block = item->numbers[0];
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
static void renumber(const Lower *lower, Band *band)
{
	int number[BAND_DIMS];
	uint32_t n = 0;
	for (uint32_t dim = 0; dim < band->ndims; dim++) {
		number[dim] = band->dims[dim].dropped ? -1 : (int)n;
		if (dim == band->rows)
			band->rows = n;
		if (!band->dims[dim].dropped)
			band->dims[n++] = band->dims[dim];
	}
	band->ndims = n;
	for (uint32_t i = 0; i < band->nturned; i++)
		renumber_of(lower, band->turned[i].node, band->turned[i].dims, number);
	for (uint32_t i = 0; i < band->nroots; i++)
		renumber_of(lower, band->roots[i].root, band->roots[i].dims, number);
}

/* What more rows would have computed before the band begins none of its own for few rows either. */
static void leave_alone(Lower *lower, const Band *band)
{
	for (uint32_t i = 0; i < band->nbefore; i++)
		lower->plan[band->before[i]].no_band = true;
}

static bool pass(Lower *lower, const Band *band)
{
	PUSH(lower->scratch, lower->passed,
	     ((BandPassed){band->roots[0].root, band->roots[band->nroots - 1].root}));
	return false;
}

bool band_choose(Lower *lower, Band *band, const ScheduleClause *asked)
{
	Chooser c = {lower, band, asked};
	if (!choose_rows(&c))
		return false;
	if (!asks_on(asked) && (lower->plan[band->roots[0].root].no_band || !pays(&c)))
		return pass(lower, band);
	choose_block(&c);
	for (uint32_t i = 0; i < band->nends; i++) {
		const Seen *seen = resting(&c, &band->ends[i], band->rows);
		band_choose_turned(lower, band, &band->ends[i], seen,
				   dims_of(&c, &band->ends[i], seen));
	}
	if (band->nturned == 0 && !asks_on(asked) && band_has_few(lower, band)) {
		leave_alone(lower, band);
		return pass(lower, band);
	}
	renumber(lower, band);
	return true;
}
