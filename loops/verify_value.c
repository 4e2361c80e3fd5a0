/* The rules of the grammar of loops.h for indices and values. */
#include "loops/linear.h"
#include "loops/verify_walk.h"
#include "loops/walk.h"

enum { DEPTH_LIMIT = 1000 }; /* of a value or an index: back ends walk them recursively */

void verify_note(const Verify *v, const char *rule)
{
	if (!v->fault->rule)
		*v->fault = (LoopsFault){v->kernel, v->stmt, rule};
}

void verify_ix(Verify *v, const Ix *ix)
{
	FAIL_UNLESS(v, ix, "an index is missing");
	FAIL_UNLESS(v, ++v->depth < DEPTH_LIMIT, "an expression is too deep");
	switch (ix->kind) {
	case IX_SIZE: FAIL_UNLESS(v, !size_is_bad(ix->size), "a bad size"); break;
	case IX_ITER:
		FAIL_UNLESS(v, ix->iter < v->kernel->niters, "an unknown iterator");
		FAIL_UNLESS(v, v->iter_open[ix->iter], "an iterator outside its loop");
		break;
	case IX_VALUE:
		verify_value(v, ix->value);
		FAIL_UNLESS(v, dtype_is_integer(ix->value->dtype), "an index that is no integer");
		FAIL_UNLESS(v, ix->reads, "an index that hides what it reads");
		break;
	default:
		verify_ix(v, ix->a);
		verify_ix(v, ix->b);
		FAIL_UNLESS(v, ix->reads == (ix->a->reads || ix->b->reads),
			    "an index that hides what it reads");
	}
	v->depth--;
}

/* Inside a LOOP_VECTOR bytes may be read in groups of four, bf16 in groups of two. */
static bool is_group_step(const Verify *v, const Value *load)
{
	Program *program = (Program *)v->program;
	int64_t group = load->dtype == DTYPE_BF16 ? 2 : 4;
	Dtype stored = program->buffers.at[load->buffer].dtype;
	return v->vector && (stored == DTYPE_BF16 || dtype_is_byte(stored)) &&
	       size_is(program->sizes, ix_stride(program, load->ix, v->vector->iter), group);
}

void verify_lanes(const Verify *v, const Ix *ix, int64_t most)
{
	Program *program = (Program *)v->program;
	int64_t step = 0;
	if (v->fault->rule || !v->vector || !ix_uses(ix, v->vector->iter))
		return;
	Size stride = ix_stride(program, ix, v->vector->iter);
	bool known = size_is_const(program->sizes, stride, &step);
	FAIL_UNLESS(v, known && step >= 1 && step <= most, "an index that is no step of a lane");
}

/* Is the local read by lanes that each have an index of their own: acc[lane/8, lane%8]? */
static bool is_gathered(const Verify *v, const Ix *const *ixs, uint32_t nixs)
{
	for (uint32_t i = 0; i < nixs; i++)
		if (v->vector && ix_uses(ixs[i], v->vector->iter) && ix_divides(ixs[i]))
			return true;
	return false;
}

/* Of each thread of a block: the first indices are those of the loops around; of what is read the last may be another. */
static void check_private(const Verify *v, LocalId id, const Ix *const *ixs, bool read)
{
	const KernelLocal *local = &v->kernel->locals[id];
	bool own = local->nthreads == 0 || local->nthreads == v->nblocks;
	bool of_warp = own && read && is_of_warp(local, ixs);
	for (uint32_t i = 0; own && i < local->nthreads; i++) {
		bool iter = ixs[i]->kind == IX_ITER && ixs[i]->iter == v->blocks[i]->iter;
		own = (iter || (of_warp && i + 1 == local->nthreads)) &&
		      size_is(v->program->sizes, v->blocks[i]->hi->size, local->extent[i]);
	}
	FAIL_UNLESS(v, own, "a local of another thread of the block");
}

void verify_local_use(Verify *v, LocalId local, const Ix *const *ixs, uint32_t nixs, bool read)
{
	bool transposed = read && v->vector && nixs == 2 && !ix_uses(ixs[1], v->vector->iter);
	bool gathered = read && is_gathered(v, ixs, nixs);
	FAIL_UNLESS(v, local < v->kernel->nlocals, "an unknown local");
	FAIL_UNLESS(v, v->local_open[local], "a local outside its block");
	FAIL_UNLESS(v, !v->parallel || !v->outside[local], "a local of another thread");
	FAIL_UNLESS(v, !v->outlined || !v->around[local], "a local of another function");
	FAIL_UNLESS(v, v->kernel->locals[local].rank == nixs, "a local with a wrong rank");
	FAIL_UNLESS(v, v->nwarps > 0 || v->kernel->locals[local].role == ROLE_NONE,
		    "a matrix outside of the loops of a warp");
	check_private(v, local, ixs, read);
	for (uint32_t i = 0; i < nixs; i++) {
		verify_ix(v, ixs[i]);
		if (!gathered)
			verify_lanes(v, ixs[i],
				     i + 1 < nixs ? transposed
				     : read	  ? LANES_STRIDE
						  : 1);
	}
}

