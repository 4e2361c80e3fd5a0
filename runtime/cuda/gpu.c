/* The model: its file, its table, and the entry points with their checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/size.h"
#include "runtime/cuda/call.h"
#include "runtime/cuda/first.h"

enum { CODE_BYTES_MOST = 1 << 30 };

/* ---- the file ---- */

static int no_routine(const tsr_call *call, const int64_t *dims, const void *const *scalars,
		      const void *const *inputs, void *const *outputs, void *state, void *workspace)
{
	(void)dims, (void)scalars, (void)inputs, (void)outputs, (void)state, (void)workspace;
	if (call && call->message)
		*call->message =
			"the table of code for a GPU has no functions: call tsr_run_routine";
	return TSR_NO_DEVICE;
}

static int no_init(const int64_t *dims, void *state, uint64_t seed)
{
	(void)dims, (void)state, (void)seed;
	return TSR_NO_DEVICE;
}

static int no_pack(const tsr_call *call, const int64_t *dims, void *state)
{
	return no_routine(call, dims, NULL, NULL, NULL, state, NULL);
}

/* Ends with a NUL. */
static char *read_text(const char *path, tsr_error *error)
{
	struct stat st;
	const char *why;
	char *text = NULL;
	FILE *in = file_open(path, &why);
	if (!in) {
		session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why);
		return NULL;
	}
	bool small = fstat(fileno(in), &st) == 0 && st.st_size < CODE_BYTES_MOST;
	size_t n = small ? (size_t)st.st_size : 0;
	if (small)
		text = malloc(n + 1);
	if (!text) {
		session_fail(error, TSR_FAIL_MEMORY, "%s: it is too large", path);
	} else if (fread(text, 1, n, in) != n) {
		session_fail(error, TSR_FAIL_FILE, "%s: it cannot be read", path);
		free(text);
		text = NULL;
	} else {
		text[n] = '\0';
	}
	fclose(in);
	return text;
}

static int check_text(const char *path, const GpuCode *code, tsr_error *error)
{
	const char *fault = table_fault(&code->plan->module);
	if (fault)
		return session_fail(error, TSR_FAIL_MODULE, "%s: the plan is damaged: %s", path,
				    fault);
	if (strstr(code->text, "\n.version "))
		return TSR_OK;
	if (strstr(code->text, "\n#ifdef __CUDACC__"))
		return session_fail(
			error, TSR_FAIL_MODULE,
			"%s: CUDA C; a GPU runs the .ptx that tsrc writes, a CPU what 'cc -shared -fPIC -x c' "
			"makes of this file",
			path);
	return session_fail(error, TSR_FAIL_MODULE, "%s: behind the plan is no PTX", path);
}

static void refuse_calls(tsr_module *m)
{
	m->init = no_init;
	m->pack = no_pack;
	for (int32_t i = 0; i < m->nroutines; i++)
		((tsr_routine *)m->routines)[i].invoke = no_routine;
}

static int add_code(Gpu *gpu, const char *path, const char *text, tsr_error *error)
{
	GpuCode *code = &gpu->codes[gpu->ncodes];
	code->text = text;
	code->plan = plan_read(path, text, error);
	if (!code->plan)
		return TSR_FAIL_MODULE;
	gpu->ncodes++;
	gpu->plan = gpu->codes[0].plan;
	refuse_calls(&code->plan->module);
	if (gpu->plan->starts != code->plan->starts ||
	    !tables_agree(&gpu->plan->module, &code->plan->module))
		return session_fail(error, TSR_FAIL_MODULE,
				    "%s: the plan for %s is of another program", path,
				    code->plan->target);
	return check_text(path, code, error);
}

/* text NULL: the file's; `more` texts for other GPUs, then NULL. */
static int fill(Gpu *gpu, const char *path, const char *text, const char *const *more,
		tsr_error *error)
{
	size_t n = 1;
	while (more && more[n - 1])
		n++;
	gpu->path = strdup(path);
	gpu->codes = calloc(n, sizeof *gpu->codes);
	if (!gpu->path || !gpu->codes)
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	gpu->own = text ? NULL : read_text(path, error);
	if (!text && !gpu->own)
		return TSR_FAIL_FILE;
	int code = add_code(gpu, path, text ? text : gpu->own, error);
	for (size_t i = 0; i + 1 < n && code == TSR_OK; i++)
		code = add_code(gpu, path, more[i], error);
	return code;
}

static Gpu *gpu_new(const char *path, const char *text, const char *const *more, tsr_error *error)
{
	Gpu *gpu = calloc(1, sizeof *gpu);
	if (!gpu) {
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&gpu->lock, NULL);
	if (fill(gpu, path, text, more, error) == TSR_OK)
		return gpu;
	gpu_close(gpu);
	return NULL;
}

Gpu *gpu_open(const char *path, tsr_error *error) { return gpu_new(path, NULL, NULL, error); }

