/* Sums of a few products a lane, of i8, u8 or bf16, as instructions that add products of
 * neighbours.
 *
 *   vector lane in 0..16
 *     acc[lane] += i32(a[i + lane*4]) * i32(b[j + lane*4]) + ... + i32(a[i + lane*4 + 3]) * i32(b[j + lane*4 + 3])
 *     acc[lane] += f32(a[i]) * f32(b[j + lane*2]) + f32(a[i + 1]) * f32(b[j + lane*2 + 1])
 *
 * A lane's operands are the elements of a word: four bytes, two of bf16. vdpbusd adds the four
 * products of unsigned and signed bytes. Otherwise bytes become 16-bit halves of words, those with
 * even numbers and those with odd ones, and vpdpwssd or pmaddwd adds two products at once; without
 * these, bytes are taken from words one by one. Integers wrap, so all are exact. vdpbf16ps adds the
 * odd product, then the even one, each as one operation, rounded to nearest, with subnormal numbers
 * as 0.
 *
 * There may be fewer products than elements, of a word that all lanes share: its other elements are
 * 0.
 *
 * Elements of four bits are eight a word: those with even numbers are bytes of it, and those with odd ones of the
 * word moved by four bits, each with the bytes of the other operand that have such numbers.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_packed.h"
#include "codegen/jit_simd.h"
#include "loops/build.h"
#include "loops/matrix.h"

enum { QUAD = 4 };

typedef struct Groups {
	JitFunction *f;
	int log; /* words, 1 << log */
	Type *words, *halves, *unsigned_halves, *sums;
	Dtype a, b;	    /* of the elements of words */
	uint32_t n, all;    /* products; elements of a word */
} Groups;

static Rvalue *as(const Groups *g, Rvalue *value, Type *type)
{
	return jit_keep(g->f,
			gcc_jit_context_new_bitcast(g->f->jit->ctxt, g->f->location, value, type));
}

static Rvalue *at_address(const Groups *g, Rvalue *address)
{
	return gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference(address, g->f->location));
}

/* The first elements of a word, the others 0: nothing may lie behind them. */
static Rvalue *first_elements(KernelJit *k, const Groups *g, const Value *load)
{
	Jit *jit = g->f->jit;
	Program *program = (Program *)k->program;
	Type *word = jit->types[DTYPE_I32], *bits = jit->types[g->all == 2 ? DTYPE_BF16 : DTYPE_U8];
	Rvalue *all = jit_long(jit, word, 0);
	for (uint32_t i = 0; i < g->n; i++) {
		const Ix *at = ix_plus(program, load->ix, i);
		Rvalue *address =
			gcc_jit_lvalue_get_address(jit_buffer_element(k, load->buffer, at), NULL);
		address = jit_cast(jit, address, gcc_jit_type_get_pointer(bits));
		Rvalue *element = jit_cast(jit, at_address(g, address), word);
		Rvalue *by = jit_long(jit, word, i * 32 / g->all);
		element = jit_binary(g->f, GCC_JIT_BINARY_OP_LSHIFT, element, by);
		all = jit_binary(g->f, GCC_JIT_BINARY_OP_BITWISE_OR, all, element);
	}
	return all;
}

/* One word in all lanes. */
static Rvalue *shared_word(KernelJit *k, const Groups *g, const Value *load)
{
	Jit *jit = g->f->jit;
	Type *word = jit->types[DTYPE_I32],
	     *pointer = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(word, 1));
	Lvalue *temp = jit_temp(g->f, word);
	Lvalue *element = jit_buffer_element(k, load->buffer, load->ix);
	Rvalue *address = jit_cast(jit, gcc_jit_lvalue_get_address(element, NULL), pointer);
	jit_set(g->f, temp, g->n < g->all ? first_elements(k, g, load) : at_address(g, address));
	return jit_keep(g->f, simd_spread(g->f, (SimdType){DTYPE_I32, g->log},
					  gcc_jit_lvalue_as_rvalue(temp)));
}

