/* Guesses of cli_guess.c, and the map that they are written as. */
#ifndef TSR_RUNTIME_CLI_GUESS_TEXT_H
#define TSR_RUNTIME_CLI_GUESS_TEXT_H

#include "runtime/cli_guess.h"

enum { AXES_BYTES = 200 };

/* One line of the map, until all are there. */
typedef struct Guess {
	char *ours, *theirs; /* owned */
	char axes[AXES_BYTES], other[AXES_BYTES];
	const Named *param, *array; /* the first of the line */
} Guess;

typedef struct Guesses {
	Guess *at;
	size_t n;
	const Named *params, *arrays;
	bool *param_done, *array_done;
} Guesses;

/* Writes the lines of a map, then as comments what has none of the parameters and arrays: how many
 * of the parameters. */
size_t guesses_print(FILE *out, const Guesses *g, size_t nparams, size_t narrays);

#endif
