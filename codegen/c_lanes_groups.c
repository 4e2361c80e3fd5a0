/* Sums of products of neighbours in C (loops/matrix.h): functions that are an instruction or two with
 * AVX-512 and VNNI or BF16, or of four lanes with NEON and its dot products, and a loop elsewhere.
 *
 *   vector lane in 0..64: acc[r, lane] += i32(a[i]) * i32(b[lane*4]) + ... + i32(a[i + 3]) * i32(b[lane*4 + 3])
 *
 *   for (int64_t lane = 0; lane < 64; lane += 16)
 *           tsr_add_u8_i8(&acc[r][lane], &a[i], &b[lane * 4]);
 */
#include "codegen/c_lanes.h"
#include "loops/matrix.h"
#include "loops/walk.h"

enum { WORDS_AVX512 = 16, WORDS_NEON = 4 }; /* of a vector */

/* Lanes of the functions of a module. */
static int words_of(const Module *m)
{
	return features_are_arm(m->program->options.target->features) ? WORDS_NEON : WORDS_AVX512;
}

/* One factor is the same word in all lanes; that comes first. */
static bool find_group(const KernelText *k, const Stmt *loop, LaneProducts *g)
{
	Program *program = (Program *)k->m->program;
	const Stmt *stmt = block_only(loop->body);
	if (!stmt || loop->lanes || stmt->kind != LOOP_SET || stmt->acc != OP_ADD || !stmt->nixs ||
	    vector_lanes(program, loop) % words_of(k->m) != 0 ||
	    !lane_products(program, stmt, loop->iter, g) || g->n != g->all ||
	    (words_of(k->m) == WORDS_NEON && g->factors[0]->dtype == DTYPE_BF16))
		return false;
	if (g->shared[1]) {
		const Value *shared = g->factors[1];
		g->factors[1] = g->factors[0];
		g->factors[0] = shared;
	}
	return g->shared[0] || g->shared[1];
}

/* Products of bytes with words of elements of four bits. */
static bool find_words(const KernelText *k, const Stmt *loop, WordProducts *w)
{
	Program *program = (Program *)k->m->program;
	const Stmt *stmt = block_only(loop->body);
	const LanesText l = {.k = (KernelText *)k, .loop = loop};
	int64_t place;
	return stmt && !loop->lanes && stmt->kind == LOOP_SET && stmt->acc == OP_ADD &&
	       stmt->nixs && vector_lanes(program, loop) % words_of(k->m) == 0 &&
	       word_products(program, stmt, loop->iter, w) &&
	       c_lanes_find_words(&l, w->elements, &place) && place == 0;
}

bool c_lanes_groups_fit(const KernelText *k, const Stmt *loop)
{
	LaneProducts g;
	WordProducts w;
	return find_group(k, loop, &g) || find_words(k, loop, &w);
}

/* A call for each vector: the function of such operands, the first elements of what all lanes share and of a lane's
 * own. */
static void put_calls(KernelText *k, const Stmt *loop, const Value *shared, Dtype own,
		      const char *element)
{
	const Stmt *stmt = loop->body.stmts[0];
	const char *lane = k->iters[loop->iter];
	int64_t lanes = vector_lanes(k->m->program, loop);
	int words = words_of(k->m);
	k->m->c_vectors->groups[shared->dtype][own] = true;
	c_put_unroll(k, lanes / words);
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = %s; %s < %s; %s += %d)\n", lane,
		c_kernel_ix(k, loop->lo), lane, c_kernel_ix(k, loop->hi), lane, words);
	c_kernel_indent(k);
	fprintf(k->out, "\ttsr_add_%s_%s(&%s, &%s, &%s);\n", dtype_name(shared->dtype),
		dtype_name(own), c_kernel_local(k, stmt->local, stmt->ixs, stmt->nixs),
		c_buffer_element(k, shared->buffer, shared->ix), element);
}

