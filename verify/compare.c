/* Results and parameters, an element after another. */
#include "verify/compare.h"

#include <inttypes.h>
#include <math.h>

/* ---- two calls ---- */

static double magnitude(const VerifyBlock *block)
{
	double most = 0;
	for (int64_t i = 0; i < block->n; i++) {
		double x = fabs(scalar_read(block->dtype, block->bytes, i).f);
		if (isfinite(x) && x > most)
			most = x;
	}
	return most;
}

/* 0 for equal numbers and for two NaNs, infinite where only one is finite. */
static double difference(double a, double b, double scale)
{
	if (a == b || (isnan(a) && isnan(b)))
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return fabs(a - b) / scale;
}

typedef struct Arrays {
	VerifyBlock a, b;
	const RefTensor *right; /* NULL: not known */
	const char *name;
} Arrays;

static void compare_arrays(VerifyDifference *d, const Arrays *both)
{
	const VerifyBlock *a = &both->a, *b = &both->b;
	bool real = dtype_is_float(a->dtype);
	double scale = real ? magnitude(a) : 1;
	for (int64_t i = 0; i < a->n; i++) {
		Scalar x = scalar_read(a->dtype, a->bytes, i),
		       y = scalar_read(b->dtype, b->bytes, i);
		if (x.i == y.i || (real && isnan(x.f) && isnan(y.f)))
			continue;
		d->bits = false;
		if (both->right && both->right->elements[i].jumps)
			continue;
		double by = real ? difference(x.f, y.f, scale > 0 ? scale : 1) : INFINITY;
		if (!d->where || by > d->largest) {
			d->largest = by;
			d->where = both->name;
		}
	}
	d->values += a->n;
}

static const RefTensor *right_output(const VerifyRight *right, uint32_t i)
{
	return right->result ? &right->result->outputs[i] : NULL;
}

static const RefTensor *right_param(const VerifyRight *right, size_t i)
{
	const RefTensor *param = right->result ? &right->result->params[right->params[i]] : NULL;
	return param && param->elements ? param : NULL;
}

VerifyDifference verify_compare(const VerifyCall *expected, const VerifyCall *got,
				const VerifyRight *right)
{
	VerifyDifference d = {.bits = true};
	const Program *program = expected->program;
	for (uint32_t i = 0; i < expected->routine->noutputs; i++)
		compare_arrays(&d, &(Arrays){expected->outputs[i], got->outputs[i],
					     right_output(right, i),
					     expected->routine->outputs[i].name});
	for (size_t i = 0; i < program->params.n; i++) {
		Arrays params = {verify_call_param(expected, i), verify_call_param(got, i),
				 right_param(right, i), program->params.at[i].name};
		if (params.a.bytes)
			compare_arrays(&d, &params);
	}
	return d;
}

/* ---- the reference ---- */

static const char *number_text(Arena *arena, Dtype dtype, Scalar value)
{
	return dtype_is_float(dtype) ? arena_printf(arena, "%.9g", value.f)
				     : arena_printf(arena, "%" PRId64, value.i);
}

static void hold_against(VerifyDifference *d, const VerifyRight *right, const Arrays *both)
{
	const VerifyBlock *got = &both->a;
	bool real = dtype_is_float(got->dtype);
	double scale = real ? magnitude(got) : 0;
	for (int64_t i = 0; i < got->n; i++) {
		const RefElement *element = &both->right->elements[i];
		Scalar x = scalar_read(got->dtype, got->bytes, i);
		double by =
			real && !element->jumps ? difference(x.f, (double)element->x, scale) : 0;
		d->exact += real && element->error == 0;
		d->open += !ref_says_something(element, got->dtype);
		d->largest = isfinite(by) && by > d->largest ? by : d->largest;
		if (d->wrong || ref_allows(element, got->dtype, x))
			continue;
		d->wrong =
			arena_printf(right->arena, "%s[%" PRId64 "] is %s, expected %.9g +- %.2g",
				     both->name, i, number_text(right->arena, got->dtype, x),
				     (double)element->x, element->error);
	}
	d->values += got->n;
}

VerifyDifference verify_against(const VerifyRight *right, const VerifyCall *got)
{
	VerifyDifference d = {.bits = true};
	const Program *program = got->program;
	for (uint32_t i = 0; i < got->routine->noutputs; i++)
		hold_against(&d, right,
			     &(Arrays){.a = got->outputs[i],
				       .right = right_output(right, i),
				       .name = got->routine->outputs[i].name});
	for (size_t i = 0; i < program->params.n; i++) {
		Arrays param = {.a = verify_call_param(got, i),
				.right = right_param(right, i),
				.name = program->params.at[i].name};
		if (param.a.bytes && param.right)
			hold_against(&d, right, &param);
	}
	return d;
}
