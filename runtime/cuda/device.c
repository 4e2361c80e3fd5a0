/* The device: driver, contexts, code. */
#include <limits.h>
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

/* Of a target: "sm_90a" is of that GPU alone, "sm_90" of it and all later ones. */
typedef struct Capability {
	long wanted; /* times 10; 0: it is no GPU */
	bool alone;
} Capability;

static Capability capability_of(const char *target)
{
	char *end = NULL;
	Capability c = {strncmp(target, "sm_", 3) == 0 ? strtol(target + 3, &end, 10) : 0, false};
	c.alone = c.wanted > 0 && strcmp(end, "a") == 0;
	return c.wanted > 0 && (!*end || c.alone) ? c : (Capability){0};
}

/* How well code for a target suits a device, of compute capability `have` / 10; 0: not at all. */
static long suits(const char *target, int have)
{
	Capability c = capability_of(target);
	if (c.wanted <= 0 || (c.alone ? have != c.wanted : have < c.wanted))
		return 0;
	return 2 * c.wanted + c.alone;
}

/* The code that suits the device best, of those that do so less than `below`; NULL: there is none. */
static const GpuCode *best_code(const Gpu *gpu, int have, long below)
{
	const GpuCode *best = NULL;
	long most = 0;
	for (uint32_t i = 0; i < gpu->ncodes; i++) {
		long how = suits(gpu->codes[i].plan->target, have);
		if (how > most && how < below) {
			best = &gpu->codes[i];
			most = how;
		}
	}
	return best;
}

/* "sm_80, sm_90a" */
static void targets_text(const Gpu *gpu, char *text, size_t room)
{
	size_t n = 0;
	for (uint32_t i = 0; i < gpu->ncodes && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%.40s", i ? ", " : "",
				      gpu->codes[i].plan->target);
}

static int no_code(Gpu *gpu, CUdevice device, int have)
{
	char name[100] = "", targets[200];
	const char *target = gpu->plan->target;
	Capability c = capability_of(target);
	if (gpu->ncodes == 1 && !c.wanted)
		return device_fail(gpu, TSR_NO_DEVICE, "%s: there is no GPU '%.40s'", gpu->path,
				   target);
	gpu->driver.cuDeviceGetName(name, sizeof name - 1, device);
	targets_text(gpu, targets, sizeof targets);
	if (gpu->ncodes > 1)
		return device_fail(
			gpu, TSR_NO_DEVICE,
			"the code is for %s, and the device, %s, has compute capability %d.%d",
			targets, name, have / 10, have % 10);
	return device_fail(
		gpu, TSR_NO_DEVICE,
		"the code is for %s, of compute capability %ld.%ld%s, and the device, %s, has %d.%d",
		target, c.wanted / 10, c.wanted % 10, c.alone ? " alone" : " or later", name,
		have / 10, have % 10);
}

static int first_device(Gpu *gpu, CUdevice *device)
{
	const Driver *d = &gpu->driver;
	int count = 0;
	int code = device_check(gpu, d->cuDeviceGetCount(&count), "devices");
	if (code == TSR_OK && count <= 0)
		return device_fail(gpu, TSR_NO_DEVICE, "the driver has no device");
	return code == TSR_OK ? device_check(gpu, d->cuDeviceGet(device, 0), "device 0") : code;
}

/* Its compute capability, times 10. Does it run any of the code? */
static int check_device(Gpu *gpu, CUdevice device, int *have)
{
	const Driver *d = &gpu->driver;
	int major = 0, minor = 0;
	CUresult result = d->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_CAPABILITY_MAJOR, device);
	if (result == CUDA_SUCCESS)
		result = d->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_CAPABILITY_MINOR, device);
	int code = device_check(gpu, result, "the device");
	*have = 10 * major + minor;
	if (code != TSR_OK || best_code(gpu, *have, LONG_MAX))
		return code;
	return no_code(gpu, device, *have);
}

