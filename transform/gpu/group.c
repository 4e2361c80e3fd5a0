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
#include "base/diag.h"
#include "loops/build_group.h"
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/elements.h"
#include "transform/gpu/group.h"
#include "transform/gpu/mma.h"
#include "transform/gpu/tensor.h"

enum { STAGES_MOST = 8, ROUNDS_AHEAD = 1 };

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
	group_tensor(g->program, g->product, &g->sum, rows, 0, &tensor);
	side.tile = tiling_iter(g, side.name);
	side.steps_contiguous = tensor.along_first;
	return side;
}

static BufferId new_buffer(const Tiling *g, Buffer buffer, int64_t elements, const char *name)
{
	return bind_shared(g->program, g->kernel, g->routine, buffer, elements, name);
}

static int64_t warps_of(const Tiling *g) { return g->tile->rows / g->tile->thread_rows; }

static Size all_rounds(const Tiling *g)
{
	return group_sum_rounds(g->program, &g->sum, g->tile->steps);
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
	if (!group_sum(g->program, g->product, &g->sum))
		BUG("a tile of a warpgroup whose operands TMA does not copy");
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
	return g->turns ? plus(g, ix_mul(g->program, iter(g, g->turn), sized(g, all_rounds(g))),
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

/* The number of the line at hand, of all taps, and of the round in it. */
static const Ix *in_line(const Tiling *g, IxKind kind)
{
	Size rounds = size_ceil(g->program->sizes, g->sum.line.extent, g->tile->steps);
	const Ix *round = iter(g, g->k);
	if (!g->sum.taps.n)
		return kind == IX_MOD ? round : number(g, 0);
	if (size_is(g->program->sizes, rounds, 1))
		return kind == IX_DIV ? round : number(g, 0);
	return ix_binary(g->program, kind, round, sized(g, rounds));
}

/* Where the copy is along axes that are of taps. */
static void put_taps(const Tiling *g, TmaTensor *t)
{
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	if (t->taps_as_one)
		group_put(g->program, iters, &g->sum.taps, in_line(g, IX_DIV));
	else
		group_put_each(g->program, iters, &g->sum.taps, in_line(g, IX_DIV), 1);
	for (uint32_t i = t->windows ? 1 : 2; i < t->n; i++)
		t->axes[i].at = rewrite_ix(&rewrite, t->axes[i].at);
}

/* A part of the stage of a side, in boxes of one line along what it lies along. */
static void copy_part(Tiling *g, Body *body, const Side *side, int part)
{
	TmaTensor t;
	group_tensor(g->program, g->product, &g->sum, side->rows, part, &t);
	int64_t boxes = (t.along_first ? g->tile->steps : side->width) / side->pitch;
	int64_t lines = t.along_first ? side->width : g->tile->steps;
	IterVar box = boxes > 1 ? tiling_iter(g, "box") : 0;
	const Ix *line = boxes > 1 ? times(g, iter(g, box), side->pitch) : number(g, 0);
	const Ix *step = times(g, in_line(g, IX_MOD), g->tile->steps);
	const Ix *along = tiling_side_at(g, side, number(g, 0));
	put_taps(g, &t);
	t.axes[0].at = plus(g, t.along_first ? step : along, line);
	t.axes[0].box = side->pitch;
	t.axes[1].box = lines;
	if (!t.windows)
		t.axes[1].at = t.along_first ? along : step;
	const Ix *first = plus(g, stage_at(g, side), number(g, part * part_elements(g, side)));
	const Ix *to = plus(g, first, times(g, line, lines));
	Box of = {.to = side->shared, .from = t.buffer, .ix = to, .axes = t.axes, .naxes = t.n};
	of.window = t.windows ? along : NULL;
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
	     stmt_for(g->arena, g->k, number(g, 0), sized(g, all_rounds(g)), round_of(g)));
	add(g, body, mma_group_end(g));
}
