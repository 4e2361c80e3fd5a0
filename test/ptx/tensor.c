/* How tensor cores add. */
#include <float.h>
#include <math.h>

#include "test/ptx/matrix.h"
#include "test/ptx/number.h"

enum { KEPT = 25 }; /* bits below the largest exponent */

static float cut_to_f32(double x)
{
	if (fabs(x) > FLT_MAX)
		return fabs(x) >= 0x1p128 ? copysignf(INFINITY, (float)x) : copysignf(FLT_MAX, (float)x);
	float near = (float)x;
	return fabs((double)near) > fabs(x) ? nextafterf(near, 0) : near;
}

float ptx_tensor_sum(const double *products, int n, float c)
{
	double most = fabs((double)c), plain = c;
	for (int i = 0; i < n; i++) {
		most = fmax(most, fabs(products[i]));
		plain += products[i];
	}
	if (!isfinite(plain))
		return (float)plain;
	if (most == 0)
		return (float)plain;
	int exponent;
	frexp(most, &exponent); /* most < 2^exponent */
	double unit = ldexp(1, exponent - 1 - KEPT), scale = 1 / unit;
	double sum = trunc((double)c * scale);
	for (int i = 0; i < n; i++)
		sum += trunc(products[i] * scale);
	return cut_to_f32(sum * unit);
}

double ptx_tensor_element(PtxType type, uint64_t bits)
{
	return type == TYPE_tf32 ? ptx_f32(bits & 0xffffe000) : ptx_number(type, bits);
}
