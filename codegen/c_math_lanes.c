/* The steps of math.h as a C function of vectors, in place: a constant for each step, the bits of a
 * lane those of c_math.c's function. SCALE is one instruction of AVX-512, elsewhere two products, which the form
 * for sums that are rounded once says itself.
 *
 *   static inline void tsr_exp_f32x16(tsr_f32x16 *y)
 *   static inline void tsr_exp_2_f32x16(tsr_f32x16 *y)      of y[0] and y[1]
 *
 * By address: how vectors are passed depends on the processor that the text is compiled for. Of two
 * vectors each step is computed for both before the next one: a chain of steps takes four cycles each,
 * and a processor does not look far enough ahead to find the next vector's.
 */
#include <math.h>
#include <string.h>

#include "base/held.h"
#include "codegen/c_vectors.h"

enum { WIDEST = 16 }; /* lanes of f32 in AVX-512 */

typedef struct LanesFunction {
	const Module *m;
	Arena *arena;
	const MathFunction *fn;
	int lanes;
	uint32_t vectors, at;		      /* how many, and the one at hand */
	const char *type, *integer, *natural; /* of f32, i32, u32 */
} LanesFunction;

static const char *type_of(const LanesFunction *l, Dtype dtype)
{
	return dtype == DTYPE_F32 ? l->type : l->integer;
}

static const char *constant(const LanesFunction *l, const MathStep *step)
{
	bool real = step->dtype == DTYPE_F32;
	Scalar value = real ? (Scalar){.f = (double)(float)step->number}
			    : (Scalar){.i = step->integer};
	return arena_printf(l->arena, real ? "%s - (%s){0}" : "%s + (%s){0}",
			    c_constant(l->arena, step->dtype, value), type_of(l, step->dtype));
}

/* The constant that holds the step; all vectors share those of constants. */
static const char *name_of(const LanesFunction *l, uint32_t step)
{
	bool shared = l->vectors == 1 || l->fn->steps.at[step].code == MATH_CONST;
	return shared ? arena_printf(l->arena, "t%u", step)
		      : arena_printf(l->arena, "t%u_%u", step, l->at);
}

/* NULL: it is no sum that is rounded once. */
static const char *fused_text(const LanesFunction *l, const MathStep *step)
{
	FusedStep fused;
	if (!find_fused_step(l->m, l->fn, step, &fused))
		return NULL;
	const char *args[] = {name_of(l, fused.a), name_of(l, fused.b), name_of(l, fused.rest)};
	return c_vector_fused(l->m, DTYPE_F32, l->lanes, fused.signs, args);
}

/* Integers are computed in their unsigned types, where they wrap. */
static const char *infix(const LanesFunction *l, const MathStep *step, const char *symbol)
{
	const uint32_t *arg = step->arg;
	bool shift = step->code == MATH_SHL || step->code == MATH_USHR;
	if (step->dtype == DTYPE_F32)
		return arena_printf(l->arena, "%s %s %s", name_of(l, arg[0]), symbol,
				    name_of(l, arg[1]));
	if (shift)
		return arena_printf(l->arena, "(%s)((%s)%s %s %u)", l->integer, l->natural,
				    name_of(l, arg[0]), symbol, arg[1]);
	return arena_printf(l->arena, "(%s)((%s)%s %s (%s)%s)", l->integer, l->natural,
			    name_of(l, arg[0]), symbol, l->natural, name_of(l, arg[1]));
}

/* Both choices are of the step's type; the condition's lanes have its width. */
static const char *chosen(const LanesFunction *l, const MathStep *step)
{
	const uint32_t *arg = step->arg;
	const char *a = name_of(l, arg[0]), *b = name_of(l, arg[1]);
	bool real = step->dtype == DTYPE_F32, less = step->code == MATH_LESS;
	if (less && real && arg[0] == arg[2] && arg[1] == arg[3])
		return arena_printf(l->arena, "TSR_LESSER_%d(%s, %s)", l->lanes, a, b);
	if (less && real && arg[0] == arg[3] && arg[1] == arg[2])
		return arena_printf(l->arena, "TSR_GREATER_%d(%s, %s)", l->lanes, b, a);
	if (real && l->fn->steps.at[arg[0]].dtype == DTYPE_F32)
		return arena_printf(l->arena, "TSR_%s_%d(%s, %s, %s, %s)", less ? "LESS" : "EQUAL",
				    l->lanes, a, b, name_of(l, arg[2]), name_of(l, arg[3]));
	return arena_printf(l->arena, "TSR_CHOOSE(%s, %s, %s %s %s, %s, %s)",
			    type_of(l, step->dtype), l->integer, a, less ? "<" : "==", b,
			    name_of(l, arg[2]), name_of(l, arg[3]));
}

