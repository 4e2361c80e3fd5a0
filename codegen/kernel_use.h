/* What a kernel needs from its caller: the dims its sizes use, the scalars and the buffers it
 * touches. Buffers stand in the order of their first use, so that two kernels with the same
 * identity list corresponding buffers at the same positions. */
#ifndef TSR_CODEGEN_KERNEL_USE_H
#define TSR_CODEGEN_KERNEL_USE_H

#include "loops/work.h"

typedef struct KernelBuffer {
	BufferId buffer;
	bool written; /* else it is read only */
	Size base; /* the element that the caller passes the address of */
} KernelBuffer;

typedef struct KernelBase {
	BufferId buffer;
	Size base;
} KernelBase;

typedef struct KernelBases {
	const KernelBase *at; /* of every buffer that the kernel touches */
	size_t n;
} KernelBases;

typedef struct Digest {
	uint64_t low, high;
} Digest;

typedef struct ScalarUse {
	uint32_t scalar; /* the routine's argument */
	Dtype dtype;
} ScalarUse;

typedef struct KernelUse {
	VEC(DimId) dims; /* in the order of first use, as all lists here */
	VEC(Size) sizes; /* each once; constants left out */
	VEC(ScalarUse) scalars;
	VEC(KernelBuffer) buffers;
	VEC(CheckId) checks;
	bool parallel; /* it has chunks, or is a grid, and takes the tsr_call first */
	VEC(const Stmt *) chunks; /* its PARALLEL loops */
	VEC(const Stmt *) copies; /* of boxes, each of which takes a map of a tensor */
	bool prefetches; /* it has a prefetch */
	bool streams;	 /* it has a streaming store */
	bool slots;    /* some of those have slots */
	bool ops[OP_COUNT][DTYPE_COUNT];
	bool fast_path[OP_COUNT][DTYPE_COUNT],
		far[OP_COUNT][DTYPE_COUNT];   /* by that of the argument */
	bool casts[DTYPE_COUNT][DTYPE_COUNT]; /* [from][to] */
	bool halves[DTYPE_COUNT];	      /* elements of packed buffers that are loaded */
	bool keys[DTYPE_COUNT];		      /* by the type of which they are */
	bool indices[IX_VALUE + 1];	      /* kinds of index arithmetic */
	/* of a part of a kernel: iterators of loops around it */
	VEC(IterVar) iters;
	bool needs_locals; /* ... and whether it takes locals from there */
} KernelUse;

/* kernel_base.c: lowers the kernel's indices by the bases of their buffers. */
KernelBases kernel_move(const Program *program, Kernel *kernel, Arena *arena);
/* Of a kernel that was moved. */
KernelUse *kernel_use(const Program *program, const Kernel *kernel, KernelBases bases,
		      Arena *arena);
/* kernel_identity.c: equal for kernels that differ only in the buffers, scalars and dims that they
 * are called with, and in names and spans. */
Digest kernel_identity(const Program *program, const Kernel *kernel, const KernelUse *use);
/* The position of a buffer or a scalar in its list; aborts where it is missing. */
uint32_t kernel_use_buffer(const KernelUse *use, BufferId buffer);
uint32_t kernel_use_scalar(const KernelUse *use, uint32_t scalar);
uint32_t kernel_use_chunks(const KernelUse *use, const Stmt *loop);

#endif
