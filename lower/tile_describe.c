/* What was chosen for a tile, as clauses of a schedule, with what the cost was estimated from:
 * extents, and how many elements every loop moves each operand. */
#include "loops/linear.h"
#include "lower/tile_plan.h"

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
	const Loop *loops[] = {tile->row, tile->col, &tile->nest->loops[tile->nest->nresult]};
	const int64_t blocks[] = {tile->blocks.rows, tile->blocks.cols, tile->blocks.steps};
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

void tile_describe(const Planner *p)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	ScheduleClause *made = gen_make(gen, CHOICE_TILE, false);
	make_parts(p, made, tile->row, &tile->rows);
	make_parts(p, made, tile->col, &tile->cols);
	made = gen_make(gen, CHOICE_VECTOR, false);
	const Loop *lanes = tile->form == TILE_ACROSS ? tile->col : tile->along;
	clause_add(gen->arena, made, name_of(p, lanes), NULL, 0);
	if (tile->pack >= 0) {
		made = gen_make(gen, tile->prepacked ? CHOICE_PREPACK : CHOICE_PACK, false);
		clause_add(gen->arena, made, operand_name(p, tile->pack), NULL, 0);
	}
	if (tile->group > 1) {
		made = gen_make(gen, CHOICE_GROUP, false);
		clause_add(gen->arena, made, name_of(p, tile->along), &tile->group, 1);
	}
	describe_matrix(p);
	if (tile->over_read >= 0)
		gen_make_operand(gen, CHOICE_OVER_READ, p->sum.from.at[tile->over_read]);
	if (tile->stores_rows) {
		made = gen_make(gen, CHOICE_STORE_ALONG, false);
		clause_add(gen->arena, made, name_of(p, tile->row), NULL, 0);
	}
	if (tile->merged) {
		made = gen_make(gen, CHOICE_COLLAPSE, false);
		clause_add(gen->arena, made, tile->merged, NULL, 0);
	}
	if (tile->prefetched >= 0) {
		made = gen_make(gen, CHOICE_PREFETCH, false);
		clause_add(gen->arena, made, operand_name(p, tile->prefetched), NULL, 0);
	}
	if (tile->window) {
		made = gen_make(gen, CHOICE_WINDOW, false);
		clause_add(gen->arena, made, name_of(p, tile->window), NULL, 0);
	}
	if (tile->traversal) {
		made = gen_make(gen, CHOICE_TRAVERSE, false);
		clause_add(gen->arena, made, name_of(p, tile->traversal), &tile->traversal_rows,
			   tile->traversal_rows > 0);
	}
	if (tile->remainder.n) {
		made = gen_make(gen, CHOICE_REMAINDER, false);
		make_parts(p, made, tile->row, &tile->remainder);
	}
	if (says_off(p->remainders))
		gen_make(gen, CHOICE_REMAINDER, true);
	if (says_off(p->traversals))
		gen_make(gen, CHOICE_TRAVERSE, true);
	if (says_off(p->windows))
		gen_make(gen, CHOICE_WINDOW, true);
	if (says_off(p->prefetches))
		gen_make(gen, CHOICE_PREFETCH, true);
	if (says_off(p->packs))
		gen_make(gen, CHOICE_PACK, true);
	if (says_off(p->prepacks))
		gen_make(gen, CHOICE_PREPACK, true);
	describe_blocks(p);
	gen_entry(gen)->facts = facts_of(p);
}
