/* Sums of rows by the threads of a block.
 *
 *   grid i in 0..n of 256            grid i in 0..n
 *     local acc = 0                    local acc = 0
 *     for v in 0..c                    block thread in 0..256
 *       acc += x[i*c + v]       ->       local part = 0
 *     s[i] = acc                         for v in thread..c step 256
 *                                          part += x[i*c + v]
 *                                        parts[thread] = part
 *                                      block column in 0..16
 *                                        local part = 0
 *                                        for row in 0..16
 *                                          part += parts[row*16 + column]
 *                                        columns[column] = part
 *                                      for column in 0..16
 *                                        acc += columns[column]
 *                                      block one in 0..1
 *                                        s[i] = acc
 *
 * parts and columns are shared. The order of additions is one, whatever runs when. Chosen where all that the
 * sum reads lies side by side along its loop, of which neighbouring threads read neighbours then, and of something
 * each row is read by few sums alone: a product of many rows and columns reads both many times, and keeps its
 * threads. A barrier stands between a store, which is the first thread's, and what all of them read of it, in
 * whatever order.
 */
#include "transform/gpu/wide.h"

#include <string.h>

#include "loops/dependence.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"

typedef struct Rows {
	Program *program;
	Arena *arena;
	const GpuTarget *gpu;
	Kernel *kernel;
	uint32_t routine;
	Body body;  /* what is made */
	bool wide;  /* are all loops in fours? */
	Body since; /* the statements of the row behind the last barrier */
} Rows;

/* A sum: `for ...: local op= value`, its innermost loop. */
typedef struct Sum {
	const Stmt *inner, *set; /* NULL: it is none */
} Sum;

/* ---- decided ---- */

static Sum sum_of(const Stmt *stmt)
{
	const Stmt *inner = NULL;
	for (; stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->body.n == 1;
	     stmt = stmt->body.stmts[0])
		inner = stmt;
	return inner && is_fold(stmt) && inner->step == 1 ? (Sum){inner, stmt} : (Sum){0};
}

typedef struct Reads {
	const Rows *rows;
	const Sum *sum;
	bool contiguous, wrong;
} Reads;

/* So many iterations of the grid read the same elements; a size that is not known is as many as may be. */
static int64_t readers(const Rows *r, const Ix *ix)
{
	const Stmt *loops[GRID_LOOPS];
	uint32_t n = grid_loops(r->kernel, loops);
	return loops_readers(r->program->sizes, loops, n, ix);
}

static void see_read(void *of, const Value *value)
{
	Reads *reads = of;
	const Rows *r = reads->rows;
	if (value->kind == VALUE_LOCAL && value->local == reads->sum->set->local)
		reads->wrong = true;
	if (value->kind != VALUE_LOAD)
		return;
	IterVar column = reads->sum->inner->iter;
	if (ix_moves_by(r->program, value->ix, column, 0))
		return;
	bool next = ix_moves_by(r->program, value->ix, column, 1);
	reads->contiguous |= next && readers(r, value->ix) < r->gpu->tile_least;
	reads->wrong |= !next;
}

static int64_t threads_of(const Rows *r, const Stmt *loop)
{
	int64_t n;
	bool known =
		loop->hi->kind == IX_SIZE && size_is_const(r->program->sizes, loop->hi->size, &n);
	if (!known || n >= 2 * r->gpu->row_threads)
		return r->gpu->row_threads;
	return n >= r->gpu->row_least ? r->gpu->row_least : 0;
}

static bool pays(const Rows *r, const Sum *sum)
{
	Reads reads = {.rows = r, .sum = sum};
	Dtype dtype = sum->set->value->dtype;
	value_each(sum->set->value, see_read, &reads);
	return reads.contiguous && !reads.wrong && dtype == dtype_wide(dtype) &&
	       dtype != DTYPE_U4X32 && threads_of(r, sum->inner) > 0;
}

static bool counts(const Rows *r, const Stmt *loop)
{
	return loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
	       size_is(r->program->sizes, loop->lo->size, 0);
}

/* The innermost of loops over elements, each stored; NULL: it is none. */
static const Stmt *row_of(const Rows *r, const Stmt *stmt)
{
	for (; stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1;
	     stmt = stmt->body.stmts[0]) {
		if (counts(r, stmt) && is_elementwise(r->kernel, &stmt->body))
			return threads_of(r, stmt) > 0 ? stmt : NULL;
		if (!counts(r, stmt) || stmt->body.n != 1)
			return NULL;
	}
	return NULL;
}

/* Is every statement a local, a store, a row, or a sum that pays, and is there one? */
static bool all_pay(const Rows *r, const Block *body)
{
	bool any = false;
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		if (stmt->kind == LOOP_LOCAL && r->kernel->locals[stmt->local].rank == 0)
			continue;
		Sum sum = sum_of(stmt);
		bool shared = sum.inner ? pays(r, &sum) : row_of(r, stmt) != NULL;
		if (stmt->kind != LOOP_STORE && !shared)
			return false;
		any |= sum.inner != NULL;
	}
	return any;
}

