/* Copies of the steps of an operand to shared memory, by all threads of a block. */
#include "loops/fragment.h"
#include "loops/walk.h"
#include "transform/gpu/places.h"

/* ---- copies ---- */

CopyIters tiling_copy_iters(Tiling *g)
{
	return (CopyIters){tiling_iter(g, "thread"), tiling_iter(g, "lane"), tiling_iter(g, "part"),
			   tiling_iter(g, "element")};
}

/* Along the side, and along the sum from a beginning, where the four begin that a thread copies. */
static const Ix *place_along(const Tiling *g, const Side *side, const CopyIters *i)
{
	if (side->operand->sum_first)
		return plus(g, times(g, iter(g, i->time), side->threads[0]), iter(g, i->outer));
	return times(g, plus(g, times(g, iter(g, i->time), side->threads[1]), iter(g, i->inner)),
		     QUAD);
}

static const Ix *step_along(const Tiling *g, const Side *side, const CopyIters *i)
{
	return side->operand->sum_first ? times(g, iter(g, i->inner), QUAD) : iter(g, i->outer);
}

/* Of the four, which lie along the side or along the sum, the one at hand, in the round from a step on. */
static TilePlace place_of(const Tiling *g, const Side *side, const CopyIters *i, const Ix *round)
{
	const Ix *element = iter(g, i->lane), *none = number(g, 0);
	bool sum_first = side->operand->sum_first;
	return (TilePlace){.along = place_along(g, side, i),
			   .along_element = sum_first ? none : element,
			   .round = round,
			   .step = step_along(g, side, i),
			   .step_element = sum_first ? element : none,
			   .unit = QUAD,
			   .thread = {iter(g, i->outer), iter(g, i->inner), iter(g, i->time)}};
}

/* In the operand: a place behind the last one is the last one, or is not read at all. Of four that are read at
 * once the first decides. */
static TilePlace source_of(const Tiling *g, const Side *side, const CopyIters *i, const Ix *round)
{
	Sizes *sizes = g->program->sizes;
	TilePlace place = place_of(g, side, i, round);
	bool four = side->wide && !side->operand->sum_first;
	if (!four) {
		place.along = plus(g, place.along, place.along_element);
		place.along_element = number(g, 0);
	}
	const Ix *last = sized(g, size_plus(sizes, side->group->extent, four ? -QUAD : -1));
	place.along = tiling_side_at(g, side, place.along);
	if (tiling_is_held(g, side))
		place.along = ix_binary(g->program, IX_MIN, place.along, last);
	return place;
}

int64_t tiling_stage_elements(const Tiling *g, const Side *side)
{
	return side->pitch * (side->steps_contiguous ? side->width : g->tile->steps);
}

const Ix *tiling_shared(const Tiling *g, const Side *side, const Ix *const *stage_step,
			const Ix *along)
{
	const Ix *far = side->steps_contiguous ? along : stage_step[1];
	const Ix *near = side->steps_contiguous ? stage_step[1] : along;
	const Ix *at = plus(g, times(g, stage_step[0], tiling_stage_elements(g, side)),
			    times(g, far, side->pitch));
	return plus(g, at, near);
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
	return tiling_element(g, side->next, ixs);
}

static const Value *no_element(const Tiling *g, const Side *side)
{
	return value_const(g->arena, g->kernel->locals[side->next].dtype, (Scalar){.f = 0});
}

/* Sets what is on its way to the factor, or, where a condition does not hold, to 0. */
static Block set_next(const Tiling *g, const Side *side, const CopyIters *i, const Taken *taken)
{
	LoopKind lanes = side->wide ? LOOP_VECTOR : LOOP_UNROLL;
	const Value *next = next_at(g, side, i), *own = taken->value;
	own = next->dtype == own->dtype ? own : tiling_element_as_it_is(g, side, own);
	Block body = block_one(g->arena, stmt_set_at(g->arena, next, OP_NONE, own));
	Body both = {0};
	if (!taken->nconds)
		return loop_of(g, lanes, i->lane, QUAD, body);
	Block clear =
		block_one(g->arena, stmt_set_at(g->arena, next, OP_NONE, no_element(g, side)));
	if (side->wide) {
		clear = loop_of(g, lanes, i->lane, QUAD, clear);
		body = loop_of(g, lanes, i->lane, QUAD, body);
	}
	add(g, &both, clear);
	PUSH(g->arena, both.stmts, stmt_if(g->arena, taken->conds, taken->nconds, body));
	body = body_block(&both);
	return side->wide ? body : loop_of(g, lanes, i->lane, QUAD, body);
}

Block tiling_load(Tiling *g, const Side *side, const Ix *k, bool last)
{
	CopyIters i = tiling_copy_iters(g);
	Side own = *side;
	own.wide = side->wide && !last;
	TilePlace place = source_of(g, &own, &i, k);
	Taken taken = tiling_take(g, side, &place, last);
	return threads_of(g, side, &i, set_next(g, &own, &i, &taken));
}

