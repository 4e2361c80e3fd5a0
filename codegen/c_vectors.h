/* The vectors of a file of C, and what is written of them. */
#ifndef TSR_CODEGEN_C_VECTORS_H
#define TSR_CODEGEN_C_VECTORS_H

#include "codegen/c_text.h"

enum { C_TOGETHER = 2 }; /* vectors that a function is computed for side by side */

enum { C_LANES_MOST = 32 }; /* of a vector */

enum { C_PART_BYTES = 16 }; /* inside which shuffles of all processors move elements */

/* What a file uses of vectors, bit by number of lanes. */
struct CVectors {
	uint64_t used[4];		     /* by the logarithm of an element's bytes */
	uint64_t strided;		     /* of strided elements */
	uint64_t squares[DTYPE_COUNT];	     /* transposed, by what stands for a type of vectors */
	uint64_t masked;		     /* of f32, of which some lanes are loaded and stored */
	uint64_t math[OP_COUNT][C_TOGETHER]; /* functions of f32, by number of vectors less 1 */
	bool groups[DTYPE_COUNT][DTYPE_COUNT]; /* sums of products of neighbours, by dtypes */
	uint64_t helped;		       /* of f32, with square roots, extremes */
	uint64_t converted[DTYPE_COUNT];       /* neighbours, by their dtype */
	uint64_t halves[2]; /* of i32, of four bits each: that begin with a byte, and others */
	uint64_t words;	    /* of i32, of eight elements of four bits each */
	bool tables;	    /* functions of an element of four bits are looked up */
	uint64_t fused[2];  /* sums rounded once, of f32 and f64 */
	bool halves_alone;  /* elements of f16 that stay alone are widened */
};
/* Their types, once all that uses them is written. */
void c_put_vectors(FILE *out, const Module *module);
/* One dtype of all whose elements have the same vectors: of what is only stored, the bits. */
Dtype c_vector_dtype(Dtype dtype);
/* "tsr_f32x16" */
const char *c_vector_type(Arena *arena, Dtype dtype, int lanes);
/* Notes that the type is used. */
void c_vector_use(const Module *module, Dtype dtype, int lanes);
/* c_fused.c: a sum of vectors that is rounded once, of the arguments a, b, rest, each a vector or what is the same in
 * all lanes, but not all three; those that are used. */
const char *c_vector_fused(const Module *module, Dtype dtype, int lanes, FusedSigns signs,
			   const char *const args[3]);
void c_put_vectors_fused(FILE *out, const Module *module);
/* c_convert.c: conversions of neighbours whose results those of single elements have; of those from an element on. */
bool c_vector_casts(Dtype from, Dtype to);
const char *c_vector_cast(const Module *module, Dtype from, Dtype to, int lanes,
			  const char *element);
/* Those that are used. */
void c_put_conversions(FILE *out, const Module *module);
/* c_transpose.c: the function of such rows, from its address to the transpose's; those that are used. */
const char *c_transpose_function(Arena *arena, const char *type);
void c_put_transposes(FILE *out, const Module *module);
/* c_lanes_groups.c: the functions of sums of products that are used. */
void c_put_groups(FILE *out, const Module *module);
/* c_lanes_packed.c: what takes elements of four bits apart. */
void c_put_lanes_packed(FILE *out, const Module *module);
/* c_math_lanes.c: has the function of f32 a form for vectors of C? */
bool c_has_lanes(const Module *module, Op op);
/* Its name, of so many vectors. */
const char *c_lanes_function(Arena *arena, Op op, int lanes, uint32_t vectors);
/* Those that are used. */
void c_put_lanes_math(FILE *out, const Module *module);

#endif
