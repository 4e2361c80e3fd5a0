/* What of a band goes in blocks, of how many rows, and what is copied for all of them.
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
#include "lower/tile.h"

/* Bytes of a block, of what each block reads again, of tensors that may stay whole; rows. */
enum { BLOCK_BYTES = 1 << 19, AGAIN_BYTES = 1 << 20, FAR_BYTES = 1 << 24, WHOLE_BYTES = 1 << 18 };
enum { BLOCK_ROWS = 64, ROWS_LEAST = 16, ROWS_AGAIN = 32, ROWS_FAR = 128, BLOCK_MOST = 4096 };
/* Rows where their number is not known; how often what is between is what each block reads again;
 * blocks of all rows, which are more than have a part of the scratch buffers. */
enum { ROWS_LIKELY = 2048, AGAIN_TIMES = 4, AGAIN_BLOCKS = 32 };

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

/* The operand of a contraction that a dim leaves where it is; NODE_NONE: none. */
static const Seen *resting(const Chooser *c, const BandEnd *end, uint32_t dim)
{
	const SeenList *seen = &end->seen;
	for (size_t i = 0; i < seen->n; i++) {
		uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->at[i].node));
		bool moves = band_root(c->band, seen->at[i].node) != NULL;
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

static bool choose_rows(Chooser *c)
{
	Band *band = c->band;
	int64_t n;
	for (uint32_t dim = band->ndims; dim-- > 0;) {
		bool known = size_is_const(c->lower->sizes, band->dims[dim].extent, &n);
		bool few = known && n < ROWS_LEAST && !asks_on(c->asked);
		if (band->dims[dim].dropped || few ||
		    !asks_name(c->asked, 0, band->dims[dim].name) || !all_rest(c, dim))
			continue;
		band->rows = dim;
		return true;
	}
	return false;
}

