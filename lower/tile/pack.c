/* One operand of a tile copied, before the tiles, to where the columns of a tile lie together, step
 * after step of the sum:
 *
 *   for k in 0..1024: for panel in 0..20
 *     vector lane in 0..48: packed[panel*1024*48 + k*48 + lane] = b[k*1000 + panel*48 + lane]
 *   for k in 0..1024
 *     vector lane in 0..40: packed[960*1024 + k*48 + lane] = b[k*1000 + 960 + lane]
 *     vector lane in 0..8: packed[960*1024 + k*48 + 40 + lane] = 0
 *   tiles, which read packed[j*1024 + k*48 + lane]
 *
 * It pays where many rows use a panel: where it would be spread over more cache lines than stay,
 * where lanes would run along the sum only because the operand is stored along it, and where
 * filling up the last columns saves vectors. An operand that lies along the sum is copied panel by panel, in squares
 * that are transposed (transform/transpose.c). What is of a type of storage is widened, but in copies
 * that stay (prepack.c) and in those of words: several steps that a lane has beside each other
 * (tile/groups.c, tile/words.c),
 *
 *   for k in 0..128: for lane in 0..64: packed[k*256 + lane*4 + q] = b[k*4 + q, lane]       for q = 0, 1, 2, 3
 *
 * the last of which zeros fill up; of two elements a byte each byte is stored at once. A copy that does not stay in
 * the second cache is made by blocks of columns, where their tiles begin (tile/block.c).
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/emit.h"

Size tile_panel_elements(const Tile *tile, int64_t width)
{
	return size_scale(tile->nest->gen->program->sizes, tile_packed_steps(tile), width);
}

/* Where the panel that begins at a column of the operand begins in the copy. */
static const Ix *panel_place(const Tile *tile, const TilePart *part, IterVar within,
			     const Ix *first)
{
	Gen *gen = tile->nest->gen;
	int64_t lo;
	if (!tile->by_blocks)
		return first;
	if (part == &tile->cols.at[0])
		return ix_iter(gen->arena, within);
	REQUIRE(size_is_const(gen->program->sizes, part->lo, &lo));
	return tile_const(tile, lo - tile_last_block(tile));
}

/* Position in a row-major array over loops. */
static const Ix *counted(const Tile *tile, const Ix *at, const Loop *loop)
{
	Program *program = tile->nest->gen->program;
	at = ix_mul(program, at, ix_size(program->arena, tile_group_extent(tile, loop)));
	return ix_add(program, at, tile->nest->by_iter[loop->iter]);
}

/* Where the panel that begins at column `first` of the copy begins. */
static const Ix *panel_ix(const Tile *tile, const Ix *first)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix *outer = tile_const(tile, 0);
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (tile_moves_panels(tile, &nest->loops[i]))
			outer = counted(tile, outer, &nest->loops[i]);
	outer = ix_mul(program, outer, ix_size(program->arena, tile_packed_columns(tile)));
	outer = ix_add(program, outer, first);
	return ix_mul(program, outer, ix_size(program->arena, tile_packed_steps(tile)));
}

const Ix *tile_step_number(const Tile *tile)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	bool blocked = tile_packs_steps(tile);
	const Ix *step = tile_const(tile, 0);
	if (blocked)
		step = ix_minus(gen->program, nest->by_iter[nest->loops[nest->nresult].iter],
				ix_iter(gen->arena, tile->first_step));
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (tile_has_steps_of(tile, &nest->loops[i]))
			step = counted(tile, step, &nest->loops[i]);
	for (uint32_t i = nest->nresult + blocked; i < nest->nloops; i++)
		step = counted(tile, step, &nest->loops[i]);
	return step;
}

/* Where the panel that begins at `first` of the copy has its lane at the present step. */
static const Ix *packed_ix(const Tile *tile, const Ix *first, int64_t width)
{
	Program *program = tile->nest->gen->program;
	const Ix *step = ix_mul(program, tile_step_number(tile), tile_const(tile, width));
	const Ix *lane = ix_mul(program, ix_iter(program->arena, tile->lane),
				tile_const(tile, tile_lane_steps(tile)));
	return ix_add(program, panel_ix(tile, first), ix_add(program, step, lane));
}

static Block over_panels(const Tile *tile, const TilePart *part, Block body)
{
	Gen *gen = tile->nest->gen;
	Sizes *sizes = gen->program->sizes;
	if (part->single)
		return body;
	if (tile->by_blocks) {
		Loop panels = *tile->col;
		panels.var = tile->panel;
		return tile_within(tile, &panels, part, tile->first_col, tile->blocks.cols, body);
	}
	Size panels = size_floor(sizes, size_sub(sizes, part->hi, part->lo), part->step);
	return gen_over(gen, tile->panel, panels, body);
}

