/* The value of a size, of an expression and of an element: the leaves of the interpreter. Every
 * load and store is checked against the buffer's elements; leaving them is a bug of the compiler.
 */
#include <inttypes.h>
#include <string.h>

#include "base/size_eval.h"
#include "codegen/interp_race.h"

int64_t interp_size(Interp *in, Size size)
{
	if (size.id < in->nsizes && in->known[size.id])
		return in->sizes[size.id];
	int64_t value;
	if (!size_eval(in->program->sizes, size, in->dims, &value))
		BUG("kernel %s: a size has no value", in->kernel ? in->kernel->name : "-");
	if (size.id < in->nsizes) {
		in->known[size.id] = true;
		in->sizes[size.id] = value;
	}
	return value;
}

Scalar *interp_local(Interp *in, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const KernelLocal *k = &in->kernel->locals[local];
	int64_t at = 0;
	for (uint32_t i = 0; i < nixs; i++) {
		int64_t index = interp_ix(in, ixs[i]);
		if (index < 0 || index >= k->extent[i])
			BUG("kernel %s: local %s is read at %" PRId64, in->kernel->name, k->name,
			    index);
		at = at * k->extent[i] + index;
	}
	return &in->locals[local][at];
}

static Scalar load(Interp *in, BufferId buffer, int64_t at)
{
	Scalar value = interp_load(in, buffer, at);
	if (in->race)
		race_touch(in->race, buffer, at, false);
	return value;
}

Scalar interp_value(Interp *in, const Value *value)
{
	Scalar args[3], sum;
	switch (value->kind) {
	case VALUE_LOAD: return load(in, value->buffer, interp_ix(in, value->ix));
	case VALUE_LOCAL: return *interp_local(in, value->local, value->ixs, value->nixs);
	case VALUE_CONST: return value->constant;
	case VALUE_OP:
		if (in->exact && value->nargs == 2 &&
		    interp_exact_sum(in, value->op, value->args[0], value->args[1], args[0], &sum))
			return sum;
		for (uint32_t i = 0; i < value->nargs; i++)
			args[i] = interp_value(in, value->args[i]);
		return in->exact ? interp_exact_op(in->exact, value->op, value->dtype, args)
				 : interp_op(value->op, value->dtype, args);
	case VALUE_FAR: return (Scalar){.i = 0};
	case VALUE_CAST:
		return scalar_convert(interp_value(in, value->args[0]), value->args[0]->dtype,
				      value->dtype);
	case VALUE_KEY: return scalar_key(interp_value(in, value->args[0]), value->args[0]->dtype);
	case VALUE_INDEX:
		return scalar_convert((Scalar){.i = interp_ix(in, value->ix)}, DTYPE_I64,
				      value->dtype);
	case VALUE_SCALAR: return in->scalars[value->scalar];
	}
	BUG("a value of kind %d", (int)value->kind);
}

/* ---- elements ---- */

static const InterpBuffer *element(const Interp *in, BufferId buffer, int64_t at)
{
	const InterpBuffer *place = &in->buffers[buffer];
	if (at < 0 || at >= place->elements)
		BUG("kernel %s: %s[%" PRId64 "] of %" PRId64 " elements", in->kernel->name,
		    in->program->buffers.at[buffer].name, at, place->elements);
	return place;
}

Scalar interp_load(const Interp *in, BufferId buffer, int64_t at)
{
	Dtype dtype = in->program->buffers.at[buffer].dtype;
	const void *bytes = element(in, buffer, at)->bytes;
	if (dtype == DTYPE_F32) /* as scalar_read; most elements are */
		return (Scalar){.f = (double)((const float *)bytes)[at]};
	return scalar_read(dtype, bytes, at);
}

void interp_store(const Interp *in, BufferId buffer, int64_t at, Scalar value)
{
	const Buffer *to = &in->program->buffers.at[buffer];
	scalar_write(buffer_stored(to), element(in, buffer, at)->bytes,
		     dtype_is_packed(to->dtype) ? at / 2 : at, value);
}
