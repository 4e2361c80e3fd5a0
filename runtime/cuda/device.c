/* The device: driver, context, code. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/device.h"

/* More than any kernel takes: a plan may tell fewer arguments, or smaller ones, than the code has. */
enum { ARGUMENTS_MOST = 1 << 13, ARGUMENT_BYTES = 1 << 15 };

int device_fail(Gpu *gpu, int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(gpu->message, sizeof gpu->message, fmt, args);
	va_end(args);
	return code;
}

int device_check(Gpu *gpu, CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return TSR_OK;
	driver_text(&gpu->driver, result, what, gpu->message, sizeof gpu->message);
	return TSR_BAD_DEVICE;
}

/* "sm_90a": of that GPU alone; "sm_90": of it and all later ones. */
static int check_target(Gpu *gpu, int major, int minor)
{
	char name[100] = "", *end;
	const char *target = gpu->plan->target;
	long wanted = strncmp(target, "sm_", 3) == 0 ? strtol(target + 3, &end, 10) : 0;
	int have = 10 * major + minor;
	if (wanted <= 0 || (*end && strcmp(end, "a") != 0))
		return device_fail(gpu, TSR_NO_DEVICE, "%s: there is no GPU '%.40s'", gpu->path,
				   target);
	if (*end ? have == wanted : have >= wanted)
		return TSR_OK;
	gpu->driver.cuDeviceGetName(name, sizeof name - 1, gpu->device);
	return device_fail(
		gpu, TSR_NO_DEVICE,
		"the code is for %s, of compute capability %ld.%ld%s, and the device, %s, has %d.%d",
		target, wanted / 10, wanted % 10, *end ? " alone" : " or later", name, major,
		minor);
}

static int find_device(Gpu *gpu)
{
	const Driver *d = &gpu->driver;
	int count = 0, major = 0, minor = 0;
	int code = device_check(gpu, d->cuDeviceGetCount(&count), "devices");
	if (code == TSR_OK && count <= 0)
		return device_fail(gpu, TSR_NO_DEVICE, "the driver has no device");
	if (code == TSR_OK)
		code = device_check(gpu, d->cuDeviceGet(&gpu->device, 0), "device 0");
	if (code == TSR_OK)
		code = device_check(
			gpu,
			d->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_CAPABILITY_MAJOR, gpu->device),
			"device 0");
	if (code == TSR_OK)
		code = device_check(
			gpu,
			d->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_CAPABILITY_MINOR, gpu->device),
			"device 0");
	return code == TSR_OK ? check_target(gpu, major, minor) : code;
}

/* The driver's compiler says more than its code does. */
static int load_code(Gpu *gpu)
{
	char log[600] = "";
	int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
	CUresult result =
		gpu->driver.cuModuleLoadDataEx(&gpu->module, gpu->text, 2, options, values);
	int code = device_check(gpu, result, "the driver does not take the code");
	size_t used = strlen(gpu->message);
	if (code != TSR_OK && *log)
		snprintf(gpu->message + used, sizeof gpu->message - used, ": %.*s",
			 (int)strcspn(log, "\n"), log);
	return code;
}

static int find_functions(Gpu *gpu)
{
	const Plan *plan = gpu->plan;
	gpu->functions = calloc((size_t)plan->nlines + 1, sizeof *gpu->functions);
	if (!gpu->functions)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	for (uint32_t i = 0; i < plan->nlines; i++) {
		const PlanLine *line = &plan->lines[i];
		if (line->loop)
			continue;
		CUresult result = gpu->driver.cuModuleGetFunction(&gpu->functions[i], gpu->module,
								  line->function);
		if (result == CUDA_SUCCESS)
			continue;
		char what[300];
		snprintf(what, sizeof what, "the code has no kernel '%.200s'", line->function);
		return device_check(gpu, result, what);
	}
	return TSR_OK;
}

static int find_consts(Gpu *gpu)
{
	const Plan *plan = gpu->plan;
	gpu->consts = calloc((size_t)plan->nbuffers + 1, sizeof *gpu->consts);
	if (!gpu->consts)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	size_t bytes;
	int code = device_check(
		gpu,
		gpu->driver.cuModuleGetGlobal_v2(&gpu->status, &bytes, gpu->module, "tsr_status"),
		"the code has no 'tsr_status'");
	for (uint32_t i = 0; i < plan->nbuffers && code == TSR_OK; i++) {
		const char *symbol = plan->buffers[i].symbol;
		char what[300];
		if (!symbol)
			continue;
		snprintf(what, sizeof what, "the code has no constant '%.200s'", symbol);
		code = device_check(gpu,
				    gpu->driver.cuModuleGetGlobal_v2(&gpu->consts[i], &bytes,
								     gpu->module, symbol),
				    what);
	}
	return code;
}

