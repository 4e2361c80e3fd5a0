/* Loops of a routine: neighbouring kernels that run in steps (ProgramLoop). */
#ifndef TSR_LOOPS_STEPS_H
#define TSR_LOOPS_STEPS_H

#include "loops/loops.h"

/* Is a loop in another, or the same? All are in 0. */
bool program_loop_in(const Program *program, uint32_t inner, uint32_t outer);
/* The loop right inside `outer` that another is in, or is; 0: it is `outer` itself. */
uint32_t program_loop_right_in(const Program *program, uint32_t inner, uint32_t outer);
/* The kernels of a routine from `from` on, in order, that are in the loop: where they end. */
uint32_t program_loop_end(const Program *program, const ProgramRoutine *routine, uint32_t from,
			  uint32_t loop);

/* Does a loop use the buffer itself: to see whether it ends, or in exchange for another? */
bool program_loops_use(const Program *program, BufferId buffer);

#endif
