/* What a nest starts with: its loops, a piece's iterators but those that a row block runs and those
 * of one iteration; the guards of indices that may leave their tensors; indices and values over the
 * loops.
 *
 * The same loops are built for whoever decides what becomes of them before there is a kernel
 * (NestLook). Iterators are numbered as in a kernel, so that names that a schedule asks for are
 * found.
 */
#include "base/diag.h"
#include "lower/nest/forms.h"
#include "lower/nest/row_block.h"


/* Is it an iterator of a batch axis of the result? */
static bool is_batch(const Nest *nest, IterId iter)
{
	uint32_t n = lower_shape(nest->gen->lower, nest->node)->rows[ROW_BATCH].n;
	return access_term(&nest->piece->result, n, iter) != NULL;
}

/* Appends the loops of the piece that are reduced, or are not. What the kernels of a row block
 * share is no loop of this nest: the row block's own loops run it (by_iter is theirs), but for its
 * rows, of which a block is one. */
static void add_loops(Nest *nest, bool reduced)
{
	for (uint32_t i = 0; i < nest->piece->niters; i++) {
		IterId id = nest->piece->iters[i];
		const Iter *iter = &nest->proj->iters[id];
		if (iter->reduced != reduced)
			continue;
		const RowBlock *row_block = nest->gen->lower->row_block;
		int dim = row_block_dim_of(nest, id);
		bool blocked = dim >= 0 && (uint32_t)dim == row_block->rows;
		Size extent = blocked ? row_block->part->height : iter->extent;
		Size own = is_batch(nest, id) ? size_const(nest->gen->program->sizes, 1) : extent;
		nest->by_iter[id] = dim >= 0 && !blocked ? ix_iter(nest->gen->arena, (IterVar)dim)
							 : zero_ix(nest->gen);
		if ((dim < 0 || blocked) && !size_is(nest->gen->program->sizes, extent, 1))
			nest->loops[nest->nloops++] = (Loop){
				.iter = id, .extent = extent, .own = own, .reduced = reduced};
	}
}

static void guards_of(Nest *nest, const Access *access, NodeId tensor)
{
	const Shape *shape = lower_shape(nest->gen->lower, tensor);
	for (uint32_t axis = 0; access->present && axis < access->naxes; axis++)
		if (access->axes[axis].guarded)
			PUSH(nest->gen->arena, nest->guards,
			     ((Guarded){&access->axes[axis], shape_axis(shape, axis)->size}));
}

/* The indices that may leave their tensors: where one does, the iteration adds nothing. */
static void collect_guards(Nest *nest)
{
	const Node *node = lower_node(nest->gen->lower, nest->node);
	for (uint32_t i = 0; i < node->nargs; i++)
		guards_of(nest, &nest->piece->args[i], node->args[i]);
	guards_of(nest, &nest->piece->result, nest->node);
}

const Value *nest_finished(Nest *nest, const Value *sum, SharedLocals *shared)
{
	Gen *gen = nest->gen;
	if (nest->root == nest->node)
		return sum;
	gen_enter(gen, shared);
	gen->bound = nest->node;
	gen->bound_value = sum;
	const Value *value = node_compute(gen, nest->root, nest->element);
	gen->bound = NODE_NONE;
	return value;
}

