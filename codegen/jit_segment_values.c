/* Locals in registers, read and set: the variables of their segments, and lanes that are parts of several. */
#include "codegen/jit_function.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_segments.h"

int64_t jit_fixed_ix(const KernelJit *k, const Ix *ix)
{
	switch (ix->kind) {
	case IX_SIZE: return jit_constant_ix(k, ix);
	case IX_ITER: REQUIRE(k->fixed[ix->iter]); return k->at[ix->iter];
	case IX_ADD: return jit_fixed_ix(k, ix->a) + jit_fixed_ix(k, ix->b);
	case IX_MUL: return jit_fixed_ix(k, ix->a) * jit_fixed_ix(k, ix->b);
	case IX_DIV: return jit_fixed_ix(k, ix->a) / jit_fixed_ix(k, ix->b);
	case IX_MOD: return jit_fixed_ix(k, ix->a) % jit_fixed_ix(k, ix->b);
	default: BUG("kernel %s: an index of registers that is no constant", k->kernel->name);
	}
}

Lvalue **jit_row_segments(const KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const KernelLocal *l = &k->kernel->locals[local];
	int64_t row = 0;
	for (uint32_t i = 0; i + 1 < nixs; i++)
		row = row * l->extent[i] + jit_fixed_ix(k, ixs[i]);
	REQUIRE(row >= 0 && row < jit_local_rows(l));
	return k->registers[local].segments + row * k->registers[local].nsegments;
}

Segment jit_find_segment(const KernelJit *k, LocalId local, int64_t lane)
{
	const Registers *r = &k->registers[local];
	Segment c = {0};
	REQUIRE(lane >= 0 && lane < r->extent);
	for (;;) {
		c.log = r->lanes ? jit_segment_log(k, k->kernel->locals[local].dtype, c.at,
						   r->extent)
				 : 0;
		if (lane < c.at + (1 << c.log))
			return c;
		c.at += 1 << c.log;
		c.index++;
	}
}

Lvalue *jit_lane_array(KernelJit *k, Dtype dtype, int n)
{
	Jit *jit = k->f.jit;
	char name[16];
	snprintf(name, sizeof name, "lanes%u", k->f.ntemps++);
	Type *type = gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->types[dtype], n);
	Lvalue *array = jit_local(&k->f, type, name);
	gcc_jit_lvalue_set_alignment(array, 64);
	return array;
}

Lvalue *jit_lane_element(KernelJit *k, Lvalue *array, Rvalue *lane)
{
	return gcc_jit_context_new_array_access(k->f.jit->ctxt, k->f.location,
						gcc_jit_lvalue_as_rvalue(array), lane);
}

Lvalue *jit_lanes_at(KernelJit *k, Lvalue *element, Dtype dtype, int log)
{
	if (log == 0)
		return element;
	Type *type = gcc_jit_type_get_aligned(jit_segment_type(k, dtype, log),
					      (size_t)dtype_bytes(dtype));
	Rvalue *address = gcc_jit_lvalue_get_address(element, NULL);
	address = jit_cast(k->f.jit, address, gcc_jit_type_get_pointer(type));
	return gcc_jit_rvalue_dereference(address, k->f.location);
}

Rvalue *jit_lane_number(KernelJit *k, int64_t lane)
{
	return jit_long(k->f.jit, k->f.jit->i64, lane);
}

Rvalue *jit_local_lanes(KernelJit *k, const Value *value, int64_t lane, int log)
{
	Lvalue **segments = jit_row_segments(k, value->local, value->ixs, value->nixs);
	Segment c = jit_find_segment(k, value->local, lane);
	if (c.at == lane && c.log == log)
		return gcc_jit_lvalue_as_rvalue(segments[c.index]);
	int64_t first = c.at;
	Lvalue *array = jit_lane_array(k, value->dtype, (int)k->registers[value->local].extent);
	for (;;) {
		Lvalue *place = jit_lane_element(k, array, jit_lane_number(k, c.at - first));
		jit_set(&k->f, jit_lanes_at(k, place, value->dtype, c.log),
			gcc_jit_lvalue_as_rvalue(segments[c.index]));
		int64_t next = c.at + (1 << c.log);
		if (next >= lane + (1 << log))
			break;
		c = jit_find_segment(k, value->local, next);
	}
	Lvalue *place = jit_lane_element(k, array, jit_lane_number(k, lane - first));
	return gcc_jit_lvalue_as_rvalue(jit_lanes_at(k, place, value->dtype, log));
}

RegisterLane jit_register_lane(const KernelJit *k, const Value *value)
{
	int64_t lane = jit_fixed_ix(k, value->ixs[value->nixs - 1]);
	Lvalue **segments = jit_row_segments(k, value->local, value->ixs, value->nixs);
	Segment c = jit_find_segment(k, value->local, lane);
	return (RegisterLane){segments[c.index], lane - c.at, c.log};
}

Rvalue *jit_vector_element(KernelJit *k, const Value *value)
{
	REQUIRE(value->nixs > 0);
	return jit_local_lanes(k, value, jit_fixed_ix(k, value->ixs[value->nixs - 1]), 0);
}

Lvalue *jit_vector_scalar(KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	REQUIRE(nixs > 0 && !k->registers[local].lanes);
	return jit_row_segments(k, local, ixs, nixs)[jit_fixed_ix(k, ixs[nixs - 1])];
}

Rvalue *jit_lanes_of(KernelJit *k, Dtype dtype, int log, Rvalue **elements)
{
	if (log == 0)
		return elements[0];
	return jit_keep(&k->f,
			gcc_jit_context_new_rvalue_from_vector(k->f.jit->ctxt, k->f.location,
							       jit_segment_type(k, dtype, log),
							       (size_t)1 << log, elements));
}

Rvalue *jit_spread_lanes(KernelJit *k, Rvalue *value, Dtype dtype, int log)
{
	if (log == 0)
		return value;
	Rvalue *lanes[1 << VECTOR_LOGS];
	for (int i = 0; i < 1 << log; i++)
		lanes[i] = value;
	return jit_lanes_of(k, dtype, log, lanes);
}
