/* Products in tiles by matrix instructions: what the warps of a block do with steps that are shared.
 *
 *   local sums : f32 [2, 2 | 4, 8, 16, 8] accumulator of m16n8k16_bf16 = 0
 *   ...
 *   block row in 0..2                                       warps, of 64 x 64 elements each
 *     block column in 0..2
 *       local a : f32 [4, 16, 16] matrix_a of m16n8k16_bf16 = 0
 *       local b : f32 [8, 16, 8] matrix_b of m16n8k16_bf16 = 0
 *       unroll step in 0..2
 *         unroll p in 0..4: a[p, i, k] = rows[..., i, ..., k]     a load each
 *         unroll q in 0..4: b[q*2 + pair, k, j] = columns[..., k, ..., j]    two of them
 *         unroll p, q: sums[row, column, p, q, i, j] += a[p, i, k]*b[q, k, j]
 *
 * With --f32-matmul=3xtf32 an operand is the sum of two numbers of tf32, what it is rounded to and what the rest
 * is rounded to, and three of the four products are added: the rests' own is less than what f32 rounds off.
 *
 * Tensor cores cut sums instead of rounding them. With --gpu-promote=N they sum N terms, at least those of a
 * round, in `parts`, which f32 additions add to `sums`.
 */
#include "loops/build_group.h"
#include "loops/group.h"
#include "transform/gpu/elements.h"
#include "transform/gpu/group.h"

enum { PARTS = 2 }; /* of an operand that is split */

typedef struct Warps {
	Tiling *g;
	const MatrixRow *matrix;
	IterVar row, column;  /* warps of the block */
	int64_t across, down; /* matrices of a warp's sums */
} Warps;

static Warps warps_of(Tiling *g)
{
	const MatrixRow *matrix = matrix_row(g->product->tensor.op);
	return (Warps){g,
		       matrix,
		       tiling_iter(g, "row"),
		       tiling_iter(g, "column"),
		       g->tile->thread_columns / matrix->n,
		       g->tile->thread_rows / matrix->m};
}

static Block in_warps(const Warps *w, Block body)
{
	const GpuTile *tile = w->g->tile;
	body = loop_of(w->g, LOOP_BLOCK, w->column, tile->columns / tile->thread_columns, body);
	return loop_of(w->g, LOOP_BLOCK, w->row, tile->rows / tile->thread_rows, body);
}

/* A local's element, the last two indices of which are of the matrix. */
static const Value *element(const Warps *w, LocalId local, const Ix *const *at)
{
	return tiling_element(w->g, local, at);
}

static const Stmt *set(const Warps *w, const Value *to, Op acc, const Value *value)
{
	return stmt_set_at(w->g->arena, to, acc, value);
}

static Block warp_loops(const Warps *w, IterVar row, uint32_t m, IterVar column, uint32_t n,
			Block body)
{
	return loop_of(w->g, LOOP_WARP, row, m, loop_of(w->g, LOOP_WARP, column, n, body));
}

/* ---- sums ---- */

