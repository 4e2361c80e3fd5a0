/* Kernels as C functions, one statement a line. Values that a statement uses more than once become
 * constants in front of it; indices are written as they are. */
#include "codegen/c_kernel.h"

#include "codegen/cuda_text.h"
#include "loops/fragment.h"

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

const char *c_kernel_local(KernelText *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const char *text = k->locals[local];
	if (k->kernel->locals[local].role != ROLE_NONE)
		return cuda_fragment_at(k, local, ixs, NULL);
	const KernelLocal *own = &k->kernel->locals[local];
	for (uint32_t i = 0; i < nixs; i++)
		text = arena_printf(k->arena, i < own->nthreads ? "%s[TSR_OWN(%s)]" : "%s[%s]",
				    text, c_kernel_ix(k, ixs[i]));
	if (is_of_warp(own, ixs))
		return arena_printf(k->arena, "TSR_OF_WARP(%s, %s)", text,
				    c_kernel_ix(k, ixs[own->nthreads - 1]));
	return text;
}

const char *c_buffer_element(KernelText *k, BufferId buffer, const Ix *ix)
{
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

static const char *fresh_text(KernelText *k, const Value *value)
{
	const char *args[3];
	bool op = value->kind == VALUE_OP || value->kind == VALUE_FAR;
	for (uint32_t i = 0; op && i < value->nargs; i++)
		args[i] = c_kernel_value(k, value->args[i]);
	switch (value->kind) {
	case VALUE_LOAD: return load_text(k, value);
	case VALUE_LOCAL: return c_kernel_local(k, value->local, value->ixs, value->nixs);
	case VALUE_CONST: return c_constant(k->arena, value->dtype, value->constant);
	case VALUE_OP:
		if (!value->fast_path)
			return c_op(k->arena, value->op, value->dtype, args);
		return c_call(k->arena, "fast_", value->op, value->dtype, args);
	case VALUE_FAR: return c_call(k->arena, "far_", value->op, value->args[0]->dtype, args);
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
	if ((*pointer_map_at(&k->uses, value))++ > 0)
		return;
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

/* ---- statements ---- */

/* The loop's chunks are a function of their own, in front of this one. */
static void put_chunks(KernelText *k, const Stmt *stmt)
{
	uint32_t index = kernel_use_chunks(k->use, stmt);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_chunks(call, %s, %s__p_%s_%u, &tsr_args);\n", c_kernel_ix(k, stmt->hi),
		k->m->prefix, k->kernel->name, index);
}

/* Threads of a block that each of this loop's has, in the loops that it holds. */
static int64_t threads_inside(const KernelText *k, const Stmt *loop)
{
	int64_t n = 1, inside = 1;
	const Stmt *s = loop->body.n == 1 ? loop->body.stmts[0] : NULL;
	for (; s && s->kind == LOOP_FOR && s->loop == LOOP_BLOCK;
	     s = s->body.n == 1 ? s->body.stmts[0] : NULL)
		inside *= size_is_const(k->m->program->sizes, s->hi->size, &n) ? n : 1;
	return block_has_warp_loops(&loop->body) ? inside * WARP : inside;
}

static void put_threads(KernelText *k, const Stmt *stmt)
{
	c_kernel_indent(k);
	fprintf(k->out, "%s(%s, %s, %lld) {\n", k->threads ? "TSR_THREADS_IN" : "TSR_THREADS",
		k->iters[stmt->iter], c_kernel_ix(k, stmt->hi), (long long)threads_inside(k, stmt));
	bool inner = k->threads;
	k->threads = true;
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "(void)%s;\n", k->iters[stmt->iter]);
	c_kernel_block(k, stmt->body);
	k->indent--;
	k->threads = inner;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_line(KernelText *k, const char *text)
{
	c_kernel_indent(k);
	fprintf(k->out, "%s;\n", text);
}

static void put_for(KernelText *k, const Stmt *stmt)
{
	const char *i = k->iters[stmt->iter], *lo = c_kernel_ix(k, stmt->lo),
		   *hi = c_kernel_ix(k, stmt->hi);
	c_kernel_indent(k);
	if (stmt->hi->kind == IX_SIZE)
		fprintf(k->out, "for (int64_t %s = %s; %s < %s; ", i, lo, i, hi);
	else
		fprintf(k->out, "for (int64_t %s = %s, tsr_end_%s = %s; %s < tsr_end_%s; ", i, lo,
			i, hi, i, i);
	if (stmt->step == 1)
		fprintf(k->out, "%s++) {\n", i);
	else
		fprintf(k->out, "%s += %lld) {\n", i, (long long)stmt->step);
}

/* At the start of the loop's body. */
static void put_scalar(KernelText *k, const Stmt *loop)
{
	if (!c_loop_stays_scalar(k, loop))
		return;
	k->indent++;
	put_line(k, "TSR_SCALAR");
	k->indent--;
}

static void put_loop(KernelText *k, const Stmt *loop)
{
	if (loop->loop == LOOP_UNROLL)
		c_put_unroll(k, constant_trips(k->m->program, loop));
	else if (!k->device && c_loop_stays_loop(k, loop))
		fprintf(k->out, "#pragma GCC unroll 1\n");
	if (!k->device && c_loop_is_independent(k, loop)) {
		c_kernel_indent(k);
		fprintf(k->out, "TSR_INDEPENDENT\n");
	}
	put_for(k, loop);
	k->unrolled[loop->iter] = loop->loop == LOOP_UNROLL && !k->device;
	put_scalar(k, loop);
}

static void put_if(KernelText *k, const Stmt *stmt)
{
	static const char *const symbols[] = {[COND_LT] = "<", [COND_LE] = "<=", [COND_EQ] = "=="};
	c_kernel_indent(k);
	fprintf(k->out, "if (");
	for (uint32_t i = 0; i < stmt->nconds; i++)
		fprintf(k->out, "%s%s %s %s", i ? " && " : "", c_kernel_ix(k, stmt->conds[i].a),
			symbols[stmt->conds[i].kind], c_kernel_ix(k, stmt->conds[i].b));
	fprintf(k->out, "%s) {\n", stmt->nconds ? "" : "1");
}

/* A local of rank 0 is declared with its value; an array is declared, then filled. */
static void put_local(KernelText *k, const Stmt *stmt)
{
	const KernelLocal *local = &k->kernel->locals[stmt->local];
	const char *name = k->locals[stmt->local], *value = c_kernel_value(k, stmt->value);
	if (local->role != ROLE_NONE) {
		cuda_fragment_declare(k, stmt);
		return;
	}
	c_kernel_indent(k);
	if (local->rank == 0) {
		fprintf(k->out, "%s %s = %s;\n", c_type(local->dtype), name, value);
		return;
	}
	fprintf(k->out, "TSR_LANES %s %s", c_type(local->dtype), name);
	for (uint32_t i = 0; i < local->rank; i++)
		fprintf(k->out, i < local->nthreads ? "[TSR_EACH(%u)]" : "[%u]", local->extent[i]);
	if (k->columns[stmt->local] && !k->device)
		fprintf(k->out, ", %s[%u][%u]", k->columns[stmt->local], local->extent[1],
			local->extent[0]);
	fprintf(k->out, ";\n");
	if (k->device)
		cuda_lanes_fill(k, stmt->local, value);
	else
		c_lanes_fill(k, stmt->local, value);
}

void c_kernel_assign(KernelText *k, const char *element, const Stmt *stmt)
{
	const char *args[] = {element, c_kernel_value(k, stmt->value), NULL};
	Dtype dtype = stmt->value->dtype;
	bool sum = dtype_is_float(dtype) && stmt->acc == OP_ADD;
	c_kernel_indent(k);
	if (stmt->acc == OP_NONE || sum)
		fprintf(k->out, "%s %s %s;\n", element, sum ? "+=" : "=", args[1]);
	else
		fprintf(k->out, "%s = %s;\n", element, c_op(k->arena, stmt->acc, dtype, args));
}

/* Compilers warn of a test for less than 0 that no unsigned number passes. */
static bool never_below(const Ix *ix, const Ix *lo, const Sizes *sizes)
{
	bool natural = ix->kind == IX_VALUE && ix->value->kind != VALUE_CONST &&
		       op_neutral(OP_MAX, ix->value->dtype).i == 0;
	return natural && dtype_is_integer(ix->value->dtype) && lo->kind == IX_SIZE &&
	       size_is(sizes, lo->size, 0);
}

static void put_check(KernelText *k, const Stmt *stmt)
{
	const char *ix = c_kernel_ix(k, stmt->ix);
	c_kernel_indent(k);
	if (never_below(stmt->ix, stmt->lo, k->m->program->sizes))
		fprintf(k->out, "if (%s >= %s)\n", ix, c_kernel_ix(k, stmt->hi));
	else
		fprintf(k->out, "if (%s < %s || %s >= %s)\n", ix, c_kernel_ix(k, stmt->lo), ix,
			c_kernel_ix(k, stmt->hi));
	c_kernel_indent(k);
	fprintf(k->out,
		k->device ? "\tTSR_FAIL(TSR_CHECK_FIRST + %u);\n"
			  : "\treturn TSR_CHECK_FIRST + %u;\n",
		stmt->check);
}

/* The address may be outside the array: it is no pointer of C. */
static void put_prefetch(KernelText *k, const Stmt *stmt)
{
	const char *array = k->buffers[kernel_use_buffer(k->use, stmt->buffer)];
	bool packed = dtype_is_packed(k->m->program->buffers.at[stmt->buffer].dtype);
	c_kernel_indent(k);
	fprintf(k->out, "TSR_PREFETCH((uintptr_t)%s + (uintptr_t)(%s) * sizeof *%s%s, %d);\n", array,
		c_kernel_ix(k, stmt->ix), array, packed ? " / 2" : "", stmt->near ? 3 : 2);
}

void c_kernel_count(KernelText *k, const Value *value)
{
	pointer_map_clear(&k->uses);
	pointer_map_clear(&k->names);
	if (value)
		count_value(k, value);
}

typedef void PutLoop(KernelText *k, const Stmt *loop);

/* What writes a loop that is none of C; NULL: it is one, or another statement. */
static PutLoop *loop_writer(const KernelText *k, const Stmt *stmt)
{
	if (is_warp_loop(stmt))
		return cuda_warp_loop;
	if (stmt->kind != LOOP_FOR)
		return NULL;
	switch (stmt->loop) {
	case LOOP_VECTOR:
		return k->device		     ? cuda_lanes_loop
		       : c_lanes_groups_fit(k, stmt) ? c_lanes_groups
		       : c_lanes_fit(k, stmt)	     ? c_lanes_loop
						     : NULL;
	case LOOP_UNROLL:
		return !k->device && c_lanes_written_out(k, stmt) ? c_put_written_out : NULL;
	case LOOP_PARALLEL: return put_chunks;
	case LOOP_BLOCK: return put_threads;
	default: return NULL;
	}
}

/* Of i4 and u4 the byte of two elements. */
static const char *stored_element(KernelText *k, const Stmt *stmt)
{
	if (!dtype_is_packed(k->m->program->buffers.at[stmt->buffer].dtype))
		return c_buffer_element(k, stmt->buffer, stmt->ix);
	return arena_printf(k->arena, "%s[(%s) / 2]",
			    k->buffers[kernel_use_buffer(k->use, stmt->buffer)],
			    c_kernel_ix(k, stmt->ix));
}

static void put_stmt(KernelText *k, const Stmt *stmt)
{
	c_kernel_count(k, stmt->value);
	if (stmt->value)
		c_kernel_shared(k, stmt->value);
	if (!k->device)
		c_columns_before(k, stmt);
	PutLoop *writer = loop_writer(k, stmt);
	if (writer) {
		writer(k, stmt);
		return;
	}
	switch (stmt->kind) {
	case LOOP_FOR: put_loop(k, stmt); break;
	case LOOP_IF: put_if(k, stmt); break;
	case LOOP_LOCAL: put_local(k, stmt); return;
	case LOOP_SET:
		if (k->kernel->locals[stmt->local].role != ROLE_NONE) {
			cuda_fragment_set(k, stmt);
			return;
		}
		c_kernel_assign(k, c_kernel_local(k, stmt->local, stmt->ixs, stmt->nixs), stmt);
		return;
	case LOOP_STORE: c_kernel_assign(k, stored_element(k, stmt), stmt); return;
	case LOOP_CHECK: put_check(k, stmt); return;
	case LOOP_PREFETCH: put_prefetch(k, stmt); return;
	case LOOP_BARRIER: put_line(k, "TSR_BARRIER"); return;
	case LOOP_COMMIT: put_line(k, "TSR_COMMIT"); return;
	case LOOP_WAIT:
		put_line(k, arena_printf(k->arena, "TSR_WAIT(%lld)", (long long)stmt->pending));
		return;
	}
	k->indent++;
	const bool *transposed = c_columns_enter(k);
	c_kernel_block(k, stmt->body);
	c_columns_leave(k, transposed);
	if (stmt->kind == LOOP_FOR)
		k->unrolled[stmt->iter] = false;
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void c_kernel_block(KernelText *k, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		put_stmt(k, block.stmts[i]);
}
