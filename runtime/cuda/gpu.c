/* The model: its file, its table, and the entry points with their checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/size.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/first.h"

enum { STATE_ALIGNMENT = 64, CODE_BYTES_MOST = 1 << 30 };

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

static int check_text(const char *path, const Gpu *gpu, tsr_error *error)
{
	const char *fault = table_fault(&gpu->plan->module);
	if (fault)
		return session_fail(error, TSR_FAIL_MODULE, "%s: the plan is damaged: %s", path,
				    fault);
	if (strstr(gpu->text, "\n.version "))
		return TSR_OK;
	if (strstr(gpu->text, "\n#ifdef __CUDACC__"))
		return session_fail(
			error, TSR_FAIL_MODULE,
			"%s: CUDA C; a GPU runs the .ptx that tsrc writes, a CPU what 'cc -shared -fPIC -x c' "
			"makes of this file",
			path);
	return session_fail(error, TSR_FAIL_MODULE, "%s: behind the plan is no PTX", path);
}

/* text NULL: the file's. */
static int fill(Gpu *gpu, const char *path, const char *text, tsr_error *error)
{
	gpu->path = strdup(path);
	if (!gpu->path)
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	gpu->own = text ? NULL : read_text(path, error);
	gpu->text = text ? text : gpu->own;
	if (gpu->text)
		gpu->plan = plan_read(path, gpu->text, error);
	if (!gpu->plan)
		return TSR_FAIL_MODULE;
	tsr_module *m = &gpu->plan->module;
	m->init = no_init;
	m->pack = no_pack;
	for (int32_t i = 0; i < m->nroutines; i++)
		((tsr_routine *)m->routines)[i].invoke = no_routine;
	return check_text(path, gpu, error);
}

static Gpu *gpu_new(const char *path, const char *text, tsr_error *error)
{
	Gpu *gpu = calloc(1, sizeof *gpu);
	if (!gpu) {
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&gpu->lock, NULL);
	if (fill(gpu, path, text, error) == TSR_OK)
		return gpu;
	gpu_close(gpu);
	return NULL;
}

Gpu *gpu_open(const char *path, tsr_error *error) { return gpu_new(path, NULL, error); }

Gpu *gpu_of_text(const char *path, const char *text, tsr_error *error)
{
	return gpu_new(path, text, error);
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
	plan_free(gpu->plan);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu->path);
	free(gpu->own);
	free(gpu);
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

/* ---- what a routine refuses ---- */

typedef struct Entry {
	Gpu *gpu;
	const tsr_routine *table;
	const PlanRoutine *routine;
	const tsr_arguments *with;
	int64_t *values; /* of the module's dims; -1: it does not take them */
	bool no_graph;
} Entry;

static int check_dims(const Entry *e)
{
	for (uint32_t i = 0; i < e->routine->ndims; i++) {
		const tsr_dim *dim = &e->gpu->plan->module.dims[e->routine->dims[i]];
		int64_t value = e->values[e->routine->dims[i]];
		if (value < dim->at_least || value < 0 || value > DIM_MOST)
			return device_fail(e->gpu, TSR_BAD_DIM,
					   "dim %s must be at least %lld and at most %lld",
					   dim->name, (long long)dim->at_least,
					   (long long)DIM_MOST);
	}
	return TSR_OK;
}

static int check_guards(const Entry *e)
{
	const Plan *plan = e->gpu->plan;
	for (uint32_t i = 0; i < e->routine->nguards; i++) {
		const PlanGuard *guard = &e->routine->guards[i];
		int64_t a, b;
		bool known = tsr_size_value(&guard->a, &plan->world, e->values, &a) == TSR_OK &&
			     tsr_size_value(&guard->b, &plan->world, e->values, &b) == TSR_OK;
		bool holds = known && (guard->kind == PLAN_EQ	? a == b
				       : guard->kind == PLAN_GE ? a >= b
								: b != 0 && a % b == 0);
		if (!holds)
			return device_fail(e->gpu, guard->code, "%s",
					   plan->module.checks[guard->code - TSR_CHECK_FIRST].text);
	}
	return TSR_OK;
}

/* Sizes that fit, and that arrays of these extents have; NULL only where there are no bytes. */
static int check_tensor(const Entry *e, const tsr_tensor *tensor, uint32_t number, const void *data)
{
	const PlanBuffer *buffer = &e->gpu->plan->buffers[number];
	const tsr_module *world = &e->gpu->plan->world;
	int64_t bytes, extents[TSR_RANK_MAX];
	uint64_t whole;
	int rank = tensor_rank(tensor);
	bool good = rank <= TSR_RANK_MAX;
	for (int i = 0; i < rank && good; i++)
		good = tsr_size_value(&tensor->sizes[i], world, e->values, &extents[i]) == TSR_OK;
	if (!good || !buffer_bytes(e->gpu->plan, buffer, e->values, &bytes) ||
	    !extents_bytes(tensor->dtype, extents, rank, &whole))
		return device_fail(e->gpu, TSR_BAD_DIM,
				   "the size of %s is out of range for these dims", tensor->name);
	if (whole != (uint64_t)bytes)
		return device_fail(e->gpu, TSR_BAD_DEVICE,
				   "%s: the plan is damaged: the elements of %s", e->gpu->path,
				   tensor->name);
	if (bytes > 0 && !data)
		return device_fail(e->gpu, TSR_BAD_POINTER, "%s is NULL", tensor->name);
	return TSR_OK;
}

