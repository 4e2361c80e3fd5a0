/* Dims from arrays: every extent is an equation `size = extent`.
 *
 * Each time it starts from the dims that were given by themselves, since arrays may have been set
 * anew. Axes that are a plain dim are read first, so that they are what messages speak of. Then, until
 * nothing changes, an equation in which one dim is unknown and stands linearly is solved: the size
 * is evaluated as (a*x + b)/c. What is left is checked, not solved: session_check_extents compares
 * every axis.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/session.h"

/* (a*x + b)/c, c > 0; `dim` is x, -1 while there is none. */
typedef struct Linear {
	int64_t a, b, c;
	int64_t dim;
} Linear;

static bool add(Linear x, Linear y, int64_t sign, Linear *out)
{
	int64_t xa, ya, xb, yb;
	out->dim = x.dim >= 0 ? x.dim : y.dim;
	return !(__builtin_mul_overflow(x.a, y.c, &xa) || __builtin_mul_overflow(y.a, x.c, &ya) ||
		 __builtin_mul_overflow(x.b, y.c, &xb) || __builtin_mul_overflow(y.b, x.c, &yb) ||
		 __builtin_mul_overflow(ya, sign, &ya) || __builtin_mul_overflow(yb, sign, &yb) ||
		 __builtin_add_overflow(xa, ya, &out->a) ||
		 __builtin_add_overflow(xb, yb, &out->b) ||
		 __builtin_mul_overflow(x.c, y.c, &out->c));
}

static bool scale(Linear x, Linear by, Linear *out)
{
	out->dim = x.dim;
	return by.a == 0 && !(__builtin_mul_overflow(x.a, by.b, &out->a) ||
			      __builtin_mul_overflow(x.b, by.b, &out->b) ||
			      __builtin_mul_overflow(x.c, by.c, &out->c));
}

static bool divide(Linear x, Linear by, Linear *out)
{
	if (by.a != 0 || by.b <= 0)
		return false;
	out->dim = x.dim;
	return !(__builtin_mul_overflow(x.a, by.c, &out->a) ||
		 __builtin_mul_overflow(x.b, by.c, &out->b) ||
		 __builtin_mul_overflow(x.c, by.b, &out->c));
}

static bool combine(int64_t code, Linear x, Linear y, Linear *out)
{
	switch (code) {
	case TSR_SIZE_ADD: return add(x, y, 1, out);
	case TSR_SIZE_SUB: return add(x, y, -1, out);
	case TSR_SIZE_MUL: return x.a == 0 ? scale(y, x, out) : scale(x, y, out);
	case TSR_SIZE_DIV: return divide(x, y, out);
	default: /* a floor of a known value only */
		if (x.a != 0 || y.a != 0 || x.c != 1 || y.c != 1 || y.b <= 0)
			return false;
		*out = (Linear){0, x.b / y.b - (x.b % y.b < 0), 1, -1};
		return true;
	}
}

/* false when the size has more than one unknown, or none, or is not linear in it. */
static bool linear_form(const tsr_session *s, const tsr_size *size, Linear *out)
{
	Linear stack[64] = {{0}};
	int depth = 0;
	int64_t unknown = -1;
	for (int64_t i = 0; i < size->n; i++) {
		int64_t code = size->code[2 * i], arg = size->code[2 * i + 1];
		if (code > TSR_SIZE_DIM) {
			if (depth < 2 ||
			    !combine(code, stack[depth - 2], stack[depth - 1], &stack[depth - 2]))
				return false;
			depth--;
			continue;
		}
		if (depth == 64 || (code == TSR_SIZE_DIM && (arg < 0 || arg >= s->module->ndims)))
			return false;
		bool open = code == TSR_SIZE_DIM && s->values[arg] < 0;
		if (open && unknown >= 0 && unknown != arg)
			return false;
		unknown = open ? arg : unknown;
		int64_t value = code == TSR_SIZE_DIM ? s->values[arg] : arg;
		stack[depth++] = open ? (Linear){1, 0, 1, arg} : (Linear){0, value, 1, -1};
	}
	*out = stack[0];
	out->dim = unknown;
	return depth == 1 && unknown >= 0 && stack[0].a != 0;
}