static LocalId new_sums(Tiling *g, const char *name)
{
	Warps w = warps_of(g);
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

/* ---- operands ---- */

/* An operand's matrices of a warp at one step of the instruction. */
typedef struct Operand {
	const Side *side;
	MatrixRole role;
	LocalId local;
	int64_t n;
	IterVar warp;
} Operand;

static Operand operand_of(const Warps *w, MatrixRole role)
{
	Tiling *g = w->g;
	bool a = role == ROLE_A, split = g->product->tensor.split;
	MatrixOp op = g->product->tensor.op;
	KernelLocal local = {.name = a ? "a" : "b", .role = role, .matrix = op};
	int64_t n = a ? w->down : w->across;
	if (split)
		local.extent[local.rank++] = PARTS;
	local.extent[local.rank++] = (uint32_t)n;
	local.extent[local.rank++] = matrix_rows(op, role);
	local.extent[local.rank++] = matrix_columns(op, role);
	return (Operand){a ? &g->rows : &g->columns, role, tiling_local(g, local), n,
			 a ? w->row : w->column};
}

static const Value *operand_at(const Warps *w, const Operand *o, int part, const Ix *number_of,
			       const Ix *const *row_column)
{
	const Ix *split[] = {number(w->g, part), number_of, row_column[0], row_column[1]};
	return element(w, o->local, w->g->product->tensor.split ? split : split + 1);
}

/* What is shared, at a matrix's row and column. */
static const Value *shared_at(const Warps *w, const Operand *o, const Ix *const *stage_step,
			      const Ix *number_of, const Ix *const *row_column)
{
	const Tiling *g = w->g;
	bool a = o->role == ROLE_A;
	int64_t warp = a ? g->tile->thread_rows : g->tile->thread_columns;
	int64_t width = a ? w->matrix->m : w->matrix->n;
	const Ix *along = plus(g, times(g, iter(g, o->warp), warp), times(g, number_of, width));
	const Ix *from[] = {stage_step[0],
			    plus(g, times(g, stage_step[1], w->matrix->k), row_column[a ? 1 : 0])};
	const Ix *at = tiling_shared(g, o->side, from, plus(g, along, row_column[a ? 0 : 1]));
	const Value *load = value_load(g->program, o->side->shared, at);
	return load->dtype == DTYPE_F32 ? load : value_cast(g->arena, DTYPE_F32, load);
}

/* a[i, k] = rows, or for each part what the ones before leave. */
static Block matrix_set(const Warps *w, const Operand *o, const Value *value, const Ix *of,
			const Ix *const *at)
{
	Tiling *g = w->g;
	Body body = {0};
	PUSH(g->arena, body.stmts, set(w, operand_at(w, o, 0, of, at), OP_NONE, value));
	if (g->product->tensor.split) {
		const Value *left[] = {value, operand_at(w, o, 0, of, at)};
		PUSH(g->arena, body.stmts,
		     set(w, operand_at(w, o, 1, of, at), OP_NONE,
			 value_op(g->arena, OP_SUB, DTYPE_F32, left, 2)));
	}
	return body_block(&body);
}

/* Matrices that one instruction loads, of four of 8 rows of 16 bytes: two of b, if elements lie so that it may. */
static int64_t loaded_at_once(const Warps *w, const Operand *o)
{
	bool loads = matrix_row(w->g->product->tensor.op)->format != FORMAT_TF32 ||
		     o->side->steps_contiguous;
	return o->role == ROLE_B && loads && o->n % 2 == 0 ? 2 : 1;
}

static void load(const Warps *w, Body *body, const Operand *o, const Ix *const *stage_step)
{
	Tiling *g = w->g;
	MatrixOp op = g->product->tensor.op;
	int64_t once = loaded_at_once(w, o);
	IterVar matrix = tiling_iter(g, "matrix"), pair = tiling_iter(g, "pair");
	IterVar row = tiling_iter(g, o->role == ROLE_A ? "i" : "k");
	IterVar column = tiling_iter(g, o->role == ROLE_A ? "k" : "j");
	const Ix *of = times(g, iter(g, matrix), once), *at[] = {iter(g, row), iter(g, column)};
	of = once > 1 ? plus(g, of, iter(g, pair)) : of;
	const Value *value = shared_at(w, o, stage_step, of, at);
	Block one = warp_loops(w, row, matrix_rows(op, o->role), column,
			       matrix_columns(op, o->role), matrix_set(w, o, value, of, at));
	if (once > 1)
		one = loop_of(g, LOOP_WARP, pair, once, one);
	add(g, body, loop_of(g, LOOP_UNROLL, matrix, o->n / once, one));
}

/* ---- products ---- */

static void multiply(const Warps *w, Body *body, const Operand *a, int a_part, const Operand *b,
		     int b_part)
{
	Tiling *g = w->g;
	IterVar p = tiling_iter(g, "p"), q = tiling_iter(g, "q");
	IterVar i = tiling_iter(g, "i"), j = tiling_iter(g, "j"), k = tiling_iter(g, "k");
	const Ix *ik[] = {iter(g, i), iter(g, k)}, *kj[] = {iter(g, k), iter(g, j)};
	const Ix *at[] = {iter(g, w->row), iter(g, w->column), iter(g, p),
			  iter(g, q),	   iter(g, i),	       iter(g, j)};
	const Value *factors[] = {operand_at(w, a, a_part, iter(g, p), ik),
				  operand_at(w, b, b_part, iter(g, q), kj)};
	const Value *term = value_op(g->arena, OP_MUL, DTYPE_F32, factors, 2);
	Block one = block_one(g->arena, set(w, element(w, g->parts, at), OP_ADD, term));
	one = loop_of(g, LOOP_WARP, k, w->matrix->k, one);
	one = warp_loops(w, i, w->matrix->m, j, w->matrix->n, one);
	one = loop_of(g, LOOP_UNROLL, q, w->across, one);
	add(g, body, loop_of(g, LOOP_UNROLL, p, w->down, one));
}

static void multiply_parts(const Warps *w, Body *body, const Operand *a, const Operand *b)
{
	static const int pairs[][2] = {{1, 0}, {0, 1}, {0, 0}}; /* the least first */
	bool split = w->g->product->tensor.split;
	for (int i = split ? 0 : 2; i < 3; i++)
		multiply(w, body, a, pairs[i][0], b, pairs[i][1]);
}

Block mma_steps(Tiling *g, const Ix *stage)
{
	Warps w = warps_of(g);
	IterVar step = tiling_iter(g, "step");
	const Ix *stage_step[] = {stage, iter(g, step)};
	Operand a = operand_of(&w, ROLE_A), b = operand_of(&w, ROLE_B);
	Body steps = {0}, body = {0};
	load(&w, &steps, &a, stage_step);
	load(&w, &steps, &b, stage_step);
	multiply_parts(&w, &steps, &a, &b);
	PUSH(g->arena, body.stmts, stmt_local(g->arena, a.local, zero(g)));
	PUSH(g->arena, body.stmts, stmt_local(g->arena, b.local, zero(g)));
	add(g, &body,
	    loop_of(g, LOOP_UNROLL, step, g->tile->steps / w.matrix->k, body_block(&steps)));
	return in_warps(&w, body_block(&body));
}

/* ---- warpgroups ---- */

/* An element of a side at a step of the stage, `in` behind `along`, a multiple of 8 elements: lines of 64 along what the
 * side lies along. */
static const Value *line_in(const Warps *w, const Side *side, const Ix *stage, const Ix *along,
			    IterVar in, const Ix *step)
{
	const Tiling *g = w->g;
	const Ix *line = number(g, GROUP_LINE);
	const Ix *inner = iter(g, in), *at = plus(g, along, inner);
	if (side->steps_contiguous) {
		at = plus(g, times(g, at, GROUP_LINE), step);
	} else {
		const Ix *lines = ix_binary(g->program, IX_DIV, along, line);
		const Ix *in_line = plus(g, ix_binary(g->program, IX_MOD, along, line), inner);
		at = plus(g, times(g, lines, GROUP_LINE * g->tile->steps),
			  plus(g, times(g, step, GROUP_LINE), in_line));
	}
	const Value *load = value_load(g->program, side->shared, plus(g, stage, at));
	return value_cast(g->arena, DTYPE_F32, load);
}

/* parts += rows * columns, one instruction a step. */
static Block group_products(const Warps *w, const GroupRound *round)
{
	Tiling *g = w->g;
	IterVar step = tiling_iter(g, "step"), q = tiling_iter(g, "q");
	IterVar i = tiling_iter(g, "i"), j = tiling_iter(g, "j"), k = tiling_iter(g, "k");
	const Ix *at_step = plus(g, times(g, iter(g, step), w->matrix->k), iter(g, k));
	const Ix *row = times(g, iter(g, w->row), g->tile->thread_rows);
	const Ix *column = times(g, iter(g, q), w->matrix->n);
	const Ix *at[] = {iter(g, w->row), iter(g, w->column), number(g, 0),
			  iter(g, q),	   iter(g, i),	       iter(g, j)};
	const Value *factors[] = {line_in(w, &g->rows, round->rows, row, i, at_step),
				  line_in(w, &g->columns, round->columns, column, j, at_step)};
	const Value *term = value_op(g->arena, OP_MUL, DTYPE_F32, factors, 2);
	Block one = block_one(g->arena, set(w, element(w, g->parts, at), OP_ADD, term));
	one = loop_of(g, LOOP_WARP, k, w->matrix->k, one);
	one = warp_loops(w, i, w->matrix->m, j, w->matrix->n, one);
	one = loop_of(g, LOOP_GROUP, q, w->across, one);
	return loop_of(g, LOOP_GROUP, step, g->tile->steps / w->matrix->k, one);
}

Block mma_group(Tiling *g, const GroupRound *round)
{
	Warps w = warps_of(g);
	Body body = {0};
	PUSH(g->arena, body.stmts, round->full);
	add(g, &body, group_products(&w, round));
	PUSH(g->arena, body.stmts, round->wait);
	PUSH(g->arena, body.stmts, round->empty);
	return in_warps(&w, body_block(&body));
}

Block mma_group_end(Tiling *g)
{
	Warps w = warps_of(g);
	return in_warps(&w, block_one(g->arena, stmt_wait_products(g->arena, 0)));
}

/* ---- all elements ---- */

/* Of the matrix p, q of a warp's sums, the element i, j. */
typedef struct SumIters {
	IterVar p, q, i, j;
} SumIters;

static SumIters sum_iters(Tiling *g)
{
	return (SumIters){tiling_iter(g, "p"), tiling_iter(g, "q"), tiling_iter(g, "i"),
			  tiling_iter(g, "j")};
}

static const Value *sum_at(const Warps *w, LocalId local, const SumIters *s)
{
	const Tiling *g = w->g;
	const Ix *at[] = {iter(g, w->row), iter(g, w->column), iter(g, s->p),
			  iter(g, s->q),   iter(g, s->i),      iter(g, s->j)};
	return element(w, local, at);
}

static Block each_sum(const Warps *w, const SumIters *s, Block body)
{
	body = warp_loops(w, s->i, w->matrix->m, s->j, w->matrix->n, body);
	body = loop_of(w->g, LOOP_UNROLL, s->q, w->across, body);
	return loop_of(w->g, LOOP_UNROLL, s->p, w->down, body);
}

Block mma_promote(Tiling *g, const Ix *round)
{
	Warps w = warps_of(g);
	SumIters s = sum_iters(g);
	int64_t terms = g->product->tensor.promote, steps = g->tile->steps;
	int64_t rounds = terms / steps + (terms % steps != 0);
	const Value *parts = sum_at(&w, g->parts, &s);
	Body body = {0};
	PUSH(g->arena, body.stmts, set(&w, sum_at(&w, g->sums, &s), OP_ADD, parts));
	PUSH(g->arena, body.stmts, set(&w, parts, OP_NONE, zero(g)));
	Block all = each_sum(&w, &s, body_block(&body));
	if (round && rounds > 1) {
		Cond last = {COND_EQ, ix_binary(g->program, IX_MOD, round, number(g, rounds)),
			     number(g, rounds - 1)};
		all = block_one(g->arena, stmt_if_one(g->arena, last, all));
	}
	return in_warps(&w, all);
}

static const Ix *in_tile(const Warps *w, const Side *side, IterVar warp, IterVar matrix, IterVar in)
{
	const Tiling *g = w->g;
	bool rows = side->rows;
	const Ix *at =
		times(g, iter(g, warp), rows ? g->tile->thread_rows : g->tile->thread_columns);
	at = plus(g, at, times(g, iter(g, matrix), rows ? w->matrix->m : w->matrix->n));
	return plus(g, at, iter(g, in));
}

Block mma_each(Tiling *g, const ElementVisit *visit)
{
	Warps w = warps_of(g);
	SumIters s = sum_iters(g);
	const Ix *row = in_tile(&w, &g->rows, w.row, s.p, s.i);
	const Ix *column = in_tile(&w, &g->columns, w.column, s.q, s.j);
	return in_warps(
		&w, each_sum(&w, &s, visit->make(visit->of, sum_at(&w, g->sums, &s), row, column)));
}

static Block finish_element(void *of, const Value *sum, const Ix *row, const Ix *column)
{
	const Tiling *g = of;
	row = tiling_side_at(g, &g->rows, row);
	column = tiling_side_at(g, &g->columns, column);
	Block body = tiling_finish(g, sum, row, column);
	body = if_below(g, column, sized(g, g->columns.group->extent), body);
	return if_below(g, row, sized(g, g->rows.group->extent), body);
}

Block mma_elements(Tiling *g) { return mma_each(g, &(ElementVisit){finish_element, g}); }
