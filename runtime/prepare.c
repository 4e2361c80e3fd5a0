/* From set arguments to a call: sizes, memory, the state's contents, the call itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/cuda/gpu.h"
#include "runtime/session.h"

/* Bytes of a page; of memory from which on it is in such pages. */
enum { HUGE_PAGE = 2 << 20, HUGE_LEAST = 4 << 20 };

/* The first dim of the size that is not known, -1 when all are. */
static int64_t unknown_dim(const tsr_session *s, const tsr_size *size)
{
	for (int64_t i = 0; i < size->n; i++)
		if (size->code[2 * i] == TSR_SIZE_DIM && s->values[size->code[2 * i + 1]] < 0)
			return size->code[2 * i + 1];
	return -1;
}

static int size_fails(const tsr_session *s, const tsr_size *size, const char *what,
		      tsr_error *error)
{
	int64_t dim = unknown_dim(s, size);
	if (dim >= 0)
		return session_fail(
			error, TSR_FAIL_DIM,
			"dim %s is not known: no array given has it; give %s=NUMBER (for %s)",
			s->module->dims[dim].name, s->module->dims[dim].name, what);
	int code = session_check_guards(s, error);
	return code != TSR_OK
		       ? code
		       : session_fail(error, TSR_FAIL_DIM,
				      "%s: the size %s cannot be computed for these dims", what,
				      size->text);
}

int slot_measure(const tsr_session *s, const Slot *slot, tsr_array *out, tsr_error *error)
{
	const tsr_tensor *t = slot->tensor;
	uint64_t bytes;
	memset(out, 0, sizeof *out);
	out->dtype = t->dtype;
	out->rank = tensor_rank(t);
	if (out->rank > TSR_RANK_MAX)
		return session_fail(error, TSR_FAIL_TYPE, "%s '%s' has more than %d axes",
				    slot->role, t->name, TSR_RANK_MAX);
	for (int i = 0; i < out->rank; i++) {
		char what[200];
		snprintf(what, sizeof what, "%s '%.150s'", slot->role, t->name);
		if (tsr_size_value(&t->sizes[i], s->module, s->values, &out->extents[i]) !=
			    TSR_OK ||
		    out->extents[i] < 0)
			return size_fails(s, &t->sizes[i], what, error);
	}
	if (!extents_bytes(t->dtype, out->extents, out->rank, &bytes))
		return session_fail(error, TSR_FAIL_MEMORY, "%s '%s' is too large", slot->role,
				    t->name);
	out->bytes = bytes;
	return TSR_OK;
}

/* Zeroed and aligned, in huge pages where there are some; fails with a text that names `what`. */
static int room(uint64_t bytes, const char *what, void **out, tsr_error *error)
{
	size_t alignment = bytes < HUGE_LEAST ? ARRAY_ALIGNMENT : HUGE_PAGE;
	uint64_t whole = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
	*out = bytes > ARRAY_BYTES_MAX ? NULL : aligned_alloc(alignment, whole);
	if (!*out)
		return session_fail(error, TSR_FAIL_MEMORY,
				    "not enough memory: %s needs %llu bytes", what,
				    (unsigned long long)bytes);
	if (alignment == HUGE_PAGE)
		madvise(*out, whole, MADV_HUGEPAGE);
	memset(*out, 0, whole);
	return TSR_OK;
}

static int check_missing(const tsr_session *s, tsr_error *error)
{
	const tsr_routine *r = s->routine;
	char expected[300];
	for (int32_t i = 0; i < r->ninputs; i++)
		if (!s->inputs[i].set) {
			session_tensor_text(s->inputs[i].tensor, expected, sizeof expected);
			return session_fail(error, TSR_FAIL_MISSING,
					    "input '%s' is missing: expected %s", r->inputs[i].name,
					    expected);
		}
	for (int32_t i = 0; i < r->nscalars; i++)
		if (!s->scalar_set[i])
			return session_fail(error, TSR_FAIL_MISSING,
					    "scalar '%s' is missing: expected one %s",
					    r->scalars[i].name, r->scalars[i].dtype);
	for (int32_t i = 0; i < r->ndims; i++)
		if (s->values[r->dims[i]] < 0) {
			const char *name = s->module->dims[r->dims[i]].name;
			return session_fail(
				error, TSR_FAIL_MISSING,
				"dim %s is not known: no array given has it; give %s=NUMBER", name,
				name);
		}
	return TSR_OK;
}

