/* Values and indices of kernels as expressions of C. Values that a statement uses more than once become
 * constants in front of it; indices are written as they are. */
#include "codegen/c_kernel.h"

#include "loops/cluster.h"
#include "loops/fragment.h"
#include "loops/linear.h"
#include "loops/walk.h"

static const char *ix_text(KernelText *k, const Ix *ix);

/* By a power of two: a shift rounds down, as floor division does. NULL: the divisor is none. */
static const char *power_divided(KernelText *k, const Ix *ix)
{
	int64_t by;
	if ((ix->kind != IX_DIV && ix->kind != IX_MOD) || ix->b->kind != IX_SIZE ||
	    !size_is_const(k->m->program->sizes, ix->b->size, &by) || by <= 0 || by & (by - 1))
		return NULL;
	const char *a = ix_text(k, ix->a);
	return ix->kind == IX_MOD
		       ? arena_printf(k->arena, "(%s & %lld)", a, (long long)by - 1)
		       : arena_printf(k->arena, "(%s >> %d)", a, __builtin_ctzll((uint64_t)by));
}

/* A GPU divides numbers of 32 bits in a few instructions, and those of 64 in many. NULL: it may be below 0, or has more. */
static const char *divided_in_32(KernelText *k, const Ix *ix)
{
	int64_t by;
	Interval at;
	if (!k->device || (ix->kind != IX_DIV && ix->kind != IX_MOD) || ix->b->kind != IX_SIZE ||
	    !size_is_const(k->m->program->sizes, ix->b->size, &by) || by <= 0 || by > UINT32_MAX ||
	    !ix_interval(k->m->program, ix->a, k->intervals, &at) || at.lo < 0 ||
	    at.hi > UINT32_MAX)
		return NULL;
	return arena_printf(k->arena, "(int64_t)((uint32_t)(%s) %c %lldu)", ix_text(k, ix->a),
			    ix->kind == IX_DIV ? '/' : '%', (long long)by);
}

static const char *ix_text(KernelText *k, const Ix *ix)
{
	static const char *const formats[] = {
		[IX_ADD] = "(%s + %s)",
		[IX_MUL] = "%s * %s",
		[IX_DIV] = "tsr_floor_div(%s, %s)",
		[IX_MOD] = "tsr_floor_mod(%s, %s)",
		[IX_MIN] = "tsr_least(%s, %s)",
		[IX_MAX] = "tsr_most(%s, %s)",
	};
	const char *shifted = power_divided(k, ix);
	if (!shifted)
		shifted = divided_in_32(k, ix);
	if (shifted)
		return shifted;
	switch (ix->kind) {
	case IX_SIZE: return c_size(k->m, ix->size);
	case IX_ITER: return k->iters[ix->iter];
	case IX_VALUE:
		return c_cast(k->arena, ix->value->dtype, DTYPE_I64, c_kernel_value(k, ix->value));
	default:
		return arena_printf(k->arena, formats[ix->kind], ix_text(k, ix->a),
				    ix_text(k, ix->b));
	}
}

/* Is it no constant once loops are written out? */
static bool changes(const KernelText *k, const Ix *ix)
{
	int64_t constant;
	switch (ix->kind) {
	case IX_SIZE: return !size_is_const(k->m->program->sizes, ix->size, &constant);
	case IX_ITER: return !k->unrolled[ix->iter];
	case IX_VALUE: return true;
	default: return changes(k, ix->a) || changes(k, ix->b);
	}
}

/* The terms that change, or the others; NULL: there are none. */
static const char *sum_text(KernelText *k, const Ix *ix, bool changing)
{
	if (ix->kind != IX_ADD)
		return changes(k, ix) == changing ? ix_text(k, ix) : NULL;
	const char *a = sum_text(k, ix->a, changing), *b = sum_text(k, ix->b, changing);
	return a && b ? arena_printf(k->arena, "%s + %s", a, b) : a ? a : b;
}

/* What changes comes first: the compiler, which keeps the order of a sum, adds it once for all
 * elements that differ in constants. */
const char *c_kernel_ix(KernelText *k, const Ix *ix)
{
	const char *changing = sum_text(k, ix, true), *constant = sum_text(k, ix, false);
	if (!changing || !constant)
		return changing ? changing : constant;
	return arena_printf(k->arena, "%s + %s", changing, constant);
}

static bool has_32(const KernelText *k, const Ix *ix)
{
	Interval at;
	return ix_interval(k->m->program, ix, k->intervals, &at) && at.lo >= INT32_MIN &&
	       at.hi <= INT32_MAX;
}

