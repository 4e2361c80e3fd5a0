/* A call on the device: its arena, copies before and behind its launches. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/launch.h"

/* Arrays of more bytes than STAGED_MOST in all are copied from and to where they are: what goes through pinned memory is
 * copied twice. */
enum { RUNS_KEPT = 16, STAGED_MOST = 1 << 20 };

/* ---- memory ---- */

void run_free(Gpu *gpu, const DeviceContext *in, DeviceRun *run)
{
	graph_free(gpu, in, run->graph);
	if (in->handle && run->arena)
		gpu->driver.cuMemFree_v2(run->arena);
	if (in->handle && run->staged)
		gpu->driver.cuMemFreeHost(run->staged);
	free(run->values);
	free(run->offsets);
	free(run->places);
	free(run->sizes);
	free(run->arrays);
	free(run);
}

static DeviceRun *run_new(const Plan *plan, uint32_t routine, const int64_t *values)
{
	const PlanRoutine *r = &plan->routines[routine];
	size_t nvalues = (size_t)plan->world.ndims + 1, nbuffers = (size_t)plan->nbuffers + 1,
	       narrays = (size_t)r->ninputs + r->noutputs + 1;
	DeviceRun *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run->routine = routine;
	run->values = calloc(nvalues, sizeof *run->values);
	run->offsets = calloc(nbuffers, sizeof *run->offsets);
	run->places = calloc(nbuffers, sizeof *run->places);
	run->sizes = calloc(narrays, sizeof *run->sizes);
	run->arrays = calloc(narrays, sizeof *run->arrays);
	for (int32_t d = 0; run->values && d < plan->world.ndims; d++)
		run->values[d] = d < plan->module.ndims ? values[d] : -1;
	return run;
}

/* Sizes of inputs and results and, unless they are the caller's, their places in the arena. */
static int lay_out_arrays(Gpu *gpu, DeviceRun *run)
{
	const Plan *plan = gpu->in->code->plan;
	const PlanRoutine *r = &plan->routines[run->routine];
	for (uint32_t i = 0; i < r->ninputs + r->noutputs; i++) {
		uint32_t b = array_buffer(r, i);
		if (!buffer_bytes(plan, &plan->buffers[b], run->values, &run->sizes[i]) ||
		    run->sizes[i] > INT64_MAX / 4)
			return device_fail(gpu, TSR_BAD_DIM,
					   "the size of %s is out of range for these dims",
					   plan->buffers[b].name);
		run->offsets[b] = run->bytes;
		if (!run->lent &&
		    __builtin_add_overflow(run->bytes, device_aligned((uint64_t)run->sizes[i]),
					   &run->bytes))
			return device_fail(gpu, TSR_BAD_DIM,
					   "all inputs and results are too large");
		run->arrays_end = run->bytes;
		if (i < r->ninputs)
			run->inputs_end = run->bytes;
	}
	return TSR_OK;
}

/* Temporaries behind them. */
static int lay_out_workspace(Gpu *gpu, DeviceRun *run)
{
	const Plan *plan = gpu->in->code->plan;
	int64_t workspace, bytes, offset;
	if (tsr_size_value(&plan->routines[run->routine].workspace, &plan->world, run->values,
			   &workspace) != TSR_OK ||
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
		run->offsets[b] = run->bytes + (uint64_t)offset;
	}
	if (__builtin_add_overflow(run->bytes, (uint64_t)workspace, &run->bytes) ||
	    run->bytes > SIZE_MAX / 2)
		return device_fail(gpu, TSR_BAD_DIM, "the workspace is too large");
	return TSR_OK;
}

static int lay_out(Gpu *gpu, DeviceRun *run)
{
	if (!run->values || !run->offsets || !run->places || !run->sizes || !run->arrays)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	int code = lay_out_arrays(gpu, run);
	return code == TSR_OK ? lay_out_workspace(gpu, run) : code;
}

