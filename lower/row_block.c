/* Which kernels make a row block.
 *
 * A row block begins with a contraction and ends with one that sums over what the first one made.
 * Between them are kernels that read nothing of the row block but the elements of their own rows;
 * those that read nothing of the row block at all are computed before it. Each kernel's operands
 * are looked at as they are read, through everything that is fused into it: an axis of a tensor of
 * the row block remains a dim where every reader has one iterator of its result for it, which is
 * the index itself. Where that ends at what others read as well, other contractions of the first
 * one's rows are taken in, and the row block goes on: attention to past keys and new ones, whose
 * softmax is one. There is none where a copy that is made in each round of the dims would be read in
 * another one: keys of all heads that each head adds up.
 */
#include "lower/row_block.h"

#include "loops/walk.h"

typedef struct Finder {
	Lower *lower;
	RowBlock *row_block;
	SeenList sum, rest; /* of the root at hand: operands of the sum, and of what follows it */
	const Proj *proj;
	int *dim_of; /* by IterId */
} Finder;

static bool is_row_block_root(const Lower *lower, NodeId id)
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

static bool is_contraction(const Lower *lower, NodeId root)
{
	NodeId nest = lower_nest_node(lower, root);
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
	NodeId nest = lower_nest_node(lower, root);
	const Proj *proj = f->proj = lower_proj(lower, nest);
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
static bool may_be(const Finder *f, const Ix *ix, int dim)
{
	if (ix->kind != IX_ITER || f->proj->iters[ix->iter].reduced ||
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
			if (may_be(f, ix, dim))
				f->dim_of[ix->iter] = dim;
			else
				row_block->dims[dim].dropped = true;
		}
		reads |= from != NULL;
	}
	return reads;
}

static void add_root(Finder *f, NodeId root)
{
	Lower *lower = f->lower;
	RowBlock *row_block = f->row_block;
	RowBlockRoot *added = &row_block->roots[row_block->nroots++];
	const Access *result = &f->proj->pieces[0].result;
	*added = (RowBlockRoot){.root = root,
				.nest = lower_nest_node(lower, root),
				.dims = ARENA_ARRAY(lower->arena, int, result->naxes + 1)};
	for (uint32_t axis = 0; axis < result->naxes; axis++)
		added->dims[axis] = result->axes[axis].nterms == 1
					    ? f->dim_of[result->axes[axis].terms[0].iter]
					    : -1;
	for (uint32_t dim = 0; dim < row_block->ndims; dim++) {
		bool has = false;
		for (uint32_t axis = 0; axis < result->naxes; axis++)
			has |= added->dims[axis] == (int)dim;
		row_block->dims[dim].dropped |= !has;
	}
}

static int *no_dims(const Finder *f)
{
	int *dims = ARENA_ARRAY(f->lower->scratch, int, f->proj->niters + 1);
	for (IterId i = 0; i < f->proj->niters; i++)
		dims[i] = -1;
	return dims;
}

static void keep_end(Finder *f, NodeId root)
{
	f->row_block->ends[f->row_block->nends++] =
		(RowBlockEnd){lower_nest_node(f->lower, root), f->sum, f->dim_of};
}

/* The first contraction: each axis of its result may be a dim. */
static bool start(Finder *f, NodeId root)
{
	RowBlock *row_block = f->row_block;
	const Access *result;
	look(f, root);
	result = &f->proj->pieces[0].result;
	f->dim_of = no_dims(f);
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
	keep_end(f, root);
	add_root(f, root);
	return true;
}

/* The iterators of the root at hand that read an operand where the first contraction has a dim. */
static bool share(Finder *f, const Seen *first, const Seen *here)
{
	const RowBlockEnd *end = &f->row_block->ends[0];
	uint32_t naxes = shape_naxes(lower_shape(f->lower, here->node));
	bool any = false;
	for (uint32_t axis = 0; axis < naxes && first->node == here->node; axis++) {
		const Ix *ix = first->axes[axis];
		int dim = ix->kind == IX_ITER ? end->dims[ix->iter] : -1;
		if (dim < 0 || !may_be(f, here->axes[axis], dim))
			continue;
		f->dim_of[here->axes[axis]->iter] = dim;
		any = true;
	}
	return any;
}

/* A contraction that reads nothing of the row block, but an operand of the first one at the same
 * rows: scores of other keys for the same queries. */
static bool join_end(Finder *f, NodeId id)
{
	RowBlock *row_block = f->row_block;
	const SeenList *first = &row_block->ends[0].seen;
	bool any = false;
	if (!is_row_block_root(f->lower, id) || !is_contraction(f->lower, id) ||
	    row_block->nends == ROW_BLOCK_ENDS || row_block->nroots == ROW_BLOCK_ROOTS)
		return false;
	look(f, id);
	f->dim_of = no_dims(f);
	for (size_t i = 0; i < first->n; i++)
		for (size_t j = 0; j < f->sum.n; j++)
			any |= share(f, &first->at[i], &f->sum.at[j]);
	if (!any)
		return false;
	keep_end(f, id);
	add_root(f, id);
	return true;
}

/* ---- whether what is between is the row block's own ---- */

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

