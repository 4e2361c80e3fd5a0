/* Sums of four products of i8 or u8 a lane, as instructions that add products of neighbours.
 *
 *   vector lane in 0..16
 *     acc[lane] += i32(a[i + lane*4]) * i32(b[j + lane*4]) + ... + i32(a[i + lane*4 + 3]) * i32(b[j + lane*4 + 3])
 *
 * A lane's operands are the four bytes of a word. vpdpbusd adds the four products of unsigned and
 * signed bytes. Otherwise bytes become 16-bit halves of words, those with even numbers and those
 * with odd ones, and vpdpwssd or pmaddwd adds two products at once; without these, bytes are taken
 * from words one by one. Integers wrap, so all are exact.
 */
#include "codegen/jit_kernel.h"
#include "codegen/jit_simd.h"

enum { QUAD = 4 };

typedef struct Quads {
	JitFunction *f;
	int log;                   /* words, 1 << log */
	Type *words, *halves, *unsigned_halves;
	const Value *a, *b;        /* loads of byte 0 */
	IterVar lane;
} Quads;

/* ---- which statements ---- */

static uint32_t list_products(const Value *value, const Value **out, uint32_t n)
{
	if (n <= QUAD && value->kind == VALUE_OP && value->op == OP_ADD)
		return list_products(value->args[1], out, list_products(value->args[0], out, n));
	if (n < QUAD)
		out[n] = value;
	return n + 1;
}

static const Value *byte_load(const Value *product, uint32_t arg)
{
	if (product->kind != VALUE_OP || product->op != OP_MUL)
		return NULL;
	const Value *cast = product->args[arg];
	if (cast->kind != VALUE_CAST || cast->args[0]->kind != VALUE_LOAD ||
	    dtype_bytes(cast->args[0]->dtype) != 1)
		return NULL;
	return cast->args[0];
}

/* Does a lane move the load by a word? `by` 0: do all lanes share one? */
static bool moves_by(const KernelJit *k, const Value *load, IterVar lane, int64_t by)
{
	Program *program = (Program *)k->program;
	Size stride = ix_stride(program, load->ix, lane);
	return !size_is_bad(stride) && size_is(program->sizes, stride, by);
}

/* Does `load` read byte q of the words that `first` begins? */
static bool is_byte(const KernelJit *k, const Value *first, const Value *load, uint32_t q, IterVar lane)
{
	Program *program = (Program *)k->program;
	if (!first || !load || first->buffer != load->buffer ||
	    !(moves_by(k, load, lane, QUAD) || moves_by(k, load, lane, 0)))
		return false;
	const Ix *moved = ix_add(program, first->ix, ix_const(program->arena, program->sizes, q));
	return ix_same(moved, load->ix);
}

static bool matches(const KernelJit *k, const Stmt *stmt, IterVar lane, Quads *q)
{
	const Value *products[QUAD];
	if (stmt->value->dtype != DTYPE_I32 || list_products(stmt->value, products, 0) != QUAD)
		return false;
	q->a = byte_load(products[0], 0);
	q->b = byte_load(products[0], 1);
	for (uint32_t i = 0; i < QUAD; i++)
		if (!is_byte(k, q->a, byte_load(products[i], 0), i, lane) ||
		    !is_byte(k, q->b, byte_load(products[i], 1), i, lane))
			return false;
	return true;
}

/* ---- code ---- */

static Rvalue *as(const Quads *q, Rvalue *value, Type *type)
{
	return jit_keep(q->f, gcc_jit_context_new_bitcast(q->f->jit->ctxt, q->f->location, value, type));
}

/* One word in all lanes. */
static Rvalue *shared_word(KernelJit *k, const Quads *q, const Value *load)
{
	Jit *jit = q->f->jit;
	Type *word = jit->types[DTYPE_I32], *pointer = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(word, 1));
	Lvalue *cell = jit_kernel_cell(k, load->buffer, load->ix);
	Rvalue *address = jit_cast(jit, gcc_jit_lvalue_get_address(cell, NULL), pointer);
	Lvalue *temp = jit_local(q->f, word, arena_printf(jit->arena, "t%u", q->f->ntemps++));
	jit_set(q->f, temp, gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference(address, q->f->location)));
	return jit_keep(q->f, simd_spread(q->f, (SimdType){DTYPE_I32, q->log}, gcc_jit_lvalue_as_rvalue(temp)));
}

static Rvalue *words_at(KernelJit *k, const Quads *q, const Value *load)
{
	Jit *jit = q->f->jit;
	if (moves_by(k, load, q->lane, 0))
		return shared_word(k, q, load);
	Type *bytes = jit_vector_type(jit, load->dtype, q->log + 2);
	Lvalue *cell = jit_kernel_cell(k, load->buffer, load->ix);
	Type *pointer = gcc_jit_type_get_pointer(gcc_jit_type_get_aligned(bytes, 1));
	Rvalue *address = jit_cast(jit, gcc_jit_lvalue_get_address(cell, NULL), pointer);
	char name[16];
	snprintf(name, sizeof name, "t%u", q->f->ntemps++);
	Lvalue *temp = jit_local(q->f, bytes, name);
	jit_set(q->f, temp,
		gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference(address, q->f->location)));
	return as(q, gcc_jit_lvalue_as_rvalue(temp), q->words);
}

