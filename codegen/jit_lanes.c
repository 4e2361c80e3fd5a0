/* What lanes have no single instruction for: functions such as exp as the steps of math.h, in
 * several vectors at once (jit_math_lanes.c), and anything else lane by lane through a small array;
 * and choices by conditions that are no numbers on the way: comparisons are masks, which are joined as masks
 * (a < b || a != a ? x : y). Elsewhere a comparison is 1 or 0 in each lane, which is compared with 0.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_segments.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_math_lanes.h"
#include "codegen/jit_simd.h"

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

/* ---- choices ---- */

static bool is_float(Dtype dtype) { return dtype == DTYPE_F32 || dtype == DTYPE_F64; }

static bool is_comparison(Op op) { return op >= OP_LT && op <= OP_NE; }

/* Are all comparisons in it those of vectors of as many lanes as chosen ones have? Masks that are no registers of their
 * own are as wide as the elements. */
static bool is_mask(const Lanes *l, const Value *value, Dtype chosen)
{
	const Value *truth = value_truth(value);
	if (!truth)
		return false;
	if (truth->op == OP_AND || truth->op == OP_OR)
		return is_mask(l, truth->args[0], chosen) && is_mask(l, truth->args[1], chosen);
	Dtype dtype = truth->args[0]->dtype;
	bool masks = l->k->f.jit->simd == CPU_AVX512;
	bool one = ((int)dtype_bytes(dtype) << l->log) <= l->k->f.jit->vector_bytes &&
		   ((int)dtype_bytes(dtype) << l->log) >= 16;
	bool integers = masks && (dtype == DTYPE_I32 || dtype == DTYPE_I64);
	return is_comparison(truth->op) && one && (is_float(dtype) || integers) &&
	       (masks || dtype_bytes(dtype) == dtype_bytes(chosen));
}

static Rvalue *mask_of(Lanes *l, const Value *value)
{
	static const enum gcc_jit_comparison comparisons[] = {
		[OP_LT] = GCC_JIT_COMPARISON_LT, [OP_LE] = GCC_JIT_COMPARISON_LE,
		[OP_GT] = GCC_JIT_COMPARISON_GT, [OP_GE] = GCC_JIT_COMPARISON_GE,
		[OP_EQ] = GCC_JIT_COMPARISON_EQ, [OP_NE] = GCC_JIT_COMPARISON_NE};
	const Value *truth = value_truth(value);
	JitFunction *f = &l->k->f;
	if (truth->op == OP_AND || truth->op == OP_OR) {
		Rvalue *a = mask_of(l, truth->args[0]);
		return simd_mask_join(f, truth->op, a, mask_of(l, truth->args[1]));
	}
	SimdType type = {truth->args[0]->dtype, l->log};
	Rvalue *a = jit_lanes_value(l, truth->args[0]);
	return simd_compare(f, type, comparisons[truth->op], a, jit_lanes_value(l, truth->args[1]));
}

Rvalue *jit_choice_lanes(Lanes *l, const Value *value)
{
	Dtype dtype = value->dtype;
	bool integers =
		l->k->f.jit->simd == CPU_AVX512 && (dtype == DTYPE_I32 || dtype == DTYPE_I64);
	if (l->log == 0 || value->op != OP_WHERE || (!is_float(dtype) && !integers) ||
	    !jit_lanes_vary(l, value->args[0]) || !is_mask(l, value->args[0], dtype))
		return NULL;
	Rvalue *mask = mask_of(l, value->args[0]), *yes = jit_lanes_value(l, value->args[1]);
	return simd_choose(&l->k->f, (SimdType){dtype, l->log}, mask, yes,
			   jit_lanes_value(l, value->args[2]));
}
