/* Casts to floats of sums of small integers: these are made of floats themselves.
 *
 *   f32(i32(w[i]) - 8)    becomes    f32(w[i]) - 8
 *
 * Every number on the way is a whole one that the float holds, so nothing is rounded, and loops in lanes
 * have one type. Products are not: one of 0 and a negative number would be -0.
 */
#include "base/dtype.h"
#include "loops/build.h"

typedef struct Range {
	int64_t least, most;
} Range;

enum { DEPTH = 8, MOST = 1 << 24 }; /* of f32; f64 holds more */

static bool find_range(const Value *value, int depth, Range *range);

static bool find_op_range(const Value *value, int depth, Range *range)
{
	Range a, b;
	if (value->nargs != 2 || !find_range(value->args[0], depth, &a) ||
	    !find_range(value->args[1], depth, &b))
		return false;
	switch (value->op) {
	case OP_ADD: *range = (Range){a.least + b.least, a.most + b.most}; return true;
	case OP_SUB: *range = (Range){a.least - b.most, a.most - b.least}; return true;
	default: return false;
	}
}

/* Between which numbers of at most MOST is it? false: not known. */
static bool find_range(const Value *value, int depth, Range *range)
{
	bool known = false;
	Dtype dtype = value->kind == VALUE_CAST ? value->args[0]->dtype : value->dtype;
	if (depth == 0 || !dtype_is_integer(value->dtype))
		return false;
	if (value->kind == VALUE_CONST) {
		*range = (Range){value->constant.i, value->constant.i};
		known = true;
	} else if (value->kind == VALUE_OP) {
		known = find_op_range(value, depth - 1, range);
	} else if (dtype_wide(dtype) == DTYPE_I32 && dtype != DTYPE_I32 &&
		   dtype_wide(value->dtype) == DTYPE_I32) {
		*range = (Range){op_neutral(OP_MAX, dtype).i, op_neutral(OP_MIN, dtype).i};
		known = true;
	}
	return known && range->least >= -MOST && range->most <= MOST;
}

static const Value *as_float(Arena *arena, Dtype dtype, const Value *value)
{
	if (value->kind == VALUE_CAST)
		return value_cast(arena, dtype, value->args[0]);
	if (value->kind != VALUE_OP)
		return value_cast(arena, dtype, value);
	const Value *args[2];
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = as_float(arena, dtype, value->args[i]);
	return value_op(arena, value->op, dtype, args, value->nargs);
}

const Value *value_exact_float(Arena *arena, Dtype dtype, const Value *value)
{
	Range range;
	if ((dtype != DTYPE_F32 && dtype != DTYPE_F64) || value->dtype != DTYPE_I32 ||
	    (value->kind != VALUE_OP && value->kind != VALUE_CAST) ||
	    !find_range(value, DEPTH, &range))
		return NULL;
	return as_float(arena, dtype, value);
}
