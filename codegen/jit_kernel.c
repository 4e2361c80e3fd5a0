/* Kernels to functions: one function for each structure, with dims, scalars and buffers as
 * parameters.
 *
 * Sizes are computed once at the entry; jit_index.c makes indices and elements of them. Each value
 * becomes a temporary where it is first needed in a statement, so that shared sub-trees stay shared
 * and no expression is deep. A function returns int, 0 or the code of a check that failed, where
 * the kernel has checks, else nothing.
 */
#include "codegen/jit_kernel.h"

#include "codegen/gaps.h"
#include "codegen/jit_compaction.h"
#include "codegen/jit_function.h"
#include "codegen/jit_fused.h"
#include "codegen/jit_math.h"
#include "codegen/jit_parts.h"
#include "codegen/jit_segments.h"
#include "codegen/jit_size.h"
#include "codegen/jit_units.h"
#include "codegen/streams.h"

static void block_code(KernelJit *k, Block block);

/* NULL: `x op y` is no sum with a product. `element`: x where that is no value. */
static Rvalue *fused_value(KernelJit *k, Op op, const Value *x, const Value *y, Lvalue *element)
{
	Fused fused;
	if (!find_fused(k->f.jit->module, op, x, y, &fused))
		return NULL;
	Rvalue *args[] = {jit_kernel_value(k, fused.a), jit_kernel_value(k, fused.b),
			  fused.rest ? jit_kernel_value(k, fused.rest)
				     : jit_keep(&k->f, gcc_jit_lvalue_as_rvalue(element))};
	return jit_fused_code(&k->f, fused.signs, y->dtype, 0, args);
}

/* The remainder of a power of two, which is that of division that rounds down, or a quotient without a sign by one. */
static bool is_of_bits(const Value *value, int64_t *power)
{
	bool is = value->op == OP_MOD ? dtype_is_integer(value->dtype)
				      : value->op == OP_DIV && dtype_is_unsigned(value->dtype);
	const Value *by = is ? value->args[1] : NULL;
	*power = by && by->kind == VALUE_CONST ? by->constant.i : 0;
	return *power > 0 && (*power & (*power - 1)) == 0;
}

static Rvalue *bits_value(KernelJit *k, const Value *value, int64_t power, Rvalue *arg)
{
	bool rest = value->op == OP_MOD;
	Type *type = k->f.jit->types[value->dtype];
	int64_t by = rest ? power - 1 : __builtin_ctzll((uint64_t)power);
	return jit_keep(&k->f,
			jit_binary(&k->f,
				   rest ? GCC_JIT_BINARY_OP_BITWISE_AND : GCC_JIT_BINARY_OP_RSHIFT,
				   arg, jit_long(k->f.jit, type, by)));
}

static Rvalue *op_value(KernelJit *k, const Value *value, Rvalue *const *args)
{
	int64_t power;
	if (is_of_bits(value, &power))
		return bits_value(k, value, power, args[0]);
	k->f.fast_path = value->fast_path;
	Rvalue *result = jit_op(&k->f, value->op, value->dtype, args);
	k->f.fast_path = false;
	return result;
}

/* Whether a value holds, where what it says is a truth value in some type: the type is not asked for. */
static Rvalue *condition(KernelJit *k, const Value *value)
{
	static const enum gcc_jit_comparison comparisons[] = {
		[OP_LT] = GCC_JIT_COMPARISON_LT, [OP_LE] = GCC_JIT_COMPARISON_LE,
		[OP_GT] = GCC_JIT_COMPARISON_GT, [OP_GE] = GCC_JIT_COMPARISON_GE,
		[OP_EQ] = GCC_JIT_COMPARISON_EQ, [OP_NE] = GCC_JIT_COMPARISON_NE};
	JitFunction *f = &k->f;
	const Value *truth = value_truth(value);
	if (truth && (truth->op == OP_AND || truth->op == OP_OR))
		return jit_binary(f,
				  truth->op == OP_AND ? GCC_JIT_BINARY_OP_BITWISE_AND
						      : GCC_JIT_BINARY_OP_BITWISE_OR,
				  condition(k, truth->args[0]), condition(k, truth->args[1]));
	if (truth && truth->op <= OP_NE && truth->op >= OP_LT)
		return jit_compare(f, comparisons[truth->op], jit_kernel_value(k, truth->args[0]),
				   jit_kernel_value(k, truth->args[1]));
	Scalar zero = {.i = 0};
	return jit_compare(f, GCC_JIT_COMPARISON_NE, jit_kernel_value(k, value),
			   jit_constant(f->jit, value->dtype, zero));
}

