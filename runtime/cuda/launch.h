/* Launches of a call, and graphs of them. */
#ifndef TSR_RUNTIME_CUDA_LAUNCH_H
#define TSR_RUNTIME_CUDA_LAUNCH_H

#include "runtime/cuda/device.h"

/* What becomes of a launch: it goes to the stream, is a node of a graph that is made, or of one whose scalars
 * are set anew. */
typedef enum LaunchTo { TO_STREAM, TO_GRAPH, TO_NODE } LaunchTo;

typedef struct Runner {
	Gpu *gpu;
	DeviceRun *run;
	const PlanRoutine *routine;
	const RunArguments *with;
	CUstream stream;
	CUdeviceptr workspace;
	LaunchTo to;
	bool rescaled;	/* TO_NODE: scalars have changed, */
	bool *moved;	/* and these of the caller's arrays: inputs, then results */
	bool follows;	/* the last that was handed over is a launch of this call */
	bool captured;	/* the stream is: launches go to a graph of the caller's */
	uint32_t node;	/* of the next launch */
	int32_t status; /* as the kernels left it when it was last read */
} Runner;

/* The lines from one to another, which is the next. */
int launch_lines(Runner *runner, uint32_t from, uint32_t to);
/* Waits for what runs. */
int launch_wait(Runner *runner);
/* ... and reads the i32 there. */
int launch_read(Runner *runner, CUdeviceptr from, int32_t *word);

/* The buffer of an input or, behind them, a result. */
static inline uint32_t array_buffer(const PlanRoutine *r, uint32_t i)
{
	return i < r->ninputs ? r->inputs + i : r->outputs + i - r->ninputs;
}

/* run.c: where the plan's buffers are, `arrays` of inputs and results, or else in the arena; all launches, one by one or
 * as a graph; notes what the routine assigns to; gives the first run an arena, for which others may have to go. */
void run_place(const Runner *runner, const CUdeviceptr *arrays);
int run_launches(Runner *runner);
void run_assigned(const Runner *runner);
int run_allocate(Runner *runner);
/* The one with arrays of the device's for these dims; NULL: none. */
const DeviceRun *run_known(const Gpu *gpu, uint32_t routine, const int64_t *values);

/* lent.c: calls on arrays of the device. Is the stream being captured; may a call be captured (TSR_BAD_CALL with the
 * reason); the call, which is not waited for. Codes are TSR_OK, or one with a text in gpu->message.
 * Requires: a routine of the plan. */
int lent_captured(Gpu *gpu, CUstream stream, bool *captured);
int lent_check_captured(Gpu *gpu, uint32_t routine, const int64_t *values,
			const RunArguments *with);
int lent_run(Runner *runner);

/* Sets what kernels note failed checks in to 0, where there are checks. */
int launch_reset(Runner *runner);

/* graph.c. Launches of the routine as one graph, made by the second call for these dims and used by all behind it.
 * The first one launches: each kernel is loaded at its first launch. False: they are no graph, as their number
 * depends on what they compute or on scalars, is 1, or is large; or the driver is too old. */
bool graph_wanted(const Runner *runner);
int graph_run(Runner *runner);
/* Adds a node for a launch behind the last one, `early`: which may begin before that one has ended; sets that of the next
 * launch. */
CUresult graph_add(Runner *runner, const CUlaunch *launch, bool early);
CUresult graph_set(Runner *runner, const CUlaunch *launch);

#endif
