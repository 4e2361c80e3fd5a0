/* Maps of tensors, with what the driver checks of them. */
#include <string.h>

#include "test/ptx/emu_entry.h"
#include "test/ptx/tensor_map.h"

enum { MOST_BOX = 256, LINE = 128 };

/* By the driver's number of a type. */
static const uint8_t element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static bool axes_fit(const CUtensorMapShape *s)
{
	for (unsigned i = 0; i < s->rank; i++) {
		if (s->extents[i] == 0 || s->extents[i] > UINT64_C(1) << 32 || s->box[i] == 0 ||
		    s->box[i] > MOST_BOX || s->steps[i] != 1)
			return false;
		if (i && (s->strides[i - 1] % 16 || s->strides[i - 1] == 0 || s->strides[i - 1] >> 40))
			return false;
	}
	return true;
}

static CUresult encode(void *map, const CUtensorMapShape *s)
{
	PtxTensorMap made = {.magic = TENSOR_MAGIC};
	if ((uintptr_t)map % 64 || (size_t)s->type >= sizeof element_bytes || s->rank < 1 ||
	    s->rank > TENSOR_AXES || s->base % 16 || !axes_fit(s) || s->interleave || s->fill ||
	    (s->swizzle && s->swizzle != TENSOR_SWIZZLE_128))
		return CUDA_ERROR_INVALID_VALUE;
	made.rank = (uint8_t)s->rank;
	made.bytes = element_bytes[s->type];
	made.swizzle = (uint8_t)s->swizzle;
	made.rounds = s->type == TENSOR_TF32;
	made.base = s->base;
	if (s->box[0] * made.bytes % 16 || (s->swizzle && s->box[0] * made.bytes > LINE))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < s->rank; i++) {
		made.last[i] = (uint32_t)(s->extents[i] - 1);
		made.box[i] = (uint16_t)s->box[i];
		if (i)
			made.strides[i - 1] = s->strides[i - 1];
	}
	memset(map, 0, TENSOR_MAP_BYTES);
	memcpy(map, &made, sizeof made);
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *extents,
				const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
				int interleave, int swizzle, int promotion, int fill)
{
	(void)promotion;
	const CUtensorMapShape shape = {type, rank, (uintptr_t)base, extents, strides, box, steps,
					interleave, swizzle, fill};
	EMU_CALL(false, encode(map, &shape));
}
