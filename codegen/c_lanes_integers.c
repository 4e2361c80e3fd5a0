/* Whole numbers of lanes in C that are cast to f32: vectors of uint32_t, whose operations wrap.
 *
 *   vector lane in 0..16: acc[lane] += f32(i32(w[k*16 + lane]) - zero[lane]) * x[k]
 *
 *   *(tsr_f32x16 *)&acc[lane] += __builtin_convertvector((tsr_i32x16)(
 *           (tsr_u32x16)TSR_CONVERT_I8_16(&w[k * 16 + lane]) -
 *           (tsr_u32x16)*(const tsr_i32x16 *)&zero[lane]), tsr_f32x16) * x[k];
 */
#include "codegen/c_lanes.h"

static bool is_integer_op(Op op) { return op == OP_ADD || op == OP_SUB || op == OP_MUL; }

static bool is_neighbour(const LanesText *l, const Value *load)
{
	return load->kind == VALUE_LOAD &&
	       c_lanes_of_buffer(l, load->buffer, load->ix) == PLACE_NEIGHBOURS;
}

static bool fits(const LanesText *l, const Value *value)
{
	if (value->dtype != DTYPE_I32)
		return false;
	if (!c_lanes_vary(l, value) || is_neighbour(l, value))
		return true;
	if (value->kind == VALUE_CAST)
		return c_lanes_is_packed(l, value) ||
		       (c_vector_casts(value->args[0]->dtype, DTYPE_I32) &&
			is_neighbour(l, value->args[0]));
	bool is = value->kind == VALUE_OP && is_integer_op(value->op);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = fits(l, value->args[i]);
	return is;
}

bool c_lanes_integers_fit(const LanesText *l, const Value *cast)
{
	const Value *from = cast->args[0];
	return cast->dtype == DTYPE_F32 && !l->loop->lanes && from->kind == VALUE_OP &&
	       c_lanes_vary(l, from) && fits(l, from);
}

/* What is read: a vector of int32_t. */
static const char *leaf_text(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const Value *load = value->kind == VALUE_CAST ? value->args[0] : value;
	if (value->kind == VALUE_CAST && c_lanes_is_packed(l, value))
		return c_lanes_packed_integers(l, load);
	const char *element = c_buffer_element(k, load->buffer, load->ix);
	return value->kind == VALUE_CAST
		       ? c_vector_cast(k->m, load->dtype, DTYPE_I32, l->lanes, element)
		       : arena_printf(k->arena, "*(const %s *)&%s", l->integer, element);
}

/* A vector of uint32_t, or one number that is the same in all lanes. */
static const char *text_of(LanesText *l, const Value *value)
{
	Arena *arena = l->k->arena;
	static const char *const marks[OP_COUNT] = {[OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*"};
	if (!c_lanes_vary(l, value))
		return arena_printf(arena, "(uint32_t)%s", c_lanes_value(l, value));
	if (value->kind != VALUE_OP)
		return arena_printf(arena, "(tsr_u32x%d)%s", l->lanes, leaf_text(l, value));
	const char *a = text_of(l, value->args[0]), *b = text_of(l, value->args[1]);
	return arena_printf(arena, "(%s %s %s)", a, marks[value->op], b);
}

const char *c_lanes_integers(LanesText *l, const Value *cast)
{
	return arena_printf(l->k->arena, "__builtin_convertvector((%s)%s, %s)", l->integer,
			    text_of(l, cast->args[0]), l->type);
}
