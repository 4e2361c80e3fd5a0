/* How the kernels of a module are shared out among units that are compiled at the same time. */
#ifndef TSR_CODEGEN_JIT_UNITS_H
#define TSR_CODEGEN_JIT_UNITS_H

#include "codegen/module.h"

typedef struct JitUnit {
	VEC(KernelId) kernels; /* ascending */
	uint64_t weight;
	uint64_t place;	  /* what its kernels have in common */
	uint32_t uniform; /* by dtype, a bit: has its random numbers (jit_uniform.c) */
	bool plain; /* has innermost loops of single elements, which GCC may make vectors of */
} JitUnit;

typedef VEC(JitUnit) JitUnits; /* none: the module has no kernels and no random numbers */

/* Is it an innermost loop of single elements? */
bool jit_is_plain_loop(const Stmt *stmt);
/* Depends on the program and its options alone, not on the machine. With `debug`, one unit whatever its size. */
JitUnits jit_units(const Module *module, const CodeOptions *options);

#endif
