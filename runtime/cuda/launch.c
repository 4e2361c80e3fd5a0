/* The lines of a routine in order: launches, and loops around them. */
#include <stdio.h>

#include "runtime/cuda/launch.h"

enum { BLOCKS_MOST = INT32_MAX };

static int damaged(Gpu *gpu, const char *what, const char *of)
{
	return device_fail(gpu, TSR_BAD_DEVICE, "%s: the plan is damaged: %s of %s", gpu->path,
			   what, of);
}

static CUdeviceptr place_of(const Runner *r, uint32_t b)
{
	const PlanBuffer *buffer = &r->gpu->in->code->plan->buffers[b];
	const DeviceState *state = r->with->state;
	if (buffer->role == PLAN_PACKED)
		return state ? state_packed(state) + buffer->place : 0;
	if (buffer->role == PLAN_PARAM)
		return state ? state->at + (CUdeviceptr)state->places[buffer->index] : 0;
	return r->run->places[b];
}

/* What the driver makes a map of, from the plan; corners of axes with windows: from the first and from the last element on,
 * where the first window begins, and the last. */
typedef struct Tensor {
	uint64_t extents[PLAN_AXES], strides[PLAN_AXES];
	uint32_t box[PLAN_AXES], steps[PLAN_AXES];
	int low[PLAN_AXES], high[PLAN_AXES];
} Tensor;

static bool value_of(const Runner *r, const tsr_size *size, int64_t *value)
{
	const tsr_module *world = &r->gpu->in->code->plan->world;
	return tsr_size_value(size, world, r->run->values, value) == TSR_OK;
}

/* Axes without elements, or windows, have one in the map: nothing is copied of them. */
static int measure_axis(const Runner *r, const PlanArg *arg, uint32_t i, Tensor *t)
{
	enum { LEAST = 16 }; /* bytes */
	const PlanBuffer *buffer = &r->gpu->in->code->plan->buffers[arg->index];
	const PlanAxis *axis = &arg->axes[i];
	int64_t extent, stride, windows = 1;
	if (!value_of(r, &axis->extent, &extent) || !value_of(r, &axis->stride, &stride) ||
	    (axis->step && !value_of(r, &axis->windows, &windows)))
		return damaged(r->gpu, "an axis", buffer->name);
	if (extent <= 0 || windows <= 0)
		extent = windows = 1;
	uint64_t bytes = (uint64_t)stride * dtype_bytes(buffer->dtype);
	t->extents[i] = (uint64_t)extent;
	t->box[i] = axis->box;
	t->steps[i] = axis->step ? axis->step : 1;
	if (i) {
		t->strides[i - 1] = bytes ? bytes : LEAST;
		t->low[i - 1] = axis->low;
		t->high[i - 1] = (int)(axis->low + (windows - 1) * axis->step - (extent - 1));
	}
	return TSR_OK;
}

static CUresult encode(const Driver *driver, const PlanArg *arg, const Tensor *t, int type,
		       void *at, unsigned char *map)
{
	if (arg->windows)
		return driver->cuTensorMapEncodeIm2col(
			map, type, arg->naxes, at, t->extents, t->strides, t->low, t->high,
			t->box[0], t->box[1], t->steps, 0, CU_TENSOR_SWIZZLE_128,
			CU_TENSOR_PROMOTE_128, 0);
	return driver->cuTensorMapEncodeTiled(map, type, arg->naxes, at, t->extents, t->strides,
					      t->box, t->steps, 0, CU_TENSOR_SWIZZLE_128,
					      CU_TENSOR_PROMOTE_128, 0);
}

static int set_map(const Runner *r, const PlanArg *arg, unsigned char *map)
{
	const PlanBuffer *buffer = &r->gpu->in->code->plan->buffers[arg->index];
	const Driver *driver = &r->gpu->driver;
	Tensor t;
	int code = TSR_OK;
	if (!driver->cuTensorMapEncodeTiled || !driver->cuTensorMapEncodeIm2col)
		return device_fail(
			r->gpu, TSR_NO_DEVICE,
			"%s: the driver is too old for this code: it makes no maps of tensors, which 12.0 does",
			r->gpu->path);
	for (uint32_t i = 0; i < arg->naxes && code == TSR_OK; i++)
		code = measure_axis(r, arg, i, &t);
	if (code != TSR_OK)
		return code;
	uint64_t at = place_of(r, arg->index);
	int type = buffer->dtype == DTYPE_BF16	? CU_TENSOR_BF16
		   : buffer->dtype == DTYPE_F16 ? CU_TENSOR_F16
		   : arg->stored		? CU_TENSOR_F32
						: CU_TENSOR_TF32;
	char what[200];
	snprintf(what, sizeof what, "the map of %.150s", buffer->name);
	return device_check(r->gpu, encode(driver, arg, &t, type, (void *)(uintptr_t)at, map),
			    what);
}

