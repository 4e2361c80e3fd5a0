/* Loops around a value.
 *
 *   elementwise      for R: result[R] = value
 *   sum in a local   for R: acc = 0; for K: acc += value; result[R] = acc        innermost is reduced
 *   sum in place     for R': { for v: result = 0; for K: for v: result += value }  innermost is v of R
 *                    (in lanes where it is long: lanes.c)
 *   scattered        (filled before) for R, K: result += value                   elements repeat
 *
 * R are the iterators of the result, K the reduced ones. A root that finishes a reduction
 * computes itself from the sum where that is complete. Guarded indices bound loops
 * (nest/bounds.c); a schedule may ask for an order of the loops (nest_order.c).
 *
 * A nest is built for each piece of a projection: loops and values (nest/set_up.c), then a plan
 * (nest_plan.c), which is one of these forms, or tiles (tile.c). Here it is emitted.
 */
#include <string.h>

#include "lower/kernel.h"
#include "lower/nest/emit.h"
#include "lower/nest/mask.h"
#include "lower/nest_plan.h"
#include "lower/tile/emit.h"

/* ---- the forms ---- */

static bool finishes(const Nest *nest) { return nest->root != nest->node; }

/* Elementwise or scattered: one store an element of the loops. */
static void emit_stores(Nest *nest)
{
	Gen *gen = nest->gen;
	Block store = nest_step(nest, gen_store(gen, nest->target, nest->at, nest->value));
	Block body = nest_guarded_block(nest, 0, store);
	gen_append(gen, &gen->top, nest_wrap(nest, 0, nest->nloops, 0, body));
}

/* ... of which a mask hides some: there the row's one value is stored. */
static void emit_masked_stores(Nest *nest, const Masked *masked)
{
	Gen *gen = nest->gen;
	uint32_t last = nest->nloops - 1;
	Body row = {0};
	LoopMask *mask = nest_mask(nest, masked);
	const Value *value = gen_let(gen, &row, "masked", masked->value);
	mask->masked = block_of(gen, gen_store(gen, nest->target, nest->at, value));
	mask->run = nest_target(nest)->line_bytes / (int64_t)dtype_bytes(value->dtype);
	Block store = nest_step(nest, gen_store(gen, nest->target, nest->at, nest->value));
	Block loop = nest_wrap(nest, last, last + 1, 0, store);
	Stmt *whole = stmt_with(gen->arena, loop.stmts[0], loop.stmts[0]->body);
	whole->mask = mask;
	PUSH(gen->arena, row.stmts, whole);
	gen_append(gen, &gen->top, nest_wrap(nest, 0, last, 0, body_block(&row)));
}

static void emit_elements(Nest *nest, const NestPlan *plan)
{
	if (plan->cuts)
		nest_emit_borders(nest, plan->cuts);
	else if (nest->phases)
		nest_emit_phases(nest);
	else if (nest->root == nest->node && nest_stores_between(nest->gen->lower, nest->root))
		nest_emit_between(nest);
	else if (plan->masked)
		emit_masked_stores(nest, plan->masked);
	else
		emit_stores(nest);
	nest_note_windows(nest);
}

static void emit_short(Nest *nest, const NestPlan *plan)
{
	if (plan->cuts)
		nest_emit_borders(nest, plan->cuts);
	else
		nest_emit_short(nest, plan->reduce, plan->steps);
}

/* What the sum of an element begins with. */
static const Value *sum_so_far(const Nest *nest)
{
	return nest->carries ? value_load(nest->gen->program, nest->target.buffer, nest->at)
			     : nest_neutral(nest);
}

/* The loops of the result around a local that the reduced loops add to. Guards may cut reduced
 * loops only: an element whose sum is empty is stored all the same. */
