/* Products of which a mask makes a factor 0, as behind causal attention: y = sum of p * v, p 0 where key > row.
 *
 *   local whole : i32 = 0
 *   for s: if first + s < 1023: whole max= p[s, 1023] != 0       is what is hidden no 0?
 *   for t: vector lane: none[lane] += v[t, lane] * 0             is any factor infinite, or no number?
 *   for lane: whole max= none[lane] != 0
 *   for s, a tile:
 *     for t in 0..min(1024, max(first + s + 4, int(whole)*1024))      the sum begins or ends with the mask
 *       acc[r, lane] += p[s + r, t] * v[t, lane]
 *
 * What is stored is the same, up to the sign of a 0: a sum does not change by 0. Where what is hidden is no 0, or what it
 * is multiplied by is not finite, all steps are added, 0 * inf too. A mask that hides a whole tile of a sum that
 * goes on in the result leaves it as it is.
 */
#include "lower/tile/zeros.h"

#include "loops/linear.h"
#include "lower/tile/plan.h"

#include "loops/walk.h"
#include "lower/nest/row_block.h"

const Loop *tile_zeros_sum(const Tile *tile) { return &tile->nest->loops[tile->nest->nresult]; }

/* ---- what is planned ---- */

/* Is it a sum of products of two loads in steps one after another, over rows and columns alone? */
static bool is_plain(const Tile *tile)
{
	const Nest *nest = tile->nest;
	const Value *value = nest->value;
	uint32_t ways = (tile->row != NULL) + (tile->col != NULL);
	bool products = value->kind == VALUE_OP && value->op == OP_MUL &&
			value->args[0]->kind == VALUE_LOAD && value->args[1]->kind == VALUE_LOAD &&
			lower_node(nest->gen->lower, nest->node)->nargs == 2;
	bool steps = tile->word == 1 && tile->group == 1 && !tile->matrix && !tile->window &&
		     !tile->blocks.steps && tile->square_operand < 0 && tile->remainder.n == 0 &&
		     tile_width(tile, tile->cols.at[0].step) == tile->cols.at[0].step;
	return nest->gen->lower->row_block && tile->form == TILE_ACROSS && tile->reduce == OP_ADD &&
	       ways == 2 && nest->nresult == 2 && nest->nloops == 3 && products && steps &&
	       tile->pack < 0 && !tile->collapse.round && !tile->traversal.loop &&
	       !tile->stores_rows && nest->guards.n == 0 && nest->merged.n == 0 && !nest->phases &&
	       nest->target.acc == OP_NONE;
}

static bool suits(const Tile *tile, const Loop *along, const Zeros *zeros)
{
	const Nest *nest = tile->nest;
	const Ix *ix = nest_zeros_difference(nest, zeros);
	int64_t by, row, col, sum;
	return nest_zeros_fit(nest, zeros) && nest_zeros_move(nest, ix, along, &by) && by != 0 &&
	       nest_zeros_move(nest, ix, tile->row, &row) &&
	       nest_zeros_move(nest, ix, tile->col, &col) &&
	       nest_zeros_move(nest, ix, tile_zeros_sum(tile), &sum) && sum != 0;
}

int64_t tile_zeros_lanes(const Tile *tile, const Loop *loop)
{
	int64_t elements = nest_known(tile->nest, loop->extent, 0);
	bool few = elements <= tile_target(tile)->registers / 4 * tile_native(tile);
	return few ? elements : tile_native(tile);
}

/* Is the other factor of rows of columns, whole vectors or few of these, that many rows of the tiles read? */
static bool suits_other(const Tile *tile, const Value *load)
{
	const Nest *nest = tile->nest;
	int64_t columns, rows;
	bool known = nest_known(nest, tile->col->extent, 0) > 0;
	columns = nest_known(nest, tile->col->extent, 0);
	rows = nest_known(nest, tile->row->extent, tile_target(tile)->least_rows);
	return known && rows >= tile_target(tile)->least_rows &&
	       columns % tile_zeros_lanes(tile, tile->col) == 0 &&
	       ix_moves_by(nest->gen->program, load->ix, tile->col->var, 1) &&
	       !ix_uses(load->ix, tile->row->var);
}

