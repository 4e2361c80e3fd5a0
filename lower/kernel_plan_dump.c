/* What --dump=nests prints: of each kernel, in the order of the routine, how it is computed. */
#include <inttypes.h>

#include "lower/kernel_plan.h"
#include "lower/lower.h"
#include "lower/row_block.h"

static const char *const forms[] = {
	[NEST_STORES] = "a store in each step",	      [NEST_LOCAL] = "each sum in a local",
	[NEST_ROWS] = "rows of sums in place",	      [NEST_ROW_LOCAL] = "rows of sums in a local",
	[NEST_SHORT] = "each sum one expression",     [NEST_LANES] = "each sum in lanes",
	[NEST_PARTS] = "each sum in lanes and parts", [NEST_TILES] = "tiles",
};

static void dump_loops(FILE *out, const Nest *nest)
{
	const Gen *gen = nest->gen;
	for (uint32_t i = 0; i < nest->nloops; i++)
		fprintf(out, "%s%s %s", i ? ", " : " over ",
			gen->iters.at[nest->loops[i].var].name,
			size_text(gen->arena, gen->program->sizes, nest->loops[i].extent));
}

/* The order of loops is that in which they are printed. */
static void dump_choices(FILE *out, const KernelPlan *plan, uint32_t number)
{
	const ScheduleEntry *entry = &plan->gen.made.at[number];
	if (plan->aside)
		fprintf(out, "; for %s", lower_text(plan->gen.lower, plan->node));
	for (size_t i = 0; i < entry->clauses.n; i++)
		if (entry->clauses.at[i].choice != CHOICE_ORDER)
			fprintf(out, "; %s",
				schedule_clause_text(plan->gen.arena, &entry->clauses.at[i]));
	fputc('\n', out);
}

/* What is declared for the kernel, and how long it lasts. */
static void dump_buffers(FILE *out, const Gen *gen)
{
	for (size_t i = 0; i < gen->buffers.n; i++) {
		const Buffer *buffer = &gen->program->buffers.at[gen->buffers.at[i]];
		fprintf(out, "    %s %s [%s], %s\n", buffer->name, dtype_name(buffer->dtype),
			size_text(gen->arena, gen->program->sizes, buffer->elements),
			buffer->kind == BUFFER_PACKED  ? "in the state"
			: buffer->kind == BUFFER_CONST ? "a constant"
			: buffer->scratch	       ? "of each thread"
						       : "of the call");
	}
}

void kernel_plan_dump(FILE *out, const KernelPlan *plan)
{
	if (plan->nnests == 0) {
		fprintf(out, "  %s: loops of its own kind", plan->gen.name);
		dump_choices(out, plan, 0);
	}
	for (uint32_t i = 0; i < plan->nnests; i++) {
		const PlannedNest *planned = &plan->nests[i];
		fprintf(out, "  %s: %s", plan->gen.made.at[planned->entry].name,
			forms[planned->plan.form]);
		dump_loops(out, &planned->nest);
		dump_choices(out, plan, planned->entry);
	}
	dump_buffers(out, &plan->gen);
}

static void dump_node(FILE *out, const RoutinePlan *plan, const NodePlan *node)
{
	if (node->inlined == NODE_NONE) {
		kernel_plan_dump(out, node->kernel);
		return;
	}
	const NodePlan *reader = routine_plan_node(plan, node->inlined);
	fprintf(out, "  %s: computed where %s reads it\n", node->kernel->gen.name,
		reader->kernel->gen.name);
}

static void dump_row_block(FILE *out, const Lower *lower, const RowBlock *row_block)
{
	for (uint32_t i = 0; i < row_block->nroots; i++)
		fprintf(out, "%s%s", i ? ", " : "  ", lower_text(lower, row_block->roots[i].root));
	fprintf(out, ": %" PRId64 " rows of %s at a time\n", row_block->block,
		row_block->dims[row_block->rows].name);
}

void lower_nests_dump(FILE *out, const LowerPlan *lower)
{
	for (uint32_t i = 0; i < lower->graph->routines.n; i++) {
		const RoutinePlan *plan = &lower->routines[i];
		fprintf(out, "nests %s\n", lower->graph->routines.at[i].name);
		for (uint32_t k = 0; k < plan->n; k++) {
			if (plan->nodes[k].row_block)
				dump_row_block(out, lower, plan->nodes[k].row_block);
			else if (plan->nodes[k].kernel)
				dump_node(out, plan, &plan->nodes[k]);
		}
	}
}
