/* The loop IR as pseudo-code: every kernel with one statement a line. dump_tables.c prints what
 * stands around the kernels, parse.c reads it all back. Nothing here depends on addresses: two runs
 * print the same.
 */
#include <inttypes.h>
#include <string.h>

#include "loops/dump.h"

#include "loops/group.h"
#include "loops/walk.h"

static void dump_ix(const Dump *d, const Ix *ix, int level);
static void dump_value(const Dump *d, const Value *value, int level);

static void dump_size(const Dump *d, Size size, int level)
{
	int64_t constant;
	DimId dim;
	bool simple = (size_is_const(d->program->sizes, size, &constant) && constant >= 0) ||
		      size_is_dim(d->program->sizes, size, &dim);
	const char *text = simple ? "" : size_text(d->program->arena, d->program->sizes, size);
	bool bare = simple || level == 0 || (level < 3 && !strchr(text, ' '));
	fprintf(d->out, "%s", bare ? "" : "(");
	size_print(d->out, d->program->sizes, size);
	fprintf(d->out, "%s", bare ? "" : ")");
}

/* Is it x * -c, for a constant c > 0? */
static bool is_negative_product(const Dump *d, const Ix *ix, int64_t *c)
{
	int64_t factor;
	if (ix->kind != IX_MUL || ix->b->kind != IX_SIZE ||
	    !size_is_const(d->program->sizes, ix->b->size, &factor) || factor >= 0)
		return false;
	*c = -factor;
	return true;
}

/* " - x*c" */
static void dump_minus(const Dump *d, const Ix *x, int64_t c)
{
	fprintf(d->out, " - ");
	dump_ix(d, x, 3);
	if (c != 1)
		fprintf(d->out, "*%" PRId64, c);
}

/* a + b; negative constants are subtracted, and -x + c is c - x. */
static void dump_sum(const Dump *d, const Ix *ix)
{
	const Ix *a = ix->a, *b = ix->b;
	int64_t c;
	if (b->kind == IX_SIZE && is_negative_product(d, a, &c)) {
		dump_size(d, b->size, 1);
		dump_minus(d, a->a, c);
		return;
	}
	dump_ix(d, a, 1);
	if (b->kind == IX_SIZE && size_is_const(d->program->sizes, b->size, &c) && c < 0) {
		fprintf(d->out, " - %" PRId64, -c);
	} else if (is_negative_product(d, b, &c)) {
		dump_minus(d, b->a, c);
	} else {
		fprintf(d->out, " + ");
		dump_ix(d, b, 2);
	}
}

static void dump_ix_infix(const Dump *d, const Ix *ix, const char *symbol)
{
	dump_ix(d, ix->a, 3);
	fprintf(d->out, "%s", symbol);
	dump_ix(d, ix->b, 3);
}

/* a/b of sizes is exact: where it rounds down that is said. */
static void dump_quotient(const Dump *d, const Ix *ix)
{
	bool sizes = ix->a->kind == IX_SIZE && ix->b->kind == IX_SIZE;
	fprintf(d->out, "%s", sizes ? "floor(" : "");
	dump_ix_infix(d, ix, "/");
	fprintf(d->out, "%s", sizes ? ")" : "");
}

static void dump_ix_call(const Dump *d, const Ix *ix, const char *name)
{
	fprintf(d->out, "%s(", name);
	dump_ix(d, ix->a, 0);
	fprintf(d->out, ", ");
	dump_ix(d, ix->b, 0);
	fprintf(d->out, ")");
}

/* level: 0 alone, 1 left of a sum, 2 right of a sum, 3 in a product. */
static void dump_ix(const Dump *d, const Ix *ix, int level)
{
	bool sum = ix->kind == IX_ADD;
	bool product = ix->kind == IX_MUL || ix->kind == IX_DIV || ix->kind == IX_MOD;
	bool parens = (sum && level >= 2) || (product && level >= 3);
	fprintf(d->out, "%s", parens ? "(" : "");
	switch (ix->kind) {
	case IX_SIZE: dump_size(d, ix->size, level >= 2 ? level : 0); break;
	case IX_ITER: fprintf(d->out, "%s", dump_iter(d, ix->iter)); break;
	case IX_ADD: dump_sum(d, ix); break;
	case IX_MUL: dump_ix_infix(d, ix, "*"); break;
	case IX_DIV: dump_quotient(d, ix); break;
	case IX_MOD: dump_ix_infix(d, ix, "%"); break;
	case IX_MIN: dump_ix_call(d, ix, "min"); break;
	case IX_MAX: dump_ix_call(d, ix, "max"); break;
	case IX_VALUE:
		fprintf(d->out, "int(");
		dump_value(d, ix->value, 0);
		fprintf(d->out, ")");
		break;
	}
	fprintf(d->out, "%s", parens ? ")" : "");
}

