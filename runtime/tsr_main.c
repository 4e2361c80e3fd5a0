/* tsr: run, train, inspect and measure modules made by tsrc. Each command is one file, cmd_*.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/completion.h"
#include "base/response.h"
#include "base/stack.h"
#include "base/temporary.h"
#include "runtime/cli.h"

typedef struct Command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
	const struct argp *argp;
} Command;

static const Command commands[] = {
	{"run", "run a routine on arrays and print or write its results", cmd_run, &cmd_run_argp},
	{"train", "carry out a routine on batches of examples, step by step", cmd_train,
	 &cmd_train_argp},
	{"info", "routines, tensors, parameters, sizes, target", cmd_info, &cmd_info_argp},
	{"bench", "measure a routine", cmd_bench, &cmd_bench_argp},
	{"map", "guess which array of a file is which parameter", cmd_map, &cmd_map_argp},
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static int help(FILE *out)
{
	fputs("Usage: tsr COMMAND [OPTION...] MODULE ...\n"
	      "Run, train, inspect and measure modules made by tsrc.\n\n",
	      out);
	for (int i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  tsr %-6s %s\n", commands[i].name, commands[i].help);
	fputs("\n  --help, --version, --completion=SHELL; `tsr COMMAND --help` tells a command's options.\n"
	      "  @FILE stands for the words in FILE.\n"
	      "Exit status: 0 done; 1 an error in the input or in a file; 2 bad usage.\n",
	      out);
	return STATUS_OK;
}

static int completion(const char *shell)
{
	CompletionCommand rows[NCOMMANDS];
	Completion whole = {"tsr", "so", rows, NCOMMANDS, NULL, 0};
	for (int i = 0; i < NCOMMANDS; i++)
		rows[i] = (CompletionCommand){commands[i].name, commands[i].help, commands[i].argp};
	if (completion_print(stdout, &whole, shell))
		return STATUS_OK;
	fprintf(stderr, "tsr: --completion knows %s, not '%s'\n", completion_shells, shell);
	return STATUS_USAGE;
}

static int usage(const char *what, const char *word)
{
	fprintf(stderr, "tsr: %s%s%s\nTry 'tsr --help'.\n", what, *word ? " " : "", word);
	return STATUS_USAGE;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2)
		return usage("a command is missing: run, train, info, bench or map", "");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(stdout);
	if (strcmp(argv[1], "--version") == 0) {
		puts(argp_program_version);
		return STATUS_OK;
	}
	if (strncmp(argv[1], "--completion=", 13) == 0)
		return completion(argv[1] + 13);
	for (int i = 0; i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0) {
			char name[16] = "tsr ", *word = argv[1];
			argv[1] = strncat(name, word, sizeof name - 5);
			int status = commands[i].run(argc - 1, argv + 1);
			argv[1] = word; /* response_free frees it */
			return status;
		}
	fprintf(stderr,
		"tsr: unknown command %s: there are run, train, info, bench and map%s\nTry 'tsr --help'.\n",
		argv[1],
		strcmp(argv[1], "compile") == 0 || strcmp(argv[1], "build") == 0 ? "; tsrc compiles"
										 : "");
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	ResponseError why;
	stack_require("tsr");
	temporary_guard();
	char **words = response_expand(&argc, argv, &why);
	argp_err_exit_status = STATUS_USAGE;
	argp_program_version = "tsr " TSR_VERSION;
	if (!words)
		return report("%s", why.text);
	int status = dispatch(argc, words);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == STATUS_OK)
		status = report("cannot write to standard output: %s", strerror(errno));
	response_free(words);
	return status;
}
