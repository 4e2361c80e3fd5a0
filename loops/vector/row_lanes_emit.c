/* The vectors of a loop over rows of a few elements: see row_lanes.c. */
#include "base/diag.h"
#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/vector/row_lanes.h"
#include "loops/walk.h"

typedef struct Vectors {
	Vectoring *t;
	RowLanes *r;
	IterVar lane;
	const Ix **iters; /* by IterVar: what stands for it in the bodies */
	VEC(ValueTwin) loads;
	Body before, lanes, behind;
} Vectors;

static LocalId new_local(Vectors *v, const char *name, int64_t first, int64_t second)
{
	Program *program = v->t->program;
	KernelLocal local = {.name = sym_cstr(program->symbols, name),
			     .dtype = DTYPE_F32,
			     .rank = second ? 2 : 1,
			     .extent = {(uint32_t)first, (uint32_t)second}};
	return kernel_add_local(program, v->t->kernel, local);
}

static Stmt *vector_loop(Vectors *v, int64_t lanes, Block body)
{
	Stmt *loop = stmt_loop(v->t->program, LOOP_VECTOR, v->lane, lanes, body);
	loop->span = v->r->loop->span;
	return loop;
}

static const Value *element(Vectors *v, LocalId local, const Ix *a, const Ix *b)
{
	Arena *arena = v->t->program->arena;
	const Ix **ixs = ARENA_ARRAY(arena, const Ix *, 2);
	ixs[0] = a;
	ixs[1] = b;
	return value_local(arena, v->t->kernel, local, ixs, b ? 2 : 1);
}

static const Stmt *declared(Vectors *v, int64_t local)
{
	Arena *arena = v->t->program->arena;
	return stmt_local(arena, (LocalId)local, value_number(arena, DTYPE_F32, 0));
}

/* The index of the lane's element of neighbouring rows. */
static const Ix *wide_ix(const Vectors *v, const Columns *c)
{
	return ix_add(v->t->program, c->first, ix_iter(v->t->program->arena, v->lane));
}

/* rows[lane*stride + at], for what is loaded; the rows themselves are loaded at the first one. */
static void take_load(Vectors *v, const Value *value)
{
	Program *program = v->t->program;
	const Value *load = row_lanes_load(value);
	int64_t at = 0, stride = row_lanes_stride(v->r, load->ix);
	Columns *c = stride > 1 ? row_lanes_columns(v->r, load->buffer, load->ix, stride, &at) : NULL;
	if (!c)
		return;
	int64_t lanes = v->t->target->row_lanes * stride;
	const Ix *lane = ix_iter(program->arena, v->lane);
	if (c->local == NO_LOCAL) {
		c->local = new_local(v, "rows", lanes, 0);
		const Value *rows = value_load(program, c->buffer, wide_ix(v, c));
		rows = value_cast(program->arena, DTYPE_F32, rows);
		const Stmt *set = stmt_set_at(program->arena, element(v, c->local, lane, NULL),
					      OP_NONE, rows);
		PUSH(program->arena, v->before.stmts, declared(v, c->local));
		PUSH(program->arena, v->before.stmts,
		     vector_loop(v, lanes, block_one(program->arena, set)));
	}
	ValueTwin twin = {
		value,
		element(v, c->local, ix_plus(program, ix_times(program, lane, stride), at), NULL)};
	PUSH(program->arena, v->loads, twin);
}

