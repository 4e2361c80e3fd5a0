/* A sum of products over squares of an operand that are transposed in registers, for the last columns: lanes
 * run along the rows, which move that operand by more than one element, where the sum moves it by one. Tiles of
 * rows and columns that are exchanged (tile/one.c):
 *
 *   for k in 0..64 step 16
 *     unroll r, vector lane: transposed[r, lane] = a[(i + r)*64 + k + lane]
 *     unroll q in 0..16: unroll c in 0..4: vector lane in 0..16
 *       acc[c, lane] += transposed[lane, q] * b[.., k + q]
 *
 * The last square ends with the sum, and adds the steps that are left. An element adds its products in
 * the order of the loops, as if lanes went along a copy of the operand.
 */
#include "lower/tile/emit.h"

typedef struct Squares {
	Tile *tile;
	const Loop *along;	/* of the steps */
	int64_t side, elements; /* lanes; elements of each */
	LocalId acc;
} Squares;

/* transposed[r, lane] = the operand from the step `at` on */
static Block transpose_rows(const Squares *s, LocalId transposed, const Ix *at)
{
	Nest *nest = s->tile->nest;
	Gen *gen = nest->gen;
	const Ix *place[] = {ix_iter(gen->arena, s->tile->r), ix_iter(gen->arena, s->tile->lane)};
	nest->by_iter[s->along->iter] = tile_plus(s->tile, at, s->tile->lane);
	nest_values(nest);
	const Stmt *set =
		stmt_set_at(gen->arena, tile_local(s->tile, transposed, place, 2), OP_NONE,
			    tile_load(nest->value, (uint32_t)s->tile->square_operand));
	return gen_loop(gen, LOOP_UNROLL, s->tile->r, s->side,
			tile_in_lanes(s->tile, s->side, set));
}

/* acc[c, lane] += transposed[lane, q] * the other's element, for the steps at + q from `skip` on */
static Block add_steps(const Squares *s, LocalId transposed, const Ix *at, int64_t skip)
{
	Nest *nest = s->tile->nest;
	Gen *gen = nest->gen;
	const Ix *lane = ix_iter(gen->arena, s->tile->lane);
	const Ix *q = tile_plus(s->tile, tile_const(s->tile, skip), s->tile->q);
	const Ix *transpose[] = {lane, q}, *place[] = {ix_iter(gen->arena, s->tile->c), lane};
	nest->by_iter[s->along->iter] = ix_add(gen->program, at, q);
	nest_values(nest);
	const Value *row = tile_load(nest->value, (uint32_t)s->tile->square_operand);
	const Value *value = tile_replaced(gen->arena, nest->value, row,
					   tile_local(s->tile, transposed, transpose, 2));
	const Stmt *add =
		stmt_set_at(gen->arena, tile_local(s->tile, s->acc, place, 2), OP_ADD, value);
	Block elements = gen_loop(gen, LOOP_UNROLL, s->tile->c, s->elements,
				  tile_in_lanes(s->tile, s->side, add));
	return gen_loop(gen, LOOP_UNROLL, s->tile->q, s->side - skip, elements);
}

/* The square of the lanes at a step. */
static Block square_at(const Squares *s, const Ix *at, int64_t skip)
{
	Nest *nest = s->tile->nest;
	const Ix *step = nest->by_iter[s->along->iter];
	Body body = {0};
	LocalId transposed =
		tile_declare(s->tile, &body, "transposed", (int64_t[]){s->side, s->side}, 2);
	gen_append(nest->gen, &body, transpose_rows(s, transposed, at));
	gen_append(nest->gen, &body, add_steps(s, transposed, at, skip));
	nest->by_iter[s->along->iter] = step;
	return body_block(&body);
}

/* The sums of `elements` elements a lane, added to acc[c, lane]. */
static Block sum_squares(Tile *tile, int64_t elements, LocalId acc)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Squares s = {.tile = tile,
			   .along = tile_last_sum(nest),
			   .side = tile->lanes,
			   .elements = elements,
			   .acc = acc};
	int64_t steps = nest_known(nest, s.along->extent, 0);
	int64_t whole = steps / s.side * s.side, left = steps - whole;
	Body body = {0};
	gen_append(gen, &body,
		   gen_steps(gen, s.along->var, tile_const(tile, 0), tile_const(tile, whole),
			     s.side, square_at(&s, ix_iter(gen->arena, s.along->var), 0)));
	if (left)
		gen_append(gen, &body,
			   square_at(&s, tile_const(tile, steps - s.side), s.side - left));
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nresult, body_block(&body));
}

Block tile_square_steps(Tile *tile, const TilePart *row, LocalId acc)
{
	const Ix **at = tile->nest->by_iter;
	const Ix **at_row = &at[tile->row->iter], **at_col = &at[tile->col->iter];
	const Ix *row_was = *at_row, *col_was = *at_col;
	*at_col = tile_plus(tile, tile_first(tile, tile->col, tile->now.col), tile->r);
	if (row->step > 1)
		*at_row = tile_plus(tile, tile_first(tile, tile->row, row), tile->c);
	Block steps = sum_squares(tile, row->step, acc);
	*at_row = row_was;
	*at_col = col_was;
	return steps;
}
