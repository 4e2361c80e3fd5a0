/* Arithmetic as machine code has it, bit for bit, for what is computed while compiling: products are rounded with the sums
 * that they enter (fused.h), and functions are their steps (math.h). The C library computes what is not in these, as
 * it does when a module runs.
 */
#include <math.h>
#include <string.h>

#include "codegen/cpu.h"
#include "codegen/fused.h"
#include "codegen/interp.h"

/* Made once it is asked for. */
typedef struct ExactFunction {
	bool known;
	MathFunction steps;
	MathFunction
		far; /* where the C library computes what the fast path leaves: whether that is so */
} ExactFunction;

struct InterpExact {
	Module module; /* what fused.h asks: the program and the options */
	Emit emit;
	bool fma;
	ExactFunction functions[OP_COUNT][2]; /* by operation, of f32 and of f64 */
};

InterpExact *interp_exact_new(Arena *arena, const Program *program, const CodeOptions *code)
{
	InterpExact *exact = ARENA_NEW(arena, InterpExact);
	exact->emit = (Emit){.program = program, .arena = arena, .options = code};
	exact->module = (Module){.emit = &exact->emit, .program = program, .arena = arena};
	exact->fma = cpu_extras(program->options.target) & CPU_FMA;
	return exact;
}

static double rounded(Dtype dtype, double x) { return dtype == DTYPE_F32 ? (double)(float)x : x; }

static Scalar multiply_add(Dtype dtype, FusedSigns signs, double a, double b, double rest)
{
	a = signs.minus_product ? -a : a;
	rest = signs.minus_rest ? -rest : rest;
	return (Scalar){.f = dtype == DTYPE_F32 ? (double)fmaf((float)a, (float)b, (float)rest)
						: fma(a, b, rest)};
}

/* ---- steps of functions ---- */

static double step_real(MathCode code, Dtype dtype, double a, double b)
{
	bool single = dtype == DTYPE_F32;
	float x = (float)a, y = (float)b;
	switch (code) {
	case MATH_ADD: return single ? (double)(x + y) : a + b;
	case MATH_SUB: return single ? (double)(x - y) : a - b;
	case MATH_MUL: return single ? (double)(x * y) : a * b;
	case MATH_DIV: return single ? (double)(x / y) : a / b;
	case MATH_SQRT: return single ? (double)sqrtf(x) : sqrt(a);
	default: BUG("step %d of floats", (int)code);
	}
}

static int64_t wrapped(Dtype dtype, uint64_t x)
{
	return dtype == DTYPE_I32 ? (int32_t)(uint32_t)x : (int64_t)x;
}

static int64_t step_whole(const MathStep *step, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;
	uint64_t all = step->dtype == DTYPE_I32 ? (uint32_t)x : x;
	switch (step->code) {
	case MATH_ADD: return wrapped(step->dtype, x + y);
	case MATH_SUB: return wrapped(step->dtype, x - y);
	case MATH_MUL: return wrapped(step->dtype, x * y);
	case MATH_AND: return wrapped(step->dtype, x & y);
	case MATH_OR: return wrapped(step->dtype, x | y);
	case MATH_SHL: return wrapped(step->dtype, x << step->arg[1]);
	case MATH_SHR: return a >> step->arg[1];
	case MATH_USHR: return wrapped(step->dtype, all >> step->arg[1]);
	default: BUG("step %d of integers", (int)step->code);
	}
}

/* The same bits in the other type of that width. */
static Scalar bits_as(Dtype from, Scalar x)
{
	float single = (float)x.f;
	int32_t word = (int32_t)x.i;
	switch (from) {
	case DTYPE_F32: memcpy(&word, &single, sizeof word); return (Scalar){.i = word};
	case DTYPE_I32: memcpy(&single, &word, sizeof word); return (Scalar){.f = (double)single};
	default: return x; /* of 64 bits: a Scalar holds the one as the other */
	}
}

static Scalar converted(Dtype from, Dtype to, Scalar x)
{
	if (dtype_is_float(from))
		return (Scalar){.f = rounded(to, x.f)};
	if (dtype_is_float(to))
		return (Scalar){.f = rounded(to, (double)x.i)};
	return (Scalar){.i = wrapped(to, (uint64_t)x.i)};
}

