/* The sums of products by matrix instructions: what warps of a block hold of them, and what is done with each.
 *
 * Tensor cores cut sums instead of rounding them. With --gpu-promote=N they sum N terms, at least those of a
 * round, in `parts`, which f32 additions add to `sums`.
 *
 * A thread has two neighbours in a row, j*2 and j*2 + 1: the result is stored two at a time, where it may be.
 */
#include "base/size_order.h"
#include "loops/fragment.h"
#include "transform/gpu/group.h"
#include "transform/gpu/mma.h"

Warps mma_warps(Tiling *g)
{
	const MatrixRow *matrix = matrix_row(g->product->tensor.op);
	return (Warps){g,
		       matrix,
		       tiling_iter(g, "row"),
		       tiling_iter(g, "column"),
		       g->tile->thread_columns / matrix->n,
		       g->tile->thread_rows / matrix->m};
}

Block mma_in_warps(const Warps *w, Block body)
{
	const GpuTile *tile = w->g->tile;
	body = loop_of(w->g, LOOP_BLOCK, w->column, tile->columns / tile->thread_columns, body);
	return loop_of(w->g, LOOP_BLOCK, w->row, tile->rows / tile->thread_rows, body);
}

Block mma_loops(const Warps *w, IterVar row, uint32_t m, IterVar column, uint32_t n,
			Block body)
{
	return loop_of(w->g, LOOP_WARP, row, m, loop_of(w->g, LOOP_WARP, column, n, body));
}

/* The rests' own product is less than what f32 rounds off; the least first. */
int mma_pairs(const Tiling *g, MatrixPair *pairs)
{
	int n = 0;
	if (g->product->tensor.split) {
		pairs[n++] = (MatrixPair){1, 0};
		pairs[n++] = (MatrixPair){0, 1};
	}
	pairs[n++] = (MatrixPair){0, 0};
	return n;
}

/* ---- sums ---- */

static LocalId new_sums(Tiling *g, const char *name)
{
	Warps w = mma_warps(g);
	const GpuTile *tile = g->tile;
	return tiling_local(
		g, (KernelLocal){.name = name,
				 .rank = 6,
				 .extent = {(uint32_t)(tile->rows / tile->thread_rows),
					    (uint32_t)(tile->columns / tile->thread_columns),
					    (uint32_t)w.down, (uint32_t)w.across, w.matrix->m,
					    w.matrix->n},
				 .nthreads = 2,
				 .role = ROLE_ACCUMULATOR,
				 .matrix = g->product->tensor.op});
}

void mma_sums(Tiling *g)
{
	g->sums = new_sums(g, "sums");
	g->parts = g->product->tensor.promote ? new_sums(g, "parts") : g->sums;
}

/* ---- all elements ---- */

/* Of the matrix p, q of a warp's sums, the element i, j, or i, j*2 + lane. */
typedef struct SumIters {
	IterVar p, q, i, j, lane, box;
	const Ix *q_at; /* q, or that of the boxes' loop too */
	bool has_lanes, has_boxes;
} SumIters;

static SumIters sum_iters(Tiling *g)
{
	SumIters s = {.p = tiling_iter(g, "p"),
		      .q = tiling_iter(g, "q"),
		      .i = tiling_iter(g, "i"),
		      .j = tiling_iter(g, "j")};
	s.q_at = iter(g, s.q);
	return s;
}

/* The column in the matrix, of the first lane. */
static const Ix *column_of(const Tiling *g, const SumIters *s)
{
	return s->has_lanes ? times(g, iter(g, s->j), FRAGMENT_LANES) : iter(g, s->j);
}

static const Value *sum_at(const Warps *w, LocalId local, const SumIters *s)
{
	const Tiling *g = w->g;
	const Ix *column = column_of(g, s);
	column = s->has_lanes ? plus(g, column, iter(g, s->lane)) : column;
	const Ix *at[] = {iter(g, w->row), iter(g, w->column), iter(g, s->p),
			  s->q_at,	   iter(g, s->i),      column};
	return tiling_element(w->g, local, at);
}

static const Ix *warp_row(const Warps *w, const SumIters *s)
{
	const Tiling *g = w->g;
	const Ix *warp = times(g, iter(g, w->row), g->tile->thread_rows);
	return plus(g, warp, times(g, iter(g, s->p), w->matrix->m));
}

static Block in_boxes(const Warps *w, const SumIters *s, Block body)
{
	Tiling *g = w->g;
	const Ix *column = times(g, iter(g, w->column), g->tile->thread_columns);
	body = loop_of(g, LOOP_UNROLL, s->q, group_box_matrices(g), body);
	return group_box_loop(g, s->box, iter(g, w->row), tiling_side_at(g, &g->rows, warp_row(w, s)),
			      tiling_side_at(g, &g->columns, column), body);
}

