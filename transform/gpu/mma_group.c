/* Products by warpgroups: what the warps of a block do with a stage of the ring, from swizzled shared memory (loops/group.h). */
#include "loops/build_group.h"
#include "loops/group.h"
#include "transform/gpu/group.h"
#include "transform/gpu/mma.h"

/* An element of a side at a step of the stage, `in` behind `along`, a multiple of 8 elements: in lines along what the side
 * lies along. */
static const Value *line_in(const Warps *w, const Side *side, const Ix *stage, const Ix *along,
			    IterVar in, const Ix *step)
{
	const Tiling *g = w->g;
	int64_t n = side->pitch;
	const Ix *line = number(g, n);
	const Ix *inner = iter(g, in), *at = plus(g, along, inner);
	if (side->steps_contiguous) {
		at = plus(g, times(g, at, n), step);
	} else {
		const Ix *lines = ix_binary(g->program, IX_DIV, along, line);
		const Ix *in_line = plus(g, ix_binary(g->program, IX_MOD, along, line), inner);
		at = plus(g, times(g, lines, n * g->tile->steps),
			  plus(g, times(g, step, n), in_line));
	}
	const Value *load = value_load(g->program, side->shared, plus(g, stage, at));
	return load->dtype == DTYPE_F32 ? load : value_cast(g->arena, DTYPE_F32, load);
}

/* parts += rows * columns, one instruction a step. */
static Block group_products(const Warps *w, const GroupRound *round, MatrixPair pair)
{
	Tiling *g = w->g;
	IterVar step = tiling_iter(g, "step"), q = tiling_iter(g, "q");
	IterVar i = tiling_iter(g, "i"), j = tiling_iter(g, "j"), k = tiling_iter(g, "k");
	const Ix *at_step = plus(g, times(g, iter(g, step), w->matrix->k), iter(g, k));
	const Ix *row = times(g, iter(g, w->row), g->tile->thread_rows);
	const Ix *column = times(g, iter(g, q), w->matrix->n);
	const Ix *at[] = {iter(g, w->row), iter(g, w->column), number(g, 0),
			  iter(g, q),	   iter(g, i),	       iter(g, j)};
	const Ix *rows = plus(g, round->rows, number(g, pair.a * round->row_part));
	const Ix *columns = plus(g, round->columns, number(g, pair.b * round->column_part));
	const Value *factors[] = {line_in(w, &g->rows, rows, row, i, at_step),
				  line_in(w, &g->columns, columns, column, j, at_step)};
	const Value *term = value_op(g->arena, OP_MUL, DTYPE_F32, factors, 2);
	const Value *sum = tiling_element(g, g->parts, at);
	Block one = block_one(g->arena, stmt_set_at(g->arena, sum, OP_ADD, term));
	one = loop_of(g, LOOP_WARP, k, w->matrix->k, one);
	one = mma_loops(w, i, w->matrix->m, j, w->matrix->n, one);
	one = loop_of(g, LOOP_GROUP, q, w->across, one);
	return loop_of(g, LOOP_GROUP, step, g->tile->steps / w->matrix->k, one);
}

Block mma_group(Tiling *g, const GroupRound *round)
{
	Warps w = mma_warps(g);
	MatrixPair pairs[MATRIX_PAIRS];
	int n = mma_pairs(g, pairs);
	Body body = {0};
	PUSH(g->arena, body.stmts, round->full);
	for (int i = 0; i < n; i++)
		add(g, &body, group_products(&w, round, pairs[i]));
	PUSH(g->arena, body.stmts, round->wait);
	PUSH(g->arena, body.stmts, round->empty);
	return mma_in_warps(&w, body_block(&body));
}

Block mma_group_end(Tiling *g)
{
	Warps w = mma_warps(g);
	return mma_in_warps(&w, block_one(g->arena, stmt_wait_products(g->arena, 0)));
}
