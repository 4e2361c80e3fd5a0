/* The parts of the pass `bind`. */
#ifndef TSR_TRANSFORM_BIND_H
#define TSR_TRANSFORM_BIND_H

#include "transform/transform.h"

/* bind_join.c: joins kernels of a routine that have one grid, in place; how many are left. */
uint32_t bind_join(const Transform *t, Kernel *kernels, uint32_t n);
/* bind_rows.c: lets the threads of a block share the sums of the kernel, where they read what lies side by
 * side. */
void bind_rows(const Transform *t, Kernel *kernel, uint32_t routine);

#endif
