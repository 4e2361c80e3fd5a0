/* New kernels for those of a program; iterators, locals and shared buffers that kernels get when they are bound to threads. */
#include "transform/gpu/bind.h"

#include <string.h>

#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/walk.h"

IterVar bind_iter(Program *program, Kernel *kernel, const char *name)
{
	Sym wanted = sym_cstr(program->symbols, name);
	return kernel_add_iter(program, kernel,
			       iter_unique(program, kernel->iters, kernel->niters, wanted, NULL));
}

LocalId bind_local(Program *program, Kernel *kernel, KernelLocal local)
{
	local.name = local_unique(program, kernel->locals, kernel->nlocals, local.name);
	return kernel_add_local(program, kernel, local);
}

/* That of a parameter, or of something packed, that a kernel of `pack` touches. */
static uint32_t param_of(const Program *program, const Kernel *kernel)
{
	BufferUses uses = kernel_buffers(program->arena, kernel);
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *buffer = &program->buffers.at[uses.at[i].buffer];
		if (buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_PACKED)
			return buffer->arg;
	}
	BUG("a kernel of pack without parameters");
}

/* `pack` has no workspace: what it needs on its way stays, too. */
BufferId bind_temp(Program *program, const Kernel *kernel, uint32_t routine, Buffer temp,
		   const char *name)
{
	BufferId id = (BufferId)program->buffers.n;
	bool packs = routine == program->routines.n && !temp.shared;
	temp.kind = packs ? BUFFER_PACKED : BUFFER_TEMP;
	temp.arg = packs ? param_of(program, kernel) : 0;
	temp.name = sym_printf(program->symbols, "%s_%s", kernel->name, name);
	temp.span = kernel->span;
	temp.site = kernel->site;
	temp.home = id;
	temp.offset = size_const(program->sizes, 0);
	temp.routine = routine;
	PUSH(program->arena, program->buffers, temp);
	return id;
}

BufferId bind_shared(Program *program, const Kernel *kernel, uint32_t routine, Buffer shared,
		     int64_t elements, const char *name)
{
	shared.elements = size_const(program->sizes, elements);
	shared.scratch = shared.shared = true;
	return bind_temp(program, kernel, routine, shared, name);
}

/* ---- kernels ---- */

static bool name_is_taken(const NewKernels *to, Sym name)
{
	const Program *program = to->t->program;
	for (size_t i = 0; i < program->kernels.n; i++)
		if (program->kernels.at[i].name == name)
			return true;
	for (size_t i = 0; i < to->made.n; i++)
		if (to->made.at[i].name == name)
			return true;
	return false;
}

Sym kernels_name(const NewKernels *to, Sym wanted, uint32_t number)
{
	Sym name = wanted;
	for (; number > 1 && name_is_taken(to, name); number++)
		name = sym_printf(to->t->program->symbols, "%s_%u", wanted, number);
	return name;
}

void kernels_add_part(NewKernels *to, const Kernel *kernel, Block body, uint32_t *nparts)
{
	Kernel part = *kernel;
	part.body = body;
	part.name = kernels_name(to, kernel->name, ++*nparts);
	PUSH(to->t->program->arena, to->made, part);
}

static bool block_is(Block a, Block b)
{
	bool is = a.n == b.n;
	for (uint32_t i = 0; i < a.n && is; i++)
		is = a.stmts[i] == b.stmts[i];
	return is;
}

bool kernels_differ(const Kernel *before, size_t nbefore, const Kernel *after, size_t n)
{
	bool differ = n != nbefore;
	for (size_t i = 0; i < n && !differ; i++)
		differ = !block_is(before[i].body, after[i].body);
	return differ;
}

static void replace_in(NewKernels *to, ProgramRoutine *routine, KernelReplace replace)
{
	Program *program = to->t->program;
	size_t first = to->made.n;
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		if (replace)
			replace(to, kernel);
		else
			PUSH(program->arena, to->made, *kernel);
	}
	routine->nkernels = (uint32_t)(to->made.n - first);
	routine->kernels = ARENA_ARRAY(program->arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		routine->kernels[i] = (KernelId)first + i;
}

bool kernels_replace(const Transform *t, KernelReplace replace)
{
	Program *program = t->program;
	NewKernels to = {.t = t};
	for (size_t r = 0; r < program->routines.n; r++) {
		to.routine = (uint32_t)r;
		replace_in(&to, &program->routines.at[r], replace);
	}
	to.routine = (uint32_t)program->routines.n;
	replace_in(&to, &program->pack, replace);
	replace_in(&to, &program->init, NULL);
	const Kernel *before = program->kernels.at;
	size_t nbefore = program->kernels.n;
	memset(&program->kernels, 0, sizeof program->kernels);
	for (size_t i = 0; i < to.made.n; i++)
		PUSH(program->arena, program->kernels, to.made.at[i]);
	return kernels_differ(before, nbefore, to.made.at, to.made.n);
}