static Scalar run_step(const InterpExact *exact, const MathFunction *fn, const MathStep *step,
		       const Scalar *values)
{
	const uint32_t *arg = step->arg;
	Dtype from = fn->steps.at[arg[0]].dtype;
	Scalar a = values[arg[0]];
	FusedStep fused;
	bool real = dtype_is_float(step->dtype);
	switch (step->code) {
	case MATH_CONST:
		return real ? (Scalar){.f = rounded(step->dtype, step->number)}
			    : (Scalar){.i = step->integer};
	case MATH_ADD:
	case MATH_SUB:
		if (find_fused_step(&exact->module, fn, step, &fused))
			return multiply_add(step->dtype, fused.signs, values[fused.a].f,
					    values[fused.b].f, values[fused.rest].f);
		break;
	case MATH_BITS: return bits_as(from, a);
	case MATH_CONVERT: return converted(from, step->dtype, a);
	case MATH_LOOKUP: return (Scalar){.f = step->table->values[a.i]};
	case MATH_LESS:
	case MATH_EQUAL: {
		Scalar b = values[arg[1]];
		bool less = dtype_is_float(from) ? a.f < b.f : a.i < b.i;
		bool equal = dtype_is_float(from) ? a.f == b.f : a.i == b.i;
		return values[(step->code == MATH_LESS ? less : equal) ? arg[2] : arg[3]];
	}
	default: break;
	}
	bool one = step->code == MATH_SQRT || step->code == MATH_SHL || step->code == MATH_SHR ||
		   step->code == MATH_USHR;
	Scalar b = one ? a : values[arg[1]];
	return real ? (Scalar){.f = step_real(step->code, step->dtype, a.f, b.f)}
		    : (Scalar){.i = step_whole(step, a.i, b.i)};
}

static Scalar run_steps(const InterpExact *exact, const MathFunction *fn, const Scalar *args)
{
	enum { FEW = 256 };
	Scalar few[FEW];
	Arena *arena = fn->steps.n > FEW ? arena_new() : NULL;
	Scalar *values = arena ? ARENA_ARRAY(arena, Scalar, fn->steps.n) : few;
	for (size_t i = 0; i < fn->steps.n; i++)
		values[i] = fn->steps.at[i].code == MATH_ARG
				    ? args[i]
				    : run_step(exact, fn, &fn->steps.at[i], values);
	Scalar result = values[fn->steps.n - 1];
	if (arena)
		arena_free(arena);
	return result;
}

/* ---- operations ---- */

static const ExactFunction *function_of(InterpExact *exact, Op op, Dtype dtype)
{
	ExactFunction *function = &exact->functions[op][dtype == DTYPE_F64];
	Arena *arena = exact->module.arena;
	MathForm form = {.fast = exact->emit.options->fast_fp,
			 .fused = module_fuses(&exact->module, dtype)};
	if (function->known)
		return function;
	function->known = true;
	if (math_ends_in_library(op, dtype)) {
		function->steps = math_fast_path(arena, op, dtype);
		function->far = math_is_far(arena, op, dtype);
	} else {
		function->steps = math_function(arena, op, dtype, form);
	}
	return function;
}

Scalar interp_exact_op(InterpExact *exact, Op op, Dtype dtype, const Scalar *args)
{
	bool real = dtype == DTYPE_F32 || dtype == DTYPE_F64;
	bool library = real && math_ends_in_library(op, dtype);
	bool steps = real && !op_is_simple(op) && math_has(op, dtype) &&
		     (exact->fma || !math_wants_fma(op, dtype));
	if (!library && !steps)
		return interp_op(op, dtype, args);
	const ExactFunction *function = function_of(exact, op, dtype);
	bool far = library && run_steps(exact, &function->far, args).i != 0;
	return far ? interp_op(op, dtype, args) : run_steps(exact, &function->steps, args);
}

bool interp_exact_sum(Interp *in, Op op, const Value *x, const Value *y, Scalar before,
		      Scalar *result)
{
	Fused fused;
	if (!find_fused(&in->exact->module, op, x, y, &fused))
		return false;
	Scalar rest = fused.rest ? interp_value(in, fused.rest) : before;
	*result = multiply_add(y->dtype, fused.signs, interp_value(in, fused.a).f,
			       interp_value(in, fused.b).f, rest.f);
	return true;
}
