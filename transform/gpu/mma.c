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
 */
#include "transform/gpu/mma.h"

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
		local.extent[local.rank++] = MATRIX_PARTS;
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
	return tiling_element(w->g, o->local, w->g->product->tensor.split ? split : split + 1);
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
	PUSH(g->arena, body.stmts,
	     stmt_set_at(w->g->arena, operand_at(w, o, 0, of, at), OP_NONE, value));
	if (g->product->tensor.split) {
		const Value *left[] = {value, operand_at(w, o, 0, of, at)};
		PUSH(g->arena, body.stmts,
		     stmt_set_at(w->g->arena, operand_at(w, o, 1, of, at), OP_NONE,
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
	Block one = mma_loops(w, row, matrix_rows(op, o->role), column, matrix_columns(op, o->role),
			      matrix_set(w, o, value, of, at));
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
	Block one = block_one(g->arena, stmt_set_at(w->g->arena, tiling_element(w->g, g->parts, at),
						    OP_ADD, term));
	one = loop_of(g, LOOP_WARP, k, w->matrix->k, one);
	one = mma_loops(w, i, w->matrix->m, j, w->matrix->n, one);
	one = loop_of(g, LOOP_UNROLL, q, w->across, one);
	add(g, body, loop_of(g, LOOP_UNROLL, p, w->down, one));
}

static void multiply_parts(const Warps *w, Body *body, const Operand *a, const Operand *b)
{
	MatrixPair pairs[MATRIX_PAIRS];
	int n = mma_pairs(w->g, pairs);
	for (int i = 0; i < n; i++)
		multiply(w, body, a, pairs[i].a, b, pairs[i].b);
}

Block mma_steps(Tiling *g, const Ix *stage)
{
	Warps w = mma_warps(g);
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
	return mma_in_warps(&w, body_block(&body));
}
