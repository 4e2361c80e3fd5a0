/* A call on the device: its arena, copies before and behind its launches. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/launch.h"

enum { RUNS_KEPT = 16 };

/* ---- memory ---- */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
}

void run_free(Gpu *gpu, DeviceRun *run)
{
	graph_free(gpu, run->graph);
	if (run->arena)
		gpu->driver.cuMemFree_v2(run->arena);
	free(run->values);
	free(run->first);
	free(run->places);
	free(run->sizes);
	free(run);
}

static DeviceRun *run_new(const Plan *plan, uint32_t routine, const int64_t *values)
{
	const PlanRoutine *r = &plan->routines[routine];
	size_t nvalues = (size_t)plan->world.ndims + 1, nbuffers = (size_t)plan->nbuffers + 1;
	DeviceRun *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run->routine = routine;
	run->values = calloc(nvalues, sizeof *run->values);
	run->first = calloc(nbuffers, sizeof *run->first);
	run->places = calloc(nbuffers, sizeof *run->places);
	run->sizes = calloc((size_t)r->ninputs + r->noutputs + 1, sizeof *run->sizes);
	for (int32_t d = 0; run->values && d < plan->world.ndims; d++)
		run->values[d] = d < plan->module.ndims ? values[d] : -1;
	return run;
}

/* Sizes of the routine's inputs and results and, in `arena`, of all that they and temporaries take. Places are
 * counted from the arena's start. */
static int lay_out(Gpu *gpu, DeviceRun *run, uint64_t *arena)
{
	const Plan *plan = gpu->plan;
	const PlanRoutine *r = &plan->routines[run->routine];
	int64_t workspace, bytes, offset;
	*arena = 0;
	for (uint32_t i = 0; i < r->ninputs + r->noutputs; i++) {
		uint32_t b = i < r->ninputs ? r->inputs + i : r->outputs + i - r->ninputs;
		if (!buffer_bytes(plan, &plan->buffers[b], run->values, &run->sizes[i]) ||
		    run->sizes[i] > INT64_MAX / 4)
			return device_fail(gpu, TSR_BAD_DIM,
					   "the size of %s is out of range for these dims",
					   plan->buffers[b].name);
		run->first[b] = *arena;
		if (__builtin_add_overflow(*arena, aligned((uint64_t)run->sizes[i]), arena))
			return device_fail(gpu, TSR_BAD_DIM,
					   "all inputs and results are too large");
	}
	if (tsr_size_value(&r->workspace, &plan->world, run->values, &workspace) != TSR_OK ||
	    workspace < 0)
		return device_fail(gpu, TSR_BAD_DIM,
				   "the size of the workspace is out of range for these dims");
	for (uint32_t b = 0; b < plan->nbuffers; b++) {
		const PlanBuffer *buffer = &plan->buffers[b];
		if (buffer->role != PLAN_TEMP || buffer->routine != run->routine)
			continue;
		if (!buffer_bytes(plan, buffer, run->values, &bytes) ||
		    tsr_size_value(&buffer->offset, &plan->world, run->values, &offset) != TSR_OK ||
		    offset < 0 || offset > workspace || bytes > workspace - offset)
			return device_fail(
				gpu, TSR_BAD_DEVICE,
				"%s: the plan is damaged: '%s' lies outside the workspace",
				gpu->path, buffer->name);
		run->first[b] = *arena + (uint64_t)offset;
	}
	if (__builtin_add_overflow(*arena, (uint64_t)workspace, arena) || *arena > SIZE_MAX / 2)
		return device_fail(gpu, TSR_BAD_DIM, "the workspace is too large");
	return TSR_OK;
}

static int run_allocate(Gpu *gpu, DeviceRun *run)
{
	const Plan *plan = gpu->plan;
	uint64_t arena;
	char what[200];
	if (!run->values || !run->first || !run->places || !run->sizes)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	int code = lay_out(gpu, run, &arena);
	const char *name = plan->routines[run->routine].name;
	snprintf(what, sizeof what, "routine %.100s", name ? name : "of the initialisers");
	if (code == TSR_OK)
		code = device_allocate(gpu, arena + DEVICE_ALIGNMENT, what, &run->arena);
	for (uint32_t b = 0; b < plan->nbuffers; b++) {
		PlanRole role = plan->buffers[b].role;
		bool own = plan->buffers[b].routine == run->routine && role != PLAN_PARAM &&
			   role != PLAN_CONST;
		run->first[b] = own ? run->first[b] + run->arena : gpu->consts[b];
	}
	return code;
}

