/* Walks over a kernel: every value in a tree; which buffers a kernel touches, which sizes it
 * mentions, each once, in the order of first mention. Shared sub-trees are walked wherever they
 * stand: expressions of kernels are shallow, and lists are short.
 */
#include "loops/dependence.h"
#include "loops/group.h"
#include "loops/walk.h"

void ix_each_value(const Ix *ix, SeeValue see, void *of)
{
	if (!ix->reads)
		return;
	if (ix->kind == IX_VALUE)
		value_each(ix->value, see, of);
	if (ix->a)
		ix_each_value(ix->a, see, of);
	if (ix->b)
		ix_each_value(ix->b, see, of);
}

void value_each(const Value *value, SeeValue see, void *of)
{
	see(of, value);
	if (value->ix)
		ix_each_value(value->ix, see, of);
	for (uint32_t i = 0; i < value->nixs; i++)
		ix_each_value(value->ixs[i], see, of);
	for (uint32_t i = 0; i < value->nargs; i++)
		value_each(value->args[i], see, of);
}

void stmt_each_ix(const Stmt *stmt, SeeIx see, void *of)
{
	if (stmt->lo)
		see(of, stmt->lo);
	if (stmt->hi)
		see(of, stmt->hi);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		see(of, stmt->conds[i].a);
		see(of, stmt->conds[i].b);
	}
	for (uint32_t i = 0; i < stmt->nixs; i++)
		see(of, stmt->ixs[i]);
	if (stmt->ix)
		see(of, stmt->ix);
	if (stmt->visit)
		see(of, stmt->visit);
	for (uint32_t i = 0; i < stmt->naxes; i++)
		see(of, stmt->axes[i].at);
	if (stmt->window)
		see(of, stmt->window);
}

typedef struct ValuesOfIx {
	SeeValue see;
	void *of;
} ValuesOfIx;

static void see_ix_values(void *of, const Ix *ix)
{
	const ValuesOfIx *values = of;
	ix_each_value(ix, values->see, values->of);
}

void stmt_each_value(const Stmt *stmt, SeeValue see, void *of)
{
	stmt_each_ix(stmt, see_ix_values, &(ValuesOfIx){see, of});
	if (stmt->value)
		value_each(stmt->value, see, of);
}

void block_each(Block block, SeeStmt see, void *of)
{
	for (uint32_t i = 0; i < block.n; i++) {
		see(of, block.stmts[i]);
		block_each(block.stmts[i]->body, see, of);
	}
}

const Stmt *block_find(Block block, IsStmt is, const void *of)
{
	const Stmt *found = NULL;
	for (uint32_t i = 0; i < block.n && !found; i++) {
		const Stmt *stmt = block.stmts[i];
		found = is(of, stmt) ? stmt : block_find(stmt->body, is, of);
	}
	return found;
}

LoopNest block_nest(Block block)
{
	LoopNest nest = {.body = block};
	const Stmt *only = block_only(block);
	for (; only && only->kind == LOOP_FOR && nest.n < NEST_LOOPS;
	     only = block_only(nest.body)) {
		nest.loops[nest.n++] = only;
		nest.body = only->body;
	}
	return nest;
}

bool stmt_is_check(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_CHECK;
}

bool stmt_is_loop(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_FOR;
}

bool stmt_is_stream(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_STORE && stmt->stream;
}

static bool sets_local(const void *of, const Stmt *stmt)
{
	return (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET) &&
	       stmt->local == *(const LocalId *)of;
}

bool block_sets_local(Block block, LocalId local) { return block_find(block, sets_local, &local); }

typedef struct Search {
	ValueKind kind;
	uint32_t id; /* BufferId or LocalId */
	bool found;
} Search;

static void see_searched(void *of, const Value *value)
{
	Search *search = of;
	uint32_t id = search->kind == VALUE_LOAD ? value->buffer : value->local;
	search->found |= value->kind == search->kind && id == search->id;
}

bool value_loads(const Value *value, BufferId buffer)
{
	Search search = {VALUE_LOAD, buffer, false};
	value_each(value, see_searched, &search);
	return search.found;
}

bool value_uses_local(const Value *value, LocalId local)
{
	Search search = {VALUE_LOCAL, local, false};
	value_each(value, see_searched, &search);
	return search.found;
}

