/* Sessions: making one, setting its arguments. Preparing and running is prepare.c's. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/session.h"

void session_tensor_text(const tsr_tensor *tensor, char *text, size_t room)
{
	int rank = tensor_rank(tensor);
	int n = snprintf(text, room, "%s, %s", tensor->type, rank ? "array " : "one number");
	size_t used = n < 0 ? room : (size_t)n;
	for (int i = 0; i < rank && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s", i ? " x " : "",
					 tensor->sizes[i].text);
}

static bool fill_slots(Slot **slots, const tsr_tensor *tensors, int32_t n, const char *role)
{
	*slots = calloc((size_t)n + 1, sizeof **slots);
	for (int32_t i = 0; *slots && i < n; i++)
		(*slots)[i] = (Slot){.tensor = &tensors[i], .role = role};
	return *slots != NULL;
}

static bool allocate(tsr_session *s)
{
	const tsr_routine *r = s->routine;
	size_t ndims = (size_t)s->module->ndims + 1, nscalars = (size_t)r->nscalars + 1;
	s->dims = calloc(ndims, sizeof *s->dims);
	s->values = calloc(ndims, sizeof *s->values);
	s->scalars = calloc(nscalars, sizeof *s->scalars);
	s->scalar_set = calloc(nscalars, sizeof *s->scalar_set);
	s->call_dims = calloc((size_t)r->ndims + 1, sizeof *s->call_dims);
	s->call_scalars = calloc(nscalars, sizeof *s->call_scalars);
	s->call_inputs = calloc((size_t)r->ninputs + 1, sizeof *s->call_inputs);
	s->call_outputs = calloc((size_t)r->noutputs + 1, sizeof *s->call_outputs);
	for (int32_t d = 0; s->values && d < s->module->ndims; d++)
		s->values[d] = -1;
	return s->dims && s->values && s->scalars && s->scalar_set && s->call_dims &&
	       s->call_scalars && s->call_inputs && s->call_outputs &&
	       fill_slots(&s->inputs, r->inputs, r->ninputs, "input") &&
	       fill_slots(&s->outputs, r->outputs, r->noutputs, "output") &&
	       fill_slots(&s->params, s->module->params, s->module->nparams, "parameter");
}

tsr_session *tsr_session_new(const tsr_model *model, const char *routine, tsr_error *error)
{
	if (session_check_pointer(model, "model", error) != TSR_OK)
		return NULL;
	const tsr_routine *found = tsr_find_routine(model->table, routine);
	if (!found) {
		session_fail(error, TSR_FAIL_NAME, "the module has no routine '%s'",
			     routine ? routine : "");
		return NULL;
	}
	tsr_session *s = calloc(1, sizeof *s);
	if (s) {
		s->model = model;
		s->module = model->table;
		s->routine = found;
	}
	if (s && allocate(s))
		return s;
	tsr_session_free(s);
	session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	return NULL;
}

void tsr_session_free(tsr_session *s)
{
	if (!s)
		return;
	for (int32_t i = 0; s->outputs && i < s->routine->noutputs; i++)
		free(s->outputs[i].array.data);
	for (int32_t i = 0; s->params && i < s->module->nparams; i++)
		array_free(&s->params[i].loaded);
	free(s->dims);
	free(s->values);
	free(s->inputs);
	free(s->outputs);
	free(s->params);
	free(s->scalars);
	free(s->scalar_set);
	free(s->call_dims);
	free(s->call_scalars);
	free(s->call_inputs);
	free(s->call_outputs);
	image_close(s->image);
	session_free_state(s);
	free(s->workspace);
	free(s);
}

const tsr_routine *tsr_session_routine(const tsr_session *session)
{
	return session ? session->routine : NULL;
}

static Slot *find_slot(Slot *slots, int32_t n, const char *name)
{
	for (int32_t i = 0; i < n; i++)
		if (name_is(slots[i].tensor->name, name))
			return &slots[i];
	return NULL;
}

static Slot *slot_named(const tsr_session *s, const char *name)
{
	Slot *slot = find_slot(s->inputs, s->routine->ninputs, name);
	if (!slot)
		slot = find_slot(s->params, s->module->nparams, name);
	return slot ? slot : find_slot(s->outputs, s->routine->noutputs, name);
}

int session_check_open(const tsr_session *s, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code != TSR_OK)
		return code;
	return s->prepared ? session_fail(error, TSR_FAIL_ORDER, "the session is prepared already")
			   : TSR_OK;
}

int session_check_stateless(const tsr_session *s, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code != TSR_OK)
		return code;
	return s->state ? session_fail(error, TSR_FAIL_ORDER, "the session has a state already")
			: TSR_OK;
}

int session_check_state(const tsr_session *s, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code != TSR_OK)
		return code;
	return s->state ? TSR_OK
			: session_fail(error, TSR_FAIL_ORDER, "the session has no state yet");
}

int tsr_set_dim(tsr_session *s, const char *name, int64_t value, tsr_error *error)
{
	int code = session_check_open(s, error);
	if (code != TSR_OK)
		return code;
	for (int32_t d = 0; d < s->module->ndims; d++)
		if (name_is(s->module->dims[d].name, name)) {
			if (value < 0)
				return session_fail(error, TSR_FAIL_DIM, "dim %s cannot be %lld",
						    name, (long long)value);
			s->values[d] = value;
			s->dims[d].given = true;
			snprintf(s->dims[d].by, sizeof s->dims[d].by, "%.60s=%lld", name,
				 (long long)value);
			return TSR_OK;
		}
	return session_fail(error, TSR_FAIL_NAME, "the module has no dim '%s'", name ? name : "");
}

int slot_check_type(const Slot *slot, const tsr_array *array, tsr_error *error)
{
	char expected[300], came[200];
	if (!array || !array->dtype || array->rank < 0 || array->rank > TSR_RANK_MAX)
		return session_fail(error, TSR_FAIL_TYPE,
				    "%s '%s': an array has a dtype, and 0 to %d axes", slot->role,
				    slot->tensor->name, TSR_RANK_MAX);
	if (strcmp(slot->tensor->dtype, array->dtype) == 0 &&
	    tensor_rank(slot->tensor) == array->rank)
		return TSR_OK;
	session_tensor_text(slot->tensor, expected, sizeof expected);
	extents_text(array->extents, array->rank, came, sizeof came);
	return session_fail(error, TSR_FAIL_TYPE, "%s '%s': expected %s, came %s %s", slot->role,
			    slot->tensor->name, expected, array->dtype, came);
}

/* The name of its dtype is the caller's, who may not keep it. */
static void take_array(Slot *slot, const tsr_array *array)
{
	slot->array = *array;
	slot->array.dtype = slot->tensor->dtype;
	slot->set = true;
	slot->load = 0;
}

