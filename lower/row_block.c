/* Which kernels make a row block.
 *
 * A row block begins with a contraction and ends with one that sums over what the first one made.
 * Between them are kernels that read nothing of the row block but the elements of their own rows;
 * those that read nothing of the row block at all are computed before it. Each kernel's operands
 * are looked at as they are read, through everything that is fused into it: an axis of a tensor of
 * the row block remains a dim where every reader has one iterator of its result for it, which is
 * the index itself. Where that ends at what others read as well, other contractions of the first
 * one's rows are taken in, and the row block goes on: attention to past keys and new ones, whose
 * softmax is one. Or it goes on to further results of the same rows, and to sums over the rows, which
 * grow from block to block: the gradients of queries and keys, from that of the scores. What reads
 * these results alone is computed behind it. There is none where a copy that is made in each round of
 * the dims would be read in another one: keys of all heads that each head adds up.
 */
#include "lower/row_block_finder.h"

#include "loops/walk.h"

bool row_block_may_be_root(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, lower_nest_node(lower, id));
	return plan->needed && !plan->fused && !plan->pre_check && !plan->mutated &&
	       node->target == NODE_NONE && node_suits_nest(node) && node->kind != NODE_ZEROS &&
	       proj && !proj->linear && plan->nwindows == 0 && plan->phases == NODE_NONE &&
	       proj_is_plain(proj) && !proj_is_guarded(proj) &&
	       lower->program->buffers.at[plan->buffer].routine == lower->tables.routine_id;
}

bool row_block_is_contraction(const Lower *lower, NodeId root)
{
	NodeId nest = lower_nest_node(lower, root);
	const Node *node = lower_node(lower, nest);
	return proj_reduces(lower_proj(lower, nest)) && node->nargs >= 2 &&
	       node_reduce_op(node) == OP_ADD;
}

/* ---- what a root reads ---- */

static int *no_dims(const Lower *lower, const Proj *proj)
{
	int *dims = ARENA_ARRAY(lower->scratch, int, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++)
		dims[i] = -1;
	return dims;
}

void row_block_look(Finder *f, NodeId root)
{
	Lower *lower = f->lower;
	NodeId nest = lower_nest_node(lower, root);
	const Proj *proj = f->proj = lower_proj(lower, nest);
	f->summed = -1;
	f->dim_of = no_dims(lower, proj);
	Gen gen = {.lower = lower,
		   .program = lower->program,
		   .arena = lower->scratch,
		   .frame = frame_new(lower->program),
		   .root = NODE_NONE,
		   .bound = NODE_NONE,
		   .inside = NODE_NONE};
	SharedLocals shared = {0};
	const Ix **by_iter = ARENA_ARRAY(lower->scratch, const Ix *, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++)
		by_iter[i] = ix_iter(lower->scratch, gen_iter(&gen, proj->iters[i].name));
	f->sum = f->rest = (SeenList){0};
	gen.seen = &f->sum;
	gen_enter(&gen, &shared);
	const Value *value = piece_value(&gen, nest, &proj->pieces[0], by_iter);
	if (nest == root)
		return;
	gen.seen = &f->rest;
	gen_enter(&gen, &shared);
	gen.bound = nest;
	gen.bound_value = value;
	node_compute(
		&gen, root,
		access_indices(&gen, nest, &proj->pieces[0], &proj->pieces[0].result, by_iter));
}

/* May the iterator run along the dim, and no other? */
bool row_block_may_run(const Finder *f, const Ix *ix, int dim)
{
	if (ix->kind != IX_ITER ||
	    (f->proj->iters[ix->iter].reduced && (int)ix->iter != f->summed) ||
	    !size_same(f->proj->iters[ix->iter].extent, f->row_block->dims[dim].extent) ||
	    (f->dim_of[ix->iter] >= 0 && f->dim_of[ix->iter] != dim))
		return false;
	for (IterId other = 0; other < f->proj->niters; other++)
		if (other != ix->iter && f->dim_of[other] == dim)
			return false;
	return true;
}

/* Keeps those dims that the root has an iterator of its own for; are any of the row block's tensors
 * read? */
