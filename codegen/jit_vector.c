/* Loops of lanes as explicit vectors.
 *
 *   vector lane in 0..36: acc[r, lane] += a[i*K + k] * b[k*36 + lane]
 *     16 lanes: acc_r_0 += broadcast(a[i*K + k]) * *(float16 *)&b[k*36]
 *     16 lanes: acc_r_1 += ...                     *(float16 *)&b[k*36 + 16]
 *      4 lanes: acc_r_2 += ...                     *(float4 *)&b[k*36 + 32]
 *
 * Lanes are cut into segments of the widest vector of the target, then of halves of it, then of
 * single elements, or into one whose last lanes are masked; the arithmetic of a lane does not
 * depend on the cut. A local that is indexed by unrolled iterators and the lane alone has a
 * variable for every segment, which the compiler keeps in a register: an array of vectors would
 * live in memory. Arithmetic and choices of floats are vector instructions (jit_simd.h); what none
 * computes goes lane by lane through a small array, in a loop that the compiler may vectorise.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_segments.h"
#include "codegen/jit_fused.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_math_lanes.h"
#include "codegen/jit_simd.h"
#include "loops/walk.h"

void jit_vector_fill(KernelJit *k, const Stmt *stmt)
{
	const KernelLocal *local = &k->kernel->locals[stmt->local];
	Registers *r = &k->registers[stmt->local];
	r->transposed = NULL;
	Rvalue *value = jit_kernel_value(k, stmt->value), *spreads[VECTOR_LOGS] = {value};
	for (uint32_t row = 0; row < jit_local_rows(local); row++)
		for (int64_t lane = 0; lane < r->extent;) {
			Segment c = jit_find_segment(k, stmt->local, lane);
			if (!spreads[c.log])
				spreads[c.log] = jit_spread_lanes(k, value, local->dtype, c.log);
			jit_set(&k->f, r->segments[row * r->nsegments + c.index], spreads[c.log]);
			lane = c.at + (1 << c.log);
		}
}

/* ---- values ---- */

static bool ix_varies(const Lanes *l, const Ix *ix) { return ix_uses(ix, l->loop->iter); }

bool jit_lanes_vary(const Lanes *l, const Value *value)
{
	if (value->kind == VALUE_LOCAL && value->nixs == 0)
		return l->k->registers[value->local].used;
	bool differs = value->ix && ix_varies(l, value->ix);
	for (uint32_t i = 0; i < value->nixs && !differs; i++)
		differs = ix_varies(l, value->ixs[i]);
	for (uint32_t i = 0; i < value->nargs && !differs; i++)
		differs = jit_lanes_vary(l, value->args[i]);
	return differs;
}

/* An unaligned type is no type of variables: loads go through an assignment to the plain one. */
Rvalue *jit_load_lanes(Lanes *l, Lvalue *place, Dtype dtype)
{
	KernelJit *k = l->k;
	if (l->mask)
		return simd_load_some(&k->f, (SimdType){dtype, l->log}, l->mask, place);
	Lvalue *temp = jit_temp(&k->f, jit_segment_type(k, dtype, l->log));
	jit_set(&k->f, temp, gcc_jit_lvalue_as_rvalue(place));
	return gcc_jit_lvalue_as_rvalue(temp);
}

/* Lanes along the first axis of two: a column of registers, or element by element from memory. */
static Rvalue *transposed_lanes(Lanes *l, const Value *value)
{
	KernelJit *k = l->k;
	if (k->registers[value->local].used)
		return jit_transposed_row(k, value->local, jit_fixed_ix(k, value->ixs[1]));
	return jit_gathered_lanes(l, value);
}