/* The first column of the panel at hand. */
static const Ix *panel_first(const Tile *tile, const TilePart *part)
{
	Gen *gen = tile->nest->gen;
	const Ix *panel = ix_iter(gen->arena, tile->panel), *lo = ix_size(gen->arena, part->lo);
	if (part->single)
		return lo;
	if (tile->by_blocks)
		return ix_add(gen->program, ix_iter(gen->arena, tile->first_col), panel);
	return ix_add(gen->program, lo, ix_mul(gen->program, panel, tile_const(tile, part->step)));
}

/* Where the lane is at the step at hand, in the panel that is copied. */
static const Ix *copied_ix(const Tile *tile, const TilePart *part)
{
	const Ix *place = panel_place(tile, part, tile->panel, panel_first(tile, part));
	return packed_ix(tile, place, tile_width(tile, part->step));
}

/* Words of some lanes: the steps of the sum that a lane has beside each other, mostly one. */
typedef struct Words {
	int64_t lo, hi;	   /* the lanes */
	const Ix *first;   /* step of the sum */
	const Ix *element; /* one of the word; NULL: all */
	bool zeros;
} Words;

/* The element of the lane at a step: as it is copied, or what computes it. */
static const Value *element_at(Tile *tile, const Ix *step)
{
	tile->nest->by_iter[tile_last_sum(tile->nest)->iter] = step;
	nest_values(tile->nest);
	const Value *packed = tile_packed_load(tile);
	if (!tile->inlined)
		return packed;
	const Value *computed = nest_producer(tile->nest, tile_packed_operand(tile));
	return packed->nargs ? value_cast(tile->nest->gen->arena, packed->dtype, computed)
			     : computed;
}

/* Of two elements a byte: that of a step and the next one. */
static const Value *byte_at(Tile *tile, const Ix *step)
{
	Gen *gen = tile->nest->gen;
	Arena *arena = gen->arena;
	enum { BITS = 4 }; /* of an element */
	const Value *low = value_cast(arena, DTYPE_I32, element_at(tile, step));
	const Value *high = element_at(tile, ix_plus(gen->program, step, 1));
	const Value *bits = value_number(arena, DTYPE_I32, 1 << BITS);
	low = value_binary(arena, OP_MOD, low, bits);
	high = value_binary(arena, OP_MUL, value_cast(arena, DTYPE_I32, high), bits);
	return value_cast(arena, DTYPE_U8, value_binary(arena, OP_ADD, low, high));
}

static const Value *stored_at(Tile *tile, const Ix *step)
{
	if (tile->word > 1)
		return byte_at(tile, step);
	const Value *element = element_at(tile, step);
	return tile->group > 1 ? tile_group_copied(tile, element) : element;
}

static const Stmt *store_at(Tile *tile, const TilePart *part, const Words *w, const Ix *element)
{
	Gen *gen = tile->nest->gen;
	const Value *value = stored_at(tile, ix_add(gen->program, w->first, element));
	tile->nest->by_iter[tile_last_sum(tile->nest)->iter] = w->first;
	const Ix *at = ix_add(gen->program, copied_ix(tile, part), element);
	if (w->zeros)
		value = value_number(gen->arena, value->dtype, 0);
	return stmt_store(gen->arena, tile->packed,
			  ix_plus(gen->program, at, w->lo * tile_lane_steps(tile)), OP_NONE, value);
}

/* Lanes where vectors read what is stored, else a loop, which may become squares or lines (transform/transpose.c). */
static Block over_lanes(Tile *tile, const TilePart *part, const Words *w)
{
	Body body = {0};
	int64_t n = tile_lane_steps(tile), each = tile->word > 1 ? 2 : 1;
	for (int64_t q = 0; q < (w->element ? 1 : n); q += each)
		PUSH(tile->nest->gen->arena, body.stmts,
		     store_at(tile, part, w, w->element ? w->element : tile_const(tile, q)));
	const Value *value = body.stmts.at[0]->value;
	bool lanes =
		n == 1 && tile_in_vectors(value) && tile_reads_by_lanes(tile, value, tile->lane);
	return gen_loop(tile->nest->gen, lanes ? LOOP_VECTOR : LOOP_SERIAL, tile->lane,
			w->hi - w->lo, body_block(&body));
}

/* Adds the loops over panels and the sum, the last of which goes from lo to hi. Rows of the operand are read along
 * where they lie along the columns, else panel by panel. */
