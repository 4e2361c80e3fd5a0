/* Vector instructions by name: see jit_simd.h.
 *
 * A template names its operands in the order of the assembler, which is the reverse of the
 * manuals': `vmaxps b, a, to` is a > b ? a : b. Operands are created before the statement, as
 * libgccjit replays what it is told in order. Three encodings: SSE2 overwrites its first operand,
 * AVX does not, AVX-512 compares into mask registers.
 */
#include "codegen/jit_simd.h"

#include "codegen/jit_function.h"

static const char *suffix(SimdType type)
{
	bool wide = dtype_bytes(type.dtype) == dtype_bytes(DTYPE_F64);
	return dtype_is_float(type.dtype) ? (wide ? "pd" : "ps") : wide ? "q" : "d";
}

/* What stands in front of the names of instructions for integers, and behind some of them. */
static const char *whole(SimdType type, const char *mark)
{
	return dtype_is_float(type.dtype) ? "" : mark;
}

static Type *vector_type(JitFunction *f, SimdType type)
{
	return type.log ? jit_vector_type(f->jit, type.dtype, type.log) : f->jit->types[type.dtype];
}

/* Integers as wide as the elements. */
static Type *bits_type(JitFunction *f, SimdType type)
{
	bool wide = dtype_bytes(type.dtype) == dtype_bytes(DTYPE_F64);
	return jit_vector_type(f->jit, wide ? DTYPE_I64 : DTYPE_I32, type.log);
}

static Rvalue *as_type(JitFunction *f, Rvalue *value, Type *type)
{
	return gcc_jit_context_new_bitcast(f->jit->ctxt, f->location, value, type);
}

/* to = INSTRUCTION of some inputs; `tied`: the first input is in the place of the result. */
static Rvalue *assembled(JitFunction *f, Type *type, const char *code, const char *to, bool tied,
			 Rvalue *const *inputs, size_t n)
{
	Lvalue *result = jit_temp(f, type);
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, to, result);
	for (size_t i = 0; i < n; i++) {
		Type *input = gcc_jit_rvalue_get_type(inputs[i]);
		bool mask = input == f->jit->unsigned_types[DTYPE_I32];
		gcc_jit_extended_asm_add_input_operand(asm_, NULL,
						       tied && i == 0 ? "0"
						       : mask	      ? "Yk"
								      : "v",
						       inputs[i]);
	}
	return gcc_jit_lvalue_as_rvalue(result);
}

/* INSTRUCTIONps b, a, to */
static Rvalue *of_two(JitFunction *f, SimdType type, const char *name, Rvalue *a, Rvalue *b)
{
	bool sse = f->jit->simd == CPU_SSE2;
	const char *code = arena_printf(
		f->jit->arena, sse ? "%s%s %%2, %%0" : "v%s%s %%2, %%1, %%0", name, suffix(type));
	return assembled(f, vector_type(f, type), code, "=v", sse, (Rvalue *[]){a, b}, 2);
}

Rvalue *simd_spread(JitFunction *f, SimdType type, Rvalue *element)
{
	Rvalue *lanes[1 << VECTOR_LOGS];
	if (type.log == 0)
		return element;
	for (int i = 0; i < 1 << type.log; i++)
		lanes[i] = element;
	return gcc_jit_context_new_rvalue_from_vector(
		f->jit->ctxt, f->location, vector_type(f, type), (size_t)1 << type.log, lanes);
}

Rvalue *simd_extreme(JitFunction *f, SimdType type, bool less, Rvalue *a, Rvalue *b)
{
	const char *name = less ? "min" : "max", *p = whole(type, "p"), *s = whole(type, "s");
	return of_two(f, type, arena_printf(f->jit->arena, "%s%s%s", p, name, s), a, b);
}

Rvalue *simd_root(JitFunction *f, SimdType type, Rvalue *a)
{
	const char *code = arena_printf(f->jit->arena, "%ssqrt%s %%1, %%0",
					f->jit->simd == CPU_SSE2 ? "" : "v", suffix(type));
	return assembled(f, vector_type(f, type), code, "=v", false, &a, 1);
}

/* `form`: 231 overwrites the sum's other term, 213 a factor. What is overwritten comes first, what
 * may be read from memory last: the compiler copies a register that is still needed, and loads. The
 * fourth input is a mask or NULL. */
