/* Lanes of i4 and u4 in C, which lie two a byte: the bytes of a vector are a number, of which each lane has a copy
 * that is moved until its element comes first. Only the lowest four bits of a lane count then.
 *
 *   vector lane in 0..64: acc[lane] += (f32(w[i*64 + lane]) - 8) * s * x[lane]
 *
 *   for (int64_t lane = 0; lane < 64; lane += 16) {
 *           const tsr_f32x16 tsr_t0 = ((tsr_f32x16){0, 1, .. 15} - 8.0f) * s;
 *           tsr_i32x16 tsr_t1;
 *           tsr_halves_16(&tsr_t1, &w[(i * 64 + lane) >> 1]);
 *           tsr_f32x16 tsr_t2;
 *           tsr_look_up_16(&tsr_t2, &tsr_t0, &tsr_t1);
 *           *(tsr_f32x16 *)&acc[lane] += tsr_t2 * *(const tsr_f32x16 *)&x[lane];
 *   }
 *
 * Where a vector has 16 lanes and the processor takes lanes by lanes, a function of an element is looked up in
 * its 16 numbers; elsewhere elements are converted. Lanes that are the same element of words of eight, as panels of a
 * product have them (lower/tile/words.c), are moved as the words:
 *
 *   vector lane in 0..64: acc[r, lane] += (f32(w[k*64 + lane*8 + 3]) - 8)*x[k + 3]
 *
 *           tsr_words_16(&tsr_t1, &w[((k * 64) >> 1) + 4 * lane], 3);
 */
#include "codegen/c_lanes.h"

#include "codegen/cpu.h"
#include "codegen/packed.h"

static bool varies(const void *of, const Value *value) { return c_lanes_vary(of, value); }

static bool in_words(const void *of, const Value *load)
{
	int64_t place;
	return c_lanes_find_words(of, load, &place);
}

static PackedLanes packed_lanes(const LanesText *l)
{
	return (PackedLanes){(Program *)l->k->m->program, l->loop->iter, varies, in_words, l};
}

bool c_lanes_is_packed(const LanesText *l, const Value *value)
{
	PackedLanes lanes = packed_lanes(l);
	return !l->loop->lanes && packed_is_cast(&lanes, value);
}

bool c_lanes_packed_fits(const LanesText *l, const Value *value)
{
	return value->dtype == DTYPE_F32 && c_lanes_is_packed(l, value);
}

/* The words, moved. */
static const char *words(LanesText *l, const Value *load, int64_t place)
{
	KernelText *k = l->k;
	const char *name = c_lanes_declared(l, l->integer);
	k->m->c_vectors->words |= (uint64_t)1 << l->lanes;
	c_kernel_indent(k);
	fprintf(k->out, "tsr_words_%d(&%s, &%s, %d);\n", l->lanes, name,
		c_lanes_word(l, load, place), (int)place);
	return name;
}

/* Lanes whose lowest four bits are the elements. */
static const char *halves(LanesText *l, const Value *load)
{
	KernelText *k = l->k;
	int64_t rest;
	if (c_lanes_find_words(l, load, &rest))
		return words(l, load, rest);
	bool even = c_lanes_find_rest(l, load->ix, 2, &rest) && rest == 0;
	const char *array = k->buffers[kernel_use_buffer(k->use, load->buffer)];
	const char *at = c_kernel_ix(k, load->ix), *name = c_lanes_declared(l, l->integer);
	c_vector_use(k->m, DTYPE_I64, l->lanes / 2);
	k->m->c_vectors->halves[!even] |= (uint64_t)1 << l->lanes;
	c_kernel_indent(k);
	if (even)
		fprintf(k->out, "tsr_halves_%d(&%s, &%s[(%s) >> 1]);\n", l->lanes, name, array, at);
	else
		fprintf(k->out, "tsr_halves_at_%d(&%s, %s, %s);\n", l->lanes, name, array, at);
	return name;
}

const char *c_lanes_packed_integers(LanesText *l, const Value *load)
{
	Dtype dtype = l->k->m->program->buffers.at[load->buffer].dtype;
	const char *format = dtype == DTYPE_I4 ? "((%s & 15) ^ 8) - 8" : "%s & 15";
	return arena_printf(l->k->arena, format, halves(l, load));
}

