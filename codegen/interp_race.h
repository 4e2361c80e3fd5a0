/* The interpreter's watch over parallel loops. */
#ifndef TSR_CODEGEN_INTERP_RACE_H
#define TSR_CODEGEN_INTERP_RACE_H

#include "codegen/interp.h"

/* NULL when memory is short: nobody watches. */
Race *race_start(Interp *in, const Kernel *kernel);
/* Another iteration begins. */
void race_iteration(Race *race);
void race_end(Race *race);
/* A load or a store of one cell; outside parallel loops (NULL) anything goes. Aborts (BUG) on a
 * race. */
void race_touch(Race *race, BufferId buffer, int64_t at, bool stores);

#endif
