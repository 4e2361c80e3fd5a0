/* Sizes as statements of a function.
 *
 * The postfix program of a size runs on a stack of values at compile time, each step one statement;
 * checked steps call the body that the caller gives for an overflow or a remainder. The program of a
 * long sum is data, which a function of the unit runs over an array of the dims, always checked: GCC
 * takes minutes over ten thousand checked additions. A running total is the one before it and what
 * was added.
 */
#include "base/size_program.h"
#include "codegen/jit_context.h"
#include "codegen/jit_function.h"
#include "codegen/jit_size.h"
#include "runtime/tsr.h"

enum { MANY_OPS = 128 }; /* of one size */

/* Leaves the function by the caller's way where `bad` holds. */
static void require(const JitSizes *s, Rvalue *bad)
{
	JitBlock *after = jit_if(s->f, bad);
	s->bad(s->f, s->arg);
	jit_end_if(s->f, after);
}

static Rvalue *checked(const JitSizes *s, const char *builtin, Rvalue *a, Rvalue *b)
{
	JitFunction *f = s->f;
	Lvalue *result = jit_local(f, f->jit->i64, "size");
	Rvalue *args[] = {a, b, gcc_jit_lvalue_get_address(result, NULL)};
	require(s, jit_call(f, jit_builtin(f->jit, builtin), args, 3));
	return jit_keep(f, gcc_jit_lvalue_as_rvalue(result));
}

static Rvalue *arithmetic(const JitSizes *s, SizeCode code, Rvalue *a, Rvalue *b)
{
	static const char *const builtins[] = {"saddl_overflow", "ssubl_overflow",
					       "smull_overflow"};
	static const enum gcc_jit_binary_op ops[] = {
		GCC_JIT_BINARY_OP_PLUS, GCC_JIT_BINARY_OP_MINUS, GCC_JIT_BINARY_OP_MULT};
	int i = code - SIZE_ADD;
	return s->bad ? checked(s, builtins[i], a, b)
		      : jit_keep(s->f, jit_binary(s->f, ops[i], a, b));
}

/* Exact: a remainder is bad; unchecked, a zero divisor gives 0 so that nothing traps. */
static Rvalue *quotient(const JitSizes *s, Rvalue *a, Rvalue *b)
{
	JitFunction *f = s->f;
	Rvalue *zero = jit_long(f->jit, f->jit->i64, 0), *one = jit_long(f->jit, f->jit->i64, 1);
	Rvalue *no = jit_compare(f, GCC_JIT_COMPARISON_EQ, b, zero);
	if (!s->bad) {
		Rvalue *safe = jit_select(f, no, one, b);
		Rvalue *result = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_DIVIDE, a, safe));
		return jit_select(f, no, zero, result);
	}
	require(s, no);
	Rvalue *rest = jit_binary(f, GCC_JIT_BINARY_OP_MODULO, a, b);
	require(s, jit_compare(f, GCC_JIT_COMPARISON_NE, rest, zero));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_DIVIDE, a, b));
}

/* floor(a / b) = a / b, less one where the remainder is negative; b is a constant above 1. */
static Rvalue *floor_quotient(const JitSizes *s, Rvalue *a, Rvalue *b)
{
	JitFunction *f = s->f;
	Rvalue *zero = jit_long(f->jit, f->jit->i64, 0);
	Rvalue *rest = jit_binary(f, GCC_JIT_BINARY_OP_MODULO, a, b);
	Rvalue *below =
		jit_cast(f->jit, jit_compare(f, GCC_JIT_COMPARISON_LT, rest, zero), f->jit->i64);
	Rvalue *result = jit_binary(f, GCC_JIT_BINARY_OP_DIVIDE, a, b);
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, result, below));
}

/* A postfix program, its stack of values being here and not in the emitted code. */
static Rvalue *compute_ops(const JitSizes *s, const SizeOp *ops, size_t n)
{
	Jit *jit = s->f->jit;
	size_t top = 0;
	Rvalue **stack = ARENA_ARRAY(jit->arena, Rvalue *, n);
	for (size_t i = 0; i < n; i++)
		switch (ops[i].code) {
		case SIZE_CONST: stack[top++] = jit_long(jit, jit->i64, ops[i].arg); break;
		case SIZE_DIM:
			REQUIRE(s->dims[ops[i].arg]);
			stack[top++] = s->dims[ops[i].arg];
			break;
		case SIZE_FLOOR:
			top--;
			stack[top - 1] = floor_quotient(s, stack[top - 1], stack[top]);
			break;
		case SIZE_DIV:
			top--;
			stack[top - 1] = quotient(s, stack[top - 1], stack[top]);
			break;
		default:
			top--;
			stack[top - 1] = arithmetic(s, ops[i].code, stack[top - 1], stack[top]);
		}
	REQUIRE(top == 1);
	return stack[0];
}