static bool match(Finder *f, const SeenList *seen)
{
	RowBlock *row_block = f->row_block;
	bool reads = false;
	for (size_t i = 0; i < seen->n; i++) {
		const RowBlockRoot *from = row_block_root(row_block, seen->at[i].node);
		uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->at[i].node));
		for (uint32_t axis = 0; from && axis < naxes; axis++) {
			int dim = from->dims[axis];
			const Ix *ix = seen->at[i].axes[axis];
			if (dim < 0)
				continue;
			if (row_block_may_run(f, ix, dim))
				f->dim_of[ix->iter] = dim;
			else
				row_block->dims[dim].dropped = true;
		}
		reads |= from != NULL;
	}
	return reads;
}

void row_block_add_root(Finder *f, NodeId root)
{
	Lower *lower = f->lower;
	RowBlock *row_block = f->row_block;
	RowBlockRoot *added = &row_block->roots[row_block->nroots++];
	const Access *result = &f->proj->pieces[0].result;
	*added = (RowBlockRoot){.root = root,
				.nest = lower_nest_node(lower, root),
				.summed = f->summed,
				.dims = ARENA_ARRAY(lower->arena, int, result->naxes + 1)};
	for (uint32_t axis = 0; axis < result->naxes; axis++)
		added->dims[axis] = result->axes[axis].nterms == 1
					    ? f->dim_of[result->axes[axis].terms[0].iter]
					    : -1;
	for (uint32_t dim = 0; dim < row_block->ndims; dim++) {
		bool has = f->summed >= 0 && (int)dim == row_block->summed;
		for (uint32_t axis = 0; axis < result->naxes; axis++)
			has |= added->dims[axis] == (int)dim;
		row_block->dims[dim].dropped |= !has;
	}
}

void row_block_keep_end(Finder *f, NodeId root)
{
	f->row_block->ends[f->row_block->nends++] =
		(RowBlockEnd){lower_nest_node(f->lower, root), f->sum, f->dim_of};
}

/* The first contraction: each axis of its result may be a dim. */
static bool start(Finder *f, NodeId root)
{
	RowBlock *row_block = f->row_block;
	const Access *result;
	row_block_look(f, root);
	result = &f->proj->pieces[0].result;
	for (uint32_t axis = 0; axis < result->naxes; axis++) {
		if (result->axes[axis].nterms != 1)
			continue;
		if (row_block->ndims == ROW_BLOCK_DIMS)
			return false;
		const Iter *iter = &f->proj->iters[result->axes[axis].terms[0].iter];
		f->dim_of[result->axes[axis].terms[0].iter] = (int)row_block->ndims;
		row_block->dims[row_block->ndims++] =
			(RowBlockDim){iter->name, iter->extent, false};
	}
	row_block_keep_end(f, root);
	row_block_add_root(f, root);
	return true;
}

/* Can a block of rows go on with the sums of the one before, in the result? */
static bool may_carry(const Finder *f, NodeId root)
{
	const Node *node = lower_node(f->lower, root);
	bool may = row_block_is_contraction(f->lower, root) &&
		   lower_nest_node(f->lower, root) == root &&
		   (node->dtype == DTYPE_F32 || node->dtype == DTYPE_F64);
	for (size_t i = 0; i < f->sum.n; i++)
		may &= lower_node(f->lower, f->sum.at[i].node)->dtype == node->dtype;
	return may;
}

/* A contraction that sums over a dim, the same one for all of these: the first that it reads so. */
static void find_summed(Finder *f, NodeId root)
{
	RowBlock *row_block = f->row_block;
	for (size_t i = 0; i < f->sum.n && may_carry(f, root); i++) {
		const RowBlockRoot *from = row_block_root(row_block, f->sum.at[i].node);
		uint32_t naxes = shape_naxes(lower_shape(f->lower, f->sum.at[i].node));
		for (uint32_t axis = 0; from && axis < naxes && f->summed < 0; axis++) {
			int dim = from->dims[axis];
			const Ix *ix = f->sum.at[i].axes[axis];
			if (dim < 0 || ix->kind != IX_ITER || !f->proj->iters[ix->iter].reduced ||
			    row_block->dims[dim].dropped ||
			    (row_block->summed >= 0 && row_block->summed != dim))
				continue;
			f->summed = (int)ix->iter;
			row_block->summed = dim;
		}
	}
}

/* Computes the node before the row block, or behind it; false: too many are. */
static bool leave_out(RowBlock *row_block, NodeId id, bool follows)
{
	uint32_t *n = follows ? &row_block->nafter : &row_block->nbefore;
	if (*n == ROW_BLOCK_BEFORE)
		return false;
	(follows ? row_block->after : row_block->before)[(*n)++] = id;
	return true;
}

