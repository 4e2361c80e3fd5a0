/* Bytes to shapes: every text is read as a specification, as the string of a call, and as a
 * program, which is built to a graph and inferred in two orders, which must agree; what is found
 * goes through the checker. Every stage is printed. Nothing is read from files. Links base, lexer,
 * grammar, frontend and infer. */
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "infer/infer.h"

/* An order of the constraints that follows from the program alone. */
static uint64_t order_of(const uint8_t *data, size_t size)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	return hash | 1;
}

/* With an order given, infer_run itself holds the two results against each other. */
static void infer_all(const Graph *graph, Arena *arena, Diags *diags, uint64_t order, FILE *out)
{
	InferOptions options = {.shuffle = order};
	Inference *inference = infer_run(graph, arena, diags, &options);
	REQUIRE((inference != NULL) == (diags->nerrors == 0));
	if (!inference)
		return;
	infer_verify(inference, NULL);
	infer_dump_shapes(out, inference);
	infer_dump_guards(out, inference);
	infer_dump_proj(out, inference);
	infer_explain_closed(out, inference);
}

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
	ast_dump(out, parse_file(&parse, add_as_spec(&sources, (const char *)data, size)));
	diags_init(&diags, arena, &sources);
	uint32_t file = source_add(&sources, "program", (const char *)data, size);
	AstFile *ast = parse_file(&parse, file);
	tokens_dump(out, &parse, file);
	ast_dump(out, ast);
	FrontendOptions options = {.no_files = true};
	Graph *graph = NULL;
	if (diags.nerrors == 0)
		graph = frontend_build(&parse, &sources, ast, &options);
	if (graph && diags.nerrors == 0) {
		graph_verify(graph);
		graph_dump(out, graph);
		infer_all(graph, arena, &diags, order_of(data, size), out);
	}
	diags_print(&diags, out);
	symbols_free(symbols);
	arena_free(arena);
	return 0;
}
