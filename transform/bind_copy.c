/* Copies of the steps of an operand to shared memory, by all threads of a block. */
#include "transform/bind_tiling.h"

/* Iterators of the loops in a copy. */
typedef struct CopyIters {
	IterVar outer, inner, time, lane;
} CopyIters;

/* ---- copies ---- */

static CopyIters copy_iters(Tiling *g)
{
	return (CopyIters){tiling_iter(g, "thread"), tiling_iter(g, "lane"), tiling_iter(g, "part"),
			   tiling_iter(g, "element")};
}

/* Along the side, and along the sum from a beginning, of what a thread copies; `element` of the four. */
static const Ix *place_along(const Tiling *g, const Side *side, const CopyIters *i,
			     const Ix *element)
{
	const Ix *base = number(g, 0);
	if (side->operand->sum_first)
		return plus(g, times(g, iter(g, i->time), side->threads[0]), iter(g, i->outer));
	base = plus(g, times(g, iter(g, i->time), side->threads[1]), iter(g, i->inner));
	return plus(g, times(g, base, QUAD), element);
}

static const Ix *step_along(const Tiling *g, const Side *side, const CopyIters *i,
			    const Ix *element)
{
	return side->operand->sum_first ? plus(g, times(g, iter(g, i->inner), QUAD), element)
					: iter(g, i->outer);
}

/* In the operand: a place behind the last one is the last one. Of four that are read at once the first decides. */
static const Ix *source_along(const Tiling *g, const Side *side, const CopyIters *i)
{
	Sizes *sizes = g->program->sizes;
	bool four = side->wide && !side->operand->sum_first;
	const Ix *element = iter(g, i->lane), *from = times(g, iter(g, side->tile), side->width);
	const Ix *at = plus(g, from, place_along(g, side, i, four ? number(g, 0) : element));
	const Ix *last = sized(g, size_plus(sizes, side->group->extent, four ? -QUAD : -1));
	at = ix_binary(g->program, IX_MIN, at, last);
	return four ? plus(g, at, element) : at;
}

const Ix *tiling_shared(const Tiling *g, const Side *side, const Ix *const *stage_step,
			const Ix *along)
{
	const Ix *at = plus(g, times(g, stage_step[0], g->tile->steps * side->pitch),
			    times(g, stage_step[1], side->pitch));
	return plus(g, at, along);
}

static Block threads_of(const Tiling *g, const Side *side, const CopyIters *i, Block body)
{
	body = loop_of(g, LOOP_UNROLL, i->time, side->times, body);
	body = loop_of(g, LOOP_BLOCK, i->inner, side->threads[1], body);
	return loop_of(g, LOOP_BLOCK, i->outer, side->threads[0], body);
}

static const Value *next_at(const Tiling *g, const Side *side, const CopyIters *i)
{
	const Ix *ixs[] = {iter(g, i->outer), iter(g, i->inner), iter(g, i->time),
			   iter(g, i->lane)};
	return tiling_cell(g, side->next, ixs);
}

/* next = the steps from `k` on */
Block tiling_fetch(Tiling *g, const Side *side, const Ix *k)
{
	CopyIters i = copy_iters(g);
	const Ix *step = plus(g, k, step_along(g, side, &i, iter(g, i.lane)));
	const Value *value = tiling_factor(g, side, source_along(g, side, &i), step);
	Block body =
		block_one(g->arena, stmt_set_at(g->arena, next_at(g, side, &i), OP_NONE, value));
	LoopKind lanes = side->wide ? LOOP_VECTOR : LOOP_UNROLL;
	return threads_of(g, side, &i, loop_of(g, lanes, i.lane, QUAD, body));
}

