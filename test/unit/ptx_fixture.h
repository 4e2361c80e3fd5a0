/* Kernels in PTX, run by the interpreter of test/ptx, for test_ptx*.c. */
#ifndef TSR_TEST_PTX_FIXTURE_H
#define TSR_TEST_PTX_FIXTURE_H

#include "test/ptx/ptx.h"

/* One kernel k, whose parameters are addresses of `bytes` of memory each; every word is its number at first. */
typedef struct PtxTest {
	PtxMemory memory;
	PtxModule *module;
	char error[400]; /* of the text, where module is NULL */
	uint64_t params[4];
	int nparams;
	uint32_t cluster; /* blocks of one; 0: 1 */
	PtxReport report;
} PtxTest;

/* body: what stands between the braces of the kernel. */
void ptx_test_open(PtxTest *test, const char *body);
/* The whole text of a module. */
void ptx_test_open_text(PtxTest *test, const char *text, size_t n);
void ptx_test_close(PtxTest *test);
/* Memory for the next parameter; where it is in this process. */
void *ptx_test_buffer(PtxTest *test, size_t bytes);
/* With so many threads of each of so many blocks. False: see report. */
bool ptx_test_run(PtxTest *test, uint32_t blocks, uint32_t threads, PtxOrder order);
/* Opens, runs and closes; the fault, or FAULT_NONE. The text of the report is in *text, of 1000 bytes. */
PtxFault ptx_test_fault(const char *body, uint32_t threads, PtxOrder order, char *text);

#endif
