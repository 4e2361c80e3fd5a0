/* Rows that are added at indices: one of the parts of `bind`. */
#ifndef TSR_TRANSFORM_GPU_SCATTER_H
#define TSR_TRANSFORM_GPU_SCATTER_H

#include "transform/gpu/bind.h"

/* scatter.c: lets blocks have the rows of a target that rows are added to at indices, where it pays. Requires: of bind_scatter, that
 * scatter_pays for the same kernel. */
bool scatter_pays(const Transform *t, Kernel *kernel);
void bind_scatter(const Transform *t, Kernel *kernel, uint32_t routine);

#endif
