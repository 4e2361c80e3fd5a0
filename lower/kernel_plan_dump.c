/* What --dump=nests prints: of each kernel, in the order of the routine, how it is computed. */
#include <inttypes.h>

#include "lower/kernel_plan.h"
#include "lower/lower.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"
#include "lower/tile/tile.h"

static const char *const forms[] = {
	[NEST_STORES] = "a store in each step",	      [NEST_LOCAL] = "each sum in a local",
	[NEST_ROWS] = "rows of sums in place",	      [NEST_ROW_LOCAL] = "rows of sums in a local",
	[NEST_SHORT] = "each sum one expression",     [NEST_LANES] = "each sum in lanes",
	[NEST_PARTS] = "each sum in lanes and parts", [NEST_TILES] = "tiles",
};

static const char *const kinds[] = {
	[KERNEL_SCATTER] = "a scatter",
	[KERNEL_ARGMAX] = "places of the greatest",
	[KERNEL_SORT] = "a sort",
	[KERNEL_CUMULATE] = "sums up to each place",
	[KERNEL_WORDS] = "random words",
	[KERNEL_NUMBERS] = "numbers of random words",
	[KERNEL_COPY] = "a copy",
	[KERNEL_RESHAPED] = "elements in storage order",
	[KERNEL_LEAF] = "elements",
	[KERNEL_HALVES] = "two elements a byte",
	[KERNEL_BYTES] = "a byte for each element",
};

static void dump_loops(FILE *out, const Nest *nest)
{
	const Gen *gen = nest->gen;
	for (uint32_t i = 0; i < nest->nloops; i++)
		fprintf(out, "%s%s %s", i ? ", " : " over ",
			gen->frame.iters.at[nest->loops[i].var].name,
			size_text(gen->arena, gen->program->sizes, nest->loops[i].extent));
}

/* Where each loop is cut that is. */
static void dump_cuts(FILE *out, const PlannedNest *planned, const char *indent)
{
	const Gen *gen = planned->nest.gen;
	for (uint32_t i = 0; planned->plan.cuts && i < planned->nest.nresult; i++) {
		const LoopCut *cut = &planned->plan.cuts[i];
		if (cut->parts.n > 1)
			fprintf(out, "%s  %s cut at", indent,
				gen->frame.iters.at[planned->nest.loops[i].var].name);
		for (size_t k = 1; k < cut->parts.n; k++)
			fprintf(out, "%s %s%s", k > 1 ? "," : "",
				size_text(gen->arena, gen->program->sizes, cut->parts.at[k].first),
				k + 1 == cut->parts.n ? "\n" : "");
	}
}

static void dump_copies(FILE *out, const Tile *tile, const char *indent)
{
	fprintf(out, "%s  columns copied %s\n", indent,
		tile->group > 1	   ? "in groups of steps"
		: tile->word > 1   ? "in words of steps"
		: tile->pack_along ? "along the sum"
				   : "in vectors");
}

static const char *const prefetches[] = {
	[TILE_PREFETCH_ROWS] = "the rows of the next one",
	[TILE_PREFETCH_COLUMNS] = "the next columns",
	[TILE_PREFETCH_PANEL] = "a share of the next panel",
	[TILE_PREFETCH_NEAR] = "what they read some steps ahead",
};

/* Of each part of the rows that prefetches. */
static void dump_prefetches(FILE *out, const Tile *tile, const char *indent)
{
	for (uint32_t i = 0; i < tile->rows.n; i++) {
		const TilePart *row = &tile->rows.at[i];
		TilePrefetch what = tile_prefetches(tile, row, &tile->cols.at[0]);
		if (what != TILE_PREFETCH_NONE)
			fprintf(out, "%s  tiles of height %" PRId64 " prefetch %s\n", indent,
				row->step, prefetches[what]);
	}
}

