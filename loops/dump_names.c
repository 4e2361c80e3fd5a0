/* What iterators, locals and buffers are called in a dump: dump.h says when another name than their
 * own. */
#include "loops/dump.h"
#include "loops/walk.h"

#include <inttypes.h>
#include <string.h>

/* ---- buffers ---- */

static bool is_shared(const Buffer *buffer)
{
	return buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_CONST ||
	       buffer->kind == BUFFER_PACKED;
}

static bool is_empty(const Program *program, const Buffer *buffer)
{
	return buffer->kind == BUFFER_TEMP && size_is(program->sizes, buffer->elements, 0);
}

/* Is there a routine that sees both? */
static bool meet(const Program *program, const Buffer *a, const Buffer *b)
{
	return !is_empty(program, a) && !is_empty(program, b) &&
	       (is_shared(a) || is_shared(b) || a->routine == b->routine);
}

/* How many buffers in front of it have its name where it is seen. */
static uint32_t namesakes(const Program *program, BufferId id)
{
	const Buffer *buffer = &program->buffers.at[id];
	uint32_t n = 0;
	for (BufferId b = 0; b < id; b++)
		n += program->buffers.at[b].name == buffer->name &&
		     meet(program, &program->buffers.at[b], buffer);
	return n;
}

static bool has_buffer_named(const Program *program, const char *name)
{
	for (size_t b = 0; b < program->buffers.n; b++)
		if (strcmp(program->buffers.at[b].name, name) == 0)
			return true;
	return false;
}

Sym buffer_shown(const Program *program, BufferId id)
{
	Sym name = program->buffers.at[id].name, unique = name;
	uint32_t before = namesakes(program, id);
	for (uint32_t same = 2; before > 0; same++) {
		unique = arena_printf(program->arena, "%s_%" PRIu32, name, same);
		before -= !has_buffer_named(program, unique);
	}
	return unique;
}

/* ---- iterators and locals ---- */

BufferUses dump_open_kernel(Dump *d)
{
	const Kernel *kernel = d->kernel;
	Arena *arena = d->program->arena;
	d->iters = ARENA_ARRAY(arena, Sym, kernel->niters + 1);
	d->locals = ARENA_ARRAY(arena, Sym, kernel->nlocals + 1);
	d->uses = kernel_buffers(arena, kernel);
	d->buffers = ARENA_ARRAY(arena, Sym, d->uses.n + 1);
	for (size_t i = 0; i < d->uses.n; i++)
		d->buffers[i] = buffer_shown(d->program, d->uses.at[i].buffer);
	return d->uses;
}

Sym dump_buffer_name(const Dump *d, BufferId buffer)
{
	for (size_t i = 0; i < d->uses.n; i++)
		if (d->uses.at[i].buffer == buffer)
			return d->buffers[i];
	return d->program->buffers.at[buffer].name;
}

/* Dims, scalars and the numbers that are words. */
static bool is_taken_outside(const Dump *d, const char *name)
{
	const ProgramRoutine *routine = program_routine(d->program, d->routine);
	for (DimId dim = 0; dim < sizes_ndims(d->program->sizes); dim++)
		if (strcmp(sizes_dim(d->program->sizes, dim)->name, name) == 0)
			return true;
	for (uint32_t i = 0; i < routine->nscalars; i++)
		if (strcmp(routine->scalars[i].name, name) == 0)
			return true;
	return strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0;
}

static bool is_taken(const Dump *d, const char *name, bool axes)
{
	for (size_t i = 0; i < d->visible.n; i++)
		if (strcmp(d->visible.at[i], name) == 0)
			return true;
	for (size_t i = 0; axes && i < d->uses.n; i++)
		if (strcmp(d->buffers[i], name) == 0)
			return true;
	return is_taken_outside(d, name);
}

/* axes: it is written with an index, as buffers are. */
static Sym make_visible(Dump *d, Sym name, bool axes)
{
	Sym unique = name;
	for (uint32_t same = 1; is_taken(d, unique, axes); same++)
		unique = arena_printf(d->program->arena, "%s%" PRIu32, name, same);
	PUSH(d->program->arena, d->visible, unique);
	return unique;
}

void dump_name_iter(Dump *d, IterVar iter)
{
	d->iters[iter] = make_visible(d, d->kernel->iters[iter].name, false);
}

void dump_name_local(Dump *d, LocalId local)
{
	const KernelLocal *l = &d->kernel->locals[local];
	d->locals[local] = make_visible(d, l->name, l->rank > 0);
}

Sym dump_iter(const Dump *d, IterVar iter)
{
	return d->iters && d->iters[iter] ? d->iters[iter] : d->kernel->iters[iter].name;
}

Sym dump_local_name(const Dump *d, LocalId local)
{
	return d->locals && d->locals[local] ? d->locals[local] : d->kernel->locals[local].name;
}
