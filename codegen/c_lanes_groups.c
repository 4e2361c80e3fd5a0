/* Sums of products of neighbours in C (loops/matrix.h): functions that are an instruction or two with
 * AVX-512 and VNNI or BF16, and a loop elsewhere.
 *
 *   vector lane in 0..64: acc[r, lane] += i32(a[i]) * i32(b[lane*4]) + ... + i32(a[i + 3]) * i32(b[lane*4 + 3])
 *
 *   for (int64_t lane = 0; lane < 64; lane += 16)
 *           tsr_add_u8_i8(&acc[r][lane], &a[i], &b[lane * 4]);
 */
#include "codegen/c_lanes.h"
#include "loops/matrix.h"

enum { WORDS = 16 }; /* of a vector of AVX-512 */

/* One factor is the same word in all lanes; that comes first. */
static bool find_group(const KernelText *k, const Stmt *loop, LaneProducts *g)
{
	Program *program = (Program *)k->m->program;
	const Stmt *stmt = loop->body.n == 1 ? loop->body.stmts[0] : NULL;
	if (!stmt || loop->lanes || stmt->kind != LOOP_SET || stmt->acc != OP_ADD || !stmt->nixs ||
	    vector_lanes(program, loop) % WORDS != 0 ||
	    !lane_products(program, stmt, loop->iter, g) || g->n != g->all)
		return false;
	if (g->shared[1]) {
		const Value *shared = g->factors[1];
		g->factors[1] = g->factors[0];
		g->factors[0] = shared;
	}
	return g->shared[0] || g->shared[1];
}

bool c_lanes_groups_fit(const KernelText *k, const Stmt *loop)
{
	LaneProducts g;
	return find_group(k, loop, &g);
}

static const char *function_of(const KernelText *k, const LaneProducts *g)
{
	return arena_printf(k->arena, "tsr_add_%s_%s", dtype_name(g->factors[0]->dtype),
			    dtype_name(g->factors[1]->dtype));
}

void c_lanes_groups(KernelText *k, const Stmt *loop)
{
	LaneProducts g;
	REQUIRE(find_group(k, loop, &g));
	const Stmt *stmt = loop->body.stmts[0];
	const char *lane = k->iters[loop->iter];
	int64_t lanes = vector_lanes(k->m->program, loop);
	k->m->c_vectors->groups[g.factors[0]->dtype][g.factors[1]->dtype] = true;
	c_kernel_count(k, NULL);
	c_put_unroll(k, lanes / WORDS);
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = %s; %s < %s; %s += %d)\n", lane,
		c_kernel_ix(k, loop->lo), lane, c_kernel_ix(k, loop->hi), lane, WORDS);
	c_kernel_indent(k);
	fprintf(k->out, "\t%s(&%s, &%s, &%s);\n", function_of(k, &g),
		c_kernel_local(k, stmt->local, stmt->ixs, stmt->nixs),
		c_buffer_element(k, g.factors[0]->buffer, g.factors[0]->ix),
		c_buffer_element(k, g.factors[1]->buffer, g.factors[1]->ix));
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

/* Without such instructions, lane after lane: integers wrap around. */
static void put_loop(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	bool real = a == DTYPE_BF16;
	Dtype to = real ? DTYPE_F32 : DTYPE_I32;
	int n = real ? 2 : 4;
	fprintf(out, "\tfor (int lane = 0; lane < %d; lane++)\n\t\t", WORDS);
	fprintf(out,
		real ? "sum[lane] += " : "sum[lane] = (int32_t)((uint32_t)sum[lane] + (uint32_t)(");
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%s * %s", i ? " + " : "",
			c_cast(arena, a, to, arena_printf(arena, "a[%d]", i)),
			c_cast(arena, b, to, arena_printf(arena, "b[%d * lane + %d]", n, i)));
	fprintf(out, real ? ";\n" : "));\n");
}

static void put_group(FILE *out, Arena *arena, Dtype a, Dtype b)
{
	Dtype to = a == DTYPE_BF16 ? DTYPE_F32 : DTYPE_I32;
	fprintf(out, "static inline void tsr_add_%s_%s(%s *sum, const %s *a, const %s *b)\n{\n",
		dtype_name(a), dtype_name(b), c_type(to), c_type(a), c_type(b));
	fprintf(out, a == DTYPE_BF16 ? "#ifdef __AVX512BF16__\n"
				     : "#if defined __AVX512VNNI__ && defined __AVX512BW__\n");
	put_instructions(out, arena, a, b);
	fprintf(out, "#else\n");
	put_loop(out, arena, a, b);
	fprintf(out, "#endif\n}\n\n");
}

void c_put_groups(FILE *out, const Module *m)
{
	bool used = false;
	for (Dtype a = 0; a < DTYPE_COUNT; a++)
		for (Dtype b = 0; b < DTYPE_COUNT; b++) {
			if (!m->c_vectors->groups[a][b])
				continue;
			if (!used)
				fprintf(out,
					"/* Products of neighbours, added to 16 lanes. */\n"
					"#ifdef __AVX512F__\n#include <immintrin.h>\n#endif\n\n");
			used = true;
			put_group(out, m->arena, a, b);
		}
}
