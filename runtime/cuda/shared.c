/* Shared memory that kernels ask for, beyond what every block has. */
#include <stdio.h>

#include "runtime/cuda/device.h"

/* The launch that asks for most; NULL: none asks. */
static const PlanLine *most_shared(const Plan *plan)
{
	const PlanLine *most = NULL;
	for (uint32_t i = 0; i < plan->nlines; i++) {
		const PlanLine *line = &plan->lines[i];
		if (line->shared > (most ? most->shared : 0))
			most = line;
	}
	return most;
}

int shared_fits(Gpu *gpu, CUdevice device, const Plan *plan)
{
	const PlanLine *line = most_shared(plan);
	char name[100] = "";
	int has = 0;
	if (!line)
		return TSR_OK;
	int code = device_check(
		gpu, gpu->driver.cuDeviceGetAttribute(&has, CU_ATTRIBUTE_SHARED_MOST, device),
		"its shared memory");
	if (code != TSR_OK || line->shared <= (uint32_t)has)
		return code;
	gpu->driver.cuDeviceGetName(name, sizeof name - 1, device);
	return device_fail(gpu, TSR_NO_DEVICE,
			   "kernel %.200s takes %u bytes of shared memory a block, and the device, %s, "
			   "has %d; code for a GPU with less takes less",
			   line->function, line->shared, name, has);
}

int shared_ask(Gpu *gpu, const DeviceContext *in)
{
	const Plan *plan = in->code->plan;
	int code = TSR_OK;
	for (uint32_t i = 0; i < plan->nlines && code == TSR_OK; i++) {
		const PlanLine *line = &plan->lines[i];
		char what[300];
		if (!line->shared)
			continue;
		snprintf(what, sizeof what, "%u bytes of shared memory for kernel %.200s",
			 line->shared, line->function);
		code = device_check(gpu,
				    gpu->driver.cuFuncSetAttribute(in->functions[i],
								   CU_FUNCTION_SHARED_MOST,
								   (int)line->shared),
				    what);
	}
	return code;
}
