/* Parameters begin with random numbers: one function for each dtype of them. */
#ifndef TSR_CODEGEN_JIT_UNIFORM_H
#define TSR_CODEGEN_JIT_UNIFORM_H

#include "codegen/jit_context.h"

void jit_uniform(Jit *jit, Dtype dtype);
/* The same function where it is called. */
gcc_jit_function *jit_uniform_declare(Jit *jit, Dtype dtype);

#endif
