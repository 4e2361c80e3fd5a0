/* Pairs of samples, one of each code, in turn. A sample is as many calls as take SAMPLE_SECONDS; which
 * of the two comes first alternates. What counts is the median of their ratios: what disturbs one
 * sample disturbs one pair, and what lasts longer disturbs both of it.
 *
 * One thread is measured by its processor time. Several have the clock, which goes on while another process
 * has a CPU: a sample is the least of CLOCK_SAMPLES then.
 */
#include "tune/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/element.h"
#include "base/threefry.h"
#include "runtime/tsr.h"
#include "tune/trial.h"

enum { PAIRS_FIRST = 5, INTEGERS = 4, CALLS_MOST = 1 << 20, CLOCK_SAMPLES = 3 };
#define SAMPLE_SECONDS 1e-3
#define SLOWER_FAR 3.0
#define GAIN_LEAST 1.02
#define WON_LEAST 0.75

/* One routine at one size, in one module. */
typedef struct Side {
	tsr_session *session;
	double seconds; /* of a call */
} Side;

typedef struct Case {
	const char *routine;
	const TuneSizes *sizes; /* NULL: there are no symbolic dims */
	tsr_array *inputs;
	int32_t ninputs;
	Side best, it;
	long calls; /* of a sample */
} Case;

typedef struct Bench {
	const Measure *measure;
	FILE *out;
	tsr_model *policy, *best, *it;
	tsr_pool *pool; /* NULL: one thread */
	double start;	/* of now_seconds */
	VEC(Case) cases;
} Bench;

static int failed(const Bench *b, const char *routine, const tsr_error *error)
{
	fprintf(b->out, "%s: %s\n", routine, error->text);
	return MEASURE_FAILED;
}

/* ---- arguments ---- */

static Dtype dtype_of(const tsr_array *array)
{
	return dtype_from_name(array->dtype, strlen(array->dtype));
}

static int64_t elements_of(const tsr_array *array)
{
	int64_t n = 1;
	for (int32_t i = 0; i < array->rank; i++)
		n *= array->extents[i];
	return n;
}

/* Floats from -1 to 1; integers below `limit`, which as indices often are inside. */
static void fill(tsr_array *array, uint64_t seed, int limit)
{
	Dtype dtype = dtype_of(array);
	for (int64_t i = 0, n = elements_of(array); i < n; i++) {
		double u = (double)threefry_uniform(threefry_word(seed, 1, (uint64_t)i));
		Scalar value = dtype_is_float(dtype) ? scalar_of(dtype, 2 * u - 1)
						     : (Scalar){.i = (int64_t)(u * limit)};
		scalar_write(dtype, array->data, i, value);
	}
}

static void set_dims(const Case *c, tsr_session *s, const tsr_module *module)
{
	const tsr_routine *routine = tsr_session_routine(s);
	for (int32_t i = 0; i < routine->ndims; i++)
		for (size_t k = 0; k < c->sizes->n; k++)
			if (strcmp(module->dims[routine->dims[i]].name, c->sizes->at[k].name) == 0)
				tsr_set_dim(s, c->sizes->at[k].name, c->sizes->at[k].value, NULL);
}

static int make_inputs(Bench *b, Case *c, tsr_session *s)
{
	const tsr_routine *routine = tsr_session_routine(s);
	tsr_error error;
	c->ninputs = routine->ninputs;
	c->inputs = ARENA_ARRAY(b->measure->arena, tsr_array, (size_t)routine->ninputs + 1);
	for (int32_t i = 0; i < routine->ninputs; i++) {
		tsr_array *input = &c->inputs[i];
		if (tsr_expected(s, routine->inputs[i].name, input, &error) != TSR_OK)
			return failed(b, c->routine, &error);
		size_t bytes = (input->bytes + 63) / 64 * 64;
		input->data = aligned_alloc(64, bytes ? bytes : 64);
		if (!input->data) {
			snprintf(error.text, sizeof error.text, "memory is short");
			return failed(b, c->routine, &error);
		}
		fill(input, (uint64_t)i, INTEGERS);
	}
	return 0;
}