static const Value *replaced(const Nest *nest, const Value *value, uint32_t *load)
{
	Program *program = nest->gen->program;
	if (value->kind == VALUE_LOAD) {
		const PackedOperandLoad *packed_operand = &nest->packed_operand[(*load)++];
		return packed_operand->strides
			       ? value_load(program, packed_operand->buffer,
					    nest_packed_operand_ix(nest, packed_operand))
			       : value;
	}
	Value *copied = value_copy(program->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copied->args[i] = replaced(nest, value->args[i], load);
	return copied;
}

/* The value that reads the copies. */
static const Value *with_copies(const Nest *nest, const Value *value)
{
	uint32_t load = 0;
	bool any = nest->packed_operand[0].strides || nest->packed_operand[1].strides;
	return any ? replaced(nest, value, &load) : value;
}

void nest_values(Nest *nest)
{
	Gen *gen = nest->gen;
	const Ix *const *whole = row_block_whole(nest);
	nest->element = access_indices(gen, nest->node, nest->piece, &nest->piece->result, whole);
	const RowBlockPlace *place = row_block_place(gen->lower, nest->root, nest->element);
	nest->at = place ? row_block_index(gen, place, nest->element)
			 : flat_index(gen, nest->root, nest->element);
	nest->inner = (SharedLocals){0};
	gen_enter(gen, &nest->inner);
	gen->root = nest->root;
	gen->in_line = nest->in_line;
	gen->borders.n = 0;
	nest->value = with_copies(nest, piece_value(gen, nest->node, nest->piece, whole));
	gen->in_line = false;
}

static void number_loops(Nest *nest)
{
	for (uint32_t i = 0; i < nest->nloops; i++) {
		Loop *loop = &nest->loops[i];
		loop->var = gen_iter(nest->gen, nest->proj->iters[loop->iter].name);
		nest->by_iter[loop->iter] = ix_iter(nest->gen->arena, loop->var);
		if (nest->phases)
			nest->by_iter[loop->iter] =
				ix_times(nest->gen->program, nest->by_iter[loop->iter],
					 nest->phases[loop->iter]);
	}
}

/* Indices and values over the loops as they are now. The epilogue is built from a sum that does
 * not exist yet, for those who ask what it reads. */
static void build_values(Nest *nest)
{
	Gen *gen = nest->gen;
	number_loops(nest);
	nest_values(nest);
	if (nest->phases)
		nest->value = nest_phases_value(nest);
	nest->borders = gen->borders.at;
	nest->nborders = gen->borders.n;
	nest->epilogue = (SharedLocals){0};
	nest->finished = nest_finished(nest, nest_neutral(nest), &nest->epilogue);
}

const Value *nest_look_stored(const Nest *nest, const Value *sum, SharedLocals *shared)
{
	Gen gen = gen_look(nest->gen);
	Nest look = *nest;
	look.gen = &gen;
	nest_values(&look);
	return nest_finished(&look, sum, shared);
}

void nest_rebuild(Nest *nest)
{
	Gen *gen = nest->gen;
	size_t niters = gen->frame.iters.n;
	do {
		gen->frame.iters.n = niters;
		build_values(nest);
	} while (nest_collapse(nest));
}

static void add_result(Nest *nest)
{
	Arena *arena = nest->gen->arena;
	nest->loops = ARENA_ARRAY(arena, Loop, nest->piece->niters + 1);
	nest->by_iter = ARENA_ARRAY(arena, const Ix *, nest->proj->niters + 1);
	add_loops(nest, false);
	nest->nresult = nest->nloops;
}

void nest_set_up_result(Nest *nest)
{
	const Access *result = &nest->piece->result;
	add_result(nest);
	guards_of(nest, result, nest->node);
	number_loops(nest);
	nest->element = access_indices(nest->gen, nest->node, nest->piece, result, nest->by_iter);
	nest->at = flat_index(nest->gen, nest->node, nest->element);
}

void nest_set_up(Nest *nest)
{
	nest->batched = lower_shape(nest->gen->lower, nest->node)->rows[ROW_BATCH].n > 0;
	nest->carries = row_block_sum_goes_on(nest);
	add_result(nest);
	add_loops(nest, true);
	nest_find_phases(nest);
	collect_guards(nest);
	nest_rebuild(nest);
}

/* ---- loops to look at ---- */

static void begin_look(NestLook *look, Lower *lower, const Program *program, Sym name, Span span)
{
	look->program = *program;
	look->program.arena = lower->scratch;
	look->gen = gen_new_in(lower, &look->program, name, span);
	look->gen.looks = true;
}

void nest_look_at(NestLook *look, Lower *lower, NodeId root, uint32_t piece, Sym name,
		  StoreTarget target)
{
	NodeId node = lower_nest_node(lower, root);
	const Proj *proj = lower_proj(lower, node);
	REQUIRE(proj && piece < proj->npieces);
	begin_look(look, lower, lower->program, name, lower_node(lower, root)->span);
	look->nest = (Nest){.gen = &look->gen,
			    .node = node,
			    .root = root,
			    .target = target,
			    .proj = proj,
			    .piece = &proj->pieces[piece]};
	nest_set_up(&look->nest);
}

void nest_look_again(NestLook *look, const Nest *nest)
{
	const Gen *gen = nest->gen;
	begin_look(look, gen->lower, gen->program, gen->name, gen->span);
	look->gen.asked = gen->asked;
	look->gen.made = gen->made;
	look->gen.entry = gen->entry;
	for (size_t i = look->gen.frame.iters.n; i < nest->loops[0].var; i++)
		PUSH(look->gen.arena, look->gen.frame.iters, gen->frame.iters.at[i]);
	look->nest = (Nest){.gen = &look->gen,
			    .node = nest->node,
			    .root = nest->root,
			    .target = nest->target,
			    .proj = nest->proj,
			    .piece = nest->piece};
	nest_set_up(&look->nest);
}

static Scalar neutral(const Nest *nest)
{
	const Node *node = lower_node(nest->gen->lower, nest->node);
	return op_neutral(node_reduce_op(node), node->dtype);
}

const Value *nest_neutral(const Nest *nest)
{
	return value_const(nest->gen->arena, lower_node(nest->gen->lower, nest->node)->dtype,
			   neutral(nest));
}

/* The element of the copy, over the iterators as by_iter has them. */
const Ix *nest_packed_operand_ix(const Nest *nest, const PackedOperandLoad *packed_operand)
{
	Program *program = nest->gen->program;
	const Ix *at = ix_size(program->arena, packed_operand->offset);
	for (IterId i = 0; i < nest->proj->niters; i++) {
		if (size_is(program->sizes, packed_operand->strides[i], 0))
			continue;
		const Ix *step = ix_size(program->arena, packed_operand->strides[i]);
		at = ix_add(program, at, ix_mul(program, nest->by_iter[i], step));
	}
	return at;
}

void nest_share_in_line(Nest *nest, bool in_line)
{
	nest->in_line = in_line;
	nest_values(nest);
}
