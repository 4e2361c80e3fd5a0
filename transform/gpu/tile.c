/* Products in tiles: a block computes some rows and columns of the result, its threads smaller tiles of
 * them, whose sums they keep to themselves.
 *
 *   grid i in 0..m of 8              grid row in 0..ceil(m/64)
 *     grid j in 0..n of 32             grid column in 0..ceil(n/128)
 *       local acc = 0                    local acc [8, 16 | 8, 8] = 0
 *       for k in 0..s                    block of 128: rows[0] = first steps of x, columns[0] = ... of w
 *         acc += x[i, k]*w[k, j]   ->    barrier
 *       y[i, j] = relu(acc)              for k in 0..s - 15 step 16
 *                                          block of 128: next = steps k + 16 ... of x, w, if there are
 *                                          block of 128: acc += rows[k/16 % 2] * columns[k/16 % 2]
 *                                          block of 128: rows[(k/16 + 1) % 2] = next, columns ...
 *                                          barrier
 *                                        ... and the steps left over, as many as there are
 *                                        block of 128: y[i, j] = relu(acc) where i < m, j < n
 *
 * `rows` and `columns` are shared: steps of the sum, and along each the rows or columns of the tile, in fours of
 * which a thread takes one here and one half a tile further. Copies go along what lies side by side in the
 * operand, four elements at once where they begin at a multiple of four. Rows behind the last one are read as
 * the last one, and not stored: a sum has its own terms alone, in the order of the loops, for every element.
 */
#include "base/size_order.h"
#include "transform/gpu/elements.h"
#include "transform/gpu/group.h"
#include "transform/gpu/places.h"

/* ---- sums ---- */

static int64_t threads_along(const Tiling *g, const Side *side)
{
	return side->rows ? g->tile->rows / g->tile->thread_rows
			  : g->tile->columns / g->tile->thread_columns;
}

/* How much of a side of the tile each thread has, in fours. */
static int64_t thread_width(const Tiling *g, const Side *side)
{
	return side->rows ? g->tile->thread_rows : g->tile->thread_columns;
}

/* Where a thread's four number `quad` begin in the tile. */
static const Ix *quad_at(const Tiling *g, const Side *side, IterVar thread, const Ix *quad)
{
	return plus(g, times(g, quad, threads_along(g, side) * QUAD),
		    times(g, iter(g, thread), QUAD));
}

/* local part = the rows, or columns, of a thread at a step */
static LocalId read_part(Tiling *g, Body *body, const Side *side, IterVar thread,
			 const Ix *const *stage_step)
{
	IterVar quad = tiling_iter(g, "quad"), lane = tiling_iter(g, "element");
	LocalId part = tiling_local(g, (KernelLocal){.name = side->rows ? "row" : "column",
						     .rank = 1,
						     .extent = {(uint32_t)thread_width(g, side)}});
	const Ix *along = plus(g, quad_at(g, side, thread, iter(g, quad)), iter(g, lane));
	const Ix *from = tiling_shared(g, side, stage_step, along);
	const Ix *to = plus(g, times(g, iter(g, quad), QUAD), iter(g, lane));
	const Stmt *set = stmt_set_at(g->arena, tiling_element(g, part, &to), OP_NONE,
				      value_load(g->program, side->shared, from));
	PUSH(g->arena, body->stmts, stmt_local(g->arena, part, zero(g)));
	Block loop = loop_of(g, LOOP_VECTOR, lane, QUAD, block_one(g->arena, set));
	add(g, body, loop_of(g, LOOP_UNROLL, quad, thread_width(g, side) / QUAD, loop));
	return part;
}

static Block in_threads(const Tiling *g, IterVar row, IterVar column, Block body)
{
	body = loop_of(g, LOOP_BLOCK, column, threads_along(g, &g->columns), body);
	return loop_of(g, LOOP_BLOCK, row, threads_along(g, &g->rows), body);
}

