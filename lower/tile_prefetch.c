/* What tiles read next, prefetched while they work on what they have: the panel of a parameter
 * behind the present one, the next columns of an operand that is streamed, or the rows of the next
 * tile. The first two come from memory once a call, rows that do not stay in the second cache from
 * behind it once a panel or block; without this the first tile past them waits for all of their
 * lines.
 *
 *   for i0 in 0..6*floor(s/6) step 6
 *     local ahead : i64 = (j + 64)*768 + i0*64*768/s     this tile's share of the next panel begins here,
 *     local stride : i64 = (64*6 + s - 1)/s              and goes this far in a step of the sum
 *     for k in 0..768
 *       ... the tile, which reads packed_w[j*768 + k*64 + lane]
 *       prefetch packed_w[int(ahead) + k*int(stride)]
 *
 * Behind the last panel lies the next parameter's first one. It pays where tiles are few: where
 * many go past a panel, it is waited for seldom. The rows of one picture are few enough, whatever
 * its size. Tiles of fewer rows have no time for a share of a panel; a single row waits for lines
 * from behind the second cache, and lines of narrow elements take them so many instructions that
 * too few are under way at once, so they prefetch what is near:
 *
 *   for k in 0..768
 *     ... the tile of one row, which reads f32(packed_w[j*768 + k*64 + lane]), w of bf16
 *     prefetch near packed_w[j*768 + k*64 + 4096]         and [... + 4128], 8 KiB ahead
 *
 *   for g in 0..128: for k in 0..32 step 16             two elements a byte, along the sum
 *     ... the tile of columns c, which reads w[(j + c)*4096 + g*32 + k + lane]
 *     prefetch near w[(j + c)*4096 + g*32 + 16384]     8 KiB ahead
 *
 *   for j in 0..1008 step 48: for i in 0..32 step 8     a block of 1008 columns and 256 steps
 *     local next : i64 = (j + 48)/1008                  behind its last columns come the first ones of the next steps
 *     for k in first_step..first_step + 256
 *       ... the tile, which reads b[k*4096 + first_col + j + lane]
 *       prefetch b[(k + 256*next)*4096 + first_col + j + 48 - 1008*next + 16*(i*3/32) + 15]
 *
 *   for i in 0..1536 step 6: for j in 0..128 step 64     a block of 128 packed columns
 *     local ahead : i64 = (i + 6)*1536 + j*6*1536/128    the next six rows lie behind these, and
 *     for k in 0..1536                                   each tile of the block prefetches its share
 *       ... the tile, which reads packed_b[j*1536 + k*64 + lane]
 *       prefetch a[int(ahead) + k*3]
 */
#include "base/integer.h"
#include "lower/tile_emit.h"

/* A number that does not change in the tile. */
static const Ix *hoisted(const Tile *tile, const char *name, const Ix *ix, Body *body)
{
	Gen *gen = tile->nest->gen;
	return ix_value(gen->arena,
			gen_let(gen, body, name, value_index(gen->arena, DTYPE_I64, ix)));
}

/* The number of the tile's first row among all that go past a panel. */
static const Ix *row_number(const Tile *tile, const TilePart *row, Size *all)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Program *program = gen->program;
	const Ix *number = tile_const(tile, 0);
	*all = size_const(program->sizes, 1);
	for (uint32_t i = 0; i < nest->nresult; i++) {
		const Loop *loop = &nest->loops[i];
		if (!tile_is_of_rows(tile, loop))
			continue;
		number = ix_mul(program, number, ix_size(gen->arena, loop->extent));
		number = ix_add(program, number,
				loop == tile->row ? tile_first(tile, loop, row)
						  : nest->by_iter[loop->iter]);
		*all = size_mul(program->sizes, *all, loop->extent);
	}
	return number;
}

/* The load of the present tile's element in another place: `steps` on in the sum and `cols` on in the columns, and
 * where `next` is 1 by further ones. */
