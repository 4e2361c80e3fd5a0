/* What lanes have no single instruction for: functions such as exp as the steps of math.h, in
 * several vectors at once (jit_math_lanes.c), and anything else lane by lane through a small array.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_segments.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_math_lanes.h"

Rvalue *jit_lane_by_lane(Lanes *l, const Value *value)
{
	KernelJit *k = l->k;
	JitFunction *f = &k->f;
	Lvalue *args[3], *result = jit_lane_array(k, value->dtype, 1 << l->log);
	for (uint32_t i = 0; i < value->nargs; i++) {
		Rvalue *arg = jit_lanes_value(l, value->args[i]);
		args[i] = jit_lane_array(k, value->args[i]->dtype, 1 << l->log);
		Lvalue *all = jit_lane_element(k, args[i], jit_lane_number(k, 0));
		jit_set(f, jit_lanes_at(k, all, value->args[i]->dtype, l->log), arg);
	}
	Lvalue *lane = jit_local(f, f->jit->i64, "lane");
	Rvalue *here = gcc_jit_lvalue_as_rvalue(lane), *elements[3];
	JitLoop loop = jit_loop(f, lane, jit_lane_number(k, 0), jit_lane_number(k, 1 << l->log), 1);
	for (uint32_t i = 0; i < value->nargs; i++)
		elements[i] =
			jit_keep(f, gcc_jit_lvalue_as_rvalue(jit_lane_element(k, args[i], here)));
	Rvalue *element;
	if (value->kind == VALUE_INDEX) {
		Rvalue *index =
			jit_binary(f, GCC_JIT_BINARY_OP_PLUS, jit_kernel_ix(k, value->ix), here);
		element = jit_convert(f, jit_keep(f, index), DTYPE_I64, value->dtype);
	} else if (value->kind == VALUE_CAST) {
		element = jit_convert(f, elements[0], value->args[0]->dtype, value->dtype);
	} else {
		f->fast_path = value->fast_path;
		element = jit_op(f, value->op, value->dtype, elements);
		f->fast_path = false;
	}
	jit_set(f, jit_lane_element(k, result, here), element);
	jit_end_loop(f, &loop);
	return jit_load_lanes(l,
			      jit_lanes_at(k, jit_lane_element(k, result, jit_lane_number(k, 0)),
					   value->dtype, l->log),
			      value->dtype);
}

bool jit_is_lanes_call(const KernelJit *k, const Value *value)
{
	return value->kind == VALUE_OP && jit_math_has_lanes(k->f.jit, value->op, value->dtype);
}

void jit_lanes_enter(Lanes *l, uint32_t part)
{
	l->part = &l->parts[part];
	l->k->at[l->loop->iter] = l->at = l->part->at;
}

bool jit_is_lane_number(const Lanes *l, const Value *value)
{
	bool wide = dtype_is_float(value->dtype) && dtype_wide(value->dtype) == value->dtype;
	return value->kind == VALUE_INDEX && value->ix->kind == IX_ITER && wide &&
	       value->ix->iter == l->loop->iter && l->k->fixed[value->ix->iter];
}

/* Is the value the same whether lanes behind the last one are there or not? Registers must have
 * them, up to `end`; memory is read with the mask. */
static bool fits_masked(const Lanes *l, const Value *value, Dtype dtype, int64_t end)
{
	const Registers *r = value->kind == VALUE_LOCAL ? &l->k->registers[value->local] : NULL;
	if (!jit_lanes_vary(l, value))
		return true;
	if (value->dtype != dtype || (r && (value->nixs == 0 || !r->used || r->extent < end ||
					    value->ixs[value->nixs - 1]->kind != IX_ITER ||
					    jit_is_transposed(l->loop, value->ixs, value->nixs) ||
					    jit_is_gathered(l->loop, value->ixs, value->nixs))))
		return false;
	bool fits = r || value->kind == VALUE_LOAD || jit_is_lane_number(l, value) ||
		    (value->kind == VALUE_OP && op_is_simple(value->op));
	for (uint32_t i = 0; i < value->nargs && fits; i++)
		fits = fits_masked(l, value->args[i], dtype, end);
	return fits;
}

bool jit_lanes_mask(Lanes *l, const Stmt *stmt, int64_t at, int64_t extent)
{
	KernelJit *k = l->k;
	Dtype dtype = stmt->value->dtype;
	int log = jit_segment_log(k, dtype, 0, 1 << VECTOR_LOGS);
	int64_t rest = extent - at, one = (int64_t)1 << jit_segment_log(k, dtype, at, extent);
	int64_t lo = jit_constant_ix(k, l->loop->lo), before = lo & (((int64_t)1 << log) - 1);
	bool plain = k->f.jit->simd == CPU_AVX512 && stmt->kind == LOOP_STORE &&
		     dtype_is_float(dtype) && dtype_wide(dtype) == dtype &&
		     (stmt->acc == OP_NONE || op_is_simple(stmt->acc)) &&
		     (lo == 0 || (at == 0 && jit_lanes_strided(l, stmt->ix) == 1));
	if (!plain || (one == rest && lo == 0) || before + rest > (int64_t)1 << log ||
	    rest == (int64_t)1 << log ||
	    !fits_masked(l, stmt->value, dtype, lo - before + at + ((int64_t)1 << log)))
		return false;
	l->log = log;
	l->parts[0].at = at - before;
	l->count = rest;
	l->mask = jit_keep(&k->f,
			   jit_long(k->f.jit, k->f.jit->u32, (((int64_t)1 << rest) - 1) << before));
	return true;
}

/* The results stand in `known` of their parts before the statement is made part by part, and are
 * found there. */
static void call_lanes(Lanes *l, const Value *value, uint32_t n)
{
	Rvalue *args[PARTS_MAX], *results[PARTS_MAX];
	for (uint32_t i = 0; i < n; i++) {
		jit_lanes_enter(l, i);
		args[i] = jit_lanes_value(l, value->args[0]);
	}
	jit_math_lanes(&l->k->f, value->op, l->log, n, args, results);
	for (uint32_t i = 0; i < n; i++)
		*pointer_map_at(&l->parts[i].known, value) = (uint64_t)(uintptr_t)results[i];
}

/* Inner functions first: the argument of one may hold another. */
static void find_calls(Lanes *l, const Value *value, uint32_t n)
{
	if (!jit_lanes_vary(l, value) || *pointer_map_at(&l->parts[0].known, value))
		return;
	for (uint32_t i = 0; i < value->nargs; i++)
		find_calls(l, value->args[i], n);
	if (jit_is_lanes_call(l->k, value))
		call_lanes(l, value, n);
}

void jit_lanes_calls(Lanes *l, const Value *value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pointer_map_clear(&l->parts[i].known);
	if (l->log > 1)
		find_calls(l, value, n);
}
