/* Memory of the device for callers, in the context that they have. */
#include "runtime/cuda/device.h"

int gpu_allocate(Gpu *gpu, size_t bytes, void **at, const char **message)
{
	CUdeviceptr place = 0;
	*message = gpu->message;
	int code = device_enter(gpu, true);
	if (code == TSR_OK)
		code = device_allocate(gpu, bytes ? bytes : 1, "an array", &place);
	device_leave(gpu);
	*at = code == TSR_OK ? (void *)(uintptr_t)place : NULL;
	return code;
}

/* What runs may use it. */
void gpu_free(Gpu *gpu, void *at)
{
	if (!at)
		return;
	if (device_enter(gpu, true) == TSR_OK) {
		device_settle(gpu);
		gpu->driver.cuMemFree_v2((CUdeviceptr)(uintptr_t)at);
	}
	device_leave(gpu);
}

static int copy(Gpu *gpu, void *to, const void *from, GpuCopy what)
{
	const Driver *d = &gpu->driver;
	CUstream stream = gpu->in->stream;
	int code = device_order(gpu, stream);
	if (code != TSR_OK || what.bytes == 0)
		return code;
	CUresult result = what.to_host ? d->cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)(uintptr_t)from,
								 what.bytes, stream)
				       : d->cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)to, from,
								 what.bytes, stream);
	if (result == CUDA_SUCCESS)
		result = d->cuStreamSynchronize(stream);
	return device_check(gpu, result, "a copy");
}

int gpu_copy(Gpu *gpu, void *to, const void *from, GpuCopy what, const char **message)
{
	*message = gpu->message;
	int code = device_enter(gpu, true);
	if (code == TSR_OK)
		code = copy(gpu, to, from, what);
	device_leave(gpu);
	return code;
}