/* What the words of a schedule do not name. */
static void dump_tile(FILE *out, const Tile *tile, const char *indent)
{
	if (tile->fills)
		dump_copies(out, tile, indent);
	dump_prefetches(out, tile, indent);
	if (tile->finish.masked)
		fprintf(out, "%s  no sums where a mask hides a tile\n", indent);
	if (tile->zeros.n > 0)
		fprintf(out, "%s  no products where a mask makes a factor 0\n", indent);
	if (tile->unused.n > 0)
		fprintf(out, "%s  no sums that make no difference behind a mask\n", indent);
	if (tile->finish.fission)
		fprintf(out, "%s  functions of the sums in loops of their own\n", indent);
	if (tile->form == TILE_ALONG && tile->finish.vectors)
		fprintf(out, "%s  elements stored in vectors of columns\n", indent);
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

/* What is filled on the way, and how long it lasts. */
static void dump_buffer(FILE *out, const Program *program, BufferId id, const char *indent)
{
	const Buffer *buffer = &program->buffers.at[id];
	fprintf(out, "%s  %s %s [%s], %s\n", indent, buffer->name, dtype_name(buffer->dtype),
		size_text(program->arena, program->sizes, buffer->elements),
		buffer->kind == BUFFER_PACKED  ? "in the state"
		: buffer->kind == BUFFER_CONST ? "a constant"
		: buffer->scratch	       ? "of each thread"
					       : "of the call");
}

static void dump_argmax(FILE *out, const ArgmaxPlan *plan, const char *indent)
{
	if (plan->in_parts)
		fprintf(out, "%s  in parts of %d, elements of each in %s\n", indent, ARGMAX_PART,
			plan->in_vectors ? "vectors" : "turn");
	else if (plan->in_lanes)
		fprintf(out, "%s  each line in lanes\n", indent);
	else if (plan->columns)
		fprintf(out, "%s  lines side by side\n", indent);
}

static void dump_cumulate(FILE *out, const Lines *lines, const char *indent)
{
	const CumulatePlan *plan = &lines->cumulate;
	const char *columns = plan->runs_columns ? ", lines side by side" : "";
	if (plan->form == CUMULATE_IN_TURN && plan->columns)
		fprintf(out, "%s  lines side by side\n", indent);
	if (plan->form != CUMULATE_IN_TURN)
		fprintf(out, "%s  runs of %" PRId64 "%s%s\n", indent, lines->order.run,
			plan->whole ? ", one line after another" : ", all at a time", columns);
}

static void dump_sort(FILE *out, const SortWay *ways, const char *indent)
{
	static const char *const names[] = {[BY_RANKS] = "by ranks",
					    [BY_SELECTION] = "the first few, which are selected",
					    [BY_NETWORK] = "by a network of comparisons",
					    [BY_PARTS] = "in parts, by a network of comparisons",
					    [BY_SHORT_DIGITS] = "by digits of",
					    [BY_LONG_DIGITS] = "by digits of",
					    [BY_EXCHANGES] = "by exchanges, side by side"};
	for (SortBy by = BY_RANKS; by < SORT_WAYS; by++) {
		if (ways[by].never)
			continue;
		fprintf(out, "%s  %s", indent, names[by]);
		if (by == BY_SHORT_DIGITS || by == BY_LONG_DIGITS)
			fprintf(out, " %" PRId64 " bits", ways[by].digits[0].width);
		fprintf(out, "%s\n", ways[by].nconds ? ", of some lengths" : "");
	}
}

static void dump_lines(FILE *out, const KernelPlan *plan, const char *indent)
{
	switch (plan->kind) {
	case KERNEL_ARGMAX: dump_argmax(out, &plan->lines->argmax, indent); break;
	case KERNEL_SORT: dump_sort(out, plan->lines->sort, indent); break;
	case KERNEL_CUMULATE: dump_cumulate(out, plan->lines, indent); break;
	default: break;
	}
}

static bool prefetches_rows(const KernelPlan *plan)
{
	return plan->kind == KERNEL_CUMULATE && plan->lines->cumulate.prefetches;
}

static void dump_kernel(FILE *out, const KernelPlan *plan, const char *indent)
{
	if (plan->kind != KERNEL_NESTS) {
		fprintf(out, "%s%s: %s", indent, plan->gen.name, kinds[plan->kind]);
		dump_choices(out, plan, 0);
		dump_lines(out, plan, indent);
		if (prefetches_rows(plan))
			fprintf(out, "%s  what is read some steps on prefetched\n", indent);
	}
	for (uint32_t i = 0; i < plan->nnests; i++) {
		const PlannedNest *planned = &plan->nests[i];
		fprintf(out, "%s%s: %s", indent, plan->gen.made.at[planned->entry].name,
			forms[planned->plan.form]);
		dump_loops(out, &planned->nest);
		dump_choices(out, plan, planned->entry);
		dump_cuts(out, planned, indent);
		if (planned->plan.masked)
			fprintf(out, "%s  ends with a mask\n", indent);
		if (planned->plan.form == NEST_TILES)
			dump_tile(out, planned->plan.tile, indent);
	}
	for (size_t i = 0; i < plan->gen.buffers.n; i++)
		dump_buffer(out, plan->gen.program, plan->gen.buffers.at[i], indent);
}

/* Rows of one height: what lies between the kernels, and these. */
static void dump_part(FILE *out, const Lower *lower, const RowBlock *row_block,
		      const RowBlockPart *part)
{
	fprintf(out, "    rows %s to %s\n", size_text(lower->arena, lower->sizes, part->lo),
		size_text(lower->arena, lower->sizes, part->hi));
	for (uint32_t i = 0; i < part->nplaces; i++)
		dump_buffer(out, lower->program, part->places[i].buffer, "    ");
	for (uint32_t i = 0; i < row_block->nroots; i++)
		dump_kernel(out, part->kernels[i], "      ");
}

static void dump_row_block(FILE *out, const Lower *lower, const RowBlock *row_block)
{
	for (uint32_t i = 0; i < row_block->nroots; i++)
		fprintf(out, "%s%s", i ? ", " : "  ", lower_text(lower, row_block->roots[i].root));
	fprintf(out, ": %" PRId64 " rows of %s at a time\n", row_block->block,
		row_block->dims[row_block->rows].name);
	for (uint32_t i = 0; i < row_block->nparts; i++)
		dump_part(out, lower, row_block, &row_block->parts[i]);
}

static void dump_routine(FILE *out, const Lower *lower, const RoutinePlan *plan)
{
	for (uint32_t k = 0; k < plan->n; k++) {
		if (plan->nodes[k].row_block)
			dump_row_block(out, lower, plan->nodes[k].row_block);
		else if (plan->nodes[k].kernel)
			dump_kernel(out, plan->nodes[k].kernel, "  ");
	}
}

void lower_nests_dump(FILE *out, const LowerPlan *lower)
{
	for (uint32_t i = 0; i < lower->nroutines; i++) {
		routine_plan_dump_name(out, lower, "nests", i);
		dump_routine(out, lower, &lower->routines[i]);
	}
}
