/* What tiles know of values: what is loaded, and what vector instructions compute. */
#include "loops/walk.h"
#include "lower/tile/values.h"

static const Value *nth_load(const Value *value, uint32_t *n)
{
	if (value->kind == VALUE_LOAD || value_converts(value))
		return (*n)-- == 0 ? value : NULL;
	for (uint32_t i = 0; i < value->nargs; i++) {
		const Value *found = nth_load(value->args[i], n);
		if (found)
			return found;
	}
	return NULL;
}

const Value *tile_load(const Value *value, uint32_t n)
{
	const Value *load = nth_load(value, &n);
	REQUIRE(load);
	return load;
}

const Value *tile_replaced(Arena *arena, const Value *value, const Value *old, const Value *new)
{
	if (value_same(value, old))
		return new;
	if (value->nargs == 0)
		return value;
	Value *copy = ARENA_NEW(arena, Value);
	*copy = *value;
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = i > 0 && value->args[i] == value->args[i - 1]
					? copy->args[i - 1]
					: tile_replaced(arena, value->args[i], old, new);
	return copy;
}

bool tile_reads_same(const Loads *loads, size_t a, size_t b)
{
	return loads->from.at[a] == loads->from.at[b] && ix_same(loads->at.at[a], loads->at.at[b]);
}

/* `tile`: one whose lanes know their number; NULL: none. */
bool tile_computes_in_lanes(const Value *value, bool converts, const Tile *tile)
{
	if (value->kind == VALUE_CAST)
		return converts && value_casts_in_lanes(value);
	if (tile && tile_is_number(tile, value))
		return true;
	if (value->kind == VALUE_INDEX ||
	    (value->kind == VALUE_OP && !(op_is_simple(value->op) && dtype_is_float(value->dtype))))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!tile_computes_in_lanes(value->args[i], converts, tile))
			return false;
	return true;
}

bool tile_is_simple(const Value *value) { return tile_computes_in_lanes(value, false, NULL); }

bool tile_in_vectors(const Value *value) { return tile_computes_in_lanes(value, true, NULL); }

bool tile_is_in_vectors(const Tile *tile, const Value *value)
{
	return tile_computes_in_lanes(value, false, tile);
}

const Ix *tile_const(const Tile *tile, int64_t value)
{
	const Gen *gen = tile->nest->gen;
	return ix_const(gen->program, value);
}

const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter)
{
	const Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix, ix_iter(gen->arena, iter));
}
