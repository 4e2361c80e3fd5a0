/* Which iterators of a nest are those of the row block whose kernel it is. */
#include "lower/nest/row_block.h"

/* The root whose nest it is; NULL: it is in no row block. */
static const RowBlockRoot *root_of(const Nest *nest)
{
	const RowBlock *row_block = nest->gen->lower->row_block;
	for (uint32_t i = 0; row_block && i < row_block->nroots; i++)
		if (row_block->roots[i].nest == nest->node)
			return &row_block->roots[i];
	return NULL;
}

int row_block_dim_of(const Nest *nest, IterId iter)
{
	const RowBlockRoot *root = root_of(nest);
	const Access *result = &nest->piece->result;
	if (root && root->summed == (int)iter)
		return (int)nest->gen->lower->row_block->rows;
	for (uint32_t axis = 0; root && axis < result->naxes; axis++)
		if (result->axes[axis].nterms == 1 && result->axes[axis].terms[0].iter == iter)
			return root->dims[axis];
	return -1;
}

bool row_block_sum_goes_on(const Nest *nest)
{
	const RowBlockRoot *root = root_of(nest);
	return root && row_block_carries(nest->gen->lower->row_block, root);
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
		if (!whole[i] || row_block_dim_of(nest, i) != (int)row_block->rows)
			continue;
		gen->row = nest->by_iter[i];
		whole[i] = ix_add(gen->program, row_block_first(gen), nest->by_iter[i]);
	}
	return whole;
}
