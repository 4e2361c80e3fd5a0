/* Statements that add products of neighbours, and loops of such that are a product of two matrices.
 *
 *   vector lane in 0..16                          a lane adds the products of a word: 4 of bytes, 2 of bf16
 *     acc[lane] += i32(a[i]) * i32(b[j + lane*4]) + ... + i32(a[i + 3]) * i32(b[j + lane*4 + 3])
 *
 *   matrix r in 0..32                             rows x words and words x columns, which become rows x columns
 *     unroll q in 0..16
 *       vector lane in 0..32
 *         acc[r, lane] += f32(a[i + r*512 + q*2]) * f32(b[j + q*64 + lane*2]) + ... * f32(b[j + q*64 + lane*2 + 1])
 */
#ifndef TSR_LOOPS_MATRIX_H
#define TSR_LOOPS_MATRIX_H

#include "loops/loops.h"

typedef struct LaneProducts {
	const Value *factors[2]; /* loads of the first elements of words */
	bool shared[2];		 /* all lanes share the factor's word */
	uint32_t n, all;	 /* products; elements of a word */
} LaneProducts;

/* Does the statement set or store a sum of `n` products of i8, u8 or bf16, of elements that are
 * neighbours: of a word for each lane, or, of one factor at least, fewer of a word that all lanes share? */
bool lane_products(Program *program, const Stmt *stmt, IterVar lane, LaneProducts *products);

/* Sums of as many products as a word of 32 bits has elements of four bits:
 *
 *   vector lane in 0..16
 *     acc[lane] += i32(a[i]) * i32(w[j + lane*8]) + ... + i32(a[i + 7]) * i32(w[j + lane*8 + 7])
 */
typedef struct WordProducts {
	const Value *bytes;    /* load of the first, of i8 or u8, which all lanes share */
	const Value *elements; /* load of the first, of i4 or u4 */
} WordProducts;

/* Does the statement set or store such a sum? */
bool word_products(Program *program, const Stmt *stmt, IterVar lane, WordProducts *products);

typedef struct MatrixProduct {
	const Stmt *rows, *words, *lanes; /* the loops, outermost first */
	const Stmt *set;
	const Value *a, *b; /* loads of the first elements of words: of the rows, of the columns */
	int64_t nrows, nwords, ncolumns;
} MatrixProduct;

/* Is a LOOP_MATRIX what stands above? */
bool matrix_product(Program *program, const Stmt *loop, MatrixProduct *product);
/* Does the statement hold nothing but products that `fits` takes (and hints), of the same rows and columns,
 * which add to the same elements of a local? Then the first of them. */
typedef bool (*MatrixFits)(const Target *target, const MatrixProduct *product);
bool matrix_only(Program *program, const Stmt *stmt, MatrixFits fits, MatrixProduct *first);
/* Is there a LOOP_MATRIX in the block? `chunks`: in parallel loops too. */
bool block_has_matrix(Block block, bool chunks);

#endif
