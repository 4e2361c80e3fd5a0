/* Files that tsrc leaves: written to a temporary name beside the final one, renamed only when the
 * whole compilation has succeeded; after an error there is no new file and every old one is
 * untouched. */
#ifndef TSR_DRIVER_OUTPUT_H
#define TSR_DRIVER_OUTPUT_H

#include "base/arena.h"
#include "base/diag.h"

typedef struct OutputFile {
	const char *path, *temp; /* temp: NULL once it has its name */
	bool stream;		 /* standard output, or what cannot be renamed over */
} OutputFile;

typedef struct Outputs {
	Arena *arena;
	Diags *diags;
	VEC(OutputFile) files;
} Outputs;

/* Makes the temporary file (empty, in the same directory); NULL after an error. "-" is standard
 * output, written through a temporary file too. */
const char *outputs_add(Outputs *outputs, const char *path);
/* Writes all streams, then renames all files; stops at an error. */
void outputs_commit(Outputs *outputs);
/* Removes what is temporary, after a commit or without one. */
void outputs_end(Outputs *outputs);

/* "dir/name.tsr" to "dir/name" + suffix. */
const char *path_with_suffix(Arena *arena, const char *path, const char *suffix);
/* The last component without its suffix, made an identifier: "my-net.tsr" to "my_net". */
const char *path_identifier(Arena *arena, const char *path);
/* The last component. */
const char *path_base(const char *path);

typedef struct DepRule {
	const char *const *targets;
	size_t ntargets;
	const char *const *files; /* prerequisites, in order, each once */
	size_t nfiles;
	bool phony;
} DepRule;
/* One make rule, names escaped as make wants them. */
void deps_print(FILE *out, const DepRule *rule);

#endif
