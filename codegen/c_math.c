/* The steps of math.h as a C function, a constant for each: the bits are those of the compiled
 * module. */
#include "codegen/c_text.h"

#include <string.h>

#include "base/held.h"

static const char *unsigned_type(Dtype dtype)
{
	return dtype == DTYPE_I32 ? "uint32_t" : "uint64_t";
}

static const char *arg_text(Arena *arena, const MathFunction *fn, uint32_t arg)
{
	static const char *const names[] = {"x", "y", "z"};
	const MathStep *step = &fn->steps.at[arg];
	if (step->code == MATH_ARG)
		return names[arg];
	if (step->code != MATH_CONST)
		return arena_printf(arena, "t%u", arg);
	Scalar value = dtype_is_float(step->dtype) ? (Scalar){.f = step->number}
						   : (Scalar){.i = step->integer};
	if (step->dtype == DTYPE_F32)
		value.f = (double)(float)value.f;
	return c_constant(arena, step->dtype, value);
}

/* Integers are computed in their unsigned types, where they wrap. */
static const char *infix(Arena *arena, const MathStep *step, const char *a, const char *symbol,
			 const char *b)
{
	const char *type = unsigned_type(step->dtype);
	if (dtype_is_float(step->dtype))
		return arena_printf(arena, "%s %s %s", a, symbol, b);
	return arena_printf(arena, "(%s)((%s)%s %s (%s)%s)", c_type(step->dtype), type, a, symbol,
			    type, b);
}

/* NULL: it is no sum that is rounded once. */
static const char *fused_text(const Module *m, const MathFunction *fn, const MathStep *step)
{
	FusedStep fused;
	if (!find_fused_step(m, fn, step, &fused))
		return NULL;
	const char *args[] = {arg_text(m->arena, fn, fused.a), arg_text(m->arena, fn, fused.b),
			      arg_text(m->arena, fn, fused.rest)};
	return c_fused(m->arena, fused.signs, args);
}

static const char *step_text(const Module *m, const MathFunction *fn, const MathStep *step)
{
	Arena *arena = m->arena;
	static const char *const symbols[] = {
		[MATH_ADD] = "+", [MATH_SUB] = "-", [MATH_MUL] = "*",  [MATH_DIV] = "/",
		[MATH_AND] = "&", [MATH_OR] = "|",  [MATH_SHL] = "<<", [MATH_USHR] = ">>",
	};
	bool shifts = step->code == MATH_SHL || step->code == MATH_SHR || step->code == MATH_USHR;
	const char *a = arg_text(arena, fn, step->arg[0]);
	const char *b = shifts ? arena_printf(arena, "%u", step->arg[1])
			       : arg_text(arena, fn, step->arg[1]);
	const char *fused = fused_text(m, fn, step);
	if (fused)
		return fused;
	switch (step->code) {
	case MATH_SQRT: return arena_printf(arena, "sqrt(%s)", a);
	case MATH_SHR: return arena_printf(arena, "%s >> %s", a, b);
	case MATH_BITS: return arena_printf(arena, "tsr_bits_%s(%s)", dtype_name(step->dtype), a);
	case MATH_LOOKUP: return arena_printf(arena, "%s[%s]", step->table->name, a);
	case MATH_CONVERT: return arena_printf(arena, "(%s)%s", c_type(step->dtype), a);
	case MATH_LESS:
	case MATH_EQUAL:
		return arena_printf(
			arena, "%s %s %s ? %s : %s", a, step->code == MATH_LESS ? "<" : "==", b,
			arg_text(arena, fn, step->arg[2]), arg_text(arena, fn, step->arg[3]));
	default: return infix(arena, step, a, symbols[step->code], b);
	}
}

void c_put_math(FILE *out, const Module *m, const MathFunction *fn)
{
	const bool *read = fused_steps_read(m, fn);
	const char *separator = "";
	for (uint32_t i = 0; i < fn->steps.n; i++) {
		const MathStep *step = &fn->steps.at[i];
		if (step->code == MATH_ARG || step->code == MATH_CONST || !read[i])
			continue;
		const char *type =
			i + 1 < fn->steps.n
				? arena_printf(m->arena, "const %s t%u =", c_type(step->dtype), i)
				: "return";
		fprintf(out, "%s%s %s;", separator, type, step_text(m, fn, step));
		separator = "\n\t";
	}
}

static const char *body_of(const Module *m, Op op, Dtype dtype, MathForm form)
{
	size_t len;
	Text text = text_new();
	MathFunction fn = math_function(m->arena, op, dtype, form);
	c_put_math(text.out, m, &fn);
	return text_take(text, m->arena, &len);
}

void c_put_math_forms(FILE *out, const Module *m, Op op, Dtype dtype)
{
	MathForm form = {.fast = m->emit->options->fast_fp};
	const char *twice = body_of(m, op, dtype, form);
	form.fused = module_fuses(m, dtype);
	const char *once = body_of(m, op, dtype, form);
	if (strcmp(once, twice) == 0 || m->program->options.gpu)
		fputs(once, out);
	else
		fprintf(out, "#ifdef TSR_FUSES\n\t%s\n\t#else\n\t%s\n\t#endif", once, twice);
}

static void put_bits(FILE *out, Dtype to, Dtype from)
{
	fprintf(out,
		"static inline %s tsr_bits_%s(%s x)\n{\n\t%s result;\n"
		"\tmemcpy(&result, &x, sizeof result);\n\treturn result;\n}\n\n",
		c_type(to), dtype_name(to), c_type(from), c_type(to));
}

void c_put_math_tables(FILE *out, Arena *arena, Op op, Dtype dtype)
{
	MathFunction fn = math_function(arena, op, dtype, (MathForm){0});
	for (size_t i = 0; i < fn.steps.n; i++) {
		const MathTable *table = fn.steps.at[i].table;
		if (!table)
			continue;
		fprintf(out, "static const double %s[] = {", table->name);
		for (uint32_t k = 0; k < table->n; k++)
			fprintf(out, "%s%s,", k % 4 ? " " : "\n\t",
				c_constant(arena, DTYPE_F64, (Scalar){.f = table->values[k]}));
		fprintf(out, "\n};\n\n");
	}
}

void c_put_math_helpers(FILE *out)
{
	fprintf(out, "/* The same bits as another type. */\n");
	put_bits(out, DTYPE_F32, DTYPE_I32);
	put_bits(out, DTYPE_I32, DTYPE_F32);
	put_bits(out, DTYPE_F64, DTYPE_I64);
	put_bits(out, DTYPE_I64, DTYPE_F64);
}