/* Takes a contraction, or another root that reads what is there, in; false: it cannot be one. */
static bool take_root(Finder *f, NodeId id, Way way)
{
	RowBlock *row_block = f->row_block;
	row_block_look(f, id);
	if (way == WAY_RESULTS)
		find_summed(f, id);
	bool by_sum = match(f, &f->sum), after = match(f, &f->rest);
	if (!by_sum && !after)
		return false;
	row_block_add_root(f, id);
	RowBlockRoot *root = &row_block->roots[row_block->nroots - 1];
	bool total = way == WAY_RESULTS && f->summed < 0 &&
		     row_block_is_narrow(f->lower, row_block, root);
	f->ends = by_sum && row_block_is_contraction(f->lower, id) && !total;
	root->result = f->ends && way == WAY_RESULTS;
	if (f->ends && f->summed < 0)
		row_block_keep_end(f, id);
	return true;
}

/* May the node be a root, as far as there is room? */
static bool has_room(const Finder *f, NodeId id)
{
	return row_block_may_be_root(f->lower, id) && f->row_block->nroots < ROW_BLOCK_ROOTS &&
	       f->row_block->nends < ROW_BLOCK_ENDS;
}

/* Takes roots one after another up to a contraction behind which nothing reads what is between. */
static bool grow(Finder *f, Way way)
{
	Lower *lower = f->lower;
	RowBlock *row_block = f->row_block;
	for (uint32_t k = needed_from(lower, row_block->roots[0].root + 1); k < lower->nneeded;
	     k++) {
		NodeId id = lower->needed[k];
		const NodePlan *plan = &lower->plan[id];
		row_block_find_dependence(lower, row_block, id);
		if (!lower_has_kernel(lower, id) || plan->pre_check)
			continue;
		if (lower_node(lower, id)->target != NODE_NONE ||
		    lower_node(lower, id)->loop !=
			    lower_node(lower, row_block->roots[0].root)->loop)
			return false;
		if (!plan->reads_row_block) {
			if ((way == WAY_WIDE && row_block_join_end(f, id)) ||
			    (!plan->follows_row_block && row_block_take_producer(f, id)) ||
			    leave_out(row_block, id, plan->follows_row_block))
				continue;
			return false;
		}
		if (plan->follows_row_block || !has_room(f, id) || !take_root(f, id, way))
			return false;
		if (way == WAY_RESULTS && !f->alone && row_block_find_producer(f))
			return false;
		if (f->ends) {
			bool private = row_block_is_private(lower, row_block);
			if (private || way == WAY_NONE)
				return private && (way != WAY_RESULTS || row_block->summed >= 0);
		}
		if (lower->program->buffers.at[plan->buffer].kind != BUFFER_TEMP && !plan->output)
			return false;
	}
	return false;
}

static const ScheduleClause *asked_of(Lower *lower, NodeId root)
{
	return schedule_asked(lower->asked, lower->program, kernel_name(lower, root),
			      lower_node(lower, root)->span, CHOICE_ROW_BLOCK);
}

void row_block_describe_off(Lower *lower, NodeId root)
{
	ScheduleEntry *entry = schedule_entry(lower->program->made, kernel_name(lower, root));
	if (entry && lower->asked && says_off(asked_of(lower, root)))
		entry_make(lower->arena, entry, CHOICE_ROW_BLOCK, true);
}

/* Begins anew with each contraction beside it that is found on the way. */
static bool find_from(Finder *f, NodeId root, Way way)
{
	uint32_t nproducers;
	bool found;
	do {
		nproducers = f->nproducers;
		*f->row_block = (RowBlock){.summed = -1};
		found = start(f, root) && grow(f, way);
	} while (f->nproducers > nproducers);
	return found;
}

static bool find(Lower *lower, NodeId root, RowBlock *row_block, Way way)
{
	Finder f = {.lower = lower, .row_block = row_block};
	if (find_from(&f, root, way))
		return true;
	f.alone = f.nproducers > 0;
	f.nproducers = 0;
	return f.alone && find_from(&f, root, way);
}

static bool would_end_at(Lower *lower, NodeId first, NodeId last, const ScheduleClause *asked)
{
	RowBlock row_block;
	bool would = false;
	for (Way way = WAY_NONE; way < WAYS && !would; way++)
		would = find(lower, first, &row_block, way) &&
			row_block.roots[row_block.nroots - 1].root == last &&
			row_block_choose(lower, &row_block, asked);
	return would;
}