/* Memory for the arena of the first run, for which the others may have to go. */
int run_allocate(Runner *r)
{
	Gpu *gpu = r->gpu;
	char what[200];
	DeviceRun **runs = &gpu->in->runs, *run = *runs;
	const Plan *plan = gpu->in->code->plan;
	const PlanRoutine *routine = &plan->routines[run->routine];
	r->workspace = run->arena;
	if (run->arena)
		return TSR_OK;
	snprintf(what, sizeof what, "%s%.100s", routine->name ? "routine " : "",
		 routine->name ? routine->name : plan_own_words(plan, routine));
	*runs = run->next;
	int code = device_allocate(gpu, run->bytes + DEVICE_ALIGNMENT, what, &run->arena);
	bool staged = code == TSR_OK && !run->lent && run->arrays_end <= STAGED_MOST;
	if (staged &&
	    gpu->driver.cuMemHostAlloc((void **)&run->staged, run->arrays_end + sizeof(int32_t), 0))
		run->staged = NULL;
	run->next = *runs;
	*runs = run;
	r->workspace = run->arena;
	return code;
}

static bool is_run(const Gpu *gpu, const DeviceRun *run, uint32_t routine, const int64_t *values)
{
	size_t n = (size_t)gpu->in->code->plan->module.ndims;
	return run->routine == routine && memcmp(run->values, values, n * sizeof *values) == 0;
}

const DeviceRun *run_known(const Gpu *gpu, uint32_t routine, const int64_t *values)
{
	const DeviceRun *run = gpu->in->runs;
	while (run && !(run->lent && is_run(gpu, run, routine, values)))
		run = run->next;
	return run;
}

/* Those behind `at` go, which were used the longest ago. */
static int drop_runs(Gpu *gpu, DeviceRun **at)
{
	int code = *at ? device_settle(gpu) : TSR_OK;
	while (*at) {
		DeviceRun *last = *at;
		*at = last->next;
		run_free(gpu, gpu->in, last);
	}
	return code;
}

static int make_run(Gpu *gpu, uint32_t routine, const int64_t *values, bool lent, DeviceRun **made)
{
	DeviceRun *run = run_new(gpu->in->code->plan, routine, values);
	if (!run)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	run->lent = lent;
	int code = lay_out(gpu, run);
	if (code != TSR_OK)
		run_free(gpu, gpu->in, run);
	*made = run;
	return code;
}

/* The run for these dims goes to the front, and a new one is made where there is none. */
static int find_run(Gpu *gpu, uint32_t routine, const int64_t *values, bool lent)
{
	int kept = 0, code = TSR_OK;
	DeviceRun **at = &gpu->in->runs;
	while (code == TSR_OK && *at &&
	       !((*at)->lent == lent && is_run(gpu, *at, routine, values))) {
		at = &(*at)->next;
		if (++kept == RUNS_KEPT)
			code = drop_runs(gpu, at);
	}
	DeviceRun *run = *at;
	if (run)
		*at = run->next;
	else if (code == TSR_OK)
		code = make_run(gpu, routine, values, lent, &run);
	if (code != TSR_OK)
		return code;
	run->next = gpu->in->runs;
	gpu->in->runs = run;
	return code;
}

/* Where the plan's buffers are: `arrays` of inputs and results, or else in the arena. */
void run_place(const Runner *r, const CUdeviceptr *arrays)
{
	const Plan *plan = r->gpu->in->code->plan;
	DeviceRun *run = r->run;
	for (uint32_t b = 0; b < plan->nbuffers; b++) {
		const PlanBuffer *buffer = &plan->buffers[b];
		bool own = buffer->routine == run->routine;
		if (buffer->role == PLAN_CONST)
			run->places[b] = r->gpu->in->consts[b];
		else if (buffer->role != PLAN_PARAM && buffer->role != PLAN_PACKED && own)
			run->places[b] = r->workspace + run->offsets[b];
	}
	for (uint32_t i = 0; arrays && i < r->routine->ninputs + r->routine->noutputs; i++)
		run->places[array_buffer(r->routine, i)] = arrays[i];
}

