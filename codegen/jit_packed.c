/* Elements of i4 and u4, which lie two a byte, in registers.
 *
 * One element is a byte, shifted and masked. Lanes that are neighbours come from two loads that widen
 * bytes to pairs of lanes, for an index i of parity p:
 *
 *   even lanes: bytes from i/2 on       >> 4*p
 *   odd lanes:  bytes from (i + 1)/2 on >> 4*(1 - p), into the upper half of each pair
 *
 * so that no byte behind the last element is read. Where i is known to be even, both are one load and
 * one shift: a pair x | x << 28 has its even element in the lowest bits of the lower lane, its odd one in
 * those of the upper lane. AVX-512 then has f32 of a table of 16 numbers, which looks at these bits alone;
 * with VBMI one instruction makes the pairs from memory.
 *
 * Lanes that are the same element of words one after another, as panels of a product have them
 * (lower/tile/words.c), need no widening: a word is a lane's i32, shifted by 4 bits for each element before.
 */
#include "codegen/jit_packed.h"

#include "codegen/jit_function.h"

enum { TABLE_LOG = 4 };

/* 4 where the element is the upper half of its byte, as a number of the type. */
static Rvalue *shift_of(JitFunction *f, const JitHalf *half, Type *type)
{
	Jit *jit = f->jit;
	if (!half->at)
		return jit_long(jit, type, half->odd ? 4 : 0);
	Rvalue *odd = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, half->at,
				 jit_long(jit, jit->i64, 1));
	Rvalue *four = jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, odd, jit_long(jit, jit->i64, 2));
	return jit_keep(f, jit_cast(jit, four, type));
}

Rvalue *packed_element(JitFunction *f, Dtype dtype, const JitHalf *half)
{
	Jit *jit = f->jit;
	Type *word = jit->types[DTYPE_I32];
	Rvalue *x = jit_cast(jit, gcc_jit_lvalue_as_rvalue(half->byte), word);
	x = jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, x, shift_of(f, half, word));
	x = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, x, jit_long(jit, word, 15));
	if (dtype == DTYPE_I4) {
		Rvalue *eight = jit_long(jit, word, 8);
		x = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, x, eight);
		x = jit_binary(f, GCC_JIT_BINARY_OP_MINUS, x, eight);
	}
	return jit_keep(f, jit_cast(jit, x, jit->types[dtype_alone(dtype)]));
}

/* ---- lanes ---- */

/* Pairs of lanes are i64. */
static Rvalue *moved(JitFunction *f, int pairs, enum gcc_jit_binary_op op, Rvalue *x, Rvalue *by)
{
	return jit_keep(f, jit_binary(f, op, x, simd_spread_pairs(f, pairs, by)));
}

static Rvalue *moved_up(JitFunction *f, int pairs, Rvalue *x, int64_t by)
{
	return moved(f, pairs, GCC_JIT_BINARY_OP_LSHIFT, x, jit_long(f->jit, f->jit->i64, by));
}

static Rvalue *either(JitFunction *f, Rvalue *a, Rvalue *b)
{
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, a, b));
}

/* The elements of one half of each byte in the lowest bits of pairs. */
static Rvalue *one_half(JitFunction *f, int pairs, const JitHalf *half)
{
	return moved(f, pairs, GCC_JIT_BINARY_OP_RSHIFT, simd_widen_bytes(f, pairs, half->byte),
		     shift_of(f, half, f->jit->i64));
}

/* Pairs with an element in the lowest bits of each lane, others above it. */
static Rvalue *unpacked_pairs(JitFunction *f, int pairs, const JitHalf halves[2])
{
	if (!halves->at && !halves->odd) {
		Rvalue *both = simd_widen_bytes(f, pairs, halves->byte);
		return either(f, both, moved_up(f, pairs, both, 28));
	}
	Rvalue *even = one_half(f, pairs, &halves[0]), *odd = one_half(f, pairs, &halves[1]);
	return either(f, even, moved_up(f, pairs, odd, 32));
}

Rvalue *packed_table(JitFunction *f, Dtype dtype)
{
	Jit *jit = f->jit;
	Rvalue *lanes[PACKED_PATTERNS];
	for (int i = 0; i < PACKED_PATTERNS; i++)
		lanes[i] = jit_double(jit, jit->types[DTYPE_F32], packed_pattern(dtype, i));
	return jit_keep(f,
			gcc_jit_context_new_rvalue_from_vector(
				jit->ctxt, f->location, jit_vector_type(jit, DTYPE_F32, TABLE_LOG),
				PACKED_PATTERNS, lanes));
}

/* The lowest four bits of each lane as i32; the even elements of pairs have their neighbours above
 * them, which the mask takes away. */
static Rvalue *as_integers(JitFunction *f, Dtype dtype, int log, Rvalue *lanes)
{
	Type *word = f->jit->types[DTYPE_I32];
	SimdType type = {DTYPE_I32, log};
	Rvalue *mask = simd_spread(f, type, jit_long(f->jit, word, 15));
	lanes = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, lanes, mask));
	if (dtype == DTYPE_U4)
		return lanes;
	Rvalue *eight = jit_keep(f, simd_spread(f, type, jit_long(f->jit, word, 8)));
	lanes = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, lanes, eight));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, lanes, eight));
}

bool packed_has_lanes(const Jit *jit, int log, Dtype to)
{
	return log >= 2 && (to == DTYPE_I32 || to == DTYPE_F32) && simd_widens_bytes(jit);
}

static bool has_tables(SimdType to) { return to.dtype == DTYPE_F32 && to.log == TABLE_LOG; }

/* What the lowest four bits of each lane are. */
static Rvalue *looked_up(JitFunction *f, Dtype dtype, SimdType to, Rvalue *lanes, Rvalue *table)
{
	if (has_tables(to))
		return simd_permuted(f, to, lanes, table ? table : packed_table(f, dtype));
	Rvalue *integers = as_integers(f, dtype, to.log, lanes);
	return to.dtype == DTYPE_I32 ? integers : simd_from_integers(f, to.log, integers);
}

Rvalue *packed_words(JitFunction *f, Dtype dtype, SimdType to, const JitWord *word, Rvalue *table)
{
	SimdType type = {DTYPE_I32, to.log};
	Rvalue *lanes = jit_keep(f, gcc_jit_lvalue_as_rvalue(word->first));
	Rvalue *bits = jit_long(f->jit, f->jit->types[DTYPE_I32], 4 * word->place);
	if (word->place)
		lanes = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, lanes,
					       simd_spread(f, type, bits)));
	return looked_up(f, dtype, to, lanes, table);
}

Rvalue *packed_lanes(JitFunction *f, Dtype dtype, SimdType to, const JitHalf halves[2],
		     Rvalue *table)
{
	Jit *jit = f->jit;
	bool tables = has_tables(to);
	bool even = !halves->at && !halves->odd;
	Rvalue *pairs = tables && even && jit->extras & CPU_VBMI
				? simd_spread_halves(f, halves->byte)
				: unpacked_pairs(f, to.log - 1, halves);
	Rvalue *lanes = jit_keep(f, gcc_jit_context_new_bitcast(
					    jit->ctxt, f->location, pairs,
					    jit_vector_type(jit, DTYPE_I32, to.log)));
	return looked_up(f, dtype, to, lanes, table);
}