static Rvalue *lanes_of_local(Lanes *l, const Value *value)
{
	KernelJit *k = l->k;
	if (jit_is_transposed(l->loop, value->ixs, value->nixs))
		return transposed_lanes(l, value);
	if (jit_is_gathered(l->loop, value->ixs, value->nixs))
		return jit_gathered_lanes(l, value);
	if (!k->registers[value->local].used) {
		Lvalue *element = jit_kernel_element(k, value->local, value->ixs, value->nixs);
		return jit_load_lanes(l, jit_lanes_at(k, element, value->dtype, l->log),
				      value->dtype);
	}
	int64_t lane = value->nixs ? jit_fixed_ix(k, value->ixs[value->nixs - 1])
				   : l->at - jit_constant_ix(k, l->loop->lo);
	Rvalue *part = jit_local_lanes(k, value, lane, l->log);
	Lvalue *temp = jit_temp(&k->f, jit_segment_type(k, value->dtype, l->log));
	jit_set(&k->f, temp, part);
	return gcc_jit_lvalue_as_rvalue(temp);
}

static bool has_vector_op(const Lanes *l, Op op, Dtype dtype)
{
	if (l->log && dtype == DTYPE_I32)
		return op == OP_ADD || op == OP_SUB || op == OP_MUL;
	return l->log && op_is_simple(op) && dtype_is_float(dtype);
}

static Rvalue *op_lanes(Lanes *l, Op op, Dtype dtype, Rvalue *const *args, const bool *number)
{
	JitFunction *f = &l->k->f;
	if (dtype == DTYPE_I32)
		return simd_wrapping(f, (SimdType){dtype, l->log}, op, args[0], args[1]);
	return jit_op_lanes(f, op, dtype, l->log, args, number);
}

/* Are elements of four bits neighbours, or each at the same place of the next word? */
static bool has_packed_lanes(const Lanes *l, const Value *load)
{
	int64_t stride = jit_lanes_strided(l, load->ix);
	JitWord word;
	return stride == 1 || (stride == PACKED_WORD && jit_packed_word(l->k, load, &word));
}

/* Requires that the elements have lanes; NULL: these have no instruction. */
static Rvalue *unpacked_lanes(Lanes *l, const Value *load, Dtype to, Rvalue *table)
{
	KernelJit *k = l->k;
	JitHalf halves[2];
	JitWord word;
	if (l->mask || !packed_has_lanes(k->f.jit, l->log, to))
		return NULL;
	if (jit_lanes_strided(l, load->ix) == PACKED_WORD) {
		REQUIRE(jit_packed_word(k, load, &word));
		word.first = jit_lanes_at(k, word.first, DTYPE_I32, l->log);
		return packed_words(&k->f, k->program->buffers.at[load->buffer].dtype,
				    (SimdType){to, l->log}, &word, table);
	}
	for (int i = 0; i < 2; i++) {
		halves[i] = jit_packed_byte(k, load->buffer, load->ix, i);
		halves[i].byte = jit_lanes_at(k, halves[i].byte, DTYPE_U8, l->log - 1);
	}
	return packed_lanes(&k->f, k->program->buffers.at[load->buffer].dtype,
			    (SimdType){to, l->log}, halves, table);
}

static bool varies(const void *of, const Value *value) { return jit_lanes_vary(of, value); }
static bool in_words(const void *of, const Value *load)
{
	return has_packed_lanes(of, load);
}

/* The value for each pattern of four bits. */
static Rvalue *table_of(Lanes *l, const Value *value)
{
	Rvalue *args[3];
	bool number[3] = {false};
	if (!jit_lanes_vary(l, value))
		return jit_lanes_value(l, value);
	if (value->kind == VALUE_CAST)
		return packed_table(&l->k->f,
				    l->k->program->buffers.at[value->args[0]->buffer].dtype);
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = table_of(l, value->args[i]);
	return op_lanes(l, value->op, value->dtype, args, number);
}

/* A function of one element of four bits is one of 16 numbers: what is the same in all lanes is
 * applied to these, once for all vectors that share it. NULL: it is none. */
static Rvalue *tabled_lanes(Lanes *l, const Value *value)
{
	PackedLanes lanes = {(Program *)l->k->program, l->loop->iter, varies, in_words, l};
	if (value->kind != VALUE_OP || 1 << l->log != PACKED_PATTERNS || l->mask ||
	    !packed_has_lanes(l->k->f.jit, l->log, DTYPE_F32))
		return NULL;
	const Value *load = packed_in_table(&lanes, value);
	return load ? unpacked_lanes(l, load, DTYPE_F32, table_of(l, value)) : NULL;
}

