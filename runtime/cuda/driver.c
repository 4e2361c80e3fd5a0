/* Loads the driver and looks up its functions; nothing of it is linked. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/driver.h"

typedef struct Entry {
	const char *name;
	size_t place; /* in a Driver */
	bool needed;
} Entry;

static const Entry entries[] = {
#define CUDA_FUNCTION(needed, name, parameters) {#name, offsetof(Driver, name), needed},
#include "runtime/cuda/driver.def"
#undef CUDA_FUNCTION
};
enum { NENTRIES = sizeof entries / sizeof entries[0] };

/* The name of a function that is needed and missing; NULL: all are there. */
static const char *look_up(Driver *driver)
{
	const char *missing = NULL;
	for (int i = 0; i < NENTRIES; i++) {
		void *symbol = dlsym(driver->library, entries[i].name);
		memcpy((char *)driver + entries[i].place, &symbol, sizeof symbol);
		if (!symbol && entries[i].needed && !missing)
			missing = entries[i].name;
	}
	return missing;
}

/* It stays loaded: threads and handlers of its own are behind it. */
static void *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

static int find_library(Driver *driver, char *why, size_t room)
{
	static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
	const char *asked = getenv("TSR_LIBCUDA");
	if (asked && !*asked) {
		snprintf(why, room, "no driver of NVIDIA's: TSR_LIBCUDA is empty");
		return TSR_NO_DEVICE;
	}
	driver->library = asked ? load(asked) : NULL;
	for (int i = 0; !asked && !driver->library && i < 2; i++)
		driver->library = load(names[i]);
	if (driver->library)
		return TSR_OK;
	if (asked)
		snprintf(why, room, "no driver of NVIDIA's: TSR_LIBCUDA: %s", dlerror());
	else
		snprintf(why, room, "no driver of NVIDIA's: there is no %s, nor %s", names[0],
			 names[1]);
	return TSR_NO_DEVICE;
}

int driver_open(Driver *driver, char *why, size_t room)
{
	int code = find_library(driver, why, room);
	if (code != TSR_OK)
		return code;
	const char *missing = look_up(driver);
	if (missing) {
		snprintf(why, room, "NVIDIA's driver is too old: it has no function '%s'", missing);
		return TSR_NO_DEVICE;
	}
	CUresult result = driver->cuInit(0);
	if (result == CUDA_SUCCESS)
		return TSR_OK;
	driver_text(driver, result, "the driver does not start", why, room);
	return TSR_NO_DEVICE;
}

void driver_text(const Driver *driver, CUresult result, const char *what, char *text, size_t room)
{
	const char *name = NULL, *meaning = NULL;
	driver->cuGetErrorName(result, &name);
	driver->cuGetErrorString(result, &meaning);
	if (name)
		snprintf(text, room, "%s: %s%s%s", what, name, meaning ? ": " : "",
			 meaning ? meaning : "");
	else
		snprintf(text, room, "%s: the driver's error %d", what, result);
}
