/* Walks over a kernel: which buffers it touches, and a hash of its structure.
 *
 * The hash is XXH64 over a serialisation in which buffers are numbered by their first use, so that two
 * kernels with equal hashes differ in buffers and names only.
 */
#include <xxhash.h>

#include "lower/loops.h"

typedef struct Walk {
	Arena *arena;
	const Program *program; /* NULL: buffers only */
	BufferUses uses;
	SizeList sizes;
	VEC(uint64_t) words;
} Walk;

static void word(Walk *w, uint64_t value)
{
	if (w->program)
		PUSH(w->arena, w->words, value);
}

static void touch(Walk *w, BufferId buffer, bool loaded, bool stored)
{
	size_t i = 0;
	while (i < w->uses.n && w->uses.at[i].buffer != buffer)
		i++;
	if (i == w->uses.n) {
		PUSH(w->arena, w->uses, ((BufferUse){.buffer = buffer}));
		if (w->program)
			word(w, (uint64_t)w->program->buffers.at[buffer].dtype);
	}
	w->uses.at[i].loaded |= loaded;
	w->uses.at[i].stored |= stored;
	word(w, i);
}

static void see_size(Walk *w, Size size)
{
	word(w, size.id);
	for (size_t i = 0; i < w->sizes.n; i++)
		if (size_same(w->sizes.at[i], size))
			return;
	PUSH(w->arena, w->sizes, size);
}

static void walk_value(Walk *w, const Value *value);

static void walk_ix(Walk *w, const Ix *ix)
{
	word(w, 0x100 + (uint64_t)ix->kind);
	switch (ix->kind) {
	case IX_SIZE: see_size(w, ix->size); break;
	case IX_ITER: word(w, ix->iter); break;
	case IX_VALUE: walk_value(w, ix->value); break;
	default:
		walk_ix(w, ix->a);
		walk_ix(w, ix->b);
	}
}

static void walk_value(Walk *w, const Value *value)
{
	word(w, 0x200 + (uint64_t)value->kind);
	word(w, (uint64_t)value->dtype);
	if (value->kind == VALUE_LOAD)
		touch(w, value->buffer, true, false);
	if (value->kind == VALUE_LOCAL)
		word(w, value->local);
	if (value->kind == VALUE_CONST)
		word(w, (uint64_t)value->constant.i);
	if (value->kind == VALUE_SCALAR)
		word(w, value->scalar);
	if (value->kind == VALUE_OP)
		word(w, (uint64_t)value->op);
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
	word(w, 0x300 + (uint64_t)stmt->kind);
	if (stmt->kind == LOOP_FOR) {
		word(w, stmt->iter);
		word(w, (uint64_t)stmt->loop);
		word(w, (uint64_t)stmt->step);
	}
	if (stmt->lo)
		walk_ix(w, stmt->lo);
	if (stmt->hi)
		walk_ix(w, stmt->hi);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		word(w, (uint64_t)stmt->conds[i].kind);
		walk_ix(w, stmt->conds[i].a);
		walk_ix(w, stmt->conds[i].b);
	}
	if (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET)
		word(w, stmt->local);
	word(w, (uint64_t)stmt->acc);
	for (uint32_t i = 0; i < stmt->nixs; i++)
		walk_ix(w, stmt->ixs[i]);
	if (stmt->ix)
		walk_ix(w, stmt->ix);
	if (stmt->kind == LOOP_CHECK)
		word(w, stmt->check);
	if (stmt->value)
		walk_value(w, stmt->value);
	if (stmt->kind == LOOP_STORE)
		touch(w, stmt->buffer, stmt->acc != OP_NONE, true);
	walk_block(w, &stmt->body);
}

static void walk_block(Walk *w, const Block *block)
{
	word(w, block->n);
	for (uint32_t i = 0; i < block->n; i++)
		walk_stmt(w, block->stmts[i]);
}

BufferUses kernel_buffers(Arena *arena, const Kernel *kernel)
{
	Walk w = {.arena = arena};
	walk_block(&w, &kernel->body);
	return w.uses;
}

SizeList kernel_sizes(Arena *arena, const Kernel *kernel)
{
	Walk w = {.arena = arena};
	walk_block(&w, &kernel->body);
	return w.sizes;
}

uint64_t kernel_identity(const Program *program, const Kernel *kernel)
{
	Walk w = {.arena = arena_new(), .program = program};
	for (uint32_t i = 0; i < kernel->nlocals; i++) {
		word(&w, (uint64_t)kernel->locals[i].dtype);
		word(&w, kernel->locals[i].rank);
		for (uint32_t axis = 0; axis < kernel->locals[i].rank; axis++)
			word(&w, kernel->locals[i].extent[axis]);
	}
	walk_block(&w, &kernel->body);
	uint64_t hash = XXH64(w.words.at, w.words.n * sizeof *w.words.at, 0);
	arena_free(w.arena);
	return hash;
}
