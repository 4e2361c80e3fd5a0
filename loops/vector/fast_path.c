/* Functions that have a fast path for arguments around 0, which has no branches where the long form
 * looks into tables or calls the C library. Loops of them run in strips:
 *
 *   for i in lo..hi             for strip in lo..hi step 512
 *     y[i] = sin(x[i])   ->       local far : i32 = 0
 *                                 for i in strip..min(strip + 512, hi)
 *                                   far max= far_sin(x[i])
 *                                 if int(far) == 0
 *                                   for i in strip..min(strip + 512, hi)
 *                                     y[i] = fast_sin(x[i])
 *                                 if 0 < int(far)
 *                                   for i in strip..min(strip + 512, hi)
 *                                     y[i] = sin(x[i])
 *
 * Both give the same bits, so it does not matter which other arguments an argument meets in
 * its strip. Of a number of random words, which is below 1, times a constant the fast path is taken
 * wherever it stands.
 *
 * Legal where the arguments can be computed before the body runs: it is locals and one store, and no
 * argument reads what the body stores for another iteration, or a local that is made of such a
 * function.
 */
#include <math.h>

#include "base/pointer_map.h"
#include "loops/frame.h"
#include "loops/vector/vector.h"
#include "loops/walk.h"

enum { RANGE_LIMIT = 1024 };

/* A number of random words times a constant? */
static bool is_random_angle(const Value *value)
{
	if (value->kind != VALUE_OP || value->op != OP_MUL)
		return false;
	const Value *number = value->args[0], *factor = value->args[1];
	return number->kind == VALUE_CAST && number->args[0]->dtype == DTYPE_U4X32 &&
	       factor->kind == VALUE_CONST && fabs(factor->constant.f) < RANGE_LIMIT;
}

static bool op_has_fast_path(const Vectoring *t, const Value *value)
{
	return value->kind == VALUE_OP && !value->fast_path &&
	       t->target->fast_path[value->op][value->dtype];
}

/* ... and are its arguments in its range whatever they are computed from? */
static bool is_in_range(const Vectoring *t, const Value *value)
{
	return op_has_fast_path(t, value) && value->nargs == 1 && is_random_angle(value->args[0]);
}

/* ... or is that to be asked? */
static bool has_fast_path(const Vectoring *t, const Value *value)
{
	return op_has_fast_path(t, value) && !is_in_range(t, value);
}

/* ---- calls in the fast path ---- */

typedef struct Shorter {
	const Vectoring *t;
	bool all; /* or those whose arguments are in range whatever they are computed from */
	PointerMap known;
} Shorter;

static const Value *shorter_value(Shorter *s, const Value *value)
{
	uint64_t known = *pointer_map_at(&s->known, value);
	if (known)
		return (const Value *)(uintptr_t)known;
	Value next = *value;
	bool same = true;
	for (uint32_t i = 0; i < value->nargs; i++) {
		next.args[i] = shorter_value(s, value->args[i]);
		same = same && next.args[i] == value->args[i];
	}
	bool call = is_in_range(s->t, value) || (s->all && has_fast_path(s->t, value));
	next.fast_path |= call;
	const Value *result = value;
	if (call || !same) {
		Value *copy = ARENA_NEW(s->t->program->arena, Value);
		*copy = next;
		result = copy;
	}
	*pointer_map_at(&s->known, value) = (uint64_t)(uintptr_t)result;
	return result;
}

static const Stmt *shorter_stmt(const Vectoring *t, const Stmt *stmt, bool all)
{
	Shorter s = {.t = t, .all = all, .known.arena = t->program->arena};
	const Value *value = stmt->value ? shorter_value(&s, stmt->value) : NULL;
	if (value == stmt->value)
		return stmt;
	Stmt *copy = ARENA_NEW(t->program->arena, Stmt);
	*copy = *stmt;
	copy->value = value;
	return copy;
}

const Stmt *fast_path_values(const Vectoring *t, const Stmt *stmt)
{
	return shorter_stmt(t, stmt, false);
}