bool gpu_has_more(const tsr_gpu_code *code) { return code->bytes >= sizeof *code; }

Gpu *gpu_of_code(const char *path, const tsr_gpu_code *code, tsr_error *error)
{
	return gpu_new(path, code->text, gpu_has_more(code) ? code->more : NULL, error);
}

void gpu_close(Gpu *gpu)
{
	if (!gpu)
		return;
	device_close(gpu);
	for (DeviceState *state = gpu->states, *next; state; state = next) {
		next = state->next;
		state_free(state);
	}
	for (uint32_t i = 0; i < gpu->ncodes; i++)
		plan_free(gpu->codes[i].plan);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu->codes);
	free(gpu->path);
	free(gpu->own);
	free(gpu);
}

const char *gpu_target(const Gpu *gpu, uint32_t index)
{
	return index < gpu->ncodes ? gpu->codes[index].plan->target : NULL;
}

const tsr_module *gpu_table(const Gpu *gpu) { return &gpu->plan->module; }

const tsr_size *gpu_workspace(const Gpu *gpu, int32_t routine)
{
	return &gpu->plan->routines[routine].workspace;
}

bool gpu_state_size(const Gpu *gpu, const int64_t *values, int64_t *bytes)
{
	return tsr_size_value(&gpu->plan->module.state, &gpu->plan->world, values, bytes) ==
		       TSR_OK &&
	       *bytes >= 0;
}

/* ---- calls ---- */

/* Of the module's dims and the steps, the routine's known. NULL: no memory. */
static int64_t *new_values(const Plan *plan, const tsr_routine *routine, const int64_t *dims)
{
	size_t n = (size_t)plan->world.ndims + 1;
	int64_t *values = malloc(n * sizeof *values);
	for (size_t i = 0; values && i < n; i++)
		values[i] = -1;
	for (int32_t i = 0; values && i < routine->ndims; i++)
		values[routine->dims[i]] = dims[i];
	return values;
}

bool gpu_workspace_bytes(const Gpu *gpu, int32_t number, const int64_t *dims, int64_t *bytes)
{
	int64_t one, most = 0;
	bool good = true;
	for (uint32_t i = 0; i < gpu->ncodes && good; i++) {
		const Plan *plan = gpu->codes[i].plan;
		int64_t *values = new_values(plan, &plan->module.routines[number], dims);
		good = values &&
		       tsr_size_value(&plan->routines[number].workspace, &plan->world, values,
				      &one) == TSR_OK &&
		       one >= 0;
		most = good && one > most ? one : most;
		free(values);
	}
	if (good)
		*bytes = most;
	return good;
}

/* The lock is held from here on: device_enter has taken it, whatever it says. */
static int invoke_entered(const Call *c, int code)
{
	const tsr_arguments *a = c->with;
	RunArguments with = {.scalars = a->scalars,
			     .inputs = a->inputs,
			     .outputs = a->outputs,
			     .no_graph = c->no_graph,
			     .lent = c->lent};
	if (c->lent) {
		with.stream = a->stream;
		with.workspace = (CUdeviceptr)(uintptr_t)a->workspace;
	}
	if (code == TSR_OK)
		code = call_state(c, &with.state);
	if (code == TSR_OK)
		code = run_routine(c->gpu, (uint32_t)(c->routine - c->gpu->plan->routines),
				   c->values, &with);
	return code;
}

static int invoke(Call *c, const tsr_call *call)
{
	Gpu *gpu = c->gpu;
	if (call && (call->abi != TSR_ABI || call->flags & ~(uint32_t)TSR_NO_GRAPH))
		return TSR_BAD_CALL;
	c->no_graph = call && call->flags;
	c->values = new_values(gpu->plan, c->table, c->with->dims);
	if (c->values)
		scalar_places(c->routine, c->with->scalars, c->values);
	int code = c->values ? TSR_OK : TSR_BAD_DEVICE;
	pthread_mutex_lock(&gpu->lock);
	if (code == TSR_OK)
		code = call_check(c);
	pthread_mutex_unlock(&gpu->lock);
	if (code == TSR_OK) {
		code = invoke_entered(c, device_enter(gpu, c->lent));
		device_leave(gpu);
	}
	if (code != TSR_OK && call && call->message)
		*call->message = gpu->message;
	free(c->values);
	return code;
}

static Call call_of(Gpu *gpu, int32_t number, const tsr_arguments *with)
{
	return (Call){.gpu = gpu,
		      .table = &gpu->plan->module.routines[number],
		      .routine = &gpu->plan->routines[number],
		      .with = with};
}

int gpu_invoke(Gpu *gpu, int32_t number, const tsr_call *call, const tsr_arguments *with)
{
	Call c = call_of(gpu, number, with);
	return invoke(&c, call);
}

int gpu_invoke_lent(Gpu *gpu, int32_t number, const tsr_call *call, const tsr_arguments *with)
{
	Call c = call_of(gpu, number, with);
	c.lent = true;
	return invoke(&c, call);
}

