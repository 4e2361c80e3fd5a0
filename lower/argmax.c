/* The index of the greatest element along one axis.
 *
 * The search starts from the least value at index 0 and takes a later index only where its value is
 * greater: the first of equals, and NaN (which compares false) is never taken. A long axis whose
 * elements are neighbours is searched in 16 lanes, each the first of its own; among lanes the
 * greatest wins, then the least index. Where columns are neighbours instead, 64 are searched side
 * by side:
 *
 *   for v in 0..cols step 64
 *     local best : f32 [64] = -inf, at : i32 [64] = 0
 *     for a in 0..rows: for lane in 0..64: best[lane], at[lane] = x[a, v + lane], a where that is greater
 *     for lane in 0..64: y[v + lane] = at[lane]
 */
#include "base/diag.h"
#include "lower/lowering.h"

enum { LANES = 16, COLUMNS = 64, LEAST = 64 };

typedef struct Argmax {
	Gen *gen;
	NodeId node;
	const Proj *proj;
	const Piece *piece;
	const Ix **by_iter;
	uint32_t along; /* the reduced iterator; UINT32_MAX: an axis of size 1 */
	IterVar var;	/* its variable */
	LocalId best, at;
	uint32_t lanes; /* of these; 0: they are single elements */
	StoreTarget to;
} Argmax;

static const Ix *constant(const Argmax *a, int64_t value)
{
	return ix_const(a->gen->arena, a->gen->program->sizes, value);
}

static const Value *select_value(Gen *gen, const Value *cond, const Value *yes, const Value *no)
{
	const Value *args[3] = {value_cast(gen->arena, yes->dtype, cond), yes, no};
	return value_op(gen->arena, OP_WHERE, yes->dtype, args, 3);
}

static const Value *compare(Gen *gen, Op op, const Value *a, const Value *b)
{
	return value_op(gen->arena, op, a->dtype, (const Value *[]){a, b}, 2);
}

static const Value *read_local(const Argmax *a, LocalId local, const Ix *const *place)
{
	const Gen *gen = a->gen;
	Kernel view = {.locals = gen->locals.at, .nlocals = (uint32_t)gen->locals.n};
	return value_local(gen->arena, &view, local, place, gen->locals.at[local].rank);
}

static void set_local(const Argmax *a, Body *body, LocalId local, const Ix *const *place,
		      const Value *value)
{
	Stmt *set = (Stmt *)stmt_set(a->gen->arena, local, OP_NONE, value);
	set->ixs = place;
	set->nixs = a->gen->locals.at[local].rank;
	PUSH(a->gen->arena, body->stmts, set);
}

static const Ix *const *one_place(const Argmax *a, const Ix *ix)
{
	const Ix **place = ARENA_ARRAY(a->gen->arena, const Ix *, 1);
	place[0] = ix;
	return place;
}

static const Value *element(Argmax *a, const Ix *along, Body *body)
{
	Gen *gen = a->gen;
	if (a->along != UINT32_MAX)
		a->by_iter[a->along] = along;
	gen_enter(gen, body);
	const Ix **axes = access_indices(gen, a->node, a->piece, &a->piece->args[0], a->by_iter);
	const Value *value = node_value(gen, lower_node(gen->lower, a->node)->args[0], axes);
	return value_cast(gen->arena, dtype_wide(value->dtype), value);
}

/* best, at = value, along where the value is greater, at one place of both. */
static Block step(Argmax *a, const Ix *along, const Ix *lane)
{
	Gen *gen = a->gen;
	Body body = {0};
	const Value *value = element(a, along, &body);
	const Ix *const *place = a->lanes ? one_place(a, lane) : NULL;
	const Value *best = read_local(a, a->best, place), *at = read_local(a, a->at, place);
	const Value *greater = compare(gen, OP_GT, value, best);
	const Value *here = value_index(gen->arena, at->dtype, along);
	set_local(a, &body, a->at, place, select_value(gen, greater, here, at));
	set_local(a, &body, a->best, place, select_value(gen, greater, value, best));
	return body_block(&body);
}

static const Stmt *loop(const Argmax *a, IterVar iter, const Ix *lo, const Ix *hi, Block body)
{
	return stmt_for(a->gen->arena, iter, lo, hi, body);
}

static Block single(Gen *gen, const Stmt *stmt)
{
	const Stmt **stmts = ARENA_ARRAY(gen->arena, const Stmt *, 1);
	stmts[0] = stmt;
	return (Block){stmts, 1};
}

