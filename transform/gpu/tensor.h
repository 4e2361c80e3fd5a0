/* Tensors that TMA copies boxes of: operands of products, and their results. */
#ifndef TSR_TRANSFORM_GPU_TENSOR_H
#define TSR_TRANSFORM_GPU_TENSOR_H

#include "transform/gpu/tile.h"

enum { TMA_BATCH_MOST = TENSOR_AXES_MOST - 2 };

/* What is loaded, or stored, somewhere. */
typedef struct TmaElement {
	BufferId buffer;
	Dtype dtype;
	const Ix *ix;
} TmaElement;

/* The axis along which the tensor lies first, then that of the other group, then the batch. */
typedef struct TmaTensor {
	BufferId buffer;
	bool along_first; /* it lies along the first group */
	TensorAxis axes[TENSOR_AXES_MOST];
	IterVar iters[TENSOR_AXES_MOST];
	uint32_t n;
} TmaTensor;

/* tensor.c: the tensor of an element, in a buffer from its first element on, at a sum of multiples of the loops of two groups
 * and of a batch, of which one is 1 and the others multiples of 16 bytes; false: it is none. Requires: the index goes
 * through each of the two groups as through one loop. */
bool tma_tensor(Program *program, const TmaElement *element, const LoopGroup *const *groups,
		const LoopGroup *batch, TmaTensor *t);
/* Elements of which the size is a multiple are a multiple of 16 bytes. */
bool tma_is_aligned(Program *program, Dtype dtype, Size size);

#endif
