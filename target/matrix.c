#include "target/matrix.h"

#include <math.h>
#include <string.h>

static const MatrixRow rows[] = {
#define MATRIX(NAME, text, m, n, k, format, ptx) {text, m, n, k, format, ptx},
#include "target/matrix.def"
#undef MATRIX
};

const MatrixRow *matrix_row(MatrixOp op) { return &rows[op]; }

const char *matrix_role_name(MatrixRole role)
{
	static const char *const names[] = {"", "matrix_a", "matrix_b", "accumulator"};
	return names[role];
}

uint32_t matrix_rows(MatrixOp op, MatrixRole role)
{
	return role == ROLE_B ? rows[op].k : rows[op].m;
}

uint32_t matrix_columns(MatrixOp op, MatrixRole role)
{
	return role == ROLE_A ? rows[op].k : rows[op].n;
}

/* Toward zero. */
static float cut(double x)
{
	float near = (float)x;
	if (isinf(near) && fabs(x) < 0x1p128)
		return copysignf(0x1.fffffep127f, near);
	return fabs((double)near) > fabs(x) ? nextafterf(near, 0) : near;
}

float matrix_sum(float c, const double *products, int n)
{
	enum { KEPT = 25 };
	double plain = (double)c, sum;
	int most = c != 0 ? ilogb((double)c) : INT32_MIN;
	for (int i = 0; i < n; i++) {
		plain += products[i];
		if (products[i] != 0 && isfinite(products[i]) && ilogb(products[i]) > most)
			most = ilogb(products[i]);
	}
	if (!isfinite(plain) || most == INT32_MIN)
		return (float)plain;
	sum = trunc(ldexp((double)c, KEPT - most));
	for (int i = 0; i < n; i++)
		sum += trunc(ldexp(products[i], KEPT - most));
	return cut(ldexp(sum, most - KEPT));
}

float matrix_tf32(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	if (!isfinite(x))
		return x;
	bits = (bits + 0x1000) & 0xffffe000;
	memcpy(&x, &bits, sizeof bits);
	return x;
}