static void add_steps(Tile *tile, const TilePart *part, const Words *w, const Size range[2],
		      Body *to)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *last = tile_last_sum(nest);
	bool along = tile->pack_along || tile_lane_steps(tile) > 1;
	if (size_same(range[0], range[1]) || w->lo == w->hi)
		return;
	Block body = over_lanes(tile, part, w);
	body = along ? body : over_panels(tile, part, body);
	if (tile_packs_steps(tile)) {
		nest->by_iter[last->iter] = ix_iter(gen->arena, last->var);
		gen_append(gen, to, tile_steps(tile, body));
		return;
	}
	body = gen_steps(gen, last->var, ix_size(gen->arena, range[0]),
			 ix_size(gen->arena, range[1]), 1, body);
	nest->by_iter[last->iter] = ix_iter(gen->arena, last->var);
	body = nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops, body);
	gen_append(gen, to, along ? over_panels(tile, part, body) : body);
}

/* The panels of a part of the columns: whole words, the elements of one that the sum fills in part, zeros behind
 * these and behind the last column. */
static Block fill_part(Tile *tile, const TilePart *part)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Program *program = gen->program;
	Sizes *sizes = program->sizes;
	const Loop *last = tile_last_sum(nest);
	int64_t n = tile_lane_steps(tile), cols = part->step, width = tile_width(tile, cols);
	Size none = size_const(sizes, 0), steps = last->extent, whole = size_floor(sizes, steps, n);
	Size all = size_ceil(sizes, steps, n), end = size_scale(sizes, whole, n);
	const Ix *step = ix_iter(gen->arena, last->var), *behind = ix_size(gen->arena, end);
	const Ix *word = ix_times(program, step, n);
	const Ix *element = ix_minus(program, step, behind);
	Body body = {0};
	nest->by_iter[tile->col->iter] =
		ix_add(program, panel_first(tile, part), ix_iter(gen->arena, tile->lane));
	add_steps(tile, part, &(Words){0, cols, word, NULL, false}, (Size[]){none, whole}, &body);
	add_steps(tile, part, &(Words){0, cols, behind, element, false}, (Size[]){end, steps},
		  &body);
	add_steps(tile, part, &(Words){0, cols, behind, element, true},
		  (Size[]){steps, size_scale(sizes, all, n)}, &body);
	add_steps(tile, part, &(Words){cols, width, word, NULL, true}, (Size[]){none, all}, &body);
	return body_block(&body);
}

Block tile_pack_fill(Tile *tile)
{
	Body all = {0};
	for (uint32_t i = 0; i < tile->cols.n; i++)
		gen_append(tile->nest->gen, &all, fill_part(tile, &tile->cols.at[i]));
	return body_block(&all);
}

Block tile_pack_block(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Body all = {0};
	gen_append(gen, &all, fill_part(tile, &tile->cols.at[0]));
	for (uint32_t i = 1; i < tile->cols.n; i++)
		gen_append(gen, &all,
			   tile_only_if(tile, COND_LE, tile_const(tile, tile_last_block(tile)),
					ix_iter(gen->arena, tile->first_col),
					fill_part(tile, &tile->cols.at[i])));
	return body_block(&all);
}

static const Ix *first_column(const Tile *tile, const TilePart *col)
{
	return panel_place(tile, col, tile->col->var, tile_first(tile, tile->col, col));
}

const Ix *tile_panel_step(const Tile *tile, const TilePart *col)
{
	Program *program = tile->nest->gen->program;
	return ix_add(program, panel_ix(tile, first_column(tile, col)),
		      ix_times(program, tile_step_number(tile), tile_width(tile, col->step)));
}

const Ix *tile_panel_end(const Tile *tile, const TilePart *col)
{
	Program *program = tile->nest->gen->program;
	const Ix *end = ix_add(program, first_column(tile, col),
			       tile_const(tile, tile_width(tile, col->step)));
	return panel_ix(tile, end);
}

const Ix *tile_pack_ix(const Tile *tile, const TilePart *col)
{
	return packed_ix(tile, first_column(tile, col), tile_width(tile, col->step));
}

static const Value *tile_pack_value(const Tile *tile, const TilePart *col)
{
	Gen *gen = tile->nest->gen;
	const Value *load = value_load(gen->program, tile->packed, tile_pack_ix(tile, col));
	return tile_replaced(gen->arena, tile->nest->value, tile_packed_load(tile), load);
}

Block tile_add(Tile *tile, const Value *element)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	nest_values(nest);
	REQUIRE(nest->inner.n == 0);
	const Value *value = tile->pack >= 0 ? tile_pack_value(tile, tile->now.col) : nest->value;
	return block_of(gen, stmt_set_at(gen->arena, element, tile->reduce, value));
}