void c_lanes_groups(KernelText *k, const Stmt *loop)
{
	LaneProducts g;
	WordProducts w;
	c_kernel_count(k, NULL);
	if (find_group(k, loop, &g)) {
		const Value *own = g.factors[1];
		put_calls(k, loop, g.factors[0], own->dtype,
			  c_buffer_element(k, own->buffer, own->ix));
		return;
	}
	REQUIRE(find_words(k, loop, &w));
	const LanesText l = {.k = k, .loop = loop};
	put_calls(k, loop, w.bytes, k->m->program->buffers.at[w.elements->buffer].dtype,
		  c_lanes_word(&l, w.elements, 0));
}

/* ---- functions ---- */

/* The even or odd bytes of words as halves of words. */
static const char *halves(Arena *arena, const char *words, Dtype dtype, bool odd)
{
	const char *low = odd ? words : arena_printf(arena, "_mm512_slli_epi16(%s, 8)", words);
	return arena_printf(arena, "_mm512_%s_epi16(%s, 8)", dtype == DTYPE_I8 ? "srai" : "srli",
			    low);
}

static void put_added_halves(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	for (int odd = 0; odd < 2; odd++)
		fprintf(out, "\ty = _mm512_dpwssd_epi32(y, %s, %s);\n", halves(arena, "s", a, odd),
			halves(arena, "x", b, odd));
}

/* sum += the group, of words s that all lanes share and x. */
static void put_instructions(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	fprintf(out, "\tint32_t word;\n\tmemcpy(&word, a, sizeof word);\n"
		     "\tconst __m512i s = _mm512_set1_epi32(word), x = _mm512_loadu_si512(b);\n");
	if (a == DTYPE_BF16) {
		fprintf(out,
			"\t_mm512_storeu_ps(sum, _mm512_dpbf16_ps(_mm512_loadu_ps(sum), (__m512bh)s, "
			"(__m512bh)x));\n");
		return;
	}
	fprintf(out, "\t__m512i y = _mm512_loadu_si512(sum);\n");
	if (a != b)
		fprintf(out, "\ty = _mm512_dpbusd_epi32(y, %s);\n",
			a == DTYPE_U8 ? "s, x" : "x, s");
	else
		put_added_halves(out, arena, a, b);
	fprintf(out, "\t_mm512_storeu_si512(sum, y);\n");
}

/* With NEON's dot products; where one operand has a sign and the other has none the one without comes first. */
static void put_dot_products(FILE *out, Dtype a, Dtype b)
{
	const char *type = a == DTYPE_U8 ? "u" : "s";
	fprintf(out, "\tint32_t word;\n\tmemcpy(&word, a, sizeof word);\n");
	if (a == b) {
		fprintf(out,
			"\tconst %sint8x16_t s = vreinterpretq_%s8_s32(vdupq_n_s32(word));\n"
			"\t%sint32x4_t y = vreinterpretq_%s32_s32(vld1q_s32(sum));\n"
			"\tvst1q_s32(sum, vreinterpretq_s32_%s32(vdotq_%s32(y, s, vld1q_%s8(b))));\n",
			a == DTYPE_U8 ? "u" : "", type, a == DTYPE_U8 ? "u" : "", type, type, type,
			type);
		return;
	}
	const char *x = b == DTYPE_U8 ? "vld1q_u8(b)" : "vld1q_s8(b)";
	fprintf(out, "\tconst %sint8x16_t s = vreinterpretq_%s8_s32(vdupq_n_s32(word));\n",
		a == DTYPE_U8 ? "u" : "", type);
	fprintf(out, "\tvst1q_s32(sum, vusdotq_s32(vld1q_s32(sum), %s, %s));\n",
		a == DTYPE_U8 ? "s" : x, a == DTYPE_U8 ? x : "s");
}

/* Halves of vectors of bytes as 16 bits with a sign. */
static const char *widened(Arena *arena, Dtype dtype, const char *bytes)
{
	return dtype == DTYPE_I8
		       ? arena_printf(arena, "vmovl_s8(%s)", bytes)
		       : arena_printf(arena, "vreinterpretq_s16_u16(vmovl_u8(%s))", bytes);
}

