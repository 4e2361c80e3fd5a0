/* The sums of fused.h in C. Compilers are asked to contract nothing, and a sum says that it is rounded once:
 *
 *   sum = TSR_FMA(a[i], b[i], sum);                                        sum + a*b
 *   *(tsr_f32x16 *)&acc[lane] = TSR_FMA_F32X16(a[i], x, *(tsr_f32x16 *)&acc[lane]);
 *
 * so that a text has the same bits from all compilers, at all levels: those of libgccjit's code. Compiled for
 * a processor without the instruction it rounds twice, as a target without it does.
 */
#include <string.h>

#include "codegen/c_vectors.h"

static const char off_text[] =
	"/* What is rounded once is said in the text. */\n"
	"#if defined __GNUC__ && !defined __clang__\n"
	"#pragma GCC optimize(\"fp-contract=off\")\n"
	"#else\n#pragma STDC FP_CONTRACT OFF\n#endif\n";

static const char fma_text[] =
	"/* a*b + c, rounded once where the processor has an instruction for it. */\n"
	"#if defined __FMA__ || defined __ARM_FEATURE_FMA\n"
	"#define TSR_FUSES\n#define TSR_FMA(a, b, c) fma(a, b, c)\n"
	"#else\n#define TSR_FMA(a, b, c) ((a) * (b) + (c))\n#endif\n"
	"/* A function of many such sums; GCC takes each for a call, and the function for too long. */\n"
	"#if defined TSR_FUSES && defined __GNUC__ && !defined __clang__\n"
	"#define TSR_INLINE inline __attribute__((always_inline))\n"
	"#else\n#define TSR_INLINE inline\n#endif\n";

static const char gpu_text[] =
	"#ifdef __CUDACC__\n"
	"/* a*b + c, rounded once. */\n"
	"TSR_DEVICE float TSR_FMA(float a, float b, float c)\n{\n\treturn __fmaf_rn(a, b, c);\n}\n"
	"TSR_DEVICE double TSR_FMA(double a, double b, double c)\n{\n\treturn __fma_rn(a, b, c);\n}\n"
	"#else\n#define TSR_FMA(a, b, c) fma(a, b, c)\n#endif\n\n";

void c_put_gpu_fused(FILE *out, const Module *m)
{
	fprintf(out, "#ifndef __CUDACC__\n%s#endif\n", off_text);
	fputs(module_fuses(m, DTYPE_F32) ? gpu_text : "\n", out);
}

void c_put_fused(FILE *out, const Module *m)
{
	fputs(off_text, out);
	if (module_fuses(m, DTYPE_F32))
		fputs(fma_text, out);
	fputs("\n", out);
}

static const char *negated(Arena *arena, bool minus, const char *text)
{
	return minus ? arena_printf(arena, "-%s", text) : text;
}

const char *c_fused(Arena *arena, FusedSigns signs, const char *const args[3])
{
	return arena_printf(arena, "TSR_FMA(%s, %s, %s)",
			    negated(arena, signs.minus_product, args[0]), args[1],
			    negated(arena, signs.minus_rest, args[2]));
}

/* Commas in braces would end an argument of a macro. */
static const char *macro_arg(Arena *arena, const char *text)
{
	return strchr(text, '{') ? arena_printf(arena, "(%s)", text) : text;
}

const char *c_vector_fused(const Module *m, Dtype dtype, int lanes, FusedSigns signs,
			   const char *const args[3])
{
	Arena *arena = m->arena;
	const char *form = signs.minus_product ? "FNMA" : signs.minus_rest ? "FMS" : "FMA";
	m->c_vectors->fused[dtype == DTYPE_F64] |= (uint64_t)1 << lanes;
	return arena_printf(arena, "TSR_%s_F%dX%d(%s, %s, %s)", form, 8 * (int)dtype_bytes(dtype),
			    lanes, macro_arg(arena, args[0]), macro_arg(arena, args[1]),
			    macro_arg(arena, args[2]));
}

/* ---- the macros ---- */

typedef struct Macro {
	FILE *out;
	const char *name, *type; /* "F32X16", "tsr_f32x16" */
	int lanes;
} Macro;

static const char *const forms[] = {"FMA", "FMS", "FNMA"};

/* Which argument is negated; none: the form's own name says it. */
static void put_rounded_twice(const Macro *m)
{
	static const char *const sums[] = {"(a) * (b) + (c)", "(a) * (b) - (c)", "(c) - (a) * (b)"};
	fprintf(m->out, "#ifndef TSR_FUSES\n");
	for (int i = 0; i < 3; i++)
		fprintf(m->out, "#define TSR_%s_%s(a, b, c) (%s)\n", forms[i], m->name, sums[i]);
}

