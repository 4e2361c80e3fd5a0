/* Loops of lanes for a GPU: each statement takes what it reads in wide accesses, is computed for one lane after
 * another in registers, and stores in a wide access.
 *
 *   float tsr_w0[4];                                       vector lane in 0..4
 *   tsr_take4_f32(tsr_w0, &x[i]);                            y[i + lane] = exp(x[i + lane])
 *   float tsr_w1[4];
 *   TSR_UNROLL
 *   for (int64_t lane = 0; lane < 4; lane++) {
 *           tsr_w1[lane] = expf(tsr_w0[lane]);
 *   }
 *   tsr_put4_f32(&y[i], tsr_w1);
 *
 * As many lanes as 16 bytes have elements are one access, or 8 bytes; where there are more, a loop has several. Elements of
 * four bits are floats at once where the value casts them: `tsr_take32_f32_of_u4`.
 */
#include "base/diag.h"
#include "codegen/cuda_text.h"
#include "loops/build.h"
#include "loops/linear.h"
#include "loops/verify_block.h"
#include "loops/walk.h"

typedef struct Lanes {
	KernelText *k;
	const Stmt *loop;
	const char *lane;
	int64_t n;
	const Value *loads[8]; /* of the statement, in wide accesses; or casts to f32 of four bits */
	const char *names[8];
	uint32_t nloads;
} Lanes;

static Program *program_of(const Lanes *l) { return (Program *)l->k->m->program; }

static Dtype dtype_of(const Lanes *l, BufferId buffer)
{
	return program_of(l)->buffers.at[buffer].dtype;
}

static bool is_wide(const Lanes *l, BufferId buffer, const Ix *ix)
{
	Dtype dtype = dtype_of(l, buffer);
	return ix_uses(ix, l->loop->iter) && dtype_bytes(dtype) <= 8 && lanes_are_wide(dtype, l->n);
}

/* What stands behind the number of elements in the names of accesses to a buffer. */
static const char *wide_name(const Lanes *l, BufferId buffer)
{
	switch (dtype_of(l, buffer)) {
	case DTYPE_F32: return "f32";
	case DTYPE_I32: return "i32";
	case DTYPE_U32: return "u32";
	case DTYPE_F64: return "f64";
	case DTYPE_I64: return "i64";
	case DTYPE_I8: return "i8";
	case DTYPE_I4: return "i4";
	case DTYPE_U4: return "u4";
	default:
		return dtype_bytes(dtype_of(l, buffer)) == 1 ? "u8"
							     : "u16"; /* of floats their bits */
	}
}

static void declare_array(Lanes *l, Dtype dtype, const char *name)
{
	c_kernel_indent(l->k);
	fprintf(l->k->out, "%s %s[%lld];\n", c_type(dtype), name, (long long)l->n);
}

static void declare_wide(Lanes *l, BufferId buffer, const char *name)
{
	declare_array(l, dtype_alone(dtype_of(l, buffer)), name);
}

static const char *new_name(Lanes *l)
{
	return arena_printf(l->k->arena, "tsr_w%u", l->k->ntemps++);
}

/* The element of the first lane. */
static const char *first_element(const Lanes *l, BufferId buffer, const Ix *ix)
{
	const Ix *first = ix_of_first_lane(program_of(l), ix, l->loop->iter);
	bool boxed = l->k->boxes && l->k->boxes->tensor == buffer;
	if (dtype_is_packed(dtype_of(l, buffer)))
		return arena_printf(l->k->arena, "%s[(%s) / 2]",
				    l->k->buffers[kernel_use_buffer(l->k->use, buffer)],
				    c_kernel_ix(l->k, first));
	return boxed ? cuda_box_element(l->k, first) : c_buffer_element(l->k, buffer, first);
}

/* An element of a buffer: that of each lane. */
typedef struct Access {
	BufferId buffer;
	const Ix *ix;
	bool cast; /* of four bits to f32 */
} Access;