/* With NEON alone: step q of all words in one vector, which the rows of a tile share. */
static void put_widened_products(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	const char *letter = b == DTYPE_U8 ? "u" : "s";
	const char *low = arena_printf(arena, "vget_low_%s8(x)", letter),
		   *high = arena_printf(arena, "vget_high_%s8(x)", letter),
		   *shared = arena_printf(arena, "vreinterpret_%s8_s32(vdup_n_s32(word))",
					  a == DTYPE_U8 ? "u" : "s");
	fprintf(out, "\tint32_t word;\n\tmemcpy(&word, a, sizeof word);\n");
	fprintf(out, "\tconst int16x4_t s = vget_low_s16(%s);\n", widened(arena, a, shared));
	fprintf(out, "\tconst %sint8x16_t x = vld1q_%s8(b);\n", b == DTYPE_U8 ? "u" : "", letter);
	fprintf(out, "\tconst int16x8_t low = %s, high = %s;\n", widened(arena, b, low),
		widened(arena, b, high));
	fprintf(out,
		"\tconst int16x8_t even = vuzp1q_s16(low, high), odd = vuzp2q_s16(low, high);\n"
		"\tconst int16x8_t x02 = vuzp1q_s16(even, vextq_s16(even, even, 1));\n"
		"\tconst int16x8_t x13 = vuzp1q_s16(odd, vextq_s16(odd, odd, 1));\n"
		"\tint32x4_t y = vmlal_lane_s16(vld1q_s32(sum), vget_low_s16(x02), s, 0);\n"
		"\ty = vmlal_lane_s16(y, vget_low_s16(x13), s, 1);\n"
		"\ty = vmlal_lane_s16(y, vget_high_s16(x02), s, 2);\n"
		"\tvst1q_s32(sum, vmlal_lane_s16(y, vget_high_s16(x13), s, 3));\n");
}

/* Without such instructions, lane after lane: integers wrap around. */
static void put_loop(FILE *out, const Module *m, Dtype a, Dtype b)
{
	Arena *arena = m->arena;
	bool real = a == DTYPE_BF16;
	Dtype to = real ? DTYPE_F32 : DTYPE_I32;
	int n = real ? 2 : 4;
	fprintf(out, "\tfor (int lane = 0; lane < %d; lane++)\n\t\t", words_of(m));
	fprintf(out,
		real ? "sum[lane] += " : "sum[lane] = (int32_t)((uint32_t)sum[lane] + (uint32_t)(");
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s * %s", i ? " + " : "",
			c_cast(arena, a, to, arena_printf(arena, "a[%d]", i)),
			c_cast(arena, b, to, arena_printf(arena, "b[%d * lane + %d]", n, i)));
	fprintf(out, real ? ";\n" : "));\n");
}

/* In front of #else: what instructions there are, and how they do it. */
static void put_forms(FILE *out, const Module *m, Dtype a, Dtype b)
{
	if (words_of(m) == WORDS_NEON) {
		fprintf(out, "#ifdef __ARM_FEATURE_%s\n", a == b ? "DOTPROD" : "MATMUL_INT8");
		put_dot_products(out, a, b);
		fprintf(out, "#elif defined __ARM_NEON\n");
		put_widened_products(out, m->arena, a, b);
		return;
	}
	fprintf(out, a == DTYPE_BF16 ? "#ifdef __AVX512BF16__\n"
				     : "#if defined __AVX512VNNI__ && defined __AVX512BW__\n");
	put_instructions(out, m->arena, a, b);
}

static const char every_other_text[] = "/* Bytes 0, 2, 4 and 6. */\n"
				       "static inline int32_t tsr_every_other(uint64_t bytes)\n{\n"
				       "\tbytes &= 0xff00ff00ff00ff;\n"
				       "\tbytes = (bytes | bytes >> 8) & 0xffff0000ffff;\n"
				       "\treturn (int32_t)(uint32_t)(bytes | bytes >> 16);\n}\n\n";

/* Of words the elements with even numbers, and those with odd ones, as bytes from 0 to 15; of i4 they are 8 more with
 * their signs turned, so that the sum is less by as often the bytes. */