static int allocate_outputs(tsr_session *s, tsr_error *error)
{
	for (int32_t i = 0; i < s->routine->noutputs; i++) {
		Slot *slot = &s->outputs[i];
		free(slot->array.data);
		slot->array.data = NULL;
		int code = slot_measure(s, slot, &slot->array, error);
		if (code == TSR_OK)
			code = room(slot->array.bytes, slot->tensor->name, &slot->array.data,
				    error);
		if (code != TSR_OK)
			return code;
		s->call_outputs[i] = slot->array.data;
	}
	return TSR_OK;
}

static int allocate_size(const tsr_session *s, const tsr_size *size, const char *what,
			 tsr_error *error, void **out, size_t *bytes)
{
	int64_t value;
	if (tsr_size_value(size, s->module, s->values, &value) != TSR_OK || value < 0)
		return size_fails(s, size, what, error);
	*bytes = (size_t)value;
	return room((uint64_t)value, what, out, error);
}

int param_place(const tsr_session *s, const Slot *slot, tsr_array *out, tsr_error *error)
{
	int64_t offset;
	int code = slot_measure(s, slot, out, error);
	if (code != TSR_OK)
		return code;
	if (tsr_size_value(&slot->tensor->offset, s->module, s->values, &offset) != TSR_OK ||
	    offset < 0 || (uint64_t)offset > s->state_bytes ||
	    out->bytes > s->state_bytes - (uint64_t)offset)
		return session_fail(error, TSR_FAIL_MODULE, "parameter '%s' lies outside the state",
				    slot->tensor->name);
	out->data = (char *)s->state + offset;
	return TSR_OK;
}

static int initialise(tsr_session *s, tsr_error *error)
{
	Gpu *gpu = s->model->gpu;
	const char *message = NULL;
	int code = gpu ? gpu_init(gpu, s->values, s->state, s->seed, &message)
		       : s->module->init(s->values, s->state, s->seed);
	if (code == TSR_NO_DEVICE && s->model->cpu)
		code = s->model->cpu->init(s->values, s->state, s->seed);
	int32_t check = code - TSR_CHECK_FIRST;
	if (check >= 0 && check < s->module->nchecks)
		return session_fail(error, code, "%s: the initialisers: %s (code %d)",
				    s->module->checks[check].place, s->module->checks[check].text,
				    code);
	if (code == TSR_BAD_DIM)
		return session_fail(error, code,
				    "a dim that the initialisers need is not known or out of its "
				    "range (code %d)",
				    code);
	if (code == TSR_OK)
		return code;
	return message ? session_fail(error, code, "the initialisers: %s (code %d)", message, code)
		       : session_fail(error, code, "the initialisers failed with code %d", code);
}

static int pack(tsr_session *s, tsr_error *error)
{
	const char *message = "no text";
	tsr_call call = {.abi = TSR_ABI, .message = &message};
	tsr_pool_call(s->pool, &call);
	Gpu *gpu = s->model->gpu;
	int code = gpu ? gpu_pack(gpu, s->values, s->state, &message)
		       : s->module->pack(&call, s->values, s->state);
	return code == TSR_OK
		       ? code
		       : session_fail(error, code, "the parameters cannot be packed: %s (code %d)",
				      message, code);
}

static int copy_params(tsr_session *s, tsr_error *error)
{
	int code = TSR_OK;
	for (int32_t i = 0; i < s->module->nparams && code == TSR_OK; i++) {
		tsr_array place;
		if (!s->params[i].set)
			continue;
		code = param_place(s, &s->params[i], &place, error);
		if (code == TSR_OK && place.bytes > 0)
			memcpy(place.data, s->params[i].array.data, place.bytes);
	}
	return code;
}