/* Of a truth value in another type 0 or 1 of this one, without bounds; NULL: it is none. */
static Rvalue *cast_truth(KernelJit *k, const Value *value)
{
	JitFunction *f = &k->f;
	const Value *from = value->args[0];
	bool numbers = !dtype_is_small_float(value->dtype) && value->dtype != DTYPE_U4X32;
	if (!numbers || dtype_is_float(from->dtype) == dtype_is_float(value->dtype) ||
	    !value_truth(from))
		return NULL;
	Scalar no = scalar_of(value->dtype, 0), yes = scalar_of(value->dtype, 1);
	Rvalue *cond = condition(k, from);
	return jit_select(f, cond, jit_constant(f->jit, value->dtype, yes),
			  jit_constant(f->jit, value->dtype, no));
}

static Rvalue *cast_value(KernelJit *k, const Value *value)
{
	Rvalue *truth = cast_truth(k, value);
	return truth ? truth
		     : jit_convert(&k->f, jit_kernel_value(k, value->args[0]),
				   value->args[0]->dtype, value->dtype);
}

/* A sum with a product is looked for first: that product must not become a value of its own, which
 * would be rounded. */
static Rvalue *fresh_value(KernelJit *k, const Value *value)
{
	JitFunction *f = &k->f;
	Rvalue *fused = value->kind == VALUE_OP && value->nargs == 2
				? fused_value(k, value->op, value->args[0], value->args[1], NULL)
				: NULL;
	if (fused)
		return fused;
	if (value->kind == VALUE_OP && value->op == OP_WHERE && value_truth(value->args[0])) {
		Rvalue *cond = condition(k, value->args[0]);
		Rvalue *yes = jit_kernel_value(k, value->args[1]);
		return jit_select(f, cond, yes, jit_kernel_value(k, value->args[2]));
	}
	Rvalue *args[3];
	bool op = value->kind == VALUE_OP || value->kind == VALUE_FAR;
	for (uint32_t i = 0; op && i < value->nargs; i++)
		args[i] = jit_kernel_value(k, value->args[i]);
	switch (value->kind) {
	case VALUE_LOAD:
		if (jit_is_packed(k, value))
			return jit_packed_element(k, value);
		return jit_keep(f, gcc_jit_lvalue_as_rvalue(
					   jit_buffer_element(k, value->buffer, value->ix)));
	case VALUE_LOCAL:
		if (k->registers[value->local].used)
			return jit_keep(f, jit_vector_element(k, value));
		return jit_keep(f, gcc_jit_lvalue_as_rvalue(jit_kernel_element(
					   k, value->local, value->ixs, value->nixs)));
	case VALUE_CONST: {
		Rvalue *constant = jit_constant(f->jit, value->dtype, value->constant);
		return value->dtype == DTYPE_U4X32 ? jit_keep(f, constant) : constant;
	}
	case VALUE_OP: return op_value(k, value, args);
	case VALUE_FAR: {
		MathFunction fn = math_is_far(f->jit->arena, value->op, value->args[0]->dtype);
		return jit_math_steps(f, &fn, args);
	}
	case VALUE_CAST: return cast_value(k, value);
	case VALUE_KEY: {
		MathFunction fn = math_key(f->jit->arena, value->args[0]->dtype);
		args[0] = jit_kernel_value(k, value->args[0]);
		return jit_math_steps(f, &fn, args);
	}
	case VALUE_INDEX:
		return jit_convert(f, jit_keep(f, jit_kernel_ix(k, value->ix)), DTYPE_I64,
				   value->dtype);
	case VALUE_SCALAR: return k->scalars[kernel_use_scalar(k->use, value->scalar)];
	}
	BUG("value kind %d", value->kind);
}