static const char *side_text(KernelText *k, const Ix *ix, bool narrow)
{
	const char *text = c_kernel_ix(k, ix);
	return narrow && ix->kind != IX_SIZE ? arena_printf(k->arena, "(int32_t)(%s)", text) : text;
}

const char *c_kernel_cond(KernelText *k, const Cond *cond)
{
	static const char *const symbols[] = {[COND_LT] = "<", [COND_LE] = "<=", [COND_EQ] = "=="};
	bool narrow = k->device && (ix_divides(cond->a) || ix_divides(cond->b)) &&
		      has_32(k, cond->a) && has_32(k, cond->b);
	return arena_printf(k->arena, "%s %s %s", side_text(k, cond->a, narrow),
			    symbols[cond->kind], side_text(k, cond->b, narrow));
}

const char *c_fragment_element(KernelText *k, LocalId id, const Ix *const *ixs, const char *at)
{
	const KernelLocal *local = &k->kernel->locals[id];
	const char *text = k->locals[id];
	for (uint32_t i = 0; i + 2 < local->rank; i++)
		text = arena_printf(k->arena, i < local->nthreads ? "%s[TSR_OWN(%s)]" : "%s[%s]",
				    text, c_kernel_ix(k, ixs[i]));
	const Ix *lane = fragment_lane(ixs[local->rank - 1]);
	if (!at && lane)
		return arena_printf(k->arena, "%s[" C_FRAGMENT_ELEMENT " + %s]", text,
				    k->iters[lane->iter]);
	return arena_printf(k->arena, "%s[%s]", text, at ? at : C_FRAGMENT_ELEMENT);
}

const char *c_kernel_local(KernelText *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const char *text = k->locals[local];
	if (k->kernel->locals[local].role != ROLE_NONE)
		return c_fragment_element(k, local, ixs, NULL);
	const KernelLocal *own = &k->kernel->locals[local];
	for (uint32_t i = 0; i < nixs; i++)
		text = arena_printf(k->arena, i < own->nthreads ? "%s[TSR_OWN(%s)]" : "%s[%s]",
				    text, c_kernel_ix(k, ixs[i]));
	if (is_of_warp(own, ixs))
		return arena_printf(k->arena, "TSR_OF_WARP(%s, %s)", text,
				    c_kernel_ix(k, ixs[own->nthreads - 1]));
	return text;
}

static bool counts_blocks(const void *iter, const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_CLUSTER &&
	       stmt->iter == *(const IterVar *)iter;
}

/* An element of what the blocks of a cluster share: of its own block, or of any. */
static const char *cluster_element(KernelText *k, BufferId id, const Ix *ix)
{
	Program *program = (Program *)k->m->program;
	const Buffer *buffer = &program->buffers.at[id];
	ClusterPlace place = cluster_place(program, id, ix);
	const char *name = k->buffers[kernel_use_buffer(k->use, id)];
	bool own = place.block->kind == IX_ITER &&
		   block_find(k->kernel->body, counts_blocks, &place.block->iter);
	const char *form =
		own ? "TSR_CLUSTER_OWN("
		    : arena_printf(k->arena, "TSR_CLUSTER_OF(%s, ", c_type(buffer->dtype));
	return arena_printf(k->arena, "%s%s, %s, %s, %lld)", form, name,
			    c_kernel_ix(k, place.block), c_kernel_ix(k, place.element),
			    (long long)cluster_part(program, buffer));
}

const char *c_buffer_element(KernelText *k, BufferId buffer, const Ix *ix)
{
	if (k->m->program->buffers.at[buffer].cluster)
		return cluster_element(k, buffer, ix);
	return arena_printf(k->arena, "%s[%s]", k->buffers[kernel_use_buffer(k->use, buffer)],
			    c_kernel_ix(k, ix));
}

static const char *load_text(KernelText *k, const Value *load)
{
	Dtype dtype = k->m->program->buffers.at[load->buffer].dtype;
	if (!dtype_is_packed(dtype))
		return c_buffer_element(k, load->buffer, load->ix);
	return arena_printf(k->arena, "tsr_%s(%s, %s)", dtype_name(dtype),
			    k->buffers[kernel_use_buffer(k->use, load->buffer)],
			    c_kernel_ix(k, load->ix));
}

static bool is_number_of_c(Dtype dtype)
{
	return !dtype_is_small_float(dtype) && dtype != DTYPE_U4X32;
}