static int fill_state(tsr_session *s, tsr_error *error)
{
	int32_t nset = 0;
	for (int32_t i = 0; i < s->module->nparams; i++)
		nset += s->params[i].set;
	bool given = s->image != NULL || nset == s->module->nparams;
	int code = s->image ? image_restore(s, error) : given ? TSR_OK : initialise(s, error);
	if (code == TSR_OK)
		code = copy_params(s, error);
	if (code == TSR_OK && (given || nset > 0))
		code = pack(s, error);
	return code;
}

int tsr_pack(tsr_session *s, tsr_error *error)
{
	int code = session_check_state(s, error);
	return code == TSR_OK ? pack(s, error) : code;
}

static void bind_scalars(const tsr_session *s)
{
	const tsr_routine *r = s->routine;
	for (int32_t i = 0; i < r->ndims; i++)
		s->call_dims[i] = s->values[r->dims[i]];
	for (int32_t i = 0; i < r->nscalars; i++)
		s->call_scalars[i] = &s->scalars[i];
}

static void bind_call(tsr_session *s)
{
	const tsr_routine *r = s->routine;
	bind_scalars(s);
	for (int32_t i = 0; i < r->ninputs; i++)
		s->call_inputs[i] = s->inputs[i].array.data;
	s->prepared = true;
}

static int allocate_memory(tsr_session *s, tsr_error *error)
{
	size_t unused;
	free(s->workspace);
	s->workspace = NULL;
	int code = allocate_outputs(s, error);
	if (code == TSR_OK)
		code = allocate_size(s, &s->routine->workspace, "the workspace", error,
				     &s->workspace, &unused);
	return code;
}

/* What was loaded is in the state now. */
static void drop_loaded(tsr_session *s)
{
	for (int32_t i = 0; i < s->module->nparams; i++)
		array_free(&s->params[i].loaded);
	image_close(s->image);
	s->image = NULL;
}

void session_free_state(tsr_session *s)
{
	if (s->model->gpu && s->own_state)
		gpu_forget(s->model->gpu, s->own_state);
	free(s->own_state);
	s->state = s->own_state = NULL;
}

/* Ensures: after TSR_OK the session has a state of its own, filled and packed. */
static int make_state(tsr_session *s, tsr_error *error)
{
	int code = allocate_size(s, &s->module->state, "the state", error, &s->own_state,
				 &s->state_bytes);
	s->state = s->own_state;
	if (code == TSR_OK)
		code = fill_state(s, error);
	if (code == TSR_OK) {
		drop_loaded(s);
	} else {
		session_free_state(s);
	}
	return code;
}

/* The first dim in sizes of parameters that the session with the state has another value of, -1:
 * none. */
static int64_t other_dim(const tsr_session *s)
{
	for (int32_t p = 0; p < s->module->nparams; p++)
		for (int axis = 0; axis < tensor_rank(s->params[p].tensor); axis++) {
			const tsr_size *size = &s->params[p].tensor->sizes[axis];
			for (int64_t i = 0; i < size->n; i++) {
				int64_t dim = size->code[2 * i + 1];
				if (size->code[2 * i] == TSR_SIZE_DIM &&
				    s->values[dim] != s->lender->values[dim])
					return dim;
			}
		}
	return -1;
}

/* Is the state that is shared one for the dims that are set? */
static int check_shared(const tsr_session *s, tsr_error *error)
{
	int64_t bytes, dim = other_dim(s);
	if (dim >= 0)
		return session_fail(error, TSR_FAIL_DIM,
				    "dim %s is %lld by %s, but %lld in the state that is shared",
				    s->module->dims[dim].name, (long long)s->values[dim],
				    s->dims[dim].by, (long long)s->lender->values[dim]);
	if (tsr_size_value(&s->module->state, s->module, s->values, &bytes) == TSR_OK &&
	    (uint64_t)bytes == s->state_bytes)
		return TSR_OK;
	return session_fail(error, TSR_FAIL_TYPE,
			    "the state that is shared was made for other sizes");
}

