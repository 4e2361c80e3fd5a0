/* Parts of the pass `indices`. */
#ifndef TSR_TRANSFORM_GPU_INDICES_H
#define TSR_TRANSFORM_GPU_INDICES_H

#include "transform/gpu/bind.h"

/* pairs.c: the kernels of a routine, of which some sums of elements of four bits are in those that add them up; how many are left. */
uint32_t pairs_routine(const Transform *t, Kernel *kernels, uint32_t n);
/* indices.c: the loops of a kernel by iterator; those of other iterators are NULL. */
const Stmt *const *loops_by_iter(Arena *arena, const Kernel *kernel);

#endif