static int make_arguments(Gpu *gpu)
{
	size_t n = gpu->plan->most_args;
	gpu->cells = calloc(1, n * sizeof *gpu->cells + ARGUMENT_BYTES);
	gpu->args = calloc(n + ARGUMENTS_MOST, sizeof *gpu->args);
	if (!gpu->cells || !gpu->args)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	for (size_t i = 0; i < n + ARGUMENTS_MOST; i++)
		gpu->args[i] = &gpu->cells[i < n ? i : n];
	return TSR_OK;
}

static int make_ready(Gpu *gpu)
{
	const Driver *d = &gpu->driver;
	int code = driver_open(&gpu->driver, gpu->message, sizeof gpu->message);
	if (code == TSR_OK)
		code = find_device(gpu);
	if (code == TSR_OK)
		code = device_check(gpu, d->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device),
				    "its context");
	if (code != TSR_OK)
		return code;
	d->cuCtxGetCurrent(&gpu->before);
	code = device_check(gpu, d->cuCtxSetCurrent(gpu->context), "its context");
	if (code == TSR_OK)
		code = device_check(gpu, d->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING),
				    "its stream");
	if (code == TSR_OK)
		code = load_code(gpu);
	if (code == TSR_OK)
		code = find_functions(gpu);
	if (code == TSR_OK)
		code = find_consts(gpu);
	if (code == TSR_OK)
		code = make_arguments(gpu);
	gpu->ready = code == TSR_OK;
	if (!gpu->ready)
		d->cuCtxSetCurrent(gpu->before);
	return code;
}

int device_enter(Gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	if (!gpu->ready) {
		int code = make_ready(gpu);
		if (code != TSR_OK)
			device_close(gpu);
		return code;
	}
	gpu->driver.cuCtxGetCurrent(&gpu->before);
	return device_check(gpu, gpu->driver.cuCtxSetCurrent(gpu->context), "its context");
}

void device_leave(Gpu *gpu)
{
	if (gpu->ready)
		gpu->driver.cuCtxSetCurrent(gpu->before);
	pthread_mutex_unlock(&gpu->lock);
}

int device_allocate(Gpu *gpu, size_t bytes, const char *what, CUdeviceptr *at)
{
	char text[200];
	CUresult result = gpu->driver.cuMemAlloc_v2(at, bytes);
	while (result != CUDA_SUCCESS && gpu->runs) {
		DeviceRun *run = gpu->runs;
		gpu->runs = run->next;
		run_free(gpu, run);
		result = gpu->driver.cuMemAlloc_v2(at, bytes);
	}
	snprintf(text, sizeof text, "%s needs %zu bytes of the device", what, bytes);
	return device_check(gpu, result, text);
}

/* Whatever of it there is. Nothing is said of what fails: a device that has failed fails again. */
void device_close(Gpu *gpu)
{
	const Driver *d = &gpu->driver;
	CUcontext before = NULL;
	if (gpu->context) {
		d->cuCtxGetCurrent(&before);
		d->cuCtxSetCurrent(gpu->context);
		for (DeviceRun *run = gpu->runs, *next; run; run = next) {
			next = run->next;
			run_free(gpu, run);
		}
		for (DeviceState *state = gpu->states; state; state = state->next)
			state_drop(gpu, state);
		if (gpu->module)
			d->cuModuleUnload(gpu->module);
		if (gpu->stream)
			d->cuStreamDestroy_v2(gpu->stream);
		d->cuCtxSetCurrent(before);
		d->cuDevicePrimaryCtxRelease_v2(gpu->device);
	}
	free(gpu->functions);
	free(gpu->consts);
	free(gpu->cells);
	free(gpu->args);
	gpu->runs = NULL;
	gpu->functions = NULL;
	gpu->consts = NULL;
	gpu->cells = NULL;
	gpu->args = NULL;
	gpu->context = NULL;
	gpu->module = NULL;
	gpu->stream = NULL;
	gpu->ready = false;
}
