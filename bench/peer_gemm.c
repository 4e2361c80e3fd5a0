/* One peer's matrix product: peer_gemm LIBRARY LAYOUT M N K. LIBRARY is a shared object with
 * cblas_sgemm (OpenBLAS, BLIS) or dnnl_sgemm (oneDNN); LAYOUT is nn (B stored K x N) or nt (B
 * stored N x K). Prints the median and the minimum time of one call in nanoseconds, as JSON. */
#include <dlfcn.h>
#include <string.h>

#include "peer_timing.h"

typedef void (*CblasSgemm)(int, int, int, int, int, int, float, const float *, int, const float *,
			   int, float, float *, int);
typedef int (*DnnlSgemm)(char, char, long, long, long, float, const float *, long, const float *,
			 long, float, float *, long);

typedef struct Product {
	CblasSgemm cblas; /* NULL: dnnl */
	DnnlSgemm dnnl;
	int turned, m, n, k, ldb; /* turned: B is stored N x K */
	float *a, *b, *c;
} Product;

static int multiply(void *of)
{
	const Product *p = of;
	if (!p->cblas)
		return p->dnnl('N', p->turned ? 'T' : 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b,
			       p->ldb, 0, p->c, p->n);
	p->cblas(101, 111, p->turned ? 112 : 111, p->m, p->n, p->k, 1, p->a, p->k, p->b, p->ldb, 0,
		 p->c, p->n);
	return 0;
}

static float *random_floats(size_t n)
{
	float *x = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
	for (size_t i = 0; x && i < n; i++)
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
	Product p = {.turned = strcmp(argv[2], "nt") == 0,
		     .m = atoi(argv[3]),
		     .n = atoi(argv[4]),
		     .k = atoi(argv[5])};
	p.cblas = (CblasSgemm)dlsym(library, "cblas_sgemm");
	p.dnnl = (DnnlSgemm)dlsym(library, "dnnl_sgemm");
	p.ldb = p.turned ? p.k : p.n;
	p.a = random_floats((size_t)p.m * (size_t)p.k);
	p.b = random_floats((size_t)p.k * (size_t)p.n);
	p.c = random_floats((size_t)p.m * (size_t)p.n);
	if (!p.a || !p.b || !p.c || !(p.cblas || p.dnnl))
		return 1;
	return time_calls(multiply, &p);
}
