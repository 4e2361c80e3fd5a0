/* What a kernel needs from its caller: the dims its sizes use, the scalars and the buffers it
 * touches. Buffers stand in the order of their first use, so that two kernels with the same
 * identity list corresponding buffers at the same positions. */
#ifndef TSR_CODEGEN_KERNEL_USE_H
#define TSR_CODEGEN_KERNEL_USE_H

#include "lower/loops.h"

typedef struct KernelBuffer {
	BufferId buffer;
	bool written;
} KernelBuffer;

typedef struct ScalarUse {
	uint32_t scalar; /* the routine's argument */
	Dtype dtype;
} ScalarUse;

typedef struct KernelUse {
	VEC(DimId) dims; /* ascending */
	VEC(Size) sizes; /* each once, in the order of first use; constants left out */
	VEC(ScalarUse) scalars;
	VEC(KernelBuffer) buffers;
	VEC(CheckId) checks;
	bool parallel; /* it has pieces, and takes the tsr_call first */
	bool ops[OP_COUNT][DTYPE_COUNT];
	bool casts[DTYPE_COUNT][DTYPE_COUNT]; /* [from][to] */
	bool indices[IX_VALUE + 1];	      /* kinds of index arithmetic */
} KernelUse;

KernelUse *kernel_use(const Program *program, const Kernel *kernel, Arena *arena);
/* The position of a buffer or a scalar in its list; aborts where it is missing. */
uint32_t kernel_use_buffer(const KernelUse *use, BufferId buffer);
uint32_t kernel_use_scalar(const KernelUse *use, uint32_t scalar);
/* May two kernels of one identity be one function? Their lists have the same lengths and types. */
bool kernel_use_matches(const Program *program, const KernelUse *a, const KernelUse *b);
bool kernel_uses_dim(const KernelUse *use, DimId dim);

#endif