int session_see_array(tsr_session *s, const char *name, const tsr_array *array, tsr_error *error)
{
	Slot *slot = slot_named(s, name);
	int code = slot_check_known(s, slot, array, error);
	if (code != TSR_OK)
		return code;
	take_array(slot, array);
	return session_resolve(s, error);
}

static int check_data(const Slot *slot, const tsr_array *array, tsr_error *error)
{
	uint64_t bytes;
	const tsr_tensor *t = slot->tensor;
	size_t alignment = dtype_alignment(dtype_from_name(t->dtype, strlen(t->dtype)));
	if (!extents_bytes(t->dtype, array->extents, array->rank, &bytes))
		return session_fail(error, TSR_FAIL_TYPE,
				    "%s '%s': an extent is negative, or the array is too large",
				    slot->role, t->name);
	if (array->bytes < bytes)
		return session_fail(error, TSR_FAIL_TYPE,
				    "%s '%s': its extents take %llu bytes, and the array has %zu",
				    slot->role, t->name, (unsigned long long)bytes, array->bytes);
	if (bytes > 0 && !array->data)
		return session_fail(error, TSR_BAD_POINTER, "%s '%s': its data are NULL",
				    slot->role, t->name);
	if ((uintptr_t)array->data % alignment != 0)
		return session_fail(error, TSR_BAD_POINTER,
				    "%s '%s': its data are not aligned to %zu bytes", slot->role,
				    t->name, alignment);
	return TSR_OK;
}

static int set_slot(Slot *slot, const tsr_array *array, tsr_error *error)
{
	int code = slot_check_type(slot, array, error);
	if (code == TSR_OK)
		code = check_data(slot, array, error);
	if (code != TSR_OK)
		return code;
	take_array(slot, array);
	array_free(&slot->loaded);
	return TSR_OK;
}