static Rvalue *fused(JitFunction *f, SimdType type, const char *form, FusedSigns signs,
		     Rvalue *const inputs[4])
{
	Lvalue *result = jit_temp(f, vector_type(f, type));
	const char *code =
		arena_printf(f->jit->arena, "vf%sm%s%s%s %%3, %%2, %%0%s",
			     signs.minus_product ? "n" : "", signs.minus_rest ? "sub" : "add", form,
			     suffix(type), inputs[3] ? "%{%4%}%{z%}" : "");
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "=v", result);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "0", inputs[0]);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "v", inputs[1]);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "vm", inputs[2]);
	if (inputs[3])
		gcc_jit_extended_asm_add_input_operand(asm_, NULL, "Yk", inputs[3]);
	return gcc_jit_lvalue_as_rvalue(result);
}

Rvalue *simd_fused(JitFunction *f, SimdType type, FusedSigns signs, Rvalue *const args[3])
{
	return fused(f, type, "231", signs, (Rvalue *[]){args[2], args[0], args[1], NULL});
}

Rvalue *simd_fused_over(JitFunction *f, SimdType type, FusedSigns signs, Rvalue *const args[4])
{
	return fused(f, type, "213", signs, args);
}

Rvalue *simd_scale(JitFunction *f, SimdType type, Rvalue *a, Rvalue *n)
{
	return of_two(f, type, "scalef", a, n);
}

Rvalue *simd_load_some(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *lanes)
{
	const char *code =
		arena_printf(f->jit->arena, "vmovu%s %%2, %%0%%{%%1%%}%%{z%%}", suffix(type));
	Lvalue *result = jit_temp(f, vector_type(f, type));
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "=v", result);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "Yk", mask);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "m", gcc_jit_lvalue_as_rvalue(lanes));
	return gcc_jit_lvalue_as_rvalue(result);
}

void simd_store_some(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *lanes, Rvalue *value)
{
	const char *code = arena_printf(f->jit->arena, "vmovu%s %%2, %%0%%{%%1%%}", suffix(type));
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "+m", lanes);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "Yk", mask);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "v", value);
}

void simd_store_compact(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *to, Rvalue *value)
{
	const char *code = arena_printf(f->jit->arena, "v%scompress%s %%2, %%0%%{%%1%%}",
					whole(type, "p"), suffix(type));
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_set_volatile_flag(asm_, 1);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "+m", to);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "Yk", mask);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "v", value);
	gcc_jit_extended_asm_add_clobber(asm_, "memory");
}

Rvalue *simd_permuted(JitFunction *f, SimdType type, Rvalue *lanes, Rvalue *value)
{
	const char *code = arena_printf(f->jit->arena, "vperm%s %%2, %%1, %%0", suffix(type));
	return assembled(f, vector_type(f, type), code, "=v", false, (Rvalue *[]){lanes, value}, 2);
}

Rvalue *simd_blended(JitFunction *f, SimdType type, int from, Rvalue *a, Rvalue *b)
{
	const char *code =
		arena_printf(f->jit->arena, "vblend%s $%d, %%2, %%1, %%0", suffix(type), from);
	return assembled(f, vector_type(f, type), code, "=x", false, (Rvalue *[]){a, b}, 2);
}

Rvalue *simd_permuted_two(JitFunction *f, SimdType type, Rvalue *lanes, Rvalue *a, Rvalue *b)
{
	const char *code = arena_printf(f->jit->arena, "vpermt2%s %%3, %%2, %%0", suffix(type));
	return assembled(f, vector_type(f, type), code, "=v", true, (Rvalue *[]){a, lanes, b}, 3);
}

Rvalue *simd_compare(JitFunction *f, SimdType type, enum gcc_jit_comparison op, Rvalue *a,
		     Rvalue *b)
{
	static const char *const names[] = {
		[GCC_JIT_COMPARISON_EQ] = "eq", [GCC_JIT_COMPARISON_NE] = "neq",
		[GCC_JIT_COMPARISON_LT] = "lt", [GCC_JIT_COMPARISON_LE] = "le",
		[GCC_JIT_COMPARISON_GT] = "lt", [GCC_JIT_COMPARISON_GE] = "le",
	};
	bool swapped = op == GCC_JIT_COMPARISON_GT || op == GCC_JIT_COMPARISON_GE;
	Rvalue *x = swapped ? b : a, *y = swapped ? a : b;
	const char *name = arena_printf(f->jit->arena, "%scmp%s", whole(type, "p"), names[op]);
	if (f->jit->simd == CPU_AVX512) {
		const char *code =
			arena_printf(f->jit->arena, "v%s%s %%2, %%1, %%0", name, suffix(type));
		return assembled(f, f->jit->u32, code, "=Yk", false, (Rvalue *[]){x, y}, 2);
	}
	return jit_keep(f, as_type(f, of_two(f, type, name, x, y), bits_type(f, type)));
}

