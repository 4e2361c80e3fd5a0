/* Iterators and locals of a kernel: of one under construction, and those that a pass adds to one. */
#ifndef TSR_LOOPS_FRAME_H
#define TSR_LOOPS_FRAME_H

#include "base/pointer_map.h"
#include "loops/build.h"

/* Of a kernel under construction. */
typedef struct KernelFrame {
	Program *program;
	VEC(KernelIter) iters;
	PointerMap names; /* of iterators: how many of a name were taken */
	VEC(KernelLocal) locals;
} KernelFrame;

/* A frame without iterators and locals, which are added in the program's arena. */
KernelFrame frame_new(Program *program);
/* A copy: what is added to it stands in other memory. `looks`: and takes no names of the frame's. */
KernelFrame frame_copy(const KernelFrame *frame, bool looks);
/* A new iterator, or local of `rank` axes, called NAME, or NAME1, NAME2, ... where another one has that name. */
IterVar frame_iter(KernelFrame *frame, const char *name);
LocalId frame_local(KernelFrame *frame, const char *name, Dtype dtype, const int64_t *extents,
		    uint32_t rank);
/* An element of a local; `ixs`, one an axis, are copied. */
const Value *frame_value(const KernelFrame *frame, LocalId local, const Ix *const *ixs);
/* The same of a local of one axis; of a single one `at` is not looked at. */
const Value *frame_element(const KernelFrame *frame, LocalId local, const Ix *at);
/* Gives the kernel these iterators and locals. */
void frame_end(const KernelFrame *frame, Kernel *kernel);

/* One more of a kernel that is there, called so (dumps tell those of one name from each other). */
IterVar kernel_add_iter(Program *program, Kernel *kernel, const char *name);
LocalId kernel_add_local(Program *program, Kernel *kernel, KernelLocal local);
/* For a copy of the block, by LocalId: new locals like those that its own statements declare, and all others as they are. */
const LocalId *kernel_own_locals(Program *program, Kernel *kernel, Block block);
/* The index as a new local, which the body sets; one that is a size or an iterator as it is. */
const Ix *kernel_short_ix(Program *program, Kernel *kernel, const char *name, const Ix *ix,
			  Body *body);

#endif
