/* What vector instructions compute of values: operations, and conversions of what is loaded. */
#include "lower/gen/lane_values.h"

bool op_has_lanes(Op op, Dtype dtype)
{
	if (dtype_is_float(dtype))
		return op_is_simple(op);
	return dtype == DTYPE_I32 && (op == OP_ADD || op == OP_SUB || op == OP_MUL);
}

bool value_widens(const Value *value)
{
	return value->kind == VALUE_CAST && value->args[0]->kind == VALUE_LOAD &&
	       dtype_wide(value->args[0]->dtype) == value->dtype;
}

bool value_converts(const Value *value)
{
	if (value->kind != VALUE_CAST || value->args[0]->kind != VALUE_LOAD)
		return false;
	return conversion_in_lanes(value->args[0]->dtype, value->dtype);
}

bool conversion_in_lanes(Dtype from, Dtype to)
{
	bool integer = dtype_wide(from) == DTYPE_I32;
	if (from == DTYPE_BOOL) /* a comparison */
		return false;
	return dtype_wide(from) == to || (to == DTYPE_F32 && integer) ||
	       (to == DTYPE_F64 && (from == DTYPE_F32 || from == DTYPE_I32));
}

/* Is it a whole number that lanes compute of what they read? */
static bool is_integral(const Value *value)
{
	bool is = value->dtype == DTYPE_I32;
	if (value->kind != VALUE_OP)
		return is && (value->kind == VALUE_LOAD || value->kind == VALUE_CONST ||
			      value_widens(value));
	is = is && op_has_lanes(value->op, DTYPE_I32);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = is_integral(value->args[i]);
	return is;
}

bool value_casts_in_lanes(const Value *value)
{
	return value_converts(value) ||
	       (value->kind == VALUE_CAST && value->dtype == DTYPE_F32 &&
		value->args[0]->kind == VALUE_OP && is_integral(value->args[0]));
}
