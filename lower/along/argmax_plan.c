/* How the greatest element of each line is looked for (argmax.c). */
#include "lower/along/lines_plan.h"

enum { LEAST = 64 }; /* elements of a long axis */

/* Has the axis, or the last outer one, enough elements that lie in memory as vectors? */
static bool lanes_help(const Lines *l, IterVar along, IterVar var, Size extent)
{
	Body body = {0};
	int64_t n;
	if (size_is_const(l->sizes, extent, &n) && n < LEAST)
		return false;
	const Value *value = lines_wide_element(l, lines_at(l, along), &body);
	return body.stmts.n == 0 && lines_go_on(l, var, value);
}

/* Do vector instructions compute it? */
static bool is_vector(const Value *value)
{
	bool plain = value->kind == VALUE_LOAD || value->kind == VALUE_CONST ||
		     (value->kind == VALUE_OP && op_is_simple(value->op));
	for (uint32_t i = 0; i < value->nargs; i++)
		plain = plain && is_vector(value->args[i]);
	return plain && dtype_is_float(value->dtype);
}

ArgmaxPlan argmax_plan(const Lines *l)
{
	ArgmaxPlan plan = {.parts = BUFFER_NONE};
	int64_t n;
	if (!l->axis)
		return plan;
	bool known = size_is_const(l->sizes, l->extent, &n);
	plan.var = lines_iter(l, l->axis);
	plan.in_lanes = lanes_help(l, plan.var, plan.var, l->extent);
	plan.in_parts = l->nouter == 0 && plan.in_lanes && (!known || n >= 2 * ARGMAX_PART);
	if (plan.in_parts) {
		Body unused = {0};
		plan.parts = l->temporary(l->of, "parts", dtype_wide(l->from),
					  size_ceil(l->sizes, l->extent, ARGMAX_PART), true);
		plan.in_vectors = is_vector(lines_wide_element(l, lines_at(l, plan.var), &unused));
	}
	plan.columns =
		!plan.in_lanes && l->nouter > 0 &&
		lanes_help(l, plan.var, l->outer[l->nouter - 1]->iter, l->extents[l->nouter - 1]);
	return plan;
}