int tsr_prepare_state(tsr_session *s, tsr_error *error)
{
	int code = session_check_stateless(s, error);
	if (code == TSR_OK)
		code = session_resolve(s, error);
	if (code == TSR_OK)
		code = session_check_params(s, error);
	return code == TSR_OK ? make_state(s, error) : code;
}

int tsr_prepare(tsr_session *s, tsr_error *error)
{
	int code = session_check_open(s, error);
	if (code == TSR_OK)
		code = session_resolve(s, error);
	if (code == TSR_OK)
		code = check_missing(s, error);
	if (code == TSR_OK)
		code = session_check_extents(s, error);
	if (code == TSR_OK && s->lender)
		code = check_shared(s, error);
	if (code == TSR_OK)
		code = allocate_memory(s, error);
	if (code == TSR_OK && !s->state)
		code = make_state(s, error);
	if (code == TSR_OK)
		bind_call(s);
	return code;
}

/* The dims that parameters have, where `s` does not know them: from the session with the state. */
static void adopt_dims(tsr_session *s, const tsr_session *other)
{
	for (int32_t p = 0; p < s->module->nparams; p++)
		for (int axis = 0; axis < tensor_rank(s->params[p].tensor); axis++) {
			const tsr_size *size = &s->params[p].tensor->sizes[axis];
			for (int64_t i = 0; i < size->n; i++) {
				int64_t dim = size->code[2 * i + 1];
				if (size->code[2 * i] != TSR_SIZE_DIM || s->values[dim] >= 0)
					continue;
				s->values[dim] = other->values[dim];
				s->dims[dim].given = true;
				snprintf(s->dims[dim].by, sizeof s->dims[dim].by,
					 "the shared state's parameter '%.80s'",
					 s->params[p].tensor->name);
			}
		}
}

int tsr_share_state(tsr_session *s, tsr_session *other, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code == TSR_OK)
		code = session_check_state(other, error);
	if (code != TSR_OK)
		return code;
	if (s->state == other->state)
		return TSR_OK;
	if (s->module != other->module)
		return session_fail(error, TSR_FAIL_TYPE, "the sessions are of different models");
	if (s->prepared && (s->state_bytes != other->state_bytes ||
			    session_layout_hash(s) != session_layout_hash(other)))
		return session_fail(error, TSR_FAIL_TYPE,
				    "the sessions have states of different layouts");
	s->state = other->state; /* its own stays, as others may have it */
	s->state_bytes = other->state_bytes;
	s->lender = other;
	if (!s->prepared)
		adopt_dims(s, other);
	return TSR_OK;
}

/* The text of a code that the routine returned. */
static int refused(const tsr_session *s, int code, const char *message, tsr_error *error)
{
	int32_t check = code - TSR_CHECK_FIRST;
	if (check >= 0 && check < s->module->nchecks)
		return session_fail(error, code, "%s: %s (code %d)", s->module->checks[check].place,
				    message ? message : s->module->checks[check].text, code);
	return session_fail(error, code, "routine %s refused to run: %s (code %d)",
			    s->routine->name, message ? message : "no text", code);
}

int tsr_run_routine(const tsr_model *model, const tsr_routine *routine, const tsr_call *call,
		    const tsr_arguments *a)
{
	if (!model || !routine || !a)
		return TSR_FAIL_ARGUMENT;
	int32_t number = (int32_t)(routine - model->table->routines);
	int code = model->gpu ? gpu_invoke(model->gpu, number, call, a) : TSR_NO_DEVICE;
	if (model->gpu && (code != TSR_NO_DEVICE || !model->cpu))
		return code;
	tsr_call plain = call ? *call : (tsr_call){0};
	if (model->gpu) { /* which knows no flags */
		plain.flags = 0;
		call = call ? &plain : NULL;
		routine = &model->cpu->routines[number];
	}
	return routine->invoke(call, a->dims, a->scalars, a->inputs, a->outputs, a->state,
			       a->workspace);
}