static Block each_sum(const Warps *w, const SumIters *s, Block body)
{
	body = mma_loops(w, s->i, w->matrix->m, s->j,
			  s->has_lanes ? w->matrix->n / FRAGMENT_LANES : w->matrix->n, body);
	if (s->has_boxes)
		body = in_boxes(w, s, body);
	else
		body = loop_of(w->g, LOOP_UNROLL, s->q, w->across, body);
	return loop_of(w->g, LOOP_UNROLL, s->p, w->down, body);
}

Block mma_promote(Tiling *g, const Ix *round)
{
	Warps w = mma_warps(g);
	SumIters s = sum_iters(g);
	int64_t terms = g->product->tensor.promote, steps = g->tile->steps;
	int64_t rounds = terms / steps + (terms % steps != 0);
	const Value *parts = sum_at(&w, g->parts, &s);
	Body body = {0};
	PUSH(g->arena, body.stmts, stmt_set_at(g->arena, sum_at(&w, g->sums, &s), OP_ADD, parts));
	PUSH(g->arena, body.stmts, stmt_set_at(g->arena, parts, OP_NONE, zero(g)));
	Block all = each_sum(&w, &s, body_block(&body));
	if (round && rounds > 1) {
		Cond last = {COND_EQ, ix_binary(g->program, IX_MOD, round, number(g, rounds)),
			     number(g, rounds - 1)};
		all = block_one(g->arena, stmt_if_one(g->arena, last, all));
	}
	return mma_in_warps(&w, all);
}

static const Ix *row_in_tile(const Warps *w, const SumIters *s)
{
	return plus(w->g, warp_row(w, s), iter(w->g, s->i));
}

static const Ix *column_in_tile(const Warps *w, const SumIters *s)
{
	const Tiling *g = w->g;
	const Ix *warp = times(g, iter(g, w->column), g->tile->thread_columns);
	const Ix *matrix = times(g, s->q_at, w->matrix->n);
	return plus(g, plus(g, warp, matrix), column_of(g, s));
}

Block mma_each(Tiling *g, const ElementVisit *visit)
{
	Warps w = mma_warps(g);
	SumIters s = sum_iters(g);
	const Value *sum = sum_at(&w, g->sums, &s);
	const Ix *row = row_in_tile(&w, &s), *column = column_in_tile(&w, &s);
	return mma_in_warps(&w, each_sum(&w, &s, visit->make(visit->of, sum, row, column)));
}

/* ---- the result ---- */

static const Ix *row_at(const Warps *w, const SumIters *s)
{
	return tiling_side_at(w->g, &w->g->rows, row_in_tile(w, s));
}

static const Ix *column_at(const Warps *w, const SumIters *s)
{
	return tiling_side_at(w->g, &w->g->columns, column_in_tile(w, s));
}

static Block finish(const Warps *w, const SumIters *s)
{
	const Tiling *g = w->g;
	const Ix *column = column_at(w, s);
	column = s->has_lanes ? plus(g, column, iter(g, s->lane)) : column;
	return tiling_finish(g, sum_at(w, g->sums, s), row_at(w, s), column);
}

/* What is done with an element goes through the loops of the columns as through the innermost. */
bool mma_has_lanes(const Tiling *g)
{
	Sizes *sizes = g->program->sizes;
	const LoopGroup *columns = g->columns.group;
	TilingLanes lanes = {group_iter(columns), FRAGMENT_LANES};
	return size_divides(sizes, size_const(sizes, FRAGMENT_LANES), columns->extent) &&
	       tiling_block_is_wide(g, body_block(&g->product->rest), lanes);
}

/* A tile may go beyond the end of the side where no whole number of tiles fills it. */
static Block if_inside(const Tiling *g, const Side *side, const Ix *at, Block body)
{
	Sizes *sizes = g->program->sizes;
	Size extent = side->group->extent;
	return size_divides(sizes, size_const(sizes, side->width), extent)
		       ? body
		       : if_below(g, at, sized(g, extent), body);
}

Block mma_elements(Tiling *g)
{
	Warps w = mma_warps(g);
	SumIters s = sum_iters(g);
	s.has_lanes = mma_has_lanes(g);
	s.lane = s.has_lanes ? tiling_iter(g, "lane") : 0;
	s.has_boxes = g->has_boxes;
	if (s.has_boxes) {
		s.box = tiling_iter(g, "box");
		s.q_at = plus(g, times(g, iter(g, s.box), group_box_matrices(g)), s.q_at);
	}
	Block body = finish(&w, &s);
	if (s.has_lanes)
		body = loop_of(g, LOOP_VECTOR, s.lane, FRAGMENT_LANES, body);
	const Ix *last = plus(g, column_at(&w, &s), number(g, s.has_lanes ? FRAGMENT_LANES - 1 : 0));
	body = if_inside(g, &g->columns, last, body);
	body = if_inside(g, &g->rows, row_at(&w, &s), body);
	return mma_in_warps(&w, each_sum(&w, &s, body));
}