static Rvalue *words_at(KernelJit *k, const Groups *g, const Value *load, bool shared)
{
	Jit *jit = g->f->jit;
	if (shared)
		return shared_word(k, g, load);
	Type *elements = jit_vector_type(jit, load->dtype, g->log + (g->all == 2 ? 1 : 2));
	Lvalue *element = jit_buffer_element(k, load->buffer, load->ix);
	Type *pointer = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(elements, 1));
	Rvalue *address = jit_cast(jit, gcc_jit_lvalue_get_address(element, NULL), pointer);
	Lvalue *temp = jit_temp(g->f, elements);
	jit_set(g->f, temp,
		gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference(address, g->f->location)));
	return as(g, gcc_jit_lvalue_as_rvalue(temp), g->words);
}

static Rvalue *all_lanes(const Groups *g, Type *type, Type *element, int n, int64_t value)
{
	Rvalue *lanes[1 << VECTOR_LOGS];
	for (int i = 0; i < n; i++)
		lanes[i] = jit_long(g->f->jit, element, value);
	return gcc_jit_context_new_rvalue_from_vector(g->f->jit->ctxt, g->f->location, type,
						      (size_t)n, lanes);
}

static Rvalue *shifted(const Groups *g, enum gcc_jit_binary_op op, Rvalue *x, Type *element, int n,
		       int bits)
{
	Rvalue *by = all_lanes(g, gcc_jit_rvalue_get_type(x), element, n, bits);
	return jit_keep(g->f, jit_binary(g->f, op, x, by));
}

/* The even or odd bytes of words as 16-bit integers. */
static Rvalue *halves_of(const Groups *g, Rvalue *words, Dtype dtype, bool odd)
{
	Jit *jit = g->f->jit;
	bool is_signed = dtype == DTYPE_I8;
	Type *element = is_signed ? jit->i16 : jit->types[DTYPE_BF16];
	Rvalue *x = as(g, words, is_signed ? g->halves : g->unsigned_halves);
	int n = 2 << g->log;
	if (!odd)
		x = shifted(g, GCC_JIT_BINARY_OP_LSHIFT, x, element, n, 8);
	x = shifted(g, GCC_JIT_BINARY_OP_RSHIFT, x, element, n, 8);
	return as(g, x, g->words);
}

/* code of a and b, which adds to `sum` where there is one. */
static Rvalue *assembled(const Groups *g, const char *code, Rvalue *sum, Rvalue *a, Rvalue *b)
{
	bool tied = sum || g->f->jit->simd == CPU_SSE2;
	Lvalue *result = jit_temp(g->f, g->sums);
	gcc_jit_extended_asm *line =
		gcc_jit_block_add_extended_asm(g->f->block, g->f->location, code);
	gcc_jit_extended_asm_add_output_operand(line, NULL, "=v", result);
	if (sum)
		gcc_jit_extended_asm_add_input_operand(line, NULL, "0", sum);
	gcc_jit_extended_asm_add_input_operand(line, NULL, tied && !sum ? "0" : "v", a);
	gcc_jit_extended_asm_add_input_operand(line, NULL, "v", b);
	return gcc_jit_lvalue_as_rvalue(result);
}

static Rvalue *plus(const Groups *g, Rvalue *a, Rvalue *b)
{
	return simd_wrapping(g->f, (SimdType){DTYPE_I32, g->log}, OP_ADD, a, b);
}

static Rvalue *added_halves(const Groups *g, Rvalue *sum, Rvalue *a, Rvalue *b, bool odd)
{
	Jit *jit = g->f->jit;
	a = halves_of(g, a, g->a, odd);
	b = halves_of(g, b, g->b, odd);
	if (jit->extras & CPU_VNNI)
		return assembled(g, "vpdpwssd %3, %2, %0", sum, a, b);
	const char *code = jit->simd == CPU_SSE2 ? "pmaddwd %2, %0" : "vpmaddwd %2, %1, %0";
	return plus(g, sum, assembled(g, code, NULL, a, b));
}

