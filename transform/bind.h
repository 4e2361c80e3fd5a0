/* The parts of the pass `bind`. */
#ifndef TSR_TRANSFORM_BIND_H
#define TSR_TRANSFORM_BIND_H

#include "transform/transform.h"

/* bind.c: what each thread of the grid does; the kernel's body where there is no grid. */
Block grid_body(const Kernel *kernel);
/* The loops of a grid around another body, with so many threads along each; 0: as they have. */
Block grid_around(Arena *arena, const Block *grid, Block body, int64_t threads);

/* bind_tables.c: a new iterator or local of the kernel, its name made unique there. */
IterVar bind_iter(Program *program, Kernel *kernel, const char *name);
LocalId bind_local(Program *program, Kernel *kernel, KernelLocal local);
/* A buffer of a block's threads, of the dtype and the elements that are given; called KERNEL_NAME. */
BufferId bind_shared(Program *program, const Kernel *kernel, uint32_t routine, Buffer shared,
		     const char *name);

/* bind_join.c: joins kernels of a routine that have one grid, in place; how many are left. */
uint32_t bind_join(const Transform *t, Kernel *kernels, uint32_t n);
/* bind_rows.c: lets the threads of a block share the sums of the kernel, where they read what lies side by
 * side. */
void bind_rows(const Transform *t, Kernel *kernel, uint32_t routine);
#endif
