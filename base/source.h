/* Source texts and places in them. */
#ifndef TSR_BASE_SOURCE_H
#define TSR_BASE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Bytes [start, end) of a file; file 0 is "no place" (the command line, or built in). */
typedef struct Span {
	uint32_t file, start, end;
} Span;

#define SPAN_NONE ((Span){0, 0, 0})

/* text[len] is NUL, and so is text[len + 1]. */
typedef struct Source {
	const char *path; /* as the user wrote it, or as an import found it */
	const char *text;
	size_t len;
	uint32_t *lines; /* offset of the first byte of each line */
	uint32_t nlines;
} Source;

typedef struct Sources {
	Arena *arena;
	VEC(Source *) files; /* files.at[0] is NULL: file 0 is no place */
} Sources;

typedef struct Place {
	const char *path;
	uint32_t line, column; /* from 1; the column counts code points */
} Place;

enum { SOURCE_LIMIT = 64 << 20 }; /* bytes of one file */

/* Without files. Texts that are read or added later are stored in the arena. */
void sources_init(Sources *sources, Arena *arena);
/* Reads a file ("-": standard input). Returns its number, or 0 with *why set to a static or arena
 * text. */
uint32_t source_read(Sources *sources, const char *path, const char **why);
/* Adds a text that is in memory already (copied). */
uint32_t source_add(Sources *sources, const char *path, const char *text, size_t len);
/* NULL: there is no such file. */
const Source *source_at(const Sources *sources, uint32_t file);
/* What stands there, as a string of the arena; "" where there is no place. */
const char *source_text(const Sources *sources, Arena *arena, Span span);
/* The line and column of an offset, the end's where it is behind that; "tsrc", line 0, of file 0. */
Place source_place(const Sources *sources, uint32_t file, uint32_t offset);
/* From the start of a to the end of b; the other one where one is SPAN_NONE; a where the files
 * differ. */
Span span_join(Span a, Span b);
static inline bool span_is_none(Span s) { return s.file == 0; }
/* Are they the same place? */
static inline bool span_same(Span a, Span b)
{
	return a.file == b.file && a.start == b.start && a.end == b.end;
}

#endif