const Ix *tiling_side_at(const Tiling *g, const Side *side, const Ix *in_tile)
{
	return plus(g, times(g, iter(g, side->tile), side->width), in_tile);
}

/* acc += row * column at one step */
static Block add_step(Tiling *g, IterVar row, IterVar column, const Ix *const *stage_step)
{
	Body body = {0};
	LocalId rows = read_part(g, &body, &g->rows, row, stage_step);
	LocalId columns = read_part(g, &body, &g->columns, column, stage_step);
	IterVar i = tiling_iter(g, "i"), j = tiling_iter(g, "j");
	const Ix *ii = iter(g, i), *jj = iter(g, j);
	const Value *factors[] = {tiling_element(g, rows, &ii), tiling_element(g, columns, &jj)};
	const Value *swapped[] = {factors[1], factors[0]};
	const Value *term = value_op(g->arena, OP_MUL, tiling_dtype(g),
				     g->product->columns_first ? swapped : factors, 2);
	const Ix *at[] = {iter(g, row), iter(g, column), ii, jj};
	const Stmt *set = stmt_set_at(g->arena, tiling_element(g, g->sums, at), OP_ADD, term);
	Block inner = loop_of(g, LOOP_UNROLL, j, g->tile->thread_columns, block_one(g->arena, set));
	add(g, &body, loop_of(g, LOOP_UNROLL, i, g->tile->thread_rows, inner));
	return body_block(&body);
}

/* Threads with no element of the result do nothing. `steps`: SIZE_BAD: all that are shared. */
Block tiling_add_steps(Tiling *g, const Ix *stage, Size steps)
{
	if (g->product->tensor.used)
		return mma_steps(g, stage);
	IterVar row = tiling_iter(g, "thread"), column = tiling_iter(g, "lane"),
		step = tiling_iter(g, "step");
	const Ix *stage_step[] = {stage, iter(g, step)};
	Block body = add_step(g, row, column, stage_step);
	if (size_is_bad(steps))
		body = loop_of(g, LOOP_UNROLL, step, g->tile->steps, body);
	else
		body = block_one(g->arena,
				 stmt_for(g->arena, step, number(g, 0), sized(g, steps), body));
	const Ix *first = number(g, 0);
	body = if_below(g, tiling_side_at(g, &g->columns, quad_at(g, &g->columns, column, first)),
			sized(g, g->columns.group->extent), body);
	body = if_below(g, tiling_side_at(g, &g->rows, quad_at(g, &g->rows, row, first)),
			sized(g, g->rows.group->extent), body);
	return in_threads(g, row, column, body);
}

/* ---- the loop over the sum ---- */

bool tiling_is_whole(const Tiling *g)
{
	Size steps = size_const(g->program->sizes, g->tile->steps);
	return size_divides(g->program->sizes, steps, g->product->sum.extent);
}

/* Are there fewer steps than are shared, whatever the sizes are? */
static bool is_short(const Tiling *g)
{
	int64_t n;
	return size_is_const(g->program->sizes, g->product->sum.extent, &n) && n < g->tile->steps;
}

/* The steps from k on, as the first stage. */
static void copy_steps(Tiling *g, Body *body, const Ix *k, bool last)
{
	for (int i = 0; i < 2; i++) {
		const Side *side = i ? &g->columns : &g->rows;
		add(g, body, tiling_load(g, side, k, last));
		add(g, body, tiling_store(g, side, number(g, 0)));
	}
}

static void add_first(Tiling *g, Body *body)
{
	const Ix *last = number(g, g->tile->steps - 1);
	Body first = {0};
	copy_steps(g, &first, number(g, 0), false);
	int64_t n;
	bool known = size_is_const(g->program->sizes, g->product->sum.extent, &n);
	add(g, body,
	    known ? body_block(&first)
		  : if_below(g, last, sized(g, g->product->sum.extent), body_block(&first)));
	add_barrier(g, body);
}

