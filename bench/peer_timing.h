/* How the peers in C are timed: 25 samples, each of as many calls as make two million operations. */
#ifndef TSR_BENCH_PEER_TIMING_H
#define TSR_BENCH_PEER_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_UP = 5, SAMPLES = 25 };

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

/* Prints the median and the minimum time of call(arg) in nanoseconds, as JSON; 0, or 1 where a call
 * fails. `call` returns 0 when it has done its `flops`. */
static int time_calls(int (*call)(void *arg), void *arg, double flops)
{
	int repeats = (int)(2e6 / flops) + 1;
	double times[SAMPLES];
	for (int s = -WARM_UP; s < SAMPLES; s++) {
		double start = now();
		for (int r = 0; r < repeats; r++)
			if (call(arg) != 0)
				return 1;
		if (s >= 0)
			times[s] = (now() - start) / repeats;
	}
	qsort(times, SAMPLES, sizeof *times, by_value);
	printf("{\"median_ns\": %.1f, \"min_ns\": %.1f}\n", times[SAMPLES / 2], times[0]);
	return 0;
}

#endif
