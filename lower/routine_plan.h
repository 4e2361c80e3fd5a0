/* What is decided about a routine before its kernels (routine_plan.c). */
#ifndef TSR_LOWER_ROUTINE_PLAN_H
#define TSR_LOWER_ROUTINE_PLAN_H

#include "lower/gen/lowering.h"
#include "lower/lower.h"

/* What is decided about the nodes of the routine at hand; errors are in diags. The plan lives as long as the
 * program. */
RoutinePlan routine_plan(Lower *lower);
/* Decides how each kernel of the routine at hand is computed, and which are row blocks.
 * Requires: buffers
 * are bound, and have their margins. */
void routine_plan_kernels(Lower *lower);
/* Makes it the plan of the routine at hand; takes into it what has been decided since. */
void routine_plan_begin(Lower *lower, const RoutinePlan *plan);
void routine_plan_end(const Lower *lower, RoutinePlan *plan);

/* NULL: the routine does not need the node. */
const NodePlan *routine_plan_node(const RoutinePlan *plan, NodeId id);

/* The first line that a stage prints of a plan by its number, and all that there is of one that is empty.
 * Requires: number < the plans of `lower`. */
void routine_plan_dump_name(FILE *out, const Lower *lower, const char *stage, uint32_t number);

#endif
