/* Columns that end in a narrow vector, read as whole vectors.
 *
 * What lies behind the last column of an operand's row is its next row (or zeros before that:
 * row_block_copies.c), so all steps of the sum but the last few may read beyond the columns; lanes
 * without a column are added to and never stored:
 *
 *   local acc : f32 [13, 16] = 0
 *   for k in 0..783
 *     vector lane in 0..16: acc[r, lane] += a[(i + r)*784 + k] * b[k*10 + lane]
 *   for k in 783..784                            nothing lies behind these rows
 *     local last : f32 [16] = 0
 *     for lane in 0..10: last[lane] = b[k*10 + lane]
 *     vector lane in 0..16: acc[r, lane] += a[(i + r)*784 + k] * last[lane]
 *   vector lane in 0..10: y[(i + r)*10 + lane] = acc[r, lane]
 *
 * No element outside of the buffer is read, whatever the loops around the innermost one are at. A
 * copy of the operand (tile/pack.c) would be made by one thread and waited for by the others.
 */
#include "lower/tile/emit.h"

#include "base/diag.h"

/* acc[r, lane] += value, over the tile. */
static Block add_elements(const Tile *tile, const Value *element, const Value *value)
{
	Gen *gen = tile->nest->gen;
	const Stmt *add = stmt_set_at(gen->arena, element, tile->reduce, value);
	return tile_over_elements(tile, block_of(gen, add));
}

/* A step whose columns are copied to a local first. */
static Block last_step(Tile *tile, const Value *element)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	const Value *load = tile_load(nest->value, (uint32_t)tile->over_read);
	LocalId id = tile_declare(tile, &body, "last",
				  (int64_t[]){tile_width(tile, tile->now.width)}, 1);
	const Ix *lane = ix_iter(gen->arena, tile->lane);
	const Value *last = tile_local(tile, id, &lane, 1);
	Block copy = block_of(gen, stmt_set_at(gen->arena, last, OP_NONE, load));
	gen_append(gen, &body, gen_loop(gen, LOOP_SERIAL, tile->lane, tile->now.width, copy));
	gen_append(gen, &body,
		   add_elements(tile, element, tile_replaced(gen->arena, nest->value, load, last)));
	return body_block(&body);
}

Block tile_over_read_steps(Tile *tile, const Value *element)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *sum = tile_last_sum(nest);
	int64_t steps = nest_known(nest, sum->extent, 0);
	nest_values(nest);
	int64_t whole = steps - tile_last_steps(tile_width(tile, tile->now.width) - tile->now.width,
						tile->step_strided);
	Body body = {0};
	Block add = add_elements(tile, element, nest->value), last = last_step(tile, element);
	gen_append(gen, &body, gen_loop(gen, LOOP_SERIAL, sum->var, whole, add));
	gen_append(gen, &body,
		   gen_steps(gen, sum->var, tile_const(tile, whole), tile_const(tile, steps), 1,
			     last));
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nresult, body_block(&body));
}
