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
 * Where lanes run along a sum and the rows' operand is larger than the second cache, rows go in
 * blocks, each past all columns:
 *
 *   for first in 0..M step 192: for j in 0..96 step 32: for i in 0..min(192, M - first) step 8: ...
 *
 * Every part of rows and every part of columns (tile_plan.c) gives one such tile. Sums of one cell
 * are added in the order of the loops, whatever tile the cell is in.
 */
#include "lower/tile.h"

#include "base/diag.h"

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

Block tile_add(Tile *tile, const Value *cell)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	nest_values(nest);
	REQUIRE(nest->inner.stmts.n == 0);
	const Value *value = tile->pack < 0 ? nest->value : tile_pack_value(tile, tile->width);
	return block_of(gen, stmt_set_at(gen->arena, cell, tile->reduce, value));
}

Block tile_store(Tile *tile, const Value *sum)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body cell = {0};
	nest_values(nest);
	const Value *value = nest_finished(nest, sum, &cell);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	return body_block(&cell);
}

/* ---- lanes across the result ---- */

/* What vector instructions compute from what is read. */
static bool is_simple(const Value *value)
{
	if (value->kind == VALUE_CAST || value->kind == VALUE_INDEX ||
	    (value->kind == VALUE_OP && !(op_is_simple(value->op) && dtype_is_float(value->dtype))))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_simple(value->args[i]))
			return false;
	return true;
}

static Block over_tile(const Tile *tile, LoopKind rows, LoopKind lanes, const Stmt *stmt)
{
	Block body = block_of(tile->nest->gen, stmt);
	body = tile_unroll(tile, lanes, tile->lane, tile->width, body);
	return tile_unroll(tile, rows, tile->r, tile->height, body);
}

typedef struct Part {
	const Value *value, *done;
} Part;

typedef struct Passes {
	Tile *tile;
	const Ix *const *place; /* of a cell in the tile */
	Body *body;
	VEC(Part) parts;
} Passes;

/* A local for every cell of the tile, set to the value in vectors. */
static const Value *done_part(Passes *p, const Value *value)
{
	Gen *gen = p->tile->nest->gen;
	for (size_t i = 0; i < p->parts.n; i++)
		if (value_same(p->parts.at[i].value, value))
			return p->parts.at[i].done;
	LocalId id = tile_declare(p->tile, "done", (int64_t[]){p->tile->height, p->tile->width}, 2);
	gen->locals.at[id].dtype = value->dtype;
	const Value *done = tile_local(p->tile, id, p->place, 2);
	const Value *zero = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
	PUSH(gen->arena, p->body->stmts, stmt_local(gen->arena, id, zero));
	const Stmt *set = stmt_set_at(gen->arena, done, OP_NONE, value);
	gen_append(gen, p->body, over_tile(p->tile, LOOP_UNROLL, LOOP_VECTOR, set));
	PUSH(gen->arena, p->parts, ((Part){value, done}));
	return done;
}

/* The value with its largest simple parts replaced by locals. */
static const Value *with_parts(Passes *p, const Value *value)
{
	if (value->kind == VALUE_CONST)
		return value;
	if (is_simple(value))
		return done_part(p, value);
	Value *copy = ARENA_NEW(p->tile->nest->gen->arena, Value);
	*copy = *value;
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = with_parts(p, value->args[i]);
	return copy;
}

/* gelu(acc + b) as done = acc + b in vectors, done1 = gelu(done) in one loop over the tile's cells,
 * y = done1 in vectors: copies of a function for every vector would be most of a kernel's text.
 * False: vectors do it all. */
static bool finish_in_passes(Tile *tile, const Ix *const *place, const Value *sum, Body *body)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body cell = {0};
	size_t nlocals = gen->locals.n;
	nest_values(nest);
	const Value *value = nest_finished(nest, sum, &cell);
	if (cell.stmts.n || is_simple(value)) {
		gen->locals.n = nlocals;
		return false;
	}
	Passes passes = {.tile = tile, .place = place, .body = body};
	value = with_parts(&passes, value);
	LocalId id = tile_declare(tile, "done", (int64_t[]){tile->height, tile->width}, 2);
	gen->locals.at[id].dtype = value->dtype;
	const Value *done = tile_local(tile, id, place, 2);
	const Value *zero = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, id, zero));
	const Stmt *set = stmt_set_at(gen->arena, done, OP_NONE, value);
	gen_append(gen, body, over_tile(tile, LOOP_SERIAL, LOOP_SERIAL, set));
	const Stmt *store =
		stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, done);
	gen_append(gen, body, over_tile(tile, LOOP_UNROLL, LOOP_VECTOR, store));
	return true;
}