static void add_rounds(Tiling *g, Body *body)
{
	Sizes *sizes = g->program->sizes;
	int64_t steps = g->tile->steps;
	const Ix *k = iter(g, g->k), *end = sized(g, g->product->sum.extent);
	const Ix *round = ix_binary(g->program, IX_DIV, k, number(g, steps));
	const Ix *stage = ix_binary(g->program, IX_MOD, round, number(g, STAGES));
	const Ix *other =
		ix_binary(g->program, IX_MOD, plus(g, round, number(g, 1)), number(g, STAGES));
	const Ix *next = plus(g, k, number(g, steps)), *last = plus(g, k, number(g, 2 * steps - 1));
	Body loop = {0}, ahead = {0}, behind = {0};
	for (int i = 0; i < 2; i++) {
		const Side *side = i ? &g->columns : &g->rows;
		add(g, &ahead, tiling_load(g, side, next, false));
		add(g, &behind, tiling_store(g, side, other));
	}
	add(g, &loop, if_below(g, last, end, body_block(&ahead)));
	add(g, &loop, tiling_add_steps(g, stage, SIZE_BAD));
	if (g->parts != g->sums)
		add(g, &loop, mma_promote(g, round));
	add(g, &loop, if_below(g, last, end, body_block(&behind)));
	add_barrier(g, &loop);
	Size hi = size_plus(sizes, g->product->sum.extent, 1 - steps);
	const Stmt *rounds =
		stmt_for(g->arena, g->k, number(g, 0), sized(g, hi), body_block(&loop));
	PUSH(g->arena, body->stmts, stmt_step(g->arena, rounds, steps));
}

static void add_rest(Tiling *g, Body *body)
{
	Sizes *sizes = g->program->sizes;
	Size whole = size_scale(sizes, size_floor(sizes, g->product->sum.extent, g->tile->steps),
				g->tile->steps);
	copy_steps(g, body, sized(g, whole), true);
	add_barrier(g, body);
	add(g, body,
	    tiling_add_steps(g, number(g, 0), size_sub(sizes, g->product->sum.extent, whole)));
}

/* Do threads copy both operands through their registers? */
static bool threads_copy(const Tiling *g)
{
	return !g->tile->group && (!g->async || g->nwholes > 0);
}

static Block rounds_by_threads(Tiling *g)
{
	Body body = {0};
	if (!is_short(g)) {
		add_first(g, &body);
		add_rounds(g, &body);
	}
	if (!tiling_is_whole(g))
		add_rest(g, &body);
	return body_block(&body);
}

static Block sums(Tiling *g)
{
	Body body = {0};
	if (g->tile->group) {
		group_rounds(g, &body);
	} else if (g->async) {
		async_rounds(g, &body, threads_copy(g) ? rounds_by_threads(g) : (Block){0});
	} else {
		add(g, &body, rounds_by_threads(g));
	}
	if (g->parts != g->sums)
		add(g, &body, mma_promote(g, NULL));
	return body_block(&body);
}

/* ---- elements ---- */

/* An element of the sums: threads along rows and columns; fours of these, and which of each. */
typedef struct ElementIters {
	IterVar row, column, row_quad, column_quad, i, j;
} ElementIters;

static ElementIters element_iters(Tiling *g)
{
	return (ElementIters){tiling_iter(g, "thread"), tiling_iter(g, "lane"),
			      tiling_iter(g, "quad"),	tiling_iter(g, "quad"),
			      tiling_iter(g, "i"),	tiling_iter(g, "j")};
}

static const Value *sum_at(const Tiling *g, const ElementIters *c)
{
	const Ix *at[] = {iter(g, c->row), iter(g, c->column),
			  plus(g, times(g, iter(g, c->row_quad), QUAD), iter(g, c->i)),
			  plus(g, times(g, iter(g, c->column_quad), QUAD), iter(g, c->j))};
	return tiling_element(g, g->sums, at);
}