/* ---- which loops ---- */

typedef struct Search {
	const Vectoring *t;
	const Stmt *store; /* of the body */
	bool *of_calls;	   /* by LocalId: of the body, and computed from such functions */
	bool found;
	const char *why; /* not NULL: arguments of calls cannot be computed before the body runs */
} Search;

/* Of a value in an argument, or in an index there. */
static const char *argument_refused(const Search *s, const Value *value)
{
	if (has_fast_path(s->t, value))
		return "an argument is made of such a function";
	if (value->kind == VALUE_LOAD && value->buffer == s->store->buffer &&
	    !ix_same(value->ix, s->store->ix))
		return "an argument is what another iteration may store";
	if (value->kind == VALUE_LOCAL && (value->nixs || s->of_calls[value->local]))
		return "an argument is made of such a function";
	return NULL;
}

static void see_argument(void *of, const Value *value)
{
	Search *s = of;
	if (!s->why)
		s->why = argument_refused(s, value);
}

static void search_calls(Search *s, const Value *value)
{
	bool call = has_fast_path(s->t, value);
	s->found |= call;
	for (uint32_t i = 0; i < value->nargs && !s->why; i++) {
		search_calls(s, value->args[i]);
		if (call)
			value_each(value->args[i], see_argument, s);
	}
}

static bool has_call(const Vectoring *t, const Value *value)
{
	bool has = has_fast_path(t, value);
	for (uint32_t i = 0; i < value->nargs && !has; i++)
		has = has_call(t, value->args[i]);
	return has;
}

/* Is the value of a local computed from such functions? */
static bool is_of_calls(const Search *s, const Value *value)
{
	bool of_calls = has_call(s->t, value);
	for (LocalId local = 0; local < s->t->kernel->nlocals && !of_calls; local++)
		of_calls = s->of_calls[local] && value_uses_local(value, local);
	return of_calls;
}

const char *fast_path_strips_refused(const Vectoring *t, const Stmt *loop)
{
	Block body = loop->body;
	int64_t trips = constant_trips(t->program, loop);
	Search s = {.t = t};
	if (loop->loop != LOOP_SERIAL || loop->step != 1)
		return "the loop is no plain one";
	if (trips >= 0 && trips < t->target->fast_path_trips)
		return "there are few iterations";
	if (body.n == 0 || body.stmts[body.n - 1]->kind != LOOP_STORE)
		return "the body does not end with a store";
	s.store = body.stmts[body.n - 1];
	s.of_calls = ARENA_ARRAY(t->program->arena, bool, t->kernel->nlocals);
	for (uint32_t i = 0; i < body.n; i++) {
		const Stmt *stmt = body.stmts[i];
		bool local = stmt->kind == LOOP_LOCAL && t->kernel->locals[stmt->local].rank == 0;
		if (!local && stmt != s.store)
			return "the body is more than locals and a store";
		search_calls(&s, stmt->value);
		if (s.why)
			return s.why;
		if (local)
			s.of_calls[stmt->local] = is_of_calls(&s, stmt->value);
	}
	return s.found ? NULL : "there is no function with a fast path";
}

/* ---- strips ---- */

typedef struct Strips {
	Vectoring *t;
	const Stmt *loop;
	LocalId far;
	const Ix *first, *last;
} Strips;

/* for i in first..last: body */
static const Stmt *strip_loop(const Strips *s, Block body)
{
	Stmt *loop = stmt_with(s->t->program->arena, s->loop, body);
	loop->lo = s->first;
	loop->hi = s->last;
	loop->disjoint = false;
	return loop;
}

/* far max= whether an argument of a call in the value is */
static void scan_value(const Strips *s, const Value *value, Body *to)
{
	Arena *arena = s->t->program->arena;
	for (uint32_t i = 0; i < value->nargs; i++)
		scan_value(s, value->args[i], to);
	if (has_fast_path(s->t, value))
		PUSH(arena, to->stmts, stmt_set(arena, s->far, OP_MAX, value_far(arena, value)));
}

