/* u4x32 in C: a struct of four words, and the functions on it that are in use. The definitions are
 * base/ops.h's and base/threefry.h's. Threefry is straight code over four words, without loops or branches,
 * of which compilers make vectors in a loop over counters. */
#include "codegen/c_text.h"

#include "base/threefry.h"

static const char type_text[] = "typedef struct tsr_u4x32 {\n\tuint32_t w[4];\n} tsr_u4x32;\n\n";

static const char of_text[] = "static inline tsr_u4x32 tsr_u4x32_from_i64(int64_t x)\n{\n"
			      "\tconst tsr_u4x32 words = {{(uint32_t)x, (uint32_t)((uint64_t)x >> "
			      "32), 0, 0}};\n\treturn words;\n}\n\n";

static const char uniform_text[] = "static inline float tsr_f32_from_u4x32(tsr_u4x32 x)\n{\n"
				   "\treturn (float)(int32_t)(x.w[0] >> 8) * 0x1p-24f;\n}\n\n";

static const struct {
	Op op;
	const char *text;
} ops[] = {
	{OP_ZIP, "static inline tsr_u4x32 tsr_zip_words_u4x32(tsr_u4x32 x, tsr_u4x32 y)\n{\n"
		 "\tconst tsr_u4x32 words = {{x.w[0], y.w[0], x.w[1], y.w[1]}};\n"
		 "\treturn words;\n}\n\n"},
	{OP_ROTATE, "static inline tsr_u4x32 tsr_rotate_words_u4x32(tsr_u4x32 x)\n{\n"
		    "\tconst tsr_u4x32 words = {{x.w[1], x.w[2], x.w[3], x.w[0]}};\n"
		    "\treturn words;\n}\n\n"},
};

static void put_round(FILE *out, int round)
{
	const int *bits = threefry_rotations[round % THREEFRY_TURNS];
	bool odd = round % 2;
	fprintf(out, "\tTSR_MIX(a, %s, %d), TSR_MIX(c, %s, %d);\n", odd ? "d" : "b", bits[0],
		odd ? "b" : "d", bits[1]);
	if (round % 4 != 3)
		return;
	int turn = round / 4 + 1;
	fprintf(out, "\ta += k%d, b += k%d, c += k%d, d += k%d + %du;\n", turn % 5, (turn + 1) % 5,
		(turn + 2) % 5, (turn + 3) % 5, turn);
}

static void put_threefry(FILE *out)
{
	fprintf(out,
		"/* Two words meet, the second rotated by n bits. */\n"
		"#define TSR_MIX(a, b, n) (a += b, b = (b << n | b >> (32 - n)) ^ a)\n\n"
		"/* Threefry-4x32-20 of the counter x. */\n"
		"static inline tsr_u4x32 tsr_threefry4x32_u4x32(tsr_u4x32 key, tsr_u4x32 x)\n{\n"
		"\tconst uint32_t k0 = key.w[0], k1 = key.w[1], k2 = key.w[2], k3 = key.w[3];\n"
		"\tconst uint32_t k4 = 0x1BD11BDAu ^ k0 ^ k1 ^ k2 ^ k3;\n"
		"\tuint32_t a = x.w[0] + k0, b = x.w[1] + k1, c = x.w[2] + k2, d = x.w[3] + k3;\n");
	for (int round = 0; round < THREEFRY_ROUNDS; round++)
		put_round(out, round);
	fprintf(out, "\tconst tsr_u4x32 words = {{a, b, c, d}};\n\treturn words;\n}\n\n");
}

static bool has_buffer(const Module *m)
{
	for (size_t i = 0; i < m->program->buffers.n; i++)
		if (m->program->buffers.at[i].dtype == DTYPE_U4X32)
			return true;
	return false;
}

void c_put_words(FILE *out, const Module *m, const KernelUse *all)
{
	bool hashed = all->ops[OP_THREEFRY][DTYPE_U4X32];
	bool typed = has_buffer(m) || all->casts[DTYPE_U4X32][DTYPE_F32];
	for (Dtype d = 0; d < DTYPE_COUNT; d++) {
		typed |= all->casts[d][DTYPE_U4X32];
		hashed |= module_has_uniform(m, d);
	}
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		typed |= all->ops[ops[i].op][DTYPE_U4X32];
	if (!typed && !hashed)
		return;
	fputs(type_text, out);
	fputs(of_text, out);
	if (hashed)
		put_threefry(out);
	if (all->casts[DTYPE_U4X32][DTYPE_F32])
		fputs(uniform_text, out);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (all->ops[ops[i].op][DTYPE_U4X32])
			fputs(ops[i].text, out);
}
