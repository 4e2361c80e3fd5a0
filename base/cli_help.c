/* The options that print a text and end the process, with status 1 where it could not be
 * written, and what an option that there is not may have been meant as. */
#include "base/cli_help.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

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

/* ---- options that there are not ---- */

static size_t name_length(const char *option) { return strcspn(option, "="); }

/* The first row that the test accepts, in the table and those of its children. */
typedef bool RowTest(const struct argp_option *row, const char *word);

static const struct argp_option *find_row(const struct argp *argp, RowTest *test, const char *word)
{
	const struct argp_option *row = argp->options;
	for (; row && (row->name || row->key || row->doc); row++)
		if (!(row->flags & OPTION_DOC) && test(row, word))
			return row;
	const struct argp_option *found = NULL;
	for (const struct argp_child *child = argp->children; child && child->argp && !found;
	     child++)
		found = find_row(child->argp, test, word);
	return found;
}

/* As getopt_long reads a word behind its dashes: options may be cut short. */
static bool begins_so(const struct argp_option *row, const char *word)
{
	return row->name && strncmp(row->name, word, name_length(word)) == 0;
}

static bool is_named_so(const struct argp_option *row, const char *word)
{
	return begins_so(row, word) && strlen(row->name) == name_length(word);
}

static bool is_letter(const struct argp_option *row, const char *word)
{
	return row->key == word[0];
}

static bool takes_next(const struct argp_option *row)
{
	return row && row->arg && !(row->flags & OPTION_ARG_OPTIONAL);
}

typedef struct Nearest {
	const char *name;
	uint32_t score;
} Nearest;

static void look_nearest(const struct argp *argp, const char *name, Nearest *best)
{
	const struct argp_option *row = argp->options;
	for (; row && (row->name || row->key || row->doc); row++) {
		bool typed = row->name && !(row->flags & (OPTION_DOC | OPTION_HIDDEN));
		uint32_t score = typed ? name_nearness(name, row->name) : UINT32_MAX;
		if (score < best->score)
			*best = (Nearest){row->name, score};
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		look_nearest(child->argp, name, best);
}

/* The option that `--ouput=x`, or `-output`, was meant as; NULL: it is one, or like none. */
static const char *meant_by(const struct argp *argp, const char *word)
{
	char name[64];
	bool two = word[1] == '-';
	const char *from = word + 1 + two;
	size_t n = name_length(from);
	if (n < 2 || n >= sizeof name)
		return NULL;
	memcpy(name, from, n);
	name[n] = '\0';
	if (!two) {
		const struct argp_option *row = find_row(argp, is_named_so, name);
		return row && !(row->flags & OPTION_HIDDEN) ? row->name : NULL;
	}
	if (find_row(argp, begins_so, name))
		return NULL;
	Nearest best = {NULL, UINT32_MAX};
	look_nearest(argp, name, &best);
	return best.name;
}

void cli_check_options(const struct argp *argp, int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL,
		   *program = slash ? slash + 1 : argv[0];
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *word = argv[i];
		if (word[0] != '-' || word[1] == '\0')
			continue;
		const char *meant = meant_by(argp, word);
		if (meant) {
			fprintf(stderr,
				"%s: unrecognized option '%s'; did you mean '--%s'?\n"
				"Try `%s --help' or `%s --usage' for more information.\n",
				program, word, meant, program, program);
			exit(argp_err_exit_status);
		}
		bool alone = word[1] == '-' ? !strchr(word, '=') : word[2] == '\0';
		i += alone && takes_next(find_row(argp, word[1] == '-' ? begins_so : is_letter,
						  word + 1 + (word[1] == '-')));
	}
}
