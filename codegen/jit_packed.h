/* Elements of i4 and u4, which lie two a byte, in registers. */
#ifndef TSR_CODEGEN_JIT_PACKED_H
#define TSR_CODEGEN_JIT_PACKED_H

#include "codegen/jit_function.h"
#include "codegen/jit_simd.h"
#include "codegen/packed.h"

/* The byte that holds an element, or as many as hold some lanes, as one variable; and which half of
 * the byte the element, or the first one, is. */
typedef struct JitHalf {
	Lvalue *byte;
	bool odd;   /* the upper one, where `at` is NULL */
	Rvalue *at; /* the index, an i64: the half is not known before */
} JitHalf;

/* A word of PACKED_WORD elements, of which the element is one, by its place. */
typedef struct JitWord {
	Lvalue *first; /* the word's first byte; as lanes, so many words from it on */
	int place;
} JitWord;

/* An element of i4 as an i8, of u4 as an u8. */
Rvalue *packed_element(JitFunction *f, Dtype dtype, const JitHalf *half);
/* Are there instructions for 2^log of them at once, as `to`? */
bool packed_has_lanes(const Jit *jit, int log, Dtype to);
/* Neighbours as lanes of i32 or f32; `halves`: of the first element, and of the second. `table`, for
 * PACKED_PATTERNS lanes of f32: what each pattern of four bits becomes; NULL: the element. */
Rvalue *packed_lanes(JitFunction *f, Dtype dtype, SimdType to, const JitHalf halves[2],
		     Rvalue *table);
/* The same of the element at the word's place of it and of the words behind it. */
Rvalue *packed_words(JitFunction *f, Dtype dtype, SimdType to, const JitWord *word, Rvalue *table);
/* The f32 values of an element's patterns, in lanes. */
Rvalue *packed_table(JitFunction *f, Dtype dtype);

#endif
