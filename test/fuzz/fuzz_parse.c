/* Bytes to syntax trees: every text is lexed and parsed as a program, dumped, and then read as a
 * specification too: as the string of a call. Links base, lexer and grammar. */
#include <stdlib.h>
#include <string.h>

#include "grammar/parse.h"

/* A program with the text as its only string; a '"' would end it. */
static uint32_t add_as_spec(Sources *sources, const char *text, size_t len)
{
	static const char before[] = "let x = f(\"", after[] = "\")";
	size_t nbefore = sizeof before - 1, nafter = sizeof after - 1;
	char *program = malloc(nbefore + len + nafter);
	REQUIRE(program);
	memcpy(program, before, nbefore);
	for (size_t i = 0; i < len; i++)
		program[nbefore + i] = text[i] == '"' ? ' ' : text[i];
	memcpy(program + nbefore + len, after, nafter);
	uint32_t file = source_add(sources, "spec", program, nbefore + len + nafter);
	free(program);
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out; /* a sink: what is printed is read by nobody */
	if (!out)
		out = fopen("/dev/null", "w");
	Arena *arena = arena_new();
	Symbols *symbols = symbols_new();
	Sources sources;
	Diags diags;
	sources_init(&sources, arena);
	diags_init(&diags, arena, &sources);
	Parse parse = {arena, symbols, &sources, &diags};
	uint32_t file = source_add(&sources, "program", (const char *)data, size);
	ast_dump(out, parse_file(&parse, file));
	tokens_dump(out, &parse, file);
	uint32_t spec = add_as_spec(&sources, (const char *)data, size);
	diags.overflow = false;
	ast_dump(out, parse_file(&parse, spec));
	diags_print(&diags, out);
	symbols_free(symbols);
	arena_free(arena);
	return 0;
}