static void keep(Tile *tile, const Loop *along, const Zeros *found, uint32_t n)
{
	for (uint32_t i = 0; i < n && tile->zeros.n < ZEROS_MOST; i++) {
		bool known = false;
		for (uint32_t k = 0; k < tile->zeros.n; k++)
			known |= ix_same(tile->zeros.at[k].less, found[i].less) &&
				 ix_same(tile->zeros.at[k].more, found[i].more);
		if (known || !suits(tile, along, &found[i]))
			continue;
		tile->zeros.along[tile->zeros.n] = along;
		tile->zeros.at[tile->zeros.n++] = found[i];
	}
}

static void find_in(Tile *tile, uint32_t operand)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	NodeId node = lower_node(gen->lower, nest->node)->args[operand];
	const Value *load = nest->value->args[operand];
	if (gen->lower->plan[node].fused || !suits_other(tile, nest->value->args[!operand]))
		return;
	const Ix **axes = access_indices(gen, nest->node, nest->piece, &nest->piece->args[operand],
					 row_block_whole(nest));
	if (!value_same(node_value(gen, node, axes), load))
		return;
	tile->zeros.operand = operand;
	const Loop *ways[] = {tile_zeros_sum(tile), tile->row};
	for (int i = 0; i < 2; i++) {
		Zeros found[ZEROS_MOST];
		if (ix_uses(load->ix, ways[i]->var))
			keep(tile, ways[i], found,
			     zeros_find(gen, node, axes, ways[i]->var, found));
	}
}

void tile_choose_zeros(Tile *tile)
{
	tile->zeros.n = 0;
	if (!is_plain(tile))
		return;
	for (uint32_t operand = 0; operand < 2 && tile->zeros.n == 0; operand++)
		find_in(tile, operand);
}

/* ---- the steps of a tile ---- */

const Ix *tile_zeros_greatest(const Tile *tile, const Zeros *zeros, const TilePart *row,
			      const TilePart *col)
{
	Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Loop *loops[] = {tile->row, tile->col};
	const TilePart *parts[] = {row, col};
	const Ix *greatest = nest_zeros_difference(nest, zeros);
	for (int i = 0; i < 2; i++) {
		int64_t slope;
		REQUIRE(nest_zeros_move(nest, greatest, loops[i], &slope));
		const Ix *last = ix_plus(program, tile_first(tile, loops[i], parts[i]),
					 slope > 0 ? parts[i]->step - 1 : 0);
		greatest = ix_add(program, ix_without(program, greatest, loops[i]->var),
				  ix_times(program, last, slope));
	}
	return greatest;
}

/* The same less what the sum moves it by. */
static const Ix *rest_of(const Tile *tile, const Zeros *zeros, const TilePart *row, int64_t *by)
{
	const Nest *nest = tile->nest;
	const Loop *sum = tile_zeros_sum(tile);
	const Ix *greatest = tile_zeros_greatest(tile, zeros, row, tile->now.col);
	REQUIRE(nest_zeros_move(nest, greatest, sum, by));
	return ix_without(nest->gen->program, greatest, sum->var);
}

TileSteps tile_nonzero_steps(const Tile *tile, const TilePart *row)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	const Ix *extent = ix_size(gen->arena, tile_zeros_sum(tile)->extent),
		 *zero = tile_const(tile, 0);
	const Ix *all = ix_mul(
		program, ix_value(gen->arena, gen_local_value(gen, tile->zeros.whole)), extent);
	TileSteps steps = {zero, extent};
	for (uint32_t i = 0; i < tile->zeros.n; i++) {
		int64_t by;
		const Ix *rest = rest_of(tile, &tile->zeros.at[i], row, &by);
		if (by < 0) {
			const Ix *end = ix_binary(program, IX_MAX, ix_plus(program, rest, 1), all);
			steps.hi = ix_binary(program, IX_MIN, steps.hi, end);
		} else {
			const Ix *begin = ix_binary(program, IX_MIN, ix_times(program, rest, -1),
						    ix_minus(program, extent, all));
			steps.lo = ix_binary(program, IX_MAX, steps.lo, begin);
		}
	}
	return steps;
}

Block tile_unless_empty(const Tile *tile, TileSteps steps, Block body)
{
	return tile_only_if(tile, COND_LT, steps.lo, steps.hi, body);
}

/* ---- whether terms are 0 ---- */

/* Are the lanes all elements along the loop? */
static bool is_one_strip(const Tile *tile, const Loop *along)
{
	return tile_zeros_lanes(tile, along) == nest_known(tile->nest, along->extent, 0);
}

