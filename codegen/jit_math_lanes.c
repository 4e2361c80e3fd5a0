/* The steps of math.h for several vectors at once, a step of all vectors before the next one: a
 * chain of steps takes four cycles each, and the processor looks a hundred instructions ahead, so
 * that one vector after another would leave it waiting. The bits of a lane are those of jit_math.c.
 */
#include "codegen/jit_math_lanes.h"

#include <math.h>

#include "codegen/jit_function.h"
#include "codegen/jit_math.h"

typedef struct LanesMath {
	JitFunction *f;
	const MathFunction *fn;
	int log;
	Rvalue **values; /* by step: of the vector at hand */
} LanesMath;

/* With SCALE, two instructions of AVX-512, which is the reason for asking for that. */
static MathForm form_of(Jit *jit, Dtype dtype)
{
	bool fuses = module_fuses(jit->module, dtype);
	return (MathForm){
		.fast = jit->module->emit->options->fast_fp, .fused = fuses, .scales = fuses};
}

bool jit_math_has_lanes(Jit *jit, Op op, Dtype dtype)
{
	bool wide = jit->simd == CPU_AVX512 || (jit->simd == CPU_AVX && jit->extras & CPU_WIDENS);
	return wide && !jit->module->emit->options->strict_fp && dtype == DTYPE_F32 &&
	       math_has(op, dtype) && math_fits_lanes(jit->arena, op, form_of(jit, dtype));
}

static SimdType type_of(const LanesMath *m, Dtype dtype) { return (SimdType){dtype, m->log}; }

static Rvalue *constant(const LanesMath *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	Type *type = jit->types[step->dtype];
	Rvalue *element = step->dtype == DTYPE_F32 ? jit_double(jit, type, step->number)
						   : jit_long(jit, type, step->integer);
	return jit_keep(m->f, simd_spread(m->f, type_of(m, step->dtype), element));
}

static bool is_constant(const LanesMath *m, uint32_t step)
{
	return m->fn->steps.at[step].code == MATH_CONST;
}

static Rvalue *spread(const LanesMath *m, double number)
{
	Rvalue *element = jit_double(m->f->jit, m->f->jit->types[DTYPE_F32], number);
	return jit_keep(m->f, simd_spread(m->f, type_of(m, DTYPE_F32), element));
}

/* Where SCALE follows, the lanes in which it does not give 0: in the others its argument is 0. */
static Rvalue *scaled_lanes(const LanesMath *m, const MathStep *step)
{
	const MathStep *next = step + 1;
	bool last = next == m->fn->steps.at + m->fn->steps.n;
	if (last || next->code != MATH_SCALE || isinf(next->number))
		return NULL;
	return simd_not_less(m->f, type_of(m, DTYPE_F32), m->values[next->arg[1]],
			     spread(m, next->number));
}

/* A polynomial's steps are p*x + constant: the instruction overwrites p there, which nothing else
 * reads, so that the constant stays in its register for the next vector. */
static Rvalue *fused_code(const LanesMath *m, const FusedStep *fused, const MathStep *step)
{
	bool swapped = is_constant(m, fused->a);
	Rvalue *args[] = {m->values[swapped ? fused->b : fused->a],
			  m->values[swapped ? fused->a : fused->b], m->values[fused->rest],
			  scaled_lanes(m, step)};
	SimdType type = type_of(m, DTYPE_F32);
	if (is_constant(m, fused->rest))
		return simd_fused_over(m->f, type, fused->signs, args);
	return simd_fused(m->f, type, fused->signs, args);
}

static Rvalue *arithmetic(const LanesMath *m, const MathStep *step, enum gcc_jit_binary_op op)
{
	Rvalue *a = m->values[step->arg[0]], *b = m->values[step->arg[1]];
	if (step->dtype == DTYPE_F32)
		return jit_keep(m->f, jit_binary(m->f, op, a, b));
	return simd_integers(m->f, m->log, op, false, a, b);
}

static Rvalue *sum(const LanesMath *m, const MathStep *step)
{
	FusedStep fused;
	if (find_fused_step(m->f->jit->module, m->fn, step, &fused))
		return fused_code(m, &fused, step);
	return arithmetic(
		m, step, step->code == MATH_ADD ? GCC_JIT_BINARY_OP_PLUS : GCC_JIT_BINARY_OP_MINUS);
}

static Rvalue *shifted(const LanesMath *m, const MathStep *step)
{
	Jit *jit = m->f->jit;
	Rvalue *by = jit_long(jit, jit->types[DTYPE_I32], step->arg[1]);
	by = jit_keep(m->f, simd_spread(m->f, type_of(m, DTYPE_I32), by));
	enum gcc_jit_binary_op op =
		step->code == MATH_SHL ? GCC_JIT_BINARY_OP_LSHIFT : GCC_JIT_BINARY_OP_RSHIFT;
	return simd_integers(m->f, m->log, op, step->code == MATH_SHR, m->values[step->arg[0]], by);
}

