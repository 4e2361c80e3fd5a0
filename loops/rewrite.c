/* Copies of statements in which iterators, locals and buffers stand for others. Shared values stay
 * shared. */
#include "loops/rewrite.h"

#include <string.h>

#include "loops/walk.h"

static const Value *rewrite_value(Rewrite *r, const Value *value);

static const Ix *new_ix(Rewrite *r, const Ix *ix);

/* The same sum or quotient of other iterators: what was in its form is so under other names. */
static const Ix *renamed_pair(Rewrite *r, const Ix *ix)
{
	Ix *copy = ARENA_NEW(r->program->arena, Ix);
	*copy = *ix;
	copy->a = new_ix(r, ix->a);
	copy->b = new_ix(r, ix->b);
	return copy;
}

static const Ix *new_size(Rewrite *r, const Ix *ix)
{
	Program *program = r->program;
	Sizes *sizes = program->sizes;
	Size coef, rest;
	if (!r->dim_ix || !size_uses_dim(sizes, ix->size, r->dim))
		return ix;
	REQUIRE(size_split(sizes, ix->size, size_dim(sizes, r->dim), &coef, &rest));
	const Ix *moved = ix_mul(program, r->dim_ix, ix_size(program->arena, coef));
	return ix_add(program, moved, ix_size(program->arena, rest));
}

static const Ix *new_ix(Rewrite *r, const Ix *ix)
{
	Program *program = r->program;
	switch (ix->kind) {
	case IX_SIZE: return new_size(r, ix);
	case IX_ITER: return r->iters[ix->iter];
	case IX_VALUE: return ix_value(program->arena, rewrite_value(r, ix->value));
	default: break;
	}
	return r->renames ? renamed_pair(r, ix)
			  : ix_binary(program, ix->kind, new_ix(r, ix->a), new_ix(r, ix->b));
}