Block tiling_finish(const Tiling *g, const Value *sum, const Ix *row, const Ix *column)
{
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	Body body = {0};
	group_put(g->program, iters, &g->product->rows, row);
	group_put(g->program, iters, &g->product->columns, column);
	PUSH(g->arena, body.stmts, stmt_local(g->arena, g->product->declared->local, sum));
	add(g, &body, tiling_rewrite(g, iters, body_block(&g->product->rest)));
	return body_block(&body);
}

Block tiling_four(const Tiling *g, IterVar j, const Ix *quad, Block body)
{
	const Ix *end = sized(g, g->columns.group->extent);
	if (tiling_by_four(g, g->columns.group->extent) &&
	    tiling_block_is_wide(g, body, (TilingLanes){j, QUAD}))
		return if_below(g, plus(g, quad, number(g, QUAD - 1)), end,
				loop_of(g, LOOP_VECTOR, j, QUAD, body));
	return loop_of(g, LOOP_UNROLL, j, QUAD, if_below(g, plus(g, quad, iter(g, j)), end, body));
}

Block tiling_elements(Tiling *g)
{
	ElementIters c = element_iters(g);
	const Ix *row = tiling_side_at(
		g, &g->rows,
		plus(g, quad_at(g, &g->rows, c.row, iter(g, c.row_quad)), iter(g, c.i)));
	const Ix *quad = tiling_side_at(g, &g->columns,
					quad_at(g, &g->columns, c.column, iter(g, c.column_quad)));
	Block body = tiling_finish(g, sum_at(g, &c), row, plus(g, quad, iter(g, c.j)));
	body = tiling_four(g, c.j, quad, body);
	body = loop_of(g, LOOP_UNROLL, c.column_quad, g->tile->thread_columns / QUAD, body);
	body = if_below(g, row, sized(g, g->rows.group->extent), body);
	body = loop_of(g, LOOP_UNROLL, c.i, QUAD, body);
	body = loop_of(g, LOOP_UNROLL, c.row_quad, g->tile->thread_rows / QUAD, body);
	return in_threads(g, c.row, c.column, body);
}

Block tiling_each(Tiling *g, const ElementVisit *visit)
{
	if (g->product->tensor.used)
		return mma_each(g, visit);
	ElementIters t = element_iters(g);
	const Ix *row = plus(g, quad_at(g, &g->rows, t.row, iter(g, t.row_quad)), iter(g, t.i));
	const Ix *column =
		plus(g, quad_at(g, &g->columns, t.column, iter(g, t.column_quad)), iter(g, t.j));
	Block body = visit->make(visit->of, sum_at(g, &t), row, column);
	body = visit->wide ? loop_of(g, LOOP_VECTOR, t.j, QUAD, body) : body;
	body = loop_of(g, LOOP_UNROLL, t.i, QUAD, body);
	body = loop_of(g, LOOP_UNROLL, t.row_quad, g->tile->thread_rows / QUAD, body);
	body = visit->wide ? body : loop_of(g, LOOP_UNROLL, t.j, QUAD, body);
	body = loop_of(g, LOOP_UNROLL, t.column_quad, g->tile->thread_columns / QUAD, body);
	return in_threads(g, t.row, t.column, body);
}

/* ---- set up ---- */

LocalId tiling_sums(Tiling *g, const char *name)
{
	return tiling_local(g, (KernelLocal){.name = name,
					     .rank = 4,
					     .extent = {(uint32_t)threads_along(g, &g->rows),
							(uint32_t)threads_along(g, &g->columns),
							(uint32_t)g->tile->thread_rows,
							(uint32_t)g->tile->thread_columns},
					     .nthreads = 2});
}

static void set_up(Tiling *g)
{
	if (g->tile->group) {
		group_set_up(g);
		return;
	}
	g->k = tiling_iter(g, g->kernel->iters[group_iter(&g->product->sum)].name);
	g->rows = tiling_side(g, true);
	g->columns = tiling_side(g, false);
	tiling_finish_side(g, &g->rows);
	tiling_finish_side(g, &g->columns);
	if (g->product->tensor.used) {
		async_set_up(g);
		mma_sums(g);
		return;
	}
	g->sums = g->parts = tiling_sums(g, "sums");
}

