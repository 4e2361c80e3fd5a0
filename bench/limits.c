/* The limits of some cores: peak FMA rate and memory bandwidth, measured: limits [THREADS [dram]],
 * with `dram` the bandwidth of memory alone. Prints JSON. Threads measure at the same time, and their rates add up. Compiled with -O2 -march=native;
 * explicit vectors of the widest kind, sixteen independent accumulators. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float Vec __attribute__((vector_size(LANES * 4)));

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define ACCS(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

/* GFLOP/s of a chain of fused multiply-adds, the best of several runs. */
static double peak_flops(void)
{
	const long n = 20000000;
	double best = 0;
	for (int run = 0; run < 5; run++) {
		Vec m = {0}, a = {0};
		m += 0.999f;
		a += 1e-3f;
#define DECLARE(i) Vec c##i = m + (float)i;
		ACCS(DECLARE)
		double start = now();
		for (long k = 0; k < n; k++) {
#define STEP(i) c##i = c##i * m + a;
			ACCS(STEP)
#define KEEP(i) __asm__ volatile("" : "+v"(c##i));
			ACCS(KEEP)
		}
		double rate = 16.0 * LANES * 2 * (double)n / (now() - start) / 1e9;
		best = rate > best ? rate : best;
	}
	return best;
}

/* GB/s of reading `bytes` over and over. */
static double read_rate(size_t bytes)
{
	size_t n = bytes / sizeof(Vec);
	Vec *x = aligned_alloc(64, n * sizeof(Vec));
	memset(x, 1, n * sizeof(Vec));
	double best = 0;
	for (int run = 0; run < 5; run++) {
		size_t repeats = ((size_t)1 << 30) / bytes + 1;
		Vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
		double start = now();
		for (size_t r = 0; r < repeats; r++) {
			for (size_t i = 0; i + 4 <= n; i += 4) {
				s0 += x[i];
				s1 += x[i + 1];
				s2 += x[i + 2];
				s3 += x[i + 3];
			}
			__asm__ volatile("" : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3)::"memory");
		}
		double rate = (double)bytes * (double)repeats / (now() - start) / 1e9;
		best = rate > best ? rate : best;
	}
	free(x);
	return best;
}

typedef struct Rates {
	double flops, l1, l2, dram;
} Rates;

static pthread_barrier_t together;

static void *measure_memory(void *arg)
{
	Rates *rates = arg;
	pthread_barrier_wait(&together);
	rates->dram = read_rate((size_t)256 << 20);
	return NULL;
}

static void *measure_all(void *arg)
{
	Rates *rates = arg;
	pthread_barrier_wait(&together);
	rates->flops = peak_flops();
	pthread_barrier_wait(&together);
	rates->l1 = read_rate(16 << 10);
	pthread_barrier_wait(&together);
	rates->l2 = read_rate(512 << 10);
	return measure_memory(arg);
}

int main(int argc, char **argv)
{
	enum { THREADS_MAX = 256 };
	static Rates rates[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	int n = argc > 1 ? atoi(argv[1]) : 1;
	void *(*measure)(void *) = argc > 2 && strcmp(argv[2], "dram") == 0 ? measure_memory : measure_all;
	if (n < 1 || n > THREADS_MAX || pthread_barrier_init(&together, NULL, (unsigned)n))
		return 2;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, measure, &rates[i]))
			return 1;
	Rates all = {0};
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		all.flops += rates[i].flops;
		all.l1 += rates[i].l1;
		all.l2 += rates[i].l2;
		all.dram += rates[i].dram;
	}
	printf("{\"lanes\": %d, \"peak_gflops\": %.1f, \"l1_read_gbs\": %.1f, \"l2_read_gbs\": %.1f, "
	       "\"dram_read_gbs\": %.1f}\n",
	       LANES, all.flops, all.l1, all.l2, all.dram);
	return 0;
}