/* Are they whole numbers that vectors compute, or hold? */
static bool are_integers(const Lanes *l, const Value *value)
{
	return value->dtype == DTYPE_I32 && l->log > 0 && jit_lanes_vary(l, value) &&
	       (value->kind == VALUE_LOCAL ||
		(value->kind == VALUE_OP && has_vector_op(l, value->op, value->dtype)));
}

/* A cast of neighbours in memory, or of such whole numbers; NULL: it has no instruction. */
static Rvalue *converted_lanes(Lanes *l, const Value *value)
{
	KernelJit *k = l->k;
	const Value *from = value->args[0];
	if (value->dtype == DTYPE_F32 && are_integers(l, from))
		return simd_from_integers(&k->f, l->log, jit_lanes_value(l, from));
	if (l->log == 0 || from->kind != VALUE_LOAD || !jit_lanes_vary(l, from))
		return NULL;
	if (jit_is_packed(k, from) && has_packed_lanes(l, from))
		return unpacked_lanes(l, from, value->dtype, NULL);
	if (jit_is_packed(k, from) || jit_lanes_strided(l, from->ix) != 1)
		return NULL;
	Lvalue *place =
		jit_lanes_at(k, jit_buffer_element(k, from->buffer, from->ix), from->dtype, l->log);
	if (l->log > 1 && value->dtype == DTYPE_F32 && jit_widens_by_steps(k->f.jit, from->dtype))
		return jit_widen_by_steps(&k->f, from->dtype, l->log, place);
	if (from->dtype == DTYPE_I32 && value->dtype == DTYPE_F32)
		return simd_from_integers(&k->f, l->log, jit_load_lanes(l, place, DTYPE_I32));
	return simd_widen(&k->f, (SimdType){value->dtype, l->log}, from->dtype, place);
}

static bool is_number(const Value *value)
{
	return value->kind == VALUE_CONST && value->constant.f != 0 &&
	       value->constant.f == value->constant.f;
}

/* Integers that vectors of AVX-512 choose: the less or the greater, or by integers that they hold. */
static bool chooses_integers(const Lanes *l, const Value *value)
{
	bool least;
	return l->log && l->k->f.jit->simd == CPU_AVX512 && value->op == OP_WHERE &&
	       (value->dtype == DTYPE_I32 || value->dtype == DTYPE_I64) &&
	       (value_is_extreme(value, &least) ||
		(value->args[0]->kind == VALUE_LOCAL && value->args[0]->dtype == value->dtype));
}

/* What they choose that is no extreme. */
static Rvalue *chosen_integers(Lanes *l, const Value *value)
{
	SimdType type = {value->dtype, l->log};
	JitFunction *f = &l->k->f;
	Rvalue *args[3], *none = jit_long(f->jit, f->jit->types[value->dtype], 0);
	for (int i = 0; i < 3; i++)
		args[i] = jit_lanes_value(l, value->args[i]);
	none = jit_keep(f, simd_spread(f, type, none));
	Rvalue *is = simd_compare(f, type, GCC_JIT_COMPARISON_NE, args[0], none);
	return simd_choose(f, type, is, args[1], args[2]);
}

/* a < b ? a : b and a < b ? b : a, which are instructions; NULL: it is another choice. */
static Rvalue *extreme_lanes(Lanes *l, const Value *value)
{
	bool least;
	if (!value_is_extreme(value, &least))
		return NULL;
	return simd_extreme(&l->k->f, (SimdType){value->dtype, l->log}, least,
			    jit_lanes_value(l, value->args[1]), jit_lanes_value(l, value->args[2]));
}

