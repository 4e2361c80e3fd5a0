/* States: which copy is the newer one, and copies either way. */
#include <stdlib.h>

#include "runtime/cuda/device.h"

bool buffer_bytes(const Plan *plan, const PlanBuffer *buffer, const int64_t *values, int64_t *bytes)
{
	size_t room;
	if (tsr_size_value(&buffer->elements, &plan->world, values, bytes) != TSR_OK || *bytes < 0 ||
	    !dtype_room(buffer->dtype, (size_t)*bytes, &room) || room > INT64_MAX)
		return false;
	*bytes = (int64_t)room;
	return true;
}

DeviceState *state_find(const Gpu *gpu, const void *host)
{
	DeviceState *state = gpu->states;
	while (state && state->host != host)
		state = state->next;
	return state;
}

static DeviceState *state_new(Gpu *gpu, void *host)
{
	size_t n = (size_t)gpu->plan->module.nparams + 1;
	DeviceState *state = calloc(1, sizeof *state);
	if (!state)
		return NULL;
	state->host = host;
	state->places = calloc(n, sizeof *state->places);
	state->sizes = calloc(n, sizeof *state->sizes);
	state->assigned = calloc(n, sizeof *state->assigned);
	if (!state->places || !state->sizes || !state->assigned) {
		state_free(state);
		return NULL;
	}
	state->next = gpu->states;
	return gpu->states = state;
}

void state_free(DeviceState *state)
{
	free(state->places);
	free(state->sizes);
	free(state->assigned);
	free(state);
}

void state_drop(Gpu *gpu, DeviceState *state)
{
	const Driver *d = &gpu->driver;
	const DeviceContext *in = state->in;
	CUcontext before = NULL;
	if (state->at && in->handle) {
		d->cuCtxGetCurrent(&before);
		d->cuCtxSetCurrent(in->handle);
		if (in->busy)
			d->cuEventSynchronize(in->last);
		d->cuMemFree_v2(state->at);
		d->cuCtxSetCurrent(before);
	}
	state->at = 0;
	state->in = NULL;
	state->stale = true;
	for (int32_t i = 0; i < gpu->plan->module.nparams; i++)
		state->assigned[i] = false;
}

CUdeviceptr state_packed(const DeviceState *state)
{
	return state->at + device_aligned(state->bytes);
}

/* Where parameters lie; false: the dims do not tell, or they leave the state. */
static bool measure(const Plan *plan, const int64_t *values, DeviceState *state, int64_t *bytes)
{
	if (tsr_size_value(&plan->module.state, &plan->world, values, bytes) != TSR_OK ||
	    *bytes < 0)
		return false;
	for (int32_t i = 0; i < plan->module.nparams; i++) {
		const PlanBuffer *buffer = &plan->buffers[plan->params[i].buffer];
		int64_t *at = &state->places[i], *size = &state->sizes[i];
		if (!buffer_bytes(plan, buffer, values, size) ||
		    tsr_size_value(&buffer->offset, &plan->world, values, at) != TSR_OK ||
		    *at < 0 || *at > *bytes || *size > *bytes - *at)
			return false;
	}
	return true;
}

int state_note(Gpu *gpu, const int64_t *values, void *host, bool all)
{
	DeviceState *state = state_find(gpu, host);
	bool known = state != NULL;
	int64_t bytes;
	if (!state)
		state = state_new(gpu, host);
	if (!state)
		return device_fail(gpu, TSR_BAD_DEVICE, "out of memory");
	bool measured = measure(gpu->plan, values, state, &bytes);
	if (!measured && !known)
		return device_fail(gpu, TSR_BAD_DIM,
				   "the size of the state is out of range for these dims");
	bytes = measured ? bytes : (int64_t)state->bytes;
	if (state->at && state->bytes != (size_t)bytes)
		state_drop(gpu, state);
	state->bytes = (size_t)bytes;
	state->stale = true;
	for (int32_t i = 0; all && i < gpu->plan->module.nparams; i++)
		state->assigned[i] = false;
	return TSR_OK;
}

static int copy(Gpu *gpu, DeviceState *state, int32_t param, bool up)
{
	const Driver *d = &gpu->driver;
	CUdeviceptr device = state->at + (CUdeviceptr)state->places[param];
	char *host = (char *)state->host + state->places[param];
	size_t bytes = (size_t)state->sizes[param];
	if (bytes == 0)
		return TSR_OK;
	CUresult result = up ? d->cuMemcpyHtoDAsync_v2(device, host, bytes, gpu->in->stream)
			     : d->cuMemcpyDtoHAsync_v2(host, device, bytes, gpu->in->stream);
	return device_check(gpu, result, gpu->plan->module.params[param].name);
}

/* What was assigned to it where it is goes to the host first. */
static int leave_context(Gpu *gpu, DeviceState *state)
{
	DeviceContext *to = gpu->in;
	int code = device_switch(gpu, state->in);
	if (code == TSR_OK)
		code = state_read_back(gpu, state);
	if (code == TSR_OK)
		state_drop(gpu, state);
	int back = device_switch(gpu, to);
	return code == TSR_OK ? back : code;
}

/* Waits for the copies of a state. */
static int wait_copies(Gpu *gpu)
{
	return device_check(gpu, gpu->driver.cuStreamSynchronize(gpu->in->stream), "the state");
}

int state_upload(Gpu *gpu, DeviceState *state)
{
	int code = state->in && state->in != gpu->in ? leave_context(gpu, state) : TSR_OK;
	if (code != TSR_OK || !state->stale)
		return code;
	uint64_t packed = gpu->in->code->plan->packed;
	packed += packed ? DEVICE_ALIGNMENT : 0;
	if (!state->at && state->bytes + packed)
		code = device_allocate(gpu, state->bytes + packed, "the state", &state->at);
	state->in = gpu->in;
	if (code == TSR_OK)
		code = device_order(gpu, gpu->in->stream);
	for (int32_t i = 0; i < gpu->plan->module.nparams && code == TSR_OK; i++)
		if (!state->assigned[i])
			code = copy(gpu, state, i, true);
	if (code == TSR_OK)
		code = wait_copies(gpu);
	state->stale = code != TSR_OK;
	return code;
}

int state_read_back(Gpu *gpu, DeviceState *state)
{
	int code = device_order(gpu, gpu->in->stream);
	for (int32_t i = 0; i < gpu->plan->module.nparams && code == TSR_OK; i++)
		if (state->assigned[i])
			code = copy(gpu, state, i, false);
	if (code == TSR_OK)
		code = wait_copies(gpu);
	for (int32_t i = 0; i < gpu->plan->module.nparams && code == TSR_OK; i++)
		state->assigned[i] = false;
	return code;
}