int tsr_set_input(tsr_session *s, const char *name, const tsr_array *array, tsr_error *error)
{
	int code = session_check_open(s, error);
	if (code != TSR_OK)
		return code;
	Slot *slot = find_slot(s->inputs, s->routine->ninputs, name);
	return slot ? set_slot(slot, array, error)
		    : session_fail(error, TSR_FAIL_NAME, "routine %s has no input '%s'",
				   s->routine->name, name ? name : "");
}

int tsr_set_param(tsr_session *s, const char *name, const tsr_array *array, tsr_error *error)
{
	int code = session_check_stateless(s, error);
	if (code != TSR_OK)
		return code;
	Slot *slot = find_slot(s->params, s->module->nparams, name);
	return slot ? set_slot(slot, array, error)
		    : session_fail(error, TSR_FAIL_NAME, "the module has no parameter '%s'",
				   name ? name : "");
}

/* false when the value has no image in the dtype. */
static bool store_scalar(const char *dtype, double value, void *cell)
{
	if (strcmp(dtype, "f64") == 0) {
		memcpy(cell, &value, sizeof value);
		return true;
	}
	if (strcmp(dtype, "f32") == 0) {
		float narrow = (float)value;
		memcpy(cell, &narrow, sizeof narrow);
		return true;
	}
	if (strcmp(dtype, "i32") == 0 && value >= INT32_MIN && value <= INT32_MAX &&
	    value == floor(value)) {
		int32_t whole = (int32_t)value;
		memcpy(cell, &whole, sizeof whole);
		return true;
	}
	if (strcmp(dtype, "u32") == 0 && value >= 0 && value <= UINT32_MAX &&
	    value == floor(value)) {
		uint32_t whole = (uint32_t)value;
		memcpy(cell, &whole, sizeof whole);
		return true;
	}
	if (strcmp(dtype, "i64") == 0 && fabs(value) <= 0x1p53 && value == floor(value)) {
		int64_t whole = (int64_t)value;
		memcpy(cell, &whole, sizeof whole);
		return true;
	}
	return false;
}

int tsr_set_scalar(tsr_session *s, const char *name, double value, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code != TSR_OK)
		return code;
	for (int32_t i = 0; i < s->routine->nscalars; i++)
		if (name_is(s->routine->scalars[i].name, name)) {
			if (!store_scalar(s->routine->scalars[i].dtype, value, &s->scalars[i]))
				return session_fail(error, TSR_FAIL_TYPE,
						    "scalar '%s' is %s: %.17g is none", name,
						    s->routine->scalars[i].dtype, value);
			s->scalar_set[i] = true;
			return TSR_OK;
		}
	return session_fail(error, TSR_FAIL_NAME, "routine %s has no scalar '%s'", s->routine->name,
			    name ? name : "");
}

void tsr_set_seed(tsr_session *session, uint64_t seed)
{
	if (session)
		session->seed = seed;
}

void tsr_set_graph(tsr_session *session, int graph)
{
	if (session)
		session->no_graph = graph == 0;
}

int tsr_has_param(const tsr_session *s, const char *name)
{
	const Slot *slot = s ? find_slot(s->params, s->module->nparams, name) : NULL;
	return slot && slot->set;
}

int tsr_resolve(tsr_session *s, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	return code != TSR_OK || s->prepared ? code : session_resolve(s, error);
}

int tsr_expected(const tsr_session *s, const char *name, tsr_array *out, tsr_error *error)
{
	int code = session_check_pointer(s, "session", error);
	if (code == TSR_OK)
		code = session_check_pointer(out, "place for the array", error);
	if (code != TSR_OK)
		return code;
	const Slot *slot = slot_named(s, name);
	return slot ? slot_measure(s, slot, out, error)
		    : session_fail(error, TSR_FAIL_NAME, "nothing is named '%s'",
				   name ? name : "");
}

int64_t tsr_dim_value(const tsr_session *s, const char *name)
{
	for (int32_t d = 0; s && d < s->module->ndims; d++)
		if (name_is(s->module->dims[d].name, name))
			return s->values[d];
	return -1;
}
