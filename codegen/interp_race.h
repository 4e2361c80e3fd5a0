/* The interpreter's watch over parallel loops. */
#ifndef TSR_CODEGEN_INTERP_RACE_H
#define TSR_CODEGEN_INTERP_RACE_H

#include "codegen/interp.h"

/* NULL when memory is short: nobody watches. */
Race *race_start(Interp *in, const Kernel *kernel);
/* Another iteration begins. */
void race_iteration(Race *race);
/* Threads of a block have waited for each other, or those of all blocks of a cluster. */
void race_barrier(Race *race, bool cluster);
/* Another block of a cluster begins, counted from 1; 0: behind the last. */
void race_block(Race *race, int32_t block);
/* One of them goes on, counted from 1; 0: all. The one before. */
int32_t race_thread(Race *race, int32_t thread);
void race_end(Race *race);
/* A load or a store of one element; outside parallel loops (NULL) anything goes. Aborts (BUG) on a
 * race. Requires: the buffer has the element. */
void race_touch(Race *race, BufferId buffer, int64_t at, bool stores);

#endif
