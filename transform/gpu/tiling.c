/* Iterators, locals and values of a product on its way to tiles. */
#include <string.h>

#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/verify_block.h"
#include "loops/walk.h"
#include "transform/gpu/places.h"

IterVar tiling_iter(Tiling *g, const char *name) { return bind_iter(g->program, g->kernel, name); }

LocalId tiling_local(Tiling *g, KernelLocal local)
{
	local.dtype = tiling_dtype(g);
	return bind_local(g->program, g->kernel, local);
}

const Value *tiling_element(const Tiling *g, LocalId local, const Ix *const *ixs)
{
	uint32_t n = g->kernel->locals[local].rank;
	const Ix **own = ARENA_ARRAY(g->arena, const Ix *, n + 1);
	memcpy(own, ixs, n * sizeof *own);
	return value_local(g->arena, g->kernel, local, own, n);
}

Block tiling_rewrite(const Tiling *g, const Ix **iters, Block block)
{
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	return rewrite_block(&rewrite, block);
}

/* ---- factors ---- */

enum { PLACE_PARTS = 3 };

/* A place in a group as a sum, each part a multiple of its unit and what is behind it less than that; the last unit is 1. */
typedef struct GroupPlace {
	const Ix *parts[PLACE_PARTS];
	int64_t units[PLACE_PARTS];
} GroupPlace;

static const Ix *parts_of(const Tiling *g, const GroupPlace *place, int from, int to)
{
	const Ix *all = number(g, 0);
	for (int i = from; i < to; i++)
		all = plus(g, all, place->parts[i]);
	return all;
}

/* What is less than a unit is in one iteration of the outer loops where the unit divides the innermost one's, so that
 * the first parts alone say which. */
static void put_operand(const Tiling *g, const Ix **iters, const ProductOperand *operand,
			const LoopGroup *group, const GroupPlace *place)
{
	Sizes *sizes = g->program->sizes;
	const Stmt *inner = group->loops[group->n - 1];
	int first = 0;
	if (operand_goes_as_one(g->program, operand, group)) {
		group_put(g->program, iters, group, parts_of(g, place, 0, PLACE_PARTS));
		return;
	}
	while (!size_divides(sizes, size_const(sizes, place->units[first]), inner->hi->size))
		first++;
	const Ix *at = parts_of(g, place, 0, first + 1);
	at = ix_divided(g->program, IX_DIV, at, size_const(sizes, place->units[first]));
	group_put_each(g->program, iters, group, at, place->units[first]);
	iters[inner->iter] =
		plus(g, iters[inner->iter], parts_of(g, place, first + 1, PLACE_PARTS));
}

static int64_t unit_of(const TilePlace *place, const Ix *element)
{
	return element->kind == IX_ITER ? place->unit : 1;
}

bool tiling_is_held(const Tiling *g, const Side *side)
{
	return operand_goes_as_one(g->program, side->operand, side->group);
}

bool tiling_takes_divisions(const Tiling *g, const Side *side)
{
	bool known = true;
	int64_t n;
	for (uint32_t i = 1; i < side->group->n; i++)
		known &= size_is_const(g->program->sizes, side->group->loops[i]->hi->size, &n);
	return !known && side->operand->sum_first && !tiling_is_held(g, side);
}

static const Value *place_of_loop(const Tiling *g, const Side *side, uint32_t loop,
				  const TilePlace *at)
{
	return tiling_element(g, side->places[loop], at->thread);
}

/* place[thread, lane, time] = the loop's iteration there */
static void set_places(Tiling *g, Side *side, const TilePlace *place, Body *sets)
{
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	GroupPlace at = {{place->along, number(g, 0), number(g, 0)}, {1, 1, 1}};
	put_operand(g, iters, side->operand, side->group, &at);
	for (uint32_t i = 0; i < side->group->n; i++) {
		const Value *value =
			value_index(g->arena, DTYPE_I64, iters[side->group->loops[i]->iter]);
		PUSH(g->arena, sets->stmts,
		     stmt_set_at(g->arena, place_of_loop(g, side, i, place), OP_NONE, value));
	}
}

void tiling_find_places(Tiling *g, Side *side, const TilePlace *place, const int64_t *threads)
{
	Body sets = {0};
	const Ix *const *thread = place->thread;
	for (uint32_t i = 0; i < side->group->n; i++) {
		KernelLocal local = {.name = "place", .dtype = DTYPE_I64, .rank = 3, .nthreads = 2};
		for (int k = 0; k < 3; k++)
			local.extent[k] = (uint32_t)threads[k];
		side->places[i] = bind_local(g->program, g->kernel, local);
		PUSH(g->arena, g->body.stmts,
		     stmt_local(g->arena, side->places[i],
				value_const(g->arena, DTYPE_I64, (Scalar){.i = 0})));
	}
	set_places(g, side, place, &sets);
	Block body = loop_of(g, LOOP_UNROLL, thread[2]->iter, threads[2], body_block(&sets));
	body = loop_of(g, LOOP_BLOCK, thread[1]->iter, threads[1], body);
	add(g, &g->body, loop_of(g, LOOP_BLOCK, thread[0]->iter, threads[0], body));
	side->has_places = true;
}