static const char *cast_text(LanesText *l, const Value *load)
{
	return arena_printf(l->k->arena, "__builtin_convertvector(%s, %s)",
			    c_lanes_packed_integers(l, load), l->type);
}

static const char *patterns(const LanesText *l, Dtype dtype)
{
	const char *text = arena_printf(l->k->arena, "(%s){", l->type);
	for (int i = 0; i < PACKED_PATTERNS; i++)
		text = arena_printf(l->k->arena, "%s%s%d", text, i ? ", " : "",
				    packed_pattern(dtype, i));
	return arena_printf(l->k->arena, "%s}", text);
}

/* The value for each pattern of four bits. */
static const char *table_text(LanesText *l, const Value *value)
{
	const char *args[3];
	if (!c_lanes_vary(l, value))
		return c_lanes_value(l, value);
	if (value->kind == VALUE_CAST)
		return patterns(l, l->k->m->program->buffers.at[value->args[0]->buffer].dtype);
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = table_text(l, value->args[i]);
	return c_op(l->k->arena, value->op, value->dtype, args);
}

static const char *looked_up(LanesText *l, const Value *value, const Value *load)
{
	KernelText *k = l->k;
	const char *table = c_lanes_named(l, table_text(l, value));
	const char *from = halves(l, load), *name = c_lanes_declared(l, l->type);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_look_up_%d(&%s, &%s, &%s);\n", l->lanes, name, table, from);
	k->m->c_vectors->tables = true;
	return name;
}

const char *c_lanes_packed(LanesText *l, const Value *value)
{
	PackedLanes lanes = packed_lanes(l);
	bool tables = l->lanes == PACKED_PATTERNS &&
		      cpu_simd(l->k->m->program->options.target) == CPU_AVX512;
	const Value *load = tables && value->kind == VALUE_OP && l->dtype == DTYPE_F32
				    ? packed_in_table(&lanes, value)
				    : NULL;
	if (load)
		return looked_up(l, value, load);
	return c_lanes_packed_fits(l, value) ? cast_text(l, value->args[0]) : NULL;
}

/* ---- whole numbers ---- */

/* Casts to f32 of whole numbers that vectors of uint32_t compute, whose operations wrap:
 *
 *   vector lane in 0..16: acc[lane] += f32(i32(w[k*16 + lane]) - zero[lane]) * x[k]
 *
 *   *(tsr_f32x16 *)&acc[lane] += __builtin_convertvector((tsr_i32x16)(
 *           (tsr_u32x16)TSR_CONVERT_I8_16(&w[k * 16 + lane]) -
 *           (tsr_u32x16)*(const tsr_i32x16 *)&zero[lane]), tsr_f32x16) * x[k];
 */
static bool is_integer_op(Op op) { return op == OP_ADD || op == OP_SUB || op == OP_MUL; }

static bool is_neighbour(const LanesText *l, const Value *load)
{
	return load->kind == VALUE_LOAD &&
	       c_lanes_of_buffer(l, load->buffer, load->ix) == PLACE_NEIGHBOURS;
}

static bool is_integral(const LanesText *l, const Value *value)
{
	if (value->dtype != DTYPE_I32)
		return false;
	if (!c_lanes_vary(l, value) || is_neighbour(l, value))
		return true;
	if (value->kind == VALUE_CAST)
		return c_lanes_is_packed(l, value) ||
		       (c_vector_casts(value->args[0]->dtype, DTYPE_I32) &&
			is_neighbour(l, value->args[0]));
	bool is = value->kind == VALUE_OP && is_integer_op(value->op);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = is_integral(l, value->args[i]);
	return is;
}

bool c_lanes_integers_fit(const LanesText *l, const Value *cast)
{
	const Value *from = cast->args[0];
	return cast->dtype == DTYPE_F32 && !l->loop->lanes && from->kind == VALUE_OP &&
	       c_lanes_vary(l, from) && is_integral(l, from);
}

