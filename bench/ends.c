/* What functions take at the ends of their arguments: ends MODULE
 *
 * Each routine of the module is a function of the inputs x, and z where there are two, element by
 * element. All elements are one of the arguments below, which take turns; of each the least time of a
 * call counts. Prints {ROUTINE: [[argument, kind of the result, nanoseconds], ...], ...}, the usual
 * argument first. */
#define TOOL "ends"
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "module.h"
#include "peer_timing.h"

enum { TURNS = 25 };

typedef struct Argument {
	double x, z;
} Argument;

static const Argument arguments[] = {
	{0.7, 1.3},	  {0, 2},	    {-0.0, 0.5},      {0, -1},
	{INFINITY, 2},	  {INFINITY, -1},   {-INFINITY, 3},   {NAN, 1},
	{1, NAN},	  {2, INFINITY},    {2, -INFINITY},   {100, 200},
	{-100, 0.5},	  {-104, 2},	    {-110, 2},	      {-150, 2},
	{-720, 2},	  {-745.2, 2},	    {-1000, 2},	      {-1080, 2},
	{2, -2000},	  {0.5, 2000},	    {2, 2000},	      {2, -140},
	{1e30, 2},	  {-1e30, 2},	    {1e-30, 2},	      {1e-40, 1},
	{1e-310, 1},
};
enum { NARGUMENTS = sizeof arguments / sizeof *arguments };

static void fill(const tsr_array *a, double value)
{
	bool wide = strcmp(a->dtype, "f64") == 0;
	for (int64_t i = 0, n = count(a); i < n; i++)
		if (wide)
			((double *)a->data)[i] = value;
		else
			((float *)a->data)[i] = (float)value;
}

typedef struct Format {
	const char *dtype;
	int bytes, fraction, exponent; /* bits of both */
} Format;

static const Format formats[] = {
	{"f64", 8, 52, 11}, {"f32", 4, 23, 8}, {"bf16", 2, 7, 8}, {"f16", 2, 10, 5}};

/* Of the first element */
static const char *result_kind(const tsr_array *a)
{
	const Format *f = formats;
	while (strcmp(f->dtype, a->dtype) != 0)
		f++;
	uint64_t bits = 0, most = (1ull << f->exponent) - 1;
	memcpy(&bits, a->data, (size_t)f->bytes);
	uint64_t fraction = bits & ((1ull << f->fraction) - 1), exponent = bits >> f->fraction & most;
	if (exponent == most)
		return fraction ? "NaN" : "infinite";
	return exponent ? "usual" : fraction ? "subnormal" : "0";
}

/* The time of one call, from as many as take about 50 us */
static double sample(tsr_session *s, long calls)
{
	double start = now();
	for (long c = 0; c < calls; c++)
		need(tsr_execute(s, &error) == TSR_OK);
	return (now() - start) / (double)calls;
}

static void measure(tsr_session *s, const tsr_array *inputs, int32_t ninputs)
{
	double least[NARGUMENTS];
	const char *kinds[NARGUMENTS];
	long calls = (long)(5e4 / sample(s, 1)) + 1;
	for (int turn = -1; turn < TURNS; turn++)
		for (int k = 0; k < NARGUMENTS; k++) {
			fill(&inputs[0], arguments[k].x);
			if (ninputs > 1)
				fill(&inputs[1], arguments[k].z);
			double ns = sample(s, turn < 0 ? 1 : calls);
			least[k] = turn <= 0 || ns < least[k] ? ns : least[k];
			kinds[k] = result_kind(tsr_output_at(s, 0));
		}
	for (int k = 0; k < NARGUMENTS; k++) {
		printf("%s[\"%g", k ? ", " : "", arguments[k].x);
		if (ninputs > 1)
			printf(", %g", arguments[k].z);
		printf("\", \"%s\", %.1f]", kinds[k], least[k]);
	}
}

static void routine(const tsr_model *model, const char *name)
{
	tsr_array inputs[2];
	tsr_session *s = tsr_session_new(model, name, &error);
	need(s && tsr_resolve(s, &error) == TSR_OK);
	const tsr_routine *r = tsr_session_routine(s);
	for (int32_t i = 0; i < r->ninputs; i++) {
		need(tsr_expected(s, r->inputs[i].name, &inputs[i], &error) == TSR_OK);
		inputs[i].data = aligned_alloc(64, (inputs[i].bytes + 63) / 64 * 64);
		fill(&inputs[i], 1);
		need(tsr_set_input(s, r->inputs[i].name, &inputs[i], &error) == TSR_OK);
	}
	need(tsr_prepare(s, &error) == TSR_OK);
	measure(s, inputs, r->ninputs);
	tsr_session_free(s);
	for (int32_t i = 0; i < r->ninputs; i++)
		free(inputs[i].data);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	tsr_model *model = tsr_open(argv[1], &error);
	need(model != NULL);
	const tsr_module *m = tsr_table(model);
	for (int32_t i = 0; i < m->nroutines; i++) {
		printf("%s\"%s\": [", i ? ",\n" : "{", m->routines[i].name);
		routine(model, m->routines[i].name);
		printf("]");
	}
	printf("}\n");
	tsr_close(model);
	return 0;
}