static Stmt *grid_loop(const Tiling *g, IterVar i, Size extent, Block body)
{
	Stmt *loop = ARENA_NEW(g->arena, Stmt);
	*loop = *stmt_for(g->arena, i, number(g, 0), sized(g, extent), body);
	loop->loop = LOOP_GRID;
	loop->threads = 1;
	return loop;
}

static Size tiles_along(const Tiling *g, const Side *side)
{
	return size_ceil(g->program->sizes, side->group->extent, side->width);
}

Block tiling_grid(const Tiling *g, Block body)
{
	Stmt *columns = grid_loop(g, g->columns.tile, tiles_along(g, &g->columns), body);
	Stmt *rows =
		grid_loop(g, g->rows.tile, tiles_along(g, &g->rows), block_one(g->arena, columns));
	columns->nslots = g->turns;
	columns->slot = g->turn;
	rows->raster = g->raster;
	body = block_one(g->arena, rows);
	for (uint32_t i = g->product->batch.n; i-- > 0;) {
		const Stmt *loop = g->product->batch.loops[i];
		body = block_one(g->arena, grid_loop(g, loop->iter, loop->hi->size, body));
	}
	return body;
}

static void declare(Tiling *g, LocalId local, const Value *value)
{
	PUSH(g->arena, g->body.stmts, stmt_local(g->arena, local, value));
}

/* Where there is one way of copying: others have other threads. */
static void find_places(Tiling *g)
{
	Side *sides[] = {&g->rows, &g->columns};
	if (g->tile->group || g->nwholes)
		return;
	for (int i = 0; i < 2; i++)
		if (tiling_takes_divisions(g, sides[i]))
			(g->async ? async_places : tiling_copy_places)(g, sides[i]);
}

static void make(Tiling *g)
{
	set_up(g);
	declare(g, g->sums, g->product->declared->value);
	if (g->parts != g->sums)
		declare(g, g->parts, zero(g));
	if (threads_copy(g)) {
		tiling_declare_next(g, &g->body, &g->rows);
		tiling_declare_next(g, &g->body, &g->columns);
	}
	find_places(g);
	add(g, &g->body, sums(g));
	if (!g->cluster)
		add(g, &g->body, g->product->tensor.used ? mma_elements(g) : tiling_elements(g));
	g->kernel->body = tiling_grid(g, g->cluster ? cluster_elements(g) : body_block(&g->body));
}

/* What each block has anyway, or its part of what those together have. */
static int64_t shared_most(const GpuTarget *gpu, const GpuTile *tile)
{
	int64_t part = gpu->shared_processor / tile->together - gpu->shared_each;
	part = part < gpu->shared_most ? part : gpu->shared_most;
	return part > gpu->shared_usual ? part : gpu->shared_usual;
}

/* Do the sums of a thread by matrix instructions take half of its registers, or less? */
static bool has_registers(const GpuTarget *gpu, const TileWanted *wanted)
{
	const GpuTile *tile = wanted->tile;
	int64_t sums = tile->thread_rows * tile->thread_columns / WARP;
	return 2 * sums * (wanted->product->tensor.promote ? 2 : 1) <= gpu->registers;
}

void bind_tile(const Transform *t, Kernel *kernel, const TileWanted *wanted)
{
	Tiling g = {.program = t->program,
		    .arena = t->program->arena,
		    .kernel = kernel,
		    .routine = wanted->routine,
		    .product = wanted->product,
		    .tile = wanted->tile,
		    .gpu = t->options->gpu,
		    .has_registers = has_registers(t->options->gpu, wanted),
		    .cluster = wanted->cluster ? wanted->slices : 0,
		    .slice = wanted->slice,
		    .shared_most = shared_most(t->options->gpu, wanted->tile)};
	if (g.cluster)
		g.shared_most -= tile_bytes(wanted->tile, tiling_dtype(&g));
	make(&g);
}
