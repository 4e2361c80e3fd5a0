/* Operands of a row block that are copied with the columns as their last axes, so that lanes run
 * across the result:
 *
 *   transposed[d, t] = k[h, t, d]                     each round of the dims that are no rows
 *
 * Rows of a copy are an odd number of cache lines apart; the room behind them is set to zeros where
 * it is known, since tiles read whole vectors there.
 */
#include <string.h>

#include "base/diag.h"
#include "lower/kernel.h"
#include "lower/row_block.h"

/* A place for a node, as yet without a layout or a buffer. */
static RowBlockPlace *add_place(Lower *lower, NodeId node, const int *dims)
{
	RowBlockPlace *place = &lower->row_block->part->places[lower->row_block->part->nplaces++];
	uint32_t naxes = shape_naxes(lower_shape(lower, node));
	*place = (RowBlockPlace){.node = node,
				 .buffer = BUFFER_NONE,
				 .dims = ARENA_ARRAY(lower->arena, int, naxes + 1),
				 .strides = ARENA_ARRAY(lower->arena, Size, naxes + 1)};
	if (naxes)
		memcpy(place->dims, dims, naxes * sizeof *dims);
	return place;
}

/* Elements from one row of a place to the next, an odd number of cache lines where rows are long,
 * since rows a power of two apart would meet in few sets of the first cache. */
static Size row_stride(const Lower *lower, Size row, Dtype dtype)
{
	Sizes *sizes = lower->sizes;
	int64_t line = lower->target->line_bytes / (int64_t)dtype_bytes(dtype), n;
	if (size_is_const(sizes, row, &n) && n < lower->target->row_block_transposed * line)
		return row;
	Size most = size_add(sizes, row, size_const(sizes, line - 1));
	Size pairs = size_scale(sizes, size_floor(sizes, most, 2 * line), 2 * line);
	return size_add(sizes, pairs, size_const(sizes, line));
}

RowBlockPlace *row_block_lay_out(Lower *lower, const RowBlockRoot *root)
{
	const RowBlock *row_block = lower->row_block;
	const Shape *shape = lower_shape(lower, root->root);
	RowBlockPlace *place = add_place(lower, root->root, root->dims);
	Size stride = size_const(lower->sizes, 1);
	for (uint32_t axis = shape_naxes(shape); axis-- > 0;) {
		bool rows = root->dims[axis] == (int)row_block->rows;
		Size row = stride;
		if (rows)
			stride = row_stride(lower, row, lower_node(lower, root->root)->dtype);
		place->padded |= !size_same(row, stride);
		place->strides[axis] = stride;
		if (root->dims[axis] < 0)
			stride = size_mul(lower->sizes, stride, shape_axis(shape, axis)->size);
		else if (rows)
			stride = size_scale(lower->sizes, stride, row_block->block);
	}
	place->elements = stride;
	return place;
}

void row_block_declare(Lower *lower, RowBlockPlace *place, Sym name)
{
	const Node *node = lower_node(lower, place->node);
	place->buffer = lower_buffer(lower, (Buffer){.kind = BUFFER_TEMP,
						     .name = name,
						     .span = node->span,
						     .site = node->site,
						     .dtype = node->dtype,
						     .elements = place->elements,
						     .padded = place->padded});
}

/* The axis of an operand that its copy has at a position. */
static uint32_t axis_at(const RowBlockTransposed *transposed, int at)
{
	uint32_t axis = 0;
	while (transposed->order[axis] != at) /* falls: there is one */
		axis++;
	return axis;
}

/* Elements of the axes that a copy has from one position to another. */
static Size elements_between(const Lower *lower, const RowBlockTransposed *transposed, int first,
			     int end)
{
	const Shape *shape = lower_shape(lower, transposed->node);
	Size elements = size_const(lower->sizes, 1);
	for (int at = first; at < end; at++)
		elements = size_mul(lower->sizes, elements,
				    shape_axis(shape, axis_at(transposed, at))->size);
	return elements;
}

/* An operand with its axes in another order; those that are dims are gone. */
void row_block_place_transposed(Lower *lower, const RowBlockTransposed *transposed)
{
	Sizes *sizes = lower->sizes;
	Sym name = sym_printf(lower->program->symbols, "transposed_%s",
			      lower_name(lower, transposed->node));
	RowBlockPlace *place = add_place(lower, transposed->node, transposed->dims);
	Size stride = size_const(sizes, 1);
	place->fixed = transposed->axes;
	for (int at = transposed->naxes; at-- > 0;) {
		uint32_t axis = axis_at(transposed, at);
		if (at + 1 == transposed->nsums)
			stride = row_stride(lower, stride,
					    lower_node(lower, transposed->node)->dtype);
		place->strides[axis] = stride;
		stride = size_mul(sizes, stride,
				  shape_axis(lower_shape(lower, transposed->node), axis)->size);
	}
	place->elements = stride;
	row_block_declare(lower, place, lower_unique(lower, name));
}