/* ---- made ---- */

static IterVar new_iter(const Rows *r, const char *name)
{
	return bind_iter(r->program, r->kernel, name);
}

static LocalId new_local(const Rows *r, Dtype dtype)
{
	return bind_local(r->program, r->kernel, (KernelLocal){.name = "part", .dtype = dtype});
}

static BufferId new_shared(const Rows *r, const char *name, Dtype dtype, int64_t n)
{
	return bind_shared(r->program, r->kernel, r->routine, (Buffer){.dtype = dtype}, n, name);
}

static void add(const Rows *r, Body *body, const Stmt *stmt) { PUSH(r->arena, body->stmts, stmt); }

static Block single_element(const Rows *r, const Stmt *inner, Block body, const Ix *at)
{
	const Ix **iters = kernel_iters(r->arena, r->kernel, 0);
	iters[inner->iter] = at;
	Rewrite rewrite = {.program = r->program, .iters = iters, .span = r->kernel->span};
	Cond inside = {COND_LT, at, inner->hi};
	return block_one(r->arena, stmt_if_one(r->arena, inside, rewrite_block(&rewrite, body)));
}

static Wide wide_of(const Rows *r, const Stmt *inner)
{
	return (Wide){.program = r->program,
		      .kernel = r->kernel,
		      .loops = {inner},
		      .n = 1,
		      .body = inner->body,
		      .width = QUAD,
		      .steps = QUAD * threads_of(r, inner)};
}

/* What a thread does of the innermost loop: in rounds of all threads, an element or four of them in each. */
static Block in_rounds(Rows *r, const Stmt *inner, Block body, IterVar thread)
{
	Sizes *sizes = r->program->sizes;
	int64_t threads = threads_of(r, inner), each = r->wide ? QUAD : 1;
	IterVar round = new_iter(r, "round");
	const Ix *rounds = ix_size(r->arena, size_ceil(sizes, inner->hi->size, each * threads));
	const Ix *at = ix_add(
		r->program,
		ix_mul(r->program, ix_iter(r->arena, round), ix_const(r->program, each * threads)),
		ix_mul(r->program, ix_iter(r->arena, thread), ix_const(r->program, each)));
	Wide wide = wide_of(r, inner);
	wide.body = body;
	if (r->wide && wide_fits(&wide))
		body = wide_elements(&wide, at, new_iter(r, r->kernel->iters[inner->iter].name));
	else
		body = single_element(r, inner, body, at);
	return block_one(r->arena,
			 stmt_for(r->arena, round, ix_const(r->program, 0), rounds, body));
}

/* The loops, the innermost one as far as it is the thread's; in it the body. */
static Block shared_out(Rows *r, const Stmt *stmt, const Stmt *inner, Block body, IterVar thread)
{
	if (stmt == inner && counts(r, inner))
		return in_rounds(r, inner, body, thread);
	if (stmt != inner)
		body = shared_out(r, stmt->body.stmts[0], inner, body, thread);
	Stmt *loop = stmt_with(r->arena, stmt, body);
	loop->independent = false;
	if (stmt == inner) {
		loop->lo = ix_add(r->program, stmt->lo, ix_iter(r->arena, thread));
		loop->step = threads_of(r, inner);
	}
	return block_one(r->arena, loop);
}

/* `local part = neutral; loop; to[at] = part` by `threads` threads. */
static void add_parts(Rows *r, const Sum *sum, Block loop, LocalId part, IterVar thread,
		      BufferId to, int64_t threads)
{
	Body body = {0};
	add(r, &body, stmt_local(r->arena, part, fold_neutral(r->arena, sum->set)));
	body_append(r->arena, &body, loop);
	add(r, &body,
	    stmt_store(r->arena, to, ix_iter(r->arena, thread), OP_NONE,
		       value_local(r->arena, r->kernel, part, NULL, 0)));
	add(r, &r->body, stmt_loop(r->program, LOOP_BLOCK, thread, threads, body_block(&body)));
	add(r, &r->body, stmt_barrier(r->arena, false));
}

/* local op= from[...] for all of n rows of it. */
static const Stmt *fold(Rows *r, const Sum *sum, LocalId local, IterVar row, int64_t n,
			BufferId from, const Ix *at)
{
	const Stmt *set =
		stmt_set(r->arena, local, sum->set->acc, value_load(r->program, from, at));
	return stmt_loop(r->program, LOOP_SERIAL, row, n, block_one(r->arena, set));
}

static int64_t root_of(int64_t n)
{
	int64_t root = 1;
	while (root * root < n)
		root++;
	return root;
}