/* ---- copies ---- */

static int copy_input(const Runner *r, uint32_t i)
{
	size_t bytes = (size_t)r->run->sizes[i];
	uint32_t b = array_buffer(r->routine, i);
	if (!bytes)
		return TSR_OK;
	return device_check(r->gpu,
			    r->gpu->driver.cuMemcpyHtoDAsync_v2(
				    r->run->places[b], r->with->inputs[i], bytes, r->stream),
			    r->gpu->in->code->plan->buffers[b].name);
}

/* Through pinned memory all of them are one copy, which nothing waits for. */
static int copy_staged(const Runner *r)
{
	DeviceRun *run = r->run;
	for (uint32_t i = 0; i < r->routine->ninputs; i++)
		if (run->sizes[i])
			memcpy(run->staged + run->offsets[array_buffer(r->routine, i)],
			       r->with->inputs[i], (size_t)run->sizes[i]);
	if (!run->inputs_end)
		return TSR_OK;
	return device_check(r->gpu,
			    r->gpu->driver.cuMemcpyHtoDAsync_v2(run->arena, run->staged,
								(size_t)run->inputs_end, r->stream),
			    "the inputs");
}

static int copy_inputs(const Runner *r)
{
	int code = TSR_OK;
	if (r->run->staged)
		return copy_staged(r);
	for (uint32_t i = 0; i < r->routine->ninputs && code == TSR_OK; i++)
		code = copy_input(r, i);
	return code;
}

/* A result, to where it is wanted or to its place in pinned memory. */
static void *place_of_result(const Runner *r, uint32_t i)
{
	return r->run->staged ? r->run->staged + r->run->offsets[r->routine->outputs + i]
			      : r->with->outputs[i];
}

static int copy_outputs(const Runner *r)
{
	int code = TSR_OK;
	for (uint32_t i = 0; i < r->routine->noutputs && code == TSR_OK; i++) {
		size_t bytes = (size_t)r->run->sizes[r->routine->ninputs + i];
		uint32_t b = r->routine->outputs + i;
		if (bytes)
			code = device_check(
				r->gpu,
				r->gpu->driver.cuMemcpyDtoHAsync_v2(
					place_of_result(r, i), r->run->places[b], bytes, r->stream),
				r->gpu->in->code->plan->buffers[b].name);
	}
	return code;
}

/* What the checks say, and the results, behind one wait. */
static int take_staged(Runner *r)
{
	DeviceRun *run = r->run;
	bool checks = r->gpu->in->code->plan->checks;
	char *word = run->staged + run->arrays_end;
	int code = TSR_OK;
	if (checks)
		code = device_check(r->gpu,
				    r->gpu->driver.cuMemcpyDtoHAsync_v2(
					    word, r->gpu->in->status, sizeof r->status, r->stream),
				    "tsr_status");
	if (code == TSR_OK)
		code = copy_outputs(r);
	if (code == TSR_OK)
		code = launch_wait(r);
	if (code == TSR_OK && checks)
		memcpy(&r->status, word, sizeof r->status);
	if (code == TSR_OK)
		code = note_code(r->gpu, r->status);
	for (uint32_t i = 0; i < r->routine->noutputs && code == TSR_OK; i++)
		if (run->sizes[r->routine->ninputs + i])
			memcpy(r->with->outputs[i], place_of_result(r, i),
			       (size_t)run->sizes[r->routine->ninputs + i]);
	return code;
}

/* Nothing is written where a check has failed. */
static int take_results(Runner *r)
{
	if (r->run->staged)
		return take_staged(r);
	int code = TSR_OK;
	if (r->gpu->in->code->plan->checks)
		code = launch_read(r, r->gpu->in->status, &r->status);
	if (code == TSR_OK)
		code = note_code(r->gpu, r->status);
	if (code == TSR_OK)
		code = copy_outputs(r);
	return code == TSR_OK ? launch_wait(r) : code;
}

/* ---- calls ---- */