static const char *step_text(const LanesFunction *l, const MathStep *step)
{
	static const char *const symbols[] = {
		[MATH_ADD] = "+", [MATH_SUB] = "-", [MATH_MUL] = "*",  [MATH_DIV] = "/",
		[MATH_AND] = "&", [MATH_OR] = "|",  [MATH_SHL] = "<<", [MATH_USHR] = ">>",
	};
	const uint32_t *arg = step->arg;
	const char *type = type_of(l, step->dtype), *fused = fused_text(l, step);
	if (fused)
		return fused;
	switch (step->code) {
	case MATH_ARG: return l->vectors == 1 ? "*y" : arena_printf(l->arena, "y[%u]", l->at);
	case MATH_CONST: return constant(l, step);
	case MATH_SQRT:
		return arena_printf(l->arena, "TSR_ROOT_%d(%s)", l->lanes, name_of(l, arg[0]));
	case MATH_SHR: return arena_printf(l->arena, "%s >> %u", name_of(l, arg[0]), arg[1]);
	case MATH_BITS: return arena_printf(l->arena, "(%s)%s", type, name_of(l, arg[0]));
	case MATH_CONVERT:
		return arena_printf(l->arena, "__builtin_convertvector(%s, %s)", name_of(l, arg[0]),
				    type);
	case MATH_LESS:
	case MATH_EQUAL: return chosen(l, step);
	case MATH_SCALE:
		if (isinf(step->number))
			return arena_printf(l->arena, "TSR_SCALE_%d(%s, %s)", l->lanes,
					    name_of(l, arg[0]), name_of(l, arg[1]));
		return arena_printf(l->arena, "TSR_SCALE_FROM_%d(%s, %s, %s)", l->lanes,
				    name_of(l, arg[0]), name_of(l, arg[1]),
				    c_constant(l->arena, DTYPE_F32, (Scalar){.f = step->number}));
	default: return infix(l, step, symbols[step->code]);
	}
}

/* C has no square root of vectors. */
static void put_roots(FILE *out, int lanes)
{
	static const struct {
		int lanes;
		const char *with, *name, *type;
	} widths[] = {{16, "__AVX512F__", "_mm512", "__m512"},
		      {8, "__AVX__", "_mm256", "__m256"},
		      {4, "__SSE__", "_mm", "__m128"}};
	const char *end = "";
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		if (widths[i].lanes == lanes) {
			fprintf(out,
				"#ifdef %s\n#define TSR_ROOT_%d(a) ((tsr_f32x%d)%s_sqrt_ps((%s)(a)))\n#else\n",
				widths[i].with, lanes, lanes, widths[i].name, widths[i].type);
			end = "#endif\n";
		}
	fprintf(out,
		"static inline tsr_f32x%d *tsr_roots_%d(tsr_f32x%d *y)\n{\n"
		"\tfor (int i = 0; i < %d; i++)\n\t\t(*y)[i] = sqrt((*y)[i]);\n\treturn y;\n}\n"
		"#define TSR_ROOT_%d(a) (*tsr_roots_%d(&(tsr_f32x%d[1]){(a)}[0]))\n%s",
		lanes, lanes, lanes, lanes, lanes, lanes, lanes, end);
}