void row_block_find_passed(Lower *lower, RowBlock *row_block)
{
	NodeId last = row_block->roots[row_block->nroots - 1].root;
	ScheduleClause asked = {.choice = CHOICE_ROW_BLOCK};
	clause_add(lower->arena, &asked, row_block->dims[row_block->rows].name, &row_block->block,
		   1);
	for (size_t i = 0, n = lower->passed.n; i < n; i++) {
		RowBlockPassed passed = lower->passed.at[i];
		if (passed.last == last && would_end_at(lower, passed.first, last, &asked))
			PUSH(lower->arena, row_block->passed, passed.first);
	}
}

void row_block_describe_passed(Lower *lower, const RowBlock *row_block)
{
	for (size_t i = 0; i < row_block->passed.n; i++) {
		Sym name = kernel_name(lower, row_block->passed.at[i]);
		ScheduleEntry *first = schedule_entry(lower->program->made, name);
		if (first && !entry_clause(first, CHOICE_ROW_BLOCK))
			entry_make(lower->arena, first, CHOICE_ROW_BLOCK, true);
	}
}

static bool find_choice(Lower *lower, NodeId root, RowBlock *row_block, Way way)
{
	if (!find(lower, root, row_block, way))
		return false;
	const ScheduleClause *asked = asked_of(lower, row_block->roots[row_block->nroots - 1].root);
	bool off = lower_replays(lower) ? !asks_on(asked) : asks_off(asked);
	row_block->copies =
		schedule_asked(lower->asked, lower->program,
			       kernel_name(lower, row_block->roots[row_block->nroots - 1].root),
			       SPAN_NONE, CHOICE_TRANSPOSE);
	return !off && row_block_choose(lower, row_block, asked);
}

/* ---- whether copies serve all that read them ---- */

/* The dim that an iterator of the root at hand runs along; -1: none. */
static int dim_along(const Finder *f, const RowBlockRoot *root, const Ix *ix)
{
	const Access *result = &f->proj->pieces[0].result;
	for (uint32_t axis = 0; axis < result->naxes && ix->kind == IX_ITER; axis++)
		if (result->axes[axis].nterms == 1 && result->axes[axis].terms[0].iter == ix->iter)
			return root->dims[axis];
	return -1;
}

/* Is an operand read in the round of the dims that its copy is made for, or at another index than
 * the copy's? */
static bool is_in_round(const Finder *f, const RowBlockRoot *root, const Seen *seen,
			const RowBlockTransposed *copy)
{
	uint32_t naxes = shape_naxes(lower_shape(f->lower, seen->node));
	bool there = true, same = true;
	for (uint32_t axis = 0; axis < naxes; axis++) {
		if (copy->dims[axis] == ROW_BLOCK_FIXED)
			there &= ix_same(seen->axes[axis], copy->axes[axis]);
		else if (copy->dims[axis] >= 0)
			same &= dim_along(f, root, seen->axes[axis]) == copy->dims[axis];
	}
	return same || !there;
}

static bool copies_serve(const Finder *f, const RowBlockRoot *root, const SeenList *seen)
{
	const RowBlock *row_block = f->row_block;
	for (size_t i = 0; i < seen->n; i++)
		for (uint32_t k = 0; k < row_block->ntransposed; k++)
			if (row_block->transposed[k].node == seen->at[i].node &&
			    !is_in_round(f, root, &seen->at[i], &row_block->transposed[k]))
				return false;
	return true;
}

static bool copies_serve_all(Lower *lower, RowBlock *row_block)
{
	Finder f = {.lower = lower, .row_block = row_block};
	for (uint32_t i = 0; i < row_block->nroots; i++) {
		const RowBlockRoot *root = &row_block->roots[i];
		row_block_look(&f, root->root);
		if (!copies_serve(&f, root, &f.sum) || !copies_serve(&f, root, &f.rest))
			return false;
	}
	return true;
}

bool row_block_find(Lower *lower, NodeId root, RowBlock *row_block)
{
	if (!row_block_may_be_root(lower, root) || !row_block_is_contraction(lower, root) ||
	    says_off(asked_of(lower, root)) ||
	    lower->program->buffers.at[lower->plan[root].buffer].kind != BUFFER_TEMP)
		return false;
	bool found = false;
	for (Way way = WAY_NONE; way < WAYS && !found; way++)
		found = find_choice(lower, root, row_block, way);
	return found && copies_serve_all(lower, row_block);
}
