/* Modules of PTX, their functions and variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ptx/emu_entry.h"

enum { OPTION_ERROR_LOG = 5, OPTION_ERROR_BYTES = 6, UNTIL_ASKED = 48 << 10 };
enum {
	ATTRIBUTE_THREADS,
	ATTRIBUTE_SHARED,
	ATTRIBUTE_CONST,
	ATTRIBUTE_LOCAL,
	ATTRIBUTE_REGISTERS,
	ATTRIBUTE_PTX,
	ATTRIBUTE_BINARY,
	ATTRIBUTE_DYNAMIC = 8,
	ATTRIBUTE_CARVEOUT,
	ATTRIBUTE_CLUSTER = 14
};

/* The PTX version that came with a driver: 7.x with CUDA 11.x, 8.x with 12.x, where 12.6 repeated one, 9.x with 13.x. */
static int newest_ptx(void)
{
	int major = emu.driver / 1000, minor = emu.driver % 1000 / 10;
	return (major - 4) * 10 + minor - (major == 12 && minor >= 6);
}

/* The least version that has the target. */
static int least_ptx(int target, char suffix)
{
	static const struct {
		int target, version;
	} rows[] = {{120, 87}, {103, 88}, {100, 86}, {90, 78},
		    {89, 78},  {87, 74},  {86, 71},  {80, 70}};
	if (target == 90 && suffix == 'a')
		return 80;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (target >= rows[i].target)
			return rows[i].version;
	return 60;
}

/* A function's or the module's memory is more than a block has without being asked for. */
static const char *too_much_shared(const PtxModule *module, uint32_t *bytes)
{
	for (size_t i = 0; i < module->functions.n; i++) {
		const PtxFunction *f = module->functions.at[i];
		*bytes = f->shared_bytes > module->shared_bytes ? f->shared_bytes
								: module->shared_bytes;
		if (*bytes > UNTIL_ASKED)
			return f->name;
	}
	return NULL;
}

/* The code of a module that the device does not take, and why, or 0. */
static CUresult not_for_this(const PtxModule *module, char *why, size_t size)
{
	if (module->version > newest_ptx()) {
		snprintf(why, size, "unsupported .version %d.%d; current version is '%d.%d'",
			 module->version / 10, module->version % 10, newest_ptx() / 10,
			 newest_ptx() % 10);
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	if (module->version < least_ptx(module->target, module->suffix)) {
		snprintf(why, size, "PTX .version %d.%d does not support .target sm_%d%.1s",
			 module->version / 10, module->version % 10, module->target,
			 module->suffix ? &module->suffix : "");
		return CUDA_ERROR_INVALID_PTX;
	}
	uint32_t bytes;
	const char *entry = too_much_shared(module, &bytes);
	if (entry) {
		snprintf(
			why, size,
			"error   : Entry function '%s' uses too much shared data (0x%x bytes, 0x%x max)",
			entry, bytes, UNTIL_ASKED);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (module->target > emu.cc || (module->suffix && module->target != emu.cc)) {
		snprintf(
			why, size,
			"SM version specified by .target is higher than default SM version assumed");
		return CUDA_ERROR_INVALID_PTX;
	}
	return CUDA_SUCCESS;
}

static void put_log(const char *why, unsigned n, const int *options, void *const *values)
{
	char *log = NULL;
	size_t size = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == OPTION_ERROR_LOG)
			log = values[i];
		else if (options[i] == OPTION_ERROR_BYTES)
			size = (size_t)(uintptr_t)values[i];
	}
	if (log != NULL && size > 0)
		snprintf(log, size, "ptxas application ptx input, %s", why);
}