/* shared[stage] = next */
Block tiling_store(Tiling *g, const Side *side, const Ix *stage)
{
	CopyIters i = copy_iters(g);
	const Ix *step = step_along(g, side, &i, iter(g, i.lane));
	const Ix *at = tiling_shared(g, side, (const Ix *[]){stage, step},
				     place_along(g, side, &i, iter(g, i.lane)));
	const Stmt *store = stmt_store(g->arena, side->shared, at, OP_NONE, next_at(g, side, &i));
	LoopKind lanes = side->operand->sum_first ? LOOP_UNROLL : LOOP_VECTOR;
	return threads_of(g, side, &i, loop_of(g, lanes, i.lane, QUAD, block_one(g->arena, store)));
}

/* shared[0] = the steps from `k` on, as far as there are any */
Block tiling_rest(Tiling *g, const Side *side, const Ix *k)
{
	CopyIters i = copy_iters(g);
	Side one = *side;
	one.wide = false;
	const Ix *along = step_along(g, side, &i, iter(g, i.lane)), *step = plus(g, k, along);
	const Value *value = tiling_factor(g, side, source_along(g, &one, &i), step);
	const Ix *at = tiling_shared(g, side, (const Ix *[]){number(g, 0), along},
				     place_along(g, side, &i, iter(g, i.lane)));
	Block body = block_one(g->arena, stmt_store(g->arena, side->shared, at, OP_NONE, value));
	body = if_below(g, step, sized(g, g->product->sum.extent), body);
	return threads_of(g, side, &i, loop_of(g, LOOP_UNROLL, i.lane, QUAD, body));
}

/* ---- set up ---- */

static BufferId new_shared(Tiling *g, const char *name, int64_t n)
{
	Program *program = g->program;
	BufferId id = (BufferId)program->buffers.n;
	Buffer buffer = {.kind = BUFFER_TEMP,
			 .name = sym_printf(program->symbols, "%s_%s", g->kernel->name, name),
			 .span = g->kernel->span,
			 .site = g->kernel->site,
			 .home = id,
			 .dtype = DTYPE_F32,
			 .elements = size_const(program->sizes, n),
			 .offset = size_const(program->sizes, 0),
			 .routine = g->routine,
			 .scratch = true,
			 .shared = true};
	PUSH(program->arena, program->buffers, buffer);
	return id;
}

/* Four elements along what lies side by side, that begin at a multiple of four. */
static bool reads_wide(Tiling *g, const Side *side)
{
	CopyIters i = copy_iters(g);
	Side wide = *side;
	wide.wide = true;
	const Ix *step = plus(g, iter(g, g->k), step_along(g, side, &i, iter(g, i.lane)));
	const Value *value = tiling_factor(g, &wide, source_along(g, &wide, &i), step);
	return (side->operand->sum_first || tiling_by_four(g, side->group->extent)) &&
	       tiling_value_is_wide(g, value, i.lane);
}

Side tiling_side(Tiling *g, bool rows)
{
	const ProductOperand *operand =
		rows ? &g->product->row_operand : &g->product->column_operand;
	const LoopGroup *group = rows ? &g->product->rows : &g->product->columns;
	int64_t threads =
		g->tile->rows / g->tile->thread_rows * g->tile->columns / g->tile->thread_columns;
	Side side = {.operand = operand, .group = group};
	side.width = rows ? g->tile->rows : g->tile->columns;
	side.tile = tiling_iter(g, rows ? "rows" : "columns");
	int64_t along = operand->sum_first ? g->tile->steps / QUAD : g->tile->steps;
	side.threads[0] = operand->sum_first ? threads / along : along;
	side.threads[1] = operand->sum_first ? along : threads / along;
	side.times = side.width * g->tile->steps / (threads * QUAD);
	side.pitch = side.width + (operand->sum_first ? QUAD : 0);
	return side;
}

void tiling_finish_side(Tiling *g, Side *side)
{
	const char *name = side == &g->rows ? "rows" : "columns";
	side->wide = reads_wide(g, side);
	side->shared = new_shared(g, name, STAGES * g->tile->steps * side->pitch);
	side->next = tiling_local(
		g, (KernelLocal){.name = "next",
				 .rank = 4,
				 .extent = {(uint32_t)side->threads[0], (uint32_t)side->threads[1],
					    (uint32_t)side->times, QUAD},
				 .nthreads = 2});
}
