/* Index maps to loop nests. */
#ifndef TSR_LOWER_LOWER_H
#define TSR_LOWER_LOWER_H

#include "base/diag.h"
#include "loops/loops.h"
#include "schedule/schedule.h"
#include "tensor/tensor.h"

/* A kernel for each operation that is not computed inside another's: elementwise producers are
 * fused into their consumers. `asked` (NULL: nothing) restricts what is chosen; `options`' numbers
 * live as long as the program. NULL after errors (in diags). Ensures: loops_verify passes. */
Program *lower_kernels(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options, const Schedule *asked);
/* Tells what was asked of the schedule and not made. Requires: the passes of transform/ that
 * choose, all but the last, have run; none of them runs afterwards. */
void lower_finish(Program *program, const Schedule *asked, Diags *diags);
/* All of it: kernels, the passes of transform/, lower_finish. NULL after errors. */
Program *lower_program(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options, const Schedule *asked);

#endif