Block tiling_store(Tiling *g, const Side *side, const Ix *stage)
{
	CopyIters i = tiling_copy_iters(g);
	TilePlace place = place_of(g, side, &i, number(g, 0));
	const Ix *stage_step[] = {stage, plus(g, place.step, place.step_element)};
	const Ix *at =
		tiling_shared(g, side, stage_step, plus(g, place.along, place.along_element));
	Dtype dtype = g->program->buffers.at[side->shared].dtype;
	const Value *next = next_at(g, side, &i);
	next = dtype == next->dtype ? next : value_cast(g->arena, dtype, next);
	const Stmt *store = stmt_store(g->arena, side->shared, at, OP_NONE, next);
	bool along_lanes = side->steps_contiguous == side->operand->sum_first;
	LoopKind lanes = along_lanes ? LOOP_VECTOR : LOOP_UNROLL;
	return threads_of(g, side, &i, loop_of(g, lanes, i.lane, QUAD, block_one(g->arena, store)));
}

void tiling_copy_places(Tiling *g, Side *side)
{
	CopyIters i = tiling_copy_iters(g);
	TilePlace place = source_of(g, side, &i, number(g, 0));
	const int64_t threads[] = {side->threads[0], side->threads[1], side->times};
	tiling_find_places(g, side, &place, threads);
}

/* ---- set up ---- */

static Dtype shared_dtype(const Tiling *g)
{
	const TensorUse *tensor = &g->product->tensor;
	return tensor->used ? fragment_dtype(tensor->op) : tiling_dtype(g);
}

static BufferId new_shared(const Tiling *g, const char *name, int64_t n)
{
	return bind_shared(g->program, g->kernel, g->routine, (Buffer){.dtype = shared_dtype(g)},
			   n, name);
}

/* Four elements along what lies side by side, that begin at a multiple of four, of which all are read or none. */
static bool reads_wide(Tiling *g, const Side *side)
{
	CopyIters i = tiling_copy_iters(g);
	Side wide = *side;
	wide.wide = true;
	TilePlace place = source_of(g, &wide, &i, iter(g, g->k));
	Taken taken = tiling_take(g, side, &place, false);
	bool one = true;
	for (uint32_t c = 0; c < taken.nconds; c++)
		one &= !ix_uses(taken.conds[c].a, i.lane) && !ix_uses(taken.conds[c].b, i.lane);
	return one && (side->operand->sum_first || tiling_by_four(g, side->group->extent)) &&
	       tiling_value_is_wide(g, taken.value, (TilingLanes){i.lane, QUAD});
}

/* Matrices lie as the operand does. The rooms between rows let 8 of them be read at once, from different banks. */
static void lay_out_matrices(const Tiling *g, Side *side)
{
	bool wide = shared_dtype(g) == DTYPE_F32;
	side->steps_contiguous = side->operand->sum_first;
	side->pitch = side->steps_contiguous ? g->tile->steps + (wide ? 4 : 8) : side->width + 8;
}

Side tiling_side(Tiling *g, bool rows)
{
	const ProductOperand *operand =
		rows ? &g->product->row_operand : &g->product->column_operand;
	const LoopGroup *group = rows ? &g->product->rows : &g->product->columns;
	int64_t threads = tile_threads(g->tile, g->product->tensor.used);
	Side side = {.operand = operand, .group = group};
	side.width = rows ? g->tile->rows : g->tile->columns;
	side.tile = tiling_iter(g, rows ? "rows" : "columns");
	int64_t along = operand->sum_first ? g->tile->steps / QUAD : g->tile->steps;
	side.threads[0] = operand->sum_first ? threads / along : along;
	side.threads[1] = operand->sum_first ? along : threads / along;
	side.times = side.width * g->tile->steps / (threads * QUAD);
	side.rows = rows;
	side.name = rows ? "rows" : "columns";
	side.pitch = side.width + (operand->sum_first ? QUAD : 0);
	if (g->product->tensor.used)
		lay_out_matrices(g, &side);
	return side;
}

void tiling_declare_next(const Tiling *g, Body *body, const Side *side)
{
	PUSH(g->arena, body->stmts, stmt_local(g->arena, side->next, no_element(g, side)));
}

void tiling_finish_side(Tiling *g, Side *side)
{
	side->wide = reads_wide(g, side);
	side->shared = new_shared(g, side->name, STAGES * tiling_stage_elements(g, side));
	bool as_it_is = tiling_element_as_it_is(g, side, side->operand->value);
	side->next = bind_local(
		g->program, g->kernel,
		(KernelLocal){.name = "next",
			      .dtype = as_it_is ? shared_dtype(g) : tiling_dtype(g),
			      .rank = 4,
			      .extent = {(uint32_t)side->threads[0], (uint32_t)side->threads[1],
					 (uint32_t)side->times, QUAD},
			      .nthreads = 2});
}