static bool is_own(const Buffer *buffer)
{
	return buffer->kind != BUFFER_PARAM && buffer->kind != BUFFER_CONST &&
	       buffer->kind != BUFFER_PACKED;
}

bool verify_buffer(const Verify *v, BufferId id)
{
	bool known = id < v->program->buffers.n;
	const Buffer *buffer = known ? &v->program->buffers.at[id] : NULL;
	bool other = known && v->routine && is_own(buffer) &&
		     program_routine(v->program, buffer->routine) != v->routine;
	if (!known || other)
		verify_note(v, known ? "a buffer of another routine" : "an unknown buffer");
	return known && !other;
}

static void check_op(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->op < OP_NONE && (int)value->nargs == op_arity(value->op),
		    "an operation with a wrong number of arguments");
	bool narrow = value->dtype == DTYPE_U8 || value->dtype == DTYPE_I8;
	FAIL_UNLESS(v, narrow || value->dtype == dtype_wide(value->dtype),
		    "an operation in a type of storage");
	bool words = value->op == OP_THREEFRY || value->op == OP_ZIP || value->op == OP_ROTATE;
	FAIL_UNLESS(v, words == (value->dtype == DTYPE_U4X32), "arithmetic on words");
	for (uint32_t i = 0; i < value->nargs; i++)
		FAIL_UNLESS(v, value->args[i] && value->args[i]->dtype == value->dtype,
			    "an operation over mixed types");
}

static void check_far(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->op < OP_NONE && (int)value->nargs == op_arity(value->op),
		    "an operation with a wrong number of arguments");
	FAIL_UNLESS(v, value->dtype == DTYPE_I32, "an answer of another type");
	for (uint32_t i = 0; i < value->nargs; i++)
		FAIL_UNLESS(v,
			    value->args[i] && dtype_is_float(value->args[i]->dtype) &&
				    value->args[i]->dtype == value->args[0]->dtype,
			    "far arguments of no float");
}

/* Words are made of integers, and become f32. */
static void check_cast(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->nargs == 1, "a cast of nothing");
	Dtype from = value->args[0]->dtype, to = value->dtype;
	FAIL_UNLESS(v, to != DTYPE_U4X32 || dtype_is_integer(from), "words of no integer");
	FAIL_UNLESS(v, from != DTYPE_U4X32 || to == DTYPE_F32, "words that become no f32");
}

static void check_key(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->nargs == 1, "a key of nothing");
	Dtype from = value->args[0]->dtype;
	FAIL_UNLESS(v, from == DTYPE_F32 || from == DTYPE_F64, "a key of neither f32 nor f64");
	FAIL_UNLESS(v, value->dtype == dtype_of_key(from), "a key of another type");
}

void verify_value(Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value, "a value is missing");
	FAIL_UNLESS(v, value->dtype < DTYPE_COUNT && !dtype_is_packed(value->dtype),
		    "a value without a type");
	FAIL_UNLESS(v, ++v->depth < DEPTH_LIMIT, "an expression is too deep");
	switch (value->kind) {
	case VALUE_LOAD:
		if (!verify_buffer(v, value->buffer))
			return;
		FAIL_UNLESS(
			v, dtype_alone(v->program->buffers.at[value->buffer].dtype) == value->dtype,
			"a load of another type");
		verify_ix(v, value->ix);
		if (!v->fault->rule && !is_group_step(v, value))
			verify_lanes(v, value->ix, LANES_STRIDE);
		break;
	case VALUE_LOCAL:
		verify_local_use(v, value->local, value->ixs, value->nixs, true);
		FAIL_UNLESS(v, v->kernel->locals[value->local].dtype == value->dtype,
			    "a local of another type");
		break;
	case VALUE_CONST: break;
	case VALUE_OP: check_op(v, value); break;
	case VALUE_FAR: check_far(v, value); break;
	case VALUE_CAST: check_cast(v, value); break;
	case VALUE_KEY: check_key(v, value); break;
	case VALUE_INDEX: verify_ix(v, value->ix); break;
	case VALUE_SCALAR:
		if (v->routine) {
			FAIL_UNLESS(v, value->scalar < v->routine->nscalars, "an unknown scalar");
			FAIL_UNLESS(v, v->routine->scalars[value->scalar].dtype == value->dtype,
				    "a scalar of another type");
		}
		break;
	}
	for (uint32_t i = 0; i < value->nargs && !v->fault->rule; i++)
		verify_value(v, value->args[i]);
	v->depth--;
}
