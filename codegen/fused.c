/* Sums with a product, rounded once: which they are is decided here, on the values of the loop IR and
 * on the steps of functions, for libgccjit's code and for C (fused.h). */
#include "codegen/fused.h"

#include "codegen/cpu.h"

bool module_has_fused(const Module *m)
{
	return m->program->options.gpu || (cpu_extras(m->program->options.target) & CPU_FMA) != 0;
}

bool module_fuses(const Module *m, Dtype dtype)
{
	return !m->emit->options->strict_fp && dtype_is_float(dtype) && module_has_fused(m);
}

static bool is_product(const Value *value)
{
	return value && value->kind == VALUE_OP && value->op == OP_MUL;
}

bool find_fused(const Module *m, Op op, const Value *x, const Value *y, Fused *fused)
{
	if ((op != OP_ADD && op != OP_SUB) || !module_fuses(m, y->dtype))
		return false;
	bool right = is_product(y), minus = op == OP_SUB;
	if (!right && !is_product(x))
		return false;
	const Value *product = right ? y : x;
	*fused = (Fused){.a = product->args[0],
			 .b = product->args[1],
			 .rest = right ? x : y,
			 .signs = {right && minus, !right && minus}};
	return true;
}

bool find_fused_step(const Module *m, const MathFunction *fn, const MathStep *sum, FusedStep *fused)
{
	bool minus = sum->code == MATH_SUB;
	if ((!minus && sum->code != MATH_ADD) || !module_fuses(m, sum->dtype))
		return false;
	const MathStep *x = &fn->steps.at[sum->arg[0]], *y = &fn->steps.at[sum->arg[1]];
	bool right = y->code == MATH_MUL;
	if (!right && x->code != MATH_MUL)
		return false;
	const MathStep *product = right ? y : x;
	*fused = (FusedStep){.a = product->arg[0],
			     .b = product->arg[1],
			     .rest = sum->arg[right ? 0 : 1],
			     .signs = {right && minus, !right && minus}};
	return true;
}

const bool *fused_steps_read(const Module *m, const MathFunction *fn)
{
	static const int arity[] = {
		[MATH_ADD] = 2,	 [MATH_SUB] = 2,   [MATH_MUL] = 2,    [MATH_DIV] = 2,
		[MATH_AND] = 2,	 [MATH_OR] = 2,	   [MATH_SHL] = 1,    [MATH_SHR] = 1,
		[MATH_USHR] = 1, [MATH_BITS] = 1,  [MATH_LESS] = 4,   [MATH_EQUAL] = 4,
		[MATH_SQRT] = 1, [MATH_SCALE] = 2, [MATH_CONVERT] = 1, [MATH_LOOKUP] = 1};
	bool *read = ARENA_ARRAY(m->arena, bool, fn->steps.n);
	read[fn->steps.n - 1] = true;
	for (size_t i = fn->steps.n; i-- > 0;) {
		const MathStep *step = &fn->steps.at[i];
		FusedStep fused;
		if (!read[i])
			continue;
		if (find_fused_step(m, fn, step, &fused)) {
			read[fused.a] = read[fused.b] = read[fused.rest] = true;
			continue;
		}
		for (int a = 0; a < arity[step->code]; a++)
			read[step->arg[a]] = true;
	}
	return read;
}
