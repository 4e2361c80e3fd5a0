/* What is decided about a routine before its kernels (routine_plan.c). */
#ifndef TSR_LOWER_ROUTINE_PLAN_H
#define TSR_LOWER_ROUTINE_PLAN_H

#include "lower/lower.h"
#include "lower/lowering.h"

/* Decides about the nodes of the routine at hand; false after an error (in diags). */
bool routine_decide(Lower *lower);
/* Of a routine of the graph; errors are in diags. The plan lives as long as the program. */
RoutinePlan routine_plan(Lower *lower, uint32_t routine);
/* Decides how each kernel of the routine at hand is computed, and which are row blocks. Requires: buffers
 * are bound, and have their margins. */
void routine_plan_kernels(Lower *lower);
/* Makes it the plan of the routine at hand; takes into it what has been decided since. */
void routine_plan_begin(Lower *lower, const RoutinePlan *plan);
void routine_plan_end(const Lower *lower, RoutinePlan *plan);

#endif
