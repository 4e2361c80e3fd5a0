/* For tools that run modules; TOOL is the name in their messages. */
#ifndef TSR_BENCH_MODULE_H
#define TSR_BENCH_MODULE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/tsr.h"

static tsr_error error;

/* Ends the process with the error where it is not good. */
static inline void need(bool good)
{
	if (good)
		return;
	fprintf(stderr, TOOL ": %s\n", error.text);
	exit(1);
}

/* Of elements. */
static inline int64_t count(const tsr_array *a)
{
	int64_t n = 1;
	for (int32_t i = 0; i < a->rank; i++)
		n *= a->extents[i];
	return n;
}

#endif
