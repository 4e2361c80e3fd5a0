/* A model on its device, from the inside: what is loaded there, states, and calls that have memory there.
 *
 * One call of a context runs at a time: kernels note failed checks in one variable of the module. Those that are
 * not waited for are put in order by an event.
 */
#ifndef TSR_RUNTIME_CUDA_DEVICE_H
#define TSR_RUNTIME_CUDA_DEVICE_H

#include <pthread.h>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/plan.h"

enum { DEVICE_ALIGNMENT = 256 };
/* As many bytes, or more, to a multiple of that. */
static inline uint64_t device_aligned(uint64_t bytes)
{
	return (bytes + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
}

/* Code for a GPU of some kind, and the plan in front of it. */
typedef struct GpuCode {
	const char *text;
	Plan *plan;
} GpuCode;

/* The device's copy of a state. */
typedef struct DeviceState {
	struct DeviceState *next;
	void *host;
	size_t bytes;
	struct DeviceContext *in; /* that has it */
	CUdeviceptr at;		  /* 0: none yet */
	bool stale;	 /* the host's is newer */
	int64_t *places; /* of every parameter: bytes from the start, */
	int64_t *sizes;	 /* bytes, */
	bool *assigned;	 /* and whether the device's is newer */
} DeviceState;

/* A routine for certain dims: its arena, which holds temporaries and, unless they are the caller's, inputs and
 * results. */
typedef struct DeviceRun {
	struct DeviceRun *next; /* used less recently */
	uint32_t routine;
	bool lent;	 /* inputs and results are the caller's, on the device */
	int64_t *values; /* dims and steps; -1: unknown */
	uint64_t bytes;
	CUdeviceptr arena;   /* of so many bytes; 0: none yet */
	uint64_t *offsets;   /* of the plan's buffers in it */
	CUdeviceptr *places; /* of the plan's buffers, now */
	int64_t *sizes;	     /* bytes of the inputs, then of the results */
	CUdeviceptr *arrays; /* lent: likewise, where they were last */
	uint64_t inputs_end, arrays_end; /* else: of inputs, and results, from the arena's start */
	char *staged; /* pinned, where they are on their way, and one word; NULL: they are not */
	bool called;
	struct DeviceGraph *graph; /* of its launches; NULL: none yet */
} DeviceRun;

/* What is loaded in a context. */
typedef struct DeviceContext {
	struct DeviceContext *next;
	CUcontext handle;      /* NULL: it is gone, with all that it had */
	unsigned long long id; /* 0: the driver tells none */
	CUdevice device;
	bool retained; /* the device's primary one, held */
	const GpuCode *code;
	CUmodule module;
	CUstream stream;
	CUfunction *functions; /* of the plan's lines */
	CUdeviceptr *consts;   /* of the plan's buffers */
	CUdeviceptr status;
	CUevent last;	/* behind the last call that was not waited for */
	bool busy;	/* there was one */
	int32_t *notes; /* pinned; what kernels of such calls left in `status`; NULL: none yet */
	uint32_t noted, seen;
	int32_t failed; /* the first among those seen, that no wait has told yet; 0: none */
	DeviceRun *runs;
} DeviceContext;

struct Gpu {
	GpuCode *
		codes; /* of one program: all but their launches, temporaries and targets is the same */
	uint32_t ncodes;
	Plan *plan;	  /* of the first */
	char *path, *own; /* own: its text, where it is the model's */
	pthread_mutex_t lock;
	char message[1024]; /* of the last failure */
	Driver driver;	    /* library NULL: not loaded yet */
	DeviceContext *contexts;
	DeviceContext *in; /* that is entered; NULL: none */
	CUcontext before;  /* the caller's, meanwhile */
	void **args;	   /* of a launch: pointers to cells */
	int64_t *cells;
	unsigned char *maps; /* of tensors, a place for each argument */
	DeviceState *states;
};

/* Leaves the text in gpu->message; the code. */
int device_fail(Gpu *gpu, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* TSR_OK, or TSR_BAD_DEVICE and what the driver says of `what`. */
int device_check(Gpu *gpu, CUresult result, const char *what);
/* Takes the lock, and makes a context with the code in it the thread's; leave it in any case. It is the primary one of
 * device 0 or, `callers`, that which the thread has, if any. */
int device_enter(Gpu *gpu, bool callers);
/* Makes the thread's earlier context its own again, and frees the lock. */
void device_leave(Gpu *gpu);
/* The lock is held: enters another context. */
int device_switch(Gpu *gpu, DeviceContext *in);
/* The stream goes on behind all that was not waited for; the host waits for it. */
int device_order(Gpu *gpu, CUstream stream);
int device_settle(Gpu *gpu);
/* Frees what memory runs have that are not in use, where it is short. */
int device_allocate(Gpu *gpu, size_t bytes, const char *what, CUdeviceptr *at);
/* Frees all contexts. Requires: no call of the model runs. */
void device_close(Gpu *gpu);

/* shared.c: TSR_OK where blocks of the device have the shared memory that the plan's kernels ask for, else TSR_NO_DEVICE;
 * asks for it. */
int shared_fits(Gpu *gpu, CUdevice device, const Plan *plan);
int shared_ask(Gpu *gpu, const DeviceContext *in);

/* notes.c: failed checks of calls that are not waited for. note_status copies what the kernels have noted by then to the
 * host, in the stream, behind note_reserve, which makes room; note_seen takes what has come. */
int note_reserve(Gpu *gpu);
int note_status(Gpu *gpu, CUstream stream);
/* The same of a graph that is captured: the last of its replays is told.
 * Requires: note_reserve was called. */
int note_replays(Gpu *gpu, CUstream stream);
void note_seen(DeviceContext *in);
/* TSR_OK, or the code that a kernel has noted, with its text. */
int note_code(Gpu *gpu, int32_t status);

/* state.c; the lock is held. What belongs to the host's state; NULL: it was not seen yet. */
DeviceState *state_find(const Gpu *gpu, const void *host);
/* Notes that the host's state was written. `values`: the module's dims. */
int state_note(Gpu *gpu, const int64_t *values, void *host, bool all);
/* Where what is packed begins, behind the parameters. */
CUdeviceptr state_packed(const DeviceState *state);
/* Into the context that is entered, out of another one. */
int state_upload(Gpu *gpu, DeviceState *state);
/* Its context is entered. */
int state_read_back(Gpu *gpu, DeviceState *state);
/* Frees the device's copy. */
void state_drop(Gpu *gpu, DeviceState *state);
void state_free(DeviceState *state);

/* run.c; the lock is held, the context is the thread's. */
typedef struct RunArguments {
	const void *const *scalars; /* of the routine */
	const void *const *inputs;
	void *const *outputs;
	DeviceState *state; /* NULL: it touches none */
	bool no_graph;
	/* lent: inputs and results are the device's, nothing is waited for */
	bool lent;
	CUstream stream;
	CUdeviceptr workspace; /* 0: the run's own */
} RunArguments;
/* Values of dims by the module's order. Requires: a routine of the plan. */
int run_routine(Gpu *gpu, uint32_t routine, const int64_t *values, const RunArguments *arguments);
/* Frees a run, its graph and its memory. Requires: the device is done with it. */
void run_free(Gpu *gpu, const DeviceContext *in, DeviceRun *run);
/* The integer that a scalar of a routine is, from its cell; its bytes, with zeros behind. */
int64_t scalar_value(const tsr_scalar *scalar, const void *cell);
int64_t scalar_bits(const tsr_scalar *scalar, const void *cell);
/* Scalars that say places are values of sizes, too. */
void scalar_places(const PlanRoutine *routine, const void *const *scalars, int64_t *values);

/* graph.c */
void graph_free(Gpu *gpu, const DeviceContext *in, struct DeviceGraph *graph);

/* The bytes of a buffer for these values of dims; false: they cannot be counted, or are too many. */
bool buffer_bytes(const Plan *plan, const PlanBuffer *buffer, const int64_t *values,
		  int64_t *bytes);

#endif
