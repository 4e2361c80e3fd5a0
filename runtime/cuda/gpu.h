/* Code for a GPU as a model: PTX with its plan in front.
 *
 * The table is made from the plan, and calls are what the entry points of compiled modules are: the same dims,
 * guards and pointers are checked, in the same order. The caller's pointers are of the host, but for arrays that are
 * lent. The driver is loaded, and the code given to it, when something is first to be computed.
 *
 * A state of the host's has a copy on the device, which is what routines read and assign to. It is made anew by
 * the next call behind `init` or `pack`, but for parameters that a routine has assigned to since they were last
 * read back: of those the device's count.
 */
#ifndef TSR_RUNTIME_CUDA_GPU_H
#define TSR_RUNTIME_CUDA_GPU_H

#include "runtime/session.h"

typedef struct Gpu Gpu;

/* The file begins with a plan. NULL with *error. */
Gpu *gpu_open(const char *path, tsr_error *error);
/* The same of a module's code, which must stay; `path` is for messages. */
Gpu *gpu_of_code(const char *path, const tsr_gpu_code *code, tsr_error *error);
/* Has it texts for other GPUs, or code for a CPU? An earlier tsrc wrote none. */
bool gpu_has_more(const tsr_gpu_code *code);
/* NULL will do. Requires: no call of it runs. */
void gpu_close(Gpu *gpu);
/* Its functions refuse: they know of no device. */
const tsr_module *gpu_table(const Gpu *gpu);
/* "sm_90a", of the code number `index`; NULL: there are fewer. */
const char *gpu_target(const Gpu *gpu, uint32_t index);
/* Bytes of the device's memory that temporaries of the routine take, of the first code.
 * Requires: a routine of the module. */
const tsr_size *gpu_workspace(const Gpu *gpu, int32_t routine);
/* Their number for the routine's dims, the largest of all codes; false: they cannot be counted.
 * Requires: a routine of the module. */
bool gpu_workspace_bytes(const Gpu *gpu, int32_t routine, const int64_t *dims, int64_t *bytes);

/* As tsr_invoke, init and pack of a module; *message as a tsr_call's. `routine`: its number. `values`: the module's
 * dims; of a state that is packed again -1 may stand for each. */
int gpu_invoke(Gpu *gpu, int32_t routine, const tsr_call *call, const tsr_arguments *arguments);
/* As tsr_run_device and tsr_wait_device. */
int gpu_invoke_lent(Gpu *gpu, int32_t routine, const tsr_call *call,
		    const tsr_arguments *arguments);
int gpu_wait(Gpu *gpu, const tsr_call *call, void *stream);
/* Bytes of a state; false: the dims do not tell. */
bool gpu_state_size(const Gpu *gpu, const int64_t *values, int64_t *bytes);
int gpu_init(Gpu *gpu, const int64_t *values, void *state, uint64_t seed, const char **message);
int gpu_pack(Gpu *gpu, const int64_t *values, void *state, const char **message);
/* Copies to the state what routines have assigned to its parameters. */
int gpu_read_back(Gpu *gpu, const void *state, const char **message);
/* The state is no longer of use. */
void gpu_forget(Gpu *gpu, const void *state);

/* memory.c. As tsr_device_allocate, tsr_device_free, tsr_device_write and tsr_device_read. */
typedef struct GpuCopy {
	size_t bytes;
	bool to_host;
} GpuCopy;
int gpu_allocate(Gpu *gpu, size_t bytes, void **at, const char **message);
void gpu_free(Gpu *gpu, void *at);
int gpu_copy(Gpu *gpu, void *to, const void *from, GpuCopy what, const char **message);

#endif
