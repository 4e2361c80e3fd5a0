/* Loops over the few elements of a row, unrolled, so that lanes go along the rows.
 *
 *   for i in 0..n                              for i in 0..n
 *     local invariant = s[i]                     local invariant = s[i]
 *     for k in 0..3                     ->       y[i*3] = x[i*3] * invariant
 *       y[i*3 + k] = x[i*3 + k] * invariant      y[i*3 + 1] = x[i*3 + 1] * invariant
 *                                                y[i*3 + 2] = x[i*3 + 2] * invariant
 *
 * A vector has no room for three elements; of many rows, each element is one: the elements of neighbouring
 * rows are loaded and stored together and permuted between. Legal is any loop of a known number of
 * iterations.
 */
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/unroll.h"

enum { ASKED = 8 }; /* elements of a row, where it is asked for */

typedef struct Unroll {
	Program *program;
	ScheduleEntry *entry;
	const ScheduleClause *asked;
	int64_t most, stmts; /* elements of a row that is unrolled, and its statements, at most */
	int64_t lanes;	     /* of f32 */
	Kernel *kernel;
	const Stmt *row; /* the loop over rows at hand */
	bool any;
} Unroll;

/* ---- which ---- */

static bool is_short(const Unroll *u, const Stmt *stmt)
{
	int64_t trips = loop_is_plain(stmt) ? constant_trips(u->program, stmt) : -1;
	return trips > 0 && trips <= u->most;
}

/* Does the store move with the row by as many elements as a row may have? */
static bool is_of_row(const Unroll *u, const Stmt *store)
{
	int64_t stride;
	return size_is_const(u->program->sizes, ix_stride(u->program, store->ix, u->row->iter),
			     &stride) &&
	       stride > 0 && stride <= u->most;
}

static bool declares(const void *local, const Stmt *stmt)
{
	return stmt->kind == LOOP_LOCAL && stmt->local == *(const LocalId *)local;
}

/* Is it a number of the row: one that the row declares? Others are sums over rows. */
static bool is_own(const Unroll *u, const Stmt *stmt)
{
	return u->kernel->locals[stmt->local].rank == 0 &&
	       (stmt->kind == LOOP_LOCAL || block_find(u->row->body, declares, &stmt->local));
}

static void see_read(void *of, const Value *value)
{
	*(bool *)of |= value->kind == VALUE_LOAD && value->ix->reads;
}

/* Does it read rows that integers choose? Lanes would gather their elements one by one. */
static bool is_gathered(const Stmt *stmt)
{
	bool reads = false;
	value_each(stmt->value, see_read, &reads);
	return reads;
}

/* Statements that a block of a row becomes; above the most: too many, or it holds something else. */
static int64_t unrolled_stmts(const Unroll *u, Block block)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < block.n && n <= u->stmts; i++) {
		const Stmt *stmt = block.stmts[i];
		bool local = stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET;
		bool fits = stmt->kind == LOOP_STORE ? is_of_row(u, stmt) : local && is_own(u, stmt);
		if (fits && !is_gathered(stmt))
			n++;
		else if (is_short(u, stmt))
			n += constant_trips(u->program, stmt) *
			     unrolled_stmts(u, stmt->body);
		else
			n = u->stmts + 1;
	}
	return n;
}

static bool has_short(const Unroll *u, Block block)
{
	bool found = false;
	for (uint32_t i = 0; i < block.n; i++)
		found |= is_short(u, block.stmts[i]);
	return found;
}

/* Is it asked for, or, where nothing is, a loop that fills a vector? */
static bool is_wanted(const Unroll *u, const Stmt *loop)
{
	Sym name = u->kernel->iters[loop->iter].name;
	int64_t trips = constant_trips(u->program, loop);
	if (u->asked)
		return asks_on(u->asked) && asks_any(u->asked, name);
	return trips < 0 || trips >= u->lanes;
}

static bool is_row(Unroll *u, const Stmt *stmt)
{
	u->row = stmt;
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1 &&
	       is_wanted(u, stmt) && has_short(u, stmt->body) &&
	       unrolled_stmts(u, stmt->body) <= u->stmts;
}

/* ---- the change ---- */

static void push_unrolled(Unroll *u, Block block, Body *to)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind != LOOP_FOR) {
			PUSH(u->program->arena, to->stmts, stmt);
			continue;
		}
		int64_t first = 0, trips = constant_trips(u->program, stmt);
		size_is_const(u->program->sizes, stmt->lo->size, &first);
		const Ix **iters = kernel_iters(u->program->arena, u->kernel, 0);
		for (int64_t k = 0; k < trips; k++) {
			iters[stmt->iter] = ix_const(u->program, first + k);
			Rewrite rewrite = {
				.program = u->program,
				.iters = iters,
				.locals = kernel_own_locals(u->program, u->kernel, stmt->body)};
			push_unrolled(u, rewrite_block(&rewrite, stmt->body), to);
		}
	}
}

static void describe(const Unroll *u, Sym name)
{
	ScheduleClause *made = entry_clause(u->entry, CHOICE_UNROLL_ROWS);
	if (!made)
		made = entry_make(u->program->arena, u->entry, CHOICE_UNROLL_ROWS, false);
	if (!clause_item(made, name))
		clause_add(u->program->arena, made, name, NULL, 0);
}

static Block in_block(Unroll *u, Block block);

static const Stmt *in_stmt(Unroll *u, const Stmt *stmt)
{
	Body body = {0};
	if (!is_row(u, stmt)) {
		Block inner = in_block(u, stmt->body);
		return inner.stmts == stmt->body.stmts ? stmt
						       : stmt_with(u->program->arena, stmt, inner);
	}
	push_unrolled(u, stmt->body, &body);
	describe(u, u->kernel->iters[stmt->iter].name);
	u->any = true;
	Block row = unroll_forward(u->program, u->kernel, body_block(&body));
	return stmt_with(u->program->arena, stmt, row);
}

static Block in_block(Unroll *u, Block block)
{
	Body body = {0};
	bool same = true;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *made = in_stmt(u, block.stmts[i]);
		same &= made == block.stmts[i];
		PUSH(u->program->arena, body.stmts, made);
	}
	return same ? block : body_block(&body);
}

static void in_kernel(Unroll *u, const Transform *t)
{
	Kernel *kernel = u->kernel;
	u->entry = schedule_entry(u->program->made, kernel->name);
	u->asked = kernel_asked(t, kernel, CHOICE_UNROLL_ROWS);
	if (!u->entry)
		return;
	if (asks_on(u->asked))
		u->most = ASKED;
	kernel->body = in_block(u, kernel->body);
	if (u->any)
		unroll_drop_dead(u->program, kernel);
	else if (says_off(u->asked))
		entry_make(u->program->arena, u->entry, CHOICE_UNROLL_ROWS, true);
}

void transform_unroll(Transform *t)
{
	for (size_t k = 0; k < t->program->kernels.n && !t->options->gpu; k++) {
		Unroll u = {.program = t->program,
			    .most = t->options->target->row_columns,
			    .stmts = t->options->target->row_statements,
			    .lanes = t->options->target->vector_bytes /
				     (int64_t)dtype_bytes(DTYPE_F32),
			    .kernel = &t->program->kernels.at[k]};
		in_kernel(&u, t);
		t->changed |= u.any;
	}
}
