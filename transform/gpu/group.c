/* Products in tiles by warpgroups, from a ring in shared memory that a warp of its own has TMA fill.
 *
 *   for round in 0..ceil(s/64)                            a ring of 4 stages
 *     block copier in 0..1 behind 256
 *       await empty, round - 4
 *       arrive full, round bytes 49152
 *       copy rows[round % 4 * 8192] = x[...] at full, round
 *       copy columns[round % 4 * 16384] = w[...] at full, round
 *     block row in 0..8                                    warps, of 16 rows and all columns each
 *       block column in 0..1
 *         await full, round
 *         group step in 0..4, q in 0..32                    sums += rows * columns
 *         wait products 1
 *         arrive empty, round - 1
 *   block row in 0..8, column in 0..1
 *     wait products 0
 *
 * Where there are more tiles than multiprocessors each of these has one block, which takes a tile after the other, and
 * rounds are counted through all of them: while sums are stored the boxes of the next tile are copied. Tiles of 8 rows are
 * made for each one of columns, so that what they read is in the cache.
 *
 * What a box has behind the end of the tensor is 0: steps behind the last one add nothing, rows and columns are not
 * stored. With --gpu-promote a round ends with its products, which then may go to the f32 sums.
 *
 * Both operands are elements of 16 bits, or of f32 that TMA rounds to tf32 and that lie along the sum, in a buffer from its
 * first element on, at a sum of multiples of their loops, of which one is 1 and the others multiples of 16 bytes.
 */
#include "base/size_order.h"
#include "loops/build_group.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/elements.h"
#include "transform/gpu/group.h"
#include "transform/gpu/mma.h"

enum { STAGES_MOST = 8, ROUNDS_AHEAD = 1, BATCH_MOST = TENSOR_AXES_MOST - 2 };

/* ---- operands ---- */

/* A loop that goes along an axis of the tensor, or the innermost of those that do as one. */
static IterVar iter_of(const LoopGroup *group) { return group->loops[group->n - 1]->iter; }

/* Elements of which the size is a multiple are a multiple of 16 bytes. */
static bool is_aligned(Program *program, Dtype dtype, Size size)
{
	return size_divides(program->sizes,
			    size_const(program->sizes, GROUP_ALIGNED / (int64_t)dtype_bytes(dtype)),
			    size);
}

static bool axis_of(Program *program, const Value *load, IterVar iter, Size extent,
		    TensorAxis *axis)
{
	*axis = (TensorAxis){
		.extent = extent, .stride = ix_stride(program, load->ix, iter), .box = 1};
	return !size_is_bad(axis->stride) && (size_is(program->sizes, axis->stride, 1) ||
					      is_aligned(program, load->dtype, axis->stride));
}

/* Whose index goes through the groups of the side and of the sum as through one loop each. */
static bool goes_as_one(Program *program, const Product *product, const ProductOperand *operand,
			bool rows)
{
	const LoopGroup *groups[] = {rows ? &product->rows : &product->columns, &product->sum};
	for (int i = 0; i < 2; i++) {
		OneLoop one = {program, groups[i]->loops, groups[i]->n, 0};
		one_loop_value(&one, operand->value);
		if (one.first != 0)
			return false;
	}
	return operand->nconds == 0;
}

/* Do the last elements of all axes lie in the buffer? */
static bool fits_buffer(Program *program, BufferId buffer, const TensorAxis *axes, uint32_t n)
{
	Sizes *sizes = program->sizes;
	Size last = size_const(sizes, 0);
	for (uint32_t i = 0; i < n; i++)
		last = size_add(
			sizes, last,
			size_mul(sizes, axes[i].stride, size_plus(sizes, axes[i].extent, -1)));
	Size elements = program->buffers.at[buffer].elements;
	return !size_is_bad(last) && size_ge(sizes, size_plus(sizes, elements, -1), last);
}

/* The tensor of an operand: the axis along which it lies first, then that of the side or of the sum, then the batch. */
typedef struct OperandTensor {
	BufferId buffer;
	bool steps_first;
	TensorAxis axes[TENSOR_AXES_MOST];
	IterVar iters[TENSOR_AXES_MOST];
	uint32_t n;
} OperandTensor;

/* Of what warpgroups multiply, which boxes hold as it is stored. */
static Dtype dtype_of(const Product *product)
{
	static const Dtype dtypes[] = {
		[MATRIX_BF16] = DTYPE_BF16, [MATRIX_F16] = DTYPE_F16, [MATRIX_TF32] = DTYPE_F32};
	return dtypes[product->tensor.op];
}

