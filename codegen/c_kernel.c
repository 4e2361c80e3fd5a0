/* Kernels as C functions, one statement a line; their expressions are in c_expression.c. */
#include "codegen/c_kernel.h"

#include <string.h>

#include "codegen/c_compaction.h"
#include "codegen/c_matrix.h"
#include "codegen/c_stream.h"
#include "codegen/cuda_text.h"
#include "codegen/streams.h"
#include "loops/group.h"
#include "loops/walk.h"

/* The loop's chunks are a function of their own, in front of this one. */
static void put_chunks(KernelText *k, const Stmt *stmt)
{
	uint32_t index = kernel_use_chunks(k->use, stmt);
	c_matrix_end(k); /* what runs the chunks is the caller's */
	c_kernel_indent(k);
	fprintf(k->out, "tsr_chunks(call, %s, %s__p_%s_%u, &tsr_args);\n", c_kernel_ix(k, stmt->hi),
		k->m->prefix, k->kernel->name, index);
}

/* Threads of a block that each of this loop's has, in the loops that it holds. */
static int64_t threads_inside(const KernelText *k, const Stmt *loop)
{
	int64_t n = 1, inside = 1;
	const Stmt *s = block_only(loop->body);
	for (; s && s->kind == LOOP_FOR && s->loop == LOOP_BLOCK; s = block_only(s->body))
		inside *= size_is_const(k->m->program->sizes, s->hi->size, &n) ? n : 1;
	return block_is_of_warps(&loop->body) ? inside * WARP : inside;
}

static void put_threads(KernelText *k, const Stmt *stmt)
{
	if (k->turns && !k->threads && k->role != ROLE_ALL && stmt->threads != k->role)
		return;
	c_kernel_indent(k);
	fprintf(k->out, "%s(%s, %s, %lld",
		k->threads	? "TSR_THREADS_IN"
		: stmt->threads ? "TSR_THREADS_BEHIND"
				: "TSR_THREADS",
		k->iters[stmt->iter], c_kernel_ix(k, stmt->hi), (long long)threads_inside(k, stmt));
	if (stmt->threads)
		fprintf(k->out, ", %lld", (long long)stmt->threads);
	fprintf(k->out, ") {\n");
	bool inner = k->threads, warps = k->warps;
	k->threads = true;
	k->warps = warps || block_is_of_warps(&stmt->body);
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "(void)%s;\n", k->iters[stmt->iter]);
	c_kernel_block(k, stmt->body);
	k->indent--;
	k->threads = inner;
	k->warps = warps;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_cluster(KernelText *k, const Stmt *loop)
{
	const char *i = k->iters[loop->iter];
	c_kernel_indent(k);
	fprintf(k->out, "TSR_CLUSTER_BLOCK(%s, %s) {\n", i, c_kernel_ix(k, loop->hi));
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "(void)%s;\n", i);
	c_kernel_block(k, loop->body);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_line(KernelText *k, const char *text)
{
	c_kernel_indent(k);
	fprintf(k->out, "%s;\n", text);
}

/* Behind the first iterations that are done: an expression; NULL: there are none. */
static void put_for(KernelText *k, const Stmt *stmt, const char *done)
{
	const char *i = k->iters[stmt->iter], *lo = c_kernel_ix(k, stmt->lo),
		   *hi = c_kernel_ix(k, stmt->hi);
	if (done)
		lo = strcmp(lo, "0") ? arena_printf(k->arena, "%s + %s", lo, done) : done;
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
	const char *done = c_compact_vectors(k, loop);
	if (loop->loop == LOOP_UNROLL)
		c_put_unroll(k, constant_trips(k->m->program, loop));
	else if (!k->device && c_loop_stays_loop(k, loop))
		fprintf(k->out, "#pragma GCC unroll 1\n");
	if (!k->device && c_loop_is_independent(k, loop)) {
		c_kernel_indent(k);
		fprintf(k->out, "TSR_INDEPENDENT\n");
	}
	put_for(k, loop, done);
	k->unrolled[loop->iter] = loop->loop == LOOP_UNROLL && !k->device;
	put_scalar(k, loop);
}

/* Compilers warn of a test for less than 0 that no unsigned number passes. */
static bool never_below(const Ix *ix, const Ix *lo, const Sizes *sizes)
{
	bool natural = ix->kind == IX_VALUE && ix->value->kind != VALUE_CONST &&
		       op_neutral(OP_MAX, ix->value->dtype).i == 0;
	return natural && dtype_is_integer(ix->value->dtype) && lo->kind == IX_SIZE &&
	       size_is(sizes, lo->size, 0);
}

static void put_if(KernelText *k, const Stmt *stmt)
{
	const char *between = "";
	c_kernel_indent(k);
	fprintf(k->out, "if (");
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		const Cond *cond = &stmt->conds[i];
		if (cond->kind == COND_LE && never_below(cond->b, cond->a, k->m->program->sizes))
			continue;
		fprintf(k->out, "%s%s", between, c_kernel_cond(k, cond));
		between = " && ";
	}
	fprintf(k->out, "%s) {\n", *between ? "" : "1");
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
		if (!k->read[stmt->local]) /* of an index that an extent of 0 leaves out */
			put_line(k, arena_printf(k->arena, "(void)%s", name));
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
	Dtype dtype = stmt->value->dtype;
	Fused fused;
	c_kernel_indent(k);
	if (find_fused(k->m, stmt->acc, NULL, stmt->value, &fused)) {
		fprintf(k->out, "%s = %s;\n", element, c_kernel_fused(k, &fused, element));
		return;
	}
	const char *args[] = {element, c_kernel_value(k, stmt->value), NULL};
	bool sum = dtype_is_float(dtype) && stmt->acc == OP_ADD;
	if (stmt->acc == OP_NONE || sum)
		fprintf(k->out, "%s %s %s;\n", element, sum ? "+=" : "=", args[1]);
	else
		fprintf(k->out, "%s = %s;\n", element, c_op(k->arena, stmt->acc, dtype, args));
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
		k->device  ? "\tTSR_FAIL(TSR_CHECK_FIRST + %u);\n"
		: k->tiles ? "\treturn tsr_tile_release(&tsr_tile_config), TSR_CHECK_FIRST + %u;\n"
			   : "\treturn TSR_CHECK_FIRST + %u;\n",
		stmt->check);
}

