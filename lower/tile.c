/* Contractions in register tiles: loops over tiles, and the code of one tile.
 *
 *   for j in 0..96 step 32                     columns outside: what they read stays in the cache
 *     for i in 0..M step 8
 *       local acc : f32 [8, 32] = 0
 *       for k in 0..K
 *         unroll r in 0..8
 *           vector lane in 0..32: acc[r, lane] += a[(i + r)*K + k] * b[k*N + j + lane]
 *       unroll r in 0..8
 *         vector lane in 0..32: y[(i + r)*N + j + lane] = relu(acc[r, lane] + bias[j + lane])
 *
 * Every part of rows and every part of columns (tile_parts.c) gives one such tile; tile_block.c
 * goes through them in blocks where operands do not stay in the caches. Sums of one cell are added
 * in the order of the loops, whatever tile the cell is in.
 */
#include "lower/tile.h"

#include "base/diag.h"

enum { IN_LINE = 2 };

const Ix *tile_const(const Tile *tile, int64_t value)
{
	const Gen *gen = tile->nest->gen;
	return ix_const(gen->arena, gen->program->sizes, value);
}

const Value *tile_local(const Tile *tile, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const Gen *gen = tile->nest->gen;
	Kernel view = {.locals = gen->locals.at, .nlocals = (uint32_t)gen->locals.n};
	const Ix **copy = ARENA_ARRAY(gen->arena, const Ix *, nixs + 1);
	for (uint32_t i = 0; i < nixs; i++)
		copy[i] = ixs[i];
	return value_local(gen->arena, &view, local, copy, nixs);
}

const Ix *tile_plus(const Tile *tile, const Ix *ix, IterVar iter)
{
	const Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix, ix_iter(gen->arena, iter));
}

LocalId tile_declare(const Tile *tile, const char *name, const int64_t *extents, uint32_t rank)
{
	Gen *gen = tile->nest->gen;
	LocalId id = gen_local(gen, name, nest_neutral(tile->nest)->dtype);
	gen->locals.at[id].rank = rank;
	for (uint32_t i = 0; i < rank; i++)
		gen->locals.at[id].extent[i] = (uint32_t)extents[i];
	return id;
}

Block tile_unroll(const Tile *tile, LoopKind kind, IterVar iter, int64_t extent, Block body)
{
	Gen *gen = tile->nest->gen;
	return block_of(gen, stmt_loop(gen->program, kind, iter, extent, body));
}

Block tile_in_lanes(const Tile *tile, int64_t lanes, const Stmt *stmt)
{
	return tile_unroll(tile, LOOP_VECTOR, tile->lane, lanes, block_of(tile->nest->gen, stmt));
}

Block tile_add(Tile *tile, const Value *cell)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	nest_values(nest);
	REQUIRE(nest->inner.n == 0);
	bool packed = tile->pack >= 0 && !tile->copies;
	const Value *value = packed ? tile_pack_value(tile, tile->at_col) : nest->value;
	return block_of(gen, stmt_set_at(gen->arena, cell, tile->reduce, value));
}

Block tile_store(Tile *tile, const Value *sum)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body cell = {0};
	nest_values(nest);
	const Value *value = tile_numbers(tile, nest_finish(nest, sum, &cell));
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	return body_block(&cell);
}

/* ---- lanes across the result ---- */

Block tile_over(const Tile *tile, LoopKind rows, LoopKind lanes, Block body)
{
	body = tile_unroll(tile, lanes, tile->lane, tile->width, body);
	return tile_unroll(tile, rows, tile->r, tile->height, body);
}

Block tile_over_cells(const Tile *tile, Block body)
{
	body = tile_unroll(tile, LOOP_VECTOR, tile->lane, tile_width(tile, tile->at_col->step),
			   body);
	return tile_unroll(tile, LOOP_UNROLL, tile->r, tile->height, body);
}

/* The sums of a tile set, or what follows from them stored. */
static Block each_vector(const Tile *tile, const Stmt *stmt)
{
	return tile_over(tile, LOOP_UNROLL, LOOP_VECTOR, block_of(tile->nest->gen, stmt));
}

/* Rows of lanes stored; what they share is in `body`, unless the value has locals of its own. */
static Block store_cells(Tile *tile, const Value *sum, Body *body)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body cell = {0};
	nest_values(nest);
	const Value *value = tile_numbers(tile, nest_finish(nest, sum, &cell));
	if (cell.stmts.n == 0)
		value = tile_invariant(tile, value, body);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	Block store = tile_unroll(tile, LOOP_VECTOR, tile->lane, tile->width, body_block(&cell));
	return tile_unroll(tile, LOOP_UNROLL, tile->r, tile->height, store);
}

