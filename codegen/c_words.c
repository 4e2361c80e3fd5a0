/* u4x32 in C: a struct of four words, and the functions on it that are in use. The definitions are
 * base/ops.h's and base/threefry.h's. */
#include "codegen/c_text.h"

static const char threefry_text[] =
	"/* Threefry-4x32-20 of the counter x, in its place. */\n"
	"static inline void tsr_threefry(const uint32_t key[4], uint32_t x[4])\n{\n"
	"\tstatic const unsigned char turns[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},\n"
	"\t\t\t\t\t\t  {6, 20}, {17, 11}, {25, 10}, {18, 20}};\n"
	"\tconst uint32_t keys[5] = {key[0], key[1], key[2], key[3],\n"
	"\t\t\t\t  0x1BD11BDAu ^ key[0] ^ key[1] ^ key[2] ^ key[3]};\n"
	"\tfor (int i = 0; i < 4; i++)\n\t\tx[i] += key[i];\n"
	"\tfor (uint32_t round = 0; round < 20; round++) {\n"
	"\t\tuint32_t *b = &x[round % 2 ? 3 : 1], *d = &x[round % 2 ? 1 : 3];\n"
	"\t\tint s = turns[round % 8][0], t = turns[round % 8][1];\n"
	"\t\tx[0] += *b;\n\t\t*b = (*b << s | *b >> (32 - s)) ^ x[0];\n"
	"\t\tx[2] += *d;\n\t\t*d = (*d << t | *d >> (32 - t)) ^ x[2];\n"
	"\t\tif (round % 4 != 3)\n\t\t\tcontinue;\n"
	"\t\tfor (uint32_t i = 0; i < 4; i++)\n\t\t\tx[i] += keys[(round / 4 + 1 + i) % 5];\n"
	"\t\tx[3] += round / 4 + 1;\n\t}\n}\n\n";

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
	{OP_THREEFRY,
	 "static inline tsr_u4x32 tsr_threefry4x32_u4x32(tsr_u4x32 x, tsr_u4x32 y)\n{\n"
	 "\ttsr_threefry(x.w, y.w);\n\treturn y;\n}\n\n"},
	{OP_ZIP, "static inline tsr_u4x32 tsr_zip_words_u4x32(tsr_u4x32 x, tsr_u4x32 y)\n{\n"
		 "\tconst tsr_u4x32 words = {{x.w[0], y.w[0], x.w[1], y.w[1]}};\n"
		 "\treturn words;\n}\n\n"},
	{OP_TURN, "static inline tsr_u4x32 tsr_turn_words_u4x32(tsr_u4x32 x)\n{\n"
		  "\tconst tsr_u4x32 words = {{x.w[1], x.w[2], x.w[3], x.w[0]}};\n"
		  "\treturn words;\n}\n\n"},
};

static bool has_buffer(const Module *m)
{
	for (size_t i = 0; i < m->program->buffers.n; i++)
		if (m->program->buffers.at[i].dtype == DTYPE_U4X32)
			return true;
	return false;
}

void c_put_words(FILE *out, const Module *m, const KernelUse *all)
{
	bool typed = has_buffer(m) || all->casts[DTYPE_U4X32][DTYPE_F32];
	bool hashed = all->ops[OP_THREEFRY][DTYPE_U4X32];
	for (Dtype d = 0; d < DTYPE_COUNT; d++) {
		typed |= all->casts[d][DTYPE_U4X32];
		hashed |= module_has_uniform(m, d);
	}
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		typed |= all->ops[ops[i].op][DTYPE_U4X32];
	if (hashed)
		fputs(threefry_text, out);
	if (!typed)
		return;
	fputs(type_text, out);
	fputs(of_text, out);
	if (all->casts[DTYPE_U4X32][DTYPE_F32])
		fputs(uniform_text, out);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (all->ops[ops[i].op][DTYPE_U4X32])
			fputs(ops[i].text, out);
}