static void take_loads(Vectors *v, const Value *value)
{
	if (!value_varies(value, v->r->loop->iter, v->r->own))
		return;
	if (row_lanes_load(value)) {
		take_load(v, value);
		return;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		take_loads(v, value->args[i]);
}

/* What is to be cast, which no vectors do, in memory: an element of it. */
static const Value *put_casts(Vectors *v, int64_t lanes, const Value *value)
{
	Arena *arena = v->t->program->arena;
	LocalId local = new_local(v, "casts", lanes, 0);
	const Value *cast = element(v, local, ix_iter(arena, v->lane), NULL);
	const Stmt *set = stmt_set_at(arena, cast, OP_NONE, value);
	PUSH(arena, v->behind.stmts, declared(v, local));
	PUSH(arena, v->behind.stmts, vector_loop(v, lanes, block_one(arena, set)));
	return cast;
}

/* columns[at, lane] = value; the rows themselves are stored at the last one. */
static void put_store(Vectors *v, const Stmt *stmt, const Value *value, uint32_t *left)
{
	Program *program = v->t->program;
	Arena *arena = program->arena;
	int64_t at = 0, stride = row_lanes_stride(v->r, stmt->ix), lanes = v->t->target->row_lanes;
	Columns *c = row_lanes_columns(v->r, stmt->buffer, stmt->ix, stride, &at);
	const Ix *lane = ix_iter(arena, v->lane);
	if (c->local == NO_LOCAL) {
		c->local = new_local(v, "columns", stride, lanes);
		PUSH(arena, v->before.stmts, declared(v, c->local));
	}
	PUSH(arena, v->lanes.stmts,
	     stmt_set_at(arena, element(v, c->local, ix_const(program, at), lane), OP_NONE, value));
	left[c - v->r->groups] &= ~(1u << at);
	if (left[c - v->r->groups])
		return;
	const Ix *n = ix_const(program, stride);
	const Value *columns = element(v, c->local, ix_binary(program, IX_MOD, lane, n),
				       ix_binary(program, IX_DIV, lane, n));
	if (row_lanes_computed(stmt) != stmt->value)
		columns = put_casts(v, lanes * stride, columns);
	Stmt *store = stmt_store_as(program, c->buffer, wide_ix(v, c), OP_NONE, columns);
	Stmt *loop = vector_loop(v, lanes * stride, block_one(arena, store));
	loop->loop = row_lanes_computed(stmt) == stmt->value ? LOOP_VECTOR : LOOP_SERIAL;
	PUSH(arena, v->behind.stmts, loop);
}

static void put_stmt(Vectors *v, const Stmt *stmt, const LocalId *locals, uint32_t *left)
{
	Program *program = v->t->program;
	take_loads(v, stmt->value);
	v->iters[v->r->loop->iter] = ix_add(program, ix_iter(program->arena, v->r->loop->iter),
					    ix_iter(program->arena, v->lane));
	Rewrite rewrite = {.program = program,
			   .iters = v->iters,
			   .locals = locals,
			   .values = v->loads.at,
			   .nvalues = (uint32_t)v->loads.n};
	Block copy = rewrite_block(&rewrite, block_one(program->arena, stmt));
	if (stmt->kind == LOOP_STORE && !row_lanes_direct(v->r, stmt))
		put_store(v, stmt, row_lanes_computed(copy.stmts[0]), left);
	else
		body_append(program->arena, &v->lanes, copy);
}

static Block vectors(Vectors *v)
{
	Arena *arena = v->t->program->arena;
	/* a local belongs to one loop of lanes */
	const LocalId *locals = kernel_own_locals(v->t->program, v->t->kernel, v->r->loop->body);
	uint32_t left[GROUPS_MOST];
	for (uint32_t i = 0; i < v->r->n; i++)
		left[i] = v->r->groups[i].stored;
	for (uint32_t i = 0; i < v->r->loop->body.n; i++)
		put_stmt(v, v->r->loop->body.stmts[i], locals, left);
	PUSH(arena, v->before.stmts,
	     vector_loop(v, v->t->target->row_lanes, body_block(&v->lanes)));
	body_append(arena, &v->before, body_block(&v->behind));
	return body_block(&v->before);
}

void row_lanes(Vectoring *t, const Stmt *loop, Body *to)
{
	Program *program = t->program;
	RowLanes r = {.t = t, .loop = loop};
	int64_t lanes = t->target->row_lanes;
	REQUIRE(!row_lanes_find(&r));
	for (uint32_t i = 0; i < r.n; i++)
		r.groups[i].local = NO_LOCAL;
	const Ix *lo = kernel_short_ix(program, t->kernel, "first", loop->lo, to);
	const Ix *hi = kernel_short_ix(program, t->kernel, "last", loop->hi, to);
	Vectors v = {.t = t, .r = &r, .lane = kernel_add_iter(program, t->kernel, "lane")};
	v.iters = kernel_iters(program->arena, t->kernel, 0);
	Block body = vectors(&v);
	const Ix *end = ix_plus(program, hi, 1 - lanes), *rest = lanes_left(program, lo, hi, lanes);
	PUSH(program->arena, to->stmts, loop_between(program->arena, loop, lo, end, lanes, body));
	int64_t trips = constant_trips(program, loop);
	if (trips < 0 || trips % lanes != 0)
		PUSH(program->arena, to->stmts,
		     loop_between(program->arena, loop, rest, hi, 1, loop->body));
}