/* The accesses by which all lanes take what the buffer has into an array, or put it there. */
static void put_accesses(Lanes *l, const Access *at, const char *array, bool take)
{
	int64_t each = lanes_of_access(dtype_of(l, at->buffer), l->n);
	for (int64_t i = 0; i < l->n; i += each) {
		const char *own =
			i ? arena_printf(l->k->arena, "%s + %lld", array, (long long)i) : array;
		const char *element =
			first_element(l, at->buffer, ix_plus(program_of(l), at->ix, i));
		c_kernel_indent(l->k);
		fprintf(l->k->out, "tsr_%s%lld_%s%s(", take ? "take" : "put", (long long)each,
			at->cast ? "f32_of_" : "", wide_name(l, at->buffer));
		if (take)
			fprintf(l->k->out, "%s, &%s);\n", own, element);
		else
			fprintf(l->k->out, "&%s, %s);\n", element, own);
	}
}

/* Is it such a load as a float? */
static bool is_of_four_bits(const Lanes *l, const Value *value)
{
	return value->kind == VALUE_CAST && value->dtype == DTYPE_F32 &&
	       value->args[0]->kind == VALUE_LOAD &&
	       dtype_is_packed(dtype_of(l, value->args[0]->buffer));
}

static void put_load(void *of, const Value *value)
{
	Lanes *l = of;
	const Value *load = is_of_four_bits(l, value) ? value->args[0] : value;
	bool cast = load != value;
	if (load->kind != VALUE_LOAD || !is_wide(l, load->buffer, load->ix) || l->nloads == 8)
		return;
	for (uint32_t i = 0; i < l->nloads; i++)
		if (l->loads[i] == value || (l->loads[i]->nargs && l->loads[i]->args[0] == value))
			return;
	const char *name = new_name(l);
	if (cast)
		declare_array(l, DTYPE_F32, name);
	else
		declare_wide(l, load->buffer, name);
	put_accesses(l, &(Access){load->buffer, load->ix, cast}, name, true);
	l->loads[l->nloads] = value;
	l->names[l->nloads++] = arena_printf(l->k->arena, "%s[%s]", name, l->lane);
}

/* The statement's element for one lane. */
static const char *element_of(Lanes *l, const Stmt *stmt, const char *wide)
{
	if (stmt->kind == LOOP_STORE)
		return wide ? arena_printf(l->k->arena, "%s[%s]", wide, l->lane)
			    : c_buffer_element(l->k, stmt->buffer, stmt->ix);
	return stmt->kind == LOOP_LOCAL ? l->k->locals[stmt->local]
					: c_kernel_local(l->k, stmt->local, stmt->ixs, stmt->nixs);
}

static void put_lanes(Lanes *l, const Stmt *stmt, const char *wide)
{
	KernelText *k = l->k;
	c_kernel_indent(k);
	fprintf(k->out, "TSR_UNROLL\n");
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = 0; %s < %lld; %s++) {\n", l->lane, l->lane,
		(long long)l->n, l->lane);
	k->indent++;
	c_kernel_count(k, stmt->value);
	for (uint32_t i = 0; i < l->nloads; i++)
		*pointer_map_at(&k->names, l->loads[i]) = (uint64_t)(uintptr_t)l->names[i];
	c_kernel_shared(k, stmt->value);
	c_kernel_assign(k, element_of(l, stmt, wide), stmt);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

/* A local is one of each lane, until the end of the loop. */
static void declare(Lanes *l, const Stmt *stmt)
{
	const char *name = l->k->locals[stmt->local];
	c_kernel_indent(l->k);
	fprintf(l->k->out, "%s %s[%lld];\n", c_type(stmt->value->dtype), name, (long long)l->n);
	l->k->locals[stmt->local] = arena_printf(l->k->arena, "%s[%s]", name, l->lane);
}

static const char *first_ix(const Lanes *l, const Ix *ix)
{
	bool moves = ix_uses(ix, l->loop->iter);
	return c_kernel_ix(l->k, moves ? ix_of_first_lane(program_of(l), ix, l->loop->iter) : ix);
}

