/* Iterators, locals and shared buffers that kernels get when they are bound to threads. */
#include "transform/gpu/bind.h"

#include "loops/frame.h"
#include "loops/rewrite.h"

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

BufferId bind_temp(Program *program, const Kernel *kernel, uint32_t routine, Buffer temp,
		   const char *name)
{
	BufferId id = (BufferId)program->buffers.n;
	temp.kind = BUFFER_TEMP;
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
		     const char *name)
{
	shared.scratch = shared.shared = true;
	return bind_temp(program, kernel, routine, shared, name);
}