static Rvalue *all_lanes(const Quads *q, Type *type, Type *element, int n, int64_t value)
{
	Rvalue *lanes[1 << VECTOR_LOGS];
	for (int i = 0; i < n; i++)
		lanes[i] = jit_long(q->f->jit, element, value);
	return gcc_jit_context_new_rvalue_from_vector(q->f->jit->ctxt, q->f->location, type,
						      (size_t)n, lanes);
}

static Rvalue *shifted(const Quads *q, enum gcc_jit_binary_op op, Rvalue *x, Type *element, int n,
		       int bits)
{
	Rvalue *by = all_lanes(q, gcc_jit_rvalue_get_type(x), element, n, bits);
	return jit_keep(q->f, jit_binary(q->f, op, x, by));
}

/* The even or odd bytes of words as 16-bit integers. */
static Rvalue *halves_of(const Quads *q, Rvalue *words, Dtype dtype, bool odd)
{
	Jit *jit = q->f->jit;
	bool is_signed = dtype == DTYPE_I8;
	Type *element = is_signed ? jit->i16 : jit->types[DTYPE_BF16];
	Rvalue *x = as(q, words, is_signed ? q->halves : q->unsigned_halves);
	int n = 2 << q->log;
	if (!odd)
		x = shifted(q, GCC_JIT_BINARY_OP_LSHIFT, x, element, n, 8);
	x = shifted(q, GCC_JIT_BINARY_OP_RSHIFT, x, element, n, 8);
	return as(q, x, q->words);
}

/* code of a and b, which adds to `sum` where there is one. */
static Rvalue *assembled(const Quads *q, const char *code, Rvalue *sum, Rvalue *a, Rvalue *b)
{
	char name[16];
	bool tied = sum || q->f->jit->simd == CPU_SSE2;
	snprintf(name, sizeof name, "t%u", q->f->ntemps++);
	Lvalue *result = jit_local(q->f, q->words, name);
	gcc_jit_extended_asm *line = gcc_jit_block_add_extended_asm(q->f->block, q->f->location, code);
	gcc_jit_extended_asm_add_output_operand(line, NULL, "=v", result);
	if (sum)
		gcc_jit_extended_asm_add_input_operand(line, NULL, "0", sum);
	gcc_jit_extended_asm_add_input_operand(line, NULL, tied && !sum ? "0" : "v", a);
	gcc_jit_extended_asm_add_input_operand(line, NULL, "v", b);
	return gcc_jit_lvalue_as_rvalue(result);
}

static Rvalue *plus(const Quads *q, Rvalue *a, Rvalue *b)
{
	return simd_wrapping(q->f, (SimdType){DTYPE_I32, q->log}, OP_ADD, a, b);
}

static Rvalue *added_halves(const Quads *q, Rvalue *sum, Rvalue *a, Rvalue *b, bool odd)
{
	Jit *jit = q->f->jit;
	a = halves_of(q, a, q->a->dtype, odd);
	b = halves_of(q, b, q->b->dtype, odd);
	if (jit->extras & CPU_VNNI)
		return assembled(q, "vpdpwssd %3, %2, %0", sum, a, b);
	const char *code = jit->simd == CPU_SSE2 ? "pmaddwd %2, %0" : "vpmaddwd %2, %1, %0";
	return plus(q, sum, assembled(q, code, NULL, a, b));
}

static Rvalue *byte_of(const Quads *q, Rvalue *words, Dtype dtype, int at)
{
	Jit *jit = q->f->jit;
	Dtype word = dtype == DTYPE_I8 ? DTYPE_I32 : DTYPE_U32;
	int n = 1 << q->log;
	Rvalue *x = as(q, words, jit_vector_type(jit, word, q->log));
	x = shifted(q, GCC_JIT_BINARY_OP_LSHIFT, x, jit->types[word], n, 24 - 8 * at);
	x = shifted(q, GCC_JIT_BINARY_OP_RSHIFT, x, jit->types[word], n, 24);
	return as(q, x, q->words);
}

static Rvalue *added_bytes(const Quads *q, Rvalue *sum, Rvalue *a, Rvalue *b)
{
	SimdType type = {DTYPE_I32, q->log};
	for (int i = 0; i < QUAD; i++)
		sum = plus(q, sum, simd_wrapping(q->f, type, OP_MUL, byte_of(q, a, q->a->dtype, i),
						 byte_of(q, b, q->b->dtype, i)));
	return sum;
}

Rvalue *jit_vector_quads(KernelJit *k, const Stmt *stmt, IterVar lane, int log, Rvalue *before)
{
	Jit *jit = k->f.jit;
	Quads q = {.f = &k->f, .log = log, .lane = lane};
	if (log == 0 || stmt->acc != OP_ADD || !matches(k, stmt, lane, &q))
		return NULL;
	q.words = jit_vector_type(jit, DTYPE_I32, log);
	q.halves = jit_short_vector(jit, log + 1);
	q.unsigned_halves = jit_vector_type(jit, DTYPE_BF16, log + 1);
	Rvalue *a = words_at(k, &q, q.a), *b = words_at(k, &q, q.b);
	bool mixed = q.a->dtype != q.b->dtype;
	if (mixed && jit->extras & CPU_VNNI)
		return q.a->dtype == DTYPE_U8 ? assembled(&q, "vpdpbusd %3, %2, %0", before, a, b)
					      : assembled(&q, "vpdpbusd %3, %2, %0", before, b, a);
	if (jit->simd == CPU_AVX && !(jit->extras & CPU_WIDENS) && log == 3)
		return added_bytes(&q, before, a, b);
	return added_halves(&q, added_halves(&q, before, a, b, false), a, b, true);
}
