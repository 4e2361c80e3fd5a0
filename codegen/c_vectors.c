/* The types of vectors in C, and which of them a file has. */
#include "codegen/c_vectors.h"

enum { SIZES_MOST = 4 }; /* of elements: 1, 2, 4 and 8 bytes */

Dtype c_vector_dtype(Dtype dtype)
{
	bool real = dtype_is_float(dtype) && dtype_wide(dtype) == dtype;
	switch (dtype_bytes(dtype)) {
	case 1: return DTYPE_I8;
	case 2: return DTYPE_F16; /* bits */
	case 4: return real ? DTYPE_F32 : DTYPE_I32;
	default: return real ? DTYPE_F64 : DTYPE_I64;
	}
}

const char *c_vector_type(Arena *arena, Dtype dtype, int lanes)
{
	Dtype of = c_vector_dtype(dtype);
	return arena_printf(arena, "tsr_%s%dx%d", of == DTYPE_F32 || of == DTYPE_F64 ? "f" : "i",
			    8 * (int)dtype_bytes(dtype), lanes);
}

void c_vector_use(const Module *m, Dtype dtype, int lanes)
{
	m->c_vectors->used[__builtin_ctzll(dtype_bytes(dtype))] |= (uint64_t)1 << lanes;
}

static void put_types(FILE *out, int bytes, int lanes)
{
	const char *aligned = bytes == 1   ? "aligned(1), "
			      : bytes == 2 ? "aligned(2), "
			      : bytes == 4 ? "aligned(4), "
					   : "aligned(8), ";
	if (bytes >= (int)dtype_bytes(DTYPE_F32))
		fprintf(out,
			"typedef %s tsr_f%dx%d __attribute__((vector_size(%d), %smay_alias));\n",
			bytes == (int)dtype_bytes(DTYPE_F64) ? "double" : "float", 8 * bytes, lanes,
			lanes * bytes, aligned);
	fprintf(out,
		"typedef int%d_t tsr_i%dx%d __attribute__((vector_size(%d), %smay_alias));\n"
		"typedef uint%d_t tsr_u%dx%d __attribute__((vector_size(%d)));\n",
		8 * bytes, 8 * bytes, lanes, lanes * bytes, aligned, 8 * bytes, 8 * bytes, lanes,
		lanes * bytes);
}

static void put_strided(FILE *out, const Module *m)
{
	for (int lanes = 2; lanes <= C_LANES_MOST; lanes *= 2) {
		if (!(m->c_vectors->strided >> lanes & 1))
			continue;
		fprintf(out,
			"/* Of elements so many apart, from p on. */\n"
			"#define TSR_STRIDED_%d(type, p, n) \\\n\t((type){(p)[0]",
			lanes);
		for (int i = 1; i < lanes; i++)
			fprintf(out, ", (p)[%d * (n)]", i);
		fprintf(out, "})\n\n");
	}
}

static const char half_text[] =
	"/* Compilers make vectors of the conversion's steps, but none of its instruction. */\n"
	"#ifdef __F16C__\n#include <immintrin.h>\n#define TSR_F32_FROM_ONE_F16(x) _cvtsh_ss(x)\n"
	"#else\n#define TSR_F32_FROM_ONE_F16(x) tsr_f32_from_f16(x)\n#endif\n\n";

/* Elements are aligned as such, and are read and written as what they are, too. */
void c_put_vectors(FILE *out, const Module *m)
{
	const struct CVectors *v = m->c_vectors;
	bool any = false;
	if (v->halves_alone)
		fputs(half_text, out);
	for (int log = 0; log < SIZES_MOST; log++)
		any |= v->used[log] != 0;
	if (!any)
		return;
	fprintf(out,
		"/* Vectors, of GCC and Clang: a number in a name is that of the elements. */\n");
	for (int log = 0; log < SIZES_MOST; log++)
		for (int lanes = 2; lanes <= C_LANES_MOST; lanes *= 2)
			if (v->used[log] >> lanes & 1)
				put_types(out, 1 << log, lanes);
	fprintf(out,
		"/* Of each lane a where the condition has all bits, b where it has none. */\n"
		"#define TSR_CHOOSE(type, integer, condition, a, b) \\\n"
		"\t((type)(((condition) & (integer)(a)) | (~(condition) & (integer)(b))))\n\n");
	put_strided(out, m);
}