static CUresult load(CUmodule *made, const char *image, char *why, size_t size)
{
	if (emu_fails(FAIL_MODULE)) {
		snprintf(why, size, "line 1; fatal   : made to fail");
		return CUDA_ERROR_INVALID_PTX;
	}
	if (memcmp(image, "\177ELF", 4) == 0 || memcmp(image, "\x50\xed\x55\xba", 4) == 0) {
		snprintf(why, size, "machine code, which is not emulated");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	PtxModule *module = ptx_module_read(&emu.memory, image, strlen(image), why, size);
	if (module == NULL)
		return CUDA_ERROR_INVALID_PTX;
	CUresult result = not_for_this(module, why, size);
	struct CUmod_st *new = result == CUDA_SUCCESS ? calloc(1, sizeof *new) : NULL;
	if (new == NULL) {
		ptx_module_free(module);
		return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
	}
	*new = (struct CUmod_st){TAG_MODULE, emu_context(), module, NULL};
	*made = new;
	return CUDA_SUCCESS;
}

static CUresult load_with_log(CUmodule *module, const void *image, unsigned n, int *options,
			      void **values)
{
	char why[600] = "";
	if (module == NULL || image == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = emu_may_wait();
	if (result == CUDA_SUCCESS)
		result = load(module, image, why, sizeof why);
	if (result != CUDA_SUCCESS)
		put_log(why, n, options, values);
	return result;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
			    void **values)
{
	EMU_CALL(true, load_with_log(module, image, n, options, values));
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	EMU_CALL(true, load_with_log(module, image, 0, NULL, NULL));
}

static CUresult unload(CUmodule module)
{
	if (module == NULL || module->tag != TAG_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult result = emu_finish_all();
	while (module->functions != NULL) {
		CUfunction next = module->functions->next;
		free(module->functions);
		module->functions = next;
	}
	ptx_module_free(module->module);
	free(module);
	return result;
}

CUresult cuModuleUnload(CUmodule module) { EMU_CALL(true, unload(module)); }

static CUresult function_of(CUfunction *found, CUmodule module, const char *name)
{
	if (module == NULL || module->tag != TAG_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	const PtxFunction *kernel = name ? ptx_module_kernel(module->module, name) : NULL;
	if (kernel == NULL)
		return CUDA_ERROR_NOT_FOUND;
	for (CUfunction f = module->functions; f != NULL; f = f->next)
		if (f->kernel == kernel) {
			*found = f;
			return CUDA_SUCCESS;
		}
	CUfunction f = calloc(1, sizeof *f);
	if (f == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*f = (struct CUfunc_st){TAG_FUNCTION, module, kernel, UNTIL_ASKED, module->functions};
	module->functions = *found = f;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	EMU_CALL(true, function_of(function, module, name));
}

static CUresult global_of(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
	if (module == NULL || module->tag != TAG_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	const PtxVariable *variable = ptx_module_variable(module->module, name);
	if (variable == NULL)
		return CUDA_ERROR_NOT_FOUND;
	if (at != NULL)
		*at = variable->address;
	if (bytes != NULL)
		*bytes = variable->bytes;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
	EMU_CALL(true, global_of(at, bytes, module, name));
}

static uint32_t fixed_shared(const PtxModule *module, const PtxFunction *kernel)
{
	return kernel->shared_bytes > module->shared_bytes ? kernel->shared_bytes
							   : module->shared_bytes;
}

static CUresult attribute_of(int *value, int attribute, CUfunction f)
{
	if (f == NULL || f->tag != TAG_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	const PtxFunction *kernel = f->kernel;
	const uint32_t *most = kernel->maxntid;
	switch (attribute) {
	case ATTRIBUTE_THREADS: *value = most[0] ? (int)(most[0] * most[1] * most[2]) : 1024; break;
	case ATTRIBUTE_SHARED: *value = (int)fixed_shared(f->module->module, kernel); break;
	case ATTRIBUTE_CONST: *value = 0; break;
	case ATTRIBUTE_LOCAL: *value = (int)kernel->stack_local; break;
	case ATTRIBUTE_REGISTERS: *value = 32; break;
	case ATTRIBUTE_PTX: *value = f->module->module->target; break;
	case ATTRIBUTE_BINARY: *value = emu.cc; break;
	case ATTRIBUTE_DYNAMIC: *value = f->dynamic; break;
	case ATTRIBUTE_CARVEOUT: *value = -1; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
	EMU_CALL(true, attribute_of(value, attribute, function));
}

static CUresult set_attribute(CUfunction f, int attribute, int value)
{
	int most = 0;
	if (f == NULL || f->tag != TAG_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == ATTRIBUTE_CARVEOUT || attribute == ATTRIBUTE_CLUSTER)
		return CUDA_SUCCESS;
	most = (emu.cc >= 90 && emu.cc < 120 ? 227 : emu.cc == 80 ? 163 : 99) << 10;
	if (attribute != ATTRIBUTE_DYNAMIC || value < 0 ||
	    (uint64_t)value + fixed_shared(f->module->module, f->kernel) > (uint64_t)most)
		return CUDA_ERROR_INVALID_VALUE;
	f->dynamic = value;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
	EMU_CALL(true, set_attribute(function, attribute, value));
}
