/* Where a kernel of a row block finds the block's tensors. */
#include "loops/walk.h"
#include "lower/gen/row_block_place.h"

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
	const Ix *at = zero_ix(gen);
	for (uint32_t axis = 0; axis < naxes; axis++) {
		int dim = place->dims[axis];
		const Ix *ix = axes[axis];
		if (dim == ROW_BLOCK_FIXED)
			continue;
		if (dim == (int)row_block->rows) {
			ix = ix_minus(program, ix, row_block_first(gen));
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
