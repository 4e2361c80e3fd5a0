/* What vectors need and libgccjit has no word for: comparisons, choices, extremes, roots and
 * transposed blocks, as inline assembly of the target's vector instructions. Arguments are kept
 * temporaries of 2^log lanes of f32 or f64, at least 16 bytes. On AVX-512 comparisons, choices, extremes,
 * permutations and compact stores have i32 and i64, too. */
#ifndef TSR_CODEGEN_JIT_SIMD_H
#define TSR_CODEGEN_JIT_SIMD_H

#include "codegen/fused.h"
#include "codegen/jit_context.h"
#include "codegen/jit_function.h"

typedef struct SimdType {
	Dtype dtype;
	int log;
} SimdType;

/* A mask: on AVX-512 one bit a lane, else a vector of integers, all ones where the comparison
 * holds. Masks may be combined by bitwise operations. */
Rvalue *simd_compare(JitFunction *f, SimdType type, enum gcc_jit_comparison op, Rvalue *a,
		     Rvalue *b);
/* Where a < b does not hold, also where either is no number. Requires CPU_AVX512. */
Rvalue *simd_not_less(JitFunction *f, SimdType type, Rvalue *a, Rvalue *b);
/* mask ? a : b */
Rvalue *simd_choose(JitFunction *f, SimdType type, Rvalue *mask, Rvalue *a, Rvalue *b);
/* a > b ? a : b, with `less` a < b ? a : b: b also where either is no number. */
Rvalue *simd_extreme(JitFunction *f, SimdType type, bool less, Rvalue *a, Rvalue *b);
/* (-)a*b + (-)rest of the arguments a, b, rest, rounded once. Requires CPU_FMA. */
Rvalue *simd_fused(JitFunction *f, SimdType type, FusedSigns signs, Rvalue *const args[3]);
/* The same where a is used no more and the rest is a constant, which it does not overwrite. The
 * fourth argument: a mask of AVX-512, beyond which the result is 0, or NULL. */
Rvalue *simd_fused_over(JitFunction *f, SimdType type, FusedSigns signs, Rvalue *const args[4]);
Rvalue *simd_root(JitFunction *f, SimdType type, Rvalue *a);
/* a 2^n of whole numbers n, rounded once. Requires CPU_AVX512. */
Rvalue *simd_scale(JitFunction *f, SimdType type, Rvalue *a, Rvalue *n);
/* Requires CPU_AVX512: the lanes of memory whose bits are set in the mask, zero in the others;
 * these lanes written, and no other. What is masked away may lie outside of any object. */
Rvalue *simd_load_some(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *lanes);
void simd_store_some(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *lanes, Rvalue *value);
/* Requires CPU_AVX512, or AVX2 and f32: lane i is lane lanes[i] of a whole vector; `lanes`: integers of its
 * width. */
Rvalue *simd_permuted(JitFunction *f, SimdType type, Rvalue *lanes, Rvalue *value);
/* Requires AVX: lane i of b where bit i of `from` is set, else of a. */
Rvalue *simd_blended(JitFunction *f, SimdType type, int from, Rvalue *a, Rvalue *b);
/* Requires CPU_AVX512. The same of two vectors, whose lanes are counted on: those of b from the number of lanes on. */
Rvalue *simd_permuted_two(JitFunction *f, SimdType type, Rvalue *lanes, Rvalue *a, Rvalue *b);
/* Requires CPU_AVX512: whole vectors, wherever they lie. Where bits are set in b and in a, or in b and not in a. */
Rvalue *simd_load(JitFunction *f, SimdType type, Lvalue *first);
Rvalue *simd_mask_and(JitFunction *f, Rvalue *a, bool holds, Rvalue *b);
/* Masks of simd_compare, of lanes of one width: both hold (OP_AND), or one (OP_OR). */
Rvalue *simd_mask_join(JitFunction *f, Op op, Rvalue *a, Rvalue *b);
/* Asks for the line, which may lie outside of any object. Requires: the target is x86. */
void simd_prefetch(JitFunction *f, Lvalue *at);
/* Requires CPU_AVX512: stores the lanes whose bits are set in the mask one behind the other, and no others. */
void simd_store_compact(JitFunction *f, SimdType type, Rvalue *mask, Lvalue *to, Rvalue *value);
/* Lanes of a smaller type, in memory as one variable, as `type`; NULL where no instruction does
 * it. */
Rvalue *simd_widen(JitFunction *f, SimdType type, Dtype from, Lvalue *lanes);
/* Can bytes in memory become 64-bit integers? 2^log of them, which they then do. */
bool simd_widens_bytes(const Jit *jit);
Rvalue *simd_widen_bytes(JitFunction *f, int log, Lvalue *bytes);
/* One of these in all lanes. */
Rvalue *simd_spread_pairs(JitFunction *f, int log, Rvalue *element);
/* Requires CPU_VBMI: 16 lanes of 32 bits, of which the lowest four are those of 8 bytes in memory. */
Rvalue *simd_spread_halves(JitFunction *f, Lvalue *bytes);
/* f16 bits as f32. Requires CPU_F16C. */
Rvalue *simd_widen_f16(JitFunction *f, Rvalue *bits);
/* Lanes of f8e4m3 or f8e5m2 likewise as f32, by way of f16; NULL where the target lacks that. */
Rvalue *simd_widen_f8(JitFunction *f, int log, Dtype from, Lvalue *lanes);
/* a + b, a - b, a * b, which wrap. Requires: i32. */
Rvalue *simd_wrapping(JitFunction *f, SimdType type, Op op, Rvalue *a, Rvalue *b);
/* a op b of 2^log 32-bit integers, in their unsigned type unless `is_signed`. */
Rvalue *simd_integers(JitFunction *f, int log, enum gcc_jit_binary_op op, bool is_signed, Rvalue *a,
		      Rvalue *b);
/* i32 to f32 */
Rvalue *simd_from_integers(JitFunction *f, int log, Rvalue *a);
Rvalue *simd_spread(JitFunction *f, SimdType type, Rvalue *element);

#endif