Rvalue *simd_not_less(JitFunction *f, SimdType type, Rvalue *a, Rvalue *b)
{
	const char *code = arena_printf(f->jit->arena, "vcmpnlt%s %%2, %%1, %%0", suffix(type));
	return assembled(f, f->jit->u32, code, "=Yk", false, (Rvalue *[]){a, b}, 2);
}

Rvalue *simd_choose(JitFunction *f, SimdType type, Rvalue *mask, Rvalue *a, Rvalue *b)
{
	if (f->jit->simd == CPU_AVX512) {
		const char *code = arena_printf(f->jit->arena, "v%sblendm%s %%2, %%3, %%0%%{%%1%%}",
						whole(type, "p"), suffix(type));
		return assembled(f, vector_type(f, type), code, "=v", false,
				 (Rvalue *[]){mask, a, b}, 3);
	}
	Type *bits = bits_type(f, type);
	Rvalue *differ = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, as_type(f, a, bits),
				    as_type(f, b, bits));
	Rvalue *change = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, differ, mask);
	Rvalue *chosen = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, as_type(f, b, bits), change);
	return jit_keep(f, as_type(f, jit_keep(f, chosen), vector_type(f, type)));
}

/* ---- types of storage, integers ---- */

static const char *widening_name(const Jit *jit, Dtype from)
{
	bool widens = jit->extras & CPU_WIDENS;
	switch (from) {
	case DTYPE_BF16: return widens ? "vpmovzxwd" : NULL;
	case DTYPE_F16: return jit->extras & CPU_F16C ? "vcvtph2ps" : NULL;
	case DTYPE_U8: return widens ? "vpmovzxbd" : NULL;
	case DTYPE_I8: return widens ? "vpmovsxbd" : NULL;
	default: return NULL;
	}
}

/* `name memory, result` */
static Rvalue *loaded(JitFunction *f, Type *type, const char *name, Lvalue *lanes)
{
	Lvalue *result = jit_temp(f, type);
	const char *code = arena_printf(f->jit->arena, "%s %%1, %%0", name);
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(f->block, f->location, code);
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "=v", result);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "m", gcc_jit_lvalue_as_rvalue(lanes));
	return gcc_jit_lvalue_as_rvalue(result);
}

Rvalue *simd_load(JitFunction *f, SimdType type, Lvalue *first)
{
	const char *name = dtype_is_float(type.dtype)
				   ? arena_printf(f->jit->arena, "vmovu%s", suffix(type))
				   : "vmovdqu64";
	return loaded(f, vector_type(f, type), name, first);
}

void simd_prefetch(JitFunction *f, Lvalue *at)
{
	gcc_jit_extended_asm *asm_ =
		gcc_jit_block_add_extended_asm(f->block, f->location, "prefetcht0 %0");
	gcc_jit_extended_asm_set_volatile_flag(asm_, 1);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "m", gcc_jit_lvalue_as_rvalue(at));
}

Rvalue *simd_mask_and(JitFunction *f, Rvalue *a, bool holds, Rvalue *b)
{
	const char *code = holds ? "kandw %2, %1, %0" : "kandnw %2, %1, %0";
	return assembled(f, f->jit->u32, code, "=Yk", false, (Rvalue *[]){a, b}, 2);
}

Rvalue *simd_mask_join(JitFunction *f, Op op, Rvalue *a, Rvalue *b)
{
	if (f->jit->simd == CPU_AVX512)
		return assembled(f, f->jit->u32,
				 op == OP_AND ? "kandw %2, %1, %0" : "korw %2, %1, %0", "=Yk",
				 false, (Rvalue *[]){a, b}, 2);
	return jit_keep(f, jit_binary(f,
				      op == OP_AND ? GCC_JIT_BINARY_OP_BITWISE_AND
						   : GCC_JIT_BINARY_OP_BITWISE_OR,
				      a, b));
}

