/* oneDNN's product of narrow types: peer_narrow KIND M N K; KIND is bf16 (f32 results), u8i8 or i8i8 (i32 results).
 * Prints the median and the minimum time of one call in nanoseconds, as JSON. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*Bytes)(char, char, char, long, long, long, float, const void *, long, int8_t, const void *, long, int8_t,
		     float, int32_t *, long, const int32_t *);
typedef int (*Halves)(char, char, long, long, long, float, const void *, long, const void *, long, float, float *, long);

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

int main(int argc, char **argv)
{
	void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_GLOBAL);
	if (argc != 5 || !library)
		return 2;
	int halves = strcmp(argv[1], "bf16") == 0, samples = 25;
	Halves half = (Halves)dlsym(library, "dnnl_gemm_bf16bf16f32");
	Bytes byte = (Bytes)dlsym(library, strcmp(argv[1], "u8i8") ? "dnnl_gemm_s8s8s32" : "dnnl_gemm_u8s8s32");
	long m = atol(argv[2]), n = atol(argv[3]), k = atol(argv[4]);
	uint16_t *a = calloc((size_t)(m * k), 2), *b = calloc((size_t)(k * n), 2);
	int32_t *c = calloc((size_t)(m * n), 4), none = 0;
	for (long i = 0; i < m * k; i++)
		a[i] = (uint16_t)(0x3f00 + i % 97);
	for (long i = 0; i < k * n; i++)
		b[i] = (uint16_t)(0x3f00 + i % 89);
	int repeats = (int)(2e6 / (double)(m * n * k)) + 1;
	double times[25];
	for (int s = -5; s < samples; s++) {
		double start = now();
		for (int r = 0; r < repeats; r++) {
			int failed = halves ? half('N', 'N', m, n, k, 1, a, k, b, n, 0, (float *)c, n)
					    : byte('N', 'N', 'F', m, n, k, 1, a, k, 0, b, n, 0, 0, c, n, &none);
			if (failed)
				return 1;
		}
		if (s >= 0)
			times[s] = (now() - start) / repeats;
	}
	qsort(times, (size_t)samples, sizeof *times, by_value);
	printf("{\"median_ns\": %.1f, \"min_ns\": %.1f}\n", times[samples / 2], times[0]);
	return 0;
}
