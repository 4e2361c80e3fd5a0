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
 * Both operands are elements of 16 bits, or of f32 that TMA rounds to tf32 and that lie along the sum (tensor.h).
 */
#include "loops/build_group.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/elements.h"
#include "transform/gpu/group.h"
#include "transform/gpu/mma.h"
#include "transform/gpu/tensor.h"

enum { STAGES_MOST = 8, ROUNDS_AHEAD = 1 };

/* ---- operands ---- */

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

/* The element that an operand loads, before it is widened, or one of two that it is the sum of; NULL: it is something else. */
static const Value *load_of(const Product *product, const ProductOperand *operand, int part)
{
	const Value *load = product->tensor.split ? operand->value->args[part]
						  : group_load(operand->value);
	bool fits = load->kind == VALUE_LOAD && load->dtype == fragment_dtype(product->tensor.op);
	return fits && !load->ix->reads ? load : NULL;
}

static bool tensor_of(Program *program, const Product *product, bool rows, int part, TmaTensor *t)
{
	const ProductOperand *operand = rows ? &product->row_operand : &product->column_operand;
	const LoopGroup *groups[] = {&product->sum, rows ? &product->rows : &product->columns};
	const Value *load = load_of(product, operand, part);
	if (!load || !goes_as_one(program, product, operand, rows))
		return false;
	TmaElement element = {load->buffer, load->dtype, load->ix};
	return tma_tensor(program, &element, groups, &product->batch, t) &&
	       (t->along_first || load->dtype != DTYPE_F32);
}

/* Slices are an axis more, whose neighbours are a slice of the outermost loop of the sum apart; `stride`: iterations of that. */
static bool may_be_sliced(Program *program, const Product *product, Dtype dtype, Size stride,
			  int64_t slices)
{
	Sizes *sizes = program->sizes;
	Size slice = size_div(sizes, product->sum.loops[0]->hi->size, size_const(sizes, slices));
	return slices == 1 || (product->batch.n < TMA_BATCH_MOST && !size_is_bad(slice) &&
			       tma_is_aligned(program, dtype, size_mul(sizes, slice, stride)));
}

/* Can TMA copy the operand, as it lies? */
static bool operand_fits(Program *program, const Product *product, bool rows, int64_t slices)
{
	TmaTensor tensor;
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
	return product->batch.n <= TMA_BATCH_MOST &&
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
	TmaTensor tensor;
	Side side = {.operand = rows ? &g->product->row_operand : &g->product->column_operand,
		     .group = rows ? &g->product->rows : &g->product->columns,
		     .width = rows ? g->tile->rows : g->tile->columns,
		     .rows = rows,
		     .name = rows ? "rows" : "columns",
		     .pitch = group_line(fragment_dtype(g->product->tensor.op))};
	tensor_of(g->program, g->product, rows, 0, &tensor);
	side.tile = tiling_iter(g, side.name);
	side.steps_contiguous = tensor.along_first;
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
	Dtype dtype = fragment_dtype(g->product->tensor.op);
	g->k = tiling_iter(g, "round");
	g->rows = side_of(g, true);
	g->columns = side_of(g, false);
	int64_t bytes = (stage_elements(g, &g->rows) + stage_elements(g, &g->columns)) *
			(int64_t)dtype_bytes(dtype);
	group_boxes(g, mma_has_lanes(g));
	/* the rings of mbarriers take room, too */
	int64_t most = (g->shared_most - 2 * GROUP_SWIZZLE - group_boxes_bytes(g)) / bytes;
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
	TmaTensor t;
	tensor_of(g->program, g->product, side->rows, part, &t);
	int64_t boxes = (t.along_first ? g->tile->steps : side->width) / side->pitch;
	int64_t lines = t.along_first ? side->width : g->tile->steps;
	IterVar box = boxes > 1 ? tiling_iter(g, "box") : 0;
	const Ix *line = boxes > 1 ? times(g, iter(g, box), side->pitch) : number(g, 0);
	const Ix *step = times(g, iter(g, g->k), g->tile->steps);
	const Ix *along = tiling_side_at(g, side, number(g, 0));
	for (uint32_t i = 2; i < t.n; i++)
		t.axes[i].at = iter(g, t.iters[i]);
	t.axes[0].at = plus(g, t.along_first ? step : along, line);
	t.axes[1].at = t.along_first ? along : step;
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