static int wait_entered(Gpu *gpu, void *stream)
{
	DeviceContext *in = gpu->in;
	int code = device_check(gpu, gpu->driver.cuStreamSynchronize(stream),
				"a kernel of the stream");
	if (code != TSR_OK)
		return code;
	note_seen(in);
	int32_t failed = in->failed;
	in->failed = 0;
	return note_code(gpu, failed);
}

int gpu_wait(Gpu *gpu, const tsr_call *call, void *stream)
{
	if (call && call->abi != TSR_ABI)
		return TSR_BAD_CALL;
	int code = device_enter(gpu, true);
	if (code == TSR_OK)
		code = wait_entered(gpu, stream);
	device_leave(gpu);
	if (code != TSR_OK && call && call->message)
		*call->message = gpu->message;
	return code;
}

static int fill_param(Gpu *gpu, const DeviceState *state, const int64_t *values, int32_t index,
		      uint64_t seed)
{
	const PlanParam *param = &gpu->plan->params[index];
	const PlanBuffer *buffer = &gpu->plan->buffers[param->buffer];
	int64_t fan = 1;
	if (param->first == PLAN_UNIFORM &&
	    tsr_size_value(&param->fan, &gpu->plan->world, values, &fan) != TSR_OK)
		return device_fail(gpu, TSR_BAD_DIM,
				   "the first values of %s are out of range for these dims",
				   buffer->name);
	char *to = (char *)state->host + state->places[index];
	if (dtype_is_packed(buffer->dtype))
		memset(to, 0, (size_t)state->sizes[index]); /* half a byte may be no element */
	int64_t elements;
	if (tsr_size_value(&buffer->elements, &gpu->plan->world, values, &elements) == TSR_OK &&
	    param->first != PLAN_COMPUTED)
		first_fill(param, buffer->dtype, fan, seed, to, elements);
	return TSR_OK;
}

static int fill_state(Gpu *gpu, const int64_t *values, void *host, uint64_t seed)
{
	int code = state_note(gpu, values, host, true);
	const DeviceState *state = state_find(gpu, host);
	for (int32_t i = 0; i < gpu->plan->module.nparams && code == TSR_OK; i++)
		code = fill_param(gpu, state, values, i, seed);
	return code;
}

/* Parameters that start with an expression: the device computes them, and the host gets them too. */
static int compute_params(Gpu *gpu, const int64_t *values, void *host, uint64_t seed)
{
	const void *scalars[] = {&seed};
	RunArguments with = {.scalars = scalars, .state = state_find(gpu, host)};
	int code = run_routine(gpu, (uint32_t)gpu->plan->module.nroutines, values, &with);
	if (code == TSR_OK)
		code = state_read_back(gpu, with.state);
	with.state->stale = true; /* nothing is packed of it */
	return code;
}

int gpu_init(Gpu *gpu, const int64_t *values, void *host, uint64_t seed, const char **message)
{
	*message = gpu->message;
	pthread_mutex_lock(&gpu->lock);
	int code = fill_state(gpu, values, host, seed);
	pthread_mutex_unlock(&gpu->lock);
	if (code != TSR_OK || !gpu->plan->starts)
		return code;
	code = device_enter(gpu, false);
	if (code == TSR_OK)
		code = compute_params(gpu, values, host, seed);
	device_leave(gpu);
	return code;
}

int gpu_pack(Gpu *gpu, const int64_t *values, void *host, const char **message)
{
	*message = gpu->message;
	pthread_mutex_lock(&gpu->lock);
	int code = state_note(gpu, values, host, false);
	pthread_mutex_unlock(&gpu->lock);
	return code;
}

static bool is_assigned(const Gpu *gpu, const DeviceState *state)
{
	bool any = false;
	for (int32_t i = 0; state && i < gpu->plan->module.nparams; i++)
		any |= state->assigned[i];
	return any;
}

int gpu_read_back(Gpu *gpu, const void *host, const char **message)
{
	*message = gpu->message;
	int code = TSR_OK;
	pthread_mutex_lock(&gpu->lock);
	DeviceState *state = state_find(gpu, host);
	if (is_assigned(gpu, state)) {
		gpu->driver.cuCtxGetCurrent(&gpu->before);
		code = device_switch(gpu, state->in);
		if (code == TSR_OK)
			code = state_read_back(gpu, state);
	}
	device_leave(gpu);
	return code;
}

void gpu_forget(Gpu *gpu, const void *host)
{
	pthread_mutex_lock(&gpu->lock);
	DeviceState **at = &gpu->states;
	while (*at && (*at)->host != host)
		at = &(*at)->next;
	DeviceState *state = *at;
	if (state) {
		*at = state->next;
		state_drop(gpu, state);
	}
	pthread_mutex_unlock(&gpu->lock);
	if (state)
		state_free(state);
}