/* ---- programs that are data ---- */

/* The function that runs one, while it is made. */
typedef struct Runner {
	JitFunction f;
	Lvalue *stack, *top;
	Rvalue *code, *arg;
} Runner;

static Lvalue *stack_at(Runner *r, int64_t below_top)
{
	Jit *jit = r->f.jit;
	Rvalue *at = jit_binary(&r->f, GCC_JIT_BINARY_OP_MINUS, gcc_jit_lvalue_as_rvalue(r->top),
				jit_long(jit, jit->i64, below_top));
	return gcc_jit_context_new_array_access(jit->ctxt, NULL,
						gcc_jit_lvalue_as_rvalue(r->stack), at);
}

static void move_top(Runner *r, int64_t by)
{
	Jit *jit = r->f.jit;
	gcc_jit_block_add_assignment_op(r->f.block, NULL, r->top, GCC_JIT_BINARY_OP_PLUS,
					jit_long(jit, jit->i64, by));
}

static JitBlock *if_code(Runner *r, SizeCode code)
{
	Jit *jit = r->f.jit;
	return jit_if(&r->f, jit_compare(&r->f, GCC_JIT_COMPARISON_EQ, r->code,
					 jit_long(jit, jit->i64, code)));
}

static void push(Runner *r, SizeCode code, Rvalue *value)
{
	JitBlock *after = if_code(r, code);
	jit_set(&r->f, stack_at(r, 0), value);
	move_top(r, 1);
	jit_end_if(&r->f, after);
}

static void return_least(JitFunction *f, void *arg)
{
	(void)arg;
	jit_return(f, jit_long(f->jit, f->jit->i64, INT64_MIN));
}

static void apply(Runner *r, SizeCode code)
{
	JitFunction *f = &r->f;
	JitSizes checked = {.f = f, .bad = return_least};
	JitBlock *after = if_code(r, code);
	Rvalue *a = jit_keep(f, gcc_jit_lvalue_as_rvalue(stack_at(r, 2)));
	Rvalue *b = jit_keep(f, gcc_jit_lvalue_as_rvalue(stack_at(r, 1)));
	jit_set(f, stack_at(r, 2),
		code == SIZE_DIV     ? quotient(&checked, a, b)
		: code == SIZE_FLOOR ? floor_quotient(&checked, a, b)
				     : arithmetic(&checked, code, a, b));
	move_top(r, -1);
	jit_end_if(f, after);
}

/* int64_t PREFIX__t_size(const int64_t *program, int64_t n, const int64_t *dims); INT64_MIN: it
 * overflows, or a quotient is not exact. */
static gcc_jit_function *runner(Jit *jit)
{
	if (jit->size_runner)
		return jit->size_runner;
	Type *numbers = gcc_jit_type_get_pointer(jit->i64);
	JitParam params[] = {{numbers, "program"}, {jit->i64, "n"}, {numbers, "dims"}};
	const char *name = arena_printf(jit->arena, "%s__t_size", jit->module->prefix);
	Runner r = {.f = jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->i64, name, params, 3)};
	r.stack = jit_local(&r.f,
			    gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->i64,
							   SIZE_STACK),
			    "stack");
	r.top = jit_local(&r.f, jit->i64, "top");
	Lvalue *i = jit_local(&r.f, jit->i64, "i");
	jit_set(&r.f, r.top, jit_long(jit, jit->i64, 0));
	JitLoop loop = jit_loop(&r.f, i, jit_long(jit, jit->i64, 0), jit_param(&r.f, 1), 2);
	Rvalue *at = gcc_jit_lvalue_as_rvalue(i), *one = jit_long(jit, jit->i64, 1);
	r.code = jit_keep(&r.f, jit_at(&r.f, jit_param(&r.f, 0), at));
	r.arg = jit_keep(&r.f, jit_at(&r.f, jit_param(&r.f, 0),
				      jit_binary(&r.f, GCC_JIT_BINARY_OP_PLUS, at, one)));
	push(&r, SIZE_CONST, r.arg);
	for (SizeCode code = SIZE_ADD; code <= SIZE_FLOOR; code++)
		apply(&r, code);
	JitBlock *after = if_code(&r, SIZE_DIM);
	jit_set(&r.f, stack_at(&r, 0), jit_at(&r.f, jit_param(&r.f, 2), r.arg));
	move_top(&r, 1);
	jit_end_if(&r.f, after);
	jit_end_loop(&r.f, &loop);
	jit_return(&r.f, gcc_jit_lvalue_as_rvalue(stack_at(&r, 1)));
	return jit->size_runner = r.f.function;
}