static void note_local(void *needed, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		((bool *)needed)[value->local] = true;
}

static void note_arguments(const Strips *s, const Value *value, bool *needed)
{
	for (uint32_t i = 0; i < value->nargs; i++)
		note_arguments(s, value->args[i], needed);
	if (has_fast_path(s->t, value))
		value_each(value, note_local, needed);
}

/* By LocalId: do arguments of calls read it, or locals that they read? */
static const bool *needed_locals(const Strips *s)
{
	bool *needed = ARENA_ARRAY(s->t->program->arena, bool, s->t->kernel->nlocals);
	for (uint32_t i = s->loop->body.n; i-- > 0;) {
		const Stmt *stmt = s->loop->body.stmts[i];
		if (stmt->kind == LOOP_LOCAL && needed[stmt->local])
			value_each(stmt->value, note_local, needed);
		note_arguments(s, stmt->value, needed);
	}
	return needed;
}

static Block scan_body(const Strips *s)
{
	Arena *arena = s->t->program->arena;
	const bool *needed = needed_locals(s);
	Body body = {0};
	for (uint32_t i = 0; i < s->loop->body.n; i++) {
		const Stmt *stmt = s->loop->body.stmts[i];
		if (has_call(s->t, stmt->value))
			scan_value(s, stmt->value, &body);
		else if (stmt->kind == LOOP_LOCAL && needed[stmt->local])
			PUSH(arena, body.stmts, stmt);
	}
	return body_block(&body);
}

/* The body with calls of fast paths: all of them, or those whose arguments are in range anyway. */
static Block shorter_body(const Strips *s, bool all)
{
	Arena *arena = s->t->program->arena;
	Body body = {0};
	for (uint32_t i = 0; i < s->loop->body.n; i++)
		PUSH(arena, body.stmts, shorter_stmt(s->t, s->loop->body.stmts[i], all));
	return body_block(&body);
}

static const Stmt *where(const Strips *s, Cond cond, Block body)
{
	Arena *arena = s->t->program->arena;
	return stmt_if_one(arena, cond, block_one(arena, strip_loop(s, body)));
}

void fast_path_strips(Vectoring *t, const Stmt *loop, Body *to)
{
	Program *program = t->program;
	Arena *arena = program->arena;
	const Ix *lo = kernel_short_ix(t->program, t->kernel, "first", loop->lo, to),
		 *hi = kernel_short_ix(t->program, t->kernel, "last", loop->hi, to);
	IterVar strip = kernel_add_iter(t->program, t->kernel, "strip");
	Strips s = {.t = t, .loop = loop, .first = ix_iter(arena, strip)};
	const Ix *length = ix_const(program, t->target->fast_path_strip);
	s.last = ix_binary(program, IX_MIN, ix_add(program, s.first, length), hi);
	s.far = kernel_add_local(t->program, t->kernel, (KernelLocal){.name = sym_cstr(program->symbols, "far"), .dtype = DTYPE_I32});
	const Ix *zero = ix_const(program, 0),
		 *far = ix_value(arena, value_local(arena, t->kernel, s.far, NULL, 0));
	Body body = {0};
	PUSH(arena, body.stmts, stmt_local(arena, s.far, value_number(arena, DTYPE_I32, 0)));
	PUSH(arena, body.stmts, strip_loop(&s, scan_body(&s)));
	PUSH(arena, body.stmts, where(&s, (Cond){COND_EQ, far, zero}, shorter_body(&s, true)));
	PUSH(arena, body.stmts, where(&s, (Cond){COND_LT, zero, far}, shorter_body(&s, false)));
	Stmt *strips = ARENA_NEW(arena, Stmt);
	*strips = *loop;
	strips->iter = strip;
	strips->lo = lo;
	strips->hi = hi;
	strips->step = t->target->fast_path_strip;
	strips->body = body_block(&body);
	PUSH(arena, to->stmts, strips);
}