static void describe(const Slot *slot, int axis, char *text, size_t room)
{
	snprintf(text, room, "axis %d of %s '%.80s'", axis, slot->role, slot->tensor->name);
}

/* Checks the dim's declared minimum too: a negative solution means that no value fits. */
static int set_solved(tsr_session *s, const Slot *slot, int axis, const Linear *form,
		      tsr_error *error)
{
	int64_t extent = slot->array.extents[axis], scaled, rest;
	const char *name = s->module->dims[form->dim].name;
	if (__builtin_mul_overflow(extent, form->c, &scaled) ||
	    __builtin_sub_overflow(scaled, form->b, &rest) ||
	    (rest == INT64_MIN && form->a == -1) || rest % form->a != 0 || rest / form->a < 0)
		return session_fail(error, TSR_FAIL_DIM,
				    "axis %d of %s '%s' is %lld, and no %s makes %s that", axis,
				    slot->role, slot->tensor->name, (long long)extent, name,
				    slot->tensor->sizes[axis].text);
	s->values[form->dim] = rest / form->a;
	describe(slot, axis, s->dims[form->dim].by, sizeof s->dims[form->dim].by);
	return TSR_OK;
}

static bool is_one_dim(const tsr_size *size)
{
	return size->n == 1 && size->code[0] == TSR_SIZE_DIM;
}

static int conflict(const tsr_session *s, const Slot *slot, const tsr_array *array, int axis,
		    tsr_error *error)
{
	int64_t dim = slot->tensor->sizes[axis].code[1];
	return session_fail(error, TSR_FAIL_DIM,
			    "dim %s is %lld by %s, but axis %d of %s '%s' is %lld",
			    s->module->dims[dim].name, (long long)s->values[dim], s->dims[dim].by,
			    axis, slot->role, slot->tensor->name,
			    (long long)array->extents[axis]);
}

static int bind_plain(tsr_session *s, const Slot *slot, tsr_error *error)
{
	for (int axis = 0; axis < slot->array.rank; axis++) {
		const tsr_size *size = &slot->tensor->sizes[axis];
		if (!is_one_dim(size))
			continue;
		int64_t dim = size->code[1], extent = slot->array.extents[axis];
		if (s->values[dim] >= 0 && s->values[dim] != extent)
			return conflict(s, slot, &slot->array, axis, error);
		if (s->values[dim] < 0)
			describe(slot, axis, s->dims[dim].by, sizeof s->dims[dim].by);
		s->values[dim] = extent;
	}
	return TSR_OK;
}

static int bind_linear(tsr_session *s, const Slot *slot, bool *changed, tsr_error *error)
{
	Linear form;
	for (int axis = 0; axis < slot->array.rank; axis++)
		if (linear_form(s, &slot->tensor->sizes[axis], &form)) {
			*changed = true;
			int code = set_solved(s, slot, axis, &form, error);
			if (code != TSR_OK)
				return code;
		}
	return TSR_OK;
}

/* The k-th slot of inputs then parameters, NULL at the end. */
static const Slot *given(const tsr_session *s, int32_t k)
{
	int32_t n = s->routine->ninputs;
	if (k < n)
		return &s->inputs[k];
	return k - n < s->module->nparams ? &s->params[k - n] : NULL;
}

static int check_minimum(const tsr_session *s, tsr_error *error)
{
	for (int32_t d = 0; d < s->module->ndims; d++)
		if (s->values[d] >= 0 && s->values[d] < s->module->dims[d].at_least)
			return session_fail(error, TSR_FAIL_DIM,
					    "dim %s is %lld by %s, but it must be at least %lld",
					    s->module->dims[d].name, (long long)s->values[d],
					    s->dims[d].by, (long long)s->module->dims[d].at_least);
	return TSR_OK;
}

/* `all`: arrays of earlier files count too. */
static bool counts(const tsr_session *s, const Slot *slot, bool all)
{
	return slot->set && (all || slot->load == 0 || slot->load == s->nloads);
}