static void add_sum(Rows *r, const Stmt *stmt, const Sum *sum)
{
	Dtype dtype = sum->set->value->dtype;
	int64_t threads = threads_of(r, sum->inner), columns = root_of(threads);
	BufferId parts = new_shared(r, "parts", dtype, threads);
	BufferId sums = new_shared(r, "columns", dtype, columns);
	IterVar thread = new_iter(r, "thread"), column = new_iter(r, "column"),
		row = new_iter(r, "row");
	LocalId part = new_local(r, dtype), second = new_local(r, dtype);
	const Ix *at =
		ix_add(r->program,
		       ix_mul(r->program, ix_iter(r->arena, row), ix_const(r->program, columns)),
		       ix_iter(r->arena, column));
	const Stmt *set = stmt_set(r->arena, part, sum->set->acc, sum->set->value);
	add_parts(r, sum, shared_out(r, stmt, sum->inner, block_one(r->arena, set), thread), part,
		  thread, parts, threads);
	const Stmt *of_columns = fold(r, sum, second, row, threads / columns, parts, at);
	add_parts(r, sum, block_one(r->arena, of_columns), second, column, sums, columns);
	IterVar last = new_iter(r, "column");
	add(r, &r->body,
	    fold(r, sum, sum->set->local, last, columns, sums, ix_iter(r->arena, last)));
	r->since = (Body){0};
}

static BufferUses buffers_of(const Rows *r, const Stmt *stmt)
{
	Kernel alone = *r->kernel;
	alone.body = block_one(r->arena, stmt);
	return kernel_buffers(r->arena, &alone);
}

/* Does one of them store what the other touches? Stores alone are the first thread's. */
static bool meet(Rows *r, const Stmt *a, const Stmt *b)
{
	if (a->kind == LOOP_STORE && b->kind == LOOP_STORE)
		return false;
	BufferUses first = buffers_of(r, a), second = buffers_of(r, b);
	return buffer_uses_meet(&first, &second);
}

/* Threads wait in front of a statement that loads what was stored, or stores what was loaded, since they did. */
static void wait_for(Rows *r, const Stmt *stmt)
{
	for (size_t i = 0; i < r->since.stmts.n; i++)
		if (meet(r, r->since.stmts.at[i], stmt)) {
			add(r, &r->body, stmt_barrier(r->arena, false));
			r->since = (Body){0};
			break;
		}
	add(r, &r->since, stmt);
}

static void add_store(Rows *r, const Stmt *stmt)
{
	IterVar one = new_iter(r, "one");
	add(r, &r->body, stmt_loop(r->program, LOOP_BLOCK, one, 1, block_one(r->arena, stmt)));
}

static void add_row(Rows *r, const Stmt *stmt, const Stmt *inner)
{
	IterVar thread = new_iter(r, "thread");
	Block body = shared_out(r, stmt, inner, inner->body, thread);
	add(r, &r->body, stmt_loop(r->program, LOOP_BLOCK, thread, threads_of(r, inner), body));
}

static void add_stmt(Rows *r, const Stmt *stmt)
{
	Sum sum = sum_of(stmt);
	const Stmt *row = row_of(r, stmt);
	wait_for(r, stmt);
	if (sum.inner)
		add_sum(r, stmt, &sum);
	else if (row)
		add_row(r, stmt, row);
	else if (stmt->kind == LOOP_STORE)
		add_store(r, stmt);
	else
		add(r, &r->body, stmt);
}

static Rows rows_of(const Transform *t, Kernel *kernel)
{
	return (Rows){.program = t->program,
		      .arena = t->program->arena,
		      .gpu = t->options->gpu,
		      .kernel = kernel};
}

/* Do all loops that count go in fours? What one of them stores another one reads by the same threads' numbers. */
static bool all_are_wide(const Rows *r, const Block *body)
{
	for (uint32_t i = 0; i < body->n; i++) {
		Sum sum = sum_of(body->stmts[i]);
		const Stmt *inner = sum.inner ? sum.inner : row_of(r, body->stmts[i]);
		Wide wide = inner ? wide_of(r, inner) : (Wide){0};
		if (inner && (!counts(r, inner) || !wide_fits(&wide)))
			return false;
	}
	return true;
}

bool rows_pay(const Transform *t, Kernel *kernel)
{
	Rows r = rows_of(t, kernel);
	Block body = grid_body(kernel);
	return all_pay(&r, &body);
}

bool rows_are_read(const Transform *t, Kernel *kernel, const Stmt *inner, const Stmt *set)
{
	Rows r = rows_of(t, kernel);
	return pays(&r, &(Sum){inner, set});
}

void bind_rows(const Transform *t, Kernel *kernel, uint32_t routine)
{
	Rows r = rows_of(t, kernel);
	Block body = grid_body(kernel);
	r.routine = routine;
	r.wide = all_are_wide(&r, &body);
	for (uint32_t i = 0; i < body.n; i++)
		add_stmt(&r, body.stmts[i]);
	kernel->body = grid_around(r.arena, &kernel->body, body_block(&r.body), 1);
}