static const Ix *const *new_ixs(Rewrite *r, const Ix *const *ixs, uint32_t n)
{
	const Ix **copy = ARENA_ARRAY(r->program->arena, const Ix *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = new_ix(r, ixs[i]);
	return copy;
}

static const Ix *new_place(Rewrite *r, BufferId buffer, const Ix *ix)
{
	for (uint32_t i = 0; i < r->noffsets; i++)
		if (r->offsets[i].buffer == buffer)
			return ix_add(r->program, r->offsets[i].offset, new_ix(r, ix));
	return new_ix(r, ix);
}

static BufferTwin *twin_of(const Rewrite *r, BufferId buffer)
{
	for (uint32_t i = 0; i < r->ntwins; i++)
		if (r->twins[i].buffer == buffer)
			return &r->twins[i];
	return NULL;
}

static const Value *value_twin(const Rewrite *r, const Value *value)
{
	bool may = value->kind == VALUE_LOAD || value->kind == VALUE_LOCAL ||
		   value->kind == VALUE_CAST;
	for (uint32_t i = 0; may && i < r->nvalues; i++)
		if (value_same(r->values[i].value, value))
			return r->values[i].twin;
	return NULL;
}

static LocalId new_local(const Rewrite *r, LocalId local)
{
	return r->locals ? r->locals[local] : local + r->first_local;
}

static const Value *rewrite_value(Rewrite *r, const Value *value)
{
	uint64_t known = *pointer_map_at(&r->known, value);
	if (known)
		return (const Value *)(uintptr_t)known;
	const Value *other = value_twin(r, value);
	if (other)
		return other;
	Value *copy = value_copy(r->program->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = rewrite_value(r, value->args[i]);
	if (value->ix)
		copy->ix = value->kind == VALUE_LOAD ? new_place(r, value->buffer, value->ix)
						     : new_ix(r, value->ix);
	if (value->kind == VALUE_LOCAL) {
		copy->local = new_local(r, value->local);
		copy->ixs = new_ixs(r, value->ixs, value->nixs);
	}
	if (value->kind == VALUE_LOAD) {
		const BufferTwin *twin = twin_of(r, value->buffer);
		if (twin && twin->kind == TWIN_BUFFER)
			copy->buffer = twin->id;
		else if (twin && twin->kind == TWIN_CAST)
			*copy = *value_cast(r->program->arena, value->dtype,
					    value_load(r->program, twin->id, copy->ix));
		else if (twin)
			*copy = (Value){.kind = VALUE_LOCAL,
					.dtype = value->dtype,
					.local = twin->id,
					.ixs = twin->ixs,
					.nixs = twin->nixs};
	}
	*pointer_map_at(&r->known, value) = (uint64_t)(uintptr_t)copy;
	return copy;
}

static const Cond *new_conds(Rewrite *r, const Cond *conds, uint32_t n)
{
	Cond *copy = ARENA_ARRAY(r->program->arena, Cond, n + 1);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = (Cond){conds[i].kind, new_ix(r, conds[i].a), new_ix(r, conds[i].b)};
	return copy;
}

/* The first store to what becomes a local declares it. */
static void store_local(BufferTwin *twin, Stmt *copy)
{
	copy->kind = twin->declared ? LOOP_SET : LOOP_LOCAL;
	copy->local = twin->id;
	copy->ix = NULL;
	twin->declared = true;
}

static const TensorAxis *new_axes(Rewrite *r, const TensorAxis *axes, uint32_t n)
{
	TensorAxis *copy = ARENA_ARRAY(r->program->arena, TensorAxis, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = axes[i];
		copy[i].at = new_ix(r, axes[i].at);
	}
	return copy;
}

static const LoopMask *new_mask(Rewrite *r, const LoopMask *mask)
{
	LoopMask *copy = ARENA_NEW(r->program->arena, LoopMask);
	*copy = *mask;
	copy->lo = mask->lo ? new_ix(r, mask->lo) : NULL;
	copy->hi = mask->hi ? new_ix(r, mask->hi) : NULL;
	copy->masked = rewrite_block(r, mask->masked);
	return copy;
}

static const Stmt *new_stmt(Rewrite *r, const Stmt *stmt)
{
	bool touches = stmt->kind == LOOP_STORE || stmt->kind == LOOP_PREFETCH;
	Stmt *copy = ARENA_NEW(r->program->arena, Stmt);
	*copy = *stmt;
	/* values are shared within a statement, and are not across stores */
	pointer_map_clear(&r->known);
	if (span_is_none(copy->span))
		copy->span = r->span;
	if (stmt->lo)
		copy->lo = new_ix(r, stmt->lo);
	if (stmt->hi)
		copy->hi = new_ix(r, stmt->hi);
	if (stmt->ix)
		copy->ix = touches ? new_place(r, stmt->buffer, stmt->ix) : new_ix(r, stmt->ix);
	if (stmt->value)
		copy->value = rewrite_value(r, stmt->value);
	if (stmt->visit)
		copy->visit = new_ix(r, stmt->visit);
	if (stmt->axes)
		copy->axes = new_axes(r, stmt->axes, stmt->naxes);
	if (stmt->window)
		copy->window = new_ix(r, stmt->window);
	if (stmt->conds)
		copy->conds = new_conds(r, stmt->conds, stmt->nconds);
	if (stmt->kind == LOOP_FOR) {
		REQUIRE(r->iters[stmt->iter]->kind == IX_ITER);
		copy->iter = r->iters[stmt->iter]->iter;
	}
	if (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET) {
		copy->local = new_local(r, stmt->local);
		copy->ixs = new_ixs(r, stmt->ixs, stmt->nixs);
	}
	if (stmt->mask)
		copy->mask = new_mask(r, stmt->mask);
	BufferTwin *twin = touches ? twin_of(r, stmt->buffer) : NULL;
	if (twin && twin->kind == TWIN_BUFFER)
		copy->buffer = twin->id;
	else if (twin && stmt->kind == LOOP_STORE)
		store_local(twin, copy);
	copy->body = rewrite_block(r, stmt->body);
	return copy;
}

Block rewrite_block(Rewrite *r, Block block)
{
	r->known.arena = r->program->arena;
	const Stmt **stmts = ARENA_ARRAY(r->program->arena, const Stmt *, block.n + 1);
	for (uint32_t i = 0; i < block.n; i++)
		stmts[i] = new_stmt(r, block.stmts[i]);
	return (Block){stmts, block.n};
}

Block rewrite_twins(Program *program, const Kernel *kernel, Block block, BufferTwin *twins,
		    uint32_t ntwins)
{
	Rewrite rewrite = {.program = program,
			   .iters = kernel_iters(program->arena, kernel, 0),
			   .renames = true,
			   .twins = twins,
			   .ntwins = ntwins,
			   .span = kernel->span};
	return rewrite_block(&rewrite, block);
}

const Ix **kernel_iters(Arena *arena, const Kernel *kernel, IterVar first)
{
	const Ix **iters = ARENA_ARRAY(arena, const Ix *, kernel->niters + 1);
	for (IterVar i = 0; i < kernel->niters; i++)
		iters[i] = ix_iter(arena, first + i);
	return iters;
}

const Value *rewrite_alone(Rewrite *r, const Value *value)
{
	r->known.arena = r->program->arena;
	pointer_map_clear(&r->known);
	return rewrite_value(r, value);
}

const Ix *rewrite_ix(Rewrite *r, const Ix *ix)
{
	r->known.arena = r->program->arena;
	pointer_map_clear(&r->known);
	return new_ix(r, ix);
}

/* memcpy that takes the NULL of an empty array. */
static void copy(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
}

void kernel_append_tables(Arena *arena, Kernel *to, const Kernel *from)
{
	KernelIter *iters = ARENA_ARRAY(arena, KernelIter, to->niters + from->niters + 1);
	KernelLocal *locals = ARENA_ARRAY(arena, KernelLocal, to->nlocals + from->nlocals + 1);
	copy(iters, to->iters, to->niters * sizeof *iters);
	copy(iters + to->niters, from->iters, from->niters * sizeof *iters);
	copy(locals, to->locals, to->nlocals * sizeof *locals);
	copy(locals + to->nlocals, from->locals, from->nlocals * sizeof *locals);
	to->iters = iters;
	to->locals = locals;
	to->niters += from->niters;
	to->nlocals += from->nlocals;
}

Block kernel_append(Program *program, Kernel *to, const Kernel *from, Block block,
		    const Ix *const *iters)
{
	Rewrite rewrite = {.program = program,
			   .iters = iters,
			   .renames = true,
			   .first_local = to->nlocals,
			   .span = from->span};
	kernel_append_tables(program->arena, to, from);
	return rewrite_block(&rewrite, block);
}