bool simd_widens_bytes(const Jit *jit) { return jit->extras & CPU_WIDENS; }

Rvalue *simd_widen_bytes(JitFunction *f, int log, Lvalue *bytes)
{
	return loaded(f, jit_vector_type(f->jit, DTYPE_I64, log), "vpmovzxbq", bytes);
}

Rvalue *simd_spread_pairs(JitFunction *f, int log, Rvalue *element)
{
	Rvalue *lanes[1 << VECTOR_LOGS];
	for (int i = 0; i < 1 << log; i++)
		lanes[i] = element;
	return gcc_jit_context_new_rvalue_from_vector(f->jit->ctxt, f->location,
						      jit_vector_type(f->jit, DTYPE_I64, log),
						      (size_t)1 << log, lanes);
}

/* Bits 8*q and 8*q + 4 of the 8 bytes become the first ones of both lanes of pair q. */
Rvalue *simd_spread_halves(JitFunction *f, Lvalue *bytes)
{
	enum { PAIRS = 8, LOG = 3 };
	Jit *jit = f->jit;
	Type *type = jit_vector_type(jit, DTYPE_I64, LOG);
	Rvalue *from[PAIRS];
	for (int q = 0; q < PAIRS; q++)
		from[q] = jit_long(jit, jit->i64, 8 * q | (int64_t)(8 * q + 4) << 32);
	Rvalue *control = jit_keep(f, gcc_jit_context_new_rvalue_from_vector(jit->ctxt, f->location,
									     type, PAIRS, from));
	Lvalue *result = jit_temp(f, type);
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(
		f->block, f->location, "vpmultishiftqb %2%{1to8%}, %1, %0");
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "=v", result);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "v", control);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "m", gcc_jit_lvalue_as_rvalue(bytes));
	return gcc_jit_lvalue_as_rvalue(result);
}

Rvalue *simd_widen_f16(JitFunction *f, Rvalue *bits)
{
	Lvalue *result = jit_temp(f, f->jit->types[DTYPE_F32]);
	gcc_jit_extended_asm *asm_ = gcc_jit_block_add_extended_asm(
		f->block, f->location, "vmovd %1, %0; vcvtph2ps %0, %0");
	gcc_jit_extended_asm_add_output_operand(asm_, NULL, "=x", result);
	gcc_jit_extended_asm_add_input_operand(asm_, NULL, "r", bits);
	return gcc_jit_lvalue_as_rvalue(result);
}

/* f32 and integers as f64. */
static Rvalue *as_double(JitFunction *f, SimdType type, Dtype from, Lvalue *lanes)
{
	const char *name = from == DTYPE_F32 ? "cvtps2pd" : from == DTYPE_I32 ? "cvtdq2pd" : NULL;
	if (!name)
		return NULL;
	if (f->jit->simd != CPU_SSE2)
		name = arena_printf(f->jit->arena, "v%s", name);
	return loaded(f, vector_type(f, type), name, lanes);
}

/* bf16 is the upper half of an f32: widened as an integer, then shifted. */
Rvalue *simd_widen(JitFunction *f, SimdType type, Dtype from, Lvalue *lanes)
{
	const char *name = widening_name(f->jit, from);
	if (type.dtype == DTYPE_F64)
		return as_double(f, type, from, lanes);
	if (name && type.dtype == DTYPE_F32 && dtype_wide(from) == DTYPE_I32) {
		Type *integers = jit_vector_type(f->jit, DTYPE_I32, type.log);
		return simd_from_integers(f, type.log, loaded(f, integers, name, lanes));
	}
	if (!name || dtype_wide(from) != type.dtype)
		return NULL;
	Type *integers = bits_type(f, (SimdType){DTYPE_F32, type.log});
	Type *to = from == DTYPE_BF16 ? integers : vector_type(f, type);
	Rvalue *value = loaded(f, to, name, lanes);
	if (from != DTYPE_BF16)
		return value;
	Rvalue *sixteen = jit_long(f->jit, f->jit->types[DTYPE_I32], 16);
	Rvalue *by = simd_spread(f, (SimdType){DTYPE_I32, type.log}, sixteen);
	value = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, value, by));
	return jit_keep(f, as_type(f, value, vector_type(f, type)));
}