/* The element that an operand loads, before it is widened, or one of two that it is the sum of; NULL: it is something else. */
static const Value *load_of(const Product *product, const ProductOperand *operand, int part)
{
	const Value *load = product->tensor.split ? operand->value->args[part]
						  : group_load(operand->value);
	bool fits = load->kind == VALUE_LOAD && load->dtype == dtype_of(product);
	return fits && !load->ix->reads ? load : NULL;
}

/* The first two axes. */
static bool find_sides(Program *program, const Value *load, const LoopGroup *side,
		       const LoopGroup *sum, OperandTensor *t)
{
	TensorAxis along, steps;
	if (!axis_of(program, load, iter_of(sum), sum->extent, &steps) ||
	    !axis_of(program, load, iter_of(side), side->extent, &along))
		return false;
	t->steps_first = size_is(program->sizes, steps.stride, 1);
	t->axes[!t->steps_first] = steps;
	t->iters[!t->steps_first] = iter_of(sum);
	t->axes[t->steps_first] = along;
	t->iters[t->steps_first] = iter_of(side);
	t->n = 2;
	return t->steps_first != size_is(program->sizes, along.stride, 1) &&
	       (t->steps_first || load->dtype != DTYPE_F32);
}

/* Those of the batch, of the loops that the operand has. */
static bool find_batch(Program *program, const Value *load, const LoopGroup *batch,
		       OperandTensor *t)
{
	for (uint32_t i = 0; i < batch->n; i++) {
		const Stmt *loop = batch->loops[i];
		if (!ix_uses(load->ix, loop->iter))
			continue;
		if (!axis_of(program, load, loop->iter, loop->hi->size, &t->axes[t->n]) ||
		    size_is(program->sizes, t->axes[t->n].stride, 1))
			return false;
		t->iters[t->n++] = loop->iter;
	}
	return true;
}

/* The index without a loop's multiple; NULL: it is not known. */
static const Ix *ix_without(Program *program, const Ix *ix, IterVar iter)
{
	Size stride = ix_stride(program, ix, iter);
	if (size_is_bad(stride))
		return NULL;
	Size back = size_scale(program->sizes, stride, -1);
	return ix_add(
		program, ix,
		ix_mul(program, ix_iter(program->arena, iter), ix_size(program->arena, back)));
}

/* Is the index the sum of the axes' multiples, and of nothing else? Of a group the innermost loop stands for all. */
static bool is_sum_of_axes(Program *program, const Ix *ix, const LoopGroup *const *groups,
			   const OperandTensor *t)
{
	for (int g = 0; g < 2; g++)
		for (uint32_t i = 0; i + 1 < groups[g]->n && ix; i++)
			ix = ix_without(program, ix, groups[g]->loops[i]->iter);
	for (uint32_t i = 0; i < t->n && ix; i++)
		ix = ix_without(program, ix, t->iters[i]);
	return ix && ix->kind == IX_SIZE && size_is(program->sizes, ix->size, 0);
}

static bool tensor_of(Program *program, const Product *product, bool rows, int part,
		      OperandTensor *t)
{
	const ProductOperand *operand = rows ? &product->row_operand : &product->column_operand;
	const LoopGroup *groups[] = {rows ? &product->rows : &product->columns, &product->sum};
	const Value *load = load_of(product, operand, part);
	if (!load || product->batch.n > BATCH_MOST || !goes_as_one(program, product, operand, rows))
		return false;
	t->buffer = load->buffer;
	return find_sides(program, load, groups[0], groups[1], t) &&
	       find_batch(program, load, &product->batch, t) &&
	       is_sum_of_axes(program, load->ix, groups, t) &&
	       fits_buffer(program, t->buffer, t->axes, t->n);
}

/* Slices are an axis more, whose neighbours are a slice of the outermost loop of the sum apart; `stride`: iterations of that. */
static bool may_be_sliced(Program *program, const Product *product, Dtype dtype, Size stride,
			  int64_t slices)
{
	Sizes *sizes = program->sizes;
	Size slice = size_div(sizes, product->sum.loops[0]->hi->size, size_const(sizes, slices));
	return slices == 1 || (product->batch.n < BATCH_MOST && !size_is_bad(slice) &&
			       is_aligned(program, dtype, size_mul(sizes, slice, stride)));
}

/* Can TMA copy the operand, as it lies? */
static bool operand_fits(Program *program, const Product *product, bool rows, int64_t slices)
{
	OperandTensor tensor;
	if (!tensor_of(program, product, rows, 0, &tensor))
		return false;
	const Value *load =
		load_of(product, rows ? &product->row_operand : &product->column_operand, 0);
	Size stride = ix_stride(program, load->ix, product->sum.loops[0]->iter);
	return may_be_sliced(program, product, load->dtype, stride, slices);
}

