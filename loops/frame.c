#include "loops/frame.h"

#include "loops/rewrite.h"

KernelFrame frame_new(Program *program)
{
	return (KernelFrame){.program = program, .names = {.arena = program->arena}};
}

KernelFrame frame_copy(const KernelFrame *frame, bool looks)
{
	KernelFrame copy = *frame;
	copy.iters.cap = copy.iters.n;
	copy.locals.cap = copy.locals.n;
	if (looks)
		copy.names = (PointerMap){.arena = frame->program->arena};
	return copy;
}

IterVar frame_iter(KernelFrame *frame, const char *name)
{
	const Program *program = frame->program;
	Sym wanted = sym_cstr(program->symbols, name);
	Sym unique = iter_unique(program, frame->iters.at, frame->iters.n, wanted,
				 pointer_map_at(&frame->names, wanted));
	PUSH(program->arena, frame->iters, ((KernelIter){unique}));
	return (IterVar)frame->iters.n - 1;
}

LocalId frame_local(KernelFrame *frame, const char *name, Dtype dtype, const int64_t *extents,
		    uint32_t rank)
{
	const Program *program = frame->program;
	KernelLocal local = {.dtype = dtype, .rank = rank};
	local.name = local_unique(program, frame->locals.at, frame->locals.n, name);
	for (uint32_t i = 0; i < rank; i++)
		local.extent[i] = (uint32_t)extents[i];
	PUSH(program->arena, frame->locals, local);
	return (LocalId)frame->locals.n - 1;
}

const Value *frame_value(const KernelFrame *frame, LocalId local, const Ix *const *ixs)
{
	Arena *arena = frame->program->arena;
	Kernel view = {.locals = frame->locals.at, .nlocals = (uint32_t)frame->locals.n};
	uint32_t rank = frame->locals.at[local].rank;
	const Ix **copy = ARENA_ARRAY(arena, const Ix *, rank + 1);
	for (uint32_t i = 0; i < rank; i++)
		copy[i] = ixs[i];
	return value_local(arena, &view, local, copy, rank);
}

const Value *frame_element(const KernelFrame *frame, LocalId local, const Ix *at)
{
	return frame_value(frame, local, &at);
}

void frame_end(const KernelFrame *frame, Kernel *kernel)
{
	kernel->iters = frame->iters.at;
	kernel->niters = (uint32_t)frame->iters.n;
	kernel->locals = frame->locals.at;
	kernel->nlocals = (uint32_t)frame->locals.n;
}

IterVar kernel_add_iter(Program *program, Kernel *kernel, const char *name)
{
	KernelIter iter = {sym_cstr(program->symbols, name)};
	kernel_append_tables(program->arena, kernel, &(Kernel){.iters = &iter, .niters = 1});
	return kernel->niters - 1;
}

LocalId kernel_add_local(Program *program, Kernel *kernel, KernelLocal local)
{
	local.name = sym_cstr(program->symbols, local.name);
	kernel_append_tables(program->arena, kernel, &(Kernel){.locals = &local, .nlocals = 1});
	return kernel->nlocals - 1;
}

const LocalId *kernel_own_locals(Program *program, Kernel *kernel, Block block)
{
	uint32_t n = kernel->nlocals;
	LocalId *locals = ARENA_ARRAY(program->arena, LocalId, n + 1);
	for (LocalId id = 0; id < n; id++)
		locals[id] = id;
	for (uint32_t i = 0; i < block.n; i++) {
		LocalId id = block.stmts[i]->local;
		if (block.stmts[i]->kind == LOOP_LOCAL)
			locals[id] = kernel_add_local(program, kernel, kernel->locals[id]);
	}
	return locals;
}

const Ix *kernel_short_ix(Program *program, Kernel *kernel, const char *name, const Ix *ix,
			  Body *body)
{
	Arena *arena = program->arena;
	if (ix->kind == IX_SIZE || ix->kind == IX_ITER)
		return ix;
	LocalId local = kernel_add_local(program, kernel,
					 (KernelLocal){.name = name, .dtype = DTYPE_I64});
	PUSH(arena, body->stmts, stmt_local(arena, local, value_index(arena, DTYPE_I64, ix)));
	return ix_value(arena, value_local(arena, kernel, local, NULL, 0));
}
