/* A model on its device, from the inside: what is loaded there, states, and calls that have memory there.
 *
 * One call runs at a time: kernels note failed checks in one variable of the module.
 */
#ifndef TSR_RUNTIME_CUDA_DEVICE_H
#define TSR_RUNTIME_CUDA_DEVICE_H

#include <pthread.h>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/plan.h"

enum { DEVICE_ALIGNMENT = 256 };

/* The device's copy of a state. */
typedef struct DeviceState {
	struct DeviceState *next;
	void *host;
	size_t bytes;
	CUdeviceptr at;	 /* 0: none yet */
	bool stale;	 /* the host's is newer */
	int64_t *places; /* of every parameter: bytes from the start, */
	int64_t *sizes;	 /* bytes, */
	bool *assigned;	 /* and whether the device's is newer */
} DeviceState;

/* A routine for certain dims: its arena, which holds inputs, results and temporaries. */
typedef struct DeviceRun {
	struct DeviceRun *next; /* used less recently */
	uint32_t routine;
	int64_t *values; /* dims and steps; -1: unknown */
	CUdeviceptr arena;
	CUdeviceptr *first, *places; /* of the plan's buffers: at the start of a call, and now */
	int64_t *sizes;		     /* bytes of the inputs, then of the results */
	bool called;
	struct DeviceGraph *graph; /* of its launches; NULL: none yet */
} DeviceRun;

struct Gpu {
	Plan *plan;
	char *path, *own; /* own: the text, where it is the model's */
	const char *text;
	pthread_mutex_t lock;
	char message[1024]; /* of the last failure */
	/* once it is ready: */
	bool ready;
	Driver driver;
	CUdevice device;
	CUcontext context, before; /* `before`: the caller's, while it is entered */
	CUmodule module;
	CUstream stream;
	CUfunction *functions; /* of the plan's lines */
	CUdeviceptr *consts;   /* of the plan's buffers */
	CUdeviceptr status;
	void **args; /* of a launch: pointers to cells */
	int64_t *cells;
	DeviceState *states;
	DeviceRun *runs;
};

/* Leaves the text in gpu->message; the code. */
int device_fail(Gpu *gpu, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* TSR_OK, or TSR_BAD_DEVICE and what the driver says of `what`. */
int device_check(Gpu *gpu, CUresult result, const char *what);
/* Takes the lock, makes the model ready and its context the thread's; leave it in any case. */
int device_enter(Gpu *gpu);
void device_leave(Gpu *gpu);
/* Frees what memory runs have that are not in use, where it is short. */
int device_allocate(Gpu *gpu, size_t bytes, const char *what, CUdeviceptr *at);
void device_close(Gpu *gpu);

/* state.c; the lock is held. */
DeviceState *state_find(const Gpu *gpu, const void *host);
/* Notes that the host's state was written. `values`: the module's dims. */
int state_note(Gpu *gpu, const int64_t *values, void *host, bool all);
int state_upload(Gpu *gpu, DeviceState *state);
int state_read_back(Gpu *gpu, DeviceState *state);
/* Frees the device's copy; the context is the thread's. */
void state_drop(Gpu *gpu, DeviceState *state);
void state_free(DeviceState *state);

/* run.c; the lock is held, the context is the thread's. */
typedef struct RunArguments {
	const void *const *scalars; /* of the routine */
	const void *const *inputs;
	void *const *outputs;
	DeviceState *state; /* NULL: it touches none */
	bool no_graph;
} RunArguments;
/* Values of dims by the module's order. */
int run_routine(Gpu *gpu, uint32_t routine, const int64_t *values, const RunArguments *arguments);
void run_free(Gpu *gpu, DeviceRun *run);

/* graph.c */
void graph_free(Gpu *gpu, struct DeviceGraph *graph);

/* The bytes of a buffer for these values of dims; false: they cannot be counted, or are too many. */
bool buffer_bytes(const Plan *plan, const PlanBuffer *buffer, const int64_t *values,
		  int64_t *bytes);

#endif