gcc_jit_location *jit_place(KernelJit *k, Span span)
{
	gcc_jit_location *outer = k->f.location;
	if (k->f.jit->module->emit->options->debug && !span_is_none(span))
		k->f.location = jit_location(k->f.jit, span);
	return outer;
}

Rvalue *jit_kernel_value(KernelJit *k, const Value *value)
{
	uint64_t known = *pointer_map_at(&k->values, value);
	if (known)
		return (Rvalue *)(uintptr_t)known;
	gcc_jit_location *outer = jit_place(k, value->span);
	Rvalue *code = fresh_value(k, value);
	k->f.location = outer;
	*pointer_map_at(&k->values, value) = (uint64_t)(uintptr_t)code;
	return code;
}

/* element (ACC)= value */
static void assign(KernelJit *k, Lvalue *element, const Stmt *stmt)
{
	JitFunction *f = &k->f;
	Rvalue *value = fused_value(k, stmt->acc, NULL, stmt->value, element);
	bool plain = !value;
	if (plain)
		value = jit_kernel_value(k, stmt->value);
	if (plain && stmt->acc != OP_NONE) {
		Rvalue *args[] = {jit_keep(f, gcc_jit_lvalue_as_rvalue(element)), value, NULL};
		value = jit_op(f, stmt->acc, stmt->value->dtype, args);
	}
	jit_set(f, element, value);
}

void jit_kernel_forget(KernelJit *k)
{
	for (size_t i = 0; i < k->use->buffers.n; i++)
		pointer_map_clear(&k->addresses[i]);
	for (LocalId id = 0; k->scheduled && id < k->kernel->nlocals; id++)
		k->registers[id].transposed = NULL;
}

/* The body once for every value of the iterator. */
static void unrolled_code(KernelJit *k, const Stmt *stmt)
{
	int64_t lo = jit_constant_ix(k, stmt->lo), hi = jit_constant_ix(k, stmt->hi);
	k->fixed[stmt->iter] = true;
	for (int64_t i = lo; i < hi; i++) {
		k->at[stmt->iter] = i;
		block_code(k, stmt->body);
	}
	k->fixed[stmt->iter] = false;
}

/* In the body of the loop, before anything else. */
static void keep_scalar(KernelJit *k, const Stmt *loop)
{
	GapsRule rule = {.program = (Program *)k->program,
			 .kernel = k->kernel,
			 .use = k->use,
			 .arena = k->f.jit->arena,
			 .written_out = true};
	rule.unrolled = k->f.jit->module->emit->options->opt_level > 2 ? UNROLLED_O3 : UNROLLED_O2;
	if (gaps_are_read(&rule, loop)) /* GCC makes no vectors of statements of the assembler */
		gcc_jit_block_add_extended_asm(k->f.block, k->f.location, "");
}

/* NULL: its function is the one at hand. */
static const JitOutlined *jit_outlined(const Jit *jit, const Stmt *loop)
{
	for (size_t i = 0; i < jit->outlined.n; i++)
		if (jit->outlined.at[i].loop == loop)
			return &jit->outlined.at[i];
	return NULL;
}

static void call_outlined(KernelJit *k, const JitOutlined *outlined)
{
	VEC(Rvalue *) args = {0};
	const KernelUse *use = outlined->use;
	Arena *arena = k->f.jit->arena;
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(arena, args, k->dims[use->dims.at[i]]);
	for (size_t i = 0; i < use->scalars.n; i++)
		PUSH(arena, args, k->scalars[kernel_use_scalar(k->use, use->scalars.at[i].scalar)]);
	for (size_t i = 0; i < use->buffers.n; i++)
		PUSH(arena, args, k->buffers[kernel_use_buffer(k->use, use->buffers.at[i].buffer)]);
	for (size_t i = 0; i < use->iters.n; i++)
		PUSH(arena, args, gcc_jit_lvalue_as_rvalue(k->iters[use->iters.at[i]]));
	if (outlined->tiles)
		PUSH(arena, args, gcc_jit_lvalue_as_rvalue(k->tiles.ok));
	gcc_jit_block_add_eval(k->f.block, k->f.location,
			       jit_call(&k->f, outlined->function, args.at, args.n));
}