/* By functions of vectors of that type, whose arguments follow each other as said. */
static void put_functions(const Macro *m, const char *with, const char *type,
			  const char *const calls[3])
{
	fprintf(m->out, "#elif defined %s\n", with);
	fprintf(m->out, "#define TSR_ALL_%s(a) ((%s)((a) - (%s){0}))\n", m->name, type, m->type);
	for (int i = 0; i < 3; i++) {
		fprintf(m->out, "#define TSR_%s_%s(a, b, c) \\\n\t((%s)", forms[i], m->name,
			m->type);
		for (const char *p = calls[i]; *p; p++)
			if (*p >= 'A' && *p <= 'C')
				fprintf(m->out, "TSR_ALL_%s(%c)", m->name, *p - 'A' + 'a');
			else
				putc(*p, m->out);
		fprintf(m->out, ")\n");
	}
}

static void put_x86(const Macro *m, Arena *arena, Dtype dtype)
{
	int bits = m->lanes * 8 * (int)dtype_bytes(dtype);
	const char *double_ = dtype == DTYPE_F64 ? "d" : "", *s = dtype == DTYPE_F64 ? "pd" : "ps";
	const char *prefix = bits == 128 ? "_mm" : arena_printf(arena, "_mm%d", bits);
	const char *calls[] = {arena_printf(arena, "%s_fmadd_%s(A, B, C)", prefix, s),
			       arena_printf(arena, "%s_fmsub_%s(A, B, C)", prefix, s),
			       arena_printf(arena, "%s_fnmadd_%s(A, B, C)", prefix, s)};
	put_functions(m, bits == 512 ? "__AVX512F__" : "__FMA__",
		      arena_printf(arena, "__m%d%s", bits, double_), calls);
}

static void put_neon(const Macro *m, Arena *arena, Dtype dtype)
{
	int bits = 8 * (int)dtype_bytes(dtype);
	const char *calls[] = {arena_printf(arena, "vfmaq_f%d(C, A, B)", bits),
			       arena_printf(arena, "vfmaq_f%d(-C, A, B)", bits),
			       arena_printf(arena, "vfmsq_f%d(C, A, B)", bits)};
	if (m->lanes * bits == 128)
		put_functions(m, "__aarch64__", arena_printf(arena, "float%dx%d_t", bits, m->lanes),
			      calls);
}

/* Compiled for another processor than the text is for. */
static void put_one_by_one(const Macro *m, Arena *arena)
{
	const char *pointer = arena_printf(arena, "&(%s[1])", m->type);
	fprintf(m->out,
		"#else\nstatic inline %s *tsr_fma_%s(%s *a, const %s *b, const %s *c)\n{\n"
		"\tfor (int i = 0; i < %d; i++)\n\t\t(*a)[i] = TSR_FMA((*a)[i], (*b)[i], (*c)[i]);\n"
		"\treturn a;\n}\n",
		m->type, m->type + strlen("tsr_"), m->type, m->type, m->type, m->lanes);
	fprintf(m->out, "#define TSR_ALL_%s(a) %s{(a) - (%s){0}}[0]\n", m->name, pointer, m->type);
	for (int i = 0; i < 3; i++)
		fprintf(m->out,
			"#define TSR_%s_%s(a, b, c) \\\n\t(*tsr_fma_%s(TSR_ALL_%s(%s(a)), "
			"TSR_ALL_%s(b), TSR_ALL_%s(%s(c))))\n",
			forms[i], m->name, m->type + strlen("tsr_"), m->name, i == 2 ? "-" : "",
			m->name, m->name, i == 1 ? "-" : "");
	fprintf(m->out, "#endif\n\n");
}

/* Functions of lanes are written later. */
static uint64_t lanes_fused(const Module *m, Dtype dtype)
{
	uint64_t all = m->c_vectors->fused[dtype == DTYPE_F64];
	for (Op op = 0; op < OP_COUNT && dtype == DTYPE_F32 && module_fuses(m, dtype); op++)
		all |= m->c_vectors->math[op][0] | m->c_vectors->math[op][1];
	return all;
}

void c_put_vectors_fused(FILE *out, const Module *m)
{
	static const Dtype dtypes[] = {DTYPE_F32, DTYPE_F64};
	Arena *arena = m->arena;
	if (lanes_fused(m, DTYPE_F32) || lanes_fused(m, DTYPE_F64))
		fprintf(out, "/* a*b + c, a*b - c and c - a*b. */\n#ifdef TSR_FUSES\n#ifdef __aarch64__\n"
			     "#include <arm_neon.h>\n#else\n#include <immintrin.h>\n#endif\n#endif\n\n");
	for (int i = 0; i < 2; i++)
		for (int lanes = 2; lanes <= C_LANES_MOST; lanes *= 2) {
			int bits = 8 * (int)dtype_bytes(dtypes[i]);
			Macro macro = {out, arena_printf(arena, "F%dX%d", bits, lanes),
				       c_vector_type(arena, dtypes[i], lanes), lanes};
			if (!(lanes_fused(m, dtypes[i]) >> lanes & 1))
				continue;
			put_rounded_twice(&macro);
			put_x86(&macro, arena, dtypes[i]);
			put_neon(&macro, arena, dtypes[i]);
			put_one_by_one(&macro, arena);
		}
}
