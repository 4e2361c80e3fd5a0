/* Which kernels make a band.
 *
 * A band begins with a contraction and ends with one that sums over what the first one made.
 * Between them are kernels that read nothing of the band but the cells of their own rows; those
 * that read nothing of the band at all are computed before it. Each kernel's operands are looked at
 * as they are read, through everything that is fused into it: an axis of a tensor of the band
 * remains a dim where every reader has one iterator of its result for it, which is the index
 * itself. Of the dims, the last one that leaves an operand of both contractions where it is goes in
 * blocks.
 *
 * It pays where the tensors between are large, and where what every block reads again is not.
 */
#include "lower/band.h"

#include "base/diag.h"
#include "lower/tile.h"

/* Bytes of a block, of what each block reads again, of tensors that may stay whole; rows. */
enum { BLOCK_BYTES = 1 << 19, AGAIN_BYTES = 1 << 20, WHOLE_BYTES = 1 << 18 };
enum { BLOCK_ROWS = 64, ROWS_LEAST = 16, BLOCK_MOST = 4096 };

typedef struct Finder {
	Lower *lower;
	Band *band;
	SeenList sum, rest; /* of the root at hand: operands of the sum, and of what follows it */
	const Proj *proj;
	int *dim_of;		     /* by IterId */
	const ScheduleClause *asked; /* of the last kernel; NULL: nothing is */
	SeenList ends[2];	     /* operands of the two contractions */
	int *end_dims[2];
} Finder;

static bool is_band_root(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	const Node *node = lower_node(lower, id);
	NodeId nest = plan->reduction != NODE_NONE ? plan->reduction : id;
	const Proj *proj = lower_proj(lower, nest);
	return plan->needed && !plan->fused && !plan->early && !plan->mutated &&
	       node->target == NODE_NONE && node->kind != NODE_ARGMAX && node->kind != NODE_ZEROS &&
	       node->kind != NODE_RANDOM && proj && !proj->linear && proj_is_plain(proj) &&
	       !proj_is_guarded(proj) &&
	       lower->program->buffers.at[plan->buffer].routine == lower->routine_id;
}

static NodeId nest_of(const Lower *lower, NodeId root)
{
	NodeId reduction = lower->plan[root].reduction;
	return reduction != NODE_NONE ? reduction : root;
}

static bool is_contraction(const Lower *lower, NodeId root)
{
	NodeId nest = nest_of(lower, root);
	const Node *node = lower_node(lower, nest);
	return proj_reduces(lower_proj(lower, nest)) && node->nargs >= 2 &&
	       node_reduce_op(node) == OP_ADD;
}

/* ---- what a root reads ---- */

/* Fills in the operands of the sum and of what follows it, over iterators with the numbers of the
 * projection. */
static void look(Finder *f, NodeId root)
{
	Lower *lower = f->lower;
	NodeId nest = nest_of(lower, root);
	const Proj *proj = f->proj = lower_proj(lower, nest);
	Gen gen = {.lower = lower,
		   .program = lower->program,
		   .arena = lower->scratch,
		   .bound = NODE_NONE};
	Body body = {0};
	const Ix **by_iter = ARENA_ARRAY(lower->scratch, const Ix *, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++)
		by_iter[i] = ix_iter(lower->scratch, gen_iter(&gen, proj->iters[i].name));
	f->sum = f->rest = (SeenList){0};
	gen.seen = &f->sum;
	gen_enter(&gen, &body);
	const Value *value = piece_value(&gen, nest, &proj->pieces[0], by_iter);
	if (nest == root)
		return;
	gen.seen = &f->rest;
	gen_enter(&gen, &body);
	gen.bound = nest;
	gen.bound_value = value;
	node_compute(
		&gen, root,
		access_indices(&gen, nest, &proj->pieces[0], &proj->pieces[0].result, by_iter));
}

static const BandRoot *root_of(const Band *band, NodeId node)
{
	for (uint32_t i = 0; i < band->nroots; i++)
		if (band->roots[i].root == node)
			return &band->roots[i];
	return NULL;
}

/* Keeps those dims that the root has an iterator of its own for; are any of the band's tensors
 * read? */