static int resolve(tsr_session *s, bool all, tsr_error *error)
{
	const Slot *slot;
	int code = TSR_OK;
	for (int32_t d = 0; d < s->module->ndims; d++)
		if (!s->dims[d].given)
			s->values[d] = -1;
	for (int32_t k = 0; code == TSR_OK && (slot = given(s, k)) != NULL; k++)
		if (counts(s, slot, all))
			code = bind_plain(s, slot, error);
	for (bool changed = code == TSR_OK; changed && code == TSR_OK;) {
		changed = false;
		for (int32_t k = 0; code == TSR_OK && (slot = given(s, k)) != NULL; k++)
			if (counts(s, slot, all))
				code = bind_linear(s, slot, &changed, error);
	}
	return code == TSR_OK ? check_minimum(s, error) : code;
}

int session_resolve(tsr_session *s, tsr_error *error) { return resolve(s, true, error); }
int session_resolve_file(tsr_session *s, tsr_error *error) { return resolve(s, false, error); }

/* " (n is 4 by axis 0 of input 'x')" for the first dim in the size; "" when it has none. */
static void because(const tsr_session *s, const tsr_size *size, char *text, size_t room)
{
	text[0] = '\0';
	for (int64_t i = 0; i < size->n; i++)
		if (size->code[2 * i] == TSR_SIZE_DIM) {
			int64_t dim = size->code[2 * i + 1];
			snprintf(text, room, " (%s is %lld by %s)", s->module->dims[dim].name,
				 (long long)s->values[dim], s->dims[dim].by);
			return;
		}
}

static int not_computed(const tsr_session *s, const Slot *slot, int axis, tsr_error *error)
{
	int code = session_check_guards(s, error);
	return code != TSR_OK ? code
			      : session_fail(error, TSR_FAIL_DIM,
					     "%s '%s': the size %s of axis %d cannot be computed "
					     "from the dims given",
					     slot->role, slot->tensor->name,
					     slot->tensor->sizes[axis].text, axis);
}

static int other_extent(const tsr_session *s, const Slot *slot, const tsr_array *array, int axis,
			tsr_error *error)
{
	const tsr_size *size = &slot->tensor->sizes[axis];
	int64_t value = 0;
	char expected[300], came[200], why[240];
	tsr_size_value(size, s->module, s->values, &value);
	session_tensor_text(slot->tensor, expected, sizeof expected);
	extents_text(array->extents, array->rank, came, sizeof came);
	because(s, size, why, sizeof why);
	return session_fail(error, TSR_FAIL_TYPE,
			    "%s '%s': axis %d must be %lld%s, not %lld: expected %s, came %s %s",
			    slot->role, slot->tensor->name, axis, (long long)value, why,
			    (long long)array->extents[axis], expected, array->dtype, came);
}

int slot_check_known(const tsr_session *s, const Slot *slot, const tsr_array *array,
		     tsr_error *error)
{
	int code = slot_check_type(slot, array, error);
	for (int axis = 0; code == TSR_OK && axis < array->rank; axis++) {
		int64_t value;
		const tsr_size *size = &slot->tensor->sizes[axis];
		if (tsr_size_value(size, s->module, s->values, &value) != TSR_OK || value < 0 ||
		    value == array->extents[axis])
			continue;
		code = is_one_dim(size) ? conflict(s, slot, array, axis, error)
				      : other_extent(s, slot, array, axis, error);
	}
	return code;
}

static int check_slot(const tsr_session *s, const Slot *slot, tsr_error *error)
{
	for (int axis = 0; axis < slot->array.rank; axis++) {
		int64_t value;
		if (tsr_size_value(&slot->tensor->sizes[axis], s->module, s->values, &value) !=
			    TSR_OK ||
		    value < 0)
			return not_computed(s, slot, axis, error);
		if (value != slot->array.extents[axis])
			return other_extent(s, slot, &slot->array, axis, error);
	}
	return TSR_OK;
}

int session_check_params(const tsr_session *s, tsr_error *error)
{
	for (int32_t k = 0; k < s->module->nparams; k++) {
		int code = s->params[k].set ? check_slot(s, &s->params[k], error) : TSR_OK;
		if (code != TSR_OK)
			return code;
	}
	return TSR_OK;
}

int session_check_extents(const tsr_session *s, tsr_error *error)
{
	const Slot *slot;
	for (int32_t k = 0; (slot = given(s, k)) != NULL; k++) {
		int code = slot->set ? check_slot(s, slot, error) : TSR_OK;
		if (code != TSR_OK)
			return code;
	}
	return TSR_OK;
}