static Rvalue *element_address(KernelJit *k, BufferId buffer, const Ix *ix)
{
	return jit_keep(&k->f, gcc_jit_lvalue_get_address(jit_buffer_element(k, buffer, ix), NULL));
}

/* A loop of a streaming store: one copy, from where the first iteration has it. */
static void stream_code(KernelJit *k, const Stmt *loop)
{
	JitFunction *f = &k->f;
	const Stmt *store = loop->body.stmts[0];
	Rvalue *size = jit_long(f->jit, f->jit->i64, (int64_t)dtype_bytes(store->value->dtype));
	Rvalue *lo = jit_keep(f, jit_kernel_ix(k, loop->lo));
	Rvalue *n =
		jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, jit_kernel_ix(k, loop->hi), lo));
	jit_set(f, k->iters[loop->iter], lo);
	jit_kernel_forget(k);
	Rvalue *to = element_address(k, store->buffer, store->ix);
	Rvalue *from = element_address(k, store->value->buffer, store->value->ix);
	jit_stream_copy(f, to, from, jit_binary(f, GCC_JIT_BINARY_OP_MULT, n, size));
	jit_kernel_forget(k);
}

/* Where the lists of a compaction end: to the array, or from it. */
static void copy_list_ends(KernelJit *k, const Compaction *is, Rvalue *array, bool back)
{
	JitFunction *f = &k->f;
	for (uint32_t i = 0; i < is->nlists; i++) {
		Lvalue *at = gcc_jit_context_new_array_access(f->jit->ctxt, NULL, array,
							      jit_long(f->jit, f->jit->i64, i));
		Lvalue *own = k->locals[is->lists[i].n];
		jit_set(f, back ? own : at, gcc_jit_lvalue_as_rvalue(back ? at : own));
	}
}

/* Whole vectors of such a loop, by a function; from where on it goes on by itself. */
static Rvalue *compact(KernelJit *k, IterVar iter, const JitCompaction *c, Rvalue *lo, Rvalue *hi)
{
	JitFunction *f = &k->f;
	Jit *jit = f->jit;
	Type *ends = gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->i64, (int)c->is.nlists);
	Rvalue *array = gcc_jit_lvalue_as_rvalue(jit_local(f, ends, "ends"));
	Rvalue *zero = jit_long(jit, jit->i64, 0), *one = jit_long(jit, jit->i64, 1);
	Rvalue *args[COMPACT_BOUNDS + COMPACT_COMPARISONS];
	jit_set(f, k->iters[iter], lo);
	jit_kernel_forget(k);
	copy_list_ends(k, &c->is, array, false);
	Rvalue *from = element_address(k, c->is.load->buffer, c->is.load->ix);
	Rvalue *to = element_address(k, c->is.to, ix_const(k->program, 0));
	args[COMPACT_FROM] = jit_cast(jit, from, jit->pointer);
	args[COMPACT_ITEMS] = jit_binary(f, GCC_JIT_BINARY_OP_MINUS, hi, lo);
	args[COMPACT_AT] = jit_kernel_ix(k, c->is.load->ix);
	args[COMPACT_TO] = jit_cast(jit, to, jit->pointer);
	args[COMPACT_LAST] =
		jit_binary(f, GCC_JIT_BINARY_OP_PLUS, jit_kernel_ix(k, c->is.last), one);
	args[COMPACT_ENDS] = gcc_jit_lvalue_get_address(
		gcc_jit_context_new_array_access(jit->ctxt, NULL, array, zero), NULL);
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		args[COMPACT_BOUNDS + i] =
			jit_keep(f, jit_kernel_value(k, c->is.compared[i].bound));
	Rvalue *done =
		jit_keep(f, jit_call(f, c->function, args, COMPACT_BOUNDS + c->is.ncompared));
	copy_list_ends(k, &c->is, array, true);
	jit_kernel_forget(k);
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_PLUS, lo, done));
}

