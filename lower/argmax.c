/* The index of the greatest element along one axis.
 *
 * The first of the greatest is one index, in whatever order it is looked for: numbers here are no part
 * of what sums/ decides.
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
 *
 * A long axis that is all there is goes in parts, which threads share: the greatest of each, then
 * the first part that has the greatest of all, then the search in that part alone.
 *
 *   for part in 0..P
 *     vector lane in 0..64: acc[lane] = x[part*65536 + a + lane] where that is greater, for all a
 *     parts_y[part] = the greatest of acc and of the elements behind the last 64
 *   for part in 0..P: which, greatest = part, parts_y[part] where that is greater
 *   the search of x[which*65536 ...]
 */
#include <string.h>

#include "base/diag.h"
#include "loops/linear.h"
#include "lower/kernel.h"

enum { LANES = 16, COLUMNS = 64, LEAST = 64, PART = 1 << 16, WIDE = 64 };

typedef struct Argmax {
	Gen *gen;
	NodeId node;
	const Proj *proj;
	const Piece *piece;
	const Ix **by_iter;
	uint32_t along; /* the reduced iterator; UINT32_MAX: an axis of size 1 */
	IterVar var;	/* its variable */
	LocalId best, at;
	const Ix *from, *extent; /* of what is searched along it, and of a multiple of lanes */
	const Ix *whole;
	bool in_lanes;	/* elements along the axis are neighbours */
	IterId columns; /* of neighbours where those are none; UINT32_MAX: there are none */
	BufferId parts; /* of a long axis, the greatest of each; BUFFER_NONE: it goes as a whole */
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
	Stmt *set = stmt_set(a->gen->arena, local, OP_NONE, value);
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

static const Value *element(Argmax *a, const Ix *along, SharedLocals *shared)
{
	Gen *gen = a->gen;
	if (a->along != UINT32_MAX)
		a->by_iter[a->along] = along;
	gen_enter(gen, shared);
	const Ix **axes = access_indices(gen, a->node, a->piece, &a->piece->args[0], a->by_iter);
	const Value *value = node_value(gen, lower_node(gen->lower, a->node)->args[0], axes);
	return value_cast(gen->arena, dtype_wide(value->dtype), value);
}

/* ... with what it reads set in the body. */
static const Value *element_in(Argmax *a, const Ix *along, Body *body)
{
	SharedLocals shared = {0};
	const Value *value = element(a, along, &shared);
	gen_set_shared(a->gen, body, &shared);
	return value;
}

/* best, at = value, along where the value is greater, at one place of both. */
static Block step(Argmax *a, const Ix *along, const Ix *lane)
{
	Gen *gen = a->gen;
	Body body = {0};
	const Value *value = element_in(a, along, &body);
	const Ix *const *place = a->lanes ? one_place(a, lane) : NULL;
	const Value *best = read_local(a, a->best, place), *at = read_local(a, a->at, place);
	const Value *greater = compare(gen, OP_GT, value, best);
	const Value *here = value_index(gen->arena, at->dtype, along);
	set_local(a, &body, a->at, place, select_value(gen, greater, here, at));
	set_local(a, &body, a->best, place, select_value(gen, greater, value, best));
	return body_block(&body);
}

static Stmt *loop(const Argmax *a, IterVar iter, const Ix *lo, const Ix *hi, Block body)
{
	return stmt_for(a->gen->arena, iter, lo, hi, body);
}

static void declare(Argmax *a, Body *element)
{
	Gen *gen = a->gen;
	const Node *operand = lower_node(gen->lower, lower_node(gen->lower, a->node)->args[0]);
	Dtype dtype = dtype_wide(operand->dtype);
	Dtype result = lower_node(gen->lower, a->node)->dtype;
	a->best = gen_local(gen, "best", dtype);
	a->at = gen_local(gen, "at", result);
	for (LocalId local = a->best; local <= a->at && a->lanes; local++)
		gen->locals.at[local].extent[gen->locals.at[local].rank++] = a->lanes;
	PUSH(gen->arena, element->stmts,
	     stmt_local(gen->arena, a->best,
			value_const(gen->arena, dtype, op_neutral(OP_MAX, dtype))));
	PUSH(gen->arena, element->stmts,
	     stmt_local(gen->arena, a->at, value_number(gen->arena, result, 0)));
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
	SharedLocals shared = {0};
	uint32_t next = 0;
	int64_t n;
	if (size_is_const(a->gen->program->sizes, a->proj->iters[iter].extent, &n) && n < LEAST)
		return false;
	const Value *value = element(a, ix_iter(a->gen->arena, a->var), &shared);
	return shared.n == 0 && goes_on(a, a->by_iter[iter]->iter, value, &next) && next > 0;
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
	return block_one(gen->arena,
			 loop(a, lane, constant(a, 1), constant(a, LANES), body_block(&body)));
}

static void search_lanes(Argmax *a, Body *element)
{
	Gen *gen = a->gen;
	IterVar lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	const Ix *i = ix_add(gen->program, a->from, ix_iter(gen->arena, a->var));
	const Ix *l = ix_iter(gen->arena, lane);
	Block inner = step(a, ix_add(gen->program, i, l), l);
	inner = block_one(gen->arena, loop(a, lane, constant(a, 0), constant(a, LANES), inner));
	Stmt *outer = loop(a, a->var, constant(a, 0), a->whole, inner);
	outer->step = LANES;
	gen_append(gen, element, block_one(gen->arena, outer));
	gen_append(gen, element,
		   block_one(gen->arena,
			     loop(a, a->var, a->whole, a->extent, step(a, i, constant(a, 0)))));
	gen_append(gen, element, join_lanes(a, lane));
}

/* ---- all of it ---- */

static void store(Argmax *a, Body *body, const Ix *const *place)
{
	const Ix **where = access_indices(a->gen, a->node, a->piece, &a->piece->result, a->by_iter);
	PUSH(a->gen->arena, body->stmts,
	     stmt_store(a->gen->arena, a->to.buffer, flat_index(a->gen, a->node, where), a->to.acc,
			read_local(a, a->at, place)));
}

/* Along the whole axis */
static void search_all(Argmax *a)
{
	Gen *gen = a->gen;
	Sizes *sizes = gen->program->sizes;
	if (a->along == UINT32_MAX)
		return;
	Size extent = a->proj->iters[a->along].extent;
	a->from = constant(a, 0);
	a->extent = ix_size(gen->arena, extent);
	a->whole = ix_size(gen->arena, size_scale(sizes, size_floor(sizes, extent, LANES), LANES));
}

/* One element, or one of each lane. */
static Block search(Argmax *a)
{
	Gen *gen = a->gen;
	Body element = {0};
	search_all(a);
	a->lanes = a->in_lanes ? LANES : 0;
	declare(a, &element);
	if (a->lanes) {
		search_lanes(a, &element);
	} else if (a->along == UINT32_MAX) {
		gen_append(gen, &element, step(a, constant(a, 0), NULL));
	} else {
		Block body = step(a, ix_iter(gen->arena, a->var), NULL);
		gen_append(gen, &element,
			   block_one(gen->arena, loop(a, a->var, a->from, a->extent, body)));
	}
	store(a, &element, a->lanes ? one_place(a, constant(a, 0)) : NULL);
	return body_block(&element);
}

/* COLUMNS columns side by side, and those that are left one by one. */
static Block search_columns(Argmax *a)
{
	Gen *gen = a->gen;
	IterId col = a->columns;
	Sizes *sizes = gen->program->sizes;
	Body element = {0}, done = {0}, all = {0};
	Size extent = a->proj->iters[col].extent;
	Size whole = size_scale(sizes, size_floor(sizes, extent, COLUMNS), COLUMNS);
	IterVar lane = gen_iter(gen, sym_cstr(gen->program->symbols, "lane"));
	const Ix *first = a->by_iter[col], *l = ix_iter(gen->arena, lane);
	const Ix *none = constant(a, 0), *lanes = constant(a, COLUMNS);
	a->by_iter[col] = ix_add(gen->program, first, l);
	a->lanes = COLUMNS;
	declare(a, &element);
	Block inner = block_one(
		gen->arena, loop(a, lane, none, lanes, step(a, ix_iter(gen->arena, a->var), l)));
	const Ix *steps = ix_size(gen->arena, a->proj->iters[a->along].extent);
	gen_append(gen, &element, block_one(gen->arena, loop(a, a->var, none, steps, inner)));
	store(a, &done, one_place(a, l));
	gen_append(gen, &element,
		   block_one(gen->arena, loop(a, lane, none, lanes, body_block(&done))));
	const Stmt *columns =
		loop(a, first->iter, none, ix_size(gen->arena, whole), body_block(&element));
	gen_append(gen, &all, block_one(gen->arena, stmt_step(gen->arena, columns, COLUMNS)));
	a->by_iter[col] = first;
	if (!size_same(whole, extent))
		gen_append(gen, &all,
			   block_one(gen->arena, loop(a, first->iter, ix_size(gen->arena, whole),
						      ix_size(gen->arena, extent), search(a))));
	return body_block(&all);
}

/* ---- in parts ---- */

static bool has_parts(Argmax *a)
{
	int64_t n;
	bool known = a->along != UINT32_MAX &&
		     size_is_const(a->gen->program->sizes, a->proj->iters[a->along].extent, &n);
	return a->along != UINT32_MAX && a->piece->niters == 1 && !a->gen->lower->row_block &&
	       (!known || n >= 2 * PART) && a->in_lanes;
}

static bool is_vector(const Value *value)
{
	bool plain = value->kind == VALUE_LOAD || value->kind == VALUE_CONST ||
		     (value->kind == VALUE_OP && op_is_simple(value->op));
	for (uint32_t i = 0; i < value->nargs; i++)
		plain = plain && is_vector(value->args[i]);
	return plain && dtype_is_float(value->dtype);
}

/* best = value where that is greater */
static void take_greater(const Argmax *a, Body *body, LocalId best, const Ix *const *place,
			 const Value *value)
{
	const Value *old = read_local(a, best, place);
	set_local(a, body, best, place,
		  select_value(a->gen, compare(a->gen, OP_GT, value, old), value, old));
}

static LocalId least(Argmax *a, Body *body, const char *name, Dtype dtype, uint32_t lanes)
{
	Gen *gen = a->gen;
	LocalId id = gen_local(gen, name, dtype);
	if (lanes)
		gen->locals.at[id].extent[gen->locals.at[id].rank++] = lanes;
	PUSH(gen->arena, body->stmts,
	     stmt_local(gen->arena, id, value_const(gen->arena, dtype, op_neutral(OP_MAX, dtype))));
	return id;
}

/* Where the part of a number ends, counted from where it begins: at most PART. */
static const Ix *part_end(const Argmax *a, const Ix *first, Size end)
{
	Program *program = a->gen->program;
	const Ix *left =
		ix_add(program, ix_size(program->arena, end), ix_times(program, first, -1));
	return ix_binary(program, IX_MIN, constant(a, PART), left);
}

/* The greatest element of the part that begins at `first`, as a local of its body. */
static const Value *part_greatest(Argmax *a, const Ix *first, Dtype dtype, Body *body)
{
	Gen *gen = a->gen;
	Program *program = gen->program;
	Body lanes = {0}, rest = {0}, all = {0};
	Size extent = a->proj->iters[a->along].extent;
	Size whole = size_scale(program->sizes, size_floor(program->sizes, extent, WIDE), WIDE);
	IterVar lane = gen_iter(gen, sym_cstr(program->symbols, "lane"));
	const Ix *l = ix_iter(gen->arena, lane), *const *place = one_place(a, l);
	const Ix *i = ix_add(program, first, ix_iter(gen->arena, a->var));
	const Ix *wide = part_end(a, first, whole);
	LocalId acc = least(a, body, "acc", dtype, WIDE), last = least(a, body, "last", dtype, 0);
	const Value *value = element_in(a, ix_add(program, i, l), &lanes);
	LoopKind kind = is_vector(value) ? LOOP_VECTOR : LOOP_SERIAL;
	take_greater(a, &lanes, acc, place, value);
	Block inner =
		block_one(gen->arena, stmt_loop(program, kind, lane, WIDE, body_block(&lanes)));
	gen_append(gen, body,
		   block_one(gen->arena,
			     stmt_step(gen->arena, loop(a, a->var, constant(a, 0), wide, inner),
				       WIDE)));
	take_greater(a, &rest, last, NULL, element_in(a, i, &rest));
	gen_append(gen, body,
		   block_one(gen->arena,
			     loop(a, a->var, wide, part_end(a, first, extent), body_block(&rest))));
	take_greater(a, &all, last, NULL, read_local(a, acc, place));
	gen_append(gen, body,
		   block_one(gen->arena,
			     loop(a, lane, constant(a, 0), constant(a, WIDE), body_block(&all))));
	return read_local(a, last, NULL);
}

/* The first part that has the greatest of all is what is searched. */
static void choose_part(Argmax *a, const Value *greatest, IterVar part, const Ix *parts)
{
	Gen *gen = a->gen;
	Program *program = gen->program;
	Body each = {0};
	Size extent = a->proj->iters[a->along].extent;
	LocalId top = least(a, &gen->top, "top", greatest->dtype, 0);
	LocalId which = gen_local(gen, "which", DTYPE_I32);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_local(gen->arena, which, value_number(gen->arena, DTYPE_I32, 0)));
	const Value *old = read_local(a, which, NULL);
	const Value *here = value_index(gen->arena, DTYPE_I32, ix_iter(gen->arena, part));
	const Value *greater = compare(gen, OP_GT, greatest, read_local(a, top, NULL));
	set_local(a, &each, which, NULL, select_value(gen, greater, here, old));
	take_greater(a, &each, top, NULL, greatest);
	gen_append(gen, &gen->top,
		   block_one(gen->arena, loop(a, part, constant(a, 0), parts, body_block(&each))));
	a->from = ix_times(program, ix_value(gen->arena, old), PART);
	a->extent = part_end(a, a->from, extent);
	a->whole =
		ix_times(program, ix_binary(program, IX_DIV, a->extent, constant(a, LANES)), LANES);
}

