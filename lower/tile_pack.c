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
 * that stay (prepack.c) and in those of groups of steps, which a lane has beside each other
 * (tile_groups.c). A copy that does not stay in the second cache is made by blocks of columns,
 * where their tiles begin (tile_block.c).
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile_emit.h"

/* What is copied: that load, or what computes it. */
static const Value *source(Tile *tile)
{
	const Value *packed = tile_packed_load(tile);
	if (!tile->inlined)
		return packed;
	const Value *computed = nest_producer(tile->nest, tile_packed_operand(tile));
	return packed->nargs ? value_cast(tile->nest->gen->arena, packed->dtype, computed)
			     : computed;
}

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
	const Ix *step = tile_const(tile, 0);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
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

/* Lanes of a panel from `from` on: columns copied, or zeros. */
static Block set_lanes(Tile *tile, const Ix *to, LoopKind kind, int64_t from, int64_t n,
		       const Value *value)
{
	Gen *gen = tile->nest->gen;
	to = ix_add(gen->program, to, tile_const(tile, from));
	Block set = block_of(gen, stmt_store(gen->arena, tile->packed, to, OP_NONE, value));
	return tile_unroll(tile, kind, tile->lane, n, set);
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
	return block_of(gen, stmt_for(gen->arena, tile->panel, tile_const(tile, 0),
				      ix_size(gen->arena, panels), body));
}

static Block over_steps(const Tile *tile, Block body)
{
	const Nest *nest = tile->nest;
	return nest_wrap(nest, nest->nresult, nest->nloops, nest->nloops, body);
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

const Ix *tile_pack_to(const Tile *tile, const TilePart *part)
{
	const Ix *place = panel_place(tile, part, tile->panel, panel_first(tile, part));
	return packed_ix(tile, place, tile_width(tile, part->step));
}

/* Lanes where vectors read the operand, else loops, which may become squares (transform/transpose.c). */
static LoopKind lanes_kind(const Tile *tile, const Value *value)
{
	bool lanes = tile_in_vectors(value) && tile_reads_by_lanes(tile, value, tile->lane);
	return lanes ? LOOP_VECTOR : LOOP_SERIAL;
}

/* The panels of a part of the columns. Rows of the operand are read along where they lie along the
 * columns, else panel by panel. */
static Block fill_part(Tile *tile, const TilePart *part)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Program *program = gen->program;
	const Ix *first = panel_first(tile, part);
	nest->by_iter[tile->col->iter] = ix_add(program, first, ix_iter(gen->arena, tile->lane));
	nest_values(nest);
	int64_t width = tile_width(tile, part->step);
	const Ix *to = tile_pack_to(tile, part);
	if (tile->group > 1)
		return over_panels(tile, part, tile_group_fill(tile, part));
	if (tile->word > 1)
		return over_panels(tile, part, tile_word_fill(tile, part));
	const Value *value = source(tile), *zero = value_number(gen->arena, value->dtype, 0);
	Block copy = set_lanes(tile, to, lanes_kind(tile, value), 0, part->step, value),
	      zeros = {0};
	if (width > part->step)
		zeros = set_lanes(tile, to, LOOP_VECTOR, part->step, width - part->step, zero);
	Body body = {0};
	bool along = tile->pack_kind == LOOP_UNROLL;
	gen_append(gen, &body, along ? over_steps(tile, copy) : copy);
	if (zeros.n)
		gen_append(gen, &body, along ? over_steps(tile, zeros) : zeros);
	Block panels = over_panels(tile, part, body_block(&body));
	return along ? panels : over_steps(tile, panels);
}

Block tile_pack_fill(Tile *tile)
{
	Body all = {0};
	for (uint32_t i = 0; i < tile->cols.n; i++)
		gen_append(tile->nest->gen, &all, fill_part(tile, &tile->cols.at[i]));
	return body_block(&all);
}

Block tile_pack_columns(Tile *tile)
{
	nest_values(tile->nest);
	return set_lanes(tile, tile_pack_ix(tile, tile->now.col), LOOP_VECTOR, 0,
			 tile->now.col->step, tile_packed_load(tile));
}

Block tile_pack_block(Tile *tile, bool behind)
{
	Gen *gen = tile->nest->gen;
	Body all = {0};
	if (!behind)
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

const Ix *tile_panel_start(const Tile *tile, const TilePart *col)
{
	return panel_ix(tile, first_column(tile, col));
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
	bool packed = tile->pack >= 0 && !tile->now.copies;
	const Value *value = packed ? tile_pack_value(tile, tile->now.col) : nest->value;
	return block_of(gen, stmt_set_at(gen->arena, element, tile->reduce, value));
}
