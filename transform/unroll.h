/* Rows of a few elements, unrolled: private to unroll*.c. */
#ifndef TSR_TRANSFORM_UNROLL_H
#define TSR_TRANSFORM_UNROLL_H

#include "transform/transform.h"

/* The pass, as those of transform.h. */
void transform_unroll(Transform *t);

/* unroll_forward.c: the statements of a row, of which later ones have the values that earlier ones stored as locals.
 * Requires: locals, sets and stores alone. */
Block unroll_forward(Program *program, Kernel *kernel, Block row);
/* Drops what the kernel stores into its scratch buffers and does not load. */
void unroll_drop_dead(const Program *program, Kernel *kernel);

#endif
