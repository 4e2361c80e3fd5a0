/* The limit counts when the stack grows, so what is set here holds at once. */
#include "base/stack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* USUAL: memory is taken only where the stack grows to. LEAST: some is taken before that input is. */
enum { USUAL = 64 << 20, LEAST = 2 << 20 };

void stack_require(const char *program)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= USUAL)
		return;
	limit.rlim_cur = limit.rlim_max < USUAL ? limit.rlim_max : USUAL;
	if (setrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= LEAST)
		return;
	fprintf(stderr, "%s: error: the stack may have %llu KiB, and %d are needed: 'ulimit -s'\n",
		program, (unsigned long long)limit.rlim_cur >> 10, LEAST >> 10);
	exit(1);
}

const char *stack_lowest(void)
{
	pthread_attr_t attr;
	void *lowest = NULL;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return NULL;
	if (pthread_attr_getstack(&attr, &lowest, &size) != 0)
		lowest = NULL;
	pthread_attr_destroy(&attr);
	return lowest;
}
