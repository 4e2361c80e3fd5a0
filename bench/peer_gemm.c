/* One peer's matrix product: peer_gemm LIBRARY LAYOUT M N K. LIBRARY is a shared object with
 * cblas_sgemm (OpenBLAS, BLIS) or dnnl_sgemm (oneDNN); LAYOUT is nn (B stored K x N) or nt (B
 * stored N x K). Prints the median and the minimum time of one call in nanoseconds, as JSON. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*CblasSgemm)(int, int, int, int, int, int, float, const float *, int, const float *,
			   int, float, float *, int);
typedef int (*DnnlSgemm)(char, char, long, long, long, float, const float *, long, const float *,
			 long, float, float *, long);

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

static float *random_floats(size_t n)
{
	float *x = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
	for (size_t i = 0; i < n; i++)
		x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	return x;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	CblasSgemm cblas = (CblasSgemm)dlsym(library, "cblas_sgemm");
	DnnlSgemm dnnl = (DnnlSgemm)dlsym(library, "dnnl_sgemm");
	int nt = strcmp(argv[2], "nt") == 0, m = atoi(argv[3]), n = atoi(argv[4]), k = atoi(argv[5]);
	float *a = random_floats((size_t)m * k), *b = random_floats((size_t)k * n),
	      *c = random_floats((size_t)m * n);
	int ldb = nt ? k : n;
	double flops = 2.0 * m * n * k;
	int repeats = (int)(2e6 / flops) + 1, samples = 25;
	double times[25];
	for (int s = -5; s < samples; s++) {
		double start = now();
		for (int r = 0; r < repeats; r++) {
			if (cblas)
				cblas(101, 111, nt ? 112 : 111, m, n, k, 1, a, k, b, ldb, 0, c, n);
			else if (dnnl)
				dnnl('N', nt ? 'T' : 'N', m, n, k, 1, a, k, b, ldb, 0, c, n);
			else
				return 1;
		}
		if (s >= 0)
			times[s] = (now() - start) / repeats;
	}
	qsort(times, (size_t)samples, sizeof *times, by_value);
	printf("{\"median_ns\": %.1f, \"min_ns\": %.1f}\n", times[samples / 2], times[0]);
	return 0;
}