/* Zeros from the end of each row to the next one, where that is known: tiles read whole vectors
 * past a row's end then (tile/over_read.c), and add lanes up that they drop. */
static void fill_room(Gen *gen, const RowBlockTransposed *transposed, const RowBlockPlace *place)
{
	Program *program = gen->program;
	Dtype dtype = program->buffers.at[place->buffer].dtype;
	int64_t n;
	if (transposed->nsums == 0)
		return;
	Size columns =
		elements_between(gen->lower, transposed, transposed->nsums, transposed->naxes);
	Size stride = place->strides[axis_at(transposed, transposed->nsums - 1)];
	if (size_same(stride, columns) || !size_is_const(program->sizes, stride, &n))
		return;
	const Ix *row = ix_iter(gen->arena, gen_iter(gen, "row"));
	const Ix *room = ix_iter(gen->arena, gen_iter(gen, "room"));
	const Ix *at = ix_add(program, ix_mul(program, row, ix_size(gen->arena, stride)), room);
	Block body = block_of(gen, stmt_store(gen->arena, place->buffer, at, OP_NONE,
					      value_number(gen->arena, dtype, 0)));
	body = block_of(gen, stmt_for(gen->arena, room->iter, ix_size(gen->arena, columns),
				      ix_size(gen->arena, stride), body));
	Size rows = elements_between(gen->lower, transposed, 0, transposed->nsums);
	gen_append(gen, &gen->top, gen_over(gen, row->iter, rows, body));
}

/* The indices that a copy is filled at: dims, an iterator for each of its own axes. */
static const Ix **copy_indices(Gen *gen, const RowBlockTransposed *transposed, uint32_t naxes)
{
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++)
		axes[axis] = transposed->dims[axis] == ROW_BLOCK_FIXED ? transposed->axes[axis]
			     : transposed->dims[axis] >= 0
				     ? ix_iter(gen->arena, (IterVar)transposed->dims[axis])
				     : ix_iter(gen->arena, gen_iter(gen, "i"));
	return axes;
}

/* transposed[..] = operand[..], over the axes that are no dims, in the order of the copy. */
Kernel row_block_transposing(Lower *lower, const RowBlockTransposed *transposed,
			     const RowBlockPlace *place)
{
	NodeId node = transposed->node;
	const Shape *shape = lower_shape(lower, node);
	Gen gen = gen_new(lower, lower->program->buffers.at[place->buffer].name,
			  lower_node(lower, node)->span);
	const Ix **axes = copy_indices(&gen, transposed, shape_naxes(shape));
	const Value *value =
		value_load(gen.program, lower->plan[node].buffer, flat_index(&gen, node, axes));
	Block body = block_of(&gen, stmt_store(gen.arena, place->buffer,
					       row_block_index(&gen, place, axes), OP_NONE, value));
	for (int at = transposed->naxes; at-- > 0;) {
		uint32_t axis = axis_at(transposed, at);
		body = gen_over(&gen, axes[axis]->iter, shape_axis(shape, axis)->size, body);
	}
	gen_append(&gen, &gen.top, body);
	fill_room(&gen, transposed, place);
	Kernel kernel = kernel_finish(&gen);
	Transform t = lower_transform(lower);
	kernel_transpose(&t, &kernel);
	return kernel;
}

Kernel row_block_zeros(Lower *lower, const RowBlockRoot *root)
{
	const Shape *shape = lower_shape(lower, root->root);
	const Node *node = lower_node(lower, root->root);
	uint32_t naxes = shape_naxes(shape);
	Gen gen = gen_new(lower, lower_name(lower, root->root), node->span);
	const Ix **axes = ARENA_ARRAY(gen.arena, const Ix *, naxes + 1);
	for (uint32_t axis = 0; axis < naxes; axis++)
		axes[axis] = ix_iter(gen.arena, root->dims[axis] >= 0 ? (IterVar)root->dims[axis]
								      : gen_iter(&gen, "i"));
	const Value *zero = value_number(gen.arena, node->dtype, 0);
	Block body = block_of(&gen, stmt_store(gen.arena, lower->plan[root->root].buffer,
					       flat_index(&gen, root->root, axes), OP_NONE, zero));
	for (uint32_t axis = naxes; axis-- > 0;)
		if (root->dims[axis] < 0)
			body = gen_over(&gen, axes[axis]->iter, shape_axis(shape, axis)->size,
					body);
	Kernel kernel = {.name = gen.name, .span = gen.span, .body = body};
	frame_end(&gen.frame, &kernel);
	return kernel;
}