/* What is read: a vector of int32_t. */
static const char *leaf_text(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const Value *load = value->kind == VALUE_CAST ? value->args[0] : value;
	if (value->kind == VALUE_CAST && c_lanes_is_packed(l, value))
		return arena_printf(k->arena, "(%s)", c_lanes_packed_integers(l, load));
	const char *element = c_buffer_element(k, load->buffer, load->ix);
	return value->kind == VALUE_CAST
		       ? c_vector_cast(k->m, load->dtype, DTYPE_I32, l->lanes, element)
		       : arena_printf(k->arena, "*(const %s *)&%s", l->integer, element);
}

/* A vector of uint32_t, or one number that is the same in all lanes. */
static const char *text_of(LanesText *l, const Value *value)
{
	Arena *arena = l->k->arena;
	static const char *const marks[OP_COUNT] = {[OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*"};
	if (!c_lanes_vary(l, value))
		return arena_printf(arena, "(uint32_t)%s", c_lanes_value(l, value));
	if (value->kind != VALUE_OP)
		return arena_printf(arena, "(tsr_u32x%d)%s", l->lanes, leaf_text(l, value));
	const char *a = text_of(l, value->args[0]), *b = text_of(l, value->args[1]);
	return arena_printf(arena, "(%s %s %s)", a, marks[value->op], b);
}

const char *c_lanes_integers(LanesText *l, const Value *cast)
{
	return arena_printf(l->k->arena, "__builtin_convertvector((%s)%s, %s)", l->integer,
			    text_of(l, cast->args[0]), l->type);
}

/* ---- functions ---- */

/* The bytes that hold so many elements, as a number: compilers load it at once. */
static void put_word(FILE *out, int lanes)
{
	fprintf(out, "static inline uint64_t tsr_word_%d(const uint8_t *p)\n{\n\treturn p[0]",
		lanes);
	for (int i = 1; i < lanes / 2; i++)
		fprintf(out, " | (uint64_t)p[%d] << %d", i, 8 * i);
	fprintf(out, ";\n}\n\n");
}

/* {0, by, 2*by, ..}, each of them as often as is said */
static const char *shifts(Arena *arena, int lanes, int by, int times)
{
	const char *text = "{0";
	for (int i = 1; i < lanes; i++)
		text = arena_printf(arena, "%s, %d", text, i / times * by);
	return arena_printf(arena, "%s}", text);
}

/* Each pair of lanes has its byte twice, by one instruction, or once. */
static const char widest_text[] =
	"#if defined __AVX512VBMI__ && defined __AVX512F__\n"
	"\tconst __m512i from = _mm512_set_epi64(0x3c00000038, 0x3400000030, 0x2c00000028, 0x2400000020,\n"
	"\t\t\t\t\t      0x1c00000018, 0x1400000010, 0xc00000008, 0x400000000);\n"
	"\t*to = (tsr_i32x16)_mm512_multishift_epi64_epi8(from, _mm512_set1_epi64((int64_t)tsr_word_16(p)));\n"
	"#elif defined __AVX512F__\n"
	"\tconst __m512i both = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)p));\n"
	"\t*to = (tsr_i32x16)_mm512_or_si512(both, _mm512_slli_epi64(both, 28));\n"
	"#else\n";

/* Numbers of pairs of lanes where their bits are more than those of a lane. */
static void put_halves(FILE *out, Arena *arena, int lanes)
{
	bool pairs = lanes == PACKED_PATTERNS;
	fprintf(out, "static inline void tsr_halves_%d(tsr_i32x%d *to, const uint8_t *p)\n{\n%s",
		lanes, lanes, pairs ? widest_text : "");
	if (pairs)
		fprintf(out,
			"\tconst tsr_u64x8 by = %s, both = (tsr_word_16(p) + (tsr_u64x8){0}) >> by & 255;\n"
			"\t*to = (tsr_i32x16)TSR_PAIR(both, both >> 4);\n#endif\n}\n\n",
			shifts(arena, lanes / 2, 8, 1));
	else
		fprintf(out,
			"\t*to = (tsr_i32x%d)(((uint32_t)tsr_word_%d(p) + (tsr_u32x%d){0}) >>\n"
			"\t\t\t   (tsr_u32x%d)%s);\n}\n\n",
			lanes, lanes, lanes, lanes, shifts(arena, lanes, 4, 1));
}

/* No byte behind the last element is read. */
static void put_halves_at(FILE *out, Arena *arena, int lanes)
{
	fprintf(out,
		"static inline void tsr_halves_at_%d(tsr_i32x%d *to, const uint8_t *p, int64_t i)\n{\n"
		"\tconst int bits = (int)(i & 1) * 4;\n"
		"\tconst uint64_t even = tsr_word_%d(&p[i >> 1]) >> bits, odd = tsr_word_%d(&p[(i + 1) >> 1]) >> (4 - bits);\n",
		lanes, lanes, lanes, lanes);
	if (lanes == PACKED_PATTERNS)
		fprintf(out,
			"\tconst tsr_u64x8 by = %s, low = (even + (tsr_u64x8){0}) >> by;\n"
			"\tconst tsr_u64x8 high = (odd + (tsr_u64x8){0}) >> by;\n"
			"\t*to = (tsr_i32x16)TSR_PAIR(low & UINT32_MAX, high & UINT32_MAX);\n}\n\n",
			shifts(arena, lanes / 2, 8, 1));
	else
		fprintf(out,
			"\t*to = (tsr_i32x%d)((tsr_u32x%d)(TSR_PAIR(even, odd) + (tsr_u64x%d){0}) >>\n"
			"\t\t\t   (tsr_u32x%d)%s);\n}\n\n",
			lanes, lanes, lanes / 2, lanes, shifts(arena, lanes, 8, 2));
}

/* The first lane of a pair is the lower word of its number but on processors with the other order. */
static const char order_text[] =
	"/* Elements of four bits, two a byte, in the lowest bits of lanes, whose others may be anything: those of some\n"
	" * bytes, or from element i on. Two lanes as a number; bits below an element in its word: */\n"
	"#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n"
	"#define TSR_PAIR(first, second) ((first) << 32 | (second))\n"
	"#define TSR_BITS_BELOW(step) (4 * ((step) ^ 6))\n"
	"#else\n"
	"#define TSR_PAIR(first, second) ((first) | (second) << 32)\n"
	"#define TSR_BITS_BELOW(step) (4 * (step))\n"
	"#endif\n\n";

static void put_words(FILE *out, int lanes)
{
	fprintf(out,
		"/* Of words of eight such elements, one after another, the element at that step. */\n"
		"static inline void tsr_words_%d(tsr_i32x%d *to, const uint8_t *p, int step)\n{\n"
		"\ttsr_u32x%d words;\n"
		"\t__builtin_memcpy(&words, p, sizeof words);\n"
		"\t*to = (tsr_i32x%d)(words >> TSR_BITS_BELOW(step));\n}\n\n",
		lanes, lanes, lanes, lanes);
}

static const char look_up_text[] =
	"/* Of each lane the number of the table that its lowest four bits say. */\n"
	"static inline void tsr_look_up_16(tsr_f32x16 *to, const tsr_f32x16 *table, const tsr_i32x16 *halves)\n{\n"
	"#ifdef __AVX512F__\n"
	"\t*to = (tsr_f32x16)_mm512_permutexvar_ps((__m512i)*halves, (__m512)*table);\n"
	"#else\n"
	"\tfor (int i = 0; i < 16; i++)\n\t\t(*to)[i] = (*table)[(*halves)[i] & 15];\n"
	"#endif\n}\n\n";

void c_put_lanes_packed(FILE *out, const Module *m)
{
	const struct CVectors *v = m->c_vectors;
	uint64_t used = v->halves[0] | v->halves[1];
	if (!used && !v->words)
		return;
	fputs("#ifdef __AVX512F__\n#include <immintrin.h>\n#endif\n", out);
	fputs(order_text, out);
	for (int lanes = 4; lanes <= C_LANES_MOST; lanes *= 2) {
		if (used >> lanes & 1)
			put_word(out, lanes);
		if (v->halves[0] >> lanes & 1)
			put_halves(out, m->arena, lanes);
		if (v->halves[1] >> lanes & 1)
			put_halves_at(out, m->arena, lanes);
		if (v->words >> lanes & 1)
			put_words(out, lanes);
	}
	if (v->tables)
		fputs(look_up_text, out);
}
