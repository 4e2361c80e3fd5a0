/* Contractions that read nothing of a row block, and are part of it: of the first one's rows (row_block.c), or
 * read at the rows by what is part of it.
 *
 *   grad_p = sum of c[h, s, d] * v[h, t, d]                     the first one
 *   scores = sum of q[h, s, d] * k[h, t, d]; e = exp(scores)    computed once more for the gradient
 *   total[h, s] = sum of grad_p[h, s, t] * e[h, s, t]           reads e at its rows, and so scores
 *
 * Such are found when their reader is a root already; all begins anew then, and takes them in, and what
 * reads them, where they come.
 */
#include "lower/row_block_finder.h"

/* ---- of the first one's rows ---- */

/* The iterators of the root at hand that read an operand where the first contraction has a dim. */
static bool share(Finder *f, const Seen *first, const Seen *here)
{
	const RowBlockEnd *end = &f->row_block->ends[0];
	uint32_t naxes = shape_naxes(lower_shape(f->lower, here->node));
	bool any = false;
	for (uint32_t axis = 0; axis < naxes && first->node == here->node; axis++) {
		const Ix *ix = first->axes[axis];
		int dim = ix->kind == IX_ITER ? end->dims[ix->iter] : -1;
		if (dim < 0 || !row_block_may_run(f, here->axes[axis], dim))
			continue;
		f->dim_of[here->axes[axis]->iter] = dim;
		any = true;
	}
	return any;
}

bool row_block_join_end(Finder *f, NodeId id)
{
	RowBlock *row_block = f->row_block;
	const SeenList *first = &row_block->ends[0].seen;
	bool any = false;
	if (!row_block_may_be_root(f->lower, id) || !row_block_is_contraction(f->lower, id) ||
	    row_block->nends == ROW_BLOCK_ENDS || row_block->nroots == ROW_BLOCK_ROOTS)
		return false;
	row_block_look(f, id);
	for (size_t i = 0; i < first->n; i++)
		for (size_t j = 0; j < f->sum.n; j++)
			any |= share(f, &first->at[i], &f->sum.at[j]);
	if (!any)
		return false;
	row_block_keep_end(f, id);
	row_block_add_root(f, id);
	return true;
}

/* ---- that are read at the rows ---- */

static bool is_before(const RowBlock *row_block, NodeId node)
{
	for (uint32_t i = 0; i < row_block->nbefore; i++)
		if (row_block->before[i] == node)
			return true;
	return false;
}

/* By axis of what is read: the dim that the root at hand has there, or -1. */
static int *dims_read(const Finder *f, const Seen *seen)
{
	uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->node));
	int *dims = ARENA_ARRAY(f->lower->scratch, int, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++)
		dims[axis] =
			seen->axes[axis]->kind == IX_ITER ? f->dim_of[seen->axes[axis]->iter] : -1;
	return dims;
}

/* Are all dims that are left among them? */
static bool has_dims(const RowBlock *row_block, const int *dims, uint32_t naxes)
{
	for (uint32_t dim = 0; dim < row_block->ndims; dim++) {
		bool has = row_block->dims[dim].dropped;
		for (uint32_t axis = 0; axis < naxes; axis++)
			has |= dims[axis] == (int)dim;
		if (!has)
			return false;
	}
	return true;
}

/* Looks at a node, whose result has the dims by axis. */
static void look_along(Finder *f, NodeId node, const int *dims)
{
	row_block_look(f, node);
	const Access *result = &f->proj->pieces[0].result;
	for (uint32_t axis = 0; axis < result->naxes; axis++)
		if (result->axes[axis].nterms == 1)
			f->dim_of[result->axes[axis].terms[0].iter] = dims[axis];
}

/* Is a row of the contraction's result as long as its sum, or may it be? Else it is as well kept. */
static bool grows(const Finder *f, NodeId node, const int *dims)
{
	const Lower *lower = f->lower;
	Size row = row_block_elements(lower, f->row_block, node, dims);
	Size steps = row_block_steps(lower, lower_nest_node(lower, node));
	int64_t length, nsteps;
	return size_is_const(lower->sizes, steps, &nsteps) &&
	       (!size_is_const(lower->sizes, row, &length) || length >= nsteps);
}

static void find_in(Finder *f, const Finder *at);

/* A node that is computed before, and is read at the rows: a contraction, or it reads some in turn. */
static void find_through(Finder *f, const Finder *at, const Seen *seen)
{
	const Lower *lower = f->lower;
	const int *dims = dims_read(at, seen);
	uint32_t naxes = shape_naxes(lower_shape(lower, seen->node));
	if (!is_before(f->row_block, seen->node) || !row_block_may_be_root(lower, seen->node) ||
	    !has_dims(f->row_block, dims, naxes))
		return;
	if (row_block_is_contraction(lower, seen->node)) {
		if (f->nproducers < ROW_BLOCK_ENDS && grows(f, seen->node, dims))
			f->producers[f->nproducers++] = (RowBlockProducer){seen->node, dims};
		return;
	}
	Finder through = *at;
	look_along(&through, seen->node, dims);
	find_in(f, &through);
}

/* Up to the first one. */
static void find_in(Finder *f, const Finder *at)
{
	const SeenList *lists[] = {&at->sum, &at->rest};
	uint32_t before = f->nproducers;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->n && f->nproducers == before; i++)
			find_through(f, at, &lists[k]->at[i]);
}

bool row_block_find_producer(Finder *f)
{
	uint32_t before = f->nproducers;
	Finder at = *f;
	find_in(f, &at);
	return f->nproducers > before;
}

bool row_block_take_producer(Finder *f, NodeId id)
{
	RowBlock *row_block = f->row_block;
	for (uint32_t i = 0; i < f->nproducers; i++) {
		if (f->producers[i].node != id || row_block->nends == ROW_BLOCK_ENDS ||
		    row_block->nroots == ROW_BLOCK_ROOTS)
			continue;
		look_along(f, id, f->producers[i].dims);
		row_block_keep_end(f, id);
		row_block_add_root(f, id);
		return true;
	}
	return false;
}