/* A session of the case that has run once. Indices that are outside give way to smaller ones. */
static int set_up(Bench *b, Case *c, const tsr_model *model, tsr_session **session)
{
	tsr_error error;
	tsr_session *s = *session = tsr_session_new(model, c->routine, &error);
	if (!s)
		return failed(b, c->routine, &error);
	tsr_set_pool(s, b->pool);
	if (c->sizes)
		set_dims(c, s, tsr_table(model));
	const tsr_routine *routine = tsr_session_routine(s);
	for (int32_t i = 0; i < routine->nscalars; i++)
		tsr_set_scalar(s, routine->scalars[i].name, 1, NULL);
	if (!c->inputs && make_inputs(b, c, s) != 0)
		return MEASURE_FAILED;
	int code = TSR_OK;
	for (int32_t i = 0; i < routine->ninputs && code == TSR_OK; i++)
		code = tsr_set_input(s, routine->inputs[i].name, &c->inputs[i], &error);
	if (code == TSR_OK)
		code = tsr_prepare(s, &error);
	if (code == TSR_OK)
		code = tsr_execute(s, &error);
	for (int limit = INTEGERS / 2; code >= TSR_CHECK_FIRST && limit > 0; limit /= 2) {
		for (int32_t i = 0; i < c->ninputs; i++)
			fill(&c->inputs[i], (uint64_t)i, limit);
		code = tsr_execute(s, &error);
	}
	return code == TSR_OK ? 0 : failed(b, c->routine, &error);
}

/* ---- numbers ---- */

static double magnitude(const tsr_array *array)
{
	double most = 0;
	for (int64_t i = 0, n = elements_of(array); i < n; i++) {
		double x = fabs(scalar_read(dtype_of(array), array->data, i).f);
		most = isfinite(x) && x > most ? x : most;
	}
	return most;
}

/* Where they differ by more than is allowed; -1: nowhere. */
static int64_t difference(const tsr_array *right, const tsr_array *got, double tolerance)
{
	Dtype dtype = dtype_of(right);
	bool real = dtype_is_float(dtype);
	double most = real ? tolerance * magnitude(right) : 0;
	for (int64_t i = 0, n = elements_of(right); i < n; i++) {
		Scalar a = scalar_read(dtype, right->data, i), b = scalar_read(dtype, got->data, i);
		bool nans = real && isnan(a.f) && isnan(b.f);
		if (a.i != b.i && !nans && !(real && tolerance > 0 && fabs(a.f - b.f) <= most))
			return i;
	}
	return -1;
}

static int same_array(const Bench *b, const char *name, const tsr_array *right,
		      const tsr_array *got)
{
	int64_t at = difference(right, got, b->measure->tolerance);
	if (at >= 0)
		fprintf(b->out, "%s differs at element %lld\n", name, (long long)at);
	return at < 0 ? 0 : MEASURE_DIFFERS;
}

/* Results, and parameters, which the routine may have assigned to. */
static int same_numbers(const Bench *b, const tsr_session *right, const tsr_session *got)
{
	const tsr_routine *routine = tsr_session_routine(right);
	const tsr_module *module = tsr_table(b->policy);
	int status = 0;
	for (int32_t i = 0; i < routine->noutputs && status == 0; i++)
		status = same_array(b, routine->outputs[i].name, tsr_output_at(right, i),
				    tsr_output_at(got, i));
	for (int32_t i = 0; i < module->nparams && status == 0; i++) {
		tsr_array a, c;
		if (tsr_param(right, module->params[i].name, &a, NULL) == TSR_OK &&
		    tsr_param(got, module->params[i].name, &c, NULL) == TSR_OK)
			status = same_array(b, module->params[i].name, &a, &c);
	}
	return status;
}

static int compare(Bench *b, Case *c)
{
	tsr_session *right = NULL;
	int status = set_up(b, c, b->policy, &right);
	if (status == 0)
		status = same_numbers(b, right, c->it.session);
	tsr_session_free(right);
	return status;
}

/* ---- times ---- */

