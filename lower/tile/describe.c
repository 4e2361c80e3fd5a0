/* What was chosen for a tile, as clauses of a schedule, with what the cost was estimated from:
 * extents, and how many elements every loop moves each operand. */
#include "loops/linear.h"
#include "lower/tile/plan.h"

static Sym name_of(const Planner *p, const Loop *loop)
{
	return p->tile->nest->gen->frame.iters.at[loop->var].name;
}

static void make_parts(const Planner *p, ScheduleClause *made, const Loop *loop,
		       const TileParts *parts)
{
	int64_t steps[ITEM_NUMBERS];
	for (uint32_t i = 0; i < parts->n; i++)
		steps[i] = parts->at[i].step;
	clause_add(p->program->arena, made, loop ? name_of(p, loop) : NULL, steps, parts->n);
}

static const char *operand_facts(const Planner *p, size_t load)
{
	const Nest *nest = p->tile->nest;
	Arena *arena = p->program->arena;
	const char *text = p->program->buffers.at[p->sum.from.at[load]].name, *between = " moves ";
	for (uint32_t i = 0; i < nest->nloops; i++) {
		Size by = ix_stride(p->program, p->sum.at.at[load], nest->loops[i].var);
		if (size_is_bad(by) || size_is(p->program->sizes, by, 0))
			continue;
		text = arena_printf(arena, "%s%s%s by %s", text, between,
				    name_of(p, &nest->loops[i]),
				    size_text(arena, p->program->sizes, by));
		between = ", ";
	}
	return text;
}

static bool is_described(const Planner *p, size_t load)
{
	for (size_t i = 0; i < load; i++)
		if (tile_reads_same(&p->sum, i, load))
			return true;
	return false;
}

static const char *facts_of(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	Arena *arena = p->program->arena;
	const char *text = "";
	for (uint32_t i = 0; i < nest->nloops; i++)
		text = arena_printf(arena, "%s%s%s %s", text, i ? ", " : "",
				    name_of(p, &nest->loops[i]),
				    size_text(arena, p->program->sizes, nest->loops[i].extent));
	for (size_t k = 0; k < p->sum.at.n; k++)
		if (!is_described(p, k))
			text = arena_printf(arena, "%s; %s", text, operand_facts(p, k));
	return arena_printf(arena, "%s; about %llu cycles", text,
			    (unsigned long long)p->tile->cycles);
}

static void describe_blocks(const Planner *p)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	const Loop *sum = &tile->nest->loops[tile->nest->nresult];
	const Loop *loops[] = {tile->row, tile->col, sum, sum + 1};
	const int64_t blocks[] = {tile->blocks.rows, tile->blocks.cols, tile->blocks.steps,
				  tile->blocks.within};
	ScheduleClause *made = NULL;
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		if (!blocks[i])
			continue;
		made = made ? made : gen_make(gen, CHOICE_BLOCK, false);
		clause_add(gen->arena, made, name_of(p, loops[i]), &blocks[i], 1);
	}
	if (!made && says_off(p->blocks))
		gen_make(gen, CHOICE_BLOCK, true);
}

static Sym operand_name(const Planner *p, int load)
{
	Sym name = p->program->buffers.at[p->sum.from.at[load]].name;
	return lower_identifier(p->tile->nest->gen->lower, name);
}

static void describe_matrix(const Planner *p)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	int64_t steps = tile_matrix_steps(tile);
	if (tile->matrix)
		clause_add(gen->arena, gen_make(gen, CHOICE_MATRIX, false), name_of(p, tile->along),
			   &steps, 1);
	else if (says_off(p->matrices))
		gen_make(gen, CHOICE_MATRIX, true);
}

/* A clause that names one loop, and a number where there is one. */
static void describe_loop(const Planner *p, Choice choice, Sym loop, const int64_t *number)
{
	Gen *gen = p->tile->nest->gen;
	clause_add(gen->arena, gen_make(gen, choice, false), loop, number, number != NULL);
}

/* What is copied, and how its steps lie there. */
static void describe_copies(const Planner *p)
{
	const Tile *tile = p->tile;
	if (tile->pack >= 0)
		describe_loop(p, tile->prepacked ? CHOICE_PREPACK : CHOICE_PACK,
			      operand_name(p, tile->pack), NULL);
	if (tile->group > 1)
		describe_loop(p, CHOICE_GROUP, name_of(p, tile->along), &tile->group);
	describe_matrix(p);
	if (tile->over_read >= 0)
		gen_make_operand(tile->nest->gen, CHOICE_OVER_READ,
				 p->sum.from.at[tile->over_read]);
}

/* How tiles go over the result. */
static void describe_ways(const Planner *p)
{
	const Tile *tile = p->tile;
	if (tile->stores_rows)
		describe_loop(p, CHOICE_STORE_ALONG, name_of(p, tile->row), NULL);
	if (tile->collapse.name)
		describe_loop(p, CHOICE_COLLAPSE, tile->collapse.name, NULL);
	if (tile->prefetched >= 0)
		describe_loop(p, CHOICE_PREFETCH, operand_name(p, tile->prefetched), NULL);
	if (tile->window)
		describe_loop(p, CHOICE_WINDOW, name_of(p, tile->window), NULL);
	if (tile->traversal.loop)
		describe_loop(p, CHOICE_TRAVERSE, name_of(p, tile->traversal.loop),
			      tile->traversal.rows > 0 ? &tile->traversal.rows : NULL);
	if (tile->remainder.n)
		make_parts(p, gen_make(tile->nest->gen, CHOICE_REMAINDER, false), tile->row,
			   &tile->remainder);
}

/* What is asked to be off, where it is a choice. */
static void describe_off(const Planner *p)
{
	const struct {
		const ScheduleClause *asked;
		Choice choice;
	} rows[] = {{p->remainders, CHOICE_REMAINDER}, {p->traversals, CHOICE_TRAVERSE},
		    {p->windows, CHOICE_WINDOW},       {p->prefetches, CHOICE_PREFETCH},
		    {p->packs, CHOICE_PACK},	       {p->prepacks, CHOICE_PREPACK}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (says_off(rows[i].asked))
			gen_make(p->tile->nest->gen, rows[i].choice, true);
}

void tile_describe(const Planner *p)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	ScheduleClause *made = gen_make(gen, CHOICE_TILE, false);
	make_parts(p, made, tile->row, &tile->rows);
	make_parts(p, made, tile->col, &tile->cols);
	const Loop *lanes = tile->form == TILE_ACROSS ? tile->col : tile->along;
	describe_loop(p, CHOICE_VECTOR, name_of(p, lanes), NULL);
	describe_copies(p);
	describe_ways(p);
	describe_off(p);
	describe_blocks(p);
	gen_entry(gen)->facts = facts_of(p);
}
