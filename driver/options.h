/* The command line of tsrc. */
#ifndef TSR_DRIVER_OPTIONS_H
#define TSR_DRIVER_OPTIONS_H

#include <argp.h>

#include "base/arena.h"
#include "driver/session.h"

typedef VEC(const char *) Words;
typedef VEC(Define) Defines;

typedef struct Options {
	Arena *arena;
	SessionOptions session; /* its folders and defines are those below */
	VEC(const struct GpuTarget *) gpus; /* --target: beside session.gpu */
	bool with_cpu;			    /* ... and code for a CPU */
	const char *input;
	const char *output;     /* -o */
	Words emit, dump;       /* kinds and stages, as written */
	const char *stop;
	bool syntax_only, verify, verify_run, verify_sums, time_report, verbose, dry_run;
	double check_grad;	/* --check-grad: the tolerance; 0: not asked for */
	bool stdout_only;       /* --dump or --explain-* without -o or --emit: no file is written */
	bool no_cache;
	Words include_dirs;
	Words kept; /* --keep */
	Defines defines;
	bool deps, deps_user_only, deps_phony; /* -MD -MMD -MP */
	const char *deps_file;
	Words deps_targets;
	const char *explain;    /* --explain=CODE */
	Words explain_shapes;
	bool explain_closed;
	const char *completion; /* --completion: the shell */
	bool list_stages;       /* --dump=help */
	bool measure_target;	/* --measure-target */
	bool tunes;		/* --tune */
	double tune_seconds;	/* 0: candidates are listed alone */
	int threads;		/* --threads: that --tune measures with; 1 where it is not given */
	VEC(Defines) tune_with; /* --tune-with: sizes to time at, together */
} Options;

/* Parses; on bad usage prints a message and ends the process with status 2; --help and --version
 * end it with 0. */
void options_parse(Options *options, Arena *arena, int argc, char **argv);
/* Ends the process with status 2 where options exclude each other; for the parser. */
void options_check(const Options *options, struct argp_state *state);
/* What the command line may hold, for completion. */
extern const struct argp options_argp;
/* Ends the process with status 2: `word` is no such `what`. */
_Noreturn void usage(const char *what, const char *word);

#endif
