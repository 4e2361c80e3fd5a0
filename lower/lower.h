/* Index maps to loop nests. */
#ifndef TSR_LOWER_LOWER_H
#define TSR_LOWER_LOWER_H

#include "base/diag.h"
#include "loops/loops.h"
#include "schedule/schedule.h"
#include "tensor/tensor.h"

/* What is decided about every operation of every routine before any kernel: which have one, which are
 * computed inside another's (elementwise producers in their consumers, what finishes a sum where it
 * is complete) and which when the state is packed. */
typedef struct Lower LowerPlan;

/* `asked` (NULL: nothing) restricts what is chosen; it and `options`' numbers live as long as the
 * program. NULL after errors (in diags). */
LowerPlan *lower_plan(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		      Diags *diags, const LowerOptions *options, const Schedule *asked);
/* Aborts with BUG where a node has no place, or two. */
void lower_plan_verify(const LowerPlan *plan);
/* As docs/ir.md says. */
void lower_plan_dump(FILE *out, const LowerPlan *plan);
/* Decides how each kernel of the plan is computed, once: row blocks, tiles, copies. Ensures: no kernel
 * is there. */
void lower_plan_kernels(LowerPlan *plan);
/* Aborts with BUG where a kernel cannot be as it is planned. */
void lower_nests_verify(const LowerPlan *plan);
/* As docs/ir.md says. */
void lower_nests_dump(FILE *out, const LowerPlan *plan);
/* The kernels of a plan, once; it can still be printed. NULL after errors (in diags). Requires: how they
 * are computed is decided. Ensures: loops_verify passes. */
Program *lower_kernels(LowerPlan *plan);
/* Tells what was asked of the schedule and not made. Requires: the passes of transform/ that
 * choose, all but the last, have run; none of them runs afterwards. */
void lower_finish(Program *program, const Schedule *asked, Diags *diags);
/* All of it: kernels, the passes of transform/, lower_finish. NULL after errors. */
Program *lower_program(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options, const Schedule *asked);

#endif