/* min and max are one instruction each, which gives its second operand where the first is no
 * number: as the comparison of the scalar form does, with the same operands. */
static Rvalue *chosen(const LanesMath *m, const MathStep *step)
{
	const uint32_t *arg = step->arg;
	SimdType type = type_of(m, DTYPE_F32);
	Rvalue *a = m->values[arg[0]], *b = m->values[arg[1]];
	if (step->code == MATH_LESS && arg[0] == arg[2] && arg[1] == arg[3])
		return simd_extreme(m->f, type, true, a, b);
	if (step->code == MATH_LESS && arg[0] == arg[3] && arg[1] == arg[2])
		return simd_extreme(m->f, type, false, b, a);
	enum gcc_jit_comparison op =
		step->code == MATH_LESS ? GCC_JIT_COMPARISON_LT : GCC_JIT_COMPARISON_EQ;
	return simd_choose(m->f, type, simd_compare(m->f, type, op, a, b), m->values[arg[2]],
			   m->values[arg[3]]);
}

static Rvalue *same_bits(const LanesMath *m, const MathStep *step)
{
	Type *type = jit_vector_type(m->f->jit, step->dtype, m->log);
	return jit_keep(m->f, gcc_jit_context_new_bitcast(m->f->jit->ctxt, m->f->location,
							  m->values[step->arg[0]], type));
}

static Rvalue *step_code(const LanesMath *m, const MathStep *step)
{
	Rvalue *a = m->values[step->arg[0]];
	switch (step->code) {
	case MATH_ADD:
	case MATH_SUB: return sum(m, step);
	case MATH_MUL: return arithmetic(m, step, GCC_JIT_BINARY_OP_MULT);
	case MATH_DIV: return arithmetic(m, step, GCC_JIT_BINARY_OP_DIVIDE);
	case MATH_SQRT: return simd_root(m->f, type_of(m, DTYPE_F32), a);
	case MATH_AND: return arithmetic(m, step, GCC_JIT_BINARY_OP_BITWISE_AND);
	case MATH_OR: return arithmetic(m, step, GCC_JIT_BINARY_OP_BITWISE_OR);
	case MATH_SHL:
	case MATH_SHR:
	case MATH_USHR: return shifted(m, step);
	case MATH_BITS: return same_bits(m, step);
	case MATH_CONVERT: return simd_from_integers(m->f, m->log, a);
	case MATH_SCALE: return simd_scale(m->f, type_of(m, DTYPE_F32), a, m->values[step->arg[1]]);
	case MATH_LESS:
	case MATH_EQUAL: return chosen(m, step);
	default: BUG("step %d of a function in lanes", (int)step->code);
	}
}

/* Of n vectors. */
static void take_steps(JitFunction *f, const MathFunction *fn, int log, uint32_t n,
		       Rvalue *const *args, Rvalue **results)
{
	size_t nsteps = fn->steps.n;
	LanesMath m = {.f = f, .fn = fn, .log = log};
	Rvalue **values = ARENA_ARRAY(f->jit->arena, Rvalue *, n * nsteps);
	for (size_t i = 0; i < nsteps; i++) {
		const MathStep *step = &fn->steps.at[i];
		/* in a register of its own, or read from memory: once for all vectors */
		Rvalue *shared = step->code == MATH_CONST ? constant(&m, step) : NULL;
		for (uint32_t v = 0; v < n; v++) {
			m.values = values + v * nsteps;
			m.values[i] = shared		       ? shared
				      : step->code == MATH_ARG ? args[v]
							       : step_code(&m, step);
		}
	}
	for (uint32_t v = 0; v < n; v++)
		results[v] = values[(v + 1) * nsteps - 1];
}

void jit_math_lanes(JitFunction *f, Op op, int log, uint32_t n, Rvalue *const *args,
		    Rvalue **results)
{
	MathFunction fn = math_function(f->jit->arena, op, DTYPE_F32, form_of(f->jit, DTYPE_F32));
	take_steps(f, &fn, log, n, args, results);
}

bool jit_widens_by_steps(const Jit *jit, Dtype from)
{
	return (from == DTYPE_F8E4M3 || from == DTYPE_F8E5M2) && jit->extras & CPU_WIDENS;
}

Rvalue *jit_widen_by_steps(JitFunction *f, Dtype from, int log, Lvalue *lanes)
{
	Rvalue *known = simd_widen_f8(f, log, from, lanes);
	if (known)
		return known;
	MathFunction fn = math_widen(f->jit->arena, from);
	Rvalue *bits = simd_widen(f, (SimdType){DTYPE_I32, log}, DTYPE_U8, lanes), *result;
	take_steps(f, &fn, log, 1, &bits, &result);
	return result;
}
