/* The entry points of modules for a GPU that are called without a session. Such a call has no handle, so what is
 * loaded for a module stands in a list of the process, and stays: the module too, which is held in memory. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/cuda/gpu.h"

typedef struct Entered {
	struct Entered *next;
	const tsr_gpu_code *code;
	Gpu *gpu;
} Entered;

static struct {
	pthread_mutex_t lock;
	Entered *first;
} entered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hold_module(const tsr_gpu_code *code)
{
	Dl_info where;
	if (dladdr(code, &where) && where.dli_fname)
		dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static Gpu *load(const tsr_gpu_code *code)
{
	Entered *new = calloc(1, sizeof *new);
	if (!new)
		return NULL;
	new->code = code;
	new->gpu = gpu_of_code(code->table->name, code, NULL);
	if (!new->gpu) {
		free(new);
		return NULL;
	}
	hold_module(code);
	new->next = entered.first;
	entered.first = new;
	return new->gpu;
}

static Gpu *find(const tsr_gpu_code *code)
{
	pthread_mutex_lock(&entered.lock);
	Entered *found = entered.first;
	while (found && found->code != code)
		found = found->next;
	Gpu *gpu = found ? found->gpu : load(code);
	pthread_mutex_unlock(&entered.lock);
	return gpu;
}

static int failed(const tsr_call *call, int code, const char *text)
{
	if (call && call->message)
		*call->message = text;
	return code;
}

/* The module's code for a CPU, which knows no flags. */
static int call_cpu(const tsr_gpu_code *code, int32_t what, const tsr_call *call,
		    const tsr_arguments *a)
{
	tsr_call plain = call ? *call : (tsr_call){0};
	plain.flags = 0;
	return code->cpu->routines[what].invoke(call ? &plain : NULL, a->dims, a->scalars,
						a->inputs, a->outputs, a->state, a->workspace);
}

static int enter_routine(Gpu *gpu, int32_t what, const tsr_call *call, const tsr_arguments *a)
{
	int32_t routine = what & (TSR_GPU_DEVICE - 1);
	switch (what - routine) {
	case 0: return gpu_invoke(gpu, routine, call, a);
	case TSR_GPU_DEVICE: return gpu_invoke_lent(gpu, routine, call, a);
	case TSR_GPU_WORKSPACE:
		return gpu_workspace_bytes(gpu, routine, a->dims, a->state) ? TSR_OK : TSR_BAD_DIM;
	default: return TSR_BAD_CALL;
	}
}

int tsr_enter_gpu(const tsr_gpu_code *code, int32_t what, const tsr_call *call,
		  const tsr_arguments *a)
{
	if (call && call->abi != TSR_ABI)
		return TSR_BAD_CALL;
	if (!code || !a || code->abi != TSR_ABI)
		return failed(call, TSR_BAD_CALL,
			      "the module's code for a GPU has another interface than this libtsr");
	Gpu *gpu = find(code);
	const char *message = NULL;
	int result = TSR_OK;
	if (!gpu)
		return failed(call, TSR_BAD_DEVICE, "the module's plan cannot be read");
	int32_t routine = what & (TSR_GPU_DEVICE - 1);
	if (what >= 0 && routine < gpu_table(gpu)->nroutines)
		result = enter_routine(gpu, what, call, a);
	if (result == TSR_NO_DEVICE && what == routine && gpu_has_more(code) && code->cpu)
		return call_cpu(code, what, call, a);
	if (what >= 0 && routine < gpu_table(gpu)->nroutines)
		return result;
	if (what == TSR_GPU_WAIT)
		return gpu_wait(gpu, call, a->stream);
	if (what == TSR_GPU_STATE_SIZE)
		return gpu_state_size(gpu, a->dims, a->state) ? TSR_OK : TSR_BAD_DIM;
	if (!a->state)
		return failed(call, TSR_BAD_POINTER, "state is NULL");
	if (what == TSR_GPU_INIT)
		result = gpu_init(gpu, a->dims, a->state, *(const uint64_t *)a->scalars[0],
				  &message);
	else if (what == TSR_GPU_PACK)
		result = gpu_pack(gpu, a->dims, a->state, &message);
	else
		result = TSR_BAD_CALL;
	return result == TSR_OK ? result : failed(call, result, message);
}
