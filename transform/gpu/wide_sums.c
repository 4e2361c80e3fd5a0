/* Sums of neighbours in accesses of 16 bytes: windows of each channel, the greatest or the sum of what is under each other.
 *
 *   grid q in 0..56 of 4                                grid q in 0..56 of 16
 *     grid c in 0..64 of 64                               grid four in 0..16 of 16
 *       local acc = 0                                       local acc [4] = 0
 *       for b in 0..3                                       for b in 0..3
 *         if 0 <= q + b - 1 && q + b - 1 < 56         ->      if 0 <= q + b - 1 && q + b - 1 < 56
 *           acc += x[q*64 + b*64 + c - 64]*w[b*64 + c]          vector c1 in 0..4
 *       y[q*64 + c] = relu(acc)                                   acc[c1] += x[... + four*4 + c1 - 64]*w[...]
 *                                                           vector c1 in 0..4
 *                                                             y[q*64 + four*4 + c1] = relu(acc[c1])
 *
 * Loops and conditions are the same for all lanes. Statements that follow each other are lanes of one loop: a local that others
 * use, too, is an array of the lanes. Each element adds its own terms in their order. Chosen where there are fours enough
 * for every processor.
 */
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/wide.h"

/* ---- decided ---- */

static bool is_leaf(const Stmt *stmt)
{
	return stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET || stmt->kind == LOOP_STORE;
}

typedef struct Same {
	const Wide *w;
	bool wrong;
} Same;

/* Is the index the same for all elements of a row, and nothing read for it? */
static void see_same(void *of, const Ix *ix)
{
	Same *same = of;
	const Wide *w = same->w;
	same->wrong |= ix->reads || ix_uses(ix, w->loops[w->n - 1]->iter);
}

static void see_stmt(void *of, const Stmt *stmt)
{
	Same *same = of;
	const Kernel *kernel = same->w->kernel;
	if (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET)
		same->wrong |= kernel->locals[stmt->local].rank > 0 || !stmt->value;
	else if (stmt->kind == LOOP_STORE)
		same->wrong |= stmt->acc != OP_NONE || stmt->async;
	else if (stmt->kind == LOOP_IF || (stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL))
		stmt_each_ix(stmt, see_same, same);
	else
		same->wrong = true;
}

bool wide_sums_may(const Wide *w)
{
	Same same = {w, w->body.n == 0};
	block_each(w->body, see_stmt, &same);
	return !same.wrong;
}

bool wide_sums_pay(const Wide *w)
{
	int64_t unknown = w->gpu->unknown;
	int64_t all = size_at_dims(w->program, w->extent, unknown) / w->width;
	for (uint32_t i = 0; i < w->first; i++)
		if (__builtin_mul_overflow(
			    all, size_at_dims(w->program, w->loops[i]->hi->size, unknown),
			    &all))
			return true;
	return all >= w->gpu->processors * w->gpu->threads;
}

/* ---- statements that follow each other ---- */

/* By local: in which run of them it is declared, 0: in none so far; and is it set or used in another? */
typedef struct Runs {
	uint32_t n, *declared;
	bool *shared;
} Runs;

static void see_local(void *of, const Value *value)
{
	Runs *runs = of;
	if (value->kind == VALUE_LOCAL)
		runs->shared[value->local] |= runs->declared[value->local] != runs->n;
}

static void see_leaf(Runs *runs, const Stmt *stmt)
{
	stmt_each_value(stmt, see_local, runs);
	if (stmt->kind == LOOP_LOCAL)
		runs->declared[stmt->local] = runs->n;
	else if (stmt->kind == LOOP_SET)
		runs->shared[stmt->local] |= runs->declared[stmt->local] != runs->n;
}

static void see_block(Runs *runs, const Block *block)
{
	bool follows = false;
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		runs->n += is_leaf(stmt) && !follows;
		follows = is_leaf(stmt);
		if (follows)
			see_leaf(runs, stmt);
		else
			see_block(runs, &stmt->body);
	}
}

/* ---- made ---- */

typedef struct Sums {
	const Wide *w;
	const Ix *lane;
	IterVar iter;
	Rewrite rewrite;
	Runs runs;
	const Value **arrays; /* by local, the lane's element of one that is shared; NULL: it is not */
} Sums;

