/* Choices between lanes, in C: comparisons give lanes of all bits or none, which choose bits. */
#include "codegen/c_lanes.h"

const char *c_lanes_declared(LanesText *l, const char *type)
{
	const char *name = c_kernel_temp(l->k);
	c_kernel_indent(l->k);
	fprintf(l->k->out, "%s %s;\n", type, name);
	return name;
}

const char *c_lanes_named(LanesText *l, const char *text)
{
	KernelText *k = l->k;
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "const %s %s = %s;\n", l->type, name, text);
	return name;
}

/* x - 0 is x, of either sign. */
const char *c_lanes_spread(LanesText *l, const char *text)
{
	if (dtype_bytes(l->dtype) < dtype_bytes(DTYPE_F32)) /* which C would promote */
		text = arena_printf(l->k->arena, "(int%d_t)%s", 8 * (int)dtype_bytes(l->dtype),
				    text);
	return arena_printf(l->k->arena, "%s - (%s){0}", text, l->type);
}

static const char *chosen(LanesText *l, const char *condition, const char *yes, const char *no)
{
	return arena_printf(l->k->arena, "TSR_CHOOSE(%s, %s, %s, %s, %s)", l->type, l->integer,
			    condition, yes, no);
}

/* x where the condition holds, else 0. */
static const char *gated(LanesText *l, const char *condition, const char *x)
{
	return arena_printf(l->k->arena, "(%s)((%s) & (%s)%s)", l->type, condition, l->integer, x);
}

/* x where it is not below 0, else 0. */
static const char *positive_part(LanesText *l, const char *x)
{
	return gated(l, arena_printf(l->k->arena, "~(%s < 0)", x), x);
}

/* 1 where the condition holds, else 0. */
static const char *truth(LanesText *l, const char *condition)
{
	return gated(l, condition, c_lanes_named(l, c_lanes_spread(l, "1")));
}

static const char *root(LanesText *l, const char *x)
{
	l->k->m->c_vectors->helped |= (uint64_t)1 << l->lanes;
	return arena_printf(l->k->arena, "TSR_ROOT_%d(%s)", l->lanes, x);
}

/* max(x, y), min(x, y): x where that is no number. */
static const char *either(LanesText *l, Op op, const char *x, const char *y)
{
	Arena *arena = l->k->arena;
	if (l->dtype != DTYPE_F32)
		return chosen(l,
			      arena_printf(arena, "(%s %s %s) | (%s != %s)", x,
					   op == OP_MAX ? ">" : "<", y, x, x),
			      x, y);
	l->k->m->c_vectors->helped |= (uint64_t)1 << l->lanes;
	return arena_printf(arena, "TSR_%s_%d(%s, %s)", op == OP_MAX ? "MOST" : "LEAST", l->lanes,
			    x, y);
}

/* Conditions on vectors x and y that are names; NULL: the operation is none. */
static const char *condition(LanesText *l, Op op, const char *x, const char *y)
{
	Arena *arena = l->k->arena;
	switch (op) {
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_EQ:
	case OP_NE: return arena_printf(arena, "%s %s %s", x, op_symbol(op), y);
	case OP_AND: return arena_printf(arena, "(%s != 0) & (%s != 0)", x, y);
	case OP_OR: return arena_printf(arena, "(%s != 0) | (%s != 0)", x, y);
	case OP_NOT: return arena_printf(arena, "%s == 0", x);
	case OP_ISNAN: return arena_printf(arena, "%s != %s", x, x);
	case OP_ISINF: return arena_printf(arena, "(%s == %s) & (%s - %s != 0)", x, x, x, x);
	default: return NULL;
	}
}

const char *c_lanes_choice(LanesText *l, Op op, const char *x, const char *y, const char *z)
{
	Arena *arena = l->k->arena;
	const char *holds = condition(l, op, x, y);
	if (holds)
		return truth(l, holds);
	switch (op) {
	case OP_MAX:
	case OP_MIN: return either(l, op, x, y);
	case OP_RELU: return positive_part(l, x);
	case OP_SAT01:
		return chosen(l, arena_printf(arena, "%s > 1", x),
			      c_lanes_named(l, c_lanes_spread(l, "1")), positive_part(l, x));
	case OP_RELU_GATE: return gated(l, arena_printf(arena, "%s > 0", x), y);
	case OP_SAT01_GATE: return gated(l, arena_printf(arena, "(%s > 0) & (%s < 1)", x, x), y);
	case OP_WHERE: return chosen(l, arena_printf(arena, "%s != 0", x), y, z);
	case OP_ABS:
		return arena_printf(arena, "(%s)((%s)%s & %s)", l->type, l->integer, x,
				    l->dtype == DTYPE_F32 ? "INT32_MAX" : "INT64_MAX");
	case OP_SIGN:
		return arena_printf(arena, "(%s - %s)", truth(l, arena_printf(arena, "%s > 0", x)),
				    truth(l, arena_printf(arena, "%s < 0", x)));
	case OP_SQRT: return root(l, x);
	case OP_RSQRT: return arena_printf(arena, "(1 / %s)", root(l, x));
	default: BUG("vectors of C for %s", op_name(op));
	}
}

/* x < y where both are numbers is one comparison. */
static bool is_number(const Value *value)
{
	return value->kind == VALUE_CONST && value->constant.f == value->constant.f;
}

const char *c_lanes_extreme(LanesText *l, Op op, const char *x, const char *y, const Value *second)
{
	if (!is_number(second))
		return c_lanes_choice(l, op, x, y, NULL);
	const char *symbol = op == OP_MAX ? "<=" : ">=";
	return chosen(l, arena_printf(l->k->arena, "%s %s %s", x, symbol, y), y, x);
}

const char *c_lanes_less_or_greater(LanesText *l, bool less, const char *x, const char *y)
{
	Arena *arena = l->k->arena;
	if (l->dtype != DTYPE_F32)
		return chosen(l, arena_printf(arena, "%s %s %s", x, less ? "<" : ">", y), x, y);
	l->k->m->c_vectors->helped |= (uint64_t)1 << l->lanes;
	return arena_printf(arena, "TSR_%s_%d(%s, %s)", less ? "LESSER" : "GREATER", l->lanes, x,
			    y);
}