static Block tile_across(Tile *tile, const TilePart *row, int64_t cols)
{
	int64_t rows = row->step;
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	LocalId acc = tile_declare(tile, "acc", (int64_t[]){rows, cols}, 2);
	const Ix *place[] = {ix_iter(gen->arena, tile->r), ix_iter(gen->arena, tile->lane)};
	const Value *cell = tile_local(tile, acc, place, 2);
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, acc, nest_neutral(nest)));
	Block add = tile_unroll(tile, LOOP_VECTOR, tile->lane, cols, tile_add(tile, cell));
	add = tile_unroll(tile, LOOP_UNROLL, tile->r, rows, add);
	if (tile->cuts && row->edge && row->single)
		gen_append(gen, &body, tile_cut_steps(tile, row, acc));
	else
		gen_append(gen, &body, nest_wrap(nest, nest->nresult, nest->nloops, nest->nresult, add));
	tile->height = rows;
	if (finish_in_passes(tile, place, cell, &body))
		return body_block(&body);
	Block store = tile_unroll(tile, LOOP_VECTOR, tile->lane, cols, tile_store(tile, cell));
	gen_append(gen, &body, tile_unroll(tile, LOOP_UNROLL, tile->r, rows, store));
	return body_block(&body);
}

/* ---- tiles ---- */

static const Ix *first_of(const Tile *tile, const Loop *loop, const TilePart *part)
{
	Gen *gen = tile->nest->gen;
	const Ix *first =
		part->single ? ix_size(gen->arena, part->lo) : ix_iter(gen->arena, loop->var);
	bool blocked = tile->block && part == &tile->rows.at[0];
	return blocked ? ix_add(gen->program, ix_iter(gen->arena, tile->first), first) : first;
}

/* The iterator of a loop, at its tile's first cell plus `within`. */
static void set_iter(Tile *tile, const Loop *loop, const TilePart *part, IterVar within)
{
	if (!loop)
		return;
	Gen *gen = tile->nest->gen;
	const Ix *first = first_of(tile, loop, part);
	bool alone = part->step == 1 && within != tile->lane;
	tile->nest->by_iter[loop->iter] =
		alone ? first : ix_add(gen->program, first, ix_iter(gen->arena, within));
}

static Block part_loop(const Tile *tile, const Loop *loop, const TilePart *part, Block body)
{
	Gen *gen = tile->nest->gen;
	if (!loop || part->single)
		return body;
	const Ix *lo = part->from ? part->from : ix_size(gen->arena, part->lo);
	const Ix *hi = part->to ? part->to : ix_size(gen->arena, part->hi);
	const Stmt *stmt = stmt_for(gen->arena, loop->var, lo, hi, body);
	return block_of(gen, stmt_step(gen->arena, stmt, part->step));
}

static Block one_tile(Tile *tile, const TilePart *row, const TilePart *col)
{
	bool across = tile->form == TILE_ACROSS;
	tile->nest->guards = row->edge ? tile->guards : tile->inner;
	set_iter(tile, tile->row, row, tile->r);
	set_iter(tile, tile->col, col, across ? tile->lane : tile->c);
	return across ? tile_across(tile, row, col->step)
		      : tile_along(tile, row->step, col->step);
}

/* All tiles of a part of the columns. `inner`: loops of the result from there on run inside it. */
static Block column_tiles(Tile *tile, const TilePart *col, uint32_t inner)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body column = {0}, rows = {0};
	uint32_t end = nest->nresult - (tile->row != NULL);
	tile->width = col->step;
	if (tile->pack >= 0) {
		set_iter(tile, tile->col, col, tile->lane);
		gen_append(gen, &column, tile_pack_fill(tile, col->step));
	}
	for (uint32_t i = 0; i < tile->rows.n; i++) {
		Block one = one_tile(tile, &tile->rows.at[i], col);
		gen_append(gen, &rows, part_loop(tile, tile->row, &tile->rows.at[i], one));
	}
	gen_append(gen, &column, nest_wrap(nest, inner, end, nest->nloops, body_block(&rows)));
	return part_loop(tile, tile->col, col, body_block(&column));
}