static int set_cell(const Runner *r, const PlanArg *arg, int64_t *cell)
{
	const Plan *plan = r->gpu->in->code->plan;
	int64_t base = 0;
	switch (arg->kind) {
	case ARG_DIM: *cell = r->run->values[arg->index]; return TSR_OK;
	case ARG_SCALAR:
		*cell = scalar_bits(&r->routine->scalars[arg->index], r->with->scalars[arg->index]);
		return TSR_OK;
	case ARG_TENSOR: return damaged(r->gpu, "a tensor", "a launch");
	case ARG_BUFFER: break;
	}
	const PlanBuffer *buffer = &plan->buffers[arg->index];
	if (arg->base.n &&
	    tsr_size_value(&arg->base, &plan->world, r->run->values, &base) != TSR_OK)
		return damaged(r->gpu, "a place", buffer->name);
	/* of two elements a byte it is even */
	base = dtype_is_packed(buffer->dtype)
		       ? base / 2
		       : (int64_t)((uint64_t)base * dtype_bytes(buffer->dtype));
	CUdeviceptr at = place_of(r, arg->index) + (CUdeviceptr)base;
	memcpy(cell, &at, sizeof at);
	return TSR_OK;
}

/* "kernel net__k_y (net.tsr:3:5)" */
static void launch_name(const PlanLine *line, char *text, size_t room)
{
	snprintf(text, room, "kernel %.200s%s%.200s%s", line->function, *line->place ? " (" : "",
		 line->place, *line->place ? ")" : "");
}

/* Is an argument another one than the node has? */
static bool is_changed(const Runner *r, const PlanArg *arg)
{
	if (arg->kind != ARG_BUFFER && arg->kind != ARG_TENSOR)
		return arg->kind == ARG_SCALAR && r->rescaled;
	const PlanBuffer *buffer = &r->gpu->in->code->plan->buffers[arg->index];
	if (!r->run->lent || (buffer->role != PLAN_IN && buffer->role != PLAN_OUT))
		return false;
	return r->moved[buffer->role == PLAN_IN ? buffer->index
						: r->routine->ninputs + buffer->index];
}

static bool any_changed(const Runner *r, const PlanLine *line)
{
	if (r->routine->placed && r->rescaled)
		return true;
	for (uint32_t i = 0; i < line->nargs; i++)
		if (is_changed(r, &line->args[i]))
			return true;
	return false;
}

static CUresult to_stream(const Runner *r, const CUlaunch *l, bool early)
{
	const Driver *d = &r->gpu->driver;
	CUattribute begins = {.id = CU_LAUNCH_EARLY, .value = 1};
	const CUconfig config = {.grid = {l->grid[0], 1, 1},
				 .block = {l->block[0], 1, 1},
				 .shared_bytes = l->shared_bytes,
				 .stream = r->stream,
				 .attributes = &begins,
				 .nattributes = 1};
	if (early && d->cuLaunchKernelEx)
		return d->cuLaunchKernelEx(&config, l->function, l->args, NULL);
	return d->cuLaunchKernel(l->function, l->grid[0], 1, 1, l->block[0], 1, 1, l->shared_bytes,
				 r->stream, l->args, NULL);
}

/* Behind another launch of the call one may begin before that ends, if its kernel waits for it itself. */
static CUresult hand_over(Runner *r, const CUlaunch *l)
{
	bool early = r->follows && r->gpu->in->code->plan->overlaps;
	r->follows = true;
	switch (r->to) {
	case TO_STREAM: break;
	case TO_GRAPH: return graph_add(r, l, early);
	case TO_NODE: return graph_set(r, l);
	}
	return to_stream(r, l, early);
}