/* The driver's compiler says more than its code does. */
static int load_text(Gpu *gpu, DeviceContext *in)
{
	char log[600] = "";
	int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
	CUresult result =
		gpu->driver.cuModuleLoadDataEx(&in->module, in->code->text, 2, options, values);
	int code = device_check(gpu, result, "the driver does not take the code");
	size_t used = strlen(gpu->message);
	if (code != TSR_OK && *log)
		snprintf(gpu->message + used, sizeof gpu->message - used, ": %.*s",
			 (int)strcspn(log, "\n"), log);
	return code;
}

/* A driver may be too old for the code that suits best, or a block have less shared memory, and an earlier one do. */
static int load_code(Gpu *gpu, DeviceContext *in, int have)
{
	int code = TSR_NO_DEVICE;
	for (const GpuCode *best = best_code(gpu, have, LONG_MAX); best && code != TSR_OK;
	     best = best_code(gpu, have, suits(best->plan->target, have))) {
		in->code = best;
		code = shared_fits(gpu, in->device, best->plan);
		if (code == TSR_OK)
			code = load_text(gpu, in);
	}
	return code;
}

static int find_functions(Gpu *gpu, DeviceContext *in)
{
	const Plan *plan = in->code->plan;
	in->functions = calloc((size_t)plan->nlines + 1, sizeof *in->functions);
	if (!in->functions)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	for (uint32_t i = 0; i < plan->nlines; i++) {
		const PlanLine *line = &plan->lines[i];
		if (line->loop)
			continue;
		CUresult result = gpu->driver.cuModuleGetFunction(&in->functions[i], in->module,
								  line->function);
		if (result == CUDA_SUCCESS)
			continue;
		char what[300];
		snprintf(what, sizeof what, "the code has no kernel '%.200s'", line->function);
		return device_check(gpu, result, what);
	}
	return TSR_OK;
}

static int find_consts(Gpu *gpu, DeviceContext *in)
{
	const Plan *plan = in->code->plan;
	in->consts = calloc((size_t)plan->nbuffers + 1, sizeof *in->consts);
	if (!in->consts)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	size_t bytes;
	int code = device_check(
		gpu,
		gpu->driver.cuModuleGetGlobal_v2(&in->status, &bytes, in->module, "tsr_status"),
		"the code has no 'tsr_status'");
	for (uint32_t i = 0; i < plan->nbuffers && code == TSR_OK; i++) {
		const char *symbol = plan->buffers[i].symbol;
		char what[300];
		if (!symbol)
			continue;
		snprintf(what, sizeof what, "the code has no constant '%.200s'", symbol);
		code = device_check(gpu,
				    gpu->driver.cuModuleGetGlobal_v2(&in->consts[i], &bytes,
								     in->module, symbol),
				    what);
	}
	return code;
}

static int make_arguments(Gpu *gpu)
{
	size_t n = 0;
	for (uint32_t i = 0; i < gpu->ncodes; i++)
		n = gpu->codes[i].plan->most_args > n ? gpu->codes[i].plan->most_args : n;
	free(gpu->cells);
	free(gpu->args);
	free(gpu->maps);
	gpu->maps = aligned_alloc(CU_TENSOR_MAP_BYTES, (n + 1) * CU_TENSOR_MAP_BYTES);
	gpu->cells = calloc(1, n * sizeof *gpu->cells + ARGUMENT_BYTES);
	gpu->args = calloc(n + ARGUMENTS_MOST, sizeof *gpu->args);
	if (!gpu->cells || !gpu->args || !gpu->maps)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	for (size_t i = 0; i < n + ARGUMENTS_MOST; i++)
		gpu->args[i] = &gpu->cells[i < n ? i : n];
	return TSR_OK;
}

