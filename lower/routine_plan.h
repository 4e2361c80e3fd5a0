/* What is decided about a routine before its kernels (routine_plan.c). */
#ifndef TSR_LOWER_ROUTINE_PLAN_H
#define TSR_LOWER_ROUTINE_PLAN_H

#include "lower/lower.h"
#include "lower/lowering.h"

/* Decides about the nodes of the routine at hand; false after an error (in diags). */
bool routine_decide(Lower *lower);
/* Of a routine of the graph; errors are in diags. The plan lives as long as the program. */
RoutinePlan routine_plan(Lower *lower, uint32_t routine);
/* Makes it the plan of the routine at hand. */
void routine_plan_begin(Lower *lower, const RoutinePlan *plan);

#endif
