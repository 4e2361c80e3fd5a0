/* Values of u4x32: a struct of four words, which GCC takes apart where it is no element of a
 * buffer.
 */
#ifndef TSR_CODEGEN_JIT_WORDS_H
#define TSR_CODEGEN_JIT_WORDS_H

#include "codegen/jit_context.h"
#include "codegen/jit_function.h"

/* x = Threefry-4x32-20 of the counter x; the values are kept. */
void jit_threefry(JitFunction *f, Rvalue *const key[4], Rvalue *x[4]);
/* An operation on u4x32, as base/ops.h says. Requires: one of those. */
Rvalue *jit_words_op(JitFunction *f, Op op, Rvalue *const *args);
/* The words of an i64, of an i32 without arithmetic in 64 bits, and a number in [0, 1) of word
 * 0. */
Rvalue *jit_words_of_i32(JitFunction *f, Rvalue *integer);
Rvalue *jit_words_of(JitFunction *f, Rvalue *integer);
Rvalue *jit_words_uniform(JitFunction *f, Rvalue *words);
Rvalue *jit_words_constant(Jit *jit, Scalar constant);

#endif
