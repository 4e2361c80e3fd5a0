/* Lanes of a buffer that lie apart, as the elements of a transposed convolution do:
 * y[o*4096 + 2*(x + lane)].
 *
 * Elements are loaded and stored one by one. AVX-512 stores up to four apart as vectors of which
 * every second (third, fourth) lane is written:
 *
 *   apart 2: lanes 0 0 1 1 .. 7 7 at y, lanes 8 8 9 9 .. 15 15 at y + 16, masked by 0x5555
 */
#include "codegen/jit_function.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_simd.h"
#include "loops/linear.h"
#include "loops/walk.h"

enum { LANES_MOST = 1 << VECTOR_LOGS };

int64_t jit_lanes_strided(const Lanes *l, const Ix *ix)
{
	int64_t apart = 1;
	Program *program = (Program *)l->k->program;
	if (l->loop->loop == LOOP_VECTOR && ix_uses(ix, l->loop->iter)) {
		Size stride = ix_stride(program, ix, l->loop->iter);
		REQUIRE(size_is_const(program->sizes, stride, &apart));
	}
	return apart;
}

static int lanes_there(const Lanes *l) { return l->mask ? (int)l->count : 1 << l->log; }

static Lvalue *lvalue_of_lane(Lanes *l, BufferId buffer, const Ix *ix, int lane)
{
	KernelJit *k = l->k;
	k->at[l->loop->iter] = l->at + lane;
	Lvalue *element = jit_buffer_element(k, buffer, ix);
	k->at[l->loop->iter] = l->at;
	return element;
}

static Rvalue *element_of_lane(Lanes *l, const Value *load, int lane)
{
	KernelJit *k = l->k;
	if (!jit_is_packed(k, load))
		return jit_keep(&k->f, gcc_jit_lvalue_as_rvalue(
					       lvalue_of_lane(l, load->buffer, load->ix, lane)));
	k->at[l->loop->iter] = l->at + lane;
	Rvalue *element = jit_packed_element(k, load);
	k->at[l->loop->iter] = l->at;
	return element;
}

Rvalue *jit_load_strided(Lanes *l, const Value *load)
{
	KernelJit *k = l->k;
	Rvalue *elements[LANES_MOST];
	for (int i = 0; i < 1 << l->log; i++)
		elements[i] = i < lanes_there(l) ? element_of_lane(l, load, i) : elements[0];
	return jit_lanes_of(k, load->dtype, l->log, elements);
}

static void store_each(Lanes *l, const Stmt *stmt, Rvalue *value)
{
	KernelJit *k = l->k;
	Dtype dtype = stmt->value->dtype;
	Lvalue *lanes = jit_lane_array(k, dtype, 1 << l->log);
	Lvalue *first = jit_lane_element(k, lanes, jit_lane_number(k, 0));
	jit_set(&k->f, jit_lanes_at(k, first, dtype, l->log), value);
	for (int i = 0; i < lanes_there(l); i++)
		jit_set(&k->f, lvalue_of_lane(l, stmt->buffer, stmt->ix, i),
			gcc_jit_lvalue_as_rvalue(
				jit_lane_element(k, lanes, jit_lane_number(k, i))));
}

/* Which lane is at each place of the vector that is stored `block` vectors behind the first. */
static Rvalue *lanes_of_block(Lanes *l, Dtype dtype, int64_t apart, int block)
{
	Jit *jit = l->k->f.jit;
	Dtype index = dtype == DTYPE_F32 ? DTYPE_I32 : DTYPE_I64;
	Rvalue *lanes[LANES_MOST];
	for (int i = 0; i < 1 << l->log; i++)
		lanes[i] =
			jit_long(jit, jit->types[index], (i + ((int64_t)block << l->log)) / apart);
	return gcc_jit_context_new_rvalue_from_vector(jit->ctxt, l->k->f.location,
						      jit_vector_type(jit, index, l->log),
						      (size_t)1 << l->log, lanes);
}

static int64_t mask_of_block(const Lanes *l, int64_t apart, int block)
{
	int64_t mask = 0, end = lanes_there(l) * apart;
	for (int i = 0; i < 1 << l->log; i++) {
		int64_t at = i + ((int64_t)block << l->log);
		mask |= (int64_t)(at % apart == 0 && at < end) << i;
	}
	return mask;
}

static void store_masked(Lanes *l, const Stmt *stmt, int64_t apart, Rvalue *value)
{
	KernelJit *k = l->k;
	JitFunction *f = &k->f;
	SimdType type = {stmt->value->dtype, l->log};
	Rvalue *first = gcc_jit_lvalue_get_address(lvalue_of_lane(l, stmt->buffer, stmt->ix, 0),
						   f->location);
	for (int block = 0; block << l->log < lanes_there(l) * apart; block++) {
		Rvalue *lanes = jit_keep(f, lanes_of_block(l, type.dtype, apart, block));
		Rvalue *mask =
			jit_keep(f, jit_long(f->jit, f->jit->u32, mask_of_block(l, apart, block)));
		Lvalue *element = gcc_jit_context_new_array_access(
			f->jit->ctxt, f->location, first,
			jit_lane_number(k, (int64_t)block << l->log));
		simd_store_some(f, type, mask, jit_lanes_at(k, element, type.dtype, l->log),
				simd_permuted(f, type, lanes, value));
	}
}

void jit_store_strided(Lanes *l, const Stmt *stmt, int64_t apart, Rvalue *value)
{
	const Jit *jit = l->k->f.jit;
	Dtype dtype = stmt->value->dtype;
	bool whole = (dtype == DTYPE_F32 || dtype == DTYPE_F64) &&
		     (int)dtype_bytes(dtype) << l->log == (int)jit->vector_bytes;
	if (l->log == 0)
		jit_set(&l->k->f, lvalue_of_lane(l, stmt->buffer, stmt->ix, 0), value);
	else if (jit->simd == CPU_AVX512 && whole && apart <= LANES_MASKED)
		store_masked(l, stmt, apart, value);
	else
		store_each(l, stmt, value);
}