static bool same_values(const Plan *plan, const DeviceRun *run, const int64_t *values)
{
	return memcmp(run->values, values, (size_t)plan->module.ndims * sizeof *values) == 0;
}

/* The run for these dims goes to the front, and a new one is made where there is none. */
static int find_run(Gpu *gpu, uint32_t routine, const int64_t *values)
{
	int kept = 0;
	DeviceRun **at = &gpu->runs;
	while (*at && !((*at)->routine == routine && same_values(gpu->plan, *at, values))) {
		at = &(*at)->next;
		kept++;
		while (kept == RUNS_KEPT && *at) {
			DeviceRun *last = *at;
			*at = last->next;
			run_free(gpu, last);
		}
	}
	DeviceRun *run = *at;
	if (run) {
		*at = run->next;
	} else {
		run = run_new(gpu->plan, routine, values);
		int code = run ? run_allocate(gpu, run)
			       : device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
		if (code != TSR_OK && run)
			run_free(gpu, run);
		if (code != TSR_OK)
			return code;
	}
	run->next = gpu->runs;
	gpu->runs = run;
	return TSR_OK;
}

/* ---- copies ---- */

static int copy_inputs(Runner *r)
{
	const Plan *plan = r->gpu->plan;
	int code = TSR_OK;
	for (uint32_t i = 0; i < r->routine->ninputs && code == TSR_OK; i++) {
		size_t bytes = (size_t)r->run->sizes[i];
		uint32_t b = r->routine->inputs + i;
		if (bytes)
			code = device_check(r->gpu,
					    r->gpu->driver.cuMemcpyHtoDAsync_v2(
						    r->run->first[b], r->with->inputs[i], bytes,
						    r->gpu->stream),
					    plan->buffers[b].name);
	}
	return code;
}

static int copy_outputs(Runner *r)
{
	const Plan *plan = r->gpu->plan;
	int code = TSR_OK;
	for (uint32_t i = 0; i < r->routine->noutputs && code == TSR_OK; i++) {
		size_t bytes = (size_t)r->run->sizes[r->routine->ninputs + i];
		uint32_t b = r->routine->outputs + i;
		if (bytes)
			code = device_check(r->gpu,
					    r->gpu->driver.cuMemcpyDtoHAsync_v2(
						    r->with->outputs[i], r->run->first[b], bytes,
						    r->gpu->stream),
					    plan->buffers[b].name);
	}
	return code == TSR_OK ? launch_wait(r) : code;
}

/* What a check of the kernels' says: TSR_OK, or its code with its text. */
static int checked(Runner *r)
{
	const tsr_module *m = &r->gpu->plan->module;
	int code = r->status ? INT32_MAX - r->status : TSR_OK, check = code - TSR_CHECK_FIRST;
	if (code == TSR_OK)
		return code;
	if (check < 0 || check >= m->nchecks)
		return device_fail(r->gpu, TSR_BAD_DEVICE,
				   "the kernels note the code %d, which no check has", code);
	return device_fail(r->gpu, code, "%s", m->checks[check].text);
}

static void note_assigned(const Runner *r)
{
	for (uint32_t i = 0; r->with->state && i < r->routine->nassigns; i++)
		r->with->state->assigned[r->routine->assigns[i]] = true;
}

static int execute(Runner *r)
{
	Gpu *gpu = r->gpu;
	memcpy(r->run->places, r->run->first, gpu->plan->nbuffers * sizeof *r->run->places);
	int code = device_check(
		gpu, gpu->driver.cuMemsetD8Async(gpu->status, 0, sizeof r->status, gpu->stream),
		"tsr_status");
	if (code == TSR_OK)
		code = copy_inputs(r);
	if (code == TSR_OK)
		code = graph_wanted(r) ? graph_run(r)
				       : launch_lines(r, r->routine->from, r->routine->to);
	r->run->called = true;
	if (code == TSR_OK && gpu->plan->checks)
		code = launch_read(r, gpu->status, &r->status);
	if (code == TSR_OK)
		code = checked(r);
	if (code == TSR_OK)
		note_assigned(r);
	return code == TSR_OK ? copy_outputs(r) : code;
}

int run_routine(Gpu *gpu, uint32_t routine, const int64_t *values, const RunArguments *with)
{
	int code = with->state ? state_upload(gpu, with->state) : TSR_OK;
	if (code == TSR_OK)
		code = find_run(gpu, routine, values);
	if (code != TSR_OK)
		return code;
	Runner r = {.gpu = gpu,
		    .run = gpu->runs,
		    .routine = &gpu->plan->routines[routine],
		    .with = with};
	return execute(&r);
}