/* Bytes as 16-bit lanes, of which a vector of so many 32-bit ones holds twice as many; such an INSTRUCTION of two. */
static Rvalue *words_at(JitFunction *f, SimdType words, const char *name, int shift, Lvalue *lanes)
{
	Type *type = vector_type(f, words);
	Rvalue *value = loaded(f, type, name, lanes);
	const char *code = arena_printf(f->jit->arena, "vpsllw $%d, %%1, %%0", shift);
	return assembled(f, type, code, "=v", false, &value, 1);
}

static Rvalue *all_words(JitFunction *f, SimdType words, int64_t word)
{
	Rvalue *both = jit_long(f->jit, f->jit->types[DTYPE_I32], word << 16 | word);
	return jit_keep(f, simd_spread(f, words, both));
}

/* f8e5m2 is the upper half of an f16. f8e4m3, a place lower, is one too, 2^-8 of the number, whose bit 14 is the
 * sign's copy and must be that of NaN: where adding 1 to the magnitude reaches that bit, it changes it. */
static Rvalue *f16_of_f8(JitFunction *f, SimdType words, Dtype from, Lvalue *lanes)
{
	if (from == DTYPE_F8E5M2)
		return words_at(f, words, "vpmovzxbw", 8, lanes);
	enum { ONE = 0x80, BIT = 0x4000 };
	Rvalue *half = words_at(f, words, "vpmovsxbw", 7, lanes), *one = all_words(f, words, ONE);
	Rvalue *next = assembled(f, vector_type(f, words), "vpaddw %2, %1, %0", "=v", false,
				 (Rvalue *[]){half, one}, 2);
	Rvalue *bit = simd_integers(f, words.log, GCC_JIT_BINARY_OP_BITWISE_AND, true, next,
				    all_words(f, words, BIT));
	return simd_integers(f, words.log, GCC_JIT_BINARY_OP_BITWISE_XOR, true, half, bit);
}

Rvalue *simd_widen_f8(JitFunction *f, int log, Dtype from, Lvalue *lanes)
{
	Jit *jit = f->jit;
	if (!(jit->extras & CPU_WIDENS && jit->extras & CPU_F16C) || log < 3)
		return NULL;
	SimdType words = {DTYPE_I32, log - 1}, floats = {DTYPE_F32, log};
	Rvalue *half = f16_of_f8(f, words, from, lanes);
	Rvalue *value =
		assembled(f, vector_type(f, floats), "vcvtph2ps %1, %0", "=v", false, &half, 1);
	if (from == DTYPE_F8E5M2)
		return value;
	Rvalue *scale = simd_spread(f, floats, jit_double(jit, jit->types[DTYPE_F32], 256));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MULT, value, scale));
}

Rvalue *simd_wrapping(JitFunction *f, SimdType type, Op op, Rvalue *a, Rvalue *b)
{
	enum gcc_jit_binary_op code = op == OP_ADD   ? GCC_JIT_BINARY_OP_PLUS
				      : op == OP_SUB ? GCC_JIT_BINARY_OP_MINUS
						     : GCC_JIT_BINARY_OP_MULT;
	REQUIRE(type.dtype == DTYPE_I32);
	return simd_integers(f, type.log, code, false, a, b);
}

Rvalue *simd_integers(JitFunction *f, int log, enum gcc_jit_binary_op op, bool is_signed, Rvalue *a,
		      Rvalue *b)
{
	Type *type = jit_vector_type(f->jit, DTYPE_I32, log);
	Type *in = is_signed ? type : jit_vector_type(f->jit, DTYPE_U32, log);
	Rvalue *result = jit_keep(f, jit_binary(f, op, as_type(f, a, in), as_type(f, b, in)));
	return is_signed ? result : jit_keep(f, as_type(f, result, type));
}

Rvalue *simd_from_integers(JitFunction *f, int log, Rvalue *a)
{
	const char *code = f->jit->simd == CPU_SSE2 ? "cvtdq2ps %1, %0" : "vcvtdq2ps %1, %0";
	return assembled(f, jit_vector_type(f->jit, DTYPE_F32, log), code, "=v", false, &a, 1);
}
