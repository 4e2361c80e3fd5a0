/* Lists, from the tables of stages and of back ends. */
#include "driver/lists.h"

#include <string.h>

#include "base/completion.h"
#include "driver/options.h"

void list_stages(FILE *out)
{
	for (int i = 0; i < pipeline_length; i++)
		fprintf(out, "%-12s %s\n", pipeline[i].name, pipeline[i].makes);
	fprintf(out, "%-12s %s\n", "shapes:N", "the solution after stage N, 1 to 7");
	fprintf(out, "%-12s %s\n", "all", "every stage");
	fputs("\n--emit writes these too:\n", out);
	for (int i = 0; i < OUTPUT_KINDS; i++)
		fprintf(out, "%-12s %s\n", backends[i].name, backends[i].makes);
	fprintf(out, "%-12s %s\n", "dot", "the tensor graph, for Graphviz");
}

void list_completion(FILE *out, Arena *arena, const char *shell)
{
	const char *stages = "", *kinds = "", *reads = "";
	for (int i = 0; i < pipeline_length; i++)
		stages = arena_printf(arena, "%s%s ", stages, pipeline[i].name);
	for (int i = 0; i < pipeline_length; i++)
		if (pipeline[i].read)
			reads = arena_printf(arena, "%s%s ", reads, pipeline[i].name);
	for (int i = 0; i < OUTPUT_KINDS; i++)
		kinds = arena_printf(arena, "%s%s ", kinds, backends[i].name);
	const CompletionChoice choices[] = {
		{"--dump", arena_printf(arena, "%sall", stages)},
		{"--stop", stages},
		{"--from", reads},
		{"--emit", arena_printf(arena, "%sdot %s", kinds, stages)},
		{"--fp", "strict default fast"},
		{"--policy", "default none"},
		{"--target", "cpu aarch64-linux-gnu cuda"},
		{"--verify", "run sums"},
		{"--completion", completion_shells},
		{"-fdiagnostics-color", "auto always never"},
		{"-fdiagnostics-format", "text json sarif"}};
	const CompletionCommand tsrc = {"", "", &options_argp};
	const Completion whole = {"tsrc", "tsr",   &tsrc,
				  1,	  choices, sizeof choices / sizeof choices[0]};
	completion_print(out, &whole, shell);
}

void list_phase(FILE *out, const char *phase, double ms)
{
	const char *before = "  ";
	fprintf(out, "%-12s %9.2f ms", phase, ms);
	for (int i = 0; i < pipeline_length; i++) {
		if (strcmp(pipeline[i].phase, phase) != 0)
			continue;
		fprintf(out, "%s%s", before, pipeline[i].name);
		before = ", ";
	}
	fputc('\n', out);
}
