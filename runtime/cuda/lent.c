/* A call with arrays of the device's, in a stream of the caller's, which is not waited for. */
#include <stdlib.h>

#include "runtime/cuda/launch.h"

/* Bytes from there to the end of the allocation; as many as can be where the driver does not tell. */
static uint64_t bytes_behind(const Driver *d, CUdeviceptr at)
{
	CUdeviceptr start = 0;
	size_t bytes = 0;
	bool told = d->cuPointerGetAttribute(&start, CU_POINTER_RANGE_START, at) == CUDA_SUCCESS &&
		    d->cuPointerGetAttribute(&bytes, CU_POINTER_RANGE_BYTES, at) == CUDA_SUCCESS;
	return told && at >= start ? bytes - (at - start) : UINT64_MAX;
}

/* Memory of the device's, or of the host's that is pinned, with all its bytes. */
static int check_memory(Gpu *gpu, const char *name, CUdeviceptr at, uint64_t bytes)
{
	const Driver *d = &gpu->driver;
	unsigned type;
	if (d->cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, at) != CUDA_SUCCESS)
		return device_fail(gpu, TSR_BAD_POINTER, "%s is no memory of a device", name);
	uint64_t there = bytes_behind(d, at);
	return there >= bytes
		       ? TSR_OK
		       : device_fail(
				 gpu, TSR_BAD_POINTER,
				 "%s takes %llu bytes, and the memory that it is in ends behind %llu",
				 name, (unsigned long long)bytes, (unsigned long long)there);
}

/* An array at the place that it had in the call before is taken to have room, as it had then. */
static int take_array(const Runner *r, uint32_t i, CUdeviceptr at)
{
	const char *name = r->gpu->in->code->plan->buffers[array_buffer(r->routine, i)].name;
	uint64_t bytes = (uint64_t)r->run->sizes[i];
	bool known = bytes == 0 || at == r->run->arrays[i];
	int code = known ? TSR_OK : check_memory(r->gpu, name, at, bytes);
	if (code == TSR_OK)
		r->run->arrays[i] = at;
	return code;
}

/* Where the caller's arrays and workspace are. */
static int accept(const Runner *r)
{
	const PlanRoutine *routine = r->routine;
	int code = TSR_OK;
	for (uint32_t i = 0; i < routine->ninputs && code == TSR_OK; i++)
		code = take_array(r, i, (CUdeviceptr)(uintptr_t)r->with->inputs[i]);
	for (uint32_t i = 0; i < routine->noutputs && code == TSR_OK; i++)
		code = take_array(r, routine->ninputs + i,
				  (CUdeviceptr)(uintptr_t)r->with->outputs[i]);
	if (code == TSR_OK && r->with->workspace && r->run->bytes)
		code = check_memory(r->gpu, "the workspace", r->with->workspace, r->run->bytes);
	return code;
}

/* The call is behind the last one. */
static int finish(Runner *r)
{
	Gpu *gpu = r->gpu;
	int code = gpu->in->code->plan->checks ? note_status(gpu, r->stream) : TSR_OK;
	CUresult result = gpu->driver.cuEventRecord(gpu->in->last, r->stream);
	gpu->in->busy |= result == CUDA_SUCCESS;
	run_assigned(r);
	return code == TSR_OK ? device_check(gpu, result, "the order of calls") : code;
}

/* ---- in a graph of the caller's ---- */

int lent_captured(Gpu *gpu, CUstream stream, bool *captured)
{
	int capturing = 0;
	int code = device_check(gpu, gpu->driver.cuStreamIsCapturing(stream, &capturing),
				"the stream");
	*captured = capturing != 0;
	return code;
}

static bool ends_by_number(const Plan *plan, const PlanRoutine *routine)
{
	for (uint32_t i = routine->from; i < routine->to; i++)
		if (plan->lines[i].loop &&
		    (plan->lines[i].until != PLAN_NONE || plan->lines[i].made != PLAN_NONE))
			return true;
	return false;
}

/* While a stream is captured nothing is loaded, allocated, copied from the host or waited for. Replays are not seen
 * here. */
int lent_check_captured(Gpu *gpu, uint32_t number, const int64_t *values, const RunArguments *with)
{
	const Plan *plan = gpu->in->code->plan;
	const PlanRoutine *routine = &plan->routines[number];
	const DeviceRun *run = run_known(gpu, number, values);
	const char *why = NULL;
	if (routine->nassigns)
		why = "it assigns to parameters, which replays would do unseen";
	else if (ends_by_number(plan, routine))
		why = "a loop of it waits for a number";
	else if (!run || !run->called || (with->state && (with->state->stale || with->state->in != gpu->in)))
		why = "call it once before with these dims and this state, which loads its kernels";
	else if (run->bytes && !with->workspace)
		why = "it needs a workspace of the caller's, which the graph keeps";
	return why ? device_fail(gpu, TSR_BAD_CALL, "the stream is being captured, and routine %s cannot be: %s",
				 routine->name, why)
		   : TSR_OK;
}

static int execute_captured(Runner *r)
{
	int code = launch_reset(r);
	if (code == TSR_OK)
		code = launch_lines(r, r->routine->from, r->routine->to);
	if (code == TSR_OK && r->gpu->in->code->plan->checks)
		code = note_replays(r->gpu, r->stream);
	return code;
}

/* What failed on the way leaves launches in the stream. */
static int execute(Runner *r)
{
	int code = device_order(r->gpu, r->stream);
	if (code == TSR_OK)
		code = run_launches(r);
	int end = finish(r);
	return code == TSR_OK ? end : code;
}

int lent_run(Runner *r)
{
	int code = accept(r);
	if (code == TSR_OK && r->captured) {
		run_place(r, r->run->arrays);
		return execute_captured(r);
	}
	if (code == TSR_OK && !r->workspace)
		code = run_allocate(r);
	r->moved = calloc((size_t)r->routine->ninputs + r->routine->noutputs + 1, sizeof *r->moved);
	if (code == TSR_OK && !r->moved)
		code = device_fail(r->gpu, TSR_BAD_DEVICE, "out of memory");
	if (code == TSR_OK && r->gpu->in->code->plan->checks)
		code = note_reserve(r->gpu);
	if (code == TSR_OK) {
		run_place(r, r->run->arrays);
		code = execute(r);
	}
	free(r->moved);
	return code;
}