static int launch(Runner *r, uint32_t number)
{
	Gpu *gpu = r->gpu;
	const PlanLine *line = &gpu->in->code->plan->lines[number];
	int64_t blocks;
	char name[500];
	if (tsr_size_value(&line->blocks, &gpu->in->code->plan->world, r->run->values, &blocks) !=
	    TSR_OK)
		return damaged(gpu, "the blocks", line->function);
	if (blocks <= 0)
		return TSR_OK;
	bool same = r->to == TO_NODE && !any_changed(r, line);
	for (uint32_t i = 0; i < line->nargs && !same; i++) {
		const PlanArg *arg = &line->args[i];
		unsigned char *map = gpu->maps + (size_t)i * CU_TENSOR_MAP_BYTES;
		bool tensor = arg->kind == ARG_TENSOR;
		gpu->args[i] = tensor ? (void *)map : (void *)&gpu->cells[i];
		int code = tensor ? set_map(r, arg, map) : set_cell(r, arg, &gpu->cells[i]);
		if (code != TSR_OK)
			return code;
	}
	int64_t most = line->most ? line->most : BLOCKS_MOST;
	unsigned grid = (unsigned)(blocks < most ? blocks : most);
	const CUlaunch l = {.function = gpu->in->functions[number],
			    .grid = {grid, 1, 1},
			    .block = {line->threads, 1, 1},
			    .shared_bytes = line->shared,
			    .args = gpu->args};
	CUresult result = same ? CUDA_SUCCESS : hand_over(r, &l);
	r->node++;
	if (result == CUDA_SUCCESS)
		return TSR_OK;
	launch_name(line, name, sizeof name);
	return device_check(gpu, result, name);
}

int launch_reset(Runner *r)
{
	const Gpu *gpu = r->gpu;
	if (!gpu->in->code->plan->checks)
		return TSR_OK;
	return device_check(
		r->gpu,
		gpu->driver.cuMemsetD8Async(gpu->in->status, 0, sizeof r->status, r->stream),
		"tsr_status");
}

int launch_wait(Runner *r)
{
	char what[300];
	const char *name = r->routine->name;
	snprintf(what, sizeof what, "a kernel of %s%.200s", name ? "routine " : "",
		 name ? name : plan_own_words(r->gpu->in->code->plan, r->routine));
	return device_check(r->gpu, r->gpu->driver.cuStreamSynchronize(r->stream), what);
}

/* Waits for what runs, and reads the i32 there. */
int launch_read(Runner *r, CUdeviceptr from, int32_t *word)
{
	r->follows = false;
	int code = device_check(
		r->gpu, r->gpu->driver.cuMemcpyDtoHAsync_v2(word, from, sizeof *word, r->stream),
		"a copy");
	return code == TSR_OK ? launch_wait(r) : code;
}

static int count_steps(Runner *r, const PlanLine *loop, int64_t *count)
{
	int32_t made;
	if (tsr_size_value(&loop->count, &r->gpu->in->code->plan->world, r->run->values, count) !=
	    TSR_OK)
		return damaged(r->gpu, "the steps of a loop", loop->place);
	if (loop->made == PLAN_NONE)
		return TSR_OK;
	int code = launch_read(r, place_of(r, loop->made), &made);
	if (code == TSR_OK && made < *count)
		*count = made;
	return code;
}

/* Does the loop end behind this step? Also where a check has failed: no kernel does anything then. */
static int is_over(Runner *r, const PlanLine *loop, bool *over)
{
	int32_t flag = 0;
	*over = false;
	if (loop->until == PLAN_NONE)
		return TSR_OK;
	int code = launch_read(r, place_of(r, loop->until), &flag);
	if (code == TSR_OK)
		code = launch_read(r, r->gpu->in->status, &r->status);
	*over = flag != 0 || r->status != 0;
	return code;
}

static int run_loop(Runner *r, uint32_t number)
{
	const PlanLine *loop = &r->gpu->in->code->plan->lines[number];
	int64_t count, *step = &r->run->values[loop->step];
	bool over = false;
	int code = count_steps(r, loop, &count);
	for (int64_t i = 0; i < count && code == TSR_OK && !over; i++) {
		*step = loop->down ? count - 1 - i : i;
		code = launch_lines(r, number + 1, loop->end);
		for (uint32_t k = 0; k < loop->npairs; k++) {
			CUdeviceptr *a = &r->run->places[loop->pairs[k].a],
				    *b = &r->run->places[loop->pairs[k].b];
			CUdeviceptr held = *a;
			*a = *b;
			*b = held;
		}
		if (code == TSR_OK)
			code = is_over(r, loop, &over);
	}
	*step = -1;
	return code;
}

int launch_lines(Runner *r, uint32_t from, uint32_t to)
{
	int code = TSR_OK;
	for (uint32_t i = from; i < to && code == TSR_OK; i++) {
		const PlanLine *line = &r->gpu->in->code->plan->lines[i];
		code = line->loop ? run_loop(r, i) : launch(r, i);
		if (line->loop)
			i = line->end - 1;
	}
	return code;
}
