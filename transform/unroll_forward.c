/* Elements that a row stores and then loads: the value itself is read instead (store-to-load forwarding), and what
 * nothing reads any more is not stored.
 *
 *   t[0] = exp(x[i*2] - m)                  local t = exp(x[i*2] - m)
 *   t[1] = exp(x[i*2 + 1] - m)              local t1 = exp(x[i*2 + 1] - m)
 *   local s = recip(t[0] + t[1])     ->     local s = recip(t + t1)
 *   y[i*2] = t[0] * s                       y[i*2] = t * s
 *   y[i*2 + 1] = t[1] * s                   y[i*2 + 1] = t1 * s
 *
 * Legal where all that the row touches of the buffer differs by constants, and holds what is stored as it is.
 * A store goes where the row stores the element again, or where the buffer is scratch, of which the kernel then
 * loads nothing: rows may be several loops, of which a later one reads what an earlier one stored.
 */
#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/unroll.h"

typedef struct Forward {
	Program *program;
	Kernel *kernel;
	Block row;
	VEC(ValueTwin) loads; /* of what was stored last, and the local that has it */
	Body made;
} Forward;

/* ---- which ---- */

typedef struct Access {
	const Forward *f;
	BufferId buffer;
	const Ix *ix;
	bool met; /* is the same element loaded? */
	bool bad; /* ... or perhaps another one that is the same at times? */
} Access;

/* Is the one index never, or always, the other? */
static bool are_known(const Forward *f, const Ix *a, const Ix *b, bool *same)
{
	int64_t n;
	const Ix *distance = ix_minus(f->program, a, b);
	bool known = distance->kind == IX_SIZE && size_is_const(f->program->sizes, distance->size, &n);
	*same = known && n == 0;
	return known;
}

static void see_load(void *of, const Value *value)
{
	Access *a = of;
	bool same;
	if (value->kind != VALUE_LOAD || value->buffer != a->buffer)
		return;
	a->bad |= !are_known(a->f, value->ix, a->ix, &same);
	a->met |= same;
}

/* Is what statement `at` stores loaded by later ones, and is it always clear whether it is? `again`: is it stored once
 * more? */
static bool is_loaded(const Forward *f, uint32_t at, bool *again)
{
	const Stmt *store = f->row.stmts[at];
	Access a = {f, store->buffer, store->ix, false, false};
	bool loaded = false;
	*again = false;
	for (uint32_t i = 0; i < f->row.n; i++) {
		const Stmt *stmt = f->row.stmts[i];
		bool same = false;
		a.met = false;
		value_each(stmt->value, see_load, &a);
		loaded |= a.met && i > at && !*again;
		if (stmt->kind != LOOP_STORE || stmt->buffer != store->buffer)
			continue;
		a.bad |= !are_known(f, stmt->ix, store->ix, &same) || stmt->acc != OP_NONE;
		*again |= same && i > at;
	}
	return !a.bad && loaded &&
	       store->value->dtype == f->program->buffers.at[store->buffer].dtype;
}

/* ---- the change ---- */

/* The value with what the row stored last in place of what it loads. */
static const Value *forwarded(const Forward *f, const Value *value)
{
	Rewrite rewrite = {.program = f->program,
			   .iters = kernel_iters(f->program->arena, f->kernel, 0),
			   .renames = true,
			   .values = f->loads.at,
			   .nvalues = (uint32_t)f->loads.n};
	return f->loads.n ? rewrite_alone(&rewrite, value) : value;
}

/* Element `load` is in the local from here on. */
static void set_forwarded(Forward *f, const Value *load, const Value *local)
{
	for (size_t i = 0; i < f->loads.n; i++)
		if (value_same(f->loads.at[i].value, load)) {
			f->loads.at[i].twin = local;
			return;
		}
	PUSH(f->program->arena, f->loads, ((ValueTwin){load, local}));
}

static const Stmt *with_value(const Forward *f, const Stmt *stmt, const Value *value)
{
	if (value == stmt->value)
		return stmt;
	Stmt *copy = ARENA_NEW(f->program->arena, Stmt);
	*copy = *stmt;
	copy->value = value;
	return copy;
}

static void forward(Forward *f, uint32_t at)
{
	Program *program = f->program;
	Arena *arena = program->arena;
	const Stmt *stmt = f->row.stmts[at];
	const Value *value = forwarded(f, stmt->value);
	bool again = false;
	if (stmt->kind != LOOP_STORE || !is_loaded(f, at, &again)) {
		PUSH(arena, f->made.stmts, with_value(f, stmt, value));
		return;
	}
	KernelLocal local = {.name = program->buffers.at[stmt->buffer].name, .dtype = value->dtype};
	LocalId id = kernel_add_local(program, f->kernel, local);
	const Value *twin = value_local(arena, f->kernel, id, NULL, 0);
	PUSH(arena, f->made.stmts, stmt_local(arena, id, value));
	set_forwarded(f, value_load(program, stmt->buffer, stmt->ix), twin);
	if (!again)
		PUSH(arena, f->made.stmts, with_value(f, stmt, twin));
}

Block unroll_forward(Program *program, Kernel *kernel, Block row)
{
	Forward f = {.program = program, .kernel = kernel, .row = row};
	for (uint32_t i = 0; i < row.n; i++)
		forward(&f, i);
	return body_block(&f.made);
}

/* ---- what nothing reads ---- */

typedef struct Dead {
	const Program *program;
	BufferUses uses;
} Dead;

static bool is_dead(const void *of, const Stmt *stmt)
{
	const Dead *dead = of;
	return stmt->kind == LOOP_STORE && dead->program->buffers.at[stmt->buffer].scratch &&
	       !buffer_use(&dead->uses, stmt->buffer)->loaded;
}

static Block without_dead(const Dead *dead, Block block)
{
	Arena *arena = dead->program->arena;
	Body body = {0};
	if (!block_find(block, is_dead, dead))
		return block;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (!is_dead(dead, stmt))
			PUSH(arena, body.stmts,
			     stmt_with(arena, stmt, without_dead(dead, stmt->body)));
	}
	return body_block(&body);
}

void unroll_drop_dead(const Program *program, Kernel *kernel)
{
	Arena *scratch = arena_new();
	Dead dead = {program, kernel_buffers(scratch, kernel)};
	kernel->body = without_dead(&dead, kernel->body);
	arena_free(scratch);
}