int session_read_back(const tsr_session *s, tsr_error *error)
{
	const char *message;
	int code = s->model->gpu ? gpu_read_back(s->model->gpu, s->state, &message) : TSR_OK;
	return code == TSR_OK
		       ? code
		       : session_fail(error, code, "the parameters cannot be read: %s (code %d)",
				      message, code);
}

int session_check_guards(const tsr_session *s, tsr_error *error)
{
	const char *message = NULL;
	tsr_call call = {.abi = TSR_ABI, .message = &message};
	const tsr_routine *r = s->routine;
	if (s->prepared || r->noutputs == 0)
		return TSR_OK;
	bind_scalars(s);
	for (int32_t i = 0; i < r->noutputs; i++)
		s->call_outputs[i] = NULL;
	const tsr_arguments none = {.dims = s->call_dims,
				    .scalars = s->call_scalars,
				    .inputs = s->call_inputs,
				    .outputs = s->call_outputs};
	int code = tsr_run_routine(s->model, r, &call, &none);
	return code >= TSR_CHECK_FIRST ? refused(s, code, message, error) : TSR_OK;
}

int tsr_execute(tsr_session *s, tsr_error *error)
{
	const char *message = NULL;
	tsr_call call = {.abi = TSR_ABI, .message = &message};
	int code = session_check_pointer(s, "session", error);
	if (code == TSR_OK && !s->prepared)
		code = session_fail(error, TSR_FAIL_ORDER, "the session is not prepared");
	if (code != TSR_OK)
		return code;
	call.flags = s->model->gpu && s->no_graph ? TSR_NO_GRAPH : 0;
	tsr_pool_call(s->pool, &call);
	const tsr_arguments all = {.dims = s->call_dims,
				   .scalars = s->call_scalars,
				   .inputs = s->call_inputs,
				   .outputs = s->call_outputs,
				   .state = s->state,
				   .workspace = s->workspace};
	code = tsr_run_routine(s->model, s->routine, &call, &all);
	return code == TSR_OK ? code : refused(s, code, message, error);
}

const tsr_array *tsr_output_at(const tsr_session *s, int32_t index)
{
	bool there = s && s->prepared && index >= 0 && index < s->routine->noutputs;
	return there ? &s->outputs[index].array : NULL;
}

const tsr_array *tsr_output(const tsr_session *s, const char *name)
{
	for (int32_t i = 0; s && i < s->routine->noutputs; i++)
		if (name_is(s->routine->outputs[i].name, name))
			return tsr_output_at(s, i);
	return NULL;
}

int tsr_param(const tsr_session *s, const char *name, tsr_array *out, tsr_error *error)
{
	int code = session_check_state(s, error);
	if (code == TSR_OK)
		code = session_check_pointer(out, "place for the array", error);
	if (code == TSR_OK)
		code = session_read_back(s, error);
	if (code != TSR_OK)
		return code;
	for (int32_t i = 0; i < s->module->nparams; i++)
		if (name_is(s->params[i].tensor->name, name))
			return param_place(s, &s->params[i], out, error);
	return session_fail(error, TSR_FAIL_NAME, "the module has no parameter '%s'",
			    name ? name : "");
}

void *tsr_state(const tsr_session *session)
{
	return session ? session->state : NULL;
}

uint64_t tsr_traffic(const tsr_session *s)
{
	uint64_t bytes = 0;
	tsr_array place;
	if (!s)
		return 0;
	const tsr_routine *r = s->routine;
	for (int32_t i = 0; i < r->ninputs; i++)
		if (slot_measure(s, &s->inputs[i], &place, NULL) == TSR_OK)
			bytes += place.bytes;
	for (int32_t i = 0; i < r->noutputs; i++)
		bytes += s->outputs[i].array.bytes;
	for (int64_t i = 0; i < r->nparams; i++)
		if (slot_measure(s, &s->params[r->params[i]], &place, NULL) == TSR_OK)
			bytes += place.bytes;
	return bytes;
}