static void emit_local_sum(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	uint32_t n = nest->nresult;
	Body element = {0};
	const Value *acc = gen_let(gen, &element, "acc", sum_so_far(nest));
	Block add = nest_step(nest, stmt_set_at(gen->arena, acc, reduce, nest->value));
	Block inner = nest_guarded_block(nest, n, add);
	gen_append(gen, &element, nest_wrap(nest, n, nest->nloops, n, inner));
	nest_store_finished(nest, acc, &element);
	gen_append(gen, &gen->top, nest_wrap(nest, 0, n, nest->nloops, body_block(&element)));
}

/* The innermost loop, whole, around one store. */
static Block whole_row(Nest *nest, Body *body, const Value *value)
{
	Gen *gen = nest->gen;
	uint32_t last = nest->nloops - 1;
	PUSH(gen->arena, body->stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, OP_NONE, value));
	return nest_wrap(nest, last, last + 1, nest->nloops, body_block(body));
}

/* Rows of the last result loop: cleared, added to by each step of the sum, and finished, all
 * while they are near. */
static void emit_row_sum(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	uint32_t outer = nest->nresult - 1;
	Body clear = {0}, rows = {0}, finish = {0};
	Block add = nest_step(
		nest, stmt_store(gen->arena, nest->target.buffer, nest->at, reduce, nest->value));
	Block inner = nest_guarded_block(nest, outer, add);
	if (!nest->carries)
		gen_append(gen, &rows, whole_row(nest, &clear, nest_neutral(nest)));
	gen_append(gen, &rows, nest_wrap(nest, outer, nest->nloops, outer, inner));
	if (finishes(nest)) {
		const Value *sum = value_load(gen->program, nest->target.buffer, nest->at);
		const Value *value = nest_finish(nest, sum, &finish);
		gen_append(gen, &rows, whole_row(nest, &finish, value));
	}
	gen_append(gen, &gen->top, nest_wrap(nest, 0, outer, nest->nloops, body_block(&rows)));
}

/* ---- as it is planned ---- */

static Block copy_loops(Gen *gen, BufferId to, const CopyLoops *loops, uint32_t n)
{
	Body body = {0};
	for (uint32_t i = 0; i < n; i++) {
		const CopyLoops *loop = &loops[i];
		Block inner =
			loop->value ? (Block){0} : copy_loops(gen, to, loop->inner, loop->ninner);
		PUSH(gen->arena, body.stmts,
		     loop->value ? stmt_store(gen->arena, to, loop->at, OP_NONE, loop->value)
				 : stmt_for(gen->arena, loop->var, loop->lo, loop->hi, inner));
	}
	return body_block(&body);
}

static void emit_copies(const Nest *nest)
{
	Gen *gen = nest->gen;
	for (size_t i = 0; i < nest->copies.n; i++) {
		const OperandCopy *copy = &nest->copies.at[i];
		gen_append(gen, &gen->top,
			   copy_loops(gen, copy->buffer, copy->loops, copy->nloops));
	}
}

static void emit_planned(Nest *nest, NestPlan *plan)
{
	emit_copies(nest);
	if (plan->form == NEST_TILES) {
		tile_emit(plan->tile);
		return;
	}
	if (plan->sums)
		nest_note_sum(nest, plan->reduce, plan->order);
	switch (plan->form) {
	case NEST_TILES: break;
	case NEST_STORES: emit_elements(nest, plan); break;
	case NEST_LOCAL: emit_local_sum(nest, plan->reduce); break;
	case NEST_ROWS: emit_row_sum(nest, plan->reduce); break;
	case NEST_ROW_LOCAL: nest_emit_row(nest, plan->reduce, plan->lanes); break;
	case NEST_SHORT: emit_short(nest, plan); break;
	case NEST_LANES: lanes_emit(nest, plan); break;
	case NEST_PARTS: lanes_parts_emit(nest, plan->reduce, plan->order, plan->parts); break;
	}
}

/* The block with places: sums have the reduction's, all else that of the operation that the kernel ends with. */
static Block with_places(Arena *arena, Block block, Span sum, Span rest)
{
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		Block inner = with_places(arena, block.stmts[i]->body, sum, rest);
		Stmt *stmt = stmt_with(arena, block.stmts[i], inner);
		bool holds = inner.n > 0 && inner.stmts[0]->span.start == sum.start;
		if (span_is_none(stmt->span))
			stmt->span = stmt->acc != OP_NONE || holds ? sum : rest;
		PUSH(arena, body.stmts, stmt);
	}
	return body_block(&body);
}