static int load_driver(Gpu *gpu)
{
	Driver driver = {0};
	if (gpu->driver.library)
		return TSR_OK;
	int code = driver_open(&driver, gpu->message, sizeof gpu->message);
	if (code == TSR_OK)
		code = make_arguments(gpu);
	if (code == TSR_OK)
		gpu->driver = driver;
	return code;
}

/* ---- contexts ---- */

/* Runs and the copies of states, which the context may have lost with the device's memory. */
static void drop_memory(Gpu *gpu, DeviceContext *in)
{
	for (DeviceRun *run = in->runs, *next; run; run = next) {
		next = run->next;
		run_free(gpu, in, run);
	}
	in->runs = NULL;
	for (DeviceState *state = gpu->states; state; state = state->next)
		if (state->in == in)
			state_drop(gpu, state);
}

/* What the driver has of it. Nothing is said of what fails: a device that has failed fails again. */
static void context_unload(Gpu *gpu, const DeviceContext *in)
{
	const Driver *d = &gpu->driver;
	if (in->last)
		d->cuEventDestroy_v2(in->last);
	if (in->notes)
		d->cuMemFreeHost(in->notes);
	if (in->module)
		d->cuModuleUnload(in->module);
	if (in->stream)
		d->cuStreamDestroy_v2(in->stream);
}

static void context_free(Gpu *gpu, DeviceContext *in)
{
	const Driver *d = &gpu->driver;
	CUcontext before = NULL;
	d->cuCtxGetCurrent(&before);
	if (in->handle)
		d->cuCtxSetCurrent(in->handle);
	if (in->handle && in->busy)
		d->cuEventSynchronize(in->last);
	drop_memory(gpu, in);
	if (in->handle)
		context_unload(gpu, in);
	d->cuCtxSetCurrent(before);
	if (in->retained)
		d->cuDevicePrimaryCtxRelease_v2(in->device);
	free(in->functions);
	free(in->consts);
	free(in);
}

static unsigned long long id_of(const Driver *d, CUcontext context)
{
	unsigned long long id = 0;
	return d->cuCtxGetId && d->cuCtxGetId(context, &id) == CUDA_SUCCESS ? id : 0;
}

/* The context is the thread's. */
static int context_fill(Gpu *gpu, DeviceContext *in)
{
	const Driver *d = &gpu->driver;
	int have, code = device_check(gpu, d->cuCtxGetDevice(&in->device), "the context");
	if (code == TSR_OK)
		code = check_device(gpu, in->device, &have);
	if (code == TSR_OK)
		code = device_check(gpu, d->cuStreamCreate(&in->stream, CU_STREAM_NON_BLOCKING),
				    "its stream");
	if (code == TSR_OK)
		code = device_check(gpu, d->cuEventCreate(&in->last, CU_EVENT_DISABLE_TIMING),
				    "its event");
	if (code == TSR_OK)
		code = load_code(gpu, in, have);
	if (code == TSR_OK)
		code = find_functions(gpu, in);
	if (code == TSR_OK)
		code = shared_ask(gpu, in);
	return code == TSR_OK ? find_consts(gpu, in) : code;
}

/* What is loaded in that context; another one that had its address before is gone. */
static DeviceContext *context_find(Gpu *gpu, CUcontext handle)
{
	DeviceContext **at = &gpu->contexts;
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	DeviceContext *in = *at;
	if (!in || in->id == id_of(&gpu->driver, handle))
		return in;
	*at = in->next;
	in->handle = NULL;
	context_free(gpu, in);
	return NULL;
}

/* The one that host pointers are used in. */
static DeviceContext *context_own(const Gpu *gpu)
{
	DeviceContext *in = gpu->contexts;
	while (in && !in->retained)
		in = in->next;
	return in;
}

