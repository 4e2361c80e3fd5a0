/* Unscheduled loops: what each operation of a tensor program says, as loops. */
#ifndef TSR_LOWER_NAIVE_NAIVE_H
#define TSR_LOWER_NAIVE_NAIVE_H

#include "base/diag.h"
#include "loops/loops.h"
#include "tensor/tensor.h"

/* One kernel and one buffer for each operation, its loops in the order of the projection: nothing
 * is fused, tiled, copied or run in parallel. Memory and guards are the last pass of transform/.
 * NULL after errors (in diags).
 *
 * Ensures: loops_verify_grammar passes. A reduction adds one term after another, the last reduced iterator
 * fastest, in the wide type of the elements; terms of several pieces piece by piece. */
Program *naive_kernels(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options);

#endif