static void dump_ixs(const Dump *d, const Ix *const *ixs, uint32_t nixs)
{
	for (uint32_t i = 0; i < nixs; i++) {
		fprintf(d->out, "%s", i ? ", " : "[");
		dump_ix(d, ixs[i], 0);
	}
	fprintf(d->out, "%s", nixs ? "]" : "");
}

static const char *infix(Op op)
{
	return op == OP_MUL ? "*" : op_arity(op) == 2 ? op_symbol(op) : NULL;
}

static void dump_op(const Dump *d, const Value *value, int level)
{
	bool far = value->kind == VALUE_FAR;
	const char *symbol = far || value->fast_path ? NULL : infix(value->op);
	if (far || value->fast_path)
		fprintf(d->out, far ? "far_" : "fast_");
	if (!symbol)
		fprintf(d->out, "%s", op_name(value->op));
	fprintf(d->out, "%s", symbol && !level ? "" : "(");
	for (uint32_t i = 0; i < value->nargs; i++) {
		if (i)
			fprintf(d->out, symbol ? " %s " : ", ", symbol);
		dump_value(d, value->args[i], symbol ? 1 : 0);
	}
	fprintf(d->out, "%s", symbol && !level ? "" : ")");
}

void dump_scalar(const Dump *d, Dtype dtype, Scalar scalar)
{
	if (dtype_is_float(dtype))
		fprintf(d->out, "%.*g", dtype == DTYPE_F64 ? 17 : 9, scalar.f);
	else
		fprintf(d->out, "%" PRId64, scalar.i);
}

static void dump_scalar_name(const Dump *d, uint32_t scalar)
{
	const ProgramRoutine *routine = program_routine(d->program, d->routine);
	if (scalar < routine->nscalars)
		fprintf(d->out, "%s", routine->scalars[scalar].name);
}

static void dump_value(const Dump *d, const Value *value, int level)
{
	switch (value->kind) {
	case VALUE_LOAD:
		fprintf(d->out, "%s[", dump_buffer_name(d, value->buffer));
		dump_ix(d, value->ix, 0);
		fprintf(d->out, "]");
		break;
	case VALUE_LOCAL:
		fprintf(d->out, "%s", dump_local_name(d, value->local));
		dump_ixs(d, value->ixs, value->nixs);
		break;
	case VALUE_CONST: dump_scalar(d, value->dtype, value->constant); break;
	case VALUE_OP:
	case VALUE_FAR: dump_op(d, value, level); break;
	case VALUE_CAST:
		fprintf(d->out, "%s(",
			value->args[0]->dtype == DTYPE_U4X32 ? "uniform"
							     : dtype_name(value->dtype));
		dump_value(d, value->args[0], 0);
		fprintf(d->out, ")");
		break;
	case VALUE_KEY:
		fprintf(d->out, "key(");
		dump_value(d, value->args[0], 0);
		fprintf(d->out, ")");
		break;
	case VALUE_INDEX:
		fprintf(d->out, "%s(", dtype_name(value->dtype));
		dump_ix(d, value->ix, 0);
		fprintf(d->out, ")");
		break;
	case VALUE_SCALAR: dump_scalar_name(d, value->scalar); break;
	}
}

static void dump_block(Dump *d, const Block *block, int depth);

static void dump_conds(const Dump *d, const Stmt *stmt)
{
	static const char *const symbols[] = {" < ", " <= ", " == "};
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		fprintf(d->out, "%s", i ? " && " : "");
		dump_ix(d, stmt->conds[i].a, 0);
		fprintf(d->out, "%s", symbols[stmt->conds[i].kind]);
		dump_ix(d, stmt->conds[i].b, 0);
	}
}

static void dump_for(const Dump *d, const Stmt *stmt)
{
	static const char *const kinds[] = {"for",     "unroll", "vector", "parallel", "grid",
					    "cluster", "block",	 "warp",   "matrix",   "group"};
	fprintf(d->out, "%s %s in ", kinds[stmt->loop], dump_iter(d, stmt->iter));
	dump_ix(d, stmt->lo, 2);
	fprintf(d->out, "..");
	dump_ix(d, stmt->hi, 2);
	if (stmt->step != 1)
		fprintf(d->out, " step %" PRId64, stmt->step);
	if (stmt->nslots)
		fprintf(d->out, " %s of %" PRId64, dump_iter(d, stmt->slot), stmt->nslots);
	if (stmt->raster)
		fprintf(d->out, " raster %" PRId64, stmt->raster);
	if (stmt->outlined)
		fprintf(d->out, " outlined");
	if (stmt->lanes)
		fprintf(d->out, " of %" PRId64, stmt->lanes);
	if (stmt->loop == LOOP_GRID && stmt->threads != 1)
		fprintf(d->out, " of %" PRId64, stmt->threads);
	if (stmt->loop == LOOP_BLOCK && stmt->threads)
		fprintf(d->out, " behind %" PRId64, stmt->threads);
	if (stmt->independent)
		fprintf(d->out, " independent");
}