static Block note_other_than_0(const Tile *tile, const Value *value)
{
	Gen *gen = tile->nest->gen;
	const Value *other =
		value_binary(gen->arena, OP_NE, value, value_number(gen->arena, value->dtype, 0));
	return block_of(gen, stmt_set(gen->arena, tile->zeros.whole, OP_MAX,
				      value_cast(gen->arena, DTYPE_I32, other)));
}

void tile_zeros_place(const Tile *tile, const Loop *along)
{
	Nest *nest = tile->nest;
	const Ix *lane = ix_iter(nest->gen->arena, tile->lane);
	for (uint32_t i = 0; i < nest->nloops; i++)
		nest->by_iter[nest->loops[i].iter] = ix_iter(nest->gen->arena, nest->loops[i].var);
	if (along)
		nest->by_iter[along->iter] =
			is_one_strip(tile, along)
				? lane
				: ix_add(nest->gen->program, nest->by_iter[along->iter], lane);
	nest_values(nest);
}

Block tile_zeros_over(const Tile *tile, const Loop *along, const Loop *outer, const Stmt *stmt)
{
	Gen *gen = tile->nest->gen;
	int64_t lanes = tile_zeros_lanes(tile, along);
	Block each = tile_in_lanes(tile, lanes, stmt);
	if (!is_one_strip(tile, along))
		each = gen_steps(gen, along->var, tile_const(tile, 0),
				 ix_size(gen->arena, along->extent), lanes, each);
	return gen_over(gen, outer->var, outer->extent, each);
}

/* What the mask hides, at the end of the loop along which all of it is one number. */
static Block look_at_masked(const Tile *tile, uint32_t number)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Program *program = gen->program;
	const Zeros *zeros = &tile->zeros.at[number];
	const Loop *along = tile->zeros.along[number],
		   *other = along == tile->row ? tile_zeros_sum(tile) : tile->row;
	const Ix *seen = nest_zeros_difference(nest, zeros),
		 *extent = ix_size(gen->arena, along->extent);
	int64_t by;
	tile_zeros_place(tile, NULL);
	REQUIRE(nest_zeros_move(nest, seen, along, &by));
	Block body = note_other_than_0(tile, nest->value->args[tile->zeros.operand]);
	body = tile_only_if(tile, COND_LT, seen, tile_const(tile, 0), body);
	const Ix *zero = tile_const(tile, 0), *one = tile_const(tile, 1);
	const Ix *lo =
		by > 0 ? zero : ix_binary(program, IX_MAX, zero, ix_plus(program, extent, -1));
	const Ix *hi = by > 0 ? ix_binary(program, IX_MIN, one, extent) : extent;
	body = gen_steps(gen, along->var, lo, hi, 1, body);
	return gen_over(gen, other->var, other->extent, body);
}

/* Whether all that the hidden terms are multiplied by is finite. */
static void look_at_others(const Tile *tile, Body *body)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	int64_t lanes = tile_zeros_lanes(tile, tile->col);
	const Value *zero = value_number(gen->arena, nest->value->dtype, 0);
	LocalId none = gen_declare(gen, body, "none", zero, (int64_t[]){1, lanes}, 2);
	const Ix *place[] = {tile_const(tile, 0), ix_iter(gen->arena, tile->lane)};
	const Value *element = tile_local(tile, none, place, 2);
	tile_zeros_place(tile, tile->col);
	const Value *product =
		value_binary(gen->arena, OP_MUL, nest->value->args[!tile->zeros.operand], zero);
	gen_append(gen, body,
		   tile_zeros_over(tile, tile->col, tile_zeros_sum(tile),
				   stmt_set_at(gen->arena, element, OP_ADD, product)));
	gen_append(gen, body,
		   gen_loop(gen, LOOP_SERIAL, tile->lane, lanes, note_other_than_0(tile, element)));
}

Block tile_zeros_check(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Body body = {0};
	tile->zeros.whole =
		gen_declare(gen, &body, "whole", value_number(gen->arena, DTYPE_I32, 0), NULL, 0);
	for (uint32_t i = 0; i < tile->zeros.n; i++)
		if (!tile->zeros.at[i].sure)
			gen_append(gen, &body, look_at_masked(tile, i));
	look_at_others(tile, &body);
	return body_block(&body);
}