/* Loads the code in the context: the caller's, or the one held of that device. */
static int context_new(Gpu *gpu, CUcontext handle, const CUdevice *held)
{
	DeviceContext *in = calloc(1, sizeof *in);
	if (!in)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	in->handle = handle;
	in->id = id_of(&gpu->driver, handle);
	in->retained = held != NULL;
	in->device = held ? *held : 0;
	int code = device_check(gpu, gpu->driver.cuCtxSetCurrent(handle), "its context");
	if (code == TSR_OK)
		code = context_fill(gpu, in);
	if (code != TSR_OK) {
		context_free(gpu, in);
		return code;
	}
	in->next = gpu->contexts;
	gpu->in = gpu->contexts = in;
	return code;
}

static int enter_own(Gpu *gpu)
{
	const Driver *d = &gpu->driver;
	DeviceContext *in = context_own(gpu);
	CUdevice device;
	CUcontext handle;
	if (!in) {
		int have, code = first_device(gpu, &device);
		if (code == TSR_OK)
			code = check_device(gpu, device, &have);
		if (code == TSR_OK)
			code = device_check(gpu, d->cuDevicePrimaryCtxRetain(&handle, device),
					    "its context");
		if (code != TSR_OK)
			return code;
		in = context_find(gpu, handle);
		if (!in)
			return context_new(gpu, handle, &device);
		in->retained = true; /* a caller had entered it */
	}
	return device_switch(gpu, in);
}

int device_enter(Gpu *gpu, bool callers)
{
	pthread_mutex_lock(&gpu->lock);
	int code = load_driver(gpu);
	if (code != TSR_OK)
		return code;
	gpu->before = NULL;
	gpu->driver.cuCtxGetCurrent(&gpu->before);
	if (!callers || !gpu->before) {
		code = enter_own(gpu);
	} else {
		gpu->in = context_find(gpu, gpu->before);
		code = gpu->in ? TSR_OK : context_new(gpu, gpu->before, NULL);
	}
	if (code != TSR_OK)
		gpu->driver.cuCtxSetCurrent(gpu->before);
	return code;
}

void device_leave(Gpu *gpu)
{
	if (gpu->in)
		gpu->driver.cuCtxSetCurrent(gpu->before);
	gpu->in = NULL;
	pthread_mutex_unlock(&gpu->lock);
}

int device_switch(Gpu *gpu, DeviceContext *in)
{
	gpu->in = in;
	return device_check(gpu, gpu->driver.cuCtxSetCurrent(in->handle), "the context");
}

int device_order(Gpu *gpu, CUstream stream)
{
	DeviceContext *in = gpu->in;
	return in->busy ? device_check(gpu, gpu->driver.cuStreamWaitEvent(stream, in->last, 0),
				       "the order of calls")
			: TSR_OK;
}

int device_settle(Gpu *gpu)
{
	DeviceContext *in = gpu->in;
	int code = in->busy ? device_check(gpu, gpu->driver.cuEventSynchronize(in->last),
					   "a kernel of an earlier call")
			    : TSR_OK;
	in->busy = false;
	return code;
}

int device_allocate(Gpu *gpu, size_t bytes, const char *what, CUdeviceptr *at)
{
	char text[200];
	CUresult result = gpu->driver.cuMemAlloc_v2(at, bytes);
	while (result != CUDA_SUCCESS && gpu->in->runs) {
		DeviceRun *run = gpu->in->runs;
		device_settle(gpu);
		gpu->in->runs = run->next;
		run_free(gpu, gpu->in, run);
		result = gpu->driver.cuMemAlloc_v2(at, bytes);
	}
	snprintf(text, sizeof text, "%s needs %zu bytes of the device", what, bytes);
	return device_check(gpu, result, text);
}

void device_close(Gpu *gpu)
{
	for (DeviceContext *in = gpu->contexts, *next; in; in = next) {
		next = in->next;
		context_free(gpu, in);
	}
	free(gpu->cells);
	free(gpu->args);
	free(gpu->maps);
	gpu->maps = NULL;
	gpu->contexts = NULL;
	gpu->cells = NULL;
	gpu->args = NULL;
}