static Rvalue *byte_of(const Groups *g, Rvalue *words, Dtype dtype, int at)
{
	Jit *jit = g->f->jit;
	Dtype word = dtype == DTYPE_I8 ? DTYPE_I32 : DTYPE_U32;
	int n = 1 << g->log;
	Rvalue *x = as(g, words, jit_vector_type(jit, word, g->log));
	x = shifted(g, GCC_JIT_BINARY_OP_LSHIFT, x, jit->types[word], n, 24 - 8 * at);
	x = shifted(g, GCC_JIT_BINARY_OP_RSHIFT, x, jit->types[word], n, 24);
	return as(g, x, g->words);
}

static Rvalue *added_bytes(const Groups *g, Rvalue *sum, Rvalue *a, Rvalue *b)
{
	SimdType type = {DTYPE_I32, g->log};
	for (int i = 0; i < QUAD; i++)
		sum = plus(g, sum,
			   simd_wrapping(g->f, type, OP_MUL, byte_of(g, a, g->a, i),
					 byte_of(g, b, g->b, i)));
	return sum;
}

/* The products of words of bytes, added. */
static Rvalue *added(const Groups *g, Rvalue *before, Rvalue *a, Rvalue *b)
{
	Jit *jit = g->f->jit;
	if (g->a != g->b && jit->extras & CPU_VNNI)
		return g->a == DTYPE_U8 ? assembled(g, "vpdpbusd %3, %2, %0", before, a, b)
					: assembled(g, "vpdpbusd %3, %2, %0", before, b, a);
	if (jit->simd == CPU_AVX && !(jit->extras & CPU_WIDENS) && g->log == 3)
		return added_bytes(g, before, a, b);
	return added_halves(g, added_halves(g, before, a, b, false), a, b, true);
}

static Groups groups_new(KernelJit *k, Dtype sums, int log)
{
	Jit *jit = k->f.jit;
	return (Groups){.f = &k->f,
			.log = log,
			.words = jit_vector_type(jit, DTYPE_I32, log),
			.sums = jit_vector_type(jit, sums, log),
			.halves = jit_short_vector(jit, log + 1),
			.unsigned_halves = jit_vector_type(jit, DTYPE_BF16, log + 1)};
}

static Rvalue *added_neighbours(KernelJit *k, const Stmt *stmt, const LaneProducts *products,
				int log, Rvalue *before)
{
	Groups g = groups_new(k, stmt->value->dtype, log);
	g.n = products->n;
	g.all = products->all;
	g.a = products->factors[0]->dtype;
	g.b = products->factors[1]->dtype;
	Rvalue *a = words_at(k, &g, products->factors[0], products->shared[0]),
	       *b = words_at(k, &g, products->factors[1], products->shared[1]);
	if (g.all == QUAD)
		return added(&g, before, a, b);
	REQUIRE(k->f.jit->extras & CPU_BF16);
	return assembled(&g, "vdpbf16ps %3, %2, %0", before, a, b);
}

/* ---- elements of four bits ---- */

static bool adds_words(KernelJit *k, const Stmt *stmt, IterVar lane)
{
	WordProducts products;
	JitWord word;
	return word_products((Program *)k->program, stmt, lane, &products) &&
	       jit_packed_word(k, products.elements, &word) && word.place == 0;
}

/* The even or odd ones of eight bytes that all lanes share. */
static Rvalue *shared_bytes(KernelJit *k, const Groups *g, const Value *load, bool odd)
{
	static const int64_t masks[] = {0xff00ff00ff00ff, 0xffff0000ffff, 0xffffffff};
	Jit *jit = g->f->jit;
	Type *pointer = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(jit->u64, 1));
	Lvalue *element = jit_buffer_element(k, load->buffer, load->ix);
	Rvalue *address = jit_cast(jit, gcc_jit_lvalue_get_address(element, NULL), pointer);
	Rvalue *bits = jit_keep(g->f, at_address(g, address));
	for (int i = 0; i < 3; i++) { /* every other byte, pair and four */
		int by = i == 0 ? 8 * odd : 4 << i;
		Rvalue *moved = jit_binary(g->f, GCC_JIT_BINARY_OP_RSHIFT, bits,
					   jit_long(jit, jit->u64, by));
		if (i > 0)
			moved = jit_binary(g->f, GCC_JIT_BINARY_OP_BITWISE_OR, bits, moved);
		bits = jit_keep(g->f, jit_binary(g->f, GCC_JIT_BINARY_OP_BITWISE_AND, moved,
						 jit_long(jit, jit->u64, masks[i])));
	}
	Rvalue *word = jit_keep(g->f, jit_cast(jit, bits, jit->types[DTYPE_I32]));
	return jit_keep(g->f, simd_spread(g->f, (SimdType){DTYPE_I32, g->log}, word));
}