static const Value *moved_load(Tile *tile, const TilePart *col, const int64_t by[2], const Ix *next,
			       const int64_t further[2])
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	IterId at[] = {nest->loops[nest->nresult].iter, tile->col->iter};
	const Ix *was[] = {nest->by_iter[at[0]], nest->by_iter[at[1]]};
	nest->by_iter[at[1]] = tile_first(tile, tile->col, col);
	for (int i = 0; i < 2; i++) {
		const Ix *place = ix_plus(gen->program, nest->by_iter[at[i]], by[i]);
		nest->by_iter[at[i]] =
			ix_add(gen->program, place, ix_times(gen->program, next, further[i]));
	}
	nest_values(nest);
	const Value *load = tile_load(nest->value, (uint32_t)tile->prefetched);
	for (int i = 0; i < 2; i++)
		nest->by_iter[at[i]] = was[i];
	return load->nargs ? load->args[0] : load;
}

/* The load of the element behind the present columns, in the same step, or of the first column in
 * the next steps. */
static const Value *next_columns(Tile *tile, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	const Ix *behind = ix_plus(gen->program, ix_iter(gen->arena, tile->col->var), col->step);
	const Ix *next = ix_binary(gen->program, IX_DIV, behind, tile_const(tile, blocks->cols));
	return moved_load(tile, col, (int64_t[]){0, col->step}, hoisted(tile, "next", next, before),
			  (int64_t[]){blocks->steps, -blocks->cols});
}

/* The load of the same columns in the next block that is packed, of the next steps or, behind the last ones, of
 * the next columns. */
static const Value *next_block(Tile *tile, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	const TileBlocks *blocks = &tile->blocks;
	const Loop *sum = &tile->nest->loops[tile->nest->nresult];
	int64_t steps;
	REQUIRE(size_is_const(gen->program->sizes, sum->extent, &steps));
	int64_t all = divide_up(steps, blocks->steps) * blocks->steps;
	const Ix *end = ix_plus(gen->program, ix_iter(gen->arena, tile->first_step), blocks->steps);
	const Ix *next = ix_binary(gen->program, IX_DIV, end, tile_const(tile, all));
	return moved_load(tile, col, (int64_t[]){blocks->steps, 0},
			  hoisted(tile, "next", next, before), (int64_t[]){-all, blocks->cols});
}

/* Of the lines of the next columns in this step those that fall to these rows, by the last element
 * of each sixteen: columns that begin in the middle of a line, in which the present ones end, end
 * in one line more. */
static Block prefetch_columns(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	int64_t rows = 1;
	REQUIRE(!tile->row || size_is_const(program->sizes, tile->row->extent, &rows));
	const Value *load =
		tile->by_blocks ? next_block(tile, col, before) : next_columns(tile, col, before);
	int64_t elements = tile_target(tile)->line_bytes / dtype_bytes(load->dtype),
		lines = (col->step + elements - 1) / elements;
	const Ix *first = tile_const(tile, 0);
	if (tile->row)
		first = ix_times(program, tile_first(tile, tile->row, row), lines);
	first = hoisted(tile, "line", ix_binary(program, IX_DIV, first, tile_const(tile, rows)),
			before);
	Body prefetches = {0};
	for (int64_t i = 0; i < (row->step * lines + rows - 1) / rows; i++) {
		const Ix *line = ix_times(program, first, elements);
		line = ix_plus(program, line, i * elements + elements - 1);
		PUSH(gen->arena, prefetches.stmts,
		     stmt_prefetch(gen->arena, load->buffer, ix_add(program, load->ix, line),
				   false));
	}
	return body_block(&prefetches);
}

/* The lines that tiles of these columns read NEAR_BYTES after those of the present step. */
static Block prefetch_near(const Tile *tile, const TilePart *col)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	int64_t width = tile_width(tile, col->step),
		bytes = dtype_bytes(program->buffers.at[tile->packed].dtype);
	const Ix *at = ix_times(program, tile_step_number(tile), width);
	at = ix_add(program, tile_panel_start(tile, col), at);
	Body prefetches = {0};
	for (int64_t i = 0; i < width * tile->group * bytes; i += tile_target(tile)->line_bytes) {
		const Ix *line =
			ix_plus(program, at, (tile_target(tile)->prefetch_ahead + i) / bytes);
		PUSH(gen->arena, prefetches.stmts,
		     stmt_prefetch(gen->arena, tile->packed, line, true));
	}
	return body_block(&prefetches);
}

