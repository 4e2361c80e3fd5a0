/* The steps of math.h as temporaries. Integers are computed in their unsigned types, where they
 * wrap. */
#include "codegen/jit_math.h"

#include "codegen/jit_function.h"

#include <math.h>

typedef struct MathJit {
	JitFunction *f;
	const MathFunction *fn;
	Rvalue **values;
} MathJit;

static Rvalue *constant(const MathJit *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	Type *type = jit->types[step->dtype];
	if (dtype_is_float(step->dtype))
		return jit_double(jit, type, step->number);
	return jit_long(jit, type, step->integer);
}

static Rvalue *arithmetic(const MathJit *m, const MathStep *step, enum gcc_jit_binary_op op,
			  Rvalue *b)
{
	Jit *jit = m->f->jit;
	Rvalue *a = m->values[step->arg[0]];
	if (dtype_is_float(step->dtype))
		return jit_binary(m->f, op, a, b);
	Type *type = jit->unsigned_types[step->dtype];
	Rvalue *result = jit_binary(m->f, op, jit_cast(jit, a, type), jit_cast(jit, b, type));
	return jit_cast(jit, result, jit->types[step->dtype]);
}

static Rvalue *of_two(const MathJit *m, const MathStep *step, enum gcc_jit_binary_op op)
{
	return arithmetic(m, step, op, m->values[step->arg[1]]);
}

static Rvalue *sum(const MathJit *m, const MathStep *step)
{
	FusedStep fused;
	if (!find_fused_step(m->f->jit->module, m->fn, step, &fused))
		return of_two(m, step,
			      step->code == MATH_ADD ? GCC_JIT_BINARY_OP_PLUS
						     : GCC_JIT_BINARY_OP_MINUS);
	Rvalue *args[] = {m->values[fused.a], m->values[fused.b], m->values[fused.rest]};
	return jit_fused_code(m->f, fused.signs, step->dtype, 0, args);
}

static Rvalue *shifted(const MathJit *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	if (step->code == MATH_SHR)
		return jit_binary(m->f, GCC_JIT_BINARY_OP_RSHIFT, m->values[step->arg[0]],
				  jit_long(jit, jit->types[step->dtype], step->arg[1]));
	Rvalue *by = jit_long(jit, jit->unsigned_types[step->dtype], step->arg[1]);
	return arithmetic(
		m, step,
		step->code == MATH_SHL ? GCC_JIT_BINARY_OP_LSHIFT : GCC_JIT_BINARY_OP_RSHIFT, by);
}

/* Is the step the smaller or the greater one of two floats? */
static bool is_extreme(const MathStep *step)
{
	const uint32_t *arg = step->arg;
	return step->code == MATH_LESS && dtype_is_float(step->dtype) &&
	       ((arg[0] == arg[2] && arg[1] == arg[3]) || (arg[0] == arg[3] && arg[1] == arg[2]));
}

static Rvalue *chosen(const MathJit *m, const MathStep *step)
{
	enum gcc_jit_comparison op =
		step->code == MATH_LESS ? GCC_JIT_COMPARISON_LT : GCC_JIT_COMPARISON_EQ;
	Rvalue *args[4];
	for (int i = 0; i < 4; i++) {
		const MathStep *of = &m->fn->steps.at[step->arg[i]];
		bool bound = is_extreme(step) && of->code == MATH_CONST;
		args[i] = bound ? jit_bound(m->f, of->dtype, of->number) : m->values[step->arg[i]];
	}
	return jit_select(m->f, jit_compare(m->f, op, args[0], args[1]), args[2], args[3]);
}

