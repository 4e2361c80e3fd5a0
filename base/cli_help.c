/* The options that print a text and end the process, with status 1 where it could not be
 * written. */
#include "base/cli_help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_USAGE = 0x10000 };

static const struct argp_option options[] = {
	{"help", '?', NULL, 0, "Give this help list", -1},
	{"usage", KEY_USAGE, NULL, 0, "Give a short usage message", 0},
	{"version", 'V', NULL, 0, "Print program version", -1},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case '?': argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK); break;
	case KEY_USAGE: argp_state_help(state, stdout, ARGP_HELP_USAGE); break;
	case 'V': puts(argp_program_version); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		exit(0);
	fprintf(stderr, "%s: error: cannot write to standard output: %s\n", state->name,
		strerror(errno));
	exit(1);
}

const struct argp cli_help_argp = {.options = options, .parser = parse};
