/* MKL, from which PyTorch has its products, takes AVX2 at most on a processor of AMD, and has the
 * wider kernels in it: loaded before it, these answer that the processor is known to it. */
int mkl_serv_intel_cpu(void);
int mkl_serv_intel_cpu_true(void);

int mkl_serv_intel_cpu(void) { return 1; }

int mkl_serv_intel_cpu_true(void) { return 1; }