/* What vectors of C cannot say in as few instructions: AVX-512 says it. */
static void put_helpers(FILE *out, int lanes)
{
	fprintf(out,
		"/* a < b ? a : b, a > b ? a : b; the extremes, NaN where a is; yes where a < b, or a == b, else no;\n"
		" * a 2^n, rounded once, for whole numbers n; or 0 where n < least. */\n");
	if (lanes == WIDEST)
		fprintf(out,
			"#ifdef __AVX512F__\n"
			"#define TSR_LESSER_16(a, b) ((tsr_f32x16)_mm512_min_ps((__m512)(a), (__m512)(b)))\n"
			"#define TSR_GREATER_16(a, b) ((tsr_f32x16)_mm512_max_ps((__m512)(a), (__m512)(b)))\n"
			"#define TSR_MOST_16(a, b) TSR_UNLESS_NAN_16(a, _mm512_max_ps((__m512)(a), (__m512)(b)))\n"
			"#define TSR_LEAST_16(a, b) TSR_UNLESS_NAN_16(a, _mm512_min_ps((__m512)(a), (__m512)(b)))\n"
			"#define TSR_UNLESS_NAN_16(a, other) \\\n"
			"\t((tsr_f32x16)_mm512_mask_mov_ps( \\\n"
			"\t\tother, _mm512_cmp_ps_mask((__m512)(a), (__m512)(a), _CMP_UNORD_Q), (__m512)(a)))\n"
			"#define TSR_LESS_16(a, b, yes, no) TSR_BLEND_16(a, b, _CMP_LT_OQ, yes, no)\n"
			"#define TSR_EQUAL_16(a, b, yes, no) TSR_BLEND_16(a, b, _CMP_EQ_OQ, yes, no)\n"
			"#define TSR_BLEND_16(a, b, how, yes, no) \\\n"
			"\t((tsr_f32x16)_mm512_mask_blend_ps( \\\n"
			"\t\t_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), how), (__m512)(no), (__m512)(yes)))\n"
			"#define TSR_SCALE_16(a, n) ((tsr_f32x16)_mm512_scalef_ps((__m512)(a), (__m512)(n)))\n"
			"#define TSR_SCALE_FROM_16(a, n, least) \\\n"
			"\t((tsr_f32x16)_mm512_maskz_scalef_ps( \\\n"
			"\t\t_mm512_cmp_ps_mask((__m512)(n), _mm512_set1_ps(least), _CMP_NLT_UQ), \\\n"
			"\t\t(__m512)(a), (__m512)(n)))\n#else\n");
	fprintf(out,
		"#define TSR_LESSER_%d(a, b) TSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, (a) < (b), a, b)\n"
		"#define TSR_GREATER_%d(a, b) TSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, (a) > (b), a, b)\n"
		"#define TSR_LESS_%d(a, b, yes, no) TSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, (a) < (b), yes, no)\n"
		"#define TSR_EQUAL_%d(a, b, yes, no) TSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, (a) == (b), yes, no)\n",
		lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes);
	fprintf(out,
		"#define TSR_MOST_%d(a, b) \\\n"
		"\tTSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, ((a) > (b)) | ((a) != (a)), a, b)\n"
		"#define TSR_LEAST_%d(a, b) \\\n"
		"\tTSR_CHOOSE(tsr_f32x%d, tsr_i32x%d, ((a) < (b)) | ((a) != (a)), a, b)\n",
		lanes, lanes, lanes, lanes, lanes, lanes);
	fprintf(out,
		"#define TSR_POWER_%d(n) ((tsr_f32x%d)(((n) + 127) << 23))\n"
		"#define TSR_WITHIN_%d(n) TSR_GREATER_%d(TSR_LESSER_%d(n, 300.0f - (tsr_f32x%d){0}), -200.0f - (tsr_f32x%d){0})\n"
		"#define TSR_WHOLE_%d(n) __builtin_convertvector(TSR_WITHIN_%d(n), tsr_i32x%d)\n"
		"#define TSR_SCALE_%d(a, n) \\\n"
		"\t((a) * TSR_POWER_%d(TSR_WHOLE_%d(n) >> 1) * \\\n"
		"\t\tTSR_POWER_%d(TSR_WHOLE_%d(n) - (TSR_WHOLE_%d(n) >> 1)))\n"
		"#define TSR_SCALE_FROM_%d(a, n, least) \\\n"
		"\t((tsr_f32x%d)(~((n) < (least)) & (tsr_i32x%d)TSR_SCALE_%d(a, n)))\n",
		lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes,
		lanes, lanes, lanes, lanes, lanes, lanes, lanes, lanes);
	fprintf(out, "%s", lanes == WIDEST ? "#endif\n" : "");
	put_roots(out, lanes);
	fprintf(out, "\n");
}

/* Of all vectors before the next step. */
static void put_step(FILE *out, LanesFunction *l, uint32_t i, bool last)
{
	const MathStep *step = &l->fn->steps.at[i];
	uint32_t n = step->code == MATH_CONST ? 1 : l->vectors;
	for (l->at = 0; l->at < n; l->at++)
		if (!last)
			fprintf(out, "\tconst %s %s = %s;\n", type_of(l, step->dtype),
				name_of(l, i), step_text(l, step));
		else if (n == 1)
			fprintf(out, "\t*y = %s;\n", step_text(l, step));
		else
			fprintf(out, "\ty[%u] = %s;\n", l->at, step_text(l, step));
}

static const char *body_of(LanesFunction *l, Op op, MathForm form)
{
	size_t len;
	Text text = text_new();
	MathFunction fn = math_function(l->arena, op, DTYPE_F32, form);
	l->fn = &fn;
	const bool *read = fused_steps_read(l->m, &fn);
	for (uint32_t i = 0; i < fn.steps.n; i++)
		if (read[i])
			put_step(text.out, l, i, i + 1 == fn.steps.n);
	return text_take(text, l->arena, &len);
}

