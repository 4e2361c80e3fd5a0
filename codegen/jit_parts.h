/* The parts of a module that libgccjit makes, each from one file. */
#ifndef TSR_CODEGEN_JIT_PARTS_H
#define TSR_CODEGEN_JIT_PARTS_H

#include "codegen/jit_function.h"

/* jit_functions.c: the functions of some kernels. */
void jit_kernels(Jit *jit, const KernelId *kernels, size_t n);
/* jit_kernel.c: the parameter list of a kernel's function. */
size_t jit_kernel_params(Jit *jit, const KernelUse *use, JitParam **params);
/* jit_routine.c: entry, workspace and invoke functions, in baseline instructions. */
void jit_routines(Jit *jit, bool check_cpu_features);
/* jit_parallel.c: what runs the chunks of a kernel, where there are any. In the unit of the
 * entries, so that no kernel holds a copy of its chunks, which might round otherwise. */
void jit_parallel_runner(Jit *jit);
/* jit_stream.c: what streaming stores call, in the same unit, where there are any; in kernels, a copy past the caches,
 * and behind such copies what lets other threads see what they stored. */
void jit_stream_function(Jit *jit);
void jit_stream_copy(JitFunction *f, Rvalue *to, Rvalue *from, Rvalue *bytes);
void jit_stream_end(JitFunction *f);
/* jit_state.c: PREFIX_init and PREFIX_state_size. */
void jit_state(Jit *jit);

#endif