/* What is stored as two numbers each is so for all of a line. */
static bool split_fits(Program *program, const Product *product, int64_t slices)
{
	const LoopGroup *sum = &product->sum;
	Size stride = loops_extent(program->sizes, sum->loops + 1, sum->n - 1);
	return product->batch.n <= BATCH_MOST &&
	       goes_as_one(program, product, &product->row_operand, true) &&
	       goes_as_one(program, product, &product->column_operand, false) &&
	       may_be_sliced(program, product, DTYPE_F32, stride, slices);
}

bool group_fits(Program *program, const Product *product, int64_t slices)
{
	return product->tensor.split ? split_fits(program, product, slices)
				     : operand_fits(program, product, true, slices) &&
					       operand_fits(program, product, false, slices);
}

/* ---- set up ---- */

static int64_t parts_of(const Tiling *g) { return g->product->tensor.split ? MATRIX_PARTS : 1; }

static int64_t part_elements(const Tiling *g, const Side *side)
{
	return side->width * g->tile->steps;
}

static int64_t stage_elements(const Tiling *g, const Side *side)
{
	return part_elements(g, side) * parts_of(g);
}

static Side side_of(Tiling *g, bool rows)
{
	OperandTensor tensor;
	Side side = {.operand = rows ? &g->product->row_operand : &g->product->column_operand,
		     .group = rows ? &g->product->rows : &g->product->columns,
		     .width = rows ? g->tile->rows : g->tile->columns,
		     .rows = rows,
		     .name = rows ? "rows" : "columns",
		     .pitch = group_line(dtype_of(g->product))};
	tensor_of(g->program, g->product, rows, 0, &tensor);
	side.tile = tiling_iter(g, side.name);
	side.steps_contiguous = tensor.steps_first;
	return side;
}

static BufferId new_buffer(const Tiling *g, Buffer buffer, int64_t elements, const char *name)
{
	buffer.elements = size_const(g->program->sizes, elements);
	return bind_shared(g->program, g->kernel, g->routine, buffer, name);
}

static int64_t warps_of(const Tiling *g) { return g->tile->rows / g->tile->thread_rows; }

static Size rounds_of(const Tiling *g)
{
	return size_ceil(g->program->sizes, g->product->sum.extent, g->tile->steps);
}

/* Of a number of tiles that is known, each has a block of its own where these run at the same time. */
static bool takes_turns(const Tiling *g)
{
	Sizes *sizes = g->program->sizes;
	int64_t known;
	Size tiles = size_mul(sizes, size_ceil(sizes, g->rows.group->extent, g->rows.width),
			      size_ceil(sizes, g->columns.group->extent, g->columns.width));
	for (uint32_t i = 0; i < g->product->batch.n; i++)
		tiles = size_mul(sizes, tiles, g->product->batch.loops[i]->hi->size);
	return !size_is_const(sizes, tiles, &known) || known > g->gpu->processors;
}

static void set_grid(Tiling *g)
{
	Size rows = size_ceil(g->program->sizes, g->rows.group->extent, g->rows.width);
	g->raster = size_is(g->program->sizes, rows, 1) ? 0 : g->gpu->raster;
	if (!takes_turns(g))
		return;
	g->turns = g->gpu->processors;
	g->turn = tiling_iter(g, "turn");
}

void group_set_up(Tiling *g)
{
	Dtype dtype = dtype_of(g->product);
	g->k = tiling_iter(g, "round");
	g->rows = side_of(g, true);
	g->columns = side_of(g, false);
	int64_t bytes = (stage_elements(g, &g->rows) + stage_elements(g, &g->columns)) *
			(int64_t)dtype_bytes(dtype);
	/* the rings of mbarriers take room, too */
	int64_t most = (g->shared_most - 2 * GROUP_SWIZZLE) / bytes;
	g->stages = most < STAGES_MOST ? most : STAGES_MOST;
	Side *sides[] = {&g->rows, &g->columns};
	for (int i = 0; i < 2; i++)
		sides[i]->shared =
			new_buffer(g, (Buffer){.dtype = dtype, .swizzled = true},
				   g->stages * stage_elements(g, sides[i]), sides[i]->name);
	g->full = new_buffer(g, (Buffer){.dtype = DTYPE_I64, .arrivals = 1}, g->stages, "full");
	g->empty = new_buffer(g, (Buffer){.dtype = DTYPE_I64, .arrivals = warps_of(g)}, g->stages,
			      "empty");
	set_grid(g);
	mma_sums(g);
}

/* ---- a round ---- */