static Rvalue *vector_op(Lanes *l, const Value *value)
{
	Rvalue *extreme = extreme_lanes(l, value);
	if (extreme)
		return extreme;
	Rvalue *args[3];
	bool number[3];
	for (uint32_t i = 0; i < value->nargs; i++) {
		args[i] = jit_lanes_value(l, value->args[i]);
		number[i] = is_number(value->args[i]);
	}
	return op_lanes(l, value->op, value->dtype, args, number);
}

/* NULL: `x op y` is no sum with a product. `element`: x where that is no value. */
static Rvalue *fused_lanes(Lanes *l, Op op, const Value *x, const Value *y, Lvalue *element)
{
	Fused fused;
	if (!find_fused(l->k->f.jit->module, op, x, y, &fused))
		return NULL;
	Rvalue *args[] = {jit_lanes_value(l, fused.a), jit_lanes_value(l, fused.b),
			  fused.rest ? jit_lanes_value(l, fused.rest)
				     : jit_load_lanes(l, element, y->dtype)};
	return jit_fused_code(&l->k->f, fused.signs, y->dtype, l->log, args);
}

/* The lane's own number, in a floating type: constants. */
static Rvalue *lane_numbers(Lanes *l, const Value *value)
{
	Jit *jit = l->k->f.jit;
	Rvalue *lanes[1 << VECTOR_LOGS];
	for (int i = 0; i < 1 << l->log; i++)
		lanes[i] = jit_double(jit, jit->types[value->dtype], (double)(l->at + i));
	return jit_lanes_of(l->k, value->dtype, l->log, lanes);
}

static Rvalue *fresh_lanes(Lanes *l, const Value *value)
{
	bool least;
	KernelJit *k = l->k;
	if (jit_is_lane_number(l, value))
		return lane_numbers(l, value);
	Rvalue *tabled = tabled_lanes(l, value);
	if (tabled)
		return tabled;
	Rvalue *fused = value->kind == VALUE_OP && value->nargs == 2
				? fused_lanes(l, value->op, value->args[0], value->args[1], NULL)
				: NULL;
	if (fused)
		return fused;
	if (value->kind == VALUE_LOAD &&
	    (jit_lanes_strided(l, value->ix) != 1 || jit_is_packed(k, value)))
		return jit_load_strided(l, value);
	if (value->kind == VALUE_LOAD)
		return jit_load_lanes(l,
				      jit_lanes_at(k,
						   jit_buffer_element(k, value->buffer, value->ix),
						   value->dtype, l->log),
				      value->dtype);
	if (value->kind == VALUE_LOCAL)
		return lanes_of_local(l, value);
	if (value->kind == VALUE_OP && chooses_integers(l, value)) {
		Rvalue *extreme = extreme_lanes(l, value);
		return extreme ? extreme : chosen_integers(l, value);
	}
	Rvalue *choice = value->kind == VALUE_OP && !value_is_extreme(value, &least)
				 ? jit_choice_lanes(l, value)
				 : NULL;
	if (choice)
		return choice;
	if (value->kind == VALUE_OP && has_vector_op(l, value->op, value->dtype))
		return vector_op(l, value);
	if (value->kind == VALUE_OP && l->log == 0) {
		Rvalue *args[3];
		for (uint32_t i = 0; i < value->nargs; i++)
			args[i] = jit_lanes_value(l, value->args[i]);
		return jit_op(&k->f, value->op, value->dtype, args);
	}
	Rvalue *converted = value->kind == VALUE_CAST ? converted_lanes(l, value) : NULL;
	return converted ? converted : jit_lane_by_lane(l, value);
}

/* The first lanes of a vector, by way of memory that the compiler sees through. */
static Rvalue *low_lanes(Lanes *l, Rvalue *vector, Dtype dtype, int log)
{
	KernelJit *k = l->k;
	Lvalue *array = jit_lane_array(k, dtype, 1 << log);
	Lvalue *element = jit_lane_element(k, array, jit_lane_number(k, 0));
	jit_set(&k->f, jit_lanes_at(k, element, dtype, log), vector);
	return jit_load_lanes(l, jit_lanes_at(k, element, dtype, l->log), dtype);
}