/* The first part of the rows, block by block, past a part of the columns. */
static Block block_loops(Tile *tile, const TilePart *col, Block body)
{
	Gen *gen = tile->nest->gen;
	const TilePart *part = &tile->rows.at[0];
	const Ix *left = ix_mul(gen->program, ix_iter(gen->arena, tile->first), tile_const(tile, -1));
	left = ix_add(gen->program, ix_size(gen->arena, part->hi), left);
	const Ix *end = ix_binary(gen->program, IX_MIN, tile_const(tile, tile->block), left);
	const Stmt *rows = stmt_for(gen->arena, tile->row->var, tile_const(tile, 0), end, body);
	rows = stmt_step(gen->arena, rows, part->step);
	const Stmt *blocks = stmt_for(gen->arena, tile->first, ix_size(gen->arena, part->lo),
				      ix_size(gen->arena, part->hi),
				      part_loop(tile, tile->col, col, block_of(gen, rows)));
	return block_of(gen, stmt_step(gen->arena, blocks, tile->block));
}

/* All tiles of a part of the columns where rows go in blocks. */
static Block blocked_tiles(Tile *tile, const TilePart *col)
{
	Gen *gen = tile->nest->gen;
	Body all = {0};
	tile->width = col->step;
	gen_append(gen, &all, block_loops(tile, col, one_tile(tile, &tile->rows.at[0], col)));
	for (uint32_t i = 1; i < tile->rows.n; i++) {
		Block rows = one_tile(tile, &tile->rows.at[i], col);
		rows = part_loop(tile, tile->row, &tile->rows.at[i], rows);
		gen_append(gen, &all, part_loop(tile, tile->col, col, rows));
	}
	return body_block(&all);
}

static Block all_tiles(Tile *tile, uint32_t inner)
{
	Gen *gen = tile->nest->gen;
	Body all = {0};
	for (uint32_t j = 0; j < tile->cols.n; j++) {
		const TilePart *col = &tile->cols.at[j];
		gen_append(gen, &all,
			   tile->block ? blocked_tiles(tile, col) : column_tiles(tile, col, inner));
	}
	return body_block(&all);
}

/* Where a loop stands: what moves the packed operand, columns, what does not, rows, sums, and last
 * the one that lanes run along. Without packing all but rows stand before the columns. */
static int rank_of(const Tile *tile, const Loop *loop)
{
	if (loop == tile->col)
		return 1;
	if (loop == tile->row)
		return 3;
	if (loop->reduced)
		return loop == tile->along ? 5 : 4;
	return tile->pack >= 0 && !(tile->movers >> loop->iter & 1) ? 2 : 0;
}

/* Sorts the loops by rank, otherwise as they are; returns how many stand before the columns. */
static uint32_t order_loops(Tile *tile)
{
	Nest *nest = tile->nest;
	Loop *sorted = ARENA_ARRAY(nest->gen->arena, Loop, nest->nloops + 1);
	uint32_t n = 0, before = 0;
	Loop *row = NULL, *col = NULL, *along = NULL;
	for (int rank = 0; rank <= 5; rank++)
		for (uint32_t i = 0; i < nest->nloops; i++) {
			Loop *loop = &nest->loops[i];
			if (rank_of(tile, loop) != rank)
				continue;
			before += rank == 0;
			*(rank == 1 ? &col : rank == 3 ? &row : &along) = &sorted[n];
			sorted[n++] = *loop;
		}
	nest->loops = sorted;
	tile->row = tile->row ? row : NULL;
	tile->col = tile->col ? col : NULL;
	tile->along = tile->along ? along : NULL;
	return before;
}

bool tile_emit(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	const Machine *machine = gen->lower->machine;
	Tile tile = {.nest = nest, .reduce = reduce, .pack = -1};
	if (!tile_plan(&tile, machine))
		return false;
	Symbols *symbols = gen->program->symbols;
	uint32_t outer = order_loops(&tile);
	if (tile.pack >= 0)
		tile_pack_declare(&tile);
	gen->locals.n = nest->first_local;
	tile.r = gen_iter(gen, sym_cstr(symbols, "r"));
	tile.c = gen_iter(gen, sym_cstr(symbols, "c"));
	tile.lane = gen_iter(gen, sym_cstr(symbols, "lane"));
	tile.first = gen_iter(gen, sym_cstr(symbols, "first"));
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, outer, nest->nloops,
			     all_tiles(&tile, outer + (tile.col != NULL))));
	return true;
}