static void dump_acc(const Dump *d, Op acc)
{
	if (acc == OP_NONE)
		fprintf(d->out, " = ");
	else
		fprintf(d->out, " %s= ", infix(acc) ? infix(acc) : op_name(acc));
}

static void dump_local(const Dump *d, const Stmt *stmt)
{
	const KernelLocal *local = &d->kernel->locals[stmt->local];
	fprintf(d->out, "local %s : %s", dump_local_name(d, stmt->local), dtype_name(local->dtype));
	for (uint32_t i = 0; i < local->rank; i++)
		fprintf(d->out, "%s%" PRIu32,
			i == 0		       ? " ["
			: i == local->nthreads ? " | "
					       : ", ",
			local->extent[i]);
	fprintf(d->out, "%s%s", local->rank && local->nthreads == local->rank ? " |" : "",
		local->rank ? "]" : "");
	if (local->role != ROLE_NONE)
		fprintf(d->out, " %s of %s", matrix_role_name(local->role),
			matrix_row(local->matrix)->text);
	fprintf(d->out, " = ");
	dump_value(d, stmt->value, 0);
}

static void dump_check(const Dump *d, const Stmt *stmt)
{
	fprintf(d->out, "check ");
	dump_ix(d, stmt->lo, 0);
	fprintf(d->out, " <= ");
	dump_ix(d, stmt->ix, 0);
	fprintf(d->out, " < ");
	dump_ix(d, stmt->hi, 0);
	fprintf(d->out, ", check %" PRIu32, stmt->check);
}

static void dump_completion(const Dump *d, const Stmt *stmt)
{
	fprintf(d->out, "%s, ", dump_buffer_name(d, stmt->mbarrier));
	dump_ix(d, stmt->visit, 0);
	if (stmt->bytes)
		fprintf(d->out, " bytes %" PRId64, stmt->bytes);
}

/* " from -1 step 2 of 28" */
static void dump_windows(const Dump *d, const TensorAxis *axis)
{
	fprintf(d->out, " from %" PRId64 " step %" PRId64 " of ", axis->low, axis->step);
	size_print(d->out, d->program->sizes, axis->windows);
}

/* "x[round*64 of 64 in k by 1, ...]" */
static void dump_axes(const Dump *d, BufferId tensor, const Stmt *stmt)
{
	fprintf(d->out, "%s[", dump_buffer_name(d, tensor));
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		const TensorAxis *axis = &stmt->axes[i];
		fprintf(d->out, "%s", i ? ", " : "");
		dump_ix(d, axis->at, 0);
		if (axis->step)
			dump_windows(d, axis);
		else
			fprintf(d->out, " of %" PRId64, axis->box);
		fprintf(d->out, " in ");
		size_print(d->out, d->program->sizes, axis->extent);
		fprintf(d->out, " by ");
		size_print(d->out, d->program->sizes, axis->stride);
	}
	fprintf(d->out, "]");
}

static void dump_copy(const Dump *d, const Stmt *stmt)
{
	fprintf(d->out, "copy %s[", dump_buffer_name(d, stmt->buffer));
	dump_ix(d, stmt->ix, 0);
	fprintf(d->out, "] = ");
	dump_axes(d, stmt->value->buffer, stmt);
	if (stmt->window) {
		fprintf(d->out, " windows ");
		dump_ix(d, stmt->window, 0);
		fprintf(d->out, " of %" PRId64, window_count(stmt));
	}
	fprintf(d->out, " at ");
	dump_completion(d, stmt);
}

static void dump_boxes(const Dump *d, const Stmt *stmt)
{
	fprintf(d->out, " through %s[", dump_buffer_name(d, stmt->buffer));
	dump_ix(d, stmt->ix, 0);
	fprintf(d->out, "] to ");
	dump_axes(d, stmt->tensor, stmt);
}