Block tile_finish(Tile *tile, const Value *cell)
{
	Body body = {0};
	if (tile_needs_fission(tile, cell))
		return tile_finish_in_fission(tile, cell);
	gen_append(tile->nest->gen, &body, store_cells(tile, cell, &body));
	return body_block(&body);
}

/* The sum so far, kept in the result between blocks of steps. */
static Block load_sums(const Tile *tile, const Value *cell)
{
	Nest *nest = tile->nest;
	nest_values(nest);
	const Value *sum = value_load(nest->gen->program, nest->target.buffer, nest->at);
	return each_vector(tile, stmt_set_at(nest->gen->arena, cell, OP_NONE, sum));
}

static Block store_sums(const Tile *tile, const Value *cell)
{
	Nest *nest = tile->nest;
	nest_values(nest);
	return each_vector(
		tile, stmt_store(nest->gen->arena, nest->target.buffer, nest->at, OP_NONE, cell));
}

/* The loops over the sum, with what is prefetched in each step. */
static Block whole_steps(Tile *tile, const Value *cell, Block prefetch)
{
	Body step = {0};
	gen_append(tile->nest->gen, &step, tile_over_cells(tile, tile_add(tile, cell)));
	if (tile->copies)
		gen_append(tile->nest->gen, &step, tile_pack_columns(tile));
	gen_append(tile->nest->gen, &step, prefetch);
	return tile_steps(tile, body_block(&step));
}

/* The loops over the sum, in the form that the tile at hand has. */
static Block sum_steps(Tile *tile, const TilePart *row, LocalId acc, const Value *cell,
		       Block prefetch)
{
	const TilePart *col = tile->at_col;
	if (tile->squared >= 0)
		return tile_square_steps(tile, row, acc, cell);
	if (tile->cuts && row->edge && row->single)
		return tile_cut_steps(tile, row, acc, prefetch);
	if (tile->group > 1)
		return tile_group_steps(tile, cell, prefetch);
	if (tile->over_read >= 0 && tile_width(tile, col->step) > col->step)
		return tile_over_read_steps(tile, cell);
	if (tile->window && row->step > 1)
		return tile_window_steps(tile, row, acc);
	return whole_steps(tile, cell, prefetch);
}

static Block tile_across(Tile *tile, const TilePart *row, const TilePart *col)
{
	int64_t rows = row->step, width = tile_width(tile, col->step);
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	tile->height = rows;
	tile->width = col->step;
	LocalId acc = tile_declare(tile, "acc", (int64_t[]){rows, width}, 2);
	const Ix *place[] = {ix_iter(gen->arena, tile->r), ix_iter(gen->arena, tile->lane)};
	const Value *cell = tile_local(tile, acc, place, 2);
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, acc, nest_neutral(nest)));
	if (tile->blocks.steps)
		gen_append(gen, &body, tile_unless_first(tile, load_sums(tile, cell)));
	tile->at_col = col;
	if (tile->has_sums) {
		Block begin = block_of(
			gen, stmt_set_at(gen->arena, cell, OP_NONE, tile_group_begin(tile)));
		gen_append(gen, &body, tile_over_cells(tile, begin));
	}
	Block prefetch = tile_prefetch(tile, row, col, &body);
	Block steps = sum_steps(tile, row, acc, cell, prefetch);
	gen_append(gen, &body, tile_unless_masked(tile, steps));
	Block finish = tile->stores_rows ? tile_finish_transposed(tile, row, col, acc)
		       : tile->round	 ? tile_finish_pieces(tile, col, cell)
					 : tile_finish(tile, cell);
	if (tile->blocks.steps) {
		finish = tile_if_last(tile, true, finish);
		gen_append(gen, &body, tile_if_last(tile, false, store_sums(tile, cell)));
	}
	gen_append(gen, &body, finish);
	return body_block(&body);
}

/* ---- tiles ---- */

/* The iterator of a loop, at its tile's first cell plus `within`. */
static void set_iter(Tile *tile, const Loop *loop, const TilePart *part, IterVar within)
{
	if (!loop)
		return;
	const Ix *first = tile_first(tile, loop, part);
	bool alone = part->step == 1 && within != tile->lane;
	tile->nest->by_iter[loop->iter] = alone ? first : tile_plus(tile, first, within);
}

Block tile_one(Tile *tile, const TilePart *row, const TilePart *col)
{
	bool across = tile->form == TILE_ACROSS;
	tile->nest->guards = row->edge ? tile->guards : tile->inner;
	set_iter(tile, tile->row, row, tile->r);
	set_iter(tile, tile->col, col, across ? tile->lane : tile->c);
	if (row->transposed)
		return tile_remainder(tile, col);
	return across ? tile_across(tile, row, col) : tile_along(tile, row->step, col->step);
}

/* Where a loop stands: what moves the packed operand, columns, what does not, rows, sums, and last
 * the one that lanes run along. Without packing all but rows stand before the columns. */
