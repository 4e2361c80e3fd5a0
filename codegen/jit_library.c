/* libgccjit by dlopen. */
#include "codegen/jit_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define SONAME "libgccjit.so.0"

JitLibrary jit_library;
static struct {
	pthread_once_t once;
	bool failed;
	char why[512];
} loading = {.once = PTHREAD_ONCE_INIT};

/* The first function that the library lacks, or NULL. */
static const char *fill(void *library)
{
	const char *lacks = NULL;
#define NAME(name)                                                      \
	*(void **)&jit_library.name = dlsym(library, "gcc_jit_" #name); \
	if (!jit_library.name && !lacks)                                \
		lacks = "gcc_jit_" #name;
#include "codegen/jit_library.def"
#undef NAME
	return lacks;
}

static void load(void)
{
	/* of the functions that it calls itself, most compilations reach few */
	void *library = dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL);
	const char *lacks = library ? fill(library) : NULL, *error = library ? NULL : dlerror();
	loading.failed = !library || lacks;
	if (lacks)
		snprintf(loading.why, sizeof loading.why, SONAME " is too old: it has no %s",
			 lacks);
	else if (!library)
		snprintf(loading.why, sizeof loading.why, "%s", error ? error : SONAME);
}

const char *jit_library_load(void)
{
	pthread_once(&loading.once, load);
	return loading.failed ? loading.why : NULL;
}