/* The address may be outside the array: it is no pointer of C. */
static void put_prefetch(KernelText *k, const Stmt *stmt)
{
	const char *array = k->buffers[kernel_use_buffer(k->use, stmt->buffer)];
	bool packed = dtype_is_packed(k->m->program->buffers.at[stmt->buffer].dtype);
	c_kernel_indent(k);
	if (k->device) {
		fprintf(k->out, "TSR_FETCH(%s + (%s)%s);\n", array, c_kernel_ix(k, stmt->ix),
			packed ? " / 2" : "");
		return;
	}
	fprintf(k->out, "TSR_PREFETCH((uintptr_t)%s + (uintptr_t)(%s) * sizeof *%s%s, %d);\n", array,
		c_kernel_ix(k, stmt->ix), array, packed ? " / 2" : "", stmt->near ? 3 : 2);
}

typedef void PutLoop(KernelText *k, const Stmt *loop);

static void put_stmt(KernelText *k, const Stmt *stmt);

static void put_matrix(KernelText *k, const Stmt *stmt) { c_matrix_stmt(k, stmt, put_stmt); }

/* The loop with the statements of the threads from `first` on; of all threads: first is below 0. */
static void put_rounds_of(KernelText *k, const Stmt *loop, int64_t first)
{
	put_loop(k, loop);
	k->indent++;
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (first < 0 || loop->body.stmts[i]->threads == first)
			put_stmt(k, loop->body.stmts[i]);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void c_kernel_if_role(KernelText *k, const Stmt *loop)
{
	int64_t n = 1;
	size_is_const(k->m->program->sizes, loop->hi->size, &n);
	c_kernel_indent(k);
	fprintf(k->out, "if (TSR_THREAD >= %lld && TSR_THREAD < %lld) {\n",
		(long long)loop->threads, (long long)(loop->threads + n * threads_inside(k, loop)));
	k->indent++;
}

/* On a GPU a loop for the threads of each loop of a block, which go on each at its own pace. */
static void put_rounds(KernelText *k, const Stmt *loop)
{
	fprintf(k->out, "#ifdef __CUDACC__\n");
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		bool seen = false;
		for (uint32_t before = 0; before < i; before++)
			seen |= loop->body.stmts[before]->threads == stmt->threads;
		if (seen)
			continue;
		c_kernel_if_role(k, stmt);
		put_rounds_of(k, loop, stmt->threads);
		if (block_is_of_warps(&stmt->body)) /* ptxas has none on its way where paths meet */
			put_line(k, "TSR_GROUP_WAIT(0)");
		k->indent--;
		c_kernel_indent(k);
		fprintf(k->out, "}\n");
	}
	fprintf(k->out, "#else\n");
	put_rounds_of(k, loop, -1);
	fprintf(k->out, "#endif\n");
}

/* What writes a loop that is none of C, or products of matrices; NULL: it is one, or another statement. */
static PutLoop *loop_writer(const KernelText *k, const Stmt *stmt)
{
	if (is_warp_loop(stmt))
		return cuda_warp_loop;
	if (loop_streams(stmt))
		return c_stream_loop;
	if (c_matrix_fits(k, stmt))
		return put_matrix;
	if (stmt->kind != LOOP_FOR)
		return NULL;
	switch (stmt->loop) {
	case LOOP_VECTOR:
		return k->device		     ? cuda_lanes_loop
		       : c_lanes_groups_fit(k, stmt) ? c_lanes_groups
		       : c_lanes_fit(k, stmt)	     ? c_lanes_loop
						     : NULL;
	case LOOP_UNROLL:
		if (is_box_loop(stmt))
			return cuda_box_loop;
		return !k->device && c_lanes_written_out(k, stmt) ? c_put_written_out : NULL;
	case LOOP_MATRIX: return k->tiles_used ? c_matrix_loop : NULL;
	case LOOP_PARALLEL: return put_chunks;
	case LOOP_CLUSTER: return put_cluster;
	case LOOP_BLOCK: return put_threads;
	case LOOP_SERIAL: return k->device && !k->turns && cuda_is_rounds(stmt) ? put_rounds : NULL;
	case LOOP_GROUP: return cuda_group_loop;
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
	case LOOP_BARRIER:
		put_line(k, stmt->cluster ? "TSR_CLUSTER_BARRIER" : "TSR_BARRIER");
		return;
	case LOOP_COMMIT: put_line(k, "TSR_COMMIT"); return;
	case LOOP_WAIT:
		put_line(k, arena_printf(k->arena,
					 stmt->products ? "TSR_GROUP_WAIT(%lld)" : "TSR_WAIT(%lld)",
					 (long long)stmt->pending));
		return;
	case LOOP_COPY:
	case LOOP_ARRIVE:
	case LOOP_AWAIT: cuda_completion(k, stmt); return;
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
