/* What tiles know of values: what is loaded, and what vector instructions compute. */
#include "loops/walk.h"
#include "lower/node_plan.h"
#include "lower/tile_values.h"

bool tile_has_lanes(Op op, Dtype dtype)
{
	if (dtype_is_float(dtype))
		return op_is_simple(op);
	return op == OP_ADD || op == OP_SUB || op == OP_MUL;
}

bool tile_is_widening(const Value *value)
{
	return value->kind == VALUE_CAST && value->args[0]->kind == VALUE_LOAD &&
	       dtype_wide(value->args[0]->dtype) == value->dtype;
}

bool tile_is_converting(const Value *value)
{
	if (value->kind != VALUE_CAST || value->args[0]->kind != VALUE_LOAD)
		return false;
	return conversion_in_lanes(value->args[0]->dtype, value->dtype);
}

bool conversion_in_lanes(Dtype from, Dtype to)
{
	bool integer = dtype_wide(from) == DTYPE_I32;
	if (from == DTYPE_BOOL) /* a comparison */
		return false;
	return dtype_wide(from) == to || (to == DTYPE_F32 && integer) ||
	       (to == DTYPE_F64 && (from == DTYPE_F32 || from == DTYPE_I32));
}

/* Is it a whole number that lanes compute of what they read? */
static bool is_integral(const Value *value)
{
	bool is = value->dtype == DTYPE_I32;
	if (value->kind != VALUE_OP)
		return is && (value->kind == VALUE_LOAD || value->kind == VALUE_CONST ||
			      tile_is_widening(value));
	is = is && tile_has_lanes(value->op, DTYPE_I32);
	for (uint32_t i = 0; i < value->nargs && is; i++)
		is = is_integral(value->args[i]);
	return is;
}

bool tile_is_cast_in_lanes(const Value *value)
{
	return tile_is_converting(value) ||
	       (value->kind == VALUE_CAST && value->dtype == DTYPE_F32 &&
		value->args[0]->kind == VALUE_OP && is_integral(value->args[0]));
}

static const Value *nth_load(const Value *value, uint32_t *n)
{
	if (value->kind == VALUE_LOAD || tile_is_converting(value))
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
		return converts && tile_is_cast_in_lanes(value);
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
	return ix_const(gen->arena, gen->program->sizes, value);
}

const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter)
{
	const Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix, ix_iter(gen->arena, iter));
}
