/* Two modules of one program in turn: readable MODULE MODULE [DIM=VALUE...] [INPUT<LIMIT...]
 *
 * Both run the routine forward on one thread, on the same inputs: floats from -1 to 1, whole numbers
 * from 0 to below LIMIT (2); parameters are what initialisers make. A sample is as many calls as take
 * a millisecond of the processor's time, and the two take turns in being first. Prints the least time
 * of a call of each, and the greatest difference of two results relative to the greatest element of
 * their array, as JSON. */
#define _GNU_SOURCE
#define TOOL "readable"
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/element.h"
#include "base/threefry.h"
#include "module.h"

enum { TURNS_LEAST = 5, TURNS_MOST = 200, LIMIT = 2 };
#define SAMPLE_NS 1e6
#define LEAST_NS 4e8

typedef struct Side {
	tsr_session *session;
	double least; /* ns of a call */
} Side;

static Dtype dtype_of(const tsr_array *a) { return dtype_from_name(a->dtype, strlen(a->dtype)); }

/* What whole numbers of that input stay below. */
static int64_t limit_of(char **words, const char *name)
{
	size_t n = strlen(name);
	for (; *words; words++)
		if (strncmp(*words, name, n) == 0 && (*words)[n] == '<')
			return atoll(*words + n + 1);
	return LIMIT;
}

static void fill(tsr_array *a, uint64_t seed, int64_t limit)
{
	size_t bytes = (a->bytes + 63) / 64 * 64;
	Dtype dtype = dtype_of(a);
	a->data = aligned_alloc(64, bytes ? bytes : 64);
	need(a->data != NULL);
	for (int64_t i = 0, n = count(a); i < n; i++) {
		double u = (double)threefry_uniform(threefry_word(seed, 1, (uint64_t)i));
		Scalar value = dtype_is_float(dtype) ? scalar_of(dtype, 2 * u - 1)
						     : (Scalar){.i = (int64_t)(u * (double)limit)};
		scalar_write(dtype, a->data, i, value);
	}
}

static tsr_session *prepared(const char *path, char **words)
{
	tsr_model *model = tsr_open(path, &error);
	need(model != NULL);
	tsr_session *s = tsr_session_new(model, "forward", &error);
	need(s != NULL);
	for (char **word = words; *word; word++) {
		char name[64];
		long long value;
		if (sscanf(*word, "%63[^=<]=%lld", name, &value) == 2)
			need(tsr_set_dim(s, name, value, &error) == TSR_OK);
	}
	need(tsr_resolve(s, &error) == TSR_OK);
	const tsr_routine *r = tsr_session_routine(s);
	for (int32_t i = 0; i < r->ninputs; i++) {
		tsr_array x;
		need(tsr_expected(s, r->inputs[i].name, &x, &error) == TSR_OK);
		fill(&x, (uint64_t)i, limit_of(words, r->inputs[i].name));
		need(tsr_set_input(s, r->inputs[i].name, &x, &error) == TSR_OK);
	}
	need(tsr_prepare(s, &error) == TSR_OK);
	need(tsr_execute(s, &error) == TSR_OK);
	return s;
}

/* NaN where one is a number and the other none. */
static double difference(const tsr_array *a, const tsr_array *b)
{
	double most = 0, greatest = 0;
	Dtype dtype = dtype_of(a);
	for (int64_t i = 0, n = count(a); i < n; i++) {
		Scalar s = scalar_read(dtype, a->data, i), t = scalar_read(dtype, b->data, i);
		double x = dtype_is_float(dtype) ? s.f : (double)s.i,
		       y = dtype_is_float(dtype) ? t.f : (double)t.i;
		if (isfinite(x))
			greatest = fmax(greatest, fabs(x));
		if (isnan(x) != isnan(y))
			return NAN;
		if (x != y && !isnan(x))
			most = fmax(most, fabs(x - y));
	}
	return most ? most / greatest : 0;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double sample(Side *side, long calls)
{
	double start = now();
	for (long c = 0; c < calls; c++)
		need(tsr_execute(side->session, &error) == TSR_OK);
	double ns = (now() - start) / (double)calls;
	side->least = fmin(side->least, ns);
	return ns;
}

static void take_turns(Side sides[2])
{
	long calls = (long)(SAMPLE_NS / fmin(sample(&sides[0], 2), sample(&sides[1], 2))) + 1;
	double start = now();
	for (int turn = 0; turn < TURNS_MOST && (turn < TURNS_LEAST || now() - start < LEAST_NS); turn++) {
		sample(&sides[turn % 2], calls);
		sample(&sides[1 - turn % 2], calls);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	Side sides[2];
	for (int i = 0; i < 2; i++)
		sides[i] = (Side){prepared(argv[1 + i], argv + 3), INFINITY};
	double most = 0;
	for (int32_t i = 0; i < tsr_session_routine(sides[0].session)->noutputs; i++) {
		double d = difference(tsr_output_at(sides[0].session, i), tsr_output_at(sides[1].session, i));
		most = d > most || isnan(d) ? d : most;
	}
	take_turns(sides);
	printf("{\"ns\": [%.1f, %.1f], \"difference\": \"%.2g\"}\n", sides[0].least, sides[1].least, most);
	return 0;
}