/* tsr_n: for how many lanes the conditions hold, which come first. */
static void put_lanes_that_hold(Lanes *l, const Stmt *stmt)
{
	KernelText *k = l->k;
	c_kernel_indent(k);
	fprintf(k->out, "int64_t tsr_n = %lld;\n", (long long)l->n);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		const Cond *cond = &stmt->conds[i];
		const char *a = first_ix(l, cond->a), *b = first_ix(l, cond->b);
		c_kernel_indent(k);
		if (ix_uses(cond->a, l->loop->iter))
			fprintf(k->out, "tsr_n = tsr_fewer(tsr_n, (%s) - (%s)%s);\n", b, a,
				cond->kind == COND_LE ? " + 1" : "");
		else
			fprintf(k->out, "tsr_n = %s ? tsr_n : 0;\n", c_kernel_cond(k, cond));
	}
}

/* All lanes are one copy, of 16 bytes, 8 or 4. */
static void put_async(Lanes *l, const Stmt *stmt)
{
	KernelText *k = l->k;
	long long each = (long long)dtype_bytes(dtype_of(l, stmt->buffer));
	if (stmt->nconds)
		put_lanes_that_hold(l, stmt);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_copy_async_%s%lld(&%s, &%s", stmt->nconds ? "part_" : "",
		(long long)l->n * each, first_element(l, stmt->buffer, stmt->ix),
		first_element(l, stmt->value->buffer, stmt->value->ix));
	if (stmt->nconds)
		fprintf(k->out, ", (int32_t)(tsr_n * %lld)", each);
	fprintf(k->out, ");\n");
}

static void put_stmt(Lanes *l, const Stmt *stmt)
{
	if (stmt->kind == LOOP_STORE && stmt->async) {
		put_async(l, stmt);
		return;
	}
	bool wide = stmt->kind == LOOP_STORE && is_wide(l, stmt->buffer, stmt->ix);
	const char *name = wide ? new_name(l) : NULL;
	l->nloads = 0;
	value_each(stmt->value, put_load, l);
	if (stmt->kind == LOOP_LOCAL)
		declare(l, stmt);
	if (wide)
		declare_wide(l, stmt->buffer, name);
	put_lanes(l, stmt, name);
	if (wide)
		put_accesses(l, &(Access){.buffer = stmt->buffer, .ix = stmt->ix}, name, false);
}

void cuda_lanes_loop(KernelText *k, const Stmt *loop)
{
	Lanes l = {.k = k, .loop = loop, .lane = k->iters[loop->iter]};
	size_is_const(k->m->program->sizes, loop->hi->size, &l.n);
	c_kernel_indent(k);
	fprintf(k->out, "{\n");
	k->indent++;
	const char **before = ARENA_ARRAY(k->arena, const char *, k->kernel->nlocals + 1);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		before[i] = k->locals[i];
	for (uint32_t i = 0; i < loop->body.n; i++)
		put_stmt(&l, loop->body.stmts[i]);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		k->locals[i] = before[i];
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void cuda_lanes_fill(KernelText *k, LocalId id, const char *value)
{
	const KernelLocal *local = &k->kernel->locals[id];
	const char *first = k->locals[id], *n = "";
	for (uint32_t i = 0; i < local->rank; i++) {
		first = arena_printf(k->arena, "%s[0]", first);
		n = arena_printf(k->arena, i < local->nthreads ? "%s%sTSR_EACH(%u)" : "%s%s%u", n,
				 i ? " * " : "", local->extent[i]);
	}
	c_kernel_indent(k);
	fprintf(k->out, "TSR_UNROLL\n");
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t tsr_i = 0; tsr_i < %s; tsr_i++)\n", n);
	c_kernel_indent(k);
	fprintf(k->out, "\t(&%s)[tsr_i] = %s;\n", first, value);
}
