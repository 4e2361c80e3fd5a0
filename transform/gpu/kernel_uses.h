/* What kernels of a routine touch, looked at once for each body: passes that ask it of all pairs of kernels would go
 * through all statements again each time. */
#ifndef TSR_TRANSFORM_GPU_KERNEL_USES_H
#define TSR_TRANSFORM_GPU_KERNEL_USES_H

#include "loops/kernel.h"
#include "loops/walk.h"

typedef struct KernelFacts {
	BufferUses uses;
	uint32_t statements; /* UINT32_MAX: a check is among them */
	bool loops;	     /* is one among them, but for the grid? */
} KernelFacts;

typedef struct KernelUses KernelUses;

/* It belongs to the arena. */
KernelUses *kernel_uses_new(Arena *arena);
/* Those of a kernel as it is now. Requires: nothing changes a body in its place, and a body lives as long as the table, so that
 * another one has other statements. */
const KernelFacts *kernel_uses(KernelUses *table, const Kernel *kernel);
/* May kernel `from` of these run as late as kernel `to`? They are of one loop, and nothing behind it, up to that, stores what it
 * touches. Requires: from is not behind to. */
bool kernel_may_wait(KernelUses *table, const Kernel *kernels, uint32_t from, uint32_t to);

#endif