void run_assigned(const Runner *r)
{
	for (uint32_t i = 0; r->with->state && i < r->routine->nassigns; i++)
		r->with->state->assigned[r->routine->assigns[i]] = true;
}

int run_launches(Runner *r)
{
	bool graph = graph_wanted(r);
	int code = graph ? graph_run(r) : launch_reset(r);
	if (code == TSR_OK && !graph)
		code = launch_lines(r, r->routine->from, r->routine->to);
	r->run->called = true;
	return code;
}

/* With arrays of the host. */
static int execute(Runner *r)
{
	run_place(r, NULL);
	int code = device_order(r->gpu, r->stream);
	if (code == TSR_OK)
		code = copy_inputs(r);
	if (code == TSR_OK)
		code = run_launches(r);
	if (code == TSR_OK)
		code = take_results(r);
	if (code == TSR_OK)
		run_assigned(r);
	return code;
}

/* The stream of host arrays is the context's. */
static int run_host(Runner *r)
{
	int code = run_allocate(r);
	if (code != TSR_OK)
		return code;
	code = execute(r);
	if (code == TSR_OK)
		r->gpu->in->busy = false;
	else /* copies may still come */
		r->gpu->driver.cuStreamSynchronize(r->stream);
	return code;
}

int64_t scalar_value(const tsr_scalar *scalar, const void *cell)
{
	int32_t narrow;
	int64_t value;
	memcpy(&narrow, cell, sizeof narrow);
	value = strcmp(scalar->dtype, "u32") == 0 ? (int64_t)(uint32_t)narrow : narrow;
	if (strcmp(scalar->dtype, "i64") == 0)
		memcpy(&value, cell, sizeof value);
	return value;
}

int64_t scalar_bits(const tsr_scalar *scalar, const void *cell)
{
	int64_t bits = 0;
	memcpy(&bits, cell, dtype_bytes(dtype_from_name(scalar->dtype, strlen(scalar->dtype))));
	return bits;
}

void scalar_places(const PlanRoutine *routine, const void *const *scalars, int64_t *values)
{
	for (uint32_t i = 0; i < routine->nscalars; i++)
		if (routine->places[i] != PLAN_NONE)
			values[routine->places[i]] = scalar_value(&routine->scalars[i], scalars[i]);
}

/* Parameters that are new on the device, and behind them what is packed of them: not for the start, which sets some. */
static int renew_state(Gpu *gpu, uint32_t routine, const int64_t *values, DeviceState *state)
{
	const Plan *plan = gpu->in->code->plan;
	uint32_t n = (uint32_t)plan->module.nroutines;
	bool there = !state->stale && state->in == gpu->in;
	int code = there ? TSR_OK : state_upload(gpu, state);
	if (code != TSR_OK || there || !plan->packs || routine >= n)
		return code;
	code = run_routine(gpu, n + plan->starts, values,
			   &(RunArguments){.state = state, .no_graph = true});
	state->stale = code != TSR_OK;
	return code;
}

int run_routine(Gpu *gpu, uint32_t routine, const int64_t *values, const RunArguments *with)
{
	bool captured = false;
	int code = with->lent ? lent_captured(gpu, with->stream, &captured) : TSR_OK;
	if (code == TSR_OK && captured)
		code = lent_check_captured(gpu, routine, values, with);
	if (code == TSR_OK && with->state)
		code = renew_state(gpu, routine, values, with->state);
	if (code == TSR_OK)
		code = find_run(gpu, routine, values, with->lent);
	if (code != TSR_OK)
		return code;
	Runner r = {.gpu = gpu,
		    .run = gpu->in->runs,
		    .routine = &gpu->in->code->plan->routines[routine],
		    .with = with,
		    .stream = with->lent ? with->stream : gpu->in->stream,
		    .captured = captured,
		    .workspace = with->workspace};
	/* sizes of memory depend on no scalar: a run serves all */
	scalar_places(r.routine, with->scalars, r.run->values);
	return with->lent ? lent_run(&r) : run_host(&r);
}