static bool match(Finder *f, const SeenList *seen)
{
	Band *band = f->band;
	bool reads = false;
	for (size_t i = 0; i < seen->n; i++) {
		const BandRoot *from = root_of(band, seen->at[i].node);
		uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->at[i].node));
		for (uint32_t axis = 0; from && axis < naxes; axis++) {
			int dim = from->dims[axis];
			const Ix *ix = seen->at[i].axes[axis];
			if (dim < 0)
				continue;
			bool own = ix->kind == IX_ITER && !f->proj->iters[ix->iter].reduced &&
				   size_same(f->proj->iters[ix->iter].extent,
					     band->dims[dim].extent) &&
				   (f->dim_of[ix->iter] < 0 || f->dim_of[ix->iter] == dim);
			for (IterId other = 0; own && other < f->proj->niters; other++)
				own = other == ix->iter || f->dim_of[other] != dim;
			if (own)
				f->dim_of[ix->iter] = dim;
			else
				band->dims[dim].dropped = true;
		}
		reads |= from != NULL;
	}
	return reads;
}

static void add_root(Finder *f, NodeId root)
{
	Lower *lower = f->lower;
	Band *band = f->band;
	BandRoot *added = &band->roots[band->nroots++];
	const Access *result = &f->proj->pieces[0].result;
	*added = (BandRoot){root, nest_of(lower, root),
			    ARENA_ARRAY(lower->arena, int, result->naxes + 1)};
	for (uint32_t axis = 0; axis < result->naxes; axis++)
		added->dims[axis] = result->axes[axis].nterms == 1
					    ? f->dim_of[result->axes[axis].terms[0].iter]
					    : -1;
	for (uint32_t dim = 0; dim < band->ndims; dim++) {
		bool has = false;
		for (uint32_t axis = 0; axis < result->naxes; axis++)
			has |= added->dims[axis] == (int)dim;
		band->dims[dim].dropped |= !has;
	}
}

static int *no_dims(const Finder *f)
{
	int *dims = ARENA_ARRAY(f->lower->scratch, int, f->proj->niters + 1);
	for (IterId i = 0; i < f->proj->niters; i++)
		dims[i] = -1;
	return dims;
}

static void keep_end(Finder *f, int end)
{
	f->ends[end] = f->sum;
	f->end_dims[end] = f->dim_of;
}

/* The first contraction: each axis of its result may be a dim. */
static bool start(Finder *f, NodeId root)
{
	Band *band = f->band;
	const Access *result;
	look(f, root);
	result = &f->proj->pieces[0].result;
	f->dim_of = no_dims(f);
	for (uint32_t axis = 0; axis < result->naxes; axis++) {
		if (result->axes[axis].nterms != 1)
			continue;
		if (band->ndims == BAND_DIMS)
			return false;
		const Iter *iter = &f->proj->iters[result->axes[axis].terms[0].iter];
		f->dim_of[result->axes[axis].terms[0].iter] = (int)band->ndims;
		band->dims[band->ndims++] = (BandDim){iter->name, iter->extent, false};
	}
	keep_end(f, 0);
	add_root(f, root);
	return true;
}

/* ---- whether what is between is the band's own ---- */

static bool is_read_inside(const Lower *lower, const Band *band, NodeId node)
{
	for (uint32_t i = lower->first_use[node]; i < lower->first_use[node + 1]; i++) {
		NodeId user = lower->uses[i].user;
		bool inside = lower->plan[user].fused ? is_read_inside(lower, band, user)
						      : root_of(band, user) != NULL;
		if (!inside)
			return false;
	}
	return true;
}

static bool is_private(const Lower *lower, const Band *band)
{
	for (uint32_t i = 0; i + 1 < band->nroots; i++) {
		NodeId root = band->roots[i].root;
		if (lower->plan[root].output || !is_read_inside(lower, band, root))
			return false;
	}
	return true;
}

/* ---- dims and sizes ---- */

/* Bytes; -1: not known. */
static int64_t bytes_of(const Finder *f, Size elements, Dtype dtype)
{
	int64_t n;
	return size_is_const(f->lower->sizes, elements, &n) ? n * (int64_t)dtype_bytes(dtype) : -1;
}

/* The operand of a contraction that a dim leaves where it is; NODE_NONE: none. */
static const Seen *resting(const Finder *f, int end, int dim)
{
	const SeenList *seen = &f->ends[end];
	for (size_t i = 0; i < seen->n; i++) {
		uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->at[i].node));
		bool moves = root_of(f->band, seen->at[i].node) != NULL;
		for (uint32_t axis = 0; axis < naxes && !moves; axis++) {
			const Ix *ix = seen->at[i].axes[axis];
			moves = ix->kind != IX_SIZE &&
				(ix->kind != IX_ITER || f->end_dims[end][ix->iter] == dim);
		}
		if (!moves)
			return &seen->at[i];
	}
	return NULL;
}