static void append(Gen *gen, Body *body, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		PUSH(gen->arena, body->stmts, block.stmts[i]);
}

static void declare(Argmax *a, Body *cell)
{
	Gen *gen = a->gen;
	const Node *operand = lower_node(gen->lower, lower_node(gen->lower, a->node)->args[0]);
	Dtype dtype = dtype_wide(operand->dtype);
	Dtype result = lower_node(gen->lower, a->node)->dtype;
	a->best = gen_local(gen, "best", dtype);
	a->at = gen_local(gen, "at", result);
	for (LocalId local = a->best; local <= a->at && a->lanes; local++)
		gen->locals.at[local].extent[gen->locals.at[local].rank++] = a->lanes;
	PUSH(gen->arena, cell->stmts,
	     stmt_local(gen->arena, a->best,
			value_const(gen->arena, dtype, op_neutral(OP_MAX, dtype))));
	PUSH(gen->arena, cell->stmts,
	     stmt_local(gen->arena, a->at, value_const(gen->arena, result, scalar_of(result, 0))));
}

/* ---- lanes ---- */

/* Does every load stay or go on to the next element, and one go on? */
static bool goes_on(const Argmax *a, IterVar var, const Value *value, uint32_t *next)
{
	Program *program = a->gen->program;
	if (value->kind == VALUE_LOAD) {
		Size stride = ix_stride(program, value->ix, var);
		if (size_is(program->sizes, stride, 1))
			++*next;
		else if (size_is_bad(stride) || !size_is(program->sizes, stride, 0))
			return false;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!goes_on(a, var, value->args[i], next))
			return false;
	return true;
}

/* Do vectors of the elements along an iterator lie in memory, and has it enough of them? */
static bool lanes_help(Argmax *a, IterId iter)
{
	Body body = {0};
	uint32_t next = 0;
	int64_t n;
	if (size_is_const(a->gen->program->sizes, a->proj->iters[iter].extent, &n) && n < LEAST)
		return false;
	size_t nlocals = a->gen->locals.n;
	const Value *value = element(a, ix_iter(a->gen->arena, a->var), &body);
	a->gen->locals.n = nlocals;
	return body.stmts.n == 0 && goes_on(a, a->by_iter[iter]->iter, value, &next) && next > 0;
}

/* The greatest of the lanes, of equals the one with the least index, into lane 0. */
static Block join_lanes(Argmax *a, IterVar lane)
{
	Gen *gen = a->gen;
	Body body = {0};
	const Ix *const *zero = one_place(a, constant(a, 0)), *const *other = one_place(
								      a, ix_iter(gen->arena, lane));
	const Value *best = read_local(a, a->best, zero), *at = read_local(a, a->at, zero);
	const Value *value = read_local(a, a->best, other), *index = read_local(a, a->at, other);
	const Value *same = value_cast(gen->arena, at->dtype, compare(gen, OP_EQ, value, best));
	const Value *tie = compare(gen, OP_AND, same, compare(gen, OP_LT, index, at));
	const Value *greater = value_cast(gen->arena, at->dtype, compare(gen, OP_GT, value, best));
	set_local(a, &body, a->at, zero,
		  select_value(gen, compare(gen, OP_OR, greater, tie), index, at));
	set_local(a, &body, a->best, zero,
		  select_value(gen, compare(gen, OP_GT, value, best), value, best));
	return single(gen, loop(a, lane, constant(a, 1), constant(a, LANES), body_block(&body)));
}

static void search_lanes(Argmax *a, Body *cell)
{
	Gen *gen = a->gen;
	Sizes *sizes = gen->program->sizes;
	IterVar lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	Size extent = a->proj->iters[a->along].extent;
	const Ix *whole =
		ix_size(gen->arena, size_scale(sizes, size_floor(sizes, extent, LANES), LANES));
	const Ix *i = ix_iter(gen->arena, a->var), *l = ix_iter(gen->arena, lane);
	Block inner = step(a, ix_add(gen->program, i, l), l);
	inner = single(gen, loop(a, lane, constant(a, 0), constant(a, LANES), inner));
	Stmt *outer = (Stmt *)loop(a, a->var, constant(a, 0), whole, inner);
	outer->step = LANES;
	append(gen, cell, single(gen, outer));
	append(gen, cell,
	       single(gen, loop(a, a->var, whole, ix_size(gen->arena, extent),
				step(a, i, constant(a, 0)))));
	append(gen, cell, join_lanes(a, lane));
}

