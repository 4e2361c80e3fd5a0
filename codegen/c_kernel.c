/* Kernels as C functions, one statement a line. Values that a statement uses more than once become
 * constants in front of it; indices are written as they are. */
#include "codegen/c_kernel.h"

#include "codegen/cuda_text.h"
#include "codegen/gaps.h"
#include "loops/fragment.h"

void c_kernel_indent(KernelText *k)
{
	for (int i = 0; i < k->indent; i++)
		putc('\t', k->out);
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

const char *c_kernel_ix(KernelText *k, const Ix *ix)
{
	if (ix->kind != IX_ADD)
		return ix_text(k, ix);
	return arena_printf(k->arena, "%s + %s", c_kernel_ix(k, ix->a), ix_text(k, ix->b));
}

const char *c_kernel_local(KernelText *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const char *text = k->locals[local];
	if (k->kernel->locals[local].role != ROLE_NONE)
		return cuda_fragment_at(k, local, ixs, NULL);
	for (uint32_t i = 0; i < nixs; i++)
		text = arena_printf(k->arena,
				    i < k->kernel->locals[local].nthreads ? "%s[TSR_OWN(%s)]"
									  : "%s[%s]",
				    text, c_kernel_ix(k, ixs[i]));
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
		if (!value->near)
			return c_op(k->arena, value->op, value->dtype, args);
		return c_call(k->arena, "near_", value->op, value->dtype, args);
	case VALUE_FAR: return c_call(k->arena, "far_", value->op, value->args[0]->dtype, args);
	case VALUE_CAST:
		return c_cast(k->arena, value->args[0]->dtype, value->dtype,
			      c_kernel_value(k, value->args[0]));
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
	char *name = arena_printf(k->arena, "tsr_t%u", k->ntemps++);
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

/* At the start of the loop's body. GCC may get any options: it writes out what it does at -O3. */
static void put_scalar(KernelText *k, const Stmt *loop)
{
	GapsRule rule = {.program = (Program *)k->m->program,
			 .kernel = k->kernel,
			 .use = k->use,
			 .arena = k->arena,
			 .unrolled = UNROLLED_O3};
	if (!gaps_are_read(&rule, loop))
		return;
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "TSR_SCALAR;\n");
	k->indent--;
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

static void put_stmt(KernelText *k, const Stmt *stmt)
{
	c_kernel_count(k, stmt->value);
	if (stmt->value)
		c_kernel_shared(k, stmt->value);
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR && k->device) {
		cuda_lanes_loop(k, stmt);
		return;
	}
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR && c_lanes_groups_fit(k, stmt)) {
		c_lanes_groups(k, stmt);
		return;
	}
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR && c_lanes_fit(k, stmt)) {
		c_lanes_loop(k, stmt);
		return;
	}
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_PARALLEL) {
		put_chunks(k, stmt);
		return;
	}
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK) {
		put_threads(k, stmt);
		return;
	}
	if (is_warp_loop(stmt)) {
		cuda_warp_loop(k, stmt);
		return;
	}
	switch (stmt->kind) {
	case LOOP_FOR:
		if (stmt->loop == LOOP_UNROLL)
			c_put_unroll(k, constant_trips(k->m->program, stmt));
		put_for(k, stmt);
		put_scalar(k, stmt);
		break;
	case LOOP_IF: put_if(k, stmt); break;
	case LOOP_LOCAL: put_local(k, stmt); return;
	case LOOP_SET:
		if (k->kernel->locals[stmt->local].role != ROLE_NONE) {
			cuda_fragment_set(k, stmt);
			return;
		}
		c_kernel_assign(k, c_kernel_local(k, stmt->local, stmt->ixs, stmt->nixs), stmt);
		return;
	case LOOP_STORE:
		c_kernel_assign(k, c_buffer_element(k, stmt->buffer, stmt->ix), stmt);
		return;
	case LOOP_CHECK: put_check(k, stmt); return;
	case LOOP_PREFETCH: put_prefetch(k, stmt); return;
	case LOOP_BARRIER: put_line(k, "TSR_BARRIER"); return;
	case LOOP_COMMIT: put_line(k, "TSR_COMMIT"); return;
	case LOOP_WAIT:
		put_line(k, arena_printf(k->arena, "TSR_WAIT(%lld)", (long long)stmt->pending));
		return;
	}
	k->indent++;
	c_kernel_block(k, stmt->body);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void c_kernel_block(KernelText *k, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		put_stmt(k, block.stmts[i]);
}

/* ---- functions ---- */