/* A planned nest that is emitted: a copy, since the plan stays as it is. */
typedef struct Emission {
	Nest nest;
	NestPlan plan;
	Tile tile;
} Emission;

static void begin_nest(Emission *e, Gen *gen, const PlannedNest *planned)
{
	const Nest *nest = &planned->nest;
	*e = (Emission){.nest = *nest, .plan = planned->plan};
	e->nest.gen = gen;
	e->nest.by_iter = ARENA_ARRAY(gen->arena, const Ix *, nest->proj->niters + 1);
	memcpy(e->nest.by_iter, nest->by_iter, nest->proj->niters * sizeof *nest->by_iter);
	gen->entry = planned->entry;
	gen->inside = planned->inside;
	if (planned->plan.form != NEST_TILES)
		return;
	e->tile = *planned->plan.tile;
	e->tile.nest = &e->nest;
	e->plan.tile = &e->tile;
}

/* Is the value that is planned a step's, as it is? Other forms have values of their own. */
static bool steps_by_loops(const NestPlan *plan)
{
	return plan->form == NEST_LOCAL || plan->form == NEST_ROWS ||
	       (plan->form == NEST_STORES && !plan->cuts);
}

/* `previous`: the nest of the piece before; NULL: it is the first. */
static void emit_nest(Gen *gen, const PlannedNest *planned, const PlannedNest *previous)
{
	Emission e;
	Body before = gen->top;
	gen->top = (Body){0};
	begin_nest(&e, gen, planned);
	if (e.nest.inner.n > 0 && !e.nest.phases && steps_by_loops(&e.plan))
		nest_values(&e.nest); /* with locals of the kernel */
	emit_planned(&e.nest, &e.plan);
	nest_note_names(&e.nest);
	Block block = with_places(gen->arena, body_block(&gen->top),
				  lower_node(gen->lower, e.nest.node)->span,
				  lower_node(gen->lower, e.nest.root)->span);
	gen->top = before;
	if (previous && nests_may_join(previous, planned))
		nests_append(gen, &gen->top, block);
	else
		gen_append(gen, &gen->top, block);
}

Kernel nest_packing(const KernelPlan *plan, const PlannedNest *planned)
{
	Emission e;
	Gen gen = gen_emit(&plan->gen);
	begin_nest(&e, &gen, planned);
	return tile_packing(&e.tile);
}

void nests_emit(Gen *gen, const KernelPlan *plan)
{
	for (uint32_t i = 0; i < plan->nnests; i++)
		emit_nest(gen, &plan->nests[i], i > 0 ? &plan->nests[i - 1] : NULL);
}

void nest_emit_reached(Gen *gen, NodeId node, BufferId from, StoreTarget to)
{
	const Proj *proj = lower_proj(gen->lower, node);
	for (uint32_t i = 0; i < proj->npieces; i++) {
		Nest nest = {.gen = gen, .node = node, .root = node, .target = to, .proj = proj};
		nest.piece = &proj->pieces[i];
		nest_set_up_result(&nest);
		nest.value = value_load(gen->program, from, nest.at);
		emit_stores(&nest);
	}
}

void nest_fill_over(Gen *gen, IterVar iter, BufferId buffer, Scalar value)
{
	const Buffer *to = &gen->program->buffers.at[buffer];
	const Value *constant = value_const(gen->arena, to->dtype, value);
	const Stmt *store =
		stmt_store(gen->arena, buffer, ix_iter(gen->arena, iter), OP_NONE, constant);
	gen_append(gen, &gen->top, gen_over(gen, iter, to->elements, block_of(gen, store)));
}

void nest_fill(Gen *gen, BufferId buffer, Scalar value)
{
	IterVar e = gen_iter(gen, "e");
	nest_fill_over(gen, e, buffer, value);
}