/* The number of the round through all tiles of the block. */
static const Ix *round_at(const Tiling *g)
{
	const Ix *round = iter(g, g->k);
	return g->turns ? plus(g, ix_mul(g->program, iter(g, g->turn), sized(g, rounds_of(g))),
			       round)
			: round;
}

static const Ix *stage_at(const Tiling *g, const Side *side)
{
	const Ix *stage = ix_binary(g->program, IX_MOD, round_at(g), number(g, g->stages));
	return times(g, stage, stage_elements(g, side));
}

/* That of the round so many before. */
static Visit visit(const Tiling *g, BufferId mbarrier, int64_t before)
{
	return (Visit){mbarrier, plus(g, round_at(g), number(g, -before))};
}

/* A part of the stage of a side, in boxes of one line along what it lies along. */
static void copy_part(Tiling *g, Body *body, const Side *side, int part)
{
	OperandTensor t;
	tensor_of(g->program, g->product, side->rows, part, &t);
	int64_t boxes = (t.steps_first ? g->tile->steps : side->width) / side->pitch;
	int64_t lines = t.steps_first ? side->width : g->tile->steps;
	IterVar box = boxes > 1 ? tiling_iter(g, "box") : 0;
	const Ix *line = boxes > 1 ? times(g, iter(g, box), side->pitch) : number(g, 0);
	const Ix *step = times(g, iter(g, g->k), g->tile->steps);
	const Ix *along = tiling_side_at(g, side, number(g, 0));
	for (uint32_t i = 2; i < t.n; i++)
		t.axes[i].at = iter(g, t.iters[i]);
	t.axes[0].at = plus(g, t.steps_first ? step : along, line);
	t.axes[1].at = t.steps_first ? along : step;
	t.axes[0].box = side->pitch;
	t.axes[1].box = lines;
	const Ix *first = plus(g, stage_at(g, side), number(g, part * part_elements(g, side)));
	const Ix *to = plus(g, first, times(g, line, lines));
	Box of = {.to = side->shared, .from = t.buffer, .ix = to, .axes = t.axes, .naxes = t.n};
	Block one = block_one(g->arena, stmt_copy(g->program, &of, visit(g, g->full, 0)));
	add(g, body, boxes > 1 ? loop_of(g, LOOP_UNROLL, box, boxes, one) : one);
}

static void copy_side(Tiling *g, Body *body, const Side *side)
{
	for (int part = 0; part < parts_of(g); part++)
		copy_part(g, body, side, part);
}

static Block copies(Tiling *g)
{
	Body body = {0};
	IterVar copier = tiling_iter(g, "copier");
	int64_t each = (int64_t)dtype_bytes(g->program->buffers.at[g->rows.shared].dtype);
	int64_t bytes = each * (stage_elements(g, &g->rows) + stage_elements(g, &g->columns));
	PUSH(g->arena, body.stmts, stmt_await(g->arena, visit(g, g->empty, g->stages)));
	PUSH(g->arena, body.stmts, stmt_arrive(g->arena, visit(g, g->full, 0), bytes));
	copy_side(g, &body, &g->rows);
	copy_side(g, &body, &g->columns);
	Block loop = loop_of(g, LOOP_BLOCK, copier, 1, body_block(&body));
	Stmt *own = stmt_with(g->arena, loop.stmts[0], loop.stmts[0]->body);
	own->threads = warps_of(g) * WARP;
	return block_one(g->arena, own);
}

static Block round_of(Tiling *g)
{
	Body body = {0};
	bool promotes = g->parts != g->sums;
	int64_t ahead = promotes ? 0 : ROUNDS_AHEAD;
	add(g, &body, copies(g));
	MatrixPair pairs[MATRIX_PAIRS];
	GroupRound round = {.full = stmt_await(g->arena, visit(g, g->full, 0)),
			    .wait = stmt_wait_products(g->arena, ahead * mma_pairs(g, pairs)),
			    .empty = stmt_arrive(g->arena, visit(g, g->empty, ahead), 0)};
	round.rows = stage_at(g, &g->rows);
	round.columns = stage_at(g, &g->columns);
	round.row_part = part_elements(g, &g->rows);
	round.column_part = part_elements(g, &g->columns);
	add(g, &body, mma_group(g, &round));
	if (promotes)
		add(g, &body, mma_promote(g, iter(g, g->k)));
	return body_block(&body);
}

void group_rounds(Tiling *g, Body *body)
{
	PUSH(g->arena, body->stmts,
	     stmt_for(g->arena, g->k, number(g, 0), sized(g, rounds_of(g)), round_of(g)));
	add(g, body, mma_group_end(g));
}