static double spent(const Bench *b)
{
	struct timespec t;
	clock_gettime(b->pool ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds of a call. Nothing can fail that has run. */
static double sample_once(const Bench *b, const Side *side, long calls)
{
	double start = spent(b);
	for (long i = 0; i < calls; i++)
		tsr_execute(side->session, NULL);
	return (spent(b) - start) / (double)calls;
}

static double sample(const Bench *b, const Side *side, long calls)
{
	double least = sample_once(b, side, calls);
	for (int i = 1; i < CLOCK_SAMPLES && b->pool; i++)
		least = fmin(least, sample_once(b, side, calls));
	return least;
}

static void warm_up(const Bench *b, Case *c)
{
	c->calls = 1;
	for (;;) {
		c->best.seconds = sample(b, &c->best, c->calls);
		c->it.seconds = sample(b, &c->it, c->calls);
		if (c->best.seconds * (double)c->calls >= SAMPLE_SECONDS || c->calls >= CALLS_MOST)
			return;
		c->calls *= 2;
	}
}

/* Of all cases together: the geometric mean of the ratios. */
static double pair(Bench *b, int number)
{
	double sum = 0;
	for (size_t i = 0; i < b->cases.n; i++) {
		Case *c = &b->cases.at[i];
		Side *first = number % 2 ? &c->it : &c->best,
		     *second = number % 2 ? &c->best : &c->it;
		first->seconds = sample(b, first, c->calls);
		second->seconds = sample(b, second, c->calls);
		sum += log(c->best.seconds / c->it.seconds);
	}
	return exp(sum / (double)b->cases.n);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static Measured summary(const double *ratios, int n)
{
	double sorted[MEASURE_PAIRS];
	Measured m = {.pairs = n};
	memcpy(sorted, ratios, (size_t)n * sizeof *ratios);
	qsort(sorted, (size_t)n, sizeof *sorted, by_value);
	m.times = sorted[n / 2];
	for (int i = 0; i < n; i++)
		m.won += (ratios[i] > 1) / (double)n;
	return m;
}

static bool is_far_slower(const Bench *b)
{
	double sum = 0;
	for (size_t i = 0; i < b->cases.n; i++)
		sum += log(b->cases.at[i].it.seconds / b->cases.at[i].best.seconds);
	return exp(sum / (double)b->cases.n) > SLOWER_FAR;
}

static Measured measure_pairs(Bench *b)
{
	double ratios[MEASURE_PAIRS];
	Measured m = {0};
	bool whole = b->measure->whole;
	double end = b->measure->seconds > 0 ? b->start + b->measure->seconds : INFINITY;
	for (size_t i = 0; i < b->cases.n; i++)
		warm_up(b, &b->cases.at[i]);
	int most = is_far_slower(b) && !whole ? 1 : MEASURE_PAIRS;
	for (int i = 0; i < most; i++) {
		ratios[i] = pair(b, i);
		m = summary(ratios, i + 1);
		if ((!whole && i + 1 == PAIRS_FIRST && m.times < 1) || now_seconds() >= end)
			break;
	}
	for (size_t i = 0; i < b->cases.n; i++)
		m.seconds += b->cases.at[i].best.seconds;
	return m;
}

/* ---- the whole ---- */

static bool open_models(Bench *b)
{
	const Measure *m = b->measure;
	int threads = m->request->threads;
	tsr_error error;
	b->pool = threads > 1 ? tsr_pool_new(threads, &error) : NULL;
	b->best = b->pool || threads == 1 ? tsr_open(m->best, &error) : NULL;
	b->it = b->best ? tsr_open(m->it, &error) : NULL;
	b->policy = b->it && m->policy ? tsr_open(m->policy, &error) : NULL;
	bool good = b->it && (b->policy || !m->policy);
	if (!good)
		fprintf(b->out, "%s\n", error.text);
	return good;
}

static int set_up_case(Bench *b, const char *routine, const TuneSizes *sizes)
{
	Case c = {.routine = routine, .sizes = sizes};
	int status = set_up(b, &c, b->best, &c.best.session);
	if (status == 0)
		status = set_up(b, &c, b->it, &c.it.session);
	if (status == 0 && b->policy)
		status = compare(b, &c);
	PUSH(b->measure->arena, b->cases, c);
	return status;
}

int measure_run(const Measure *measure, FILE *out)
{
	Bench b = {.measure = measure, .out = out, .start = now_seconds()};
	if (!open_models(&b))
		return MEASURE_FAILED;
	const tsr_module *module = tsr_table(b.best);
	const TuneRequest *request = measure->request;
	size_t nsizes = request->nsizes ? request->nsizes : 1;
	int status = 0;
	for (int32_t i = 0; i < module->nroutines && status == 0; i++)
		for (size_t k = 0; k < nsizes && status == 0; k++)
			status = set_up_case(&b, module->routines[i].name,
					     request->nsizes ? &request->sizes[k] : NULL);
	if (status != 0)
		return status;
	Measured m = measure_pairs(&b);
	fprintf(out, "%a %a %d %a\n", m.times, m.won, m.pairs, m.seconds);
	return 0;
}

bool measure_read(const char *text, Measured *m)
{
	return sscanf(text, "%la %la %d %la", &m->times, &m->won, &m->pairs, &m->seconds) == 4;
}

bool measure_is_faster(const Measured *m)
{
	return m->pairs == MEASURE_PAIRS && m->times >= GAIN_LEAST && m->won >= WON_LEAST;
}