static void for_code(KernelJit *k, const Stmt *stmt)
{
	if (stmt->loop == LOOP_UNROLL) {
		unrolled_code(k, stmt);
		return;
	}
	if (stmt->loop == LOOP_VECTOR) {
		jit_vector_loop(k, stmt);
		return;
	}
	if (stmt->loop == LOOP_MATRIX && k->tiles.used) {
		jit_matrix_loop(k, stmt);
		return;
	}
	if (stmt->loop == LOOP_PARALLEL) {
		jit_tiles_end(k); /* what runs the parts is the caller's */
		jit_parallel_loop(k, stmt);
		jit_tiles_forget(k);
		return;
	}
	if (loop_streams(stmt)) {
		stream_code(k, stmt);
		return;
	}
	if (stmt->outlined && jit_outlined(k->f.jit, stmt)) {
		call_outlined(k, jit_outlined(k->f.jit, stmt));
		jit_tiles_forget(k);
		return;
	}
	JitCompaction compaction;
	Rvalue *lo = jit_keep(&k->f, jit_kernel_ix(k, stmt->lo)), *hi = jit_kernel_ix(k, stmt->hi);
	hi = jit_keep(&k->f, hi);
	if (jit_compaction(k->f.jit, k->program, k->kernel, stmt, &compaction))
		lo = compact(k, stmt->iter, &compaction, lo, hi);
	JitLoop loop = jit_loop(&k->f, k->iters[stmt->iter], lo, hi, stmt->step);
	jit_kernel_forget(k);
	keep_scalar(k, stmt);
	k->f.plain = jit_is_plain_loop(stmt);
	block_code(k, stmt->body);
	k->f.plain = false;
	jit_kernel_forget(k);
	jit_end_loop(&k->f, &loop);
}

static Rvalue *cond_code(KernelJit *k, const Cond *cond)
{
	static const enum gcc_jit_comparison ops[] = {
		[COND_LT] = GCC_JIT_COMPARISON_LT,
		[COND_LE] = GCC_JIT_COMPARISON_LE,
		[COND_EQ] = GCC_JIT_COMPARISON_EQ,
	};
	Rvalue *a = jit_kernel_ix(k, cond->a);
	return jit_compare(&k->f, ops[cond->kind], a, jit_kernel_ix(k, cond->b));
}

/* A condition is evaluated only where those before it hold. */
static void if_code(KernelJit *k, const Stmt *stmt)
{
	JitBlock **after = ARENA_ARRAY(k->f.jit->arena, JitBlock *, stmt->nconds);
	for (uint32_t i = 0; i < stmt->nconds; i++)
		after[i] = jit_if(&k->f, cond_code(k, &stmt->conds[i]));
	jit_kernel_forget(k);
	block_code(k, stmt->body);
	jit_kernel_forget(k);
	for (uint32_t i = stmt->nconds; i-- > 0;)
		jit_end_if(&k->f, after[i]);
}

static void local_code(KernelJit *k, const Stmt *stmt)
{
	const KernelLocal *local = &k->kernel->locals[stmt->local];
	if (k->registers[stmt->local].used) {
		jit_vector_fill(k, stmt);
		return;
	}
	Rvalue *value = jit_kernel_value(k, stmt->value);
	if (local->rank == 0) {
		jit_set(&k->f, k->locals[stmt->local], value);
		return;
	}
	Jit *jit = k->f.jit;
	int64_t n = 1;
	for (uint32_t i = 0; i < local->rank; i++)
		n *= local->extent[i];
	Lvalue *i = jit_local(&k->f, jit->i64, "element");
	JitLoop loop =
		jit_loop(&k->f, i, jit_long(jit, jit->i64, 0), jit_long(jit, jit->i64, n), 1);
	jit_set(&k->f,
		gcc_jit_context_new_array_access(jit->ctxt, k->f.location,
						 gcc_jit_lvalue_as_rvalue(k->locals[stmt->local]),
						 gcc_jit_lvalue_as_rvalue(i)),
		value);
	jit_end_loop(&k->f, &loop);
}

/* The routine ends with the check's code. Nothing that its caller sees is written yet: such kernels
 * come first (lower/routine.c). */