/* Has each element of the dims that are left one element of the root? */
static bool is_narrow(const Lower *lower, const RowBlock *row_block, const RowBlockRoot *root)
{
	const Shape *shape = lower_shape(lower, root->root);
	for (uint32_t axis = 0; axis < shape_naxes(shape); axis++)
		if ((root->dims[axis] < 0 || row_block->dims[root->dims[axis]].dropped) &&
		    !size_is(lower->sizes, shape_axis(shape, axis)->size, 1))
			return false;
	return true;
}

/* Is what is between read by the row block alone, but for totals of rows, which are kept? */
static bool is_private(const Lower *lower, RowBlock *row_block)
{
	for (uint32_t i = 0; i + 1 < row_block->nroots; i++) {
		RowBlockRoot *root = &row_block->roots[i];
		root->read_outside = lower->plan[root->root].output ||
				     !is_read_inside(lower, row_block, root->root);
		if (root->read_outside && !is_narrow(lower, row_block, root))
			return false;
	}
	return true;
}

/* ---- all of it ---- */

/* Does the node read a tensor of the row block, through nodes that have no kernel of their own?
 * Those behind the row block's first root were asked before. */
static bool depends(const Lower *lower, const RowBlock *row_block, NodeId id)
{
	const Node *node = lower_node(lower, id);
	for (uint32_t i = 0; i < node->nargs; i++) {
		NodeId arg = node->args[i];
		if (row_block_root(row_block, arg) ||
		    (arg > row_block->roots[0].root && !lower_has_kernel(lower, arg) &&
		     lower->plan[arg].reads_row_block))
			return true;
	}
	return false;
}

/* Takes roots one after another up to a contraction behind which nothing reads what is between.
 * `wide`: contractions beside the first one join, and the row block may go on behind another
 * one. */
static bool grow(Finder *f, bool wide)
{
	Lower *lower = f->lower;
	RowBlock *row_block = f->row_block;
	for (uint32_t k = needed_from(lower, row_block->roots[0].root + 1); k < lower->nneeded;
	     k++) {
		NodeId id = lower->needed[k];
		lower->plan[id].reads_row_block = depends(lower, row_block, id);
		if (!lower_has_kernel(lower, id) || lower->plan[id].pre_check)
			continue;
		if (lower_node(lower, id)->target != NODE_NONE ||
		    lower_node(lower, id)->loop !=
			    lower_node(lower, row_block->roots[0].root)->loop)
			return false;
		if (!lower->plan[id].reads_row_block) {
			if (wide && join_end(f, id))
				continue;
			if (row_block->nbefore == ROW_BLOCK_BEFORE)
				return false;
			row_block->before[row_block->nbefore++] = id;
			continue;
		}
		if (!is_row_block_root(lower, id) || row_block->nroots == ROW_BLOCK_ROOTS ||
		    row_block->nends == ROW_BLOCK_ENDS)
			return false;
		look(f, id);
		f->dim_of = no_dims(f);
		bool by_sum = match(f, &f->sum), after = match(f, &f->rest);
		if (!by_sum && !after)
			return false;
		add_root(f, id);
		if (by_sum && is_contraction(lower, id)) {
			keep_end(f, id);
			bool private = is_private(lower, row_block);
			if (private || !wide)
				return private;
		}
		if (lower->program->buffers.at[lower->plan[id].buffer].kind != BUFFER_TEMP &&
		    !lower->plan[id].output)
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

static bool find(Lower *lower, NodeId root, RowBlock *row_block, bool wide)
{
	*row_block = (RowBlock){0};
	Finder f = {.lower = lower, .row_block = row_block};
	return start(&f, root) && grow(&f, wide);
}

static bool would_end_at(Lower *lower, NodeId first, NodeId last, bool wide,
			 const ScheduleClause *asked)
{
	RowBlock row_block;
	return find(lower, first, &row_block, wide) &&
	       row_block.roots[row_block.nroots - 1].root == last &&
	       row_block_choose(lower, &row_block, asked);
}

void row_block_find_passed(Lower *lower, RowBlock *row_block)
{
	NodeId last = row_block->roots[row_block->nroots - 1].root;
	ScheduleClause asked = {.choice = CHOICE_ROW_BLOCK};
	clause_add(lower->arena, &asked, row_block->dims[row_block->rows].name, &row_block->block,
		   1);
	for (size_t i = 0, n = lower->passed.n; i < n; i++) {
		RowBlockPassed passed = lower->passed.at[i];
		if (passed.last == last &&
		    (would_end_at(lower, passed.first, last, false, &asked) ||
		     would_end_at(lower, passed.first, last, true, &asked)))
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

static bool find_choice(Lower *lower, NodeId root, RowBlock *row_block, bool wide)
{
	if (!find(lower, root, row_block, wide))
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
		look(&f, root->root);
		if (!copies_serve(&f, root, &f.sum) || !copies_serve(&f, root, &f.rest))
			return false;
	}
	return true;
}

bool row_block_find(Lower *lower, NodeId root, RowBlock *row_block)
{
	if (!is_row_block_root(lower, root) || !is_contraction(lower, root) ||
	    says_off(asked_of(lower, root)) ||
	    lower->program->buffers.at[lower->plan[root].buffer].kind != BUFFER_TEMP)
		return false;
	if (!find_choice(lower, root, row_block, false) &&
	    !find_choice(lower, root, row_block, true))
		return false;
	return copies_serve_all(lower, row_block);
}