/* The iterators of the side's loops. */
static void put_side(const Tiling *g, const Ix **iters, const Side *side, const TilePlace *place)
{
	GroupPlace at = {{place->along, place->along_element, number(g, 0)},
			 {unit_of(place, place->along_element), 1, 1}};
	if (!side->has_places) {
		put_operand(g, iters, side->operand, side->group, &at);
		return;
	}
	for (uint32_t i = 0; i < side->group->n; i++)
		iters[side->group->loops[i]->iter] =
			ix_value(g->arena, place_of_loop(g, side, i, place));
}

/* What is to be in front of the end of the side: of elements that end with it, if the first of them does, the first. */
static const Ix *along_of(const Tiling *g, const Side *side, const TilePlace *place)
{
	Sizes *sizes = g->program->sizes;
	Size unit = size_const(sizes, unit_of(place, place->along_element));
	return size_divides(sizes, unit, side->group->extent)
		       ? place->along
		       : plus(g, place->along, place->along_element);
}

Taken tiling_take(const Tiling *g, const Side *side, const TilePlace *place, bool last)
{
	const ProductOperand *operand = side->operand;
	const Ix **iters = kernel_iters(g->arena, g->kernel, 0);
	GroupPlace sum_place = {{place->round, place->step, place->step_element},
				{g->tile->steps, unit_of(place, place->step_element), 1}};
	put_side(g, iters, side, place);
	put_operand(g, iters, operand, &g->product->sum, &sum_place);
	Rewrite rewrite = {.program = g->program, .iters = iters, .span = g->kernel->span};
	Cond *conds = ARENA_ARRAY(g->arena, Cond, operand->nconds + 2);
	uint32_t n = 0;
	if (place->open || !tiling_is_held(g, side))
		conds[n++] =
			(Cond){COND_LT, along_of(g, side, place), sized(g, side->group->extent)};
	if (last)
		conds[n++] = (Cond){COND_LT, parts_of(g, &sum_place, 0, PLACE_PARTS),
				    sized(g, g->product->sum.extent)};
	for (uint32_t i = 0; i < operand->nconds; i++) {
		const Cond *cond = &operand->conds[i];
		conds[n++] = (Cond){cond->kind, rewrite_ix(&rewrite, cond->a),
				    rewrite_ix(&rewrite, cond->b)};
	}
	return (Taken){rewrite_alone(&rewrite, operand->value), conds, n};
}

const Value *tiling_element_as_it_is(const Tiling *g, const Side *side, const Value *factor)
{
	Dtype dtype = g->program->buffers.at[side->shared].dtype;
	const Value *load = factor->kind == VALUE_CAST ? factor->args[0] : factor;
	return load->kind == VALUE_LOAD && g->program->buffers.at[load->buffer].dtype == dtype
		       ? load
		       : NULL;
}

/* ---- wide accesses ---- */

typedef struct Wide {
	const Tiling *g;
	const Multiples *multiples;
	TilingLanes lanes;
	bool wrong;
} Wide;

/* May the lanes access the buffer at once there? */
static void see_wide(Wide *w, BufferId buffer, const Ix *ix)
{
	const Tiling *g = w->g;
	IterVar lane = w->lanes.iter;
	if (!ix_uses(ix, lane))
		return;
	bool contiguous = ix_moves_by(g->program, ix, lane, 1);
	const Ix *first = ix_of_first_lane(g->program, ix, lane);
	w->wrong |= !contiguous ||
		    !lanes_are_wide(g->program->buffers.at[buffer].dtype, w->lanes.n) ||
		    ix_multiple(w->multiples, first) % w->lanes.n != 0;
}

static void see_wide_load(void *of, const Value *value)
{
	Wide *w = of;
	if (value->kind == VALUE_LOAD)
		see_wide(w, value->buffer, value->ix);
	w->wrong |= value->kind == VALUE_INDEX && ix_uses(value->ix, w->lanes.iter);
}

/* Nothing is known of the new iterators but that k goes in steps. */
static Multiples multiples_of(const Tiling *g)
{
	Multiples m = multiples_unknown(g->arena, g->program, g->kernel);
	m.iters[g->k] = g->tile->steps;
	return m;
}

bool tiling_value_is_wide(const Tiling *g, const Value *value, TilingLanes lanes)
{
	Multiples multiples = multiples_of(g);
	Wide wide = {g, &multiples, lanes, false};
	value_each(value, see_wide_load, &wide);
	return !wide.wrong;
}

static bool is_wide(const Tiling *g, BufferId buffer, const Ix *ix, TilingLanes lanes)
{
	Multiples multiples = multiples_of(g);
	Wide wide = {g, &multiples, lanes, false};
	see_wide(&wide, buffer, ix);
	return !wide.wrong;
}

bool tiling_block_is_wide(const Tiling *g, Block block, TilingLanes lanes)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool store = stmt->kind == LOOP_STORE;
		if (!tiling_value_is_wide(g, stmt->value, lanes) ||
		    (store && stmt->acc != OP_NONE) ||
		    (store && !is_wide(g, stmt->buffer, stmt->ix, lanes)))
			return false;
	}
	return true;
}

bool tiling_by_four(const Tiling *g, Size extent)
{
	return size_divides(g->program->sizes, size_const(g->program->sizes, QUAD), extent);
}
