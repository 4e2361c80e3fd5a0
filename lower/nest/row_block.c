/* Which iterators of a nest are those of the row block whose kernel it is. */
#include "lower/nest/row_block.h"

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
		whole[i] = ix_add(gen->program, row_block_first(gen), nest->by_iter[i]);
	}
	return whole;
}
