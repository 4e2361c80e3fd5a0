#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/unit/ptx_fixture.h"

enum { FUEL = 200000 };

static const char head[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
			   ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n";

void ptx_test_open_text(PtxTest *test, const char *text, size_t n)
{
	*test = (PtxTest){0};
	ptx_memory_init(&test->memory, 1 << 24);
	char *copy = malloc(n + 1); /* ends where the text does */
	assert_non_null(copy);
	memcpy(copy, text, n);
	char *ends = realloc(copy, n ? n : 1);
	test->module = ptx_module_read(&test->memory, ends, n, test->error, sizeof test->error);
	free(ends);
}

void ptx_test_open(PtxTest *test, const char *body)
{
	size_t n = strlen(head) + strlen(body) + 4;
	char *text = malloc(n);
	assert_non_null(text);
	snprintf(text, n, "%s%s\n}\n", head, body);
	ptx_test_open_text(test, text, strlen(text));
	free(text);
	if (test->module == NULL)
		print_message("%s\n", test->error);
	assert_non_null(test->module);
}

void ptx_test_close(PtxTest *test)
{
	if (test->module != NULL)
		ptx_module_free(test->module);
	ptx_memory_free(&test->memory);
}

void *ptx_test_buffer(PtxTest *test, size_t bytes)
{
	uint64_t at = ptx_memory_new(&test->memory, bytes, 0);
	assert_true(at != 0 && test->nparams < 4);
	test->params[test->nparams++] = at;
	return ptx_memory_at(&test->memory, at, bytes);
}

bool ptx_test_run(PtxTest *test, uint32_t blocks, uint32_t threads, PtxOrder order)
{
	PtxLaunch launch = {.module = test->module,
			    .kernel = ptx_module_kernel(test->module, "k"),
			    .grid = {blocks, 1, 1},
			    .block = {threads, 1, 1},
			    .cluster = {test->cluster ? test->cluster : 1, 1, 1},
			    .params = (const unsigned char *)test->params,
			    .schedule = {order, 7, true, FUEL}};
	assert_non_null(launch.kernel);
	return ptx_launch(&launch, &test->report);
}

PtxFault ptx_test_fault(const char *body, uint32_t threads, PtxOrder order, char *text)
{
	PtxTest test;
	ptx_test_open(&test, body);
	ptx_test_buffer(&test, 1024);
	ptx_test_run(&test, 1, threads, order);
	memcpy(text, test.report.text, sizeof test.report.text);
	ptx_test_close(&test);
	return test.report.fault;
}
