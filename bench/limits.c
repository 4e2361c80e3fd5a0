/* The limits of some cores, measured: limits THREADS WHAT. Prints JSON.
 *
 * peak          GFLOP/s of fused multiply-adds in the widest vectors
 * memory BYTES  GB/s of as many bytes, a share a thread, read in 1 to 8 streams with and without
 *               prefetching or copied from one half to the other, whichever is fastest: BYTES say
 *               which cache, or memory, bounds
 * spin          nanoseconds of a fixed chain of additions: longer where a CPU is away
 *
 * Each thread stays on a CPU of its own. They start together, and what the last one takes counts;
 * of several runs the best, for `spin` the median. Compiled with -O2 -march=native. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "streams.h"

enum { THREADS_MAX = 256, RUNS = 5 };

static int threads;
static Way way;
static size_t vectors; /* of a thread, a multiple of STREAMS_MAX */
static long repeats;
static pthread_barrier_t together;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define ACCS(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

static void multiply(Vec *unused)
{
	(void)unused;
	Vec m = {0}, a = {0};
	m += 0.999f;
	a += 1e-3f;
#define DECLARE(i) Vec c##i = m + (float)i;
	ACCS(DECLARE)
	for (long k = 0; k < repeats; k++) {
#define STEP(i) c##i = c##i * m + a;
		ACCS(STEP)
#define KEEP(i) __asm__ volatile("" : "+v"(c##i));
		ACCS(KEEP)
	}
}

static void add(Vec *unused)
{
	(void)unused;
	for (long k = 0, sum = 0; k < repeats; k++)
		__asm__ volatile("add $1, %0" : "+r"(sum));
}

static void move(Vec *x)
{
	for (long r = 0; r < repeats; r++) {
		if (way.streams == 0)
			memcpy(x, x + vectors / 2, vectors / 2 * sizeof *x);
		else
			read_way(x, vectors, way);
	}
}

typedef struct Worker {
	int cpu; /* to stay on */
	void (*work)(Vec *x);
	Vec *x;
	double ns[RUNS];
} Worker;

static void *run(void *arg)
{
	Worker *w = arg;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)w->cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
	for (int r = 0; r < RUNS; r++) {
		pthread_barrier_wait(&together);
		double start = now();
		w->work(w->x);
		w->ns[r] = now() - start;
	}
	return NULL;
}

static void find_cpus(Worker *workers)
{
	cpu_set_t mine;
	if (sched_getaffinity(0, sizeof mine, &mine) != 0)
		exit(1);
	for (int n = 0, cpu = 0; n < threads; cpu = (cpu + 1) % CPU_SETSIZE)
		if (CPU_ISSET((size_t)cpu, &mine))
			workers[n++].cpu = cpu;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* What the slowest thread takes in nanoseconds, run by run, the least first */
static void time_threads(void (*work)(Vec *x), Vec *x, double ns[RUNS])
{
	static Worker workers[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	find_cpus(workers);
	for (int i = 0; i < threads; i++) {
		workers[i].work = work;
		workers[i].x = x + vectors * (size_t)i;
		if (pthread_create(&ids[i], NULL, run, &workers[i]) != 0)
			exit(1);
	}
	memset(ns, 0, RUNS * sizeof *ns);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		for (int r = 0; r < RUNS; r++)
			ns[r] = workers[i].ns[r] > ns[r] ? workers[i].ns[r] : ns[r];
	}
	qsort(ns, RUNS, sizeof *ns, by_value);
}

static void print_peak(void)
{
	double ns[RUNS];
	repeats = 5000000;
	time_threads(multiply, NULL, ns);
	printf("{\"lanes\": %d, \"gflops\": %.1f}\n", LANES,
	       (double)repeats * 16 * LANES * 2 * threads / ns[0]);
}

static void print_memory(size_t bytes)
{
	static const Way ways[] = {{1, false}, {2, false}, {4, false}, {8, false},
				   {1, true},  {2, true},  {4, true},  {0, false}};
	vectors = bytes / sizeof(Vec) / (size_t)threads / STREAMS_MAX * STREAMS_MAX;
	vectors = vectors ? vectors : STREAMS_MAX;
	size_t all = vectors * (size_t)threads * sizeof(Vec), room = (all / ROUNDED + 1) * ROUNDED;
	Vec *x = aligned_alloc(ROUNDED, room);
	if (!x)
		exit(1);
	madvise(x, room, MADV_HUGEPAGE);
	memset(x, 1, room);
	repeats = (long)(((size_t)64 << 20) / all) + 1;
	double best = 0;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		double ns[RUNS];
		way = ways[i];
		time_threads(move, x, ns);
		double rate = (double)all * (double)repeats / ns[0];
		best = rate > best ? rate : best;
	}
	free(x);
	printf("{\"bytes\": %zu, \"gbs\": %.1f}\n", all, best);
}

static void print_spin(void)
{
	double ns[RUNS];
	repeats = 8000000;
	time_threads(add, NULL, ns);
	printf("{\"ns\": %.0f}\n", ns[RUNS / 2]);
}

int main(int argc, char **argv)
{
	threads = argc > 2 ? atoi(argv[1]) : 0;
	if (threads < 1 || threads > THREADS_MAX ||
	    pthread_barrier_init(&together, NULL, (unsigned)threads) != 0)
		return 2;
	if (strcmp(argv[2], "peak") == 0)
		print_peak();
	else if (strcmp(argv[2], "spin") == 0)
		print_spin();
	else if (strcmp(argv[2], "memory") == 0 && argc > 3)
		print_memory(strtoull(argv[3], NULL, 10));
	else
		return 2;
	return 0;
}
