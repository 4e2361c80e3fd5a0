/* How a row block is computed, decided with the other kernels of its routine: for whole blocks, and for the
 * rows that are left, where each tensor of the block is, and the plan of each kernel over these rows.
 */
#include "lower/kernel_plan.h"
#include "lower/node_plan.h"
#include "lower/row_block.h"

/* The name itself in the first part, another one in the second. */
static Sym name_of(Lower *lower, Sym name)
{
	const RowBlock *row_block = lower->row_block;
	return row_block->part == &row_block->parts[0] ? name : lower_unique(lower, name);
}

static void place_root(Lower *lower, uint32_t i)
{
	RowBlock *row_block = lower->row_block;
	const RowBlockRoot *root = &row_block->roots[i];
	bool stored = row_block_stores(row_block, i);
	Sym name = stored ? kernel_name(lower, root->root) : lower_name(lower, root->root);
	row_block->part->names[i] = name_of(lower, name);
	if (!stored)
		row_block_declare(lower, row_block_lay_out(lower, root), row_block->part->names[i]);
}

/* What each block fills anew, and copies that each round of the outermost loop fills; those in the
 * state are filled before. */
static void mark_scratch(const Lower *lower, BufferId from)
{
	const RowBlock *row_block = lower->row_block;
	Program *program = lower->program;
	for (BufferId b = from; b < program->buffers.n; b++)
		program->buffers.at[b].scratch = program->buffers.at[b].kind == BUFFER_TEMP;
	for (uint32_t i = 0; i < row_block->ntransposed && row_block->ndims == 1; i++)
		program->buffers.at[row_block->part->places[i].buffer].scratch = false;
}

/* The part at hand of the row block at hand. */
static void plan_part(Lower *lower)
{
	RowBlock *row_block = lower->row_block;
	BufferId nbuffers = (BufferId)lower->program->buffers.n;
	row_block->part->nplaces = 0;
	for (uint32_t i = 0; i < row_block->ntransposed; i++)
		row_block_place_transposed(lower, &row_block->transposed[i]);
	for (uint32_t i = 0; i < row_block->nroots; i++)
		place_root(lower, i);
	for (uint32_t i = 0; i < row_block->nroots; i++)
		row_block->part->kernels[i] = kernel_plan(lower, row_block->roots[i].root);
	mark_scratch(lower, nbuffers);
}

/* Whole blocks, then the rows that are left, without places and kernels. */
static void find_parts(const Lower *lower, RowBlock *row_block)
{
	Sizes *sizes = lower->sizes;
	Size extent = row_block->dims[row_block->rows].extent, zero = size_const(sizes, 0);
	Size whole =
		size_scale(sizes, size_floor(sizes, extent, row_block->block), row_block->block);
	if (!size_same(whole, zero))
		row_block->parts[row_block->nparts++] = (RowBlockPart){
			.lo = zero, .hi = whole, .height = size_const(sizes, row_block->block)};
	if (!size_same(whole, extent))
		row_block->parts[row_block->nparts++] = (RowBlockPart){
			.lo = whole, .hi = extent, .height = size_sub(sizes, extent, whole)};
}

void row_block_plan(Lower *lower, RowBlock *row_block)
{
	find_parts(lower, row_block);
	lower->row_block = row_block;
	for (uint32_t i = 0; i < row_block->nparts; i++) {
		row_block->part = &row_block->parts[i];
		plan_part(lower);
	}
	lower->row_block = NULL;
}
