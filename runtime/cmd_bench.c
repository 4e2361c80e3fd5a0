/* tsr bench: how long a routine takes.
 *
 * Warm-up, then samples; a sample is as many calls as take a millisecond, so that the clock's grain
 * does not matter. Sampling ends when the quartiles lie within 2 % of the median, but not before a
 * fifth of a second, as a virtual machine may be without one of its CPUs for a while that is as
 * steady as any other, or after two seconds. GB/s counts each byte of the inputs, results and
 * parameters once.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cli.h"

enum { KEY_JSON = 512, SAMPLES_MIN = 10, SAMPLES_MAX = 1000 };

#define WARM_UP_NS 1e8
#define SAMPLE_NS  1e6
#define LEAST_NS 2e8
#define LIMIT_NS   2e9
#define STEADY     0.02

typedef struct Timing {
	double median, q1, q3, least; /* ns a call */
	int samples;
	long calls; /* a sample */
} Timing;

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "print one JSON object", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	Request *request = state->input;
	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = request; return 0;
	case KEY_JSON: request->json = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void summarise(const double *samples, Timing *timing)
{
	double sorted[SAMPLES_MAX];
	int n = timing->samples;
	memcpy(sorted, samples, (size_t)n * sizeof *samples);
	qsort(sorted, (size_t)n, sizeof *sorted, by_value);
	timing->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
	timing->q1 = sorted[n / 4];
	timing->q3 = sorted[n - 1 - n / 4];
	timing->least = sorted[0];
}

/* Time of `calls` calls in ns, or -1 on failure; the clock is read twice. */
static double calls_time(tsr_session *s, long calls, tsr_error *error)
{
	double start = now();
	for (long i = 0; i < calls; i++)
		if (tsr_execute(s, error) != TSR_OK)
			return -1;
	return now() - start;
}

/* Calls, twice as many each time, until 100 ms have passed, at least twice; returns the calls that
 * a sample needs, 0 on failure. */
static long warm_up(tsr_session *s, tsr_error *error)
{
	double start = now(), last = 0;
	long calls = 1;
	do {
		last = calls_time(s, calls *= 2, error);
		if (last < 0)
			return 0;
	} while (now() - start < WARM_UP_NS);
	double one = last > 0 ? last / (double)calls : 1;
	return one < SAMPLE_NS ? (long)(SAMPLE_NS / one) + 1 : 1;
}

static bool is_steady(const Timing *timing)
{
	return timing->q3 - timing->q1 < 2 * STEADY * timing->median;
}

static int measure(tsr_session *s, Timing *timing, tsr_error *error)
{
	static const int check_every = 5;
	double samples[SAMPLES_MAX];
	timing->samples = 0;
	timing->calls = warm_up(s, error);
	if (timing->calls == 0)
		return report_error(NULL, error);
	double start = now();
	for (bool done = false; !done;) {
		double time = calls_time(s, timing->calls, error), passed = now() - start;
		if (time < 0)
			return report_error(NULL, error);
		samples[timing->samples++] = time / (double)timing->calls;
		bool enough = timing->samples >= SAMPLES_MIN && passed >= LEAST_NS &&
			      timing->samples % check_every == 0;
		done = timing->samples == SAMPLES_MAX ||
		       (passed > LIMIT_NS && timing->samples >= 3);
		if (done || enough)
			summarise(samples, timing);
		done = done || (enough && is_steady(timing));
	}
	return STATUS_OK;
}

static int print_json(const tsr_session *s, const tsr_module *m, const Timing *t)
{
	json_t *dims = json_object();
	for (int32_t i = 0; i < m->ndims; i++)
		if (tsr_dim_value(s, m->dims[i].name) >= 0)
			json_object_set_new(dims, m->dims[i].name,
					    json_integer(tsr_dim_value(s, m->dims[i].name)));
	double bytes = (double)tsr_traffic(s);
	json_t *root =
		json_pack("{s:s, s:s, s:o, s:I, s:i, s:I, s:f, s:f, s:f, s:f, s:f}", "module",
			  m->name, "routine", tsr_session_routine(s)->name, "dims", dims, "bytes",
			  (json_int_t)bytes, "samples", t->samples, "calls_per_sample",
			  (json_int_t)t->calls, "median_ns", t->median, "q1_ns", t->q1, "q3_ns",
			  t->q3, "min_ns", t->least, "gb_per_s", bytes / t->median);
	if (!root)
		return report("out of memory");
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(root);
	return STATUS_OK;
}

static void print_time(const char *name, double ns)
{
	if (ns < 1e3)
		printf("%s %.1f ns", name, ns);
	else if (ns < 1e6)
		printf("%s %.3f us", name, ns / 1e3);
	else if (ns < 1e9)
		printf("%s %.3f ms", name, ns / 1e6);
	else
		printf("%s %.3f s", name, ns / 1e9);
}

static int print_text(const tsr_session *s, const tsr_module *m, const Timing *t)
{
	double bytes = (double)tsr_traffic(s);
	printf("%s.%s:", m->name, tsr_session_routine(s)->name);
	for (int32_t i = 0; i < m->ndims; i++)
		if (tsr_dim_value(s, m->dims[i].name) >= 0)
			printf(" %s=%lld", m->dims[i].name,
			       (long long)tsr_dim_value(s, m->dims[i].name));
	print_time(" median", t->median);
	print_time(", quartiles", t->q1);
	print_time(" to", t->q3);
	print_time(", least", t->least);
	printf("; %d samples of %ld calls; %.0f bytes, %.3f GB/s\n", t->samples, t->calls, bytes,
	       bytes / t->median);
	return STATUS_OK;
}

static const struct argp_child children[] = {
	{&request_argp, 0, NULL, 0}, {&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp cmd_bench_argp = {
	options,
	parse,
	"MODULE [ROUTINE] [NAME=VALUE...]",
	"Measure a routine (default: forward) of a module.\v"
	"Inputs that are not given are random:0, or zeros where they hold integers; dims that no array "
	"determines must be given as NAME=NUMBER.",
	children,
	NULL,
	NULL};

int cmd_bench(int argc, char **argv)
{
	Request request = {0};
	Timing timing = {0};
	tsr_error error;
	tsr_model *model = NULL;
	tsr_session *session = NULL;
	cli_check_options(&cmd_bench_argp, argc, argv);
	argp_parse(&cmd_bench_argp, argc, argv, ARGP_NO_HELP, NULL, &request);
	int status = request_prepare(&request, true, &model, &session);
	if (status == STATUS_OK)
		status = measure(session, &timing, &error);
	if (status == STATUS_OK)
		status = request.json ? print_json(session, tsr_table(model), &timing)
				      : print_text(session, tsr_table(model), &timing);
	tsr_session_free(session);
	tsr_close(model);
	request_free(&request);
	return status;
}