static void put_function(FILE *out, const Module *m, Op op, int lanes, uint32_t vectors)
{
	Arena *arena = m->arena;
	LanesFunction l = {.m = m, .arena = arena, .lanes = lanes, .vectors = vectors};
	l.type = arena_printf(arena, "tsr_f32x%d", lanes);
	l.integer = arena_printf(arena, "tsr_i32x%d", lanes);
	l.natural = arena_printf(arena, "tsr_u32x%d", lanes);
	MathForm form = {.fast = m->emit->options->fast_fp, .scales = true};
	const char *twice = body_of(&l, op, form);
	form.fused = module_fuses(m, DTYPE_F32);
	form.scales = !form.fused || lanes == WIDEST;
	const char *once = body_of(&l, op, form);
	fprintf(out, "static inline void %s(tsr_f32x%d *y)\n{\n",
		c_lanes_function(arena, op, lanes, vectors), lanes);
	if (strcmp(once, twice) == 0)
		fprintf(out, "%s}\n\n", once);
	else
		fprintf(out, "#ifdef TSR_FUSES\n%s#else\n%s#endif\n}\n\n", once, twice);
}

const char *c_lanes_function(Arena *arena, Op op, int lanes, uint32_t vectors)
{
	const char *number = vectors == 1 ? "" : arena_printf(arena, "%u_", vectors);
	return arena_printf(arena, "tsr_%s_%sf32x%d", op_name(op), number, lanes);
}

bool c_has_lanes(const Module *m, Op op)
{
	return !m->emit->options->strict_fp && math_has(op, DTYPE_F32) &&
	       math_fits_lanes(m->arena, op,
			       (MathForm){.fast = m->emit->options->fast_fp, .scales = true});
}

/* The first n lanes; the others are 0, or stay. */
static const char some_text[] =
	"/* The first n elements: the others are 0, or stay what they were. */\n"
	"static inline void tsr_load_%d(tsr_f32x%d *to, const float *from, int64_t n)\n{\n%s"
	"\tfor (int64_t i = 0; i < %d; i++)\n\t\t(*to)[i] = i < n ? from[i] : 0;\n%s}\n\n"
	"static inline void tsr_store_%d(float *to, const tsr_f32x%d *from, int64_t n)\n{\n%s"
	"\tfor (int64_t i = 0; i < %d && i < n; i++)\n\t\tto[i] = (*from)[i];\n%s}\n\n";

static void put_some(FILE *out, int lanes)
{
	bool masks = lanes == WIDEST;
	const char *load =
		"#ifdef __AVX512F__\n"
		"\t*to = (tsr_f32x16)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);\n#else\n";
	const char *store = "#ifdef __AVX512F__\n"
			    "\t_mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)*from);\n#else\n";
	const char *end = masks ? "#endif\n" : "";
	fprintf(out, some_text, lanes, lanes, masks ? load : "", lanes, end, lanes, lanes,
		masks ? store : "", lanes, end);
}

/* Vectors that functions are computed of, by number of lanes. */
static uint64_t lanes_of(const Module *m, Op op)
{
	return m->c_vectors->math[op][0] | m->c_vectors->math[op][1];
}

static void put_functions(FILE *out, const Module *m, int lanes)
{
	for (Op op = 0; op < OP_COUNT; op++)
		for (uint32_t i = 0; i < C_TOGETHER; i++)
			if (m->c_vectors->math[op][i] >> lanes & 1)
				put_function(out, m, op, lanes, i + 1);
}

/* <immintrin.h> takes cc half a second to read: code for a processor without AVX needs but roots. */
void c_put_lanes_math(FILE *out, const Module *m)
{
	uint64_t helped = m->c_vectors->helped, masked = m->c_vectors->masked;
	for (Op op = 0; op < OP_COUNT; op++)
		helped |= lanes_of(m, op);
	if (helped || masked >> WIDEST & 1)
		fprintf(out, "#ifdef __AVX__\n#include <immintrin.h>\n"
			     "#elif defined __SSE__\n#include <xmmintrin.h>\n#endif\n\n");
	for (int lanes = 2; lanes < 64; lanes *= 2) {
		if (masked >> lanes & 1)
			put_some(out, lanes);
		if (helped >> lanes & 1)
			put_helpers(out, lanes);
		put_functions(out, m, lanes);
	}
}
