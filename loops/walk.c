/* Walks over a kernel: every value in a tree; which buffers a kernel touches, which sizes it
 * mentions, each once, in the order of first mention. Shared sub-trees are walked wherever they
 * stand: expressions of kernels are shallow, and lists are short.
 */
#include "loops/dependence.h"
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

typedef struct Walk {
	Arena *arena;
	bool for_sizes; /* or for buffers */
	BufferUses uses;
	SizeList sizes;
} Walk;

static void touch(Walk *w, BufferId buffer, bool loaded, bool stored)
{
	size_t i = 0;
	if (w->for_sizes)
		return;
	while (i < w->uses.n && w->uses.at[i].buffer != buffer)
		i++;
	if (i == w->uses.n)
		PUSH(w->arena, w->uses, ((BufferUse){.buffer = buffer}));
	w->uses.at[i].loaded |= loaded;
	w->uses.at[i].stored |= stored;
}

static void see_size(Walk *w, Size size)
{
	for (size_t i = 0; i < w->sizes.n; i++)
		if (size_same(w->sizes.at[i], size))
			return;
	PUSH(w->arena, w->sizes, size);
}

static void walk_value(Walk *w, const Value *value);

static void walk_ix(Walk *w, const Ix *ix)
{
	if (!w->for_sizes && !ix->reads)
		return;
	switch (ix->kind) {
	case IX_SIZE:
		if (w->for_sizes)
			see_size(w, ix->size);
		break;
	case IX_ITER: break;
	case IX_VALUE: walk_value(w, ix->value); break;
	default:
		walk_ix(w, ix->a);
		walk_ix(w, ix->b);
	}
}

static void walk_value(Walk *w, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		touch(w, value->buffer, true, false);
	if (value->ix)
		walk_ix(w, value->ix);
	for (uint32_t i = 0; i < value->nixs; i++)
		walk_ix(w, value->ixs[i]);
	for (uint32_t i = 0; i < value->nargs; i++)
		walk_value(w, value->args[i]);
}

static void walk_block(Walk *w, const Block *block);

static void walk_stmt(Walk *w, const Stmt *stmt)
{
	if (stmt->lo)
		walk_ix(w, stmt->lo);
	if (stmt->hi)
		walk_ix(w, stmt->hi);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		walk_ix(w, stmt->conds[i].a);
		walk_ix(w, stmt->conds[i].b);
	}
	for (uint32_t i = 0; i < stmt->nixs; i++)
		walk_ix(w, stmt->ixs[i]);
	if (stmt->ix)
		walk_ix(w, stmt->ix);
	if (stmt->value)
		walk_value(w, stmt->value);
	if (stmt->kind == LOOP_PREFETCH)
		touch(w, stmt->buffer, true, false);
	if (stmt->kind == LOOP_STORE) /* an accumulation reads the element as well */
		touch(w, stmt->buffer, stmt->acc != OP_NONE, true);
	walk_block(w, &stmt->body);
}

static void walk_block(Walk *w, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		walk_stmt(w, block->stmts[i]);
}

BufferUses kernel_buffers(Arena *arena, const Kernel *kernel)
{
	Walk w = {.arena = arena};
	walk_block(&w, &kernel->body);
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

SizeList kernel_sizes(Arena *arena, const Kernel *kernel)
{
	Walk w = {.arena = arena, .for_sizes = true};
	walk_block(&w, &kernel->body);
	return w.sizes;
}
