/* Which parts of what a tile stores are computed once for all its rows (tile_invariant.c): the largest that no
 * row changes, in the order in which the value has them.
 *
 * A product that enters a sum stays there: both are rounded together (codegen/jit_fused.h), in a tile of one row as
 * well. What is only loaded is stored in registers that the sums leave; each height and width of a tile has a plan
 * of its own.
 */
#include "loops/walk.h"
#include "lower/tile_plan.h"

typedef struct Chooser {
	const Tile *tile;
	TileInvariants plan;
	uint32_t place; /* of the value at hand */
} Chooser;

/* Is it the same for all rows, and read before they are stored? */
static bool is_shared(const Tile *tile, const Value *value)
{
	bool moves = (value->kind == VALUE_LOAD || value->kind == VALUE_INDEX) &&
		     (ix_uses(value->ix, tile->r) || value->ix->reads);
	bool stored = value->kind == VALUE_LOAD && value->buffer == tile->nest->target.buffer;
	if (value->kind == VALUE_LOCAL || moves || stored)
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_shared(tile, value->args[i]))
			return false;
	return true;
}

bool tile_fits_invariants(const Tile *tile, const TileInvariants *plan, uint32_t n)
{
	int64_t rows = plan->height + n;
	return rows * tile_vectors(tile, plan->width) + 2 <= tile_target(tile)->registers;
}

static bool is_worth(const Chooser *c, const Value *value)
{
	return value->kind == VALUE_OP ||
	       (value->kind == VALUE_LOAD &&
		tile_fits_invariants(c->tile, &c->plan, c->plan.nlocals + 1));
}

/* The local of an equal part, or another one. */
static uint32_t local_of(const TileInvariants *plan, const Value *value)
{
	for (size_t i = 0; i < plan->parts.n; i++)
		if (value_same(plan->parts.at[i].value, value))
			return plan->parts.at[i].local;
	return plan->nlocals;
}

static void choose(Chooser *c, const Value *value, bool in_sum)
{
	uint32_t place = c->place++;
	bool product = in_sum && value->kind == VALUE_OP && value->op == OP_MUL;
	if (!product && is_shared(c->tile, value) && tile_is_simple(value) && is_worth(c, value)) {
		TileInvariant part = {place, local_of(&c->plan, value), value};
		c->plan.nlocals += part.local == c->plan.nlocals;
		PUSH(c->tile->nest->gen->arena, c->plan.parts, part);
		return;
	}
	bool sum = value->kind == VALUE_OP && (value->op == OP_ADD || value->op == OP_SUB);
	for (uint32_t i = 0; i < value->nargs; i++)
		choose(c, value->args[i], sum);
}

const TileInvariants *tile_invariants(const Tile *tile)
{
	for (size_t i = 0; i < tile->finish.invariants.n; i++) {
		const TileInvariants *plan = &tile->finish.invariants.at[i];
		if (plan->height == tile->now.height && plan->width == tile->now.width)
			return plan;
	}
	return NULL;
}

/* Of one row nothing is shared. */
static void choose_of(Tile *tile, Tile *look, const Value *value)
{
	Chooser c = {.tile = look, .plan = {.height = look->now.height, .width = look->now.width}};
	look->finish.invariants = tile->finish.invariants;
	if (look->now.height < 2 || tile_invariants(look))
		return;
	choose(&c, value, false);
	if (c.plan.parts.n > 0)
		PUSH(tile->nest->gen->arena, tile->finish.invariants, c.plan);
}

/* Sums that are transposed first are stored in squares, whose rows are columns of the tile. */
static void choose_squares(Tile *tile, Tile *look, const TilePart *row, const TilePart *col,
			   const Value *value)
{
	int64_t side = tile->lanes;
	for (int64_t r = 0; r < row->step; r += side)
		for (int64_t c = 0; c < col->step; c += side) {
			look->now.height = col->step - c < side ? col->step - c : side;
			look->now.width = row->step - r < side ? row->step - r : side;
			choose_of(tile, look, value);
		}
}

void tile_choose_invariants(Tile *tile, Tile *look, const Value *value)
{
	for (uint32_t j = 0; j < tile->cols.n; j++) {
		bool last = j + 1 == tile->cols.n;
		const TileParts *rows = last && tile->remainder.n ? &tile->remainder : &tile->rows;
		for (uint32_t i = 0; i < rows->n; i++) {
			const TilePart *row = &rows->at[i], *col = &tile->cols.at[j];
			look->now.height = row->step;
			look->now.width = col->step;
			if (tile->stores_rows)
				choose_squares(tile, look, row, col, value);
			else if (!row->transposed)
				choose_of(tile, look, value);
		}
	}
}