static void name_all(KernelText *k)
{
	Names taken = {0};
	const KernelUse *use = k->use;
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(k->arena, taken, k->m->dims[use->dims.at[i]]);
	k->scalars = ARENA_ARRAY(k->arena, const char *, use->scalars.n);
	for (size_t i = 0; i < use->scalars.n; i++)
		k->scalars[i] =
			name_unique(k->m, &taken,
				    arena_printf(k->arena, "scalar_%u", use->scalars.at[i].scalar));
	k->buffers = ARENA_ARRAY(k->arena, const char *, use->buffers.n);
	for (size_t i = 0; i < use->buffers.n; i++)
		k->buffers[i] = name_unique(
			k->m, &taken, k->m->program->buffers.at[use->buffers.at[i].buffer].name);
	k->iters = ARENA_ARRAY(k->arena, const char *, k->kernel->niters);
	for (uint32_t i = 0; i < k->kernel->niters; i++)
		k->iters[i] = name_unique(k->m, &taken, k->kernel->iters[i].name);
	k->locals = ARENA_ARRAY(k->arena, const char *, k->kernel->nlocals);
	for (uint32_t i = 0; i < k->kernel->nlocals; i++)
		k->locals[i] = name_unique(k->m, &taken, k->kernel->locals[i].name);
}

static void put_params(KernelText *k)
{
	const KernelUse *use = k->use;
	const char *comma = use->parallel ? ", " : "";
	if (use->parallel)
		fprintf(k->out, "const tsr_call *call");
	for (size_t i = 0; i < use->dims.n; i++, comma = ", ")
		fprintf(k->out, "%sint64_t %s", comma, k->m->dims[use->dims.at[i]]);
	for (size_t i = 0; i < use->scalars.n; i++, comma = ", ")
		fprintf(k->out, "%s%s %s", comma, c_type(use->scalars.at[i].dtype), k->scalars[i]);
	for (size_t i = 0; i < use->buffers.n; i++, comma = ", ") {
		const Buffer *buffer = &k->m->program->buffers.at[use->buffers.at[i].buffer];
		fprintf(k->out, "%s%s%s *%s", comma, use->buffers.at[i].written ? "" : "const ",
			c_type(buffer->dtype), k->buffers[i]);
	}
	if (!*comma)
		fprintf(k->out, "void");
}

/* ---- chunks ---- */

ArgTexts c_kernel_args(const KernelText *k)
{
	const KernelUse *use = k->use;
	ArgTexts args = {0};
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(k->arena, args, ((ArgText){"int64_t ", k->m->dims[use->dims.at[i]]}));
	for (size_t i = 0; i < use->scalars.n; i++) {
		const char *type = arena_printf(k->arena, "%s ", c_type(use->scalars.at[i].dtype));
		PUSH(k->arena, args, ((ArgText){type, k->scalars[i]}));
	}
	for (size_t i = 0; i < use->buffers.n; i++) {
		const Buffer *buffer = &k->m->program->buffers.at[use->buffers.at[i].buffer];
		if (buffer->shared)
			continue;
		const char *type =
			arena_printf(k->arena, "%s%s *", use->buffers.at[i].written ? "" : "const ",
				     c_type(buffer->dtype));
		PUSH(k->arena, args, ((ArgText){type, k->buffers[i]}));
	}
	return args;
}

static void put_args_type(KernelText *k, const ArgTexts *args)
{
	fprintf(k->out, "struct %s__a_%s {\n", k->m->prefix, k->kernel->name);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t%s%s;\n", args->at[i].type, args->at[i].name);
	if (k->use->slots)
		fprintf(k->out, "\tuint64_t tsr_busy;\n");
	fprintf(k->out, "};\n\n");
}

static void put_task(KernelText *k, const ArgTexts *args, uint32_t index)
{
	const Stmt *loop = k->use->chunks.at[index];
	const char *prefix = k->m->prefix, *name = k->kernel->name, *chunk = k->iters[loop->iter];
	fprintf(k->out, "static void %s__p_%s_%u(void *tsr_arg, int32_t tsr_chunk)\n{\n", prefix,
		name, index);
	fprintf(k->out, "\t%sstruct %s__a_%s *tsr_args = tsr_arg;\n", loop->nslots ? "" : "const ",
		prefix, name);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t%s%s = tsr_args->%s;\n", args->at[i].type, args->at[i].name,
			args->at[i].name);
	fprintf(k->out, "\tint64_t %s = tsr_chunk;\n", chunk);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t(void)%s;\n", args->at[i].name);
	if (loop->nslots)
		fprintf(k->out, "\tconst int64_t %s = tsr_take_slot(&tsr_args->tsr_busy, %lld);\n",
			k->iters[loop->slot], (long long)loop->nslots);
	c_kernel_block(k, loop->body);
	if (loop->nslots)
		fprintf(k->out, "\ttsr_give_slot(&tsr_args->tsr_busy, %s);\n",
			k->iters[loop->slot]);
	fprintf(k->out, "}\n\n");
}

/* The functions of the parallel loops, and what passes the kernel's arguments to them. */
static void put_tasks(KernelText *k)
{
	ArgTexts args = c_kernel_args(k);
	put_args_type(k, &args);
	for (uint32_t i = 0; i < k->use->chunks.n; i++)
		put_task(k, &args, i);
}

