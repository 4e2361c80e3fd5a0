/* Text dumps of the solver: constraints as generated, shapes after a stage with the rules that
 * fired. */
#include "infer/close.h"
#include "infer/dump.h"
#include "infer/generate.h"
#include "infer/rows.h"
#include "infer/text.h"
#include "infer/trace.h"

/* ---- dumps: the solver runs again, in an arena of the dump's own, as far as is asked ---- */

void infer_dump_constraints(FILE *out, const Inference *inference)
{
	Arena *arena = arena_new();
	Solver *s = solver_new(inference->graph, arena);
	generate(s);
	for (ConId id = 0; id < s->cons.n; id++) {
		const Con *con = &s->cons.at[id];
		if (con->node != NODE_NONE)
			fprintf(out, "%%%-4u %-9s ", con->node,
				node_kind_name(&s->graph->nodes.at[con->node]));
		else
			fprintf(out, "%-5s %-9s ", "", "size");
		fprintf(out, "%s\n", con_text(s, id));
	}
	arena_free(arena);
}

static const char *known_row_text(Solver *s, const RowTerm *row)
{
	FlatRow f;
	row_flatten(s, row, &f);
	return flat_text(s, &f);
}

static void print_rows(FILE *out, Solver *s, NodeId id)
{
	fprintf(out, "%s | ", known_row_text(s, &s->rows[id][ROW_BATCH]));
	fprintf(out, "%s -> ", known_row_text(s, &s->rows[id][ROW_INPUT]));
	fprintf(out, "%s\n", known_row_text(s, &s->rows[id][ROW_OUTPUT]));
}

void infer_dump_stage(FILE *out, const Inference *inference, int stage)
{
	Arena *arena = arena_new();
	Solver *s = solver_new(inference->graph, arena);
	generate(s);
	solver_run(s, stage, 0);
	if (stage == STAGES)
		dump_rules(out);
	for (size_t i = 0; i < s->graph->listing.n; i++) {
		const Listing *l = &s->graph->listing.at[i];
		fprintf(out, "%s : %s ", l->name, dtype_name(s->graph->nodes.at[l->node].dtype));
		print_rows(out, s, l->node);
	}
	explain_events(out, s, inference->trace->sources, stage);
	arena_free(arena);
}

void infer_dump_guards(FILE *out, const Inference *inference)
{
	for (size_t i = 0; i < inference->guards.n; i++)
		if (!inference->guards.at[i].given)
			fprintf(out, "requires: %s\n", inference->guards.at[i].text);
}