/* A table is a constant of the module, made once. */
static Lvalue *table_of(Jit *jit, const MathTable *table)
{
	for (size_t i = 0; i < jit->tables.n; i++)
		if (jit->tables.at[i].table == table)
			return jit->tables.at[i].global;
	Type *element = gcc_jit_type_get_const(jit->types[DTYPE_F64]);
	Type *type = gcc_jit_context_new_array_type(jit->ctxt, NULL, element, (int)table->n);
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, table->n);
	for (uint32_t i = 0; i < table->n; i++)
		values[i] = jit_double(jit, element, table->values[i]);
	const char *name = arena_printf(jit->arena, "%s__t_%s", jit->module->prefix, table->name);
	Lvalue *global =
		gcc_jit_context_new_global(jit->ctxt, NULL, GCC_JIT_GLOBAL_INTERNAL, type, name);
	gcc_jit_global_set_initializer_rvalue(
		global,
		gcc_jit_context_new_array_constructor(jit->ctxt, NULL, type, table->n, values));
	PUSH(jit->arena, jit->tables, ((JitTable){table, global}));
	return global;
}

static Rvalue *looked_up(const MathJit *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	Rvalue *table = gcc_jit_lvalue_as_rvalue(table_of(jit, step->table));
	Lvalue *element = gcc_jit_context_new_array_access(jit->ctxt, m->f->location, table,
							   m->values[step->arg[0]]);
	return jit_cast(jit, gcc_jit_lvalue_as_rvalue(element), jit->types[DTYPE_F64]);
}

static Rvalue *root_of(const MathJit *m, const MathStep *step)
{
	const char *name = step->dtype == DTYPE_F32 ? "sqrtf" : "sqrt";
	return jit_call(m->f, jit_builtin(m->f->jit, name), &m->values[step->arg[0]], 1);
}

static Rvalue *step_code(const MathJit *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	Rvalue *a = m->values[step->arg[0]];
	Type *type = jit->types[step->dtype];
	switch (step->code) {
	case MATH_CONST: return constant(m, step);
	case MATH_ADD:
	case MATH_SUB: return sum(m, step);
	case MATH_MUL: return of_two(m, step, GCC_JIT_BINARY_OP_MULT);
	case MATH_DIV: return of_two(m, step, GCC_JIT_BINARY_OP_DIVIDE);
	case MATH_SQRT: return root_of(m, step);
	case MATH_AND: return of_two(m, step, GCC_JIT_BINARY_OP_BITWISE_AND);
	case MATH_OR: return of_two(m, step, GCC_JIT_BINARY_OP_BITWISE_OR);
	case MATH_SHL:
	case MATH_SHR:
	case MATH_USHR: return shifted(m, step);
	case MATH_BITS: return gcc_jit_context_new_bitcast(jit->ctxt, m->f->location, a, type);
	case MATH_CONVERT: return jit_cast(jit, a, type);
	case MATH_LOOKUP: return looked_up(m, step);
	case MATH_LESS:
	case MATH_EQUAL: return chosen(m, step);
	case MATH_SCALE:
	case MATH_ARG: break;
	}
	BUG("step %d of a function", (int)step->code);
}

Rvalue *jit_math_steps(JitFunction *f, const MathFunction *fn, Rvalue *const *args)
{
	MathJit m = {.f = f, .fn = fn, .values = ARENA_ARRAY(f->jit->arena, Rvalue *, fn->steps.n)};
	for (size_t i = 0; i < fn->steps.n; i++) {
		const MathStep *step = &fn->steps.at[i];
		bool simple = step->code == MATH_ARG || step->code == MATH_CONST;
		Rvalue *value = step->code == MATH_ARG ? args[i] : step_code(&m, step);
		m.values[i] = simple ? value : jit_keep(f, value);
	}
	return m.values[fn->steps.n - 1];
}

Rvalue *jit_math(JitFunction *f, Op op, Dtype dtype, Rvalue *const *args)
{
	MathForm form = {.fast = f->jit->module->emit->options->fast_fp,
			 .fused = module_fuses(f->jit->module, dtype)};
	MathFunction fn = math_function(f->jit->arena, op, dtype, form);
	return jit_math_steps(f, &fn, args);
}
