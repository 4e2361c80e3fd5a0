/* Dead-code elimination: functions of parameters that the state would hold, and constants, that no kernel reads,
 * as only copies in panels were made of them. The kernels that would compute them are left out of the routine
 * that packs the state; their buffers have no elements any more. So are kernels of routines that store nothing but
 * temporaries that no other kernel reads, and check nothing.
 */
#include <string.h>

#include "loops/walk.h"
#include "transform/transform.h"

typedef struct Unread {
	const Transform *transform;
	Program *program;
	bool *read; /* by buffer: by a kernel that stays? */
} Unread;

static bool is_packed(const Unread *u, BufferId buffer)
{
	return u->program->buffers.at[buffer].kind == BUFFER_PACKED;
}

/* What the kernel stores in the state, if it does, nobody reads. */
static bool is_unread(const Unread *u, const BufferUses *uses)
{
	bool stores = false;
	for (size_t i = 0; i < uses->n; i++) {
		if (!uses->at[i].stored || !is_packed(u, uses->at[i].buffer))
			continue;
		if (u->read[uses->at[i].buffer])
			return false;
		stores = true;
	}
	return stores;
}

static void note_reads(const Unread *u, const BufferUses *uses)
{
	for (size_t i = 0; i < uses->n; i++)
		u->read[uses->at[i].buffer] |= uses->at[i].loaded;
}

static void forget(const Unread *u, BufferId buffer)
{
	u->program->buffers.at[buffer].kind = BUFFER_TEMP;
	buffer_forget(u->program, buffer);
}

static void read_by_routine(const Unread *u, const ProgramRoutine *routine)
{
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &u->program->kernels.at[routine->kernels[i]];
		BufferUses uses = kernel_buffers(u->transform->scratch, kernel);
		note_reads(u, &uses);
	}
}

/* Drops kernels of the routine that packs the state, the last first: what reads a function stands behind it. Returns
 * how many. */
static uint32_t drop_kernels(const Unread *u)
{
	ProgramRoutine *pack = &u->program->pack;
	uint32_t n = pack->nkernels, first = n;
	KernelId *kernels = ARENA_ARRAY(u->program->arena, KernelId, n + 1);
	for (uint32_t i = n; i-- > 0;) {
		const Kernel *kernel = &u->program->kernels.at[pack->kernels[i]];
		BufferUses uses = kernel_buffers(u->transform->scratch, kernel);
		if (is_unread(u, &uses)) {
			for (size_t k = 0; k < uses.n; k++)
				if (uses.at[k].stored && is_packed(u, uses.at[k].buffer))
					forget(u, uses.at[k].buffer);
			continue;
		}
		note_reads(u, &uses);
		kernels[--first] = pack->kernels[i];
	}
	pack->kernels = kernels + first;
	pack->nkernels = n - first;
	return first;
}

static size_t drop_constants(const Unread *u)
{
	Program *program = u->program;
	size_t n = 0, before = program->consts.n;
	for (size_t i = 0; i < before; i++) {
		ProgramConst constant = program->consts.at[i];
		program->buffers.at[constant.buffer].arg = (uint32_t)n;
		if (u->read[constant.buffer])
			program->consts.at[n++] = constant;
		else
			forget(u, constant.buffer);
	}
	program->consts.n = n;
	return before - n;
}

/* ---- temporaries of routines ---- */

/* By buffer, how many of the routine's kernels read it; what changes places behind the steps of a loop, and what
 * one starts with or ends by, is read. */
static uint32_t *readers_of(const Transform *t, const Kernel *kernels, uint32_t n)
{
	const Program *program = t->program;
	uint32_t *readers = ARENA_ARRAY(t->scratch, uint32_t, program->buffers.n + 1);
	for (uint32_t i = 0; i < n; i++) {
		BufferUses uses = kernel_buffers(t->scratch, &kernels[i]);
		for (size_t k = 0; k < uses.n; k++)
			readers[uses.at[k].buffer] += uses.at[k].loaded;
	}
	for (size_t l = 1; l < program->loops.n; l++) {
		const ProgramLoop *loop = &program->loops.at[l];
		if (loop->until != BUFFER_NONE)
			readers[loop->until] += 2;
		if (loop->made != BUFFER_NONE)
			readers[loop->made] += 2;
		for (uint32_t i = 0; i < loop->nexchanges; i++) {
			readers[loop->exchanges[i].a] += 2;
			readers[loop->exchanges[i].b] += 2;
		}
	}
	return readers;
}

/* Does a kernel, which checks nothing, store temporaries alone, which no other reads? */
static bool is_dead(const Program *program, const Kernel *kernel, const BufferUses *uses,
		    const uint32_t *readers)
{
	bool stores = false;
	for (size_t i = 0; i < uses->n; i++) {
		const BufferUse *use = &uses->at[i];
		if (!use->stored)
			continue;
		if (program->buffers.at[use->buffer].kind != BUFFER_TEMP ||
		    readers[use->buffer] > use->loaded)
			return false;
		stores = true;
	}
	return stores && !block_find(kernel->body, stmt_is_check, NULL);
}

/* The last first: what reads a temporary stands behind it. */
static uint32_t drop_dead(const Transform *t, Kernel *kernels, uint32_t n)
{
	uint32_t *readers = readers_of(t, kernels, n), first = n;
	for (uint32_t i = n; i-- > 0;) {
		BufferUses uses = kernel_buffers(t->scratch, &kernels[i]);
		if (!is_dead(t->program, &kernels[i], &uses, readers)) {
			kernels[--first] = kernels[i];
			continue;
		}
		for (size_t k = 0; k < uses.n; k++)
			readers[uses.at[k].buffer] -= uses.at[k].loaded;
	}
	memmove(kernels, kernels + first, (n - first) * sizeof *kernels);
	return n - first;
}

static bool *touched_buffers(const Transform *t)
{
	const Program *program = t->program;
	bool *touched = ARENA_ARRAY(t->scratch, bool, program->buffers.n + 1);
	for (size_t i = 0; i < program->kernels.n; i++) {
		BufferUses uses = kernel_buffers(t->scratch, &program->kernels.at[i]);
		for (size_t k = 0; k < uses.n; k++)
			touched[uses.at[k].buffer] = true;
	}
	return touched;
}

/* Leaves out kernels of routines that store temporaries alone, which no other reads, and check nothing. Was there one? */
static bool drop_dead_kernels(const Transform *t)
{
	bool *before = touched_buffers(t), dead = routines_change(t, drop_dead);
	bool *after = touched_buffers(t);
	for (BufferId id = 0; id < t->program->buffers.n; id++)
		if (before[id] && !after[id] && t->program->buffers.at[id].kind == BUFFER_TEMP)
			buffer_forget(t->program, id);
	return dead;
}

void transform_unread(Transform *t)
{
	Program *program = t->program;
	Unread u = {t, program, ARENA_ARRAY(t->scratch, bool, program->buffers.n + 1)};
	for (uint32_t r = 0; r < program->routines.n; r++)
		read_by_routine(&u, &program->routines.at[r]);
	read_by_routine(&u, &program->init);
	uint32_t kernels = drop_kernels(&u);
	size_t constants = drop_constants(&u);
	bool dead = drop_dead_kernels(t);
	t->changed = kernels > 0 || constants > 0 || dead;
}
