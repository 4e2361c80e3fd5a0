/* Completion scripts for bash, zsh and fish, from a program's tables of options. */
#ifndef TSR_BASE_COMPLETION_H
#define TSR_BASE_COMPLETION_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* What the argument of an option may be: words with blanks between. */
typedef struct CompletionChoice {
	const char *option; /* "--dump" */
	const char *words;
} CompletionChoice;

typedef struct CompletionCommand {
	const char *name; /* "" where the program has no commands */
	const char *help;
	const struct argp *argp;
} CompletionCommand;

typedef struct Completion {
	const char *tool;
	const char *suffix; /* of the files that it takes: "tsr" */
	const CompletionCommand *commands;
	size_t ncommands;
	const CompletionChoice *choices;
	size_t nchoices;
} Completion;

extern const char completion_shells[]; /* "bash zsh fish" */

/* Writes the script; false where the shell is none of these. Hidden options are left out; a row of
 * OPTION_DOC stands for the options that its name spells, as in "-MF FILE" or "-Wall -Wno-NAME". */
bool completion_print(FILE *out, const Completion *completion, const char *shell);

#endif
