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
 * sum reads lies side by side along its loop, of which neighbouring threads read neighbours then, and each
 * row is read by one sum alone: a product reads rows many times, and keeps its threads. A barrier stands
 * between a store, which is the first thread's, and what all of them read of it, in whatever order.
 */
#include "transform/bind.h"

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
	bool folds = stmt->kind == LOOP_SET && stmt->nixs == 0 &&
		     (stmt->acc == OP_ADD || stmt->acc == OP_MUL || stmt->acc == OP_MAX ||
		      stmt->acc == OP_MIN);
	return inner && folds && inner->step == 1 ? (Sum){inner, stmt} : (Sum){0};
}

typedef struct Reads {
	const Rows *rows;
	const Sum *sum;
	bool beside, wrong;
} Reads;

static bool of_every_row(const Rows *r, const Ix *ix)
{
	for (const Stmt *s = grid_loop(&r->kernel->body); s; s = grid_loop(&s->body))
		if (!ix_uses(ix, s->iter))
			return false;
	return true;
}

static void see_read(void *of, const Value *value)
{
	Reads *reads = of;
	const Rows *r = reads->rows;
	if (value->kind == VALUE_LOCAL && value->local == reads->sum->set->local)
		reads->wrong = true;
	if (value->kind != VALUE_LOAD)
		return;
	Size step = ix_stride(r->program, value->ix, reads->sum->inner->iter);
	if (!size_is_bad(step) && size_is(r->program->sizes, step, 0))
		return;
	bool next = !size_is_bad(step) && size_is(r->program->sizes, step, 1);
	reads->beside |= next;
	reads->wrong |= !next || !of_every_row(r, value->ix);
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
	return reads.beside && !reads.wrong && dtype == dtype_wide(dtype) && dtype != DTYPE_U4X32 &&
	       threads_of(r, sum->inner) > 0;
}

/* Is every statement a local, a store, or a sum that pays, and is there one? */
static bool all_pay(const Rows *r, const Block *body)
{
	bool any = false;
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		if (stmt->kind == LOOP_LOCAL && r->kernel->locals[stmt->local].rank == 0)
			continue;
		Sum sum = sum_of(stmt);
		if (stmt->kind != LOOP_STORE && (!sum.inner || !pays(r, &sum)))
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
	return bind_shared(r->program, r->kernel, r->routine,
			   (Buffer){.dtype = dtype, .elements = size_const(r->program->sizes, n)},
			   name);
}

static const Ix *number(const Rows *r, int64_t n)
{
	return ix_const(r->arena, r->program->sizes, n);
}

static void add(const Rows *r, Body *body, const Stmt *stmt) { PUSH(r->arena, body->stmts, stmt); }

static const Value *neutral(const Rows *r, const Stmt *set)
{
	Dtype dtype = set->value->dtype;
	return value_const(r->arena, dtype, op_neutral(set->acc, dtype));
}

/* The sum's loops, the innermost one from `first` on in steps, into another local. */
static const Stmt *shared_out(const Rows *r, const Stmt *stmt, const Sum *sum, LocalId part,
			      const Ix *first, int64_t threads)
{
	if (stmt == sum->set)
		return stmt_set(r->arena, part, sum->set->acc, sum->set->value);
	Stmt *loop = ARENA_NEW(r->arena, Stmt);
	*loop = *stmt;
	loop->independent = false;
	if (stmt == sum->inner) {
		loop->lo = ix_add(r->program, stmt->lo, first);
		loop->step = threads;
	}
	loop->body =
		block_one(r->arena, shared_out(r, stmt->body.stmts[0], sum, part, first, threads));
	return loop;
}

/* `local part = neutral; loop; to[at] = part` by `threads` threads. */
static void add_parts(Rows *r, const Sum *sum, const Stmt *loop, LocalId part, IterVar thread,
		      BufferId to, int64_t threads)
{
	Body body = {0};
	add(r, &body, stmt_local(r->arena, part, neutral(r, sum->set)));
	add(r, &body, loop);
	add(r, &body,
	    stmt_store(r->arena, to, ix_iter(r->arena, thread), OP_NONE,
		       value_local(r->arena, r->kernel, part, NULL, 0)));
	add(r, &r->body, stmt_loop(r->program, LOOP_BLOCK, thread, threads, body_block(&body)));
	add(r, &r->body, stmt_barrier(r->arena));
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
		ix_add(r->program, ix_mul(r->program, ix_iter(r->arena, row), number(r, columns)),
		       ix_iter(r->arena, column));
	add_parts(r, sum, shared_out(r, stmt, sum, part, ix_iter(r->arena, thread), threads), part,
		  thread, parts, threads);
	add_parts(r, sum, fold(r, sum, second, row, threads / columns, parts, at), second, column,
		  sums, columns);
	IterVar last = new_iter(r, "column");
	add(r, &r->body,
	    fold(r, sum, sum->set->local, last, columns, sums, ix_iter(r->arena, last)));
	r->since = (Body){0};
}

/* Is one a store, the first thread's, and of what the other loads in all threads? */
static bool meet(Rows *r, const Stmt *store, const Stmt *other)
{
	if (store->kind != LOOP_STORE || other->kind == LOOP_STORE)
		return false;
	Kernel alone = *r->kernel;
	alone.body = block_one(r->arena, other);
	BufferUses uses = kernel_buffers(r->arena, &alone);
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].buffer == store->buffer)
			return true;
	return false;
}

/* Threads wait in front of a statement that loads what was stored, or stores what was loaded, since they did. */
static void wait_for(Rows *r, const Stmt *stmt)
{
	for (size_t i = 0; i < r->since.stmts.n; i++)
		if (meet(r, r->since.stmts.at[i], stmt) || meet(r, stmt, r->since.stmts.at[i])) {
			add(r, &r->body, stmt_barrier(r->arena));
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

static void add_stmt(Rows *r, const Stmt *stmt)
{
	Sum sum = sum_of(stmt);
	wait_for(r, stmt);
	if (sum.inner)
		add_sum(r, stmt, &sum);
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

bool rows_pay(const Transform *t, Kernel *kernel)
{
	Rows r = rows_of(t, kernel);
	Block body = grid_body(kernel);
	return all_pay(&r, &body);
}

void bind_rows(const Transform *t, Kernel *kernel, uint32_t routine)
{
	Rows r = rows_of(t, kernel);
	Block body = grid_body(kernel);
	r.routine = routine;
	for (uint32_t i = 0; i < body.n; i++)
		add_stmt(&r, body.stmts[i]);
	kernel->body = grid_around(r.arena, &kernel->body, body_block(&r.body), 1);
}