bool value_varies(const Value *value, IterVar iter, const bool *own)
{
	if (value->kind == VALUE_LOCAL && value->nixs == 0)
		return own[value->local];
	bool differs = value->ix && ix_uses(value->ix, iter);
	for (uint32_t i = 0; i < value->nixs && !differs; i++)
		differs = ix_uses(value->ixs[i], iter);
	for (uint32_t i = 0; i < value->nargs && !differs; i++)
		differs = value_varies(value->args[i], iter, own);
	return differs;
}

typedef struct UsesWalk {
	Arena *arena;
	BufferUses uses;
} UsesWalk;

static void touch(UsesWalk *w, BufferId buffer, bool loaded, bool stored)
{
	size_t i = 0;
	while (i < w->uses.n && w->uses.at[i].buffer != buffer)
		i++;
	if (i == w->uses.n)
		PUSH(w->arena, w->uses, ((BufferUse){.buffer = buffer}));
	w->uses.at[i].loaded |= loaded;
	w->uses.at[i].stored |= stored;
}

static void touch_loaded(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		touch(of, value->buffer, true, false);
}

static void touch_stmt(void *of, const Stmt *stmt)
{
	stmt_each_value(stmt, touch_loaded, of);
	if (stmt->kind == LOOP_PREFETCH)
		touch(of, stmt->buffer, true, false);
	if (stmt->kind == LOOP_COPY || is_box_loop(stmt))
		touch(of, stmt->buffer, false, true);
	if (stmt->visit)
		touch(of, stmt->mbarrier, true, true);
	if (stmt->kind == LOOP_STORE) /* an accumulation reads the element as well */
		touch(of, stmt->buffer, stmt->acc != OP_NONE, true);
}

BufferUses kernel_buffers(Arena *arena, const Kernel *kernel)
{
	UsesWalk w = {.arena = arena};
	block_each(kernel->body, touch_stmt, &w);
	return w.uses;
}

const BufferUse *buffer_use(const BufferUses *uses, BufferId buffer)
{
	for (size_t i = 0; i < uses->n; i++)
		if (uses->at[i].buffer == buffer)
			return &uses->at[i];
	return NULL;
}

bool buffer_uses_meet(const BufferUses *a, const BufferUses *b)
{
	for (size_t i = 0; i < a->n; i++) {
		const BufferUse *other = buffer_use(b, a->at[i].buffer);
		if (other && (other->stored || a->at[i].stored))
			return true;
	}
	return false;
}

typedef struct SizesWalk {
	Arena *arena;
	SizeList sizes;
} SizesWalk;

static void see_size(SizesWalk *w, Size size)
{
	for (size_t i = 0; i < w->sizes.n; i++)
		if (size_same(w->sizes.at[i], size))
			return;
	PUSH(w->arena, w->sizes, size);
}

static void see_value_sizes(SizesWalk *w, const Value *value);

static void see_ix_sizes(void *of, const Ix *ix)
{
	if (ix->kind == IX_SIZE)
		see_size(of, ix->size);
	if (ix->kind == IX_VALUE)
		see_value_sizes(of, ix->value);
	if (ix->a)
		see_ix_sizes(of, ix->a);
	if (ix->b)
		see_ix_sizes(of, ix->b);
}

static void see_value_sizes(SizesWalk *w, const Value *value)
{
	if (value->ix)
		see_ix_sizes(w, value->ix);
	for (uint32_t i = 0; i < value->nixs; i++)
		see_ix_sizes(w, value->ixs[i]);
	for (uint32_t i = 0; i < value->nargs; i++)
		see_value_sizes(w, value->args[i]);
}

static void see_stmt_sizes(void *of, const Stmt *stmt)
{
	stmt_each_ix(stmt, see_ix_sizes, of);
	if (stmt->value)
		see_value_sizes(of, stmt->value);
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		see_size(of, stmt->axes[i].extent);
		see_size(of, stmt->axes[i].stride);
		if (stmt->axes[i].step)
			see_size(of, stmt->axes[i].windows);
	}
}

SizeList kernel_sizes(Arena *arena, const Kernel *kernel)
{
	SizesWalk w = {.arena = arena};
	block_each(kernel->body, see_stmt_sizes, &w);
	return w.sizes;
}
