/* Reads source texts and maps offsets to lines and columns. A line ends at '\n'; a '\r' before
 * it belongs to the line's end. Invariant: lines[0] is 0 and the offsets ascend, so that a
 * binary search finds the line of any offset. */
#include "base/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/held.h"

void sources_init(Sources *sources, Arena *arena)
{
	*sources = (Sources){.arena = arena};
	PUSH(arena, sources->files, (Source *)NULL);
}

static void index_lines(Arena *arena, Source *source)
{
	const char *end = source->text + source->len;
	uint32_t n = 1;
	for (const char *p = source->text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	source->lines = ARENA_ARRAY(arena, uint32_t, n);
	source->nlines = 1;
	for (const char *p = source->text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		source->lines[source->nlines++] = (uint32_t)(p + 1 - source->text);
	if (source->nlines > 1 && source->lines[source->nlines - 1] == source->len)
		source->nlines--; /* a final newline ends the last line, it starts none */
}

/* Takes the text over: it lies in the arena with its two NULs already. */
static uint32_t add(Sources *sources, const char *path, const char *text, size_t len)
{
	Source *source = ARENA_NEW(sources->arena, Source);
	source->path = arena_strndup(sources->arena, path, strlen(path));
	source->text = text;
	source->len = len;
	index_lines(sources->arena, source);
	PUSH(sources->arena, sources->files, source);
	return (uint32_t)sources->files.n - 1;
}

uint32_t source_add(Sources *sources, const char *path, const char *text, size_t len)
{
	if (len > SOURCE_LIMIT)
		len = SOURCE_LIMIT;
	char *copy = arena_alloc(sources->arena, len + 2);
	if (len)
		memcpy(copy, text, len);
	return add(sources, path, copy, len);
}

/* The whole stream in malloc'ed memory, at most SOURCE_LIMIT + 1 bytes; NULL when reading fails. */
static char *read_all(FILE *in, size_t *len)
{
	size_t cap = 16 << 10, n = 0;
	char *text = held_alloc(cap, 1);
	while (text) {
		size_t got = fread(text + n, 1, cap - n, in);
		n += got;
		if (got == 0 || n > SOURCE_LIMIT)
			break;
		if (n == cap) {
			char *more = held_realloc(text, cap *= 2);
			if (!more)
				held_free(text);
			text = more;
		}
	}
	if (text && ferror(in)) {
		held_free(text);
		return NULL;
	}
	*len = n;
	return text;
}

uint32_t source_read(Sources *sources, const char *path, const char **why)
{
	*why = NULL;
	FILE *in = strcmp(path, "-") == 0 ? stdin : held_file(file_open(path, why));
	if (!in) {
		*why = arena_strndup(sources->arena, *why, strlen(*why));
		return 0;
	}
	size_t len = 0;
	errno = 0;
	char *text = read_all(in, &len);
	if (!text) {
		const char *error = errno ? strerror(errno) : "it cannot be read";
		*why = arena_strndup(sources->arena, error, strlen(error));
	} else if (len > SOURCE_LIMIT) {
		*why = "it is larger than 64 MiB";
	}
	uint32_t file = *why ? 0 : source_add(sources, in == stdin ? "<stdin>" : path, text, len);
	held_free(text);
	if (in != stdin)
		held_close(in);
	return file;
}

const Source *source_at(const Sources *sources, uint32_t file)
{
	return file < sources->files.n ? sources->files.at[file] : NULL;
}

/* The number, from 0, of the line that holds the offset. */
static uint32_t find_line(const Source *source, uint32_t offset)
{
	uint32_t low = 0, high = source->nlines;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		if (source->lines[mid] <= offset)
			low = mid;
		else
			high = mid;
	}
	return low;
}

const char *source_text(const Sources *sources, Arena *arena, Span span)
{
	if (span_is_none(span))
		return "";
	const Source *source = source_at(sources, span.file);
	return arena_strndup(arena, source->text + span.start, span.end - span.start);
}

Place source_place(const Sources *sources, uint32_t file, uint32_t offset)
{
	const Source *source = source_at(sources, file);
	if (!source)
		return (Place){"tsrc", 0, 0};
	if (offset > source->len)
		offset = (uint32_t)source->len;
	uint32_t line = find_line(source, offset), column = 1;
	for (uint32_t at = source->lines[line]; at < offset; at++)
		column += ((unsigned char)source->text[at] & 0xC0) != 0x80 &&
			  source->text[at] != '\n';
	return (Place){source->path, line + 1, column};
}

Span span_join(Span a, Span b)
{
	if (span_is_none(a))
		return b;
	if (span_is_none(b) || a.file != b.file)
		return a;
	return (Span){a.file, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}
