/* What the transformations of loops ask of a target: which functions have which forms there. */
#include "codegen/codegen.h"
#include "codegen/cpu.h"
#include "codegen/math.h"

enum { SIDE_BY_SIDE = 4 };

/* Vectors here are of f32 and i32, which have equally many lanes: no step changes their width. */
static bool step_fits(const MathFunction *fn, const MathStep *step)
{
	bool choice = step->code == MATH_LESS || step->code == MATH_EQUAL;
	Dtype from = fn->steps.at[step->arg[0]].dtype;
	return (step->dtype == DTYPE_F32 || step->dtype == DTYPE_I32) &&
	       step->code != MATH_LOOKUP && (step->code != MATH_CONVERT || from == DTYPE_I32) &&
	       (!choice || (step->dtype == DTYPE_F32 && from == DTYPE_F32));
}

bool math_fits_lanes(Arena *arena, Op op, MathForm form)
{
	MathFunction fn = math_function(arena, op, DTYPE_F32, form);
	bool fits = true;
	for (size_t i = 0; i < fn.steps.n && fits; i++)
		fits = step_fits(&fn, &fn.steps.at[i]);
	return fits;
}

VectorTarget target_vectors(const Target *target, const CodeOptions *options)
{
	VectorTarget t = {.side_by_side = SIDE_BY_SIDE,
			  .lanes_trips = target->math_loop_trips,
			  .fast_path_strip = target->fast_path_strip,
			  .fast_path_trips = target->fast_path_trips};
	for (Op op = 0; op < OP_COUNT && !options->strict_fp; op++)
		for (Dtype d = 0; d < DTYPE_COUNT; d++)
			t.fast_path[op][d] = math_has_fast_path(op, d);
	int lanes = (int)(target->vector_bytes / (int64_t)dtype_bytes(DTYPE_F32));
	bool choose = cpu_simd(target) == CPU_AVX512 || target_triple(target);
	if (choose || (cpu_simd(target) == CPU_AVX && cpu_extras(target) & CPU_WIDENS))
		t.row_lanes = lanes;
	if (t.row_lanes == 0 || options->strict_fp)
		return t;
	t.lanes = choose ? lanes : 0;
	bool fuses = cpu_extras(target) & CPU_FMA;
	MathForm form = {.fast = options->fast_fp, .fused = fuses, .scales = fuses};
	Arena *arena = arena_new();
	for (Op op = 0; op < OP_COUNT; op++)
		t.in_lanes[op] = math_has(op, DTYPE_F32) && math_fits_lanes(arena, op, form);
	arena_free(arena);
	return t;
}
