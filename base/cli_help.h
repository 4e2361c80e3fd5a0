/* --help, --usage and --version of the programs: a child of their argp, which they parse with
 * ARGP_NO_HELP. Those that argp has end with status 0 even where the text could not be written. The
 * version is argp_program_version. */
#ifndef TSR_BASE_CLI_HELP_H
#define TSR_BASE_CLI_HELP_H

#include <argp.h>

extern const struct argp cli_help_argp;

/* Ends the process with argp's status of bad usage where a word is no option but nearly one, or one with a
 * dash too few, and says which. Others that are no option argp tells itself. */
void cli_check_options(const struct argp *argp, int argc, char **argv);

#endif
