/* The device, its context, and codes. */
#include "test/ptx/emu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ptx/emu_entry.h"

Emu emu;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUcontext current;

void emu_lock(void) { pthread_mutex_lock(&lock); }

CUresult emu_unlock(CUresult result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

CUcontext emu_context(void) { return current; }

static bool is_live(CUcontext context)
{
	return context != NULL && context->tag == TAG_CONTEXT &&
	       (context != &emu.context || emu.retained > 0);
}

CUresult emu_may(bool need_context)
{
	if (!emu.ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (need_context && !is_live(current))
		return CUDA_ERROR_INVALID_CONTEXT;
	return need_context ? emu.spoiled : CUDA_SUCCESS;
}

bool emu_fails(EmuFail kind) { return ++emu.count[kind] == emu.fail_at[kind]; }

void emu_tell(const char *text)
{
	snprintf(emu.report, sizeof emu.report, "%s", text);
	fprintf(stderr, "cuda emulator: %s\n", text);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void read_failures(void)
{
	static const char *const kinds[] = {"alloc:", "host:", "launch:", "module:", "graph:"};
	const char *text = getenv("TSR_EMU_FAIL");
	for (int i = 0; i < FAIL_COUNT; i++) {
		const char *at = text ? strstr(text, kinds[i]) : NULL;
		emu.fail_at[i] = at ? strtoull(at + strlen(kinds[i]), NULL, 10) : 0;
	}
}

static void read_environment(void)
{
	const char *cc = getenv("TSR_EMU_CC"), *order = getenv("TSR_EMU_SCHEDULE");
	emu.cc = cc && *cc ? (int)(strtod(cc, NULL) * 10 + 0.5) : 90;
	emu.driver = (int)number("TSR_EMU_DRIVER", 13000);
	emu.devices = number("TSR_EMU_DEVICES", 1) != 0;
	emu.schedule = (PtxSchedule){.races = number("TSR_EMU_RACES", 1) != 0,
				     .fuel = number("TSR_EMU_FUEL", UINT64_C(4000000000))};
	if (order && strcmp(order, "reverse") == 0)
		emu.schedule.order = ORDER_REVERSE;
	if (order && strncmp(order, "random:", 7) == 0) {
		emu.schedule.order = ORDER_RANDOM;
		emu.schedule.seed = strtoull(order + 7, NULL, 10);
	}
	read_failures();
}

CUresult cuInit(unsigned flags)
{
	(void)flags;
	emu_lock();
	if (!emu.ready) {
		read_environment();
		ptx_memory_init(&emu.memory, number("TSR_EMU_MEMORY", UINT64_C(2) << 30));
		emu.context.tag = TAG_CONTEXT;
		emu.stream.tag = TAG_STREAM;
	}
	emu.ready = emu.devices > 0;
	return emu_unlock(emu.ready ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

CUresult cuDriverGetVersion(int *version)
{
	*version = (int)number("TSR_EMU_DRIVER", 13000);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) { EMU_CALL(false, (*n = emu.devices, CUDA_SUCCESS)); }

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	EMU_CALL(false, ordinal != 0 ? CUDA_ERROR_INVALID_DEVICE : (*device = 0, CUDA_SUCCESS));
}

static CUresult device_name(char *name, int size, CUdevice device)
{
	if (device != 0 || size <= 0)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)size, "PTX emulator");
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	EMU_CALL(false, device_name(name, size, device));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	EMU_CALL(false, device != 0 ? CUDA_ERROR_INVALID_DEVICE
				    : (*bytes = emu.memory.limit, CUDA_SUCCESS));
}

/* Attributes of devices of the emulated compute capability. */
static CUresult device_attribute(int *value, int attribute, CUdevice device)
{
	const int shared = emu.cc >= 90 && emu.cc < 120 ? 227 : emu.cc == 80 ? 163 : 99;
	static const struct {
		int attribute, value;
	} fixed[] = {{1, 1024},	  {2, 1024},	 {3, 1024},  {4, 64},	 {5, 2147483647},
		     {6, 65535},  {7, 65535},	 {8, 49152}, {9, 65536}, {10, 32},
		     {12, 65536}, {13, 1000000}, {16, 4},    {31, 1},	 {36, 1000000},
		     {37, 256},	  {38, 4194304}, {39, 2048}, {41, 1},	 {82, 65536},
		     {106, 32},	  {115, 0}};
	if (device != 0)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attribute) {
	case 75: *value = emu.cc / 10; return CUDA_SUCCESS;
	case 76: *value = emu.cc % 10; return CUDA_SUCCESS;
	case 81: *value = (shared + 1) << 10; return CUDA_SUCCESS;
	case 97: *value = shared << 10; return CUDA_SUCCESS;
	case 120: *value = emu.cc >= 90; return CUDA_SUCCESS;
	}
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (fixed[i].attribute == attribute) {
			*value = fixed[i].value;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	EMU_CALL(false, device_attribute(value, attribute, device));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	EMU_CALL(false, device != 0 ? CUDA_ERROR_INVALID_DEVICE
				    : (emu.retained++, *context = &emu.context, CUDA_SUCCESS));
}

/* After the last release the context is as new; memory is its owners' to free. */
static CUresult release(CUdevice device)
{
	if (device != 0 || emu.retained == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--emu.retained > 0)
		return CUDA_SUCCESS;
	emu_finish_all();
	emu.spoiled = CUDA_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { EMU_CALL(false, release(device)); }

/* Contexts beside the primary one. Memory is the device's, modules, streams and events are the context's. */
static CUresult create(CUcontext *made, CUdevice device)
{
	CUcontext context = device == 0 ? calloc(1, sizeof *context) : NULL;
	if (context == NULL)
		return device == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_DEVICE;
	*context = (struct CUctx_st){TAG_CONTEXT, ++emu.contexts};
	*made = current = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
	(void)flags;
	EMU_CALL(false, create(context, device));
}

static CUresult destroy(CUcontext context)
{
	if (context == NULL || context == &emu.context || context->tag != TAG_CONTEXT)
		return CUDA_ERROR_INVALID_CONTEXT;
	emu_finish_all();
	context->tag = 0;
	current = current == context ? NULL : current;
	free(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context) { EMU_CALL(false, destroy(context)); }

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
	EMU_CALL(false, context == NULL || context->tag != TAG_CONTEXT
				? CUDA_ERROR_INVALID_CONTEXT
				: (*id = context->id, CUDA_SUCCESS));
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	EMU_CALL(false, context != NULL && context->tag != TAG_CONTEXT
				? CUDA_ERROR_INVALID_CONTEXT
				: (current = context, CUDA_SUCCESS));
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	EMU_CALL(false, (*context = current, CUDA_SUCCESS));
}

CUresult cuCtxPushCurrent_v2(CUcontext context) { return cuCtxSetCurrent(context); }

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	EMU_CALL(false,
		 ((context != NULL ? *context = current : NULL), current = NULL, CUDA_SUCCESS));
}

CUresult cuCtxGetDevice(CUdevice *device) { EMU_CALL(true, (*device = 0, CUDA_SUCCESS)); }

CUresult cuCtxSynchronize(void) { EMU_CALL(true, emu_finish_all()); }

static const struct {
	const char *name, *text;
	int number;
} errors[] = {
#define X(name, number, text) {"CUDA_" #name, text, number},
#include "test/ptx/emu_errors.def"
#undef X
};

CUresult cuGetErrorName(CUresult code, const char **name)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].number == code) {
			*name = errors[i].name;
			return CUDA_SUCCESS;
		}
	*name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].number == code) {
			*text = errors[i].text;
			return CUDA_SUCCESS;
		}
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

const char *tsr_emu_report(void) { return emu.report; }
