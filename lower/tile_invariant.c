/* What the rows of a tile share behind the sum, computed once for all of them.
 *
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * scale[c + lane] + (b[c + lane] - m[c + lane])
 * becomes
 *   vector lane in 0..32: invariant[lane] = scale[c + lane]
 *   vector lane in 0..32: invariant1[lane] = b[c + lane] - m[c + lane]
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * invariant[lane] + invariant1[lane]
 *
 * A product that enters a sum stays there: both are rounded together (codegen/jit_fused.h), in a
 * tile of one row as well. What is only loaded is kept while registers are left.
 */
#include "loops/walk.h"
#include "lower/tile_emit.h"

typedef struct Invariants {
	Tile *tile;
	Body *body;
	int64_t vectors; /* of a row of lanes */
	int64_t left;	 /* registers */
	VEC(const Value *) values, locals;
} Invariants;

/* Is it the same for all rows, and read before they are stored? */
static bool is_shared(const Invariants *k, const Value *value)
{
	const Tile *tile = k->tile;
	bool moves = (value->kind == VALUE_LOAD || value->kind == VALUE_INDEX) &&
		     (ix_uses(value->ix, tile->r) || value->ix->reads);
	bool stored = value->kind == VALUE_LOAD && value->buffer == tile->nest->target.buffer;
	if (value->kind == VALUE_LOCAL || moves || stored)
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_shared(k, value->args[i]))
			return false;
	return true;
}

static bool is_worth(const Invariants *k, const Value *value)
{
	return value->kind == VALUE_OP || (value->kind == VALUE_LOAD && k->left >= k->vectors);
}

static const Value *keep(Invariants *k, const Value *value)
{
	Gen *gen = k->tile->nest->gen;
	for (size_t i = 0; i < k->values.n; i++)
		if (value_same(k->values.at[i], value))
			return k->locals.at[i];
	LocalId id = tile_declare(k->tile, "invariant", (int64_t[]){k->tile->width}, 1);
	gen->frame.locals.at[id].dtype = value->dtype;
	const Ix *place[] = {ix_iter(gen->arena, k->tile->lane)};
	const Value *local = tile_local(k->tile, id, place, 1);
	const Value *zero = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
	PUSH(gen->arena, k->body->stmts, stmt_local(gen->arena, id, zero));
	const Stmt *set = stmt_set_at(gen->arena, local, OP_NONE, value);
	gen_append(gen, k->body,
		   tile_unroll(k->tile, LOOP_VECTOR, k->tile->lane, k->tile->width,
			       block_of(gen, set)));
	PUSH(gen->arena, k->values, value);
	PUSH(gen->arena, k->locals, local);
	k->left -= k->vectors;
	return local;
}

/* The value with the largest parts that rows share replaced. */
static const Value *with_invariants(Invariants *k, const Value *value, bool in_sum)
{
	bool product = in_sum && value->kind == VALUE_OP && value->op == OP_MUL;
	if (!product && is_shared(k, value) && tile_is_simple(value) && is_worth(k, value))
		return keep(k, value);
	if (value->nargs == 0)
		return value;
	bool sum = value->kind == VALUE_OP && (value->op == OP_ADD || value->op == OP_SUB);
	Value *copy = ARENA_NEW(k->tile->nest->gen->arena, Value);
	*copy = *value;
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = with_invariants(k, value->args[i], sum);
	return copy;
}

const Value *tile_invariant(Tile *tile, const Value *value, Body *body)
{
	Invariants k = {.tile = tile, .body = body};
	k.vectors = tile_vectors(tile, tile->width);
	k.left = tile->nest->gen->lower->target->registers - tile->height * k.vectors - 2;
	return with_invariants(&k, value, false);
}
