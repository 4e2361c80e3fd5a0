/* Plain loops of functions such as exp as vectors, several side by side (here 4 of 16 lanes):
 *
 *   for i in lo..hi                 for i in lo..hi - 63 step 64
 *     y[i] = exp(x[i])       ->       vector lane in 0..64
 *                                       y[i + lane] = exp(x[i + lane])
 *                                   for i in lo + ((hi - lo)/64)*64..hi step 16
 *                                     vector lane in 0..min(16, hi - i) of 16
 *                                       y[i + lane] = exp(x[i + lane])
 *
 * Where the number of iterations is a constant, whole vectors and one with a constant mask stand in the
 * place of the second loop. A function is a long chain of instructions: one vector after another would wait
 * for each of them.
 *
 * Legal where elements are read at their own place, or where nothing is written: each is computed as it
 * is alone, so the bits are the same wherever it stands. Only where the target can mask lanes.
 */
#include "base/size_order.h"
#include "loops/rewrite.h"
#include "loops/frame.h"
#include "loops/vector/vector.h"
#include "loops/walk.h"

/* ---- which loops ---- */

typedef struct Search {
	const Vectoring *t;
	const Stmt *loop;
	bool *own;  /* by LocalId: declared in the body */
	bool found; /* a function */
} Search;

static bool moves_by_one(const Ix *ix, IterVar iter)
{
	if (ix->kind == IX_ITER)
		return ix->iter == iter;
	if (ix->kind != IX_ADD || ix_uses(ix->a, iter) == ix_uses(ix->b, iter))
		return false;
	return moves_by_one(ix_uses(ix->a, iter) ? ix->a : ix->b, iter);
}

/* Is what the body stores to the buffer, if it does, stored at this index? */
static bool is_own_element(const Search *s, BufferId buffer, const Ix *ix)
{
	for (uint32_t i = 0; i < s->loop->body.n; i++) {
		const Stmt *stmt = s->loop->body.stmts[i];
		if (stmt->kind == LOOP_STORE && stmt->buffer == buffer && !ix_same(stmt->ix, ix))
			return false;
	}
	return true;
}

static const char *value_refused(Search *s, const Value *value)
{
	bool same = !value_varies(value, s->loop->iter, s->own);
	bool call = !same && value->kind == VALUE_OP && value->dtype == DTYPE_F32 &&
		    s->t->target->in_lanes[value->op];
	if (value->ix && value->ix->reads)
		return "an index is read from memory";
	if (value->kind == VALUE_LOAD && !is_own_element(s, value->buffer, value->ix))
		return "an element is read that another iteration stores";
	s->found |= call;
	for (uint32_t i = 0; i < value->nargs; i++) {
		const char *why = value_refused(s, value->args[i]);
		if (why)
			return why;
	}
	if (same)
		return NULL;
	if (value->dtype != DTYPE_F32)
		return "a value is no f32";
	if (value->kind == VALUE_OP)
		return call || op_is_simple(value->op) ? NULL : "an operation has no vectors";
	if (value->kind == VALUE_LOAD)
		return moves_by_one(value->ix, s->loop->iter) ? NULL : "a load is not contiguous";
	if (value->kind == VALUE_LOCAL && value->nixs == 0)
		return NULL;
	return "a value has no vectors";
}

static const char *stmt_refused(Search *s, const Stmt *stmt)
{
	if (stmt->kind != LOOP_LOCAL && stmt->kind != LOOP_STORE)
		return "the body is more than locals and stores";
	if (stmt->value->dtype != DTYPE_F32)
		return "a value is no f32";
	if (stmt->kind == LOOP_LOCAL) {
		const char *why = value_refused(s, stmt->value);
		s->own[stmt->local] = true;
		return s->t->kernel->locals[stmt->local].rank ? "a local has axes" : why;
	}
	if (stmt->ix->reads)
		return "an index is read from memory";
	if (stmt->acc != OP_NONE && !op_is_simple(stmt->acc))
		return "an operation has no vectors";
	if (!is_own_element(s, stmt->buffer, stmt->ix))
		return "an element is stored that another iteration stores";
	if (!moves_by_one(stmt->ix, s->loop->iter))
		return "a store is not contiguous";
	return value_refused(s, stmt->value);
}

const char *math_lanes_refused(const Vectoring *t, const Stmt *loop)
{
	int64_t trips = constant_trips(t->program, loop);
	Search s = {.t = t, .loop = loop};
	if (t->target->lanes == 0)
		return "the target has no masks";
	if (loop->loop != LOOP_SERIAL || loop->step != 1)
		return "the loop is no plain one";
	if (trips >= 0 && trips < t->target->lanes_trips)
		return "there are few iterations";
	s.own = ARENA_ARRAY(t->program->arena, bool, t->kernel->nlocals + 1);
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const char *why = stmt_refused(&s, loop->body.stmts[i]);
		if (why)
			return why;
	}
	return s.found ? NULL : "there is no function";
}

/* ---- their vectors ---- */

