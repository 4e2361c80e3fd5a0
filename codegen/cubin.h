/* What kernels take of a multiprocessor, as their machine code says it. */
#ifndef TSR_CODEGEN_CUBIN_H
#define TSR_CODEGEN_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct CubinKernel {
	const char *name;
	uint32_t registers;
	uint32_t stack; /* bytes a thread: arrays, and registers that did not suffice */
	uint32_t local; /* instructions that load or store them */
} CubinKernel;
typedef VEC(CubinKernel) CubinKernels;

/* Of an ELF file of NVIDIA's, in the order of its symbols; empty where it is none, or is cut off. */
CubinKernels cubin_kernels(Arena *arena, const void *bytes, size_t n);

#endif