/* The program as a constant of the unit. A constructor makes it: what is given as bytes
 * (gcc_jit_global_set_initializer) libgccjit 12 leaves out, and the array is zeros. */
static Rvalue *program_data(Jit *jit, const SizeOp *ops, size_t n)
{
	Rvalue **numbers = ARENA_ARRAY(jit->arena, Rvalue *, 2 * n);
	for (size_t i = 0; i < n; i++) {
		numbers[2 * i] = jit_long(jit, jit->i64, ops[i].code);
		numbers[2 * i + 1] = jit_long(jit, jit->i64, ops[i].arg);
	}
	Type *type = gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->i64, (int)(2 * n));
	Lvalue *global = gcc_jit_context_new_global(
		jit->ctxt, NULL, GCC_JIT_GLOBAL_INTERNAL, type,
		arena_printf(jit->arena, "%s__t_sum_%u", jit->module->prefix, jit->nsums++));
	gcc_jit_global_set_initializer_rvalue(
		global,
		gcc_jit_context_new_array_constructor(jit->ctxt, NULL, type, 2 * n, numbers));
	return gcc_jit_lvalue_get_address(
		gcc_jit_context_new_array_access(jit->ctxt, NULL, gcc_jit_lvalue_as_rvalue(global),
						 jit_long(jit, jit->int_, 0)),
		NULL);
}

/* The function's dims in an array, once. */
static Rvalue *dims_array(const JitSizes *s)
{
	JitFunction *f = s->f;
	Jit *jit = f->jit;
	uint32_t n = sizes_ndims(jit->module->program->sizes);
	bool filled = f->dims != NULL;
	if (!filled)
		f->dims = jit_local(
			f, gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->i64, (int)n + 1),
			"dims");
	Rvalue *array = gcc_jit_lvalue_as_rvalue(f->dims);
	for (DimId d = 0; d < n && !filled; d++)
		if (s->dims[d])
			jit_set(f,
				gcc_jit_context_new_array_access(jit->ctxt, NULL, array,
								 jit_long(jit, jit->i64, d)),
				s->dims[d]);
	return gcc_jit_lvalue_get_address(
		gcc_jit_context_new_array_access(jit->ctxt, NULL, array,
						 jit_long(jit, jit->i64, 0)),
		NULL);
}

static Rvalue *run_program(const JitSizes *s, const SizeOp *ops, size_t n)
{
	JitFunction *f = s->f;
	Jit *jit = f->jit;
	Rvalue *args[] = {program_data(jit, ops, n), jit_long(jit, jit->i64, 2 * (int64_t)n),
			  dims_array(s)};
	Rvalue *value = jit_keep(f, jit_call(f, runner(jit), args, 3));
	if (s->bad)
		require(s, jit_compare(f, GCC_JIT_COMPARISON_EQ, value,
				       jit_long(jit, jit->i64, INT64_MIN)));
	return value;
}

/* ---- one size ---- */

static Rvalue *find_known(const JitSizes *s, Size size)
{
	JitFunction *f = s->f;
	bool checked = s->bad != NULL;
	for (size_t i = 0; i < f->known.n; i++)
		if (size_same(f->known.at[i].size, size) && f->known.at[i].checked >= checked)
			return f->known.at[i].value;
	return NULL;
}

static Rvalue *note_known(const JitSizes *s, Size size, Rvalue *value)
{
	PUSH(s->f->jit->arena, s->f->known, ((JitKnown){size, s->bad != NULL, value}));
	return value;
}

static Rvalue *compute(const JitSizes *s, Size size)
{
	Jit *jit = s->f->jit;
	SizeOp *ops = NULL;
	size_t n = size_program(jit->arena, jit->module->program->sizes, size, &ops);
	return note_known(s, size, n < MANY_OPS ? compute_ops(s, ops, n) : run_program(s, ops, n));
}

Rvalue *jit_size(const JitSizes *s, Size size)
{
	Jit *jit = s->f->jit;
	const Sizes *sizes = jit->module->program->sizes;
	Size before, added;
	VEC(Size) totals = {0}; /* that are not known, the last first */
	for (Size at = size; !find_known(s, at); at = before) {
		if (!size_is_total(sizes, at, &before, &added)) {
			compute(s, at);
			break;
		}
		PUSH(jit->arena, totals, at);
	}
	for (size_t i = totals.n; i-- > 0;) {
		size_is_total(sizes, totals.at[i], &before, &added);
		Rvalue *sum = arithmetic(s, SIZE_ADD, jit_size(s, before), jit_size(s, added));
		note_known(s, totals.at[i], sum);
	}
	return find_known(s, size);
}