static void search_parts(Argmax *a)
{
	Gen *gen = a->gen;
	Program *program = gen->program;
	Body body = {0};
	const Node *operand = lower_node(gen->lower, lower_node(gen->lower, a->node)->args[0]);
	Dtype dtype = dtype_wide(operand->dtype);
	Size nparts = size_ceil(program->sizes, a->proj->iters[a->along].extent, PART);
	BufferId buffer = a->parts;
	IterVar part = gen_iter(gen, sym_cstr(program->symbols, "part"));
	const Ix *number = ix_iter(gen->arena, part), *parts = ix_size(gen->arena, nparts);
	const Value *greatest = part_greatest(a, ix_times(program, number, PART), dtype, &body);
	PUSH(gen->arena, body.stmts, stmt_store(gen->arena, buffer, number, OP_NONE, greatest));
	gen_append(gen, &gen->top,
		   block_one(gen->arena, loop(a, part, constant(a, 0), parts, body_block(&body))));
	choose_part(a, value_load(program, buffer, number), part, parts);
	a->lanes = LANES;
	declare(a, &gen->top);
	search_lanes(a, &gen->top);
	store(a, &gen->top, one_place(a, constant(a, 0)));
}

static BufferId declare_parts(const Argmax *a)
{
	Gen *gen = a->gen;
	const Node *operand = lower_node(gen->lower, lower_node(gen->lower, a->node)->args[0]);
	return gen_temporary(
		gen, "parts", gen->name,
		(Buffer){.dtype = dtype_wide(operand->dtype),
			 .elements = size_ceil(gen->program->sizes, a->proj->iters[a->along].extent,
					       PART)});
}

