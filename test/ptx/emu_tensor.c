/* Maps of tensors, with what the driver checks of them. */
#include <string.h>

#include "test/ptx/emu_entry.h"
#include "test/ptx/tensor_map.h"

enum { MOST_BOX = 256, MOST_WINDOWS = 1024, MOST_STEP = 8, LINE = 128 };

/* By the driver's number of a type. */
static const uint8_t element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static bool axes_fit(const CUtensorMapShape *s)
{
	for (unsigned i = 0; i < s->rank; i++) {
		bool window = s->windows && i > 0;
		if (s->extents[i] == 0 || s->extents[i] > UINT64_C(1) << 32 || s->steps[i] == 0 ||
		    s->steps[i] > (window && i + 1 < s->rank ? MOST_STEP : 1))
			return false;
		if (!window && (s->box[i] == 0 || s->box[i] > MOST_BOX))
			return false;
		if (i && (s->strides[i - 1] % 16 || s->strides[i - 1] == 0 || s->strides[i - 1] >> 40))
			return false;
	}
	return true;
}

static bool has_bits(int64_t value, int bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

/* Windows along the axes between the first and the last, of which there is one at least. */
static bool put_windows(PtxTensorMap *made, const CUtensorMapShape *s)
{
	if (s->rank < 3 || s->windows > MOST_WINDOWS)
		return false;
	made->windows = (uint16_t)s->windows;
	for (unsigned k = 0; k + 2 < s->rank; k++) {
		if (!has_bits(s->low[k], ptx_corner_bits[s->rank - 2]) ||
		    !has_bits(s->high[k], ptx_corner_bits[s->rank - 2]))
			return false;
		made->low[k] = s->low[k];
		made->high[k] = (int64_t)s->extents[k + 1] - 1 + s->high[k];
		made->step[k] = (uint8_t)s->steps[k + 1];
		if (made->high[k] < made->low[k])
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
		made.box[i] = s->windows && i > 0 ? 1 : (uint16_t)s->box[i];
		if (i)
			made.strides[i - 1] = s->strides[i - 1];
	}
	if (s->windows && !put_windows(&made, s))
		return CUDA_ERROR_INVALID_VALUE;
	memset(map, 0, TENSOR_MAP_BYTES);
	memcpy(map, &made, sizeof made);
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *extents,
				const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
				int interleave, int swizzle, int promotion, int fill)
{
	(void)promotion;
	const CUtensorMapShape shape = {.type = type,
					.rank = rank,
					.base = (uintptr_t)base,
					.extents = extents,
					.strides = strides,
					.box = box,
					.steps = steps,
					.interleave = interleave,
					.swizzle = swizzle,
					.fill = fill};
	EMU_CALL(false, encode(map, &shape));
}

CUresult cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *base,
				 const uint64_t *extents, const uint64_t *strides, const int *low,
				 const int *high, uint32_t channels, uint32_t windows,
				 const uint32_t *steps, int interleave, int swizzle, int promotion,
				 int fill)
{
	(void)promotion;
	const CUtensorMapShape shape = {.type = type,
					.rank = rank,
					.base = (uintptr_t)base,
					.extents = extents,
					.strides = strides,
					.box = &channels,
					.steps = steps,
					.interleave = interleave,
					.swizzle = swizzle,
					.fill = fill,
					.windows = windows,
					.low = low,
					.high = high};
	EMU_CALL(false, windows ? encode(map, &shape) : CUDA_ERROR_INVALID_VALUE);
}
