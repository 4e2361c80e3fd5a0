/* Matrix instructions of GPUs, a row of matrix.def each, and how their tensor cores add. */
#ifndef TSR_TARGET_MATRIX_H
#define TSR_TARGET_MATRIX_H

#include <stdint.h>

/* TF32: f32 of which 10 bits behind the first count. */
typedef enum MatrixFormat { FORMAT_BF16, FORMAT_F16, FORMAT_TF32 } MatrixFormat;

typedef enum MatrixOp {
#define MATRIX(NAME, text, m, n, k, format, ptx) MATRIX_##NAME,
#include "target/matrix.def"
#undef MATRIX
	MATRIX_COUNT
} MatrixOp;

/* What a matrix is to the instruction: its first factor, m x k, its second, k x n, or its sums, m x n. */
typedef enum MatrixRole { ROLE_NONE, ROLE_A, ROLE_B, ROLE_ACCUMULATOR, ROLE_COUNT } MatrixRole;

typedef struct MatrixRow {
	const char *text;
	uint32_t m, n, k;
	MatrixFormat format;
	const char *ptx;
} MatrixRow;

enum { WARP = 32, MATRIX_K_MOST = 16 }; /* threads; of k */

/* The operation's row of target/matrix.def. */
const MatrixRow *matrix_row(MatrixOp op);
/* "matrix_a", "matrix_b", "accumulator" */
const char *matrix_role_name(MatrixRole role);
/* Rows and columns of a matrix in that role. */
uint32_t matrix_rows(MatrixOp op, MatrixRole role);
uint32_t matrix_columns(MatrixOp op, MatrixRole role);

/* c plus n products, which are exact, as tensor cores of an H100 were measured to add: all terms are aligned to the
 * largest exponent E among them, cut toward zero below 2^(E - 25), and added exactly; the sum is cut toward
 * zero to f32. Where a term is infinite or no number, so is the sum. */
float matrix_sum(float c, const double *products, int n);
/* The nearest number of tf32, of two the one further from zero. */
float matrix_tf32(float x);

#endif