static void array_of(Sums *s, LocalId local)
{
	const Wide *w = s->w;
	Arena *arena = w->program->arena;
	KernelLocal array = w->kernel->locals[local];
	array.rank = 1;
	array.extent[0] = (uint32_t)w->width;
	LocalId id = bind_local(w->program, w->kernel, array);
	const Ix **at = ARENA_ARRAY(arena, const Ix *, 1);
	at[0] = s->lane;
	s->arrays[local] = value_local(arena, w->kernel, id, at, 1);
}

/* The arrays, and what stands for them in what is rewritten. */
static void make_arrays(Sums *s, uint32_t n)
{
	const Wide *w = s->w;
	Arena *arena = w->program->arena;
	ValueTwin *twins = ARENA_ARRAY(arena, ValueTwin, n + 1);
	s->arrays = ARENA_ARRAY(arena, const Value *, n + 1);
	s->rewrite.values = twins;
	for (LocalId i = 0; i < n; i++)
		if (s->runs.shared[i]) {
			array_of(s, i);
			twins[s->rewrite.nvalues++] = (ValueTwin){
				value_local(arena, w->kernel, i, NULL, 0), s->arrays[i]};
		}
}

/* A declared array begins with a constant: 0, where each lane has a value of its own. */
static const Stmt *declare(const Sums *s, const Value *array, const Value *value)
{
	Arena *arena = s->w->program->arena;
	return stmt_local(arena, array->local,
			  value->kind == VALUE_CONST
				  ? value
				  : value_const(arena, array->dtype, (Scalar){.f = 0}));
}

/* One statement of a lane, and what is declared in front of the lanes. */
static void put_leaf(Sums *s, const Stmt *stmt, Body *before, Body *lanes)
{
	Arena *arena = s->w->program->arena;
	const Value *array = stmt->kind == LOOP_STORE ? NULL : s->arrays[stmt->local];
	if (!array) {
		body_append(arena, lanes, rewrite_block(&s->rewrite, block_one(arena, stmt)));
		return;
	}
	if (stmt->kind == LOOP_LOCAL)
		PUSH(arena, before->stmts, declare(s, array, stmt->value));
	if (stmt->kind == LOOP_SET || stmt->value->kind != VALUE_CONST)
		PUSH(arena, lanes->stmts,
		     stmt_set_at(arena, array, stmt->kind == LOOP_SET ? stmt->acc : OP_NONE,
				 rewrite_alone(&s->rewrite, stmt->value)));
}

/* Ends a run: what it declares, then its lanes. */
static void put_run(const Sums *s, Body *to, Body *before, Body *lanes)
{
	const Wide *w = s->w;
	body_append(w->program->arena, to, body_block(before));
	if (lanes->stmts.n)
		PUSH(w->program->arena, to->stmts,
		     stmt_loop(w->program, LOOP_VECTOR, s->iter, w->width, body_block(lanes)));
	*before = *lanes = (Body){0};
}

static Block put_block(Sums *s, const Block *block)
{
	Arena *arena = s->w->program->arena;
	Body body = {0}, before = {0}, lanes = {0};
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (is_leaf(stmt)) {
			put_leaf(s, stmt, &before, &lanes);
			continue;
		}
		put_run(s, &body, &before, &lanes);
		PUSH(arena, body.stmts, stmt_with(arena, stmt, put_block(s, &stmt->body)));
	}
	put_run(s, &body, &before, &lanes);
	return body_block(&body);
}

Block wide_sums(const Wide *w, const Ix *at, IterVar lane)
{
	Arena *arena = w->program->arena;
	uint32_t n = w->kernel->nlocals;
	Sums s = {.w = w, .lane = ix_iter(arena, lane), .iter = lane};
	s.rewrite = wide_element(w, at, at);
	s.runs.declared = ARENA_ARRAY(arena, uint32_t, n + 1);
	s.runs.shared = ARENA_ARRAY(arena, bool, n + 1);
	see_block(&s.runs, &w->body);
	make_arrays(&s, n);
	return put_block(&s, &w->body);
}
