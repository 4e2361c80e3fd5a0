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

/* The axis along which the tensor lies first, then that of the other group, then the batch, each at its loop. */
typedef struct TmaTensor {
	BufferId buffer;
	bool along_first; /* it lies along the first group */
	bool taps_as_one; /* it goes through the taps of the sum as through one loop, their innermost */
	bool windows; /* it lies along the first group, and the axes behind have windows, as many of all of them as the other group has iterations */
	TensorAxis axes[TENSOR_AXES_MOST];
	uint32_t n;
} TmaTensor;

/* Loops that are axes of their own where an element moves with them. */
typedef struct TmaBatch {
	IterVar iters[PRODUCT_LOOPS];
	Size extents[PRODUCT_LOOPS];
	uint32_t n;
} TmaBatch;

/* tensor.c: the tensor of an element, in a buffer from its first element on, at a sum of multiples of the loops of two groups
 * and of a batch, of which one is 1 and the others multiples of 16 bytes; false: it is none. Requires: the index goes
 * through each of the two groups as through one loop. */
bool tma_tensor(Program *program, const TmaElement *element, const LoopGroup *const *groups,
		const TmaBatch *batch, TmaTensor *t);
/* ... The loops of a group, each for itself. */
TmaBatch tma_batch(const LoopGroup *group);
/* windows.c: likewise of an operand that is read at windows, of a length that is known: the loops of a side go through the
 * windows, the line is the innermost loops of the sum, and the others, the taps, are behind where a window begins. Conditions
 * of the operand say what is outside of the tensor. */
typedef struct WindowOperand {
	TmaElement element;
	const ProductOperand *operand;
	const LoopGroup *side, *batch;
	LoopGroup taps, line;
} WindowOperand;
bool tma_windows(Program *program, const WindowOperand *of, TmaTensor *t);
/* ... Do the last elements of all axes lie in the buffer? */
bool tma_fits_buffer(Program *program, const TmaTensor *t);
/* Elements of which the size is a multiple are a multiple of 16 bytes. */
bool tma_is_aligned(Program *program, Dtype dtype, Size size);

#endif
