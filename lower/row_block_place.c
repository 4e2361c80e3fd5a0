/* Where a kernel of a row block finds the block's tensors, and which of its iterators are the
 * block's.
 */
#include "loops/walk.h"
#include "lower/row_block.h"

static const Ix *rows_first(const Gen *gen)
{
	return ix_iter(gen->arena, gen->lower->row_block->rows);
}

static int axis_dim(const Nest *nest, IterId iter)
{
	const RowBlock *row_block = nest->gen->lower->row_block;
	const Access *result = &nest->piece->result;
	for (uint32_t i = 0; i < row_block->nroots; i++)
		for (uint32_t axis = 0;
		     row_block->roots[i].nest == nest->node && axis < result->naxes; axis++)
			if (result->axes[axis].nterms == 1 &&
			    result->axes[axis].terms[0].iter == iter)
				return row_block->roots[i].dims[axis];
	return -1;
}

int row_block_dim_of(const Nest *nest, IterId iter)
{
	return nest->gen->lower->row_block ? axis_dim(nest, iter) : -1;
}

const Ix *const *row_block_whole(const Nest *nest)
{
	Gen *gen = nest->gen;
	const RowBlock *row_block = gen->lower->row_block;
	if (!row_block)
		return nest->by_iter;
	const Ix **whole = ARENA_ARRAY(gen->arena, const Ix *, nest->proj->niters + 1);
	for (IterId i = 0; i < nest->proj->niters; i++) {
		whole[i] = nest->by_iter[i];
		if (!whole[i] || axis_dim(nest, i) != (int)row_block->rows)
			continue;
		gen->row = nest->by_iter[i];
		whole[i] = ix_add(gen->program, rows_first(gen), nest->by_iter[i]);
	}
	return whole;
}

static bool is_dim(const Ix *ix, int dim)
{
	return ix->kind == IX_ITER && ix->iter == (IterVar)dim;
}

/* Does a place hold what is read at these indices? A block of rows does, as each of its readers
 * goes along its dims (row_block.c); a copy holds the present round of the dims. */
static bool is_there(const Lower *lower, const RowBlockPlace *place, const Ix *const *axes)
{
	uint32_t naxes = place->fixed ? shape_naxes(lower_shape(lower, place->node)) : 0;
	for (uint32_t axis = 0; axis < naxes; axis++) {
		int dim = place->dims[axis];
		if (dim == ROW_BLOCK_FIXED ? !ix_same(axes[axis], place->fixed[axis])
					   : dim >= 0 && !is_dim(axes[axis], dim))
			return false;
	}
	return true;
}

const RowBlockPlace *row_block_place(const Lower *lower, NodeId node, const Ix *const *axes)
{
	const RowBlockPart *part = lower->row_block ? lower->row_block->part : NULL;
	for (uint32_t i = 0; part && i < part->nplaces; i++)
		if (part->places[i].node == node && is_there(lower, &part->places[i], axes))
			return &part->places[i];
	return NULL;
}

const Ix *row_block_index(Gen *gen, const RowBlockPlace *place, const Ix *const *axes)
{
	Program *program = gen->program;
	const RowBlock *row_block = gen->lower->row_block;
	uint32_t naxes = shape_naxes(lower_shape(gen->lower, place->node));
	const Ix *at = zero_ix(gen), *minus = ix_const(gen->arena, program->sizes, -1);
	for (uint32_t axis = 0; axis < naxes; axis++) {
		int dim = place->dims[axis];
		const Ix *ix = axes[axis];
		if (dim == ROW_BLOCK_FIXED)
			continue;
		if (dim == (int)row_block->rows) {
			ix = ix_add(program, ix, ix_mul(program, rows_first(gen), minus));
			REQUIRE(gen->row && ix_same(ix, gen->row));
		} else if (dim >= 0) {
			REQUIRE(is_dim(ix, dim));
			continue;
		}
		at = ix_add(program, at,
			    ix_mul(program, ix, ix_size(gen->arena, place->strides[axis])));
	}
	return at;
}

const RowBlockRoot *row_block_root(const RowBlock *row_block, NodeId node)
{
	for (uint32_t i = 0; i < row_block->nroots; i++)
		if (row_block->roots[i].root == node)
			return &row_block->roots[i];
	return NULL;
}

Sym row_block_name(const RowBlock *row_block, NodeId root)
{
	return row_block->part->names[row_block_root(row_block, root) - row_block->roots];
}