static void put_word_instructions(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	bool raised = b == DTYPE_I4;
	fprintf(out,
		"#if defined __AVX512VNNI__ && defined __AVX512BW__\n"
		"\tuint64_t bytes;\n\tmemcpy(&bytes, a, sizeof bytes);\n"
		"\tconst __m512i words = _mm512_loadu_si512(b), bits = _mm512_set1_epi32(0x0f0f0f0f);\n"
		"\t__m512i y = _mm512_loadu_si512(sum), s, x;\n");
	if (raised)
		fprintf(out, "\tconst __m512i eights = _mm512_set1_epi32(0x08080808);\n"
			     "\t__m512i more = _mm512_setzero_si512();\n");
	for (int odd = 0; odd < 2; odd++) {
		const char *x = odd ? "_mm512_srli_epi32(words, 4)" : "words";
		x = arena_printf(arena, "_mm512_and_si512(%s, bits)", x);
		fprintf(out, "\ts = _mm512_set1_epi32(tsr_every_other(bytes%s));\n",
			odd ? " >> 8" : "");
		fprintf(out, raised ? "\tx = _mm512_xor_si512(%s, eights);\n" : "\tx = %s;\n", x);
		fprintf(out, "\ty = _mm512_dpbusd_epi32(y, %s);\n",
			a == DTYPE_U8 ? "s, x" : "x, s");
		if (raised)
			fprintf(out, "\tmore = _mm512_dpbusd_epi32(more, %s);\n",
				a == DTYPE_U8 ? "s, eights" : "eights, s");
	}
	fprintf(out, "\t_mm512_storeu_si512(sum, %s);\n",
		raised ? "_mm512_sub_epi32(y, more)" : "y");
}

static void put_word_loop(FILE *out, const Module *m, Dtype b)
{
	fprintf(out,
		"\tfor (int lane = 0; lane < %d; lane++) {\n\t\tint32_t all = 0;\n"
		"\t\tfor (int i = 0; i < 8; i++)\n"
		"\t\t\tall += a[i] * (%s(b[4 * lane + i / 2] >> 4 * (i %% 2) & 15)%s);\n"
		"\t\tsum[lane] = (int32_t)((uint32_t)sum[lane] + (uint32_t)all);\n\t}\n",
		words_of(m), b == DTYPE_I4 ? "(" : "", b == DTYPE_I4 ? " ^ 8) - 8" : "");
}

static void put_group(FILE *out, const Module *m, Dtype a, Dtype b)
{
	Dtype to = a == DTYPE_BF16 ? DTYPE_F32 : DTYPE_I32;
	fprintf(out, "static inline void tsr_add_%s_%s(%s *sum, const %s *a, const %s *b)\n{\n",
		dtype_name(a), dtype_name(b), c_type(to), c_type(a), c_type(b));
	if (dtype_is_packed(b))
		put_word_instructions(out, m->arena, a, b);
	else
		put_forms(out, m, a, b);
	fprintf(out, "#else\n");
	if (dtype_is_packed(b))
		put_word_loop(out, m, b);
	else
		put_loop(out, m, a, b);
	fprintf(out, "#endif\n}\n\n");
}

static const char include_avx512[] = "#ifdef __AVX512F__\n#include <immintrin.h>\n#endif\n\n",
		  include_neon[] = "#ifdef __ARM_NEON\n#include <arm_neon.h>\n#endif\n\n";

void c_put_groups(FILE *out, const Module *m)
{
	bool used = false, words = false;
	for (Dtype a = 0; a < DTYPE_COUNT; a++)
		for (Dtype b = 0; b < DTYPE_COUNT; b++) {
			if (!m->c_vectors->groups[a][b])
				continue;
			if (!used)
				fprintf(out, "/* Products of neighbours, added to %d lanes. */\n%s",
					words_of(m),
					words_of(m) == WORDS_NEON ? include_neon : include_avx512);
			used = true;
			if (dtype_is_packed(b) && !words)
				fputs(every_other_text, out);
			words |= dtype_is_packed(b);
			put_group(out, m, a, b);
		}
}