/* The elements of a tensor over the axes that are no dims. */
static Size elements_inside(const Chooser *c, NodeId node, const int *dims)
{
	const Shape *shape = lower_shape(c->lower, node);
	Size elements = size_const(c->lower->sizes, 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if (dims[axis] < 0 || c->band->dims[dims[axis]].dropped)
			elements =
				size_mul(c->lower->sizes, elements, shape_axis(shape, axis)->size);
	return elements;
}

/* Bytes of an operand that each block reads. */
static int64_t bytes_again(const Chooser *c, const BandEnd *end)
{
	const Seen *seen = resting(c, end, c->band->rows);
	const Shape *shape = lower_shape(c->lower, seen->node);
	int *dims = ARENA_ARRAY(c->lower->scratch, int, shape_naxes(shape) + 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		dims[axis] =
			seen->axes[axis]->kind == IX_ITER ? end->dims[seen->axes[axis]->iter] : -1;
	return bytes_of(c, elements_inside(c, seen->node, dims),
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

/* Is there a sum, or another reduction, between the two contractions? Else a block saves one pass.
 */
static bool has_row_sums(const Chooser *c)
{
	for (uint32_t i = 1; i + 1 < c->band->nroots; i++)
		if (proj_reduces(lower_proj(c->lower, c->band->roots[i].nest)))
			return true;
	return false;
}

/* Bytes of a row of what the band begins with. */
static int64_t bytes_row(const Chooser *c)
{
	const BandRoot *first = &c->band->roots[0];
	return bytes_of(c, elements_inside(c, first->root, first->dims),
			lower_node(c->lower, first->root)->dtype);
}

/* From farther away, elements are read for more rows at a time. */
static int64_t rows_least(const Chooser *c)
{
	int64_t again = most_again(c);
	return again > FAR_BYTES ? ROWS_FAR : again > AGAIN_BYTES ? ROWS_AGAIN : ROWS_LEAST;
}

/* Does what each block reads again stay in a cache, or is it small beside all rows? */
static bool again_is_little(const Chooser *c)
{
	const BandDim *dim = &c->band->dims[c->band->rows];
	int64_t again = most_again(c), row = bytes_row(c), rows;
	if (!size_is_const(c->lower->sizes, dim->extent, &rows))
		rows = ROWS_LIKELY;
	return again <= AGAIN_BYTES || (row > 0 && rows >= AGAIN_TIMES * again / row &&
					rows > AGAIN_BLOCKS * rows_least(c));
}

/* Is what is between large, or of a batch? How many members that has is nothing that the order of
 * additions, which is another one in blocks, may depend on. */
static bool is_large(const Chooser *c)
{
	NodeId first = c->band->roots[0].root;
	int64_t whole =
		bytes_of(c, node_elements(c->lower, first), lower_node(c->lower, first)->dtype);
	return whole < 0 || whole > WHOLE_BYTES ||
	       lower_shape(c->lower, first)->rows[ROW_BATCH].n > 0;
}

static bool pays(const Chooser *c) { return is_large(c) && again_is_little(c) && has_row_sums(c); }

static void choose_block(Chooser *c)
{
	Band *band = c->band;
	int64_t row = bytes_row(c), rows, least = rows_least(c);
	band->block = least > BLOCK_ROWS ? least : BLOCK_ROWS;
	for (; row > 0 && band->block > least; band->block /= 2)
		if (band->block * row <= BLOCK_BYTES)
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

/* ---- operands that are turned ---- */

/* The position that each axis of an operand has in its copy: sums, then columns, no dims. Its own
 * last axis is a sum, and columns there are: else it is good as it is. */
static int *turned_order(const Chooser *c, const BandEnd *end, const Seen *seen, int *nsums)
{
	const Proj *proj = lower_proj(c->lower, end->nest);
	uint32_t naxes = shape_naxes(lower_shape(c->lower, seen->node)), ncolumns = 0;
	int *order = ARENA_ARRAY(c->lower->arena, int, naxes + 1), next = 0;
	for (int columns = 0; columns <= 1; columns++)
		for (uint32_t axis = 0; axis < naxes; axis++) {
			const Ix *ix = seen->axes[axis];
			bool dim = ix->kind == IX_ITER && end->dims[ix->iter] >= 0 &&
				   !c->band->dims[end->dims[ix->iter]].dropped;
			bool column = ix->kind == IX_ITER && !proj->iters[ix->iter].reduced;
			if (dim)
				order[axis] = -1;
			else if (column == columns)
				order[axis] = next++;
			*nsums = columns ? *nsums : next;
			ncolumns += columns && column && !dim;
			if (axis + 1 == naxes && (dim || column))
				return NULL;
		}
	return ncolumns > 0 ? order : NULL;
}

static bool is_turned(const Band *band, NodeId node)
{
	for (uint32_t i = 0; i < band->nturned; i++)
		if (band->turned[i] == node)
			return true;
	return false;
}

static void choose_turned_of(Chooser *c, const BandEnd *end)
{
	Lower *lower = c->lower;
	Band *band = c->band;
	const Seen *seen = resting(c, end, band->rows);
	if (lower_node(lower, seen->node)->dtype != lower_node(lower, end->nest)->dtype)
		return;
	if (prepack_suits(lower, lower->plan[seen->node].buffer))
		return; /* tiles read its panels: nothing is copied at a call */
	int nsums = 0, *order = turned_order(c, end, seen, &nsums);
	if (!order || is_turned(band, seen->node))
		return;
	uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
	int *dims = ARENA_ARRAY(lower->arena, int, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++)
		dims[axis] = order[axis] < 0 ? end->dims[seen->axes[axis]->iter] : -1;
	band->orders[band->nturned] = order;
	band->nsums[band->nturned] = nsums;
	band->turned_dims[band->nturned] = dims;
	band->turned[band->nturned++] = seen->node;
}

/* ---- all of it ---- */

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
	for (uint32_t i = 0; i < band->nturned; i++) {
		uint32_t naxes = shape_naxes(lower_shape(lower, band->turned[i]));
		for (uint32_t axis = 0; axis < naxes; axis++)
			if (band->turned_dims[i][axis] >= 0)
				band->turned_dims[i][axis] = number[band->turned_dims[i][axis]];
	}
	for (uint32_t i = 0; i < band->nroots; i++) {
		uint32_t naxes = shape_naxes(lower_shape(lower, band->roots[i].root));
		for (uint32_t axis = 0; axis < naxes; axis++)
			if (band->roots[i].dims[axis] >= 0)
				band->roots[i].dims[axis] = number[band->roots[i].dims[axis]];
	}
}

bool band_choose(Lower *lower, Band *band, const ScheduleClause *asked)
{
	Chooser c = {lower, band, asked};
	if (!choose_rows(&c) || !(asks_on(asked) || pays(&c)))
		return false;
	choose_block(&c);
	for (uint32_t i = 0; i < band->nends; i++)
		choose_turned_of(&c, &band->ends[i]);
	renumber(lower, band);
	return true;
}