/* A value that is the same in all lanes. Narrow segments take a part of the wide one: were the
 * scalar used twice, it would be loaded alone and spread by shuffles, which compete with
 * multiplications.
 */
static Rvalue *spread_value(Lanes *l, const Value *value)
{
	for (int log = VECTOR_LOGS - 1; log > l->log; log--) {
		uint64_t wide = *pointer_map_at(&l->spread[log], value);
		if (wide)
			return low_lanes(l, (Rvalue *)(uintptr_t)wide, value->dtype, log);
	}
	return jit_spread_lanes(l->k, jit_kernel_value(l->k, value), value->dtype, l->log);
}

Rvalue *jit_lanes_value(Lanes *l, const Value *value)
{
	bool same = !jit_lanes_vary(l, value);
	uint64_t known = *pointer_map_at(same ? &l->spread[l->log] : &l->part->known, value);
	if (known)
		return (Rvalue *)(uintptr_t)known;
	gcc_jit_location *outer = jit_place(l->k, value->span);
	Rvalue *code = same ? spread_value(l, value) : fresh_lanes(l, value);
	l->k->f.location = outer;
	*pointer_map_at(same ? &l->spread[l->log] : &l->part->known, value) =
		(uint64_t)(uintptr_t)code;
	return code;
}

/* ---- statements ---- */

/* What the segment at hand is stored to. */
static Lvalue *segment_target(Lanes *l, const Stmt *stmt)
{
	KernelJit *k = l->k;
	Dtype dtype = stmt->value->dtype;
	if (stmt->kind == LOOP_STORE)
		return jit_lanes_at(k, jit_buffer_element(k, stmt->buffer, stmt->ix), dtype,
				    l->log);
	if (!k->registers[stmt->local].used)
		return jit_lanes_at(k, jit_kernel_element(k, stmt->local, stmt->ixs, stmt->nixs),
				    dtype, l->log);
	int64_t lane = stmt->nixs ? jit_fixed_ix(k, stmt->ixs[stmt->nixs - 1])
				  : l->at - jit_constant_ix(k, l->loop->lo);
	Segment c = jit_find_segment(k, stmt->local, lane);
	REQUIRE(c.at == lane && c.log == l->log);
	return jit_row_segments(k, stmt->local, stmt->ixs, stmt->nixs)[c.index];
}

/* Before anything else is tried: lane by lane the products would be widened one by one. */
static bool groups_code(Lanes *l, const Stmt *stmt)
{
	if (!jit_adds_groups(l->k, stmt, l->loop->iter, l->log))
		return false;
	Lvalue *target = segment_target(l, stmt);
	Rvalue *before = jit_load_lanes(l, target, stmt->value->dtype);
	jit_set(&l->k->f, target, jit_vector_groups(l->k, stmt, l->loop->iter, l->log, before));
	return true;
}

void jit_lanes_stmt(Lanes *l, const Stmt *stmt)
{
	if (groups_code(l, stmt))
		return;
	int64_t stride = stmt->kind == LOOP_STORE ? jit_lanes_strided(l, stmt->ix) : 1;
	if (stride != 1) {
		jit_store_strided(l, stmt, stride, jit_lanes_value(l, stmt->value));
		return;
	}
	Lvalue *target = segment_target(l, stmt);
	Rvalue *fused = fused_lanes(l, stmt->acc, NULL, stmt->value, target);
	Rvalue *value = fused ? fused : jit_lanes_value(l, stmt->value);
	if (stmt->kind == LOOP_SET)
		l->k->registers[stmt->local].transposed = NULL;
	Dtype dtype = stmt->value->dtype;
	if (!fused && stmt->acc != OP_NONE) {
		Rvalue *before = jit_load_lanes(l, target, dtype);
		Rvalue *args[] = {before, value, NULL};
		REQUIRE(l->log == 0 || has_vector_op(l, stmt->acc, dtype));
		value = l->log ? op_lanes(l, stmt->acc, dtype, args,
					  (bool[]){false, is_number(stmt->value)})
			       : jit_op(&l->k->f, stmt->acc, dtype, args);
	}
	if (l->mask && stmt->kind == LOOP_STORE)
		simd_store_some(&l->k->f, (SimdType){dtype, l->log}, l->mask, target, value);
	else
		jit_set(&l->k->f, target, value);
}

