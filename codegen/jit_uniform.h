/* Parameters begin with random numbers: one function for each dtype of them. */
#ifndef TSR_CODEGEN_JIT_UNIFORM_H
#define TSR_CODEGEN_JIT_UNIFORM_H

#include "codegen/jit_context.h"

/* Defines the function that fills a parameter of the type (jit_uniform.c has its C declaration): numbers
 * uniform in +-bound, of base/threefry.h. */
void jit_uniform(Jit *jit, Dtype dtype);
/* The same function where it is called. */
gcc_jit_function *jit_uniform_declare(Jit *jit, Dtype dtype);

#endif