static bool choose_rows(Finder *f)
{
	Band *band = f->band;
	int64_t n;
	for (uint32_t dim = band->ndims; dim-- > 0;) {
		bool known = size_is_const(f->lower->sizes, band->dims[dim].extent, &n);
		bool few = known && n < ROWS_LEAST && !asks_on(f->asked);
		if (band->dims[dim].dropped || few ||
		    !asks_name(f->asked, 0, band->dims[dim].name) || !resting(f, 0, (int)dim) ||
		    !resting(f, 1, (int)dim))
			continue;
		band->rows = dim;
		return true;
	}
	return false;
}

/* The elements of a tensor over the axes that are no dims. */
static Size elements_inside(const Finder *f, NodeId node, const int *dims)
{
	const Shape *shape = lower_shape(f->lower, node);
	Size elements = size_const(f->lower->sizes, 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if (dims[axis] < 0 || f->band->dims[dims[axis]].dropped)
			elements =
				size_mul(f->lower->sizes, elements, shape_axis(shape, axis)->size);
	return elements;
}

/* What of an operand each block reads. */
static int64_t bytes_again(const Finder *f, int end)
{
	const Seen *seen = resting(f, end, (int)f->band->rows);
	const Shape *shape = lower_shape(f->lower, seen->node);
	int *dims = ARENA_ARRAY(f->lower->scratch, int, shape_naxes(shape) + 1);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		dims[axis] = seen->axes[axis]->kind == IX_ITER
				     ? f->end_dims[end][seen->axes[axis]->iter]
				     : -1;
	return bytes_of(f, elements_inside(f, seen->node, dims),
			lower_node(f->lower, seen->node)->dtype);
}

/* Is there a sum, or another reduction, between the two contractions? Else a block saves one pass.
 */
static bool has_row_sums(const Finder *f)
{
	for (uint32_t i = 1; i + 1 < f->band->nroots; i++)
		if (proj_reduces(lower_proj(f->lower, f->band->roots[i].nest)))
			return true;
	return false;
}

static bool pays(Finder *f)
{
	Band *band = f->band;
	const BandRoot *first = &band->roots[0];
	Dtype dtype = lower_node(f->lower, first->root)->dtype;
	int64_t whole = bytes_of(f, node_elements(f->lower, first->root), dtype);
	return (whole < 0 || whole > WHOLE_BYTES) && bytes_again(f, 0) <= AGAIN_BYTES &&
	       bytes_again(f, 1) <= AGAIN_BYTES && has_row_sums(f);
}

static void choose_block(Finder *f)
{
	Band *band = f->band;
	const BandRoot *first = &band->roots[0];
	Dtype dtype = lower_node(f->lower, first->root)->dtype;
	int64_t row = bytes_of(f, elements_inside(f, first->root, first->dims), dtype), rows;
	for (band->block = BLOCK_ROWS; row > 0 && band->block > ROWS_LEAST; band->block /= 2)
		if (band->block * row <= BLOCK_BYTES)
			break;
	bool known = size_is_const(f->lower->sizes, band->dims[band->rows].extent, &rows);
	if (known && rows > 0) {
		int64_t blocks = (rows + band->block - 1) / band->block;
		band->block = (rows + blocks - 1) / blocks;
	}
	const ScheduleItem *item = f->asked && f->asked->items.n ? &f->asked->items.at[0] : NULL;
	if (item && item->n && item->numbers[0] > 0 && item->numbers[0] <= BLOCK_MOST)
		band->block = item->numbers[0];
}

/* ---- operands that are turned ---- */

/* The position that each axis of an operand has in its copy: sums, then columns, no dims. Its own
 * last axis is a sum, and columns there are: else it is good as it is. */
static int *turned_order(const Finder *f, int end, const Seen *seen)
{
	const Proj *proj = lower_proj(f->lower, f->band->roots[end ? f->band->nroots - 1 : 0].nest);
	uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->node)), ncolumns = 0;
	int *order = ARENA_ARRAY(f->lower->arena, int, naxes + 1), next = 0;
	for (int columns = 0; columns <= 1; columns++)
		for (uint32_t axis = 0; axis < naxes; axis++) {
			const Ix *ix = seen->axes[axis];
			bool dim = ix->kind == IX_ITER && f->end_dims[end][ix->iter] >= 0 &&
				   !f->band->dims[f->end_dims[end][ix->iter]].dropped;
			bool column = ix->kind == IX_ITER && !proj->iters[ix->iter].reduced;
			if (dim)
				order[axis] = -1;
			else if (column == columns)
				order[axis] = next++;
			ncolumns += columns && column && !dim;
			if (axis + 1 == naxes && (dim || column))
				return NULL;
		}
	return ncolumns > 0 ? order : NULL;
}