static void put_packed_args(KernelText *k)
{
	ArgTexts args = c_kernel_args(k);
	fprintf(k->out, "\tstruct %s__a_%s tsr_args;\n", k->m->prefix, k->kernel->name);
	for (size_t i = 0; i < args.n; i++)
		fprintf(k->out, "\ttsr_args.%s = %s;\n", args.at[i].name, args.at[i].name);
	if (k->use->slots)
		fprintf(k->out, "\ttsr_args.tsr_busy = 0;\n");
}

KernelText c_kernel_text(FILE *out, const Module *m, KernelId id)
{
	KernelText k = {.out = out, .m = m, .kernel = &m->kernels[id].kernel, .arena = m->arena};
	k.use = m->kernels[id].use;
	k.uses.arena = k.names.arena = m->arena;
	k.indent = 1;
	name_all(&k);
	return k;
}

static void put_kernel(FILE *out, const Module *m, KernelId id)
{
	KernelText k = c_kernel_text(out, m, id);
	bool checks = k.use->checks.n > 0;
	const char *place = module_place(m, k.kernel->span);
	if (*place)
		fprintf(out, "/* %s */\n", c_comment(m->arena, place));
	if (k.use->parallel)
		put_tasks(&k);
	fprintf(out, "static %s %s(", checks ? "int" : "void", m->kernels[id].function);
	put_params(&k);
	fprintf(out, ")\n{\n");
	if (k.use->parallel)
		put_packed_args(&k);
	c_kernel_block(&k, k.kernel->body);
	fprintf(out, "%s}\n\n", checks ? "\treturn TSR_OK;\n" : "");
}

/* Without atomics there are no threads either, and the first slot will do. */
static const char slots_text[] =
	"/* The first number below n that no other task has; a bit of *busy each. */\n"
	"static int64_t tsr_take_slot(uint64_t *busy, int64_t n)\n{\n"
	"#ifdef __GNUC__\n"
	"\tint64_t slot = 0;\n"
	"\twhile (__atomic_fetch_or(busy, (uint64_t)1 << slot, __ATOMIC_ACQUIRE) >> slot & 1)\n"
	"\t\tslot = slot + 1 < n ? slot + 1 : 0;\n"
	"\treturn slot;\n"
	"#else\n\t(void)busy, (void)n;\n\treturn 0;\n#endif\n}\n\n"
	"static void tsr_give_slot(uint64_t *busy, int64_t slot)\n{\n"
	"#ifdef __GNUC__\n"
	"\t__atomic_fetch_and(busy, ~((uint64_t)1 << slot), __ATOMIC_RELEASE);\n"
	"#else\n\t(void)busy, (void)slot;\n#endif\n}\n\n"
	"#ifdef __GNUC__\n#define TSR_THREADS 1\n#else\n#define TSR_THREADS 0\n#endif\n";

static const char chunks_text[] =
	"/* Runs the task for every chunk, on the caller's threads if there are any. */\n"
	"static void tsr_chunks(const tsr_call *call, int64_t n, void (*task)(void *, int32_t), void *arg)\n{\n"
	"\tif (%sn > 1 && call != NULL && call->parallel != NULL)\n"
	"\t\tcall->parallel(call->pool, (int32_t)n, task, arg);\n"
	"\telse\n\t\tfor (int64_t i = 0; i < n; i++)\n\t\t\ttask(arg, (int32_t)i);\n}\n\n";

static const char fetch_text[] =
	"/* A hint that what is at an address will be read; kept: 3 in the first cache, 2 in the second. */\n"
	"#ifdef __GNUC__\n#define TSR_PREFETCH(address, kept) __builtin_prefetch((const void *)(address), 0, kept)\n"
	"#else\n#define TSR_PREFETCH(address, kept) ((void)(address))\n#endif\n\n";

static const char gcc_text[] =
	"/* Against faults of GCC 12. Of a loop with TSR_SCALAR it makes vectors that read behind an array; it makes\n"
	" * none of a statement of the assembler. Without TSR_LANES it stores aligned vectors of AVX-512 to arrays on\n"
	" * a stack that it does not align. */\n"
	"#ifdef __GNUC__\n"
	"#define TSR_SCALAR __asm__(\"\")\n#define TSR_LANES __attribute__((aligned(64)))\n"
	"#else\n#define TSR_SCALAR ((void)0)\n#define TSR_LANES\n#endif\n\n";

void c_put_kernels(FILE *out, const Module *m)
{
	fputs(gcc_text, out);
	if (module_has_fetches(m))
		fputs(fetch_text, out);
	if (module_has_slots(m))
		fputs(slots_text, out);
	if (module_has_chunks(m))
		fprintf(out, chunks_text, module_has_slots(m) ? "TSR_THREADS && " : "");
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			put_kernel(out, m, k);
}