static Rvalue *everywhere(const Groups *g, int64_t bits)
{
	return all_lanes(g, g->words, g->f->jit->types[DTYPE_I32], 1 << g->log, bits);
}

/* The even or odd elements of words, as bytes from 0 to 15. */
static Rvalue *half_words(const Groups *g, Rvalue *words, bool odd)
{
	Jit *jit = g->f->jit;
	Rvalue *x = as(g, words, jit_vector_type(jit, DTYPE_U32, g->log));
	if (odd)
		x = shifted(g, GCC_JIT_BINARY_OP_RSHIFT, x, jit->types[DTYPE_U32], 1 << g->log, 4);
	return simd_integers(g->f, g->log, GCC_JIT_BINARY_OP_BITWISE_AND, true, as(g, x, g->words),
			     everywhere(g, 0x0f0f0f0f));
}

/* Bytes from 0 to 15, which are of either type, are of the one that the other bytes are not of. Those of i4 are 8
 * more than their elements once their signs are turned, and so the sum is less by as often the bytes. */
static Rvalue *added_words(KernelJit *k, const Stmt *stmt, const WordProducts *products, int log,
			   Rvalue *before)
{
	Groups g = groups_new(k, DTYPE_I32, log);
	JitWord word;
	bool moved = k->program->buffers.at[products->elements->buffer].dtype == DTYPE_I4;
	REQUIRE(jit_packed_word(k, products->elements, &word) && stmt->value->dtype == DTYPE_I32);
	Lvalue *words = jit_temp(g.f, g.words);
	jit_set(g.f, words, gcc_jit_lvalue_as_rvalue(jit_lanes_at(k, word.first, DTYPE_I32, log)));
	Rvalue *more = everywhere(&g, 0), *sum = before;
	g.n = g.all = QUAD;
	g.a = products->bytes->dtype;
	g.b = g.a == DTYPE_U8 ? DTYPE_I8 : DTYPE_U8;
	for (int odd = 0; odd < 2; odd++) {
		Rvalue *a = shared_bytes(k, &g, products->bytes, odd),
		       *b = half_words(&g, gcc_jit_lvalue_as_rvalue(words), odd);
		if (moved)
			b = simd_integers(g.f, log, GCC_JIT_BINARY_OP_BITWISE_XOR, true, b,
					  everywhere(&g, 0x08080808));
		sum = added(&g, sum, a, b);
		more = moved ? added(&g, more, a, everywhere(&g, 0x08080808)) : more;
	}
	return moved ? simd_wrapping(g.f, (SimdType){DTYPE_I32, log}, OP_SUB, sum, more) : sum;
}

/* ---- both ---- */

bool jit_adds_groups(KernelJit *k, const Stmt *stmt, IterVar lane, int log)
{
	LaneProducts products;
	return log > 0 && stmt->acc == OP_ADD &&
	       (lane_products((Program *)k->program, stmt, lane, &products) ||
		adds_words(k, stmt, lane));
}

Rvalue *jit_vector_groups(KernelJit *k, const Stmt *stmt, IterVar lane, int log, Rvalue *before)
{
	LaneProducts neighbours;
	WordProducts words;
	if (lane_products((Program *)k->program, stmt, lane, &neighbours))
		return added_neighbours(k, stmt, &neighbours, log, before);
	REQUIRE(word_products((Program *)k->program, stmt, lane, &words));
	return added_words(k, stmt, &words, log, before);
}
