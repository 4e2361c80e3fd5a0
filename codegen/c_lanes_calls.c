/* Functions of lanes in C: one vector in place, or two side by side:
 *
 *   for (int64_t lane = 0; lane < 64; lane += 32) {
 *           tsr_f32x16 tsr_t0[2] = {x_0, x_1};        the vectors at `lane` and `lane + 16`
 *           tsr_exp_2_f32x16(tsr_t0);
 *           y_0 = tsr_t0[0];
 *           y_1 = tsr_t0[1];
 *   }
 *
 * A statement is written for both vectors before the next one.
 */
#include "codegen/c_lanes.h"

bool c_lanes_call_fits(const LanesText *l, const Value *value)
{
	return value->kind == VALUE_OP && value->dtype == DTYPE_F32 &&
	       c_has_lanes(l->k->m, value->op);
}

static bool has_calls(const LanesText *l, const Value *value)
{
	bool has = c_lanes_call_fits(l, value);
	for (uint32_t i = 0; i < value->nargs && !has; i++)
		has = has_calls(l, value->args[i]);
	return has;
}

bool c_lanes_has_calls(const LanesText *l)
{
	for (uint32_t i = 0; i < l->loop->body.n; i++)
		if (has_calls(l, l->loop->body.stmts[i]->value))
			return true;
	return false;
}

static void put_call(LanesText *l, Op op, const char *name)
{
	KernelText *k = l->k;
	c_kernel_indent(k);
	fprintf(k->out, "%s(%s%s);\n", c_lanes_function(k->arena, op, l->lanes, l->vectors),
		l->vectors == 1 ? "&" : "", name);
	k->m->c_vectors->math[op][l->vectors - 1] |= (uint64_t)1 << l->lanes;
}

const char *c_lanes_call(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const char *arg = c_lanes_value(l, value->args[0]);
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "%s %s = %s;\n", l->type, name, arg);
	put_call(l, value->op, name);
	return name;
}

/* ---- side by side ---- */

static void leave(LanesText *l)
{
	l->names[l->at] = l->k->names;
	l->locals[l->at] = l->k->locals;
}

void c_lanes_enter(LanesText *l, uint32_t vector)
{
	leave(l);
	l->at = vector;
	l->k->names = l->names[vector];
	l->k->locals = l->locals[vector];
	l->k->iters[l->loop->iter] = l->lane[vector];
}

/* The names of the locals that the loop declares, of another vector than the first. */
static const char **own_names(LanesText *l)
{
	KernelText *k = l->k;
	const char **names = ARENA_ARRAY(k->arena, const char *, k->kernel->nlocals + 1);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		names[i] = l->own[i] ? c_kernel_temp(k) : k->locals[i];
	return names;
}

void c_lanes_begin(LanesText *l, uint32_t vectors)
{
	KernelText *k = l->k;
	l->vectors = vectors;
	l->lane[0] = k->iters[l->loop->iter];
	for (uint32_t i = 1; i < vectors; i++) {
		l->names[i] = (PointerMap){.arena = k->arena};
		l->locals[i] = own_names(l);
		l->lane[i] = arena_printf(k->arena, "(%s + %u)", l->lane[0],
					  i * (uint32_t)l->lanes);
	}
}

void c_lanes_end(LanesText *l)
{
	c_lanes_enter(l, 0);
	l->vectors = 1;
}

static void put_together(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const char *name = c_kernel_temp(k), *args = "";
	for (uint32_t i = 0; i < l->vectors; i++) {
		c_lanes_enter(l, i);
		args = arena_printf(k->arena, "%s%s%s", args, i ? ", " : "",
				    c_lanes_value(l, value->args[0]));
	}
	c_kernel_indent(k);
	fprintf(k->out, "%s %s[%u] = {%s};\n", l->type, name, l->vectors, args);
	put_call(l, value->op, name);
	for (uint32_t i = 0; i < l->vectors; i++) {
		c_lanes_enter(l, i);
		*pointer_map_at(&k->names, value) =
			(uint64_t)(uintptr_t)arena_printf(k->arena, "%s[%u]", name, i);
	}
	c_lanes_enter(l, 0);
}

static void put_calls(LanesText *l, const Value *value)
{
	if (!c_lanes_vary(l, value) || *pointer_map_at(&l->k->names, value))
		return;
	for (uint32_t i = 0; i < value->nargs; i++)
		put_calls(l, value->args[i]);
	if (c_lanes_call_fits(l, value))
		put_together(l, value);
}

void c_lanes_calls(LanesText *l, const Value *value)
{
	for (uint32_t i = 1; i < l->vectors; i++)
		pointer_map_clear(&l->names[i]);
	c_lanes_enter(l, 0);
	c_kernel_count(l->k, value);
	if (l->vectors > 1)
		put_calls(l, value);
}