static void check_code(KernelJit *k, const Stmt *stmt)
{
	JitFunction *f = &k->f;
	Rvalue *ix = jit_keep(f, jit_kernel_ix(k, stmt->ix));
	Rvalue *low = jit_compare(f, GCC_JIT_COMPARISON_LT, ix, jit_kernel_ix(k, stmt->lo));
	Rvalue *high = jit_compare(f, GCC_JIT_COMPARISON_GE, ix, jit_kernel_ix(k, stmt->hi));
	JitBlock *after = jit_if(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, low, high));
	jit_return(f, jit_long(f->jit, f->jit->int_, module_check_code(stmt->check)));
	jit_end_if(f, after);
}

/* To the second cache where the tile at hand fills the first one. */
static void prefetch_code(KernelJit *k, const Stmt *stmt)
{
	Jit *jit = k->f.jit;
	Rvalue *base = k->buffers[kernel_use_buffer(k->use, stmt->buffer)];
	Rvalue *at = jit_kernel_ix(k, stmt->ix);
	if (dtype_is_packed(k->program->buffers.at[stmt->buffer].dtype))
		at = jit_binary(&k->f, GCC_JIT_BINARY_OP_RSHIFT, at, jit_long(jit, jit->i64, 1));
	Lvalue *element = gcc_jit_context_new_array_access(jit->ctxt, k->f.location, base, at);
	gcc_jit_function *prefetch = jit_builtin(jit, "prefetch");
	Type *pointer = gcc_jit_rvalue_get_type(
		gcc_jit_param_as_rvalue(gcc_jit_function_get_param(prefetch, 0)));
	Rvalue *line = gcc_jit_context_new_cast(jit->ctxt, k->f.location,
						gcc_jit_lvalue_get_address(element, NULL), pointer);
	Rvalue *args[] = {line, jit_long(jit, jit->int_, 0),
			  jit_long(jit, jit->int_, stmt->near ? 3 : 2)};
	gcc_jit_block_add_eval(k->f.block, k->f.location, jit_call(&k->f, prefetch, args, 3));
}

/* Of i4 and u4 the byte of two elements. */
static Lvalue *stored_element(KernelJit *k, const Stmt *stmt)
{
	if (dtype_is_packed(k->program->buffers.at[stmt->buffer].dtype))
		return jit_packed_byte(k, stmt->buffer, stmt->ix, 0).byte;
	return jit_buffer_element(k, stmt->buffer, stmt->ix);
}

static void stmt_code(KernelJit *k, const Stmt *stmt)
{
	if (jit_matrix_stmt(k, stmt, stmt_code))
		return;
	pointer_map_clear(&k->values);
	jit_place(k, span_is_none(stmt->span) ? k->kernel->span : stmt->span);
	switch (stmt->kind) {
	case LOOP_FOR: for_code(k, stmt); break;
	case LOOP_IF: if_code(k, stmt); break;
	case LOOP_LOCAL: local_code(k, stmt); break;
	case LOOP_SET:
		assign(k, jit_kernel_element(k, stmt->local, stmt->ixs, stmt->nixs), stmt);
		break;
	case LOOP_STORE: assign(k, stored_element(k, stmt), stmt); break;
	case LOOP_CHECK: check_code(k, stmt); break;
	case LOOP_PREFETCH: prefetch_code(k, stmt); break;
	case LOOP_BARRIER:
	case LOOP_COMMIT:
	case LOOP_COPY:
	case LOOP_ARRIVE:
	case LOOP_AWAIT:
	case LOOP_WAIT: BUG("kernel %s: a barrier on a CPU", k->kernel->name);
	}
}

static void block_code(KernelJit *k, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		stmt_code(k, block.stmts[i]);
}

/* In the order in which jit_routine.c and jit_parallel.c pass them: the call, dims, scalars,
 * buffers. */
size_t jit_kernel_params(Jit *jit, const KernelUse *use, JitParam **params)
{
	const Module *m = jit->module;
	VEC(JitParam) list = {0};
	if (use->parallel)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, "call"}));
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(jit->arena, list, ((JitParam){jit->i64, m->dims[use->dims.at[i]]}));
	for (size_t i = 0; i < use->scalars.n; i++) {
		const char *name = arena_printf(jit->arena, "scalar_%u", use->scalars.at[i].scalar);
		PUSH(jit->arena, list, ((JitParam){jit->types[use->scalars.at[i].dtype], name}));
	}
	for (size_t i = 0; i < use->buffers.n; i++) {
		const Buffer *buffer = &m->program->buffers.at[use->buffers.at[i].buffer];
		Type *type = jit->types[buffer->dtype];
		REQUIRE(type);
		const char *name = arena_printf(jit->arena, "buffer_%zu", i);
		PUSH(jit->arena, list, ((JitParam){gcc_jit_type_get_pointer(type), name}));
	}
	*params = list.at;
	return list.n;
}