static int check_tensors(const Entry *e)
{
	const PlanRoutine *r = e->routine;
	int code = TSR_OK;
	for (uint32_t i = 0; i < r->ninputs && code == TSR_OK; i++)
		code = check_tensor(e, &e->table->inputs[i], r->inputs + i, e->with->inputs[i]);
	for (uint32_t i = 0; i < r->noutputs && code == TSR_OK; i++)
		code = check_tensor(e, &e->table->outputs[i], r->outputs + i, e->with->outputs[i]);
	for (uint32_t i = 0; i < r->ninputs + r->noutputs && code == TSR_OK; i++) {
		bool in = i < r->ninputs;
		const tsr_tensor *t =
			in ? &e->table->inputs[i] : &e->table->outputs[i - r->ninputs];
		const void *data = in ? e->with->inputs[i] : e->with->outputs[i - r->ninputs];
		size_t alignment = dtype_alignment(dtype_from_name(t->dtype, strlen(t->dtype)));
		if ((uintptr_t)data % alignment)
			code = device_fail(e->gpu, TSR_BAD_POINTER,
					   "%s is not aligned to %zu bytes", t->name, alignment);
	}
	return code;
}

/* The copy on the device; *found NULL: it touches no parameter. */
static int check_state(const Entry *e, DeviceState **found)
{
	*found = NULL;
	if (!e->routine->state)
		return TSR_OK;
	if (!e->with->state)
		return device_fail(e->gpu, TSR_BAD_POINTER, "state is NULL");
	if ((uintptr_t)e->with->state % STATE_ALIGNMENT)
		return device_fail(e->gpu, TSR_BAD_POINTER, "state is not aligned to %d bytes",
				   STATE_ALIGNMENT);
	*found = state_find(e->gpu, e->with->state);
	return *found ? TSR_OK
		      : device_fail(
				e->gpu, TSR_NOT_PACKED,
				"the state is not packed: call tsr_pack after writing parameters");
}

static int check_all(const Entry *e)
{
	int code = check_dims(e);
	if (code == TSR_OK)
		code = check_guards(e);
	return code == TSR_OK ? check_tensors(e) : code;
}

/* ---- calls ---- */

static int64_t *new_values(const Plan *plan)
{
	size_t n = (size_t)plan->world.ndims + 1;
	int64_t *values = malloc(n * sizeof *values);
	for (size_t i = 0; values && i < n; i++)
		values[i] = -1;
	return values;
}

/* The lock is held from here on: device_enter has taken it, whatever it says. */
static int invoke_entered(const Entry *e, int code)
{
	RunArguments with = {.scalars = e->with->scalars,
			     .inputs = e->with->inputs,
			     .outputs = e->with->outputs,
			     .no_graph = e->no_graph};
	if (code == TSR_OK)
		code = check_state(e, &with.state);
	if (code == TSR_OK)
		code = run_routine(e->gpu, (uint32_t)(e->routine - e->gpu->plan->routines),
				   e->values, &with);
	return code;
}

int gpu_invoke(Gpu *gpu, int32_t number, const tsr_call *call, const tsr_arguments *with)
{
	const tsr_routine *routine = &gpu->plan->module.routines[number];
	if (call && (call->abi != TSR_ABI || call->flags & ~(uint32_t)TSR_NO_GRAPH))
		return TSR_BAD_CALL;
	Entry e = {gpu,
		   routine,
		   &gpu->plan->routines[number],
		   with,
		   new_values(gpu->plan),
		   call && call->flags};
	int code = e.values ? TSR_OK : TSR_BAD_DEVICE;
	for (int32_t i = 0; code == TSR_OK && i < routine->ndims; i++)
		e.values[routine->dims[i]] = with->dims[i];
	pthread_mutex_lock(&gpu->lock);
	if (code == TSR_OK)
		code = check_all(&e);
	pthread_mutex_unlock(&gpu->lock);
	if (code == TSR_OK) {
		code = invoke_entered(&e, device_enter(gpu));
		device_leave(gpu);
	}
	if (code != TSR_OK && call && call->message)
		*call->message = gpu->message;
	free(e.values);
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
	return code == TSR_OK ? state_read_back(gpu, with.state) : code;
}

int gpu_init(Gpu *gpu, const int64_t *values, void *host, uint64_t seed, const char **message)
{
	*message = gpu->message;
	pthread_mutex_lock(&gpu->lock);
	int code = fill_state(gpu, values, host, seed);
	pthread_mutex_unlock(&gpu->lock);
	if (code != TSR_OK || !gpu->plan->starts)
		return code;
	code = device_enter(gpu);
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
	pthread_mutex_lock(&gpu->lock);
	bool any = is_assigned(gpu, state_find(gpu, host));
	pthread_mutex_unlock(&gpu->lock);
	if (!any)
		return TSR_OK;
	int code = device_enter(gpu);
	if (code == TSR_OK)
		code = state_read_back(gpu, state_find(gpu, host));
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
	if (state)
		*at = state->next;
	pthread_mutex_unlock(&gpu->lock);
	if (!state)
		return;
	if (state->at) {
		device_enter(gpu);
		state_drop(gpu, state);
		device_leave(gpu);
	}
	state_free(state);
}