void jit_lanes_begin(Lanes *l)
{
	pointer_map_clear(&l->k->values);
	for (int log = 0; log < VECTOR_LOGS; log++)
		pointer_map_clear(&l->spread[log]);
}

/* The segments of one size from `at` on, as many as are made side by side. */
static uint32_t find_parts(Lanes *l, Dtype dtype, int64_t at, int64_t extent)
{
	uint32_t n = 0;
	l->log = jit_segment_log(l->k, dtype, at, extent);
	while (n < PARTS_MAX && at < extent && jit_segment_log(l->k, dtype, at, extent) == l->log) {
		l->parts[n++].at = at;
		at += 1 << l->log;
	}
	return n;
}

/* Bits for the lanes before hi. */
static Rvalue *mask_before(KernelJit *k, const Ix *hi)
{
	JitFunction *f = &k->f;
	Type *u32 = f->jit->u32;
	int64_t there;
	if (hi->kind == IX_SIZE && size_is_const(k->program->sizes, hi->size, &there))
		return jit_keep(f, jit_long(f->jit, u32, ((int64_t)1 << there) - 1));
	Rvalue *one = jit_long(f->jit, u32, 1), *n = jit_keep(f, jit_kernel_ix(k, hi));
	Rvalue *bit = jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, one, jit_cast(f->jit, n, u32));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, bit, one));
}

/* One vector, of which `mask` says what is there. */
static void masked_stmt(Lanes *l, const Stmt *stmt, Rvalue *mask)
{
	int64_t lanes = vector_lanes(l->k->program, l->loop);
	l->log = jit_segment_log(l->k, stmt->value->dtype, 0, lanes);
	REQUIRE((int64_t)1 << l->log == lanes);
	jit_lanes_begin(l);
	l->mask = mask;
	l->parts[0].at = 0;
	jit_lanes_calls(l, stmt->value, 1);
	jit_lanes_enter(l, 0);
	jit_lanes_stmt(l, stmt);
	l->mask = NULL;
}

/* All lanes of a statement before the next one: a later statement may read what an earlier one
 * stored for another lane. */
static void stmt_lanes(Lanes *l, const Stmt *stmt)
{
	KernelJit *k = l->k;
	int64_t lo = jit_constant_ix(k, l->loop->lo), extent = vector_lanes(k->program, l->loop);
	jit_lanes_begin(l);
	for (int64_t at = 0; at < extent;) {
		uint32_t n = jit_lanes_mask(l, stmt, at, extent)
				     ? 1
				     : find_parts(l, stmt->value->dtype, at, extent);
		for (uint32_t i = 0; i < n; i++)
			l->parts[i].at += lo;
		jit_lanes_calls(l, stmt->value, n);
		for (uint32_t i = 0; i < n; i++) {
			jit_lanes_enter(l, i);
			jit_lanes_stmt(l, stmt);
		}
		at += (int64_t)n << l->log;
	}
	l->mask = NULL;
}

Lanes jit_lanes_new(KernelJit *k, const Stmt *loop)
{
	Lanes l = {.k = k, .loop = loop};
	for (int i = 0; i < PARTS_MAX; i++)
		l.parts[i].known.arena = k->f.jit->arena;
	for (int log = 0; log < VECTOR_LOGS; log++)
		l.spread[log].arena = k->f.jit->arena;
	return l;
}

void jit_vector_loop(KernelJit *k, const Stmt *loop)
{
	Lanes l = jit_lanes_new(k, loop);
	Rvalue *mask = loop->lanes ? mask_before(k, loop->hi) : NULL;
	k->fixed[loop->iter] = true;
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (mask)
			masked_stmt(&l, loop->body.stmts[i], mask);
		else
			stmt_lanes(&l, loop->body.stmts[i]);
	k->fixed[loop->iter] = false;
}
