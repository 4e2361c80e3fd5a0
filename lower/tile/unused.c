/* Sums that make no difference behind a mask, as the gradient of the probabilities of causal attention:
 *
 *   g = sum of c * v
 *   total = sum of g * e, s = where(key <= row, (g - total) * e, 0)        e is 0, or no number, where key > row
 *
 *   local most : f32 [1, 64] = 0, greatest : f32 = 0
 *   for s: vector lane: most[0, lane] max= abs(c[s, lane])                can a sum be large?
 *   for lane: greatest max= most[0, lane]                                 greatest1 of v likewise
 *   local whole : i32 = !(greatest * greatest1 * 64 < 1e30)
 *   for t, s, a tile:
 *     if 0 <= max(first + s + 3 - t, int(whole) - 1)
 *       sum[r, c] = sum of c * v                                          else 0
 *
 * A finite number times 0 is 0, and times what is no number it is none, as 0 is: what reads the sum gets the same, up to
 * the sign of a 0, also where it adds something first, since sums that are not computed are too small to make the greatest
 * numbers infinite. Where one may be larger all are computed.
 */
#include "lower/tile/zeros.h"

#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/row_block.h"
#include "lower/tile/plan.h"

/* ---- what is planned ---- */

/* Does the operand lie along the sum? */
static bool suits_operand(const Tile *tile, const Value *load)
{
	return load->kind == VALUE_LOAD && load->dtype == tile->nest->value->dtype &&
	       ix_moves_by(tile->nest->gen->program, load->ix, tile_zeros_sum(tile)->var, 1);
}

/* Is it a product of two operands that lie along the sum, in whole vectors? */
static bool suits_value(const Tile *tile)
{
	const Value *value = tile->nest->value;
	const Loop *sum = tile_zeros_sum(tile);
	int64_t steps = nest_known(tile->nest, sum->extent, 0);
	return dtype_is_float(value->dtype) && value->kind == VALUE_OP && value->op == OP_MUL &&
	       suits_operand(tile, value->args[0]) && suits_operand(tile, value->args[1]) &&
	       steps > 0 && steps % tile_zeros_lanes(tile, sum) == 0;
}

/* Is it a sum over rows and columns alone, which is stored as it is? */
static bool is_plain(const Tile *tile)
{
	const Nest *nest = tile->nest;
	bool loops = tile->row && tile->col && nest->nresult == 2 && nest->nloops == 3 &&
		     nest->guards.n == 0 && nest->merged.n == 0 && !nest->phases;
	return nest->gen->lower->row_block && tile->form == TILE_ALONG && tile->reduce == OP_ADD &&
	       loops && nest->root == nest->node && !nest->carries && nest->target.acc == OP_NONE &&
	       suits_value(tile);
}

static bool suits(const Tile *tile, const Zeros *zeros)
{
	const Nest *nest = tile->nest;
	const Ix *ix = nest_zeros_difference(nest, zeros);
	int64_t row, col;
	return nest_zeros_fit(nest, zeros) && nest_zeros_move(nest, ix, tile->row, &row) &&
	       nest_zeros_move(nest, ix, tile->col, &col) && (row || col);
}

void tile_choose_unused(Tile *tile)
{
	const Nest *nest = tile->nest;
	Zeros found[ZEROS_MOST];
	tile->unused.n = 0;
	if (!is_plain(tile))
		return;
	const Ix **axes = access_indices(nest->gen, nest->node, nest->piece, &nest->piece->result,
					 row_block_whole(nest));
	uint32_t n = zeros_unused(nest->gen, nest->node, axes, found);
	for (uint32_t i = 0; i < n; i++)
		if (suits(tile, &found[i]))
			tile->unused.at[tile->unused.n++] = found[i];
}

/* ---- code ---- */

Block tile_unless_unused(const Tile *tile, const TilePart *row, const TilePart *col, Block steps)
{
	Gen *gen = tile->nest->gen;
	if (tile->unused.n == 0)
		return steps;
	Cond *conds = ARENA_ARRAY(gen->arena, Cond, ZEROS_MOST);
	const Ix *all = ix_plus(gen->program,
				ix_value(gen->arena, gen_local_value(gen, tile->unused.whole)), -1);
	for (uint32_t i = 0; i < tile->unused.n; i++) {
		const Ix *greatest = tile_zeros_greatest(tile, &tile->unused.at[i], row, col);
		conds[i] = (Cond){COND_LE, tile_const(tile, 0),
				  ix_binary(gen->program, IX_MAX, greatest, all)};
	}
	return block_of(gen, stmt_if(gen->arena, conds, tile->unused.n, steps));
}

/* The greatest absolute value of an operand. */
static const Value *greatest_of(const Tile *tile, uint32_t operand, Body *body)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *sum = tile_zeros_sum(tile);
	int64_t lanes = tile_zeros_lanes(tile, sum);
	const Value *zero = value_number(gen->arena, nest->value->dtype, 0);
	LocalId most = gen_declare(gen, body, "most", zero, (int64_t[]){1, lanes}, 2);
	LocalId greatest = gen_declare(gen, body, "greatest", zero, NULL, 0);
	const Ix *place[] = {tile_const(tile, 0), ix_iter(gen->arena, tile->lane)};
	const Value *element = tile_local(tile, most, place, 2);
	tile_zeros_place(tile, sum);
	const Value *load = nest->value->args[operand];
	const Value *size = value_op(gen->arena, OP_ABS, load->dtype, &load, 1);
	const Loop *loop = ix_uses(load->ix, tile->row->var) ? tile->row : tile->col;
	gen_append(
		gen, body,
		tile_zeros_over(tile, sum, loop, stmt_set_at(gen->arena, element, OP_MAX, size)));
	const Stmt *set = stmt_set(gen->arena, greatest, OP_MAX, element);
	gen_append(gen, body, gen_loop(gen, LOOP_SERIAL, tile->lane, lanes, block_of(gen, set)));
	return gen_local_value(gen, greatest);
}

Block tile_unused_check(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Arena *arena = gen->arena;
	Body body = {0};
	Dtype dtype = nest->value->dtype;
	const Value *a = greatest_of(tile, 0, &body), *b = greatest_of(tile, 1, &body);
	int64_t steps = nest_known(nest, tile_zeros_sum(tile)->extent, 0);
	const Value *most = value_binary(arena, OP_MUL, value_binary(arena, OP_MUL, a, b),
					 value_number(arena, dtype, (double)steps));
	const Value *finite = value_number(arena, dtype, dtype == DTYPE_F64 ? 1e290 : 1e30);
	const Value *less = value_binary(arena, OP_LT, most, finite);
	const Value *whole = value_cast(arena, DTYPE_I32, value_op(arena, OP_NOT, dtype, &less, 1));
	tile->unused.whole = gen_declare(gen, &body, "whole", whole, NULL, 0);
	return body_block(&body);
}