static Block prefetch_panel(const Tile *tile, const TilePart *row, const TilePart *col,
			    Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	int64_t width = tile_width(tile, col->step);
	Size rows;
	const Ix *number = row_number(tile, row, &rows), *all = ix_size(gen->arena, rows);
	const Ix *first =
		ix_mul(program, number, ix_size(gen->arena, tile_panel_elements(tile, width)));
	first = ix_add(program, tile_panel_end(tile, col), ix_binary(program, IX_DIV, first, all));
	first = hoisted(tile, "ahead", first, before);
	const Ix *share = ix_plus(program, all, width * row->step - 1);
	share = ix_binary(program, IX_DIV, share, all);
	if (share->kind != IX_SIZE)
		share = hoisted(tile, "stride", share, before);
	const Ix *line = ix_add(program, first, ix_mul(program, tile_step_number(tile), share));
	return block_of(gen, stmt_prefetch(gen->arena, tile->packed, line, false));
}

/* The load of the first element of the next tile's rows. */
static const Value *next_rows(Tile *tile, const TilePart *row)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix **at = ARENA_ARRAY(gen->arena, const Ix *, nest->nloops);
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Ix **by_iter = &nest->by_iter[nest->loops[i].iter];
		at[i] = *by_iter;
		if (i >= nest->nresult)
			*by_iter = tile_const(tile, 0);
	}
	nest->by_iter[tile->row->iter] =
		ix_plus(gen->program, tile_first(tile, tile->row, row), row->step);
	nest_values(nest);
	const Value *load = tile_load(nest->value, (uint32_t)tile->prefetched);
	for (uint32_t i = 0; i < nest->nloops; i++)
		nest->by_iter[nest->loops[i].iter] = at[i];
	return load->nargs ? load->args[0] : load;
}

static Block prefetch_rows(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	bool blocked = tile->by_blocks;
	int64_t tiles = blocked ? tile->blocks.cols / col->step : 1,
		share = row->step * tile->group;
	const Value *load = next_rows(tile, row);
	const Ix *first = tile_const(tile, 0);
	if (blocked) {
		first = ix_size(gen->arena, tile_panel_elements(tile, share));
		first = ix_mul(program, ix_iter(gen->arena, tile->col->var), first);
		first = ix_binary(program, IX_DIV, first, tile_const(tile, tile->blocks.cols));
	}
	first = hoisted(tile, "ahead", ix_add(program, load->ix, first), before);
	const Ix *step = tile_const(tile, (share + tiles - 1) / tiles);
	step = ix_mul(program, tile_step_number(tile), step);
	return block_of(
		gen, stmt_prefetch(gen->arena, load->buffer, ix_add(program, first, step), false));
}

Block tile_prefetch_along(Tile *tile, int64_t cols)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	nest_values(nest);
	const Value *load = tile_load(nest->value, (uint32_t)tile->prefetched);
	while (load->kind != VALUE_LOAD)
		load = load->args[0];
	Dtype dtype = gen->program->buffers.at[load->buffer].dtype;
	REQUIRE(dtype_is_packed(dtype));
	const Ix *ahead = tile_const(tile, 2 * tile_target(tile)->prefetch_ahead);
	const Stmt *prefetch = stmt_prefetch(gen->arena, load->buffer,
					     ix_add(gen->program, load->ix, ahead), true);
	return gen_loop(gen, LOOP_UNROLL, tile->c, cols, block_of(gen, prefetch));
}

Block tile_prefetch(Tile *tile, const TilePart *row, const TilePart *col, Body *before)
{
	switch (col->prefetches ? row->prefetch : TILE_PREFETCH_NONE) {
	case TILE_PREFETCH_NONE:
	case TILE_PREFETCH_ALONG: break;
	case TILE_PREFETCH_ROWS: return prefetch_rows(tile, row, col, before);
	case TILE_PREFETCH_COLUMNS: return prefetch_columns(tile, row, col, before);
	case TILE_PREFETCH_PANEL: return prefetch_panel(tile, row, col, before);
	case TILE_PREFETCH_NEAR: return prefetch_near(tile, col);
	}
	return (Block){0};
}