static void choose_turned(Finder *f)
{
	Band *band = f->band;
	for (int end = 0; end < 2; end++) {
		const Seen *seen = resting(f, end, (int)band->rows);
		if (lower_node(f->lower, seen->node)->dtype !=
		    lower_node(f->lower, band->roots[end ? band->nroots - 1 : 0].nest)->dtype)
			continue;
		if (prepack_suits(f->lower, f->lower->plan[seen->node].buffer))
			continue; /* tiles read its panels: nothing is copied at a call */
		int *order = turned_order(f, end, seen);
		if (!order || (band->nturned && band->turned[0] == seen->node))
			continue;
		uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->node));
		int *dims = ARENA_ARRAY(f->lower->arena, int, naxes + 1);
		for (uint32_t axis = 0; axis < naxes; axis++)
			dims[axis] =
				order[axis] < 0 ? f->end_dims[end][seen->axes[axis]->iter] : -1;
		band->orders[band->nturned] = order;
		band->turned_dims[band->nturned] = dims;
		band->turned[band->nturned++] = seen->node;
	}
}

/* ---- all of it ---- */

/* Gives the dims that are left new numbers. */
static void renumber(Finder *f)
{
	Band *band = f->band;
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
		uint32_t naxes = shape_naxes(lower_shape(f->lower, band->turned[i]));
		for (uint32_t axis = 0; axis < naxes; axis++)
			if (band->turned_dims[i][axis] >= 0)
				band->turned_dims[i][axis] = number[band->turned_dims[i][axis]];
	}
	for (uint32_t i = 0; i < band->nroots; i++) {
		uint32_t naxes = shape_naxes(lower_shape(f->lower, band->roots[i].root));
		for (uint32_t axis = 0; axis < naxes; axis++)
			if (band->roots[i].dims[axis] >= 0)
				band->roots[i].dims[axis] = number[band->roots[i].dims[axis]];
	}
}

/* Does the node read a tensor of the band, through nodes that have no kernel of their own? */
static bool depends(const Lower *lower, const Band *band, NodeId id)
{
	const Node *node = lower_node(lower, id);
	for (uint32_t i = 0; i < node->nargs; i++)
		if (root_of(band, node->args[i]) || (!lower_has_kernel(lower, node->args[i]) &&
						     depends(lower, band, node->args[i])))
			return true;
	return false;
}

/* Takes roots one after another up to the contraction that ends the band. */
static bool grow(Finder *f)
{
	Lower *lower = f->lower;
	Band *band = f->band;
	for (NodeId id = band->roots[0].root + 1; id < lower->graph->nodes.n; id++) {
		if (!lower_has_kernel(lower, id) || lower->plan[id].early)
			continue;
		if (lower_node(lower, id)->target != NODE_NONE)
			return false;
		if (!depends(lower, band, id)) {
			if (band->nbefore == BAND_BEFORE)
				return false;
			band->before[band->nbefore++] = id;
			continue;
		}
		if (!is_band_root(lower, id) || band->nroots == BAND_ROOTS)
			return false;
		look(f, id);
		f->dim_of = no_dims(f);
		bool by_sum = match(f, &f->sum), after = match(f, &f->rest);
		if (!by_sum && !after)
			return false;
		add_root(f, id);
		if (by_sum && is_contraction(lower, id)) {
			keep_end(f, 1);
			return true;
		}
		if (lower->program->buffers.at[lower->plan[id].buffer].kind != BUFFER_TEMP)
			return false;
	}
	return false;
}

static const ScheduleClause *asked_of(Lower *lower, NodeId root)
{
	return schedule_asked(lower->asked, lower->program, kernel_name(lower, root),
			      lower_node(lower, root)->span, CHOICE_BAND);
}

void band_describe_off(Lower *lower, NodeId root)
{
	ScheduleEntry *entry = schedule_entry(lower->program->made, kernel_name(lower, root));
	if (entry && lower->asked && asks_off(asked_of(lower, root)))
		entry_make(lower->arena, entry, CHOICE_BAND, true);
}

bool band_find(Lower *lower, NodeId root, Band *band)
{
	*band = (Band){0};
	Finder f = {.lower = lower, .band = band};
	if (!is_band_root(lower, root) || !is_contraction(lower, root) ||
	    lower->program->buffers.at[lower->plan[root].buffer].kind != BUFFER_TEMP)
		return false;
	if (!start(&f, root) || !grow(&f) || !is_private(lower, band))
		return false;
	f.asked = asked_of(lower, band->roots[band->nroots - 1].root);
	if (asks_off(f.asked) || !choose_rows(&f) || !(asks_on(f.asked) || pays(&f)))
		return false;
	choose_block(&f);
	choose_turned(&f);
	renumber(&f);
	return true;
}
