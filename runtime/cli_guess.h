/* Which array of a file is which parameter of a module, guessed from names and sizes. */
#ifndef TSR_RUNTIME_CLI_GUESS_H
#define TSR_RUNTIME_CLI_GUESS_H

#include <stdio.h>

#include "runtime/params_map.h"

/* A parameter or an array of the file. */
typedef struct Named {
	const char *name;
	const char *dtype;
	int rank;
	int64_t extents[ARRAY_RANK_MAX]; /* -1 where a dim is not known */
} Named;

/* Writes the lines of a map, with a comment for what is uncertain, has no array, or is not taken.
 * *nopen: parameters without a line. false when memory is short or there are too many names. */
bool map_guess(FILE *out, const Named *params, size_t nparams, const Named *arrays, size_t narrays,
	       size_t *nopen);

#endif