typedef struct Vectors {
	Vectoring *t;
	const Stmt *loop;
	IterVar lane;
	const Ix **iters; /* by IterVar: what stands for it in the bodies */
} Vectors;

/* vector lane in 0..hi: the body at `first` + lane; `lanes`: of which those behind hi are masked. */
static const Stmt *vectors_at(Vectors *v, const Ix *first, const Ix *hi, int64_t lanes)
{
	Program *program = v->t->program;
	Arena *arena = program->arena;
	v->iters[v->loop->iter] = ix_add(program, first, ix_iter(arena, v->lane));
	/* a local belongs to one loop of lanes */
	const LocalId *locals = kernel_own_locals(program, v->t->kernel, v->loop->body);
	Rewrite rewrite = {.program = program, .iters = v->iters, .locals = locals};
	Stmt *vector = ARENA_NEW(arena, Stmt);
	*vector = *stmt_for(arena, v->lane, ix_const(program, 0), hi,
			    rewrite_block(&rewrite, v->loop->body));
	vector->loop = LOOP_VECTOR;
	vector->lanes = lanes;
	vector->span = v->loop->span;
	return vector;
}

Stmt *loop_between(Arena *arena, const Stmt *loop, const Ix *lo, const Ix *hi, int64_t step,
		   Block body)
{
	Stmt *stmt = stmt_with(arena, loop, body);
	stmt->lo = lo;
	stmt->hi = hi;
	stmt->step = step;
	return stmt;
}

/* for i in lo..hi step `step`: inner */
static const Stmt *around(const Vectors *v, const Ix *lo, const Ix *hi, int64_t step,
			  const Stmt *inner)
{
	Arena *arena = v->t->program->arena;
	return loop_between(arena, v->loop, lo, hi, step, block_one(arena, inner));
}

const Ix *lanes_left(Program *program, const Ix *lo, const Ix *hi, int64_t step)
{
	const Ix *extent = ix_minus(program, hi, lo), *by = ix_const(program, step);
	const Ix *whole = ix_times(program, ix_binary(program, IX_DIV, extent, by), step);
	bool never_negative = extent->kind == IX_SIZE &&
			      size_ge(program->sizes, extent->size, size_const(program->sizes, 0));
	if (!never_negative)
		whole = ix_binary(program, IX_MAX, whole, ix_const(program, 0));
	return ix_add(program, lo, whole);
}

static void unknown_rest(Vectors *v, int64_t step, Body *to)
{
	Program *program = v->t->program;
	int64_t lanes = v->t->target->lanes;
	const Ix *i = ix_iter(program->arena, v->loop->iter), *hi = v->loop->hi;
	const Ix *left = ix_minus(program, hi, i);
	const Stmt *masked = vectors_at(
		v, i, ix_binary(program, IX_MIN, ix_const(v->t->program, lanes), left), lanes);
	PUSH(program->arena, to->stmts,
	     around(v, lanes_left(program, v->loop->lo, hi, step), hi, lanes, masked));
}

/* `rest` iterations from `first` on, less than a step. */
static void known_rest(Vectors *v, const Ix *first, int64_t rest, Body *to)
{
	Arena *arena = v->t->program->arena;
	int64_t lanes = v->t->target->lanes, whole = rest / lanes * lanes;
	if (whole)
		PUSH(arena, to->stmts, vectors_at(v, first, ix_const(v->t->program, whole), 0));
	if (rest > whole)
		PUSH(arena, to->stmts,
		     vectors_at(v, ix_plus(v->t->program, first, whole),
				ix_const(v->t->program, rest - whole), lanes));
}

/* Bounds are read several times. */
static Stmt short_bounds(Vectoring *t, const Stmt *loop, Body *to)
{
	Stmt copy = *loop;
	copy.lo = kernel_short_ix(t->program, t->kernel, "first", loop->lo, to);
	copy.hi = kernel_short_ix(t->program, t->kernel, "last", loop->hi, to);
	return copy;
}

void math_lanes(Vectoring *t, const Stmt *of, Body *to)
{
	Arena *arena = t->program->arena;
	const Stmt short_loop = short_bounds(t, of, to), *loop = &short_loop;
	Vectors v = {.t = t, .loop = loop, .lane = kernel_add_iter(t->program, t->kernel, "lane")};
	int64_t step = (int64_t)t->target->side_by_side * t->target->lanes,
		trips = constant_trips(t->program, loop);
	v.iters = kernel_iters(arena, t->kernel, 0);
	const Ix *i = ix_iter(arena, loop->iter);
	bool once = trips >= step && trips < 2 * step;
	const Stmt *whole =
		trips >= 0 && trips < step
			? NULL
			: vectors_at(&v, once ? loop->lo : i, ix_const(v.t->program, step), 0);
	if (whole)
		PUSH(arena, to->stmts,
		     once ? whole
			  : around(&v, loop->lo, ix_plus(v.t->program, loop->hi, 1 - step), step,
				   whole));
	if (trips < 0)
		unknown_rest(&v, step, to);
	else
		known_rest(&v, ix_plus(v.t->program, loop->lo, trips / step * step), trips % step,
			   to);
}
