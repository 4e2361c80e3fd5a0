/* oneDNN's product of narrow types: peer_narrow KIND M N K; KIND is bf16 (f32 results), u8i8 or
 * i8i8 (i32 results). Prints the median and the minimum time of one call in nanoseconds, as
 * JSON. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "peer_timing.h"

typedef int (*Bytes)(char, char, char, long, long, long, float, const void *, long, int8_t,
		     const void *, long, int8_t, float, int32_t *, long, const int32_t *);
typedef int (*Halves)(char, char, long, long, long, float, const void *, long, const void *, long,
		      float, float *, long);

typedef struct Product {
	Bytes bytes; /* NULL: halves */
	Halves halves;
	long m, n, k;
	uint16_t *a, *b; /* enough for either type */
	int32_t *c;	 /* results of four bytes */
} Product;

static int multiply(void *of)
{
	const Product *p = of;
	const int32_t none = 0;
	if (p->bytes)
		return p->bytes('N', 'N', 'F', p->m, p->n, p->k, 1, p->a, p->k, 0, p->b, p->n, 0, 0,
				p->c, p->n, &none);
	return p->halves('N', 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, (float *)p->c,
			 p->n);
}

static uint16_t *numbers(long n, long period)
{
	uint16_t *x = calloc((size_t)n, sizeof *x);
	for (long i = 0; x && i < n; i++)
		x[i] = (uint16_t)(0x3f00 + i % period);
	return x;
}

int main(int argc, char **argv)
{
	void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_GLOBAL);
	if (argc != 5 || !library)
		return 2;
	Product p = {.m = atol(argv[2]), .n = atol(argv[3]), .k = atol(argv[4])};
	if (strcmp(argv[1], "bf16") == 0)
		p.halves = (Halves)dlsym(library, "dnnl_gemm_bf16bf16f32");
	else
		p.bytes = (Bytes)dlsym(library, strcmp(argv[1], "u8i8") ? "dnnl_gemm_s8s8s32"
									: "dnnl_gemm_u8s8s32");
	p.a = numbers(p.m * p.k, 97);
	p.b = numbers(p.k * p.n, 89);
	p.c = calloc((size_t)(p.m * p.n), sizeof *p.c);
	if (!p.a || !p.b || !p.c || !(p.halves || p.bytes))
		return 1;
	return time_calls(multiply, &p);
}
