/* The code of one tile, in the form that it has: its sums, and what follows from them. */
#include "lower/tile/emit.h"
#include "lower/tile/zeros.h"

/* The sums of a tile set, or what follows from them stored. */
static Block each_vector(const Tile *tile, const Stmt *stmt)
{
	return tile_over(tile, tile_rows_kind(tile), LOOP_VECTOR, block_of(tile->nest->gen, stmt));
}

/* The sum so far, kept in the result between blocks of steps, or of a row block's rows. */
static Block load_sums(const Tile *tile, const Value *element)
{
	Nest *nest = tile->nest;
	nest_values(nest);
	const Value *sum = value_load(nest->gen->program, nest->target.buffer, nest->at);
	return each_vector(tile, stmt_set_at(nest->gen->arena, element, OP_NONE, sum));
}

static Block store_sums(const Tile *tile, const Value *element)
{
	Nest *nest = tile->nest;
	nest_values(nest);
	return each_vector(tile, stmt_store(nest->gen->arena, nest->target.buffer, nest->at,
					    OP_NONE, element));
}

/* The loops over the sum, with what is prefetched in each step. */
static Block whole_steps(Tile *tile, const TilePart *row, const Value *element, Block prefetch)
{
	Body step = {0};
	gen_append(tile->nest->gen, &step, tile_over_elements(tile, tile_add(tile, element)));
	gen_append(tile->nest->gen, &step, prefetch);
	if (tile->zeros.n > 0) {
		TileSteps steps = tile_nonzero_steps(tile, row);
		return gen_steps(tile->nest->gen, tile_zeros_sum(tile)->var, steps.lo, steps.hi, 1,
				 body_block(&step));
	}
	return tile_steps(tile, body_block(&step));
}

/* The loops over the sum, in the form that the tile at hand has. */
static Block sum_steps(Tile *tile, const TilePart *row, LocalId acc, const Value *element,
		       Block prefetch)
{
	const TilePart *col = tile->now.col;
	if (tile->square_operand >= 0)
		return tile_square_steps(tile, row, acc);
	if (tile->cut && row->edge && row->single)
		return tile_cut_steps(tile, row, acc, prefetch);
	if (tile->word > 1)
		return tile_word_steps(tile, element, prefetch);
	if (tile->group > 1)
		return tile_group_steps(tile, element, prefetch);
	if (tile->over_read >= 0 && tile_width(tile, col->step) > col->step)
		return tile_over_read_steps(tile, element);
	if (tile->window && row->step > 1)
		return tile_window_steps(tile, acc);
	return whole_steps(tile, row, element, prefetch);
}

/* A sum that goes on in the result stays there as it is where nothing is added. */
static Block unless_empty(const Tile *tile, const TilePart *row, Block body)
{
	if (!tile->nest->carries || tile->zeros.n == 0)
		return body;
	return tile_unless_empty(tile, tile_nonzero_steps(tile, row), body);
}

static Block tile_across(Tile *tile, const TilePart *row, const TilePart *col)
{
	int64_t rows = row->step, width = tile_width(tile, col->step);
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	tile->now.height = rows;
	tile->now.width = col->step;
	LocalId acc = tile_declare(tile, &body, "acc", (int64_t[]){rows, width}, 2);
	const Ix *place[] = {ix_iter(gen->arena, tile->r), ix_iter(gen->arena, tile->lane)};
	const Value *element = tile_local(tile, acc, place, 2);
	if (nest->carries)
		gen_append(gen, &body, load_sums(tile, element));
	else if (tile->blocks.steps)
		gen_append(gen, &body, tile_unless_first(tile, load_sums(tile, element)));
	tile->now.col = col;
	if (tile->sums != BUFFER_NONE) {
		Block begin = block_of(
			gen, stmt_set_at(gen->arena, element, OP_NONE, tile_group_begin(tile)));
		gen_append(gen, &body, tile_over_elements(tile, begin));
	}
	Block prefetch = tile_prefetch(tile, row, col, &body);
	Block steps = sum_steps(tile, row, acc, element, prefetch);
	gen_append(gen, &body, tile_unless_masked(tile, steps));
	Block finish = tile->stores_rows      ? tile_finish_transposed(tile, row, col, acc)
		       : tile->collapse.round ? tile_finish_pieces(tile, col, element)
					      : tile_finish(tile, element);
	if (tile->blocks.steps) {
		finish = tile_if_last(tile, true, finish);
		gen_append(gen, &body, tile_if_last(tile, false, store_sums(tile, element)));
	}
	gen_append(gen, &body, finish);
	return unless_empty(tile, row, body_block(&body));
}

/* The iterator of a loop, at its tile's first element plus `within`. */
static void set_iter(Tile *tile, const Loop *loop, const TilePart *part, IterVar within)
{
	if (!loop)
		return;
	const Ix *first = tile_first(tile, loop, part);
	bool alone = part->step == 1 && within != tile->lane;
	tile->nest->by_iter[loop->iter] = alone ? first : tile_plus(tile, first, within);
}

/* The last columns of rows that fill a square, with lanes along the rows: a tile of columns whose operand is
 * transposed in squares, of which the result is too. */
static Block tile_remainder(const Tile *tile, const TilePart *row, const TilePart *col)
{
	Tile exchanged = *tile;
	exchanged.row = tile->col;
	exchanged.col = tile->row;
	exchanged.square_operand = tile->transposed;
	exchanged.stores_rows = true;
	return tile_one(&exchanged, col, row);
}

Block tile_one(Tile *tile, const TilePart *row, const TilePart *col)
{
	bool across = tile->form == TILE_ACROSS;
	if (row->transposed)
		return tile_remainder(tile, row, col);
	tile->nest->guards = row->edge ? tile->guards : tile->inner;
	set_iter(tile, tile->row, row, tile->r);
	set_iter(tile, tile->col, col, across ? tile->lane : tile->c);
	return across ? tile_across(tile, row, col) : tile_along(tile, row, col);
}
