/* A map of a tensor in global memory, as cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col writes it into the 128 bytes that a
 * kernel takes: the emulator's own form of what only a device reads. */
#ifndef TSR_PTX_TENSOR_MAP_H
#define TSR_PTX_TENSOR_MAP_H

#include <stdint.h>

enum {
	TENSOR_AXES = 5,
	TENSOR_WINDOWS = TENSOR_AXES - 2, /* axes that have windows, which may begin outside */
	TENSOR_MAP_BYTES = 128,
	TENSOR_SWIZZLE_128 = 3,
	TENSOR_TF32 = 11
};
/* With so many axes of windows: bits of where these begin outside, with a sign, and of how far into one a copy reads. */
static const int ptx_corner_bits[] = {0, 16, 8, 5};

/* The innermost axis first, whose elements lie side by side. */
typedef struct PtxTensorMap {
	uint32_t magic;
	uint8_t rank, bytes, swizzle,
		rounds; /* bytes: of an element; rounds: f32 to tf32 as it is copied */
	uint64_t base;
	uint64_t strides[TENSOR_AXES - 1]; /* bytes, of all axes but the first */
	uint32_t last[TENSOR_AXES];	   /* of each axis the last index */
	uint16_t box[TENSOR_AXES];	   /* elements of each axis that a copy takes */
	/* Of windows: how many a copy takes, 0: it takes a box. Of the axes behind the first but the last: where the first one
	 * begins, and no later than where the last does, and how far apart they are. */
	uint16_t windows;
	int32_t low[TENSOR_WINDOWS];
	int64_t high[TENSOR_WINDOWS];
	uint8_t step[TENSOR_WINDOWS];
} PtxTensorMap;
enum { TENSOR_MAGIC = 0x54535254 };
_Static_assert(sizeof(PtxTensorMap) <= TENSOR_MAP_BYTES, "a map of a tensor");

/* Where the hardware puts what belongs at an address of shared memory: 16 bytes go to another place in their 128, by
 * which 128 of 1024 they are. */
static inline uint64_t ptx_swizzled(uint64_t address) { return address ^ (address >> 7 & 7) << 4; }

#endif