/* Iterators of all axes; the last one of columns. */
static IterId open_loops(Argmax *a)
{
	IterId col = UINT32_MAX;
	for (uint32_t i = 0; i < a->piece->niters; i++) {
		IterId id = a->piece->iters[i];
		IterVar var = gen_iter(a->gen, a->proj->iters[id].name);
		a->by_iter[id] = ix_iter(a->gen->arena, var);
		if (a->proj->iters[id].reduced) {
			REQUIRE(a->along == UINT32_MAX);
			a->along = id;
			a->var = var;
		} else {
			col = id;
		}
	}
	return col;
}

struct Argmax *argmax_plan(Gen *gen, NodeId node, StoreTarget to)
{
	const Proj *proj = lower_proj(gen->lower, node);
	Argmax *a = ARENA_NEW(gen->arena, Argmax);
	*a = (Argmax){.gen = gen,
		      .node = node,
		      .proj = proj,
		      .piece = &proj->pieces[0],
		      .by_iter = ARENA_ARRAY(gen->arena, const Ix *, proj->niters + 1),
		      .along = UINT32_MAX,
		      .columns = UINT32_MAX,
		      .parts = BUFFER_NONE,
		      .to = to};
	IterId col = open_loops(a);
	a->in_lanes = a->along != UINT32_MAX && lanes_help(a, a->along);
	if (has_parts(a))
		a->parts = declare_parts(a);
	else if (a->along != UINT32_MAX && col != UINT32_MAX && !a->in_lanes && lanes_help(a, col))
		a->columns = col;
	return a;
}

void argmax_emit(Gen *gen, const struct Argmax *plan)
{
	Argmax a = *plan;
	a.gen = gen;
	a.by_iter = ARENA_ARRAY(gen->arena, const Ix *, a.proj->niters + 1);
	memcpy(a.by_iter, plan->by_iter, a.proj->niters * sizeof *a.by_iter);
	if (a.parts != BUFFER_NONE) {
		search_parts(&a);
		return;
	}
	Block block = a.columns != UINT32_MAX ? search_columns(&a) : search(&a);
	for (uint32_t i = a.piece->niters; i-- > 0;) {
		IterId id = a.piece->iters[i];
		if (id != a.along && id != a.columns)
			block = block_one(gen->arena,
					  loop(&a, a.by_iter[id]->iter, constant(&a, 0),
					       ix_size(gen->arena, a.proj->iters[id].extent),
					       block));
	}
	gen_append(gen, &gen->top, block);
}
