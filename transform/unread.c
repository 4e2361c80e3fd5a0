/* Dead-code elimination: functions of parameters that the state would hold, and constants, that no kernel reads,
 * as only copies in panels were made of them. The kernels that would compute them are left out of the routine
 * that packs the state; their buffers have no elements any more.
 */
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

static uint32_t all(const Transform *t, Kernel *kernels, uint32_t n)
{
	(void)t;
	(void)kernels;
	return n;
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
	if (kernels)
		routines_change(t, all);
	t->changed = kernels > 0 || constants > 0;
}
