/* What the rows of a tile share behind the sum, computed once for all of them.
 *
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * scale[c + lane] + (b[c + lane] - m[c + lane])
 * becomes
 *   vector lane in 0..32: invariant[lane] = scale[c + lane]
 *   vector lane in 0..32: invariant1[lane] = b[c + lane] - m[c + lane]
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * invariant[lane] + invariant1[lane]
 *
 * Which parts these are is planned for each height and width of a tile (tile_choose_invariant.c).
 */
#include "loops/walk.h"
#include "lower/tile_emit.h"

typedef struct Invariants {
	Tile *tile;
	Body *body;
	const TileInvariants *plan;
	VEC(const Value *) locals;
	uint32_t place; /* of the value at hand */
	size_t next;	/* of the plan's parts, the first that is not reached */
} Invariants;

static const Value *set_local(Invariants *k, const Value *value)
{
	Gen *gen = k->tile->nest->gen;
	const Value *zero = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
	LocalId id = gen_declare(gen, k->body, "invariant", zero, &k->tile->now.width, 1);
	const Ix *place[] = {ix_iter(gen->arena, k->tile->lane)};
	const Value *local = tile_local(k->tile, id, place, 1);
	const Stmt *set = stmt_set_at(gen->arena, local, OP_NONE, value);
	gen_append(gen, k->body, tile_in_lanes(k->tile, k->tile->now.width, set));
	PUSH(gen->arena, k->locals, local);
	return local;
}

/* Is it the part that is planned, at this tile's rows and columns? */
static bool is_planned(const Value *value, const Value *planned)
{
	return value->kind == planned->kind && value->dtype == planned->dtype &&
	       (value->kind != VALUE_OP || value->op == planned->op) &&
	       (value->kind != VALUE_LOAD || value->buffer == planned->buffer);
}

/* The value with planned parts as locals. */
static const Value *with_invariants(Invariants *k, const Value *value)
{
	const TileInvariant *part = k->next < k->plan->parts.n ? &k->plan->parts.at[k->next] : NULL;
	if (part && part->place == k->place) {
		REQUIRE(is_planned(value, part->value));
		k->place++;
		k->next++;
		return part->local < k->locals.n ? k->locals.at[part->local] : set_local(k, value);
	}
	k->place++;
	if (value->nargs == 0)
		return value;
	Value *copy = value_copy(k->tile->nest->gen->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = with_invariants(k, value->args[i]);
	return copy;
}

const Value *tile_invariant(Tile *tile, const Value *value, Body *body)
{
	Invariants k = {.tile = tile, .body = body, .plan = tile_invariants(tile)};
	if (!k.plan)
		return value;
	value = with_invariants(&k, value);
	REQUIRE(k.next == k.plan->parts.n);
	return value;
}