/* ---- all of it ---- */

static void store(Argmax *a, Body *body, const Ix *const *place)
{
	const Ix **where = access_indices(a->gen, a->node, a->piece, &a->piece->result, a->by_iter);
	PUSH(a->gen->arena, body->stmts,
	     stmt_store(a->gen->arena, a->to.buffer, flat_index(a->gen, a->node, where), a->to.acc,
			read_local(a, a->at, place)));
}

/* One cell, or one of each lane. */
static Block search(Argmax *a)
{
	Gen *gen = a->gen;
	Body cell = {0};
	a->lanes = a->along != UINT32_MAX && lanes_help(a, a->along) ? LANES : 0;
	declare(a, &cell);
	if (a->lanes) {
		search_lanes(a, &cell);
	} else if (a->along == UINT32_MAX) {
		append(gen, &cell, step(a, constant(a, 0), NULL));
	} else {
		const Ix *extent = ix_size(gen->arena, a->proj->iters[a->along].extent);
		Block body = step(a, ix_iter(gen->arena, a->var), NULL);
		append(gen, &cell, single(gen, loop(a, a->var, constant(a, 0), extent, body)));
	}
	store(a, &cell, a->lanes ? one_place(a, constant(a, 0)) : NULL);
	return body_block(&cell);
}

/* COLUMNS columns side by side, and those that are left one by one. */
static Block search_columns(Argmax *a, IterId col)
{
	Gen *gen = a->gen;
	Sizes *sizes = gen->program->sizes;
	Body cell = {0}, done = {0}, all = {0};
	Size extent = a->proj->iters[col].extent;
	Size whole = size_scale(sizes, size_floor(sizes, extent, COLUMNS), COLUMNS);
	IterVar lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	const Ix *first = a->by_iter[col], *l = ix_iter(gen->arena, lane);
	const Ix *none = constant(a, 0), *lanes = constant(a, COLUMNS);
	a->by_iter[col] = ix_add(gen->program, first, l);
	a->lanes = COLUMNS;
	declare(a, &cell);
	Block inner =
		single(gen, loop(a, lane, none, lanes, step(a, ix_iter(gen->arena, a->var), l)));
	const Ix *steps = ix_size(gen->arena, a->proj->iters[a->along].extent);
	append(gen, &cell, single(gen, loop(a, a->var, none, steps, inner)));
	store(a, &done, one_place(a, l));
	append(gen, &cell, single(gen, loop(a, lane, none, lanes, body_block(&done))));
	const Stmt *columns =
		loop(a, first->iter, none, ix_size(gen->arena, whole), body_block(&cell));
	append(gen, &all, single(gen, stmt_step(gen->arena, columns, COLUMNS)));
	a->by_iter[col] = first;
	if (!size_same(whole, extent))
		append(gen, &all, single(gen, loop(a, first->iter, ix_size(gen->arena, whole),
						   ix_size(gen->arena, extent), search(a))));
	return body_block(&all);
}

void argmax_emit(Gen *gen, NodeId node, StoreTarget to)
{
	const Proj *proj = lower_proj(gen->lower, node);
	Argmax a = {.gen = gen,
		    .node = node,
		    .proj = proj,
		    .piece = &proj->pieces[0],
		    .along = UINT32_MAX,
		    .to = to};
	a.by_iter = ARENA_ARRAY(gen->arena, const Ix *, proj->niters + 1);
	IterId col = UINT32_MAX;
	for (uint32_t i = 0; i < a.piece->niters; i++) {
		IterId id = a.piece->iters[i];
		IterVar var = gen_iter(gen, proj->iters[id].name);
		a.by_iter[id] = ix_iter(gen->arena, var);
		if (proj->iters[id].reduced) {
			REQUIRE(a.along == UINT32_MAX);
			a.along = id;
			a.var = var;
		} else {
			col = id;
		}
	}
	bool columns = a.along != UINT32_MAX && col != UINT32_MAX && !lanes_help(&a, a.along) &&
		       lanes_help(&a, col);
	Block block = columns ? search_columns(&a, col) : search(&a);
	for (uint32_t i = a.piece->niters; i-- > 0;) {
		IterId id = a.piece->iters[i];
		if (id != a.along && !(columns && id == col))
			block = single(gen,
				       loop(&a, a.by_iter[id]->iter, constant(&a, 0),
					    ix_size(gen->arena, proj->iters[id].extent), block));
	}
	append(gen, &gen->top, block);
}
