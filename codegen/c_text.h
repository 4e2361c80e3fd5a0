/* What the writers of C share. */
#ifndef TSR_CODEGEN_C_TEXT_H
#define TSR_CODEGEN_C_TEXT_H

#include "codegen/fused.h"
#include "codegen/math.h"
#include "codegen/module.h"

extern const char *const tsr_call_text; /* the guarded text of runtime/tsr.h */

/* The comments above declarations of a header: of a routine, with its arrays and workspace; of `init`, with
 * the parameters' places in the state; of `pack`. Requires: a routine of the module. */
void c_put_routine_comment(FILE *out, const Module *module, uint32_t routine);
void c_put_init_comment(FILE *out, const Module *module);
void c_put_pack_comment(FILE *out, const Module *module);
/* Writes module->emit->output with `put`; false after a diagnostic. */
bool c_write(const Module *module, void (*put)(FILE *out, const Module *module));

/* c_value.c: the helper functions that the operations and conversions in use need. */
void c_put_helpers(FILE *out, const Module *module);
/* c_words.c: the same of u4x32. */
void c_put_words(FILE *out, const Module *module, const KernelUse *all);
/* c_fused.c: what compilers are told of sums with products, and the macro of those that are rounded once; such a
 * sum of C expressions a, b, rest. */
void c_put_fused(FILE *out, const Module *module);
/* ... the same of CUDA C, behind its layer. */
void c_put_gpu_fused(FILE *out, const Module *module);
const char *c_fused(Arena *arena, FusedSigns signs, const char *const args[3]);
/* c_math.c: the body of a function of math.h, over x and y; of an operation in one of the forms that it has where sums
 * are rounded once and where they are not; what such bodies call. */
void c_put_math(FILE *out, const Module *module, const MathFunction *fn);
void c_put_math_forms(FILE *out, const Module *module, Op op, Dtype dtype);
void c_put_math_tables(FILE *out, Arena *arena, Op op, Dtype dtype);
void c_put_math_helpers(FILE *out);
/* c_function.c: all kernels as static functions. */
void c_put_kernels(FILE *out, const Module *module);
/* c_loop.c: has a kernel loops that are written out, as those of tiles in registers? */
bool c_has_tiles(const Module *module);
/* emit_c.c: the elements of a constant, declared `as` "static const".
 * Requires: a constant of the program. */
void c_put_constant(FILE *out, const Module *module, size_t index, const char *as);
/* c_routine.c: arithmetic of sizes that may not fit; entry functions and the state, which call it. */
void c_put_checked(FILE *out);
void c_put_routines(FILE *out, const Module *module);

/* Is the operation an operator of C, or its operand itself? */
bool c_is_infix(Op op, Dtype dtype);
/* One operation of arguments that are C expressions: an expression, in parentheses where needed. */
const char *c_op(Arena *arena, Op op, Dtype dtype, const char *const *args);
/* ... of its fast or far form, by the prefix of the name. */
const char *c_call(Arena *arena, const char *form, Op op, Dtype dtype, const char *const *args);
/* A conversion of a C expression, and a constant, as C expressions in the arena. */
const char *c_cast(Arena *arena, Dtype from, Dtype to, const char *value);
const char *c_constant(Arena *arena, Dtype dtype, Scalar constant);
/* What c_size.c keeps while a file is written. */
typedef VEC(Size) CSizeList;
struct CSizes {
	CSizeList functions; /* tsr_size_N */
	CSizeList totals;    /* tsr_total_N, of the function that is being written */
};

/* c_size.c: a size as an expression over the dims' names: unchecked; or TSR_NONE where a result does
 * not fit or a quotient leaves a remainder. Running totals must have been declared. */
const char *c_size(const Module *module, Size size);
const char *c_checked_size(const Module *module, Size size);
/* A function begins, in which no total is declared. */
void c_begin_totals(const Module *module);
/* Declares the total, and those that it is made of, unless the function has them. */
void c_put_totals(FILE *out, const Module *module, Size size);
/* The functions of long sums: declarations, and definitions, once all that calls them is written. */
void c_put_size_declarations(FILE *out, const Module *module);
void c_put_sizes(FILE *out, const Module *module);

#endif