static const char *cast_text(KernelText *k, const Value *value)
{
	const char *from = c_kernel_value(k, value->args[0]);
	if (value_truth(value->args[0]) && is_number_of_c(value->dtype) &&
	    is_number_of_c(value->args[0]->dtype)) /* 0 and 1 need no bounds */
		return arena_printf(k->arena, "(%s)(%s)", c_type(value->dtype), from);
	if (!k->alone || value->args[0]->dtype != DTYPE_F16 || value->dtype != DTYPE_F32)
		return c_cast(k->arena, value->args[0]->dtype, value->dtype, from);
	k->m->c_vectors->halves_alone = true;
	return arena_printf(k->arena, "TSR_F32_FROM_ONE_F16(%s)", from);
}

const char *c_kernel_fused(KernelText *k, const Fused *fused, const char *element)
{
	const char *args[] = {c_kernel_value(k, fused->a), c_kernel_value(k, fused->b),
			      fused->rest ? c_kernel_value(k, fused->rest) : element};
	return c_fused(k->arena, fused->signs, args);
}

static bool is_fused(const KernelText *k, const Value *value, Fused *fused)
{
	return value->kind == VALUE_OP && value->nargs == 2 &&
	       find_fused(k->m, value->op, value->args[0], value->args[1], fused);
}

static const char *op_text(KernelText *k, const Value *value)
{
	const char *args[3];
	Fused fused;
	if (is_fused(k, value, &fused))
		return c_kernel_fused(k, &fused, NULL);
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = c_kernel_value(k, value->args[i]);
	if (value->fast_path)
		return c_call(k->arena, "fast_", value->op, value->dtype, args);
	return c_op(k->arena, value->op, value->dtype, args);
}

static const char *far_text(KernelText *k, const Value *value)
{
	const char *args[3];
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = c_kernel_value(k, value->args[i]);
	return c_call(k->arena, "far_", value->op, value->args[0]->dtype, args);
}

static const char *fresh_text(KernelText *k, const Value *value)
{
	switch (value->kind) {
	case VALUE_LOAD: return load_text(k, value);
	case VALUE_LOCAL: return c_kernel_local(k, value->local, value->ixs, value->nixs);
	case VALUE_CONST: return c_constant(k->arena, value->dtype, value->constant);
	case VALUE_OP: return op_text(k, value);
	case VALUE_FAR: return far_text(k, value);
	case VALUE_CAST: return cast_text(k, value);
	case VALUE_KEY:
		return arena_printf(k->arena, "tsr_key_%s(%s)", dtype_name(value->args[0]->dtype),
				    c_kernel_value(k, value->args[0]));
	case VALUE_INDEX:
		return c_cast(k->arena, DTYPE_I64, value->dtype, c_kernel_ix(k, value->ix));
	case VALUE_SCALAR: return k->scalars[kernel_use_scalar(k->use, value->scalar)];
	}
	BUG("value kind %d", value->kind);
}

const char *c_kernel_value(KernelText *k, const Value *value)
{
	uint64_t name = *pointer_map_at(&k->names, value);
	return name ? (const char *)(uintptr_t)name : fresh_text(k, value);
}

/* ---- shared values ---- */

static void count_value(KernelText *k, const Value *value);

static void count_ix(KernelText *k, const Ix *ix)
{
	if (!ix)
		return;
	if (ix->kind == IX_VALUE)
		count_value(k, ix->value);
	count_ix(k, ix->a);
	count_ix(k, ix->b);
}

static void count_value(KernelText *k, const Value *value)
{
	Fused fused;
	if ((*pointer_map_at(&k->uses, value))++ > 0)
		return;
	if (is_fused(k, value, &fused)) { /* nothing reads the product */
		count_value(k, fused.a);
		count_value(k, fused.b);
		count_value(k, fused.rest);
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		if (value->args[i])
			count_value(k, value->args[i]);
	count_ix(k, value->ix);
	for (uint32_t i = 0; i < value->nixs; i++)
		count_ix(k, value->ixs[i]);
}

/* Names, in the order of evaluation, the values that have several readers. */
void c_kernel_shared(KernelText *k, const Value *value)
{
	if (*pointer_map_at(&k->names, value))
		return;
	for (uint32_t i = 0; i < 3; i++)
		if (value->args[i])
			c_kernel_shared(k, value->args[i]);
	bool trivial = value->kind == VALUE_CONST || value->kind == VALUE_SCALAR;
	if (trivial || *pointer_map_at(&k->uses, value) < 2)
		return;
	const char *text = fresh_text(k, value);
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "const %s %s = %s;\n", c_type(value->dtype), name, text);
	*pointer_map_at(&k->names, value) = (uint64_t)(uintptr_t)name;
}

void c_kernel_count(KernelText *k, const Value *value)
{
	pointer_map_clear(&k->uses);
	pointer_map_clear(&k->names);
	if (value)
		count_value(k, value);
}
