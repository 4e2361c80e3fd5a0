/* What a routine takes, and what it checks before anything else (entry.c). */
#ifndef TSR_TRANSFORM_ENTRY_H
#define TSR_TRANSFORM_ENTRY_H

#include "transform/transform.h"

/* Fills in the dims that sizes of the routine's kernels, arguments and workspace have. Requires that
 * buffers in the state and in the workspace have their places. */
void entry_list_dims(const Transform *t, ProgramRoutine *routine);
/* Fills in the checks of sizes that inference found whose dims the routine has, then `more`
 * (CHECK_NONE: no more). Requires entry_list_dims. */
void entry_list_guards(const Transform *t, ProgramRoutine *routine, CheckId more);
/* Errors: a size of the workspace or of an index that passed a bound; more arguments than compilers of
 * C take in a reasonable time, which requires entry_list_dims. */
void entry_check_sizes(const Transform *t, const ProgramRoutine *routine);
void entry_check_arguments(const Transform *t, const ProgramRoutine *routine);

#endif
