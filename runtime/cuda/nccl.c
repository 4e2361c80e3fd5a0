/* Loads NCCL and looks up its functions; nothing of it is linked. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/nccl.h"
#include "runtime/session.h"

typedef struct Entry {
	const char *name;
	size_t place; /* in an Nccl */
} Entry;

static const Entry entries[] = {
#define NCCL_FUNCTION(result, name, parameters) {#name, offsetof(Nccl, name)},
#include "runtime/cuda/nccl.def"
#undef NCCL_FUNCTION
};
enum { NENTRIES = sizeof entries / sizeof entries[0] };

int nccl_open(Nccl *nccl, tsr_error *error)
{
	const char *asked = getenv("TSR_NCCL"), *name = asked ? asked : "libnccl.so.2";
	if (!*name)
		return session_fail(error, TSR_NO_DEVICE, "no NCCL: TSR_NCCL is empty");
	nccl->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!nccl->library)
		return session_fail(error, TSR_NO_DEVICE, "no NCCL%s: %s",
				    asked ? ": TSR_NCCL" : "", dlerror());
	for (int i = 0; i < NENTRIES; i++) {
		void *symbol = dlsym(nccl->library, entries[i].name);
		memcpy((char *)nccl + entries[i].place, &symbol, sizeof symbol);
		if (!symbol)
			return session_fail(error, TSR_NO_DEVICE,
					    "NCCL is too old: it has no function '%s'",
					    entries[i].name);
	}
	return TSR_OK;
}
