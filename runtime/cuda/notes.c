/* Failed checks of calls that are not waited for. Kernels note one in the device's memory, which the next call clears: each
 * call copies it to a word of its own, in memory that the device reaches, from which it is taken once it has come. */
#include "runtime/cuda/device.h"

enum { NOTES = 64, PENDING = -1 }; /* no code is noted as PENDING */

/* The word behind those of calls is that of replays. It stays there until a wait has told what failed before. */
static void replays_seen(DeviceContext *in)
{
	volatile int32_t *word = in->notes ? &in->notes[NOTES] : NULL;
	if (!word || in->failed)
		return;
	in->failed = *word;
	*word = 0;
}

void note_seen(DeviceContext *in)
{
	replays_seen(in);
	for (; in->seen != in->noted; in->seen++) {
		int32_t word = *(volatile int32_t *)&in->notes[in->seen % NOTES];
		if (word == PENDING)
			return;
		if (!in->failed)
			in->failed = word;
	}
}

int note_reserve(Gpu *gpu)
{
	DeviceContext *in = gpu->in;
	int code = TSR_OK;
	if (!in->notes) {
		size_t bytes = (NOTES + 1) * sizeof *in->notes;
		code = device_check(gpu, gpu->driver.cuMemHostAlloc((void **)&in->notes, bytes, 0),
				    "memory of the host");
		if (code == TSR_OK)
			in->notes[NOTES] = 0;
	}
	if (code == TSR_OK)
		note_seen(in);
	if (code == TSR_OK && in->noted - in->seen == NOTES) {
		code = device_settle(gpu);
		note_seen(in);
	}
	return code;
}

int note_status(Gpu *gpu, CUstream stream)
{
	DeviceContext *in = gpu->in;
	int32_t *word = &in->notes[in->noted % NOTES];
	*word = PENDING;
	int code = device_check(
		gpu, gpu->driver.cuMemcpyDtoHAsync_v2(word, in->status, sizeof *word, stream),
		"tsr_status");
	in->noted += code == TSR_OK;
	return code;
}

int note_replays(Gpu *gpu, CUstream stream)
{
	DeviceContext *in = gpu->in;
	return device_check(gpu,
			    gpu->driver.cuMemcpyDtoHAsync_v2(&in->notes[NOTES], in->status,
							     sizeof *in->notes, stream),
			    "tsr_status");
}

int note_code(Gpu *gpu, int32_t status)
{
	const tsr_module *m = &gpu->plan->module;
	int code = status ? INT32_MAX - status : TSR_OK, check = code - TSR_CHECK_FIRST;
	if (code == TSR_OK)
		return code;
	if (check < 0 || check >= m->nchecks)
		return device_fail(gpu, TSR_BAD_DEVICE,
				   "the kernels note the code %d, which no check has", code);
	return device_fail(gpu, code, "%s", m->checks[check].text);
}
