/* The entry points of code for a GPU, in assembly: what a module's C header declares, over one function of libtsr,
 * tsr_enter_gpu (runtime/tsr.h), which is looked up when they are called. */
#ifndef TSR_CODEGEN_GPU_ENTRY_H
#define TSR_CODEGEN_GPU_ENTRY_H

#include "codegen/module.h"

/* `ptx`: the file with the plan and the code, which the assembler reads. */
void gpu_entries_asm(FILE *out, const Module *module, const char *ptx);

#endif
