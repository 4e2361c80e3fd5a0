/* How the peers in C are timed, as `tsr bench` and timing.py do: warm; a sample is as many calls as
 * take a millisecond, so that the clock's grain does not matter. */
#ifndef TSR_BENCH_PEER_TIMING_H
#define TSR_BENCH_PEER_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES_MAX = 1000 };

#define WARM_UP_NS 1e8
#define SAMPLE_NS 1e6
#define LEAST_NS 2e8
#define LONGEST_NS 2e9

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

/* Prints the median and the least time of call(arg) in nanoseconds, as JSON; 0, or 1 where a call
 * fails. */
static int time_calls(int (*call)(void *arg), void *arg)
{
	double times[SAMPLES_MAX], start = now(), passed = 0;
	long calls = 0;
	int samples = 0;
	for (; calls < 2 || passed < WARM_UP_NS; calls++, passed = now() - start)
		if (call(arg) != 0)
			return 1;
	calls = (long)(SAMPLE_NS * (double)calls / passed) + 1;
	start = now();
	do {
		double before = now();
		for (long c = 0; c < calls; c++)
			call(arg);
		times[samples++] = (now() - before) / (double)calls;
		passed = now() - start;
	} while (samples < SAMPLES_MAX && (passed < LEAST_NS || samples < 10) &&
		 (passed < LONGEST_NS || samples < 3));
	qsort(times, (size_t)samples, sizeof *times, by_value);
	printf("{\"median_ns\": %.1f, \"min_ns\": %.1f}\n", times[samples / 2], times[0]);
	return 0;
}

#endif
