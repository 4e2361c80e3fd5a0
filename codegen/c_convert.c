/* Neighbours of a narrow type as lanes of a wide one, in C: one instruction of x86-64, which GCC makes of no
 * conversion of vectors to four times the width; elsewhere such conversions, to twice the width each.
 *
 *   TSR_CONVERT_BF16_16(&x[i]), __builtin_convertvector(TSR_CONVERT_I8_16(&w[i]), tsr_f32x16)
 */
#include "codegen/c_vectors.h"

typedef struct Conversion {
	Dtype from;
	int lanes;
	const char *with; /* the macro of a processor that has the instruction */
	const char *instruction;
	const char *load; /* of the bytes at p */
} Conversion;

#define P256 "_mm256_loadu_si256((const __m256i *)(p))"
#define P128 "_mm_loadu_si128((const __m128i *)(p))"
#define P64 "_mm_loadl_epi64((const __m128i *)(p))"
#define P32 "_mm_loadu_si32(p)"

static const Conversion conversions[] = {
	{DTYPE_I8, 16, "__AVX512F__", "_mm512_cvtepi8_epi32", P128},
	{DTYPE_I8, 8, "__AVX2__", "_mm256_cvtepi8_epi32", P64},
	{DTYPE_I8, 4, "__SSE4_1__", "_mm_cvtepi8_epi32", P32},
	{DTYPE_U8, 16, "__AVX512F__", "_mm512_cvtepu8_epi32", P128},
	{DTYPE_U8, 8, "__AVX2__", "_mm256_cvtepu8_epi32", P64},
	{DTYPE_U8, 4, "__SSE4_1__", "_mm_cvtepu8_epi32", P32},
	{DTYPE_BF16, 16, "__AVX512F__", "_mm512_cvtepu16_epi32", P256},
	{DTYPE_BF16, 8, "__AVX2__", "_mm256_cvtepu16_epi32", P128},
	{DTYPE_BF16, 4, "__SSE4_1__", "_mm_cvtepu16_epi32", P64},
	{DTYPE_F16, 16, "__AVX512F__", "_mm512_cvtph_ps", P256},
	{DTYPE_F16, 8, "__F16C__", "_mm256_cvtph_ps", P128},
	{DTYPE_F16, 4, "__F16C__", "_mm_cvtph_ps", P64},
};

static const char *name_of(Arena *arena, Dtype from, int lanes)
{
	static const char *const names[DTYPE_COUNT] = {
		[DTYPE_I8] = "I8", [DTYPE_U8] = "U8", [DTYPE_BF16] = "BF16", [DTYPE_F16] = "F16"};
	return arena_printf(arena, "TSR_CONVERT_%s_%d", names[from == DTYPE_BOOL ? DTYPE_U8 : from],
			    lanes);
}

bool c_vector_casts(Dtype from, Dtype to)
{
	bool byte = dtype_is_byte(from);
	return ((from == DTYPE_BF16 || from == DTYPE_F16) && to == DTYPE_F32) ||
	       (byte && to == DTYPE_I32) || ((byte || from == DTYPE_I32) && to == DTYPE_F32);
}

static const char *converted(Arena *arena, const char *text, const char *type)
{
	return arena_printf(arena, "__builtin_convertvector(%s, %s)", text, type);
}

const char *c_vector_cast(const Module *m, Dtype from, Dtype to, int lanes, const char *element)
{
	Arena *arena = m->arena;
	const char *result = c_vector_type(arena, to, lanes);
	c_vector_use(m, from, lanes);
	c_vector_use(m, DTYPE_F16, lanes); /* on the way */
	c_vector_use(m, to, lanes);
	if (from == DTYPE_I32)
		return converted(arena,
				 arena_printf(arena, "*(const %s *)&%s",
					      c_vector_type(arena, from, lanes), element),
				 result);
	m->c_vectors->converted[from == DTYPE_BOOL ? DTYPE_U8 : from] |= (uint64_t)1 << lanes;
	const char *text = arena_printf(arena, "%s(&%s)", name_of(arena, from, lanes), element);
	return dtype_is_byte(from) && to == DTYPE_F32 ? converted(arena, text, result) : text;
}

/* ---- macros ---- */

static const Conversion *conversion_of(Dtype from, int lanes)
{
	for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
		if (conversions[i].from == from && conversions[i].lanes == lanes)
			return &conversions[i];
	return NULL;
}

/* Of bf16 the bits, which are the upper half of an f32. */
static const char *result_of(Arena *arena, Dtype from, int lanes, const char *text)
{
	if (from == DTYPE_BF16)
		return arena_printf(arena, "((tsr_f32x%d)((tsr_u32x%d)%s << 16))", lanes, lanes,
				    text);
	return arena_printf(arena, "((tsr_%s32x%d)%s)", from == DTYPE_F16 ? "f" : "i", lanes, text);
}

static const char *generic_text(Arena *arena, Dtype from, int lanes)
{
	const char *sign = from == DTYPE_I8 ? "i" : "u";
	if (from == DTYPE_F16)
		return arena_printf(arena, "(*tsr_converted_%d(&(tsr_f32x%d[1]){{0}}[0], p))",
				    lanes, lanes);
	int bits = 8 * (int)dtype_bytes(from);
	const char *text = arena_printf(arena, "(tsr_%s%dx%d)*(const tsr_i%dx%d *)(p)", sign, bits,
					lanes, bits, lanes);
	for (; bits < 32; bits *= 2)
		text = converted(arena, text,
				 arena_printf(arena, "tsr_%s%dx%d", sign, 2 * bits, lanes));
	return result_of(arena, from, lanes, text);
}

static void put_conversion(FILE *out, Arena *arena, Dtype from, int lanes)
{
	const Conversion *w = conversion_of(from, lanes);
	const char *name = name_of(arena, from, lanes);
	if (w)
		fprintf(out, "#ifdef %s\n#define %s(p) %s\n#else\n", w->with, name,
			result_of(arena, from, lanes,
				  arena_printf(arena, "%s(%s)", w->instruction, w->load)));
	if (from == DTYPE_F16)
		fprintf(out,
			"static inline tsr_f32x%d *tsr_converted_%d(tsr_f32x%d *y, const tsr_f16 *p)\n{\n"
			"\tfor (int i = 0; i < %d; i++)\n\t\t(*y)[i] = tsr_f32_from_f16(p[i]);\n"
			"\treturn y;\n}\n",
			lanes, lanes, lanes, lanes);
	fprintf(out, "#define %s(p) %s\n%s", name, generic_text(arena, from, lanes),
		w ? "#endif\n" : "");
}

void c_put_conversions(FILE *out, const Module *m)
{
	bool any = false;
	for (Dtype from = 0; from < DTYPE_COUNT; from++)
		for (int lanes = 2; lanes <= C_LANES_MOST; lanes *= 2) {
			if (!(m->c_vectors->converted[from] >> lanes & 1))
				continue;
			if (!any)
				fprintf(out, "/* Neighbours from p on, converted. */\n"
					     "#ifdef __SSE4_1__\n#include <immintrin.h>\n#endif\n");
			any = true;
			put_conversion(out, m->arena, from, lanes);
		}
	fputs(any ? "\n" : "", out);
}
