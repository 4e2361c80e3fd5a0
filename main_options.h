/* The command line of tsrc. */
#ifndef TSR_MAIN_OPTIONS_H
#define TSR_MAIN_OPTIONS_H

#include <argp.h>

#include "base/arena.h"
#include "base/diag.h"
#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "infer/infer.h"

typedef VEC(const char *) Words;

typedef struct Options {
	Arena *arena;
	const char *input;
	const char *output;     /* -o */
	Words emit, dump;       /* kinds and stages, as written */
	const char *stop;
	bool syntax_only, verify, verify_run, time_report, verbose, dry_run;
	bool stdout_only;       /* --dump or --explain-* without -o or --emit: no file is written */
	const char *prefix;
	Target target;
	const char *schedule;   /* --schedule */
	int64_t max_workspace;  /* --max-workspace; -1: any */
	int64_t grain;          /* --grain; -1: the machine's */
	bool checked;		/* --checked */
	bool no_prepack;
	bool no_cache;
	const char *cache_dir;  /* NULL: none */
	Words include_dirs;
	VEC(Define) defines;
	bool deps, deps_user_only, deps_phony; /* -MD -MMD -MP */
	const char *deps_file;
	Words deps_targets;
	DiagOptions diag;
	const char *explain;    /* --explain=CODE */
	Words explain_shapes;
	bool explain_closed;
	const char *completion; /* --completion: the shell */
	bool list_stages;       /* --dump=help */
	InferOptions infer;
} Options;

/* Parses; on bad usage prints a message and ends with status 2; --help and --version end with 0. */
void options_parse(Options *options, Arena *arena, int argc, char **argv);
/* What the command line may hold, for completion. */
extern const struct argp options_argp;

#endif
