/* What a routine refuses: the same as that of code for a CPU, in the same order. */
#include "runtime/cuda/call.h"

enum { STATE_ALIGNMENT = 64, LENT_ALIGNMENT = 16 };

static int check_dims(const Call *e)
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

static int check_guards(const Call *e)
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
static int check_tensor(const Call *e, const tsr_tensor *tensor, uint32_t number, const void *data)
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

static int check_alignment(const Call *e, const tsr_tensor *t, const void *data)
{
	size_t least = dtype_alignment(dtype_from_name(t->dtype, strlen(t->dtype)));
	size_t alignment = e->lent && data ? LENT_ALIGNMENT : least;
	return (uintptr_t)data % alignment == 0
		       ? TSR_OK
		       : device_fail(e->gpu, TSR_BAD_POINTER, "%s is not aligned to %zu bytes",
				     t->name, alignment);
}

static int check_tensors(const Call *e)
{
	const PlanRoutine *r = e->routine;
	int code = TSR_OK;
	for (uint32_t i = 0; i < r->ninputs && code == TSR_OK; i++)
		code = check_tensor(e, &e->table->inputs[i], r->inputs + i, e->with->inputs[i]);
	for (uint32_t i = 0; i < r->noutputs && code == TSR_OK; i++)
		code = check_tensor(e, &e->table->outputs[i], r->outputs + i, e->with->outputs[i]);
	for (uint32_t i = 0; i < r->ninputs && code == TSR_OK; i++)
		code = check_alignment(e, &e->table->inputs[i], e->with->inputs[i]);
	for (uint32_t i = 0; i < r->noutputs && code == TSR_OK; i++)
		code = check_alignment(e, &e->table->outputs[i], e->with->outputs[i]);
	return code;
}

int call_state(const Call *e, DeviceState **found)
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

static int check_workspace(const Call *e)
{
	return (uintptr_t)e->with->workspace % DEVICE_ALIGNMENT == 0
		       ? TSR_OK
		       : device_fail(e->gpu, TSR_BAD_POINTER,
				     "workspace is not aligned to %d bytes", DEVICE_ALIGNMENT);
}

int call_check(const Call *e)
{
	int code = check_dims(e);
	if (code == TSR_OK)
		code = check_guards(e);
	if (code == TSR_OK)
		code = check_tensors(e);
	return code == TSR_OK && e->lent ? check_workspace(e) : code;
}
