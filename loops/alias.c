/* Where a kernel touches a buffer: what makes it safe to write over an operand, or to assign to a
 * tensor that the right side reads.
 */
#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/walk.h"

typedef struct OneIndex {
	BufferId buffer;
	const Ix *at; /* NULL: not seen yet */
	bool differs, read;
} OneIndex;

static void see_index(OneIndex *one, const Ix *ix)
{
	if (one->at && !ix_same(one->at, ix))
		one->differs = true;
	one->at = ix;
}

static void see_value(void *of, const Value *value)
{
	OneIndex *one = of;
	if (value->kind != VALUE_LOAD || value->buffer != one->buffer)
		return;
	see_index(one, value->ix);
	one->read = true;
}

static void see_stmt(void *of, const Stmt *stmt)
{
	OneIndex *one = of;
	stmt_each_value(stmt, see_value, one);
	if (stmt->kind == LOOP_STORE && stmt->buffer == one->buffer)
		see_index(one, stmt->ix);
}

bool block_has_one_index(const Block *block, BufferId buffer)
{
	OneIndex one = {.buffer = buffer};
	block_each(*block, see_stmt, &one);
	return !one.differs;
}

ReadPlace value_reads(const Value *value, BufferId buffer, const Ix *at)
{
	OneIndex one = {.buffer = buffer, .at = at};
	value_each(value, see_value, &one);
	ix_each_value(at, see_value, &one);
	return one.differs ? READ_ELSEWHERE : one.read ? READ_AT : READ_NOWHERE;
}

bool block_touches_only_at(const Block *block, BufferId buffer, const Ix *at)
{
	OneIndex one = {.buffer = buffer, .at = at};
	block_each(*block, see_stmt, &one);
	return !one.differs;
}

/* `met`: the statement, in what was walked already. */
static bool touches_behind(const Block *block, const Stmt *stmt, BufferId buffer, bool *met)
{
	for (uint32_t i = 0; i < block->n; i++) {
		OneIndex one = {.buffer = buffer};
		const Stmt *at = block->stmts[i];
		if (*met)
			block_each((Block){&at, 1}, see_stmt, &one);
		if (one.at)
			return true;
		*met = *met || at == stmt;
		if (touches_behind(&at->body, stmt, buffer, met))
			return true;
	}
	return false;
}

/* ---- what is read in the place of what is stored ---- */

typedef struct Loops {
	VEC(const Stmt *) at; /* the outermost first */
} Loops;

typedef struct Overwrite {
	Program *program;
	const Kernel *kernel;
	const Stmt *store;
	Loops around, here; /* of the store; of the statement at hand */
	BufferId from;
	bool elsewhere;
} Overwrite;

static bool find_around(Overwrite *o, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		size_t n = o->around.at.n;
		if (stmt == o->store)
			return true;
		if (stmt->kind == LOOP_FOR)
			PUSH(o->program->arena, o->around.at, stmt);
		if (find_around(o, stmt->body))
			return true;
		o->around.at.n = n;
	}
	return false;
}

/* The next of the loops that moves the index; NULL: none does. */
static const Stmt *next_moving(const Loops *loops, const Ix *ix, size_t *n)
{
	while (*n < loops->at.n)
		if (ix_uses(ix, loops->at.at[(*n)++]->iter))
			return loops->at.at[*n - 1];
	return NULL;
}

/* Is an element read in the iteration that stores it, of the loops around both? Below these, loops of its own that
 * move the index are those of the store: they run over the same. */
static bool is_at_store(const Overwrite *o, const Ix *ix)
{
	Program *program = o->program;
	const Ix **iters = kernel_iters(program->arena, o->kernel, 0);
	Rewrite rewrite = {.program = program, .iters = iters};
	size_t n = 0;
	while (n < o->here.at.n && n < o->around.at.n && o->here.at.at[n] == o->around.at.at[n])
		n++;
	for (size_t own = n, other = n;;) {
		const Stmt *a = next_moving(&o->here, ix, &own),
			   *b = next_moving(&o->around, o->store->ix, &other);
		if (!a || !b)
			return a == b && ix_same(rewrite_ix(&rewrite, ix), o->store->ix);
		if (a->step != b->step || !ix_same(rewrite_ix(&rewrite, a->lo), b->lo) ||
		    !ix_same(rewrite_ix(&rewrite, a->hi), b->hi))
			return false;
		iters[a->iter] = ix_iter(program->arena, b->iter);
	}
}

static void see_read(void *of, const Value *value)
{
	Overwrite *o = of;
	if (value->kind == VALUE_LOAD && value->buffer == o->from && !is_at_store(o, value->ix))
		o->elsewhere = true;
}

static void see_reads(Overwrite *o, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		size_t n = o->here.at.n;
		stmt_each_value(stmt, see_read, o);
		if (stmt->kind == LOOP_FOR)
			PUSH(o->program->arena, o->here.at, stmt);
		see_reads(o, stmt->body);
		o->here.at.n = n;
	}
}

bool kernel_reads_at_store(Program *program, const Kernel *kernel, const Stmt *store, BufferId from)
{
	Overwrite o = {.program = program, .kernel = kernel, .store = store, .from = from};
	if (!find_around(&o, kernel->body))
		BUG("kernel %s: a store of another kernel", kernel->name);
	see_reads(&o, kernel->body);
	bool met = false;
	return !o.elsewhere && !touches_behind(&kernel->body, store, from, &met);
}
