/* Index maps to loop nests. */
#ifndef TSR_LOWER_LOWER_H
#define TSR_LOWER_LOWER_H

#include "base/diag.h"
#include "infer/infer.h"
#include "lower/loops.h"

/* Builds the program: elementwise producers fused into their consumers, temporaries placed in one
 * workspace by lifetime. NULL after errors (in diags).
 * Ensures: loops_verify passes. */
Program *lower_program(const Inference *inference, const Sources *sources, Arena *perm, Diags *diags,
		       const Machine *machine);

#endif
