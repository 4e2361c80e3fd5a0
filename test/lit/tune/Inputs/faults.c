/* Preloaded into tsrc: what is wrong with a candidate's code happens where it is loaded. Candidates are files N.so; FAULT
 * is "crash", "hang", "first" (the policy's hangs), or the path of a module whose numbers are other ones, which is loaded
 * instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_candidate(const char *path, int first)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	int number, end = 0;
	return slash && sscanf(slash, "/%d.so%n", &number, &end) == 1 && end && !slash[end] &&
	       (first ? number == 0 : number > 0);
}

void *dlopen(const char *path, int flags)
{
	const char *fault = getenv("FAULT");
	void *(*open)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	int first = fault && strcmp(fault, "first") == 0;
	if (fault && is_candidate(path, first)) {
		if (strcmp(fault, "crash") == 0)
			abort();
		while (first || strcmp(fault, "hang") == 0)
			pause();
		path = fault;
	}
	return open(path, flags);
}
