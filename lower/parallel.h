/* Loops whose iterations may run at the same time, private to parallel.c and independent.c. */
#ifndef TSR_LOWER_PARALLEL_H
#define TSR_LOWER_PARALLEL_H

#include "lower/lowering.h"

/* Do different iterations of `loop`, a loop in the statement `root`, never touch the same cell of a
 * buffer that `root` stores into, and share no local? (false: not known) */
bool loop_is_independent(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop);

/* Gives each iteration that runs at a time its own part of the kernel's scratch buffers. */
void kernel_scratch(Program *program, Kernel *kernel, Stmt *loop);

#endif