/* The statement's names are seen in its body, a local's from there on. */
static void name_stmt(Dump *d, const Stmt *stmt)
{
	if (stmt->kind == LOOP_FOR) {
		dump_name_iter(d, stmt->iter);
		if (stmt->nslots)
			dump_name_iter(d, stmt->slot);
	} else if (stmt->kind == LOOP_LOCAL) {
		dump_name_local(d, stmt->local);
	}
}

static void dump_stmt(Dump *d, const Stmt *stmt, int depth)
{
	size_t visible = d->visible.n;
	name_stmt(d, stmt);
	fprintf(d->out, "%*s", 2 * depth, "");
	switch (stmt->kind) {
	case LOOP_FOR:
		dump_for(d, stmt);
		if (is_box_loop(stmt))
			dump_boxes(d, stmt);
		break;
	case LOOP_IF:
		fprintf(d->out, "if ");
		dump_conds(d, stmt);
		break;
	case LOOP_LOCAL: dump_local(d, stmt); break;
	case LOOP_SET:
		fprintf(d->out, "%s", dump_local_name(d, stmt->local));
		dump_ixs(d, stmt->ixs, stmt->nixs);
		dump_acc(d, stmt->acc);
		dump_value(d, stmt->value, 0);
		break;
	case LOOP_STORE:
		fprintf(d->out, "%s%s[",
			stmt->async    ? "async "
			: stmt->stream ? "stream "
				       : "",
			dump_buffer_name(d, stmt->buffer));
		dump_ix(d, stmt->ix, 0);
		fprintf(d->out, "]");
		dump_acc(d, stmt->acc);
		dump_value(d, stmt->value, 0);
		fprintf(d->out, "%s", stmt->nconds ? " if " : "");
		dump_conds(d, stmt);
		break;
	case LOOP_CHECK: dump_check(d, stmt); break;
	case LOOP_PREFETCH:
		fprintf(d->out, "prefetch %s%s[", stmt->near ? "near " : "",
			dump_buffer_name(d, stmt->buffer));
		dump_ix(d, stmt->ix, 0);
		fprintf(d->out, "]");
		break;
	case LOOP_BARRIER: fprintf(d->out, "barrier%s", stmt->cluster ? " cluster" : ""); break;
	case LOOP_COMMIT: fprintf(d->out, "commit"); break;
	case LOOP_WAIT:
		fprintf(d->out, "wait %s%" PRId64, stmt->products ? "products " : "",
			stmt->pending);
		break;
	case LOOP_COPY: dump_copy(d, stmt); break;
	case LOOP_ARRIVE:
	case LOOP_AWAIT:
		fprintf(d->out, stmt->kind == LOOP_ARRIVE ? "arrive " : "await ");
		dump_completion(d, stmt);
		break;
	}
	fprintf(d->out, "%s\n", stmt->disjoint ? " disjoint" : "");
	dump_block(d, &stmt->body, depth + 1);
	if (stmt->kind == LOOP_FOR)
		d->visible.n = visible;
}

static void dump_block(Dump *d, const Block *block, int depth)
{
	size_t visible = d->visible.n;
	for (uint32_t i = 0; i < block->n; i++)
		dump_stmt(d, block->stmts[i], depth);
	d->visible.n = visible;
}

static void dump_kernel(Dump *d)
{
	BufferUses uses = dump_open_kernel(d);
	fprintf(d->out, "\nkernel %s(", d->kernel->name);
	bool stored = false, first = true;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < uses.n; i++) {
			const BufferUse *use = &uses.at[i];
			const Buffer *buffer = &d->program->buffers.at[use->buffer];
			if (use->stored != (pass == 1))
				continue;
			const char *between = use->stored && !stored ? (first ? "-> " : " -> ")
					      : first		     ? ""
								     : ", ";
			fprintf(d->out, "%s%s %s %s", between, dump_buffer_name(d, use->buffer),
				dtype_name(buffer->dtype), buffer_kind_names[buffer->kind]);
			stored = stored || use->stored;
			first = false;
		}
	fprintf(d->out, ")%s\n", d->kernel->alone ? " alone" : "");
	dump_block(d, &d->kernel->body, 1);
}

void ix_print(FILE *out, const Program *program, const Kernel *kernel, const Ix *ix)
{
	Dump d = {.out = out, .program = program, .kernel = kernel};
	d.routine = kernel_routine(program, (KernelId)(kernel - program->kernels.at));
	dump_ix(&d, ix, 0);
}

void kernel_dump(FILE *out, const Program *program, KernelId kernel)
{
	Dump d = {.out = out, .program = program, .kernel = &program->kernels.at[kernel]};
	d.routine = kernel_routine(program, kernel);
	dump_kernel(&d);
}
