#include <math.h>

#include "base/element.h"
#include "base/threefry.h"
#include "runtime/cuda/first.h"

/* Drawn in f64 for f64, else in f32. */
static Scalar uniform_at(Dtype dtype, double bound, float u)
{
	if (dtype == DTYPE_F64)
		return (Scalar){.f = (2 * (double)u - 1) * bound};
	return scalar_of(dtype, (double)((2 * u - 1) * (float)bound));
}

void first_fill(const PlanParam *param, Dtype dtype, int64_t fan, uint64_t seed, void *elements,
		int64_t n)
{
	bool uniform = param->first == PLAN_UNIFORM;
	double bound = 1 / sqrt((double)(fan > 0 ? fan : 1));
	Scalar value = uniform ? (Scalar){0} : scalar_of(dtype, param->value);
	for (int64_t i = 0; i < n; i++) {
		if (uniform)
			value = uniform_at(
				dtype, bound,
				threefry_uniform(threefry_word(seed, param->key, (uint64_t)i)));
		scalar_write(dtype, elements, i, value);
	}
}