static int rank_of(const Tile *tile, const Loop *loop)
{
	if (loop == tile->traversal)
		return 1;
	if (loop == tile->col)
		return 2;
	if (loop == tile->row)
		return 4;
	if (loop->reduced)
		return loop == tile->along ? 6 : 5;
	return tile->pack >= 0 && !(tile->movers >> loop->iter & 1) ? 3 : 0;
}

/* Sorts the loops by rank, otherwise as they are; returns how many stand before the columns. */
static uint32_t order_loops(Tile *tile)
{
	Nest *nest = tile->nest;
	Loop *sorted = ARENA_ARRAY(nest->gen->arena, Loop, nest->nloops + 1);
	uint32_t n = 0, before = 0;
	Loop *row = NULL, *col = NULL, *along = NULL, *window = NULL, *traversal = NULL;
	for (int rank = 0; rank <= 6; rank++)
		for (uint32_t i = 0; i < nest->nloops; i++) {
			Loop *loop = &nest->loops[i];
			if (rank_of(tile, loop) != rank)
				continue;
			before += rank == 0;
			if (loop == tile->window)
				window = &sorted[n];
			*(rank == 1   ? &traversal
			  : rank == 2 ? &col
			  : rank == 4 ? &row
				      : &along) = &sorted[n];
			sorted[n++] = *loop;
		}
	nest->loops = sorted;
	tile->row = tile->row ? row : NULL;
	tile->col = tile->col ? col : NULL;
	tile->along = tile->along ? along : NULL;
	tile->window = window;
	tile->traversal = traversal;
	return before;
}

static void emit_copy(Tile *tile, Block copy)
{
	Gen *gen = tile->nest->gen;
	if (!tile->prepacked) {
		gen_append(gen, &gen->top, copy);
		return;
	}
	prepack_emit(tile->nest, copy);
	gen->locals.n = tile->nest->first_local;
}

/* Values again, with what they share in line or as locals. */
static void share_in_line(Nest *nest, bool in_line)
{
	nest->in_line = in_line;
	nest->gen->locals.n = nest->first_local;
	nest_values(nest);
}

/* Where shared locals are few they are in line in tiles, which compute them once all the same. */
static bool plan_in_line(Tile *tile)
{
	Nest *nest = tile->nest;
	size_t shared = nest->inner.n;
	if (shared > IN_LINE)
		return false;
	if (shared > 0)
		share_in_line(nest, true);
	bool planned = tile_plan(tile);
	if (shared > 0 && !planned)
		share_in_line(nest, false);
	return planned;
}

Tile tile_new(Nest *nest, Op reduce)
{
	return (Tile){.nest = nest,
		      .reduce = reduce,
		      .group = 1,
		      .pack = -1,
		      .squared = -1,
		      .over_read = -1,
		      .prefetched = -1};
}

bool tile_turns_squares(Nest *nest)
{
	Tile tile = tile_new(nest, node_reduce_op(lower_node(nest->gen->lower, nest->node)));
	return nest->nloops > nest->nresult &&
	       !asks_on(gen_asked(nest->gen, CHOICE_ORDER)) &&
	       plan_in_line(&tile) && tile.squared >= 0;
}

bool tile_choose(Nest *nest, Op reduce, Tile *tile)
{
	*tile = tile_new(nest, reduce);
	return plan_in_line(tile);
}

static void declare_iters(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Symbols *symbols = gen->program->symbols;
	tile->r = gen_iter(gen, sym_cstr(symbols, "r"));
	tile->c = gen_iter(gen, sym_cstr(symbols, "c"));
	tile->q = gen_iter(gen, sym_cstr(symbols, "q"));
	tile->lane = gen_iter(gen, sym_cstr(symbols, "lane"));
	tile->first_row = gen_iter(gen, sym_cstr(symbols, "first"));
	tile->first_col = gen_iter(gen, sym_cstr(symbols, "first_col"));
	tile->first_step = gen_iter(gen, sym_cstr(symbols, "first_step"));
	tile->panel = gen_iter(gen, sym_cstr(symbols, "panel"));
}

void tile_emit(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	uint32_t outer = order_loops(tile);
	bool fills = tile->pack >= 0 && tile_pack_declare(tile);
	tile_group_declare_sums(tile);
	gen->locals.n = nest->first_local;
	declare_iters(tile);
	if (fills && !tile->by_blocks)
		emit_copy(tile, nest_wrap(nest, 0, outer, nest->nloops, tile_pack_fill(tile)));
	if (tile->has_sums)
		gen_append(gen, &gen->top, tile_group_fill_sums(tile));
	uint32_t inner = outer + (tile->traversal != NULL) + (tile->col != NULL);
	nest->apart = tile->apart;
	nest_note_sum(nest, tile->reduce, tile->order);
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, outer, nest->nloops,
			     tile_traversal_blocks(tile, tile_all(tile, inner))));
}
