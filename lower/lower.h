/* Index maps to loop nests. */
#ifndef TSR_LOWER_LOWER_H
#define TSR_LOWER_LOWER_H

#include "base/diag.h"
#include "loops/loops.h"
#include "lower/schedule.h"
#include "tensor/tensor.h"

/* Builds the program: elementwise producers fused into their consumers, temporaries placed in one
 * workspace by lifetime; `asked` (NULL: nothing) restricts what is chosen. NULL after errors (in
 * diags). Ensures: loops_verify passes; what is asked was made. */
Program *lower_program(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const Machine *machine, const Schedule *asked);

#endif