static void bind_params(KernelJit *k, Rvalue *const *params)
{
	Jit *jit = k->f.jit;
	const KernelUse *use = k->use;
	k->dims = ARENA_ARRAY(jit->arena, Rvalue *, sizes_ndims(k->program->sizes));
	size_t at = 0;
	for (size_t i = 0; i < use->dims.n; i++)
		k->dims[use->dims.at[i]] = params[at++];
	k->scalars = ARENA_ARRAY(jit->arena, Rvalue *, use->scalars.n);
	for (size_t i = 0; i < use->scalars.n; i++)
		k->scalars[i] = params[at++];
	k->buffers = ARENA_ARRAY(jit->arena, Rvalue *, use->buffers.n);
	for (size_t i = 0; i < use->buffers.n; i++)
		k->buffers[i] = params[at++];
	k->addresses = ARENA_ARRAY(jit->arena, PointerMap, use->buffers.n + 1);
	for (size_t i = 0; i < use->buffers.n; i++)
		k->addresses[i].arena = jit->arena;
	k->sizes = ARENA_ARRAY(jit->arena, Rvalue *, use->sizes.n);
	JitSizes sizes = {.f = &k->f, .dims = k->dims};
	for (size_t i = 0; i < use->sizes.n; i++)
		k->sizes[i] = jit_size(&sizes, use->sizes.at[i]);
}

static void declare_locals(KernelJit *k)
{
	Jit *jit = k->f.jit;
	const Kernel *kernel = k->kernel;
	k->iters = ARENA_ARRAY(jit->arena, Lvalue *, kernel->niters);
	k->fixed = ARENA_ARRAY(jit->arena, bool, kernel->niters + 1);
	k->at = ARENA_ARRAY(jit->arena, int64_t, kernel->niters + 1);
	for (uint32_t i = 0; i < kernel->niters; i++)
		k->iters[i] = jit_local(&k->f, jit->i64, kernel->iters[i].name);
	k->multiples.fixed = k->fixed;
	k->multiples.at = k->at;
	jit_segments_plan(k);
	k->locals = ARENA_ARRAY(jit->arena, Lvalue *, kernel->nlocals);
	for (uint32_t i = 0; i < kernel->nlocals; i++) {
		if (k->registers[i].used)
			continue;
		const KernelLocal *local = &kernel->locals[i];
		Type *type = jit->types[local->dtype];
		int64_t n = 1;
		for (uint32_t axis = 0; axis < local->rank; axis++)
			n *= local->extent[axis];
		/* it is on the stack of whichever thread runs the kernel */
		REQUIRE(type && n <= 1 << 20);
		if (local->rank)
			type = gcc_jit_context_new_array_type(jit->ctxt, NULL, type, (int)n);
		k->locals[i] = jit_local(&k->f, type, local->name);
	}
}

KernelJit jit_kernel_new(Jit *jit, KernelId id)
{
	const Module *m = jit->module;
	KernelJit k = {.program = m->program, .kernel = &m->kernels[id].kernel};
	k.use = m->kernels[id].use;
	k.multiples = multiples_new(jit->arena, k.program, k.kernel);
	k.values.arena = jit->arena;
	return k;
}

void jit_kernel_open(KernelJit *k, JitFunction function, Rvalue *const *params)
{
	k->f = function;
	jit_entry(&k->f);
	jit_place(k, k->kernel->span);
	bind_params(k, params);
	declare_locals(k);
}

void jit_kernel_block(KernelJit *k, Block block)
{
	jit_tiles_begin(k, block);
	block_code(k, block);
	if (block_streams(block))
		jit_stream_end(&k->f);
	jit_tiles_end(k);
}
